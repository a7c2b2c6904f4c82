//! Derived gradients against two references: difference quotients of the functions they belong to, and the formulas of
//! gradients that are named ops. The oracle evaluates everything in f64 on small tensors.

use std::collections::BTreeMap;

use norma_bundle::manifest::Function;
use norma_compiler::compile::{Input, Outcome, lowered};
use norma_compiler::target::SM_90A;
use norma_compiler::{CompileOptions, bundle::Bundle};
use norma_oracle::Problem;
use norma_oracle::evaluation::Evaluation;
use norma_oracle::fill::Random;
use norma_oracle::tensor::Tensor;

use crate::case::Op;
use crate::source;
use crate::source::differentiated::{GRAPHS_OF_F32, LOGITS, NAMED, function};
use crate::table::plain;
use norma_bundle::Element::F32;

/// Values of tensors by name, row-major.
type Numbers = BTreeMap<String, Vec<f64>>;

/// The value of every dynamic extent.
const ROWS: i64 = 3;

fn compiled(text: &str) -> Bundle {
    let input = Input {
        name: "gradient.mlir",
        text,
    };
    let mut outcome = Outcome::default();
    lowered(input, &CompileOptions::new(&SM_90A), &mut outcome)
        .unwrap_or_else(|error| unreachable!("{}{error}\n{text}", outcome.diagnostics))
}

fn problem(function: &Function) -> Problem<'_> {
    let sizes = function.size_symbols().into_iter();
    let sizes = sizes.map(|name| (name.to_owned(), ROWS)).collect();
    Problem::new(function, sizes, BTreeMap::new(), BTreeMap::new()).unwrap()
}

/// The results of a function, not rounded to their types.
fn evaluated(function: &Function, inputs: &Numbers) -> Numbers {
    let problem = problem(function);
    let stored = function.inputs.iter().map(|input| {
        let mut bytes = Vec::new();
        for value in &inputs[&input.name] {
            let pattern = match input.dtype.is_float() {
                true => input.dtype.encode_float(*value),
                false => *value as i64 as u64,
            };
            input.dtype.store(pattern, &mut bytes);
        }
        bytes
    });
    let stored = stored.collect::<Vec<_>>();
    let tensors = function.inputs.iter().zip(&stored).map(|(input, bytes)| {
        let layout = problem.layouts[input.name.as_str()].clone();
        (input.name.as_str(), Tensor::stored(input.dtype, layout, bytes))
    });
    let definition = function.definition.as_ref().unwrap();
    let evaluation = Evaluation::new(&problem, definition, tensors.collect()).unwrap();
    let outputs = function.outputs.iter();
    let outputs = outputs.map(|output| (output.name.clone(), evaluation.values(&output.name).unwrap()));
    outputs.collect()
}

/// Inputs of a function: distinct multiples of 1/64 within a tensor (up to 128 of them), and labels.
fn inputs(function: &Function, seed: u64) -> Numbers {
    let problem = problem(function);
    let mut random = Random::new(seed);
    let inputs = function.inputs.iter().map(|input| {
        let count = problem.layouts[input.name.as_str()].shape.iter().product::<i64>();
        let first = (random.bits() % 64) as i64;
        let number = |index: i64| match input.dtype.is_float() {
            true => ((index + first) * 37 % 128 - 60) as f64 / 64.0,
            false => ((index + first) % 5) as f64,
        };
        (input.name.clone(), (0..count).map(number).collect())
    });
    inputs.collect()
}

/// The derivative, with respect to each element of an input, of the sum of all results weighted by their given gradients.
fn difference_quotients(function: &Function, inputs: &Numbers, of: &str) -> Vec<f64> {
    let number = |element: usize, step: f64| {
        let mut moved = inputs.clone();
        if let Some(value) = moved.get_mut(of).and_then(|values| values.get_mut(element)) {
            *value += step;
        }
        let results = evaluated(function, &moved);
        let dot = |(name, result): (&String, &Vec<f64>)| {
            let weights = inputs.get(&format!("d{name}"))?;
            Some(result.iter().zip(weights).map(|(a, b)| a * b).sum::<f64>())
        };
        results.iter().filter_map(dot).sum::<f64>()
    };
    let quotient =
        |element: usize, step: f64| (number(element, step) - number(element, -step)) / (2.0 * step);
    // Richardson's extrapolation: the error is of fourth order in the step.
    let step = 1.0 / 128.0;
    let quotient = |element: usize| (4.0 * quotient(element, step / 2.0) - quotient(element, step)) / 3.0;
    (0..inputs[of].len()).map(quotient).collect()
}

fn assert_close(what: &str, found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected
        .iter()
        .fold(1.0, |largest: f64, value| largest.max(value.abs()));
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_close = (found - expected).abs() <= tolerance * largest;
        assert!(is_close, "{what} at {index}: expected {expected}, got {found}");
    }
}

#[test]
fn derived_gradients_are_difference_quotients() {
    for gradient in NAMED.iter().chain(LOGITS).chain(GRAPHS_OF_F32) {
        let text = source::text(&plain(Op::Gradient(gradient), F32, 6).program);
        let bundle = compiled(&text);
        let forward = bundle.manifest.function(Some(source::FUNCTION)).unwrap();
        let derived = bundle.manifest.function(Some(&function())).unwrap();
        let inputs = inputs(derived, 1);
        let found = evaluated(derived, &inputs);
        for name in gradient.wrt {
            let expected = difference_quotients(forward, &inputs, name);
            let what = format!("{} with respect to {name}", gradient.name);
            assert_close(&what, &found[&format!("d{name}")], &expected, 3e-4);
        }
    }
}

/// Pairs of functions over the same tensors: one asks for the derived gradient, the other calls the named op of that gradient. Rows of
/// given lengths have from 0 to 4 elements of 6, and the statistics of those without any are NaN.
const NAMED_GRADIENTS: &[(&str, &str)] = &[
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"}) -> (tensor<?x6xf32> {norm.name = "y"})
    attributes {norm.gradient} {
  %y = norm.rms_norm %x weight(%w : tensor<6xf32>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"}, %dy: tensor<?x6xf32> {norm.name = "dy"})
    -> (tensor<?x6xf32> {norm.name = "dx"}, tensor<6xf32> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x6xf32>) weight(%w : tensor<6xf32>)
             : tensor<?x6xf32> -> tensor<?x6xf32> dweight(tensor<6xf32>)
  return %dx, %dw : tensor<?x6xf32>, tensor<6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"}, %b: tensor<6xf32> {norm.name = "b"})
    -> (tensor<?x6xf32> {norm.name = "y"}) attributes {norm.gradient} {
  %y = norm.layer_norm %x weight(%w : tensor<6xf32>) bias(%b : tensor<6xf32>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"}, %dy: tensor<?x6xf32> {norm.name = "dy"})
    -> (tensor<?x6xf32> {norm.name = "dx"}, tensor<6xf32> {norm.name = "dw"}, tensor<6xf32> {norm.name = "db"}) {
  %dx, %dw, %db = norm.layer_norm_grad %x dy(%dy : tensor<?x6xf32>) weight(%w : tensor<6xf32>)
                  : tensor<?x6xf32> -> tensor<?x6xf32> dweight(tensor<6xf32>) dbias(tensor<6xf32>)
  return %dx, %dw, %db : tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}) -> (tensor<?x6xf32> {norm.name = "y"}) attributes {norm.gradient} {
  %y = norm.softmax %x : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %dy: tensor<?x6xf32> {norm.name = "dy"}) -> (tensor<?x6xf32> {norm.name = "dx"}) {
  %y = norm.softmax %x : tensor<?x6xf32> -> tensor<?x6xf32>
  %dx = norm.softmax_grad %y dy(%dy : tensor<?x6xf32>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %dx : tensor<?x6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %labels: tensor<?xi64> {norm.name = "labels"}) -> (tensor<?xf32> {norm.name = "y"})
    attributes {norm.gradient = ["x"]} {
  %y = norm.cross_entropy %x labels(%labels : tensor<?xi64>) : tensor<?x6xf32> -> tensor<?xf32>
  return %y : tensor<?xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %labels: tensor<?xi64> {norm.name = "labels"}, %dy: tensor<?xf32> {norm.name = "dy"})
    -> (tensor<?x6xf32> {norm.name = "dx"}) {
  %dx = norm.cross_entropy_grad %x labels(%labels : tensor<?xi64>) dloss(%dy : tensor<?xf32>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %dx : tensor<?x6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"},
    %l: tensor<?xi32> {norm.name = "l"}) -> (tensor<?x6xf32> {norm.name = "y"}) attributes {norm.gradient = ["x", "w"]} {
  %y = norm.rms_norm %x weight(%w : tensor<6xf32>) lengths(%l : tensor<?xi32>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"}, %l: tensor<?xi32> {norm.name = "l"},
    %dy: tensor<?x6xf32> {norm.name = "dy"}) -> (tensor<?x6xf32> {norm.name = "dx"}, tensor<6xf32> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x6xf32>) weight(%w : tensor<6xf32>) lengths(%l : tensor<?xi32>)
      : tensor<?x6xf32> -> tensor<?x6xf32> dweight(tensor<6xf32>)
  return %dx, %dw : tensor<?x6xf32>, tensor<6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"}, %b: tensor<6xf32> {norm.name = "b"},
    %l: tensor<?xi32> {norm.name = "l"}) -> (tensor<?x6xf32> {norm.name = "y"}) attributes {norm.gradient = ["x", "w", "b"]} {
  %y = norm.layer_norm %x weight(%w : tensor<6xf32>) bias(%b : tensor<6xf32>) lengths(%l : tensor<?xi32>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<6xf32> {norm.name = "w"}, %l: tensor<?xi32> {norm.name = "l"},
    %dy: tensor<?x6xf32> {norm.name = "dy"}) -> (tensor<?x6xf32> {norm.name = "dx"}, tensor<6xf32> {norm.name = "dw"}, tensor<6xf32> {norm.name = "db"}) {
  %dx, %dw, %db = norm.layer_norm_grad %x dy(%dy : tensor<?x6xf32>) weight(%w : tensor<6xf32>) lengths(%l : tensor<?xi32>)
      : tensor<?x6xf32> -> tensor<?x6xf32> dweight(tensor<6xf32>) dbias(tensor<6xf32>)
  return %dx, %dw, %db : tensor<?x6xf32>, tensor<6xf32>, tensor<6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %l: tensor<?xi64> {norm.name = "l"}) -> (tensor<?x6xf32> {norm.name = "y"})
    attributes {norm.gradient = ["x"]} {
  %y = norm.softmax %x lengths(%l : tensor<?xi64>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %l: tensor<?xi64> {norm.name = "l"}, %dy: tensor<?x6xf32> {norm.name = "dy"})
    -> (tensor<?x6xf32> {norm.name = "dx"}) {
  %y = norm.softmax %x lengths(%l : tensor<?xi64>) : tensor<?x6xf32> -> tensor<?x6xf32>
  %dx = norm.softmax_grad %y dy(%dy : tensor<?x6xf32>) lengths(%l : tensor<?xi64>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %dx : tensor<?x6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %l: tensor<?xi64> {norm.name = "l"}) -> (tensor<?x6xf32> {norm.name = "y"})
    attributes {norm.gradient = ["x"]} {
  %y = norm.log_softmax %x lengths(%l : tensor<?xi64>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %l: tensor<?xi64> {norm.name = "l"}, %dy: tensor<?x6xf32> {norm.name = "dy"})
    -> (tensor<?x6xf32> {norm.name = "dx"}) {
  %y = norm.log_softmax %x lengths(%l : tensor<?xi64>) : tensor<?x6xf32> -> tensor<?x6xf32>
  %dx = norm.log_softmax_grad %y dy(%dy : tensor<?x6xf32>) lengths(%l : tensor<?xi64>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %dx : tensor<?x6xf32>
}
"#,
    ),
    (
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<?x1xf32> {norm.name = "w"},
    %l: tensor<?xi32> {norm.name = "l"}) -> (tensor<?x6xf32> {norm.name = "y"}) attributes {norm.gradient = ["x", "w"]} {
  %y = norm.rms_norm %x weight(%w : tensor<?x1xf32>) lengths(%l : tensor<?xi32>) : tensor<?x6xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}
"#,
        r#"
func.func @f(%x: tensor<?x6xf32> {norm.name = "x"}, %w: tensor<?x1xf32> {norm.name = "w"}, %l: tensor<?xi32> {norm.name = "l"},
    %dy: tensor<?x6xf32> {norm.name = "dy"}) -> (tensor<?x6xf32> {norm.name = "dx"}, tensor<?x1xf32> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x6xf32>) weight(%w : tensor<?x1xf32>) lengths(%l : tensor<?xi32>)
      : tensor<?x6xf32> -> tensor<?x6xf32> dweight(tensor<?x1xf32>)
  return %dx, %dw : tensor<?x6xf32>, tensor<?x1xf32>
}
"#,
    ),
];

#[test]
fn derived_gradients_are_those_that_have_names() {
    for (asking, calling) in NAMED_GRADIENTS {
        let (derived, named) = (compiled(asking), compiled(calling));
        let derived = derived.manifest.function(Some(&function())).unwrap();
        let named = named.manifest.function(Some(source::FUNCTION)).unwrap();
        let inputs = inputs(derived, 2);
        let (found, expected) = (evaluated(derived, &inputs), evaluated(named, &inputs));
        for (name, expected) in &expected {
            assert_close(&format!("{name} of {calling}"), &found[name], expected, 1e-6);
        }
    }
}
