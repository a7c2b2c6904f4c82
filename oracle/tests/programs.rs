//! The evaluator on hand-written programs, against the same computation in plain Rust.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

#[expect(dead_code, reason = "the functions made of a definition are not used here")]
mod common;

use std::collections::BTreeMap;
use std::ops::Range;

use common::{assert_close, numbers};
use norma_bundle::definition::Statement;
use norma_bundle::{Element, Manifest, Program};
use norma_oracle::OracleError;
use norma_oracle::layout::Layout;
use norma_oracle::program::Evaluator;
use norma_oracle::program::grid::Data;
use norma_oracle::tensor::Tensor;

/// A tensor in memory, with the values that its type holds.
struct Stored {
    element: Element,
    bytes: Vec<u8>,
    values: Vec<f64>,
    layout: Layout,
}

impl Stored {
    fn new(element: Element, shape: &[i64], values: Vec<f64>) -> Stored {
        let values: Vec<f64> = values.iter().map(|value| element.round(*value)).collect();
        let mut bytes = Vec::new();
        values
            .iter()
            .for_each(|value| element.store(element.encode_float(*value), &mut bytes));
        Stored {
            element,
            bytes,
            values,
            layout: Layout::contiguous(shape).unwrap(),
        }
    }

    fn tensor(&self) -> Tensor<'_> {
        Tensor::stored(self.element, self.layout.clone(), &self.bytes)
    }
}

/// Everything that the program writes, by tensor, evaluated over the whole space.
fn run(
    program: &Program,
    sizes: &[(&str, i64)],
    inputs: &[(&str, &Stored)],
) -> Result<BTreeMap<String, Vec<f64>>, OracleError> {
    let sizes = sizes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value))
        .collect();
    let inputs = inputs
        .iter()
        .map(|(name, stored)| ((*name).to_owned(), stored.tensor()))
        .collect();
    let scalars = BTreeMap::new();
    let evaluator = Evaluator::new(program, sizes, &scalars, inputs)?;
    let whole: Vec<Range<i64>> = evaluator.extents().iter().map(|extent| 0..*extent).collect();
    let mut found = BTreeMap::new();
    for write in evaluator.writes() {
        let values = match evaluator.stored(&write, &whole)?.data {
            Data::Float { values, .. } => values,
            Data::Integer { values, .. } => values.iter().map(|value| *value as f64).collect(),
        };
        found.insert(write.tensor.to_owned(), values);
    }
    Ok(found)
}

fn program(json: &str) -> Program {
    serde_json::from_str(json).unwrap()
}

#[test]
fn rms_norm_of_the_documented_manifest() {
    let manifest: Manifest =
        serde_json::from_str(include_str!("../../bundle/testdata/rms_norm.json")).unwrap();
    let definition = manifest.functions[0].definition.as_ref().unwrap();
    let Statement::Program(reference) = &definition.statements[0] else {
        unreachable!("the documented manifest has a program")
    };
    let (m, n) = (3usize, 4096usize);
    let x = Stored::new(Element::BF16, &[3, 4096], numbers(m * n, 1));
    let w = Stored::new(Element::F32, &[4096], numbers(n, 2));
    let found = run(reference, &[("m", 3)], &[("x", &x), ("w", &w)]).unwrap();

    let eps = Element::F32.round(1e-6);
    let (mut rstd, mut y) = (Vec::new(), Vec::new());
    for row in x.values.chunks(n) {
        let mean_square = row.iter().map(|x| x * x).sum::<f64>() / n as f64;
        let scale = 1.0 / (mean_square + eps).sqrt();
        rstd.push(scale);
        y.extend(row.iter().zip(&w.values).map(|(x, w)| x * scale * w));
    }
    assert_close(&found["rstd"], &rstd);
    assert_close(&found["y"], &y);
}

/// Seven numbers in blocks of three: the maximum and the sum of each block, and the sum of all.
const SHORTER_LAST_BLOCK: &str = r#"{
  "space": [3, 3], "guards": [["d0*3 + d1", "n"]],
  "steps": [
    {"kind": "read", "tensor": "x", "access": ["d0*3 + d1"], "type": "f32"},
    {"kind": "reduce", "combiner": "max", "operands": [0], "over": [1], "types": ["f32"]},
    {"kind": "reduce", "combiner": "add", "operands": [0], "over": [1], "types": ["f32"]},
    {"kind": "reduce", "combiner": "add", "operands": [2], "over": [0, 1], "types": ["f32"]},
    {"kind": "write", "value": 1, "tensor": "most", "access": ["d0"]},
    {"kind": "write", "value": 2, "tensor": "sums", "access": ["d0"]},
    {"kind": "write", "value": 3, "tensor": "all", "access": []}
  ]
}"#;

#[test]
fn a_guard_leaves_out_points() {
    let program = program(SHORTER_LAST_BLOCK);
    let x = Stored::new(Element::F32, &[7], vec![-1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0]);
    let found = run(&program, &[("n", 7)], &[("x", &x)]).unwrap();
    assert_eq!(found["most"], [-1.0, -4.0, -7.0]);
    assert_eq!(found["sums"], [-6.0, -15.0, -7.0]);
    // The sum of a block counts once for each of its elements.
    assert_eq!(found["all"], [3.0 * -6.0 + 3.0 * -15.0 - 7.0]);

    let mut unguarded = program;
    unguarded.guards.clear();
    assert!(run(&unguarded, &[("n", 7)], &[("x", &x)]).is_err());
}

const WELFORD_LAYER_NORM: &str = r#"{
  "space": ["m", "n"],
  "steps": [
    {"kind": "read", "tensor": "x", "access": ["d0", "d1"], "type": "f32"},
    {"kind": "constant", "value": 0, "type": "f32"},
    {"kind": "constant", "value": 1, "type": "f32"},
    {"kind": "reduce", "operands": [0, 1, 2], "over": [1], "types": ["f32", "f32", "f32"],
     "combiner": {"region": {
       "identities": [0, 0, 0],
       "steps": [
         {"kind": "op", "name": "arith.addf", "operands": [2, 5], "type": "f32"},
         {"kind": "constant", "value": 1, "type": "f32"},
         {"kind": "op", "name": "arith.maximumf", "operands": [6, 7], "type": "f32"},
         {"kind": "op", "name": "arith.divf", "operands": [5, 8], "type": "f32"},
         {"kind": "op", "name": "arith.subf", "operands": [3, 0], "type": "f32"},
         {"kind": "op", "name": "arith.mulf", "operands": [10, 9], "type": "f32"},
         {"kind": "op", "name": "arith.addf", "operands": [0, 11], "type": "f32"},
         {"kind": "op", "name": "arith.mulf", "operands": [10, 11], "type": "f32"},
         {"kind": "op", "name": "arith.mulf", "operands": [13, 2], "type": "f32"},
         {"kind": "op", "name": "arith.addf", "operands": [1, 4], "type": "f32"},
         {"kind": "op", "name": "arith.addf", "operands": [15, 14], "type": "f32"}
       ],
       "results": [12, 16, 6]}}},
    {"kind": "op", "name": "arith.divf", "operands": [4, 5], "type": "f32"},
    {"kind": "op", "name": "math.rsqrt", "operands": [6], "type": "f32"},
    {"kind": "op", "name": "arith.subf", "operands": [0, 3], "type": "f32"},
    {"kind": "op", "name": "arith.mulf", "operands": [8, 7], "type": "f32"},
    {"kind": "write", "value": 9, "tensor": "y", "access": ["d0", "d1"]}
  ]
}"#;

#[test]
fn layer_norm_by_a_region_of_three_accumulators() {
    let (m, n) = (4usize, 769usize);
    let x = Stored::new(
        Element::F32,
        &[4, 769],
        numbers(m * n, 3).iter().map(|x| 1000.0 + x).collect(),
    );
    let found = run(
        &program(WELFORD_LAYER_NORM),
        &[("m", 4), ("n", 769)],
        &[("x", &x)],
    )
    .unwrap();
    let mut expected = Vec::new();
    for row in x.values.chunks(n) {
        let mean = row.iter().sum::<f64>() / n as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        expected.extend(row.iter().map(|x| (x - mean) / variance.sqrt()));
    }
    for (a, e) in found["y"].iter().zip(&expected) {
        assert!((a - e).abs() < 1e-9, "expected {e}, got {a}");
    }
}

const SOFTMAX: &str = r#"{
  "space": ["m", "n"],
  "steps": [
    {"kind": "read", "tensor": "x", "access": ["d0", "d1"], "type": "f32"},
    {"kind": "reduce", "combiner": "max", "operands": [0], "over": [1], "types": ["f32"]},
    {"kind": "op", "name": "arith.subf", "operands": [0, 1], "type": "f32"},
    {"kind": "op", "name": "math.exp", "operands": [2], "type": "f32"},
    {"kind": "reduce", "combiner": "add", "operands": [3], "over": [1], "types": ["f32"]},
    {"kind": "op", "name": "arith.divf", "operands": [3, 4], "type": "f32"},
    {"kind": "write", "value": 5, "tensor": "y", "access": ["d0", "d1"]}
  ]
}"#;

#[test]
fn softmax_and_its_edges() {
    let mut values = numbers(3 * 5, 4);
    values[5..10].fill(f64::NEG_INFINITY);
    values[12] = f64::NAN;
    let x = Stored::new(Element::F32, &[3, 5], values);
    let found = run(&program(SOFTMAX), &[("m", 3), ("n", 5)], &[("x", &x)]).unwrap();
    // The difference of two inputs is rounded once, so every kernel has the rounded one.
    let row = &x.values[..5];
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = row.iter().map(|x| Element::F32.round(x - max).exp()).collect();
    let sum: f64 = exponentials.iter().sum();
    assert_close(
        &found["y"][..5],
        &exponentials.iter().map(|e| e / sum).collect::<Vec<_>>(),
    );
    assert!(
        found["y"][5..].iter().all(|y| y.is_nan()),
        "a row of -inf, and a row with a NaN"
    );
}

#[test]
fn no_rows_and_empty_rows_give_the_identity() {
    let none = Stored::new(Element::F32, &[0, 5], vec![]);
    assert!(run(&program(SOFTMAX), &[("m", 0), ("n", 5)], &[("x", &none)]).unwrap()["y"].is_empty());
    let sums = program(
        r#"{"space": ["m", "n"], "steps": [
            {"kind": "read", "tensor": "x", "access": ["d0", "d1"], "type": "f32"},
            {"kind": "reduce", "combiner": "max", "operands": [0], "over": [1], "types": ["f32"]},
            {"kind": "write", "value": 1, "tensor": "s", "access": ["d0"]}]}"#,
    );
    let empty = Stored::new(Element::F32, &[2, 0], vec![]);
    let found = run(&sums, &[("m", 2), ("n", 0)], &[("x", &empty)]).unwrap();
    assert_eq!(found["s"], [f64::NEG_INFINITY; 2]);
}

/// Crossing reductions: dx reduces over n, which dw keeps, and dw reduces over m, which dx keeps.
const CROSSING: &str = r#"{
  "space": ["m", "n"],
  "steps": [
    {"kind": "read", "tensor": "x", "access": ["d0", "d1"], "type": "f32"},
    {"kind": "reduce", "combiner": "add", "operands": [0], "over": [1], "types": ["f32"]},
    {"kind": "op", "name": "arith.mulf", "operands": [0, 1], "type": "f32"},
    {"kind": "write", "value": 2, "tensor": "dx", "access": ["d0", "d1"]},
    {"kind": "reduce", "combiner": "add", "operands": [2], "over": [0], "types": ["f32"]},
    {"kind": "write", "value": 3, "tensor": "dw", "access": ["d1"]}
  ]
}"#;

#[test]
fn crossing_reductions_are_cut_into_parts() {
    // 2200 x 1000 is more points than are held at once.
    let (m, n) = (2200usize, 1000usize);
    let x = Stored::new(Element::F32, &[2200, 1000], numbers(m * n, 5));
    let (sizes, scalars) = (
        BTreeMap::from([("m".into(), 2200), ("n".into(), 1000)]),
        BTreeMap::new(),
    );
    let program = program(CROSSING);
    let inputs = BTreeMap::from([("x".into(), x.tensor())]);
    let evaluator = Evaluator::new(&program, sizes, &scalars, inputs).unwrap();
    let write = &evaluator.writes()[1];
    assert_eq!(evaluator.arithmetic_ulps(write.value), 4.0 * 2200f64.sqrt() + 4.0);

    let sums: Vec<f64> = x.values.chunks(n).map(|row| row.iter().sum()).collect();
    let expected: Vec<f64> = (0..n)
        .map(|column| (0..m).map(|row| x.values[row * n + column] * sums[row]).sum())
        .collect();
    let Data::Float { values, .. } = evaluator.stored(write, &[0..0, 0..1000]).unwrap().data else {
        unreachable!("a sum of floats is a float")
    };
    for (a, e) in values.iter().zip(&expected) {
        assert!((a - e).abs() < 1e-9, "expected {e}, got {a}");
    }
}

#[test]
fn labels_select_by_index() {
    let program = program(
        r#"{"space": ["m", "n"], "steps": [
            {"kind": "read", "tensor": "x", "access": ["d0", "d1"], "type": "f32"},
            {"kind": "read", "tensor": "label", "access": ["d0"], "type": "i64"},
            {"kind": "index", "dim": 1},
            {"kind": "op", "name": "arith.cmpi", "predicate": "eq", "operands": [2, 1], "type": "i1"},
            {"kind": "constant", "value": 0.0, "type": "f32"},
            {"kind": "op", "name": "arith.select", "operands": [3, 0, 4], "type": "f32"},
            {"kind": "reduce", "combiner": "add", "operands": [5], "over": [1], "types": ["f32"]},
            {"kind": "write", "value": 6, "tensor": "hit", "access": ["d0"]}]}"#,
    );
    let x = Stored::new(Element::F32, &[2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let labels: Vec<u8> = [2i64, 0].iter().flat_map(|label| label.to_le_bytes()).collect();
    let label = Stored {
        element: Element::I64,
        bytes: labels,
        values: vec![],
        layout: Layout::contiguous(&[2]).unwrap(),
    };
    let found = run(&program, &[("m", 2), ("n", 3)], &[("x", &x), ("label", &label)]).unwrap();
    assert_eq!(found["hit"], [3.0, 4.0]);
}

#[test]
fn dims_that_no_operand_varies_over_repeat_each_term() {
    let count = program(
        r#"{"space": ["m", "n"], "steps": [
            {"kind": "read", "tensor": "x", "access": ["d0"], "type": "f32"},
            {"kind": "reduce", "combiner": "add", "operands": [0], "over": [1], "types": ["f32"]},
            {"kind": "write", "value": 1, "tensor": "s", "access": ["d0"]}]}"#,
    );
    let x = Stored::new(Element::F32, &[2], vec![1.5, -2.0]);
    let found = run(&count, &[("m", 2), ("n", 7)], &[("x", &x)]).unwrap();
    assert_eq!(found["s"], [10.5, -14.0]);
}

#[test]
fn intermediate_storage_types_round() {
    let add = program(
        r#"{"space": ["m"], "steps": [
            {"kind": "read", "tensor": "x", "access": ["d0"], "type": "f32"},
            {"kind": "op", "name": "arith.truncf", "operands": [0], "type": "bf16"},
            {"kind": "op", "name": "arith.extf", "operands": [1], "type": "f32"},
            {"kind": "write", "value": 2, "tensor": "y", "access": ["d0"]},
            {"kind": "write", "value": 1, "tensor": "h", "access": ["d0"]}]}"#,
    );
    let x = Stored::new(Element::F32, &[2], numbers(2, 6));
    let found = run(&add, &[("m", 2)], &[("x", &x)]).unwrap();
    assert_eq!(
        found["y"],
        x.values
            .iter()
            .map(|x| Element::BF16.round(*x))
            .collect::<Vec<_>>()
    );
    assert_eq!(
        found["h"], x.values,
        "a store's own rounding is left to who compares"
    );
}

#[test]
fn unknown_operations_and_missing_inputs_are_named() {
    let x = Stored::new(Element::F32, &[2, 3], numbers(6, 7));
    let gamma = program(&SOFTMAX.replace("math.exp", "math.gamma"));
    let error = run(&gamma, &[("m", 2), ("n", 3)], &[("x", &x)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "in step 3 of the definition's program: the oracle does not know 'math.gamma'"
    );
    let error = run(&program(SOFTMAX), &[("m", 2), ("n", 3)], &[]).unwrap_err();
    assert_eq!(error, OracleError::Unbound("x".into()));
    let error = run(&program(SOFTMAX), &[("m", 2)], &[("x", &x)]).unwrap_err();
    assert_eq!(error.to_string(), "in the definition: symbol 'n' has no value");
}
