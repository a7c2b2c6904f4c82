//! Rows alone and in batches of any number, static and dynamic, must have the same results, bit for bit, with `batch_invariant`.
//! Results in f32 show each bit of a sum, most of which rounding to bf16 would hide.

use std::collections::BTreeMap;

use norma_bundle::manifest::Tensor;
use norma_compiler::CompileOptions;
use norma_compiler::compile::{Input, Outcome};
use norma_compiler::target::SM_90A;
use norma_oracle::memory::{self, Image, Images};
use norma_oracle::{Fill, Problem};
use norma_sim::Bundle;
use norma_sim::run::run;
use norma_simulator::Options;

/// A function of rows.
struct Case {
    name: &'static str,
    /// Its text, with `$` for the extents of the dims that count rows.
    text: &'static str,
    /// The batches that it is called with; the first has the rows of all others.
    batches: &'static [Batch],
}

/// A number of rows, by the dims that count them.
struct Batch {
    /// Their types: `?` for a dim of dynamic extent.
    ty: &'static str,
    extents: &'static [i64],
}

impl Batch {
    const fn new(ty: &'static str, extents: &'static [i64]) -> Self {
        Self { ty, extents }
    }

    fn rows(&self) -> usize {
        self.extents.iter().product::<i64>() as usize
    }
}

/// Rows of one dim.
const ONE_DIM: &[Batch] = &[
    Batch::new("?", &[40]),
    Batch::new("?", &[1]),
    Batch::new("?", &[3]),
    Batch::new("1", &[1]),
    Batch::new("3", &[3]),
    Batch::new("40", &[40]),
];
/// The same for long rows, which take longer to simulate.
const FEW: &[Batch] = &[
    Batch::new("?", &[3]),
    Batch::new("?", &[1]),
    Batch::new("1", &[1]),
    Batch::new("3", &[3]),
];
/// Rows of two dims.
const TWO_DIMS: &[Batch] = &[
    Batch::new("?x?", &[5, 8]),
    Batch::new("?x1", &[3, 1]),
    Batch::new("1x1", &[1, 1]),
    Batch::new("5x?", &[5, 8]),
    Batch::new("1x8", &[1, 8]),
];

const CASES: &[Case] = &[
    Case {
        name: "softmax over 4096",
        text: r#"
func.func @f(%x: tensor<$x4096xbf16> {norm.name = "x"}) -> (tensor<$x4096xf32> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<$x4096xbf16> -> tensor<$x4096xf32>
  return %y : tensor<$x4096xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "softmax over 50257",
        text: r#"
func.func @f(%x: tensor<$x50257xbf16> {norm.name = "x"}) -> (tensor<$x50257xf32> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<$x50257xbf16> -> tensor<$x50257xf32>
  return %y : tensor<$x50257xf32>
}
"#,
        batches: FEW,
    },
    Case {
        name: "rms_norm over 197",
        text: r#"
func.func @f(%x: tensor<$x197xbf16> {norm.name = "x"}, %w: tensor<197xf32> {norm.name = "w"})
    -> (tensor<$x197xbf16> {norm.name = "y"}, tensor<$xf32> {norm.name = "rstd"}) {
  %y, %rstd = norm.rms_norm %x weight(%w : tensor<197xf32>) : tensor<$x197xbf16> -> tensor<$x197xbf16>, tensor<$xf32>
  return %y, %rstd : tensor<$x197xbf16>, tensor<$xf32>
}
"#,
        batches: TWO_DIMS,
    },
    Case {
        name: "rms_norm over 128",
        text: r#"
func.func @f(%x: tensor<$x128xf32> {norm.name = "x"}) -> (tensor<$x128xf32> {norm.name = "y"}, tensor<$xf32> {norm.name = "rstd"}) {
  %y, %rstd = norm.rms_norm %x : tensor<$x128xf32> -> tensor<$x128xf32>, tensor<$xf32>
  return %y, %rstd : tensor<$x128xf32>, tensor<$xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "layer_norm over 4097",
        text: r#"
func.func @f(%x: tensor<$x4097xf32> {norm.name = "x"}, %w: tensor<4097xf32> {norm.name = "w"}, %b: tensor<4097xf32> {norm.name = "b"})
    -> (tensor<$x4097xf32> {norm.name = "y"}) {
  %y = norm.layer_norm %x weight(%w : tensor<4097xf32>) bias(%b : tensor<4097xf32>) : tensor<$x4097xf32> -> tensor<$x4097xf32>
  return %y : tensor<$x4097xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "layer_norm over 65536",
        text: r#"
func.func @f(%x: tensor<$x65536xf32> {norm.name = "x"}) -> (tensor<$x65536xf32> {norm.name = "y"}) {
  %y = norm.layer_norm %x : tensor<$x65536xf32> -> tensor<$x65536xf32>
  return %y : tensor<$x65536xf32>
}
"#,
        batches: FEW,
    },
    Case {
        name: "cross_entropy over 4097",
        text: r#"
func.func @f(%x: tensor<$x4097xbf16> {norm.name = "x"}, %labels: tensor<$xi64> {norm.name = "labels"})
    -> (tensor<$xf32> {norm.name = "loss"}) {
  %loss = norm.cross_entropy %x labels(%labels : tensor<$xi64>) : tensor<$x4097xbf16> -> tensor<$xf32>
  return %loss : tensor<$xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "rms_norm_grad over 1024",
        text: r#"
func.func @f(%x: tensor<$x1024xbf16> {norm.name = "x"}, %dy: tensor<$x1024xbf16> {norm.name = "dy"}, %w: tensor<1024xbf16> {norm.name = "w"},
             %rstd: tensor<$xf32> {norm.name = "rstd"})
    -> (tensor<$x1024xf32> {norm.name = "dx"}, tensor<1024xf32> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<$x1024xbf16>) weight(%w : tensor<1024xbf16>) rstd(%rstd : tensor<$xf32>)
      : tensor<$x1024xbf16> -> tensor<$x1024xf32> dweight(tensor<1024xf32>)
  return %dx, %dw : tensor<$x1024xf32>, tensor<1024xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "layer_norm_grad over 197",
        text: r#"
func.func @f(%x: tensor<$x197xf32> {norm.name = "x"}, %dy: tensor<$x197xf32> {norm.name = "dy"}, %w: tensor<197xf32> {norm.name = "w"})
    -> (tensor<$x197xf32> {norm.name = "dx"}, tensor<197xf32> {norm.name = "dw"}, tensor<197xf32> {norm.name = "db"}) {
  %dx, %dw, %db = norm.layer_norm_grad %x dy(%dy : tensor<$x197xf32>) weight(%w : tensor<197xf32>)
      : tensor<$x197xf32> -> tensor<$x197xf32> dweight(tensor<197xf32>) dbias(tensor<197xf32>)
  return %dx, %dw, %db : tensor<$x197xf32>, tensor<197xf32>, tensor<197xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "rms_norm over 4096, scaled to 8 bits by row",
        text: r#"
func.func @f(%x: tensor<$x4096xbf16> {norm.name = "x"}) -> (tensor<$x4096xf8E4M3FN> {norm.name = "q"}, tensor<$xf32> {norm.name = "scale"}) {
  %y = norm.rms_norm %x : tensor<$x4096xbf16> -> tensor<$x4096xf32>
  %q, %scale = norm.quantize %y {block = array<i64: 1, 0>} : tensor<$x4096xf32> -> tensor<$x4096xf8E4M3FN> scale(tensor<$xf32>)
  return %q, %scale : tensor<$x4096xf8E4M3FN>, tensor<$xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "rms_norm over 1024, scaled to 8 bits by block",
        text: r#"
func.func @f(%x: tensor<$x1024xbf16> {norm.name = "x"}) -> (tensor<$x1024xf8E4M3FN> {norm.name = "q"}, tensor<$x8xf32> {norm.name = "scale"}) {
  %y = norm.rms_norm %x : tensor<$x1024xbf16> -> tensor<$x1024xf32>
  %q, %scale = norm.quantize %y {block = array<i64: 1, 128>} : tensor<$x1024xf32> -> tensor<$x1024xf8E4M3FN> scale(tensor<$x8xf32>)
  return %q, %scale : tensor<$x1024xf8E4M3FN>, tensor<$x8xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "group_norm of 8 channels by 64 positions in 2 groups",
        text: r#"
func.func @f(%x: tensor<$x8x64xf32> {norm.name = "x"}, %w: tensor<8xf32> {norm.name = "w"}) -> (tensor<$x8x64xf32> {norm.name = "y"}) {
  %y = norm.group_norm %x weight(%w : tensor<8xf32>) {groups = 2 : i64} : tensor<$x8x64xf32> -> tensor<$x8x64xf32>
  return %y : tensor<$x8x64xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "derived gradient of a gated norm over 256",
        text: r#"
func.func @f(%x: tensor<$x256xbf16> {norm.name = "x"}, %gate: tensor<$x256xbf16> {norm.name = "gate"}, %w: tensor<256xf32> {norm.name = "w"})
    -> (tensor<$x256xf32> {norm.name = "y"}) attributes {norm.gradient = ["x", "w"]} {
  %normalized = norm.rms_norm %x weight(%w : tensor<256xf32>) : tensor<$x256xbf16> -> tensor<$x256xf32>
  %wide = arith.extf %gate : tensor<$x256xbf16> to tensor<$x256xf32>
  %y = arith.mulf %normalized, %wide : tensor<$x256xf32>
  return %y : tensor<$x256xf32>
}
"#,
        batches: ONE_DIM,
    },
    Case {
        name: "softmax and logsumexp over 1000",
        text: r#"
func.func @f(%x: tensor<$x1000xbf16> {norm.name = "x"}) -> (tensor<$x1000xf32> {norm.name = "y"}, tensor<$xf32> {norm.name = "z"}) {
  %y = norm.softmax %x : tensor<$x1000xbf16> -> tensor<$x1000xf32>
  %z = norm.logsumexp %x : tensor<$x1000xbf16> -> tensor<$xf32>
  return %y, %z : tensor<$x1000xf32>, tensor<$xf32>
}
"#,
        batches: ONE_DIM,
    },
];

/// Compiles the function for a batch.
fn compiled(case: &Case, batch: &Batch, batch_invariant: bool) -> Bundle {
    let text = case.text.replace('$', batch.ty);
    let input = Input {
        name: "batches.mlir",
        text: &text,
    };
    let options = CompileOptions {
        batch_invariant,
        ..CompileOptions::new(&SM_90A)
    };
    let mut outcome = Outcome::default();
    Bundle::compile(input, &options, &mut outcome)
        .unwrap_or_else(|error| unreachable!("{}{error}\n{text}", outcome.diagnostics))
}

/// Binds the sizes of the function of a bundle to those of a batch.
fn bound<'b>(bundle: &'b Bundle, batch: &Batch) -> Problem<'b> {
    // A derived gradient comes after its function.
    let function = bundle.manifest.functions.last().unwrap();
    let named = function.inputs[0].shape.iter().zip(batch.extents);
    let sizes =
        named.flat_map(|(size, extent)| size.symbols().into_iter().map(|name| (name.to_owned(), *extent)));
    Problem::new(function, sizes.collect(), BTreeMap::new(), BTreeMap::new()).unwrap()
}

/// The elements of a tensor of each row; `None` for a tensor that all rows share.
fn row_bytes(problem: &Problem<'_>, batch: &Batch, tensor: &Tensor) -> Option<usize> {
    let is_by_row = problem.layouts[&tensor.name].shape.starts_with(batch.extents);
    is_by_row.then(|| problem.span_bytes(tensor) / batch.rows())
}

/// The outputs of the last rows of `inputs`, as many as the batch has, that rows have for themselves.
fn ran(bundle: &Bundle, batch: &Batch, rows: usize, inputs: &Images) -> BTreeMap<String, Vec<u8>> {
    let problem = bound(bundle, batch);
    let of_batch = problem.function.inputs.iter().map(|tensor| {
        let all = inputs[&tensor.name].body();
        let own = match row_bytes(&problem, batch, tensor) {
            Some(bytes) => &all[(rows - batch.rows()) * bytes..],
            None => all,
        };
        (tensor.name.clone(), Image::holding(own))
    });
    let ran = run(
        bundle,
        &problem,
        &of_batch.collect(),
        &Options::default(),
        &mut |_| (),
    )
    .unwrap();
    assert!(ran.findings.is_empty(), "{:?}", ran.findings);
    let outputs = problem.function.outputs.iter();
    let by_row = outputs.filter(|tensor| row_bytes(&problem, batch, tensor).is_some());
    by_row
        .map(|tensor| (tensor.name.clone(), ran.images[&tensor.name].body().to_vec()))
        .collect()
}

/// The batches in which some rows have other results than in the first, with the names of the results.
fn differing(case: &Case, batch_invariant: bool) -> Vec<String> {
    let first = &case.batches[0];
    let bundle = compiled(case, first, batch_invariant);
    let inputs = memory::inputs(&bound(&bundle, first), Fill::Normal, 7);
    let expected = ran(&bundle, first, first.rows(), &inputs);
    assert!(!expected.is_empty(), "{}: no results by row", case.name);
    let mut differing = Vec::new();
    for batch in &case.batches[1..] {
        let bundle = compiled(case, batch, batch_invariant);
        for (name, got) in ran(&bundle, batch, first.rows(), &inputs) {
            let expected = &expected[&name];
            if expected[expected.len() - got.len()..] != got {
                differing.push(format!(
                    "{}: {name} of {:?} as {}",
                    case.name, batch.extents, batch.ty
                ));
            }
        }
    }
    differing
}

#[test]
fn rows_have_the_same_bits_in_every_batch() {
    let differing = CASES.iter().flat_map(|case| differing(case, true));
    assert_eq!(differing.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn without_the_option_bits_depend_on_the_batch() {
    for case in &CASES[..2] {
        assert_ne!(differing(case, false), Vec::<String>::new(), "{}", case.name);
    }
}
