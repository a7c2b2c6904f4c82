//! Tensors of a single element, of rank 0 and of extents of 1: their kernels have no dims.

use norma_bundle::Element::{BF16, F32};

use super::plain;
use crate::case::{Case, Op};
use crate::source::graphs::Graph;

/// An elementwise function of a number.
const EXPONENTIAL: Graph = Graph {
    name: "exponential of a number",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<$X> {norm.name = "x"}) -> (tensor<$X> {norm.name = "y"}) {
  %y = math.exp %x : tensor<$X>
  return %y : tensor<$X>
}
"#,
};

/// A row of one element, and a scale of all rows.
const QUANTIZED: Graph = Graph {
    name: "a row of one element, quantized",
    kernels: 1,
    text: r#"
func.func @f(%x: tensor<1x1x$X> {norm.name = "x"})
    -> (tensor<1x1xf8E4M3FN> {norm.name = "q"}, tensor<f32> {norm.name = "scale"}, tensor<f32> {norm.name = "amax"}) {
  %y = norm.rms_norm %x : tensor<1x1x$X> -> tensor<1x1x$X>
  %q, %scale, %amax = norm.quantize %y : tensor<1x1x$X> -> tensor<1x1xf8E4M3FN> scale(tensor<f32>) amax(tensor<f32>)
  return %q, %scale, %amax : tensor<1x1xf8E4M3FN>, tensor<f32>, tensor<f32>
}
"#,
};

/// Every case of a single element.
pub fn cases(cases: &mut Vec<Case>) {
    for graph in [&EXPONENTIAL, &QUANTIZED] {
        for x in [F32, BF16] {
            let mut case = plain(Op::Graph(graph), x, 1);
            case.run.rows = 1;
            cases.push(case);
        }
    }
}
