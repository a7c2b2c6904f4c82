//! Elements at computed coordinates: what is read and written there, and what is not.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod common;

use std::collections::BTreeMap;

use common::{Case, assert_close, evaluate, numbers};
use norma_bundle::Element::{F32, I64};
use norma_bundle::manifest::Function;
use norma_oracle::memory::{Image, Images};
use norma_oracle::verify::{Run, Sampling};
use norma_oracle::{Problem, Verification, verify};

/// `y[ids[d0]] = v[d0]` for ids that are not 3.
const SCATTER: &str = r#"{"statements": [{"kind": "program", "space": [4], "steps": [
    {"kind": "read", "tensor": "ids", "access": ["d0"], "type": "i64"},
    {"kind": "constant", "value": 3, "type": "i64"},
    {"kind": "op", "name": "arith.cmpi", "operands": [0, 1], "predicate": "ne", "type": "i1"},
    {"kind": "read", "tensor": "v", "access": ["d0"], "type": "f32"},
    {"kind": "scatter", "value": 3, "tensor": "y", "coordinates": [0], "condition": 2}]}]}"#;

fn ids(values: [f64; 4]) -> Case {
    Case::input("ids", I64, &[4], values.to_vec())
}

#[test]
fn what_is_read_outside_of_a_tensor_is_zero() {
    let x = Case::input("x", F32, &[6], numbers(6, 1));
    let of = x.values.clone();
    let text = r#"{"statements": [{"kind": "program", "space": [4], "steps": [
        {"kind": "read", "tensor": "ids", "access": ["d0"], "type": "i64"},
        {"kind": "constant", "value": 3, "type": "i64"},
        {"kind": "op", "name": "arith.cmpi", "operands": [0, 1], "predicate": "ne", "type": "i1"},
        {"kind": "gather", "tensor": "x", "coordinates": [0], "condition": 2, "type": "f32"},
        {"kind": "op", "name": "arith.uitofp", "operands": [4], "type": "f32"},
        {"kind": "write", "value": 3, "tensor": "y", "access": ["d0"]},
        {"kind": "write", "value": 5, "tensor": "z", "access": ["d0"]}]}]}"#;
    let outputs = [Case::output("y", F32, &[4]), Case::output("z", F32, &[4])];
    let found = evaluate(text, &[ids([5.0, -1.0, 3.0, 6.0]), x.clone()], &outputs).unwrap();
    assert_close(&found["y"], &[of[5], 0.0, 0.0, 0.0]);
    assert_close(&found["z"], &[1.0, 0.0, 0.0, 0.0]);
    let far = 2.0_f64.powi(62);
    let found = evaluate(text, &[ids([0.0, far, -far, 2.0]), x], &outputs).unwrap();
    assert_close(&found["y"], &[of[0], 0.0, 0.0, of[2]]);
}

#[test]
fn what_is_written_outside_of_a_tensor_is_written_nowhere() {
    let v = Case::input("v", F32, &[4], vec![1.0, 2.0, 3.0, 4.0]);
    let inputs = [ids([5.0, -1.0, 3.0, 0.0]), v];
    let found = evaluate(SCATTER, &inputs, &[Case::output("y", F32, &[6])]).unwrap();
    let reached = found["y"].iter().map(|value| !value.is_nan()).collect::<Vec<_>>();
    assert_eq!(reached, [true, false, false, false, false, true]);
    assert_eq!((found["y"][0], found["y"][5]), (4.0, 1.0));
}

/// Judges a run of [`SCATTER`] to ids 0, 2, 2 and 9 that left `after` in the first elements of `y`; others are poisoned.
fn judged(after: &[f32]) -> Verification {
    let tensor = |name: &str, dtype: &str, extent: i64| {
        format!(
            r#"{{"name": "{name}", "dtype": "{dtype}", "shape": [{extent}], "strides": [1], "align": 1}}"#
        )
    };
    let text = format!(
        r#"{{"name": "f", "inputs": [{}, {}], "outputs": [{}], "kernels": [], "definition": {SCATTER}}}"#,
        tensor("ids", "i64", 4),
        tensor("v", "f32", 4),
        tensor("y", "f32", 4)
    );
    let function: Function = serde_json::from_str(&text).unwrap();
    let problem = Problem::new(&function, BTreeMap::new(), BTreeMap::new(), BTreeMap::new()).unwrap();
    let holding = |bytes: Vec<u8>| Image::holding(&bytes);
    let ids = [0_i64, 2, 2, 9].into_iter().flat_map(i64::to_le_bytes).collect();
    let v = [1.0_f32, 2.0, 3.0, 4.0]
        .into_iter()
        .flat_map(f32::to_le_bytes)
        .collect();
    let mut y: Vec<u8> = after.iter().copied().flat_map(f32::to_le_bytes).collect();
    y.resize(16, 0xff);
    let before: Images = [("ids".to_owned(), holding(ids)), ("v".to_owned(), holding(v))].into();
    let mut after = before.clone();
    after.insert("y".to_owned(), holding(y));
    let run = Run {
        before: &before,
        after: &after,
        again: None,
        workspaces: &BTreeMap::new(),
    };
    verify(&problem, run, Sampling { rows: 0, seed: 0 }).unwrap()
}

#[test]
fn elements_that_no_point_reaches_are_left_alone_and_contested_ones_may_be_any() {
    let untouched = f32::from_bits(u32::MAX);
    for of_either in [2.0, 3.0] {
        let verdict = judged(&[1.0, untouched, of_either]);
        assert!(verdict.passed, "{verdict:?}");
        assert_eq!((verdict.outputs[0].checked, verdict.outputs[0].undefined), (1, 2));
    }
    assert!(!judged(&[7.0, untouched, 2.0]).passed);
    let stray = judged(&[1.0, 5.0, 2.0]);
    assert!(!stray.passed && stray.stray_writes == ["y"]);
    assert!(!judged(&[1.0, untouched, 2.0, 4.0]).passed);
}
