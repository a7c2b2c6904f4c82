//! Definitions of several statements, each of which reads earlier results as memory would hold them.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod common;

use common::{Case, assert_close, evaluate, numbers};
use norma_bundle::Element;
use norma_oracle::OracleError;

const BF16: Element = Element::BF16;
const F32: Element = Element::F32;

fn norm(from: &str, to: &str) -> String {
    format!(
        r#"{{"kind": "named", "op": "rms_norm", "operands": {{"x": "{from}"}}, "results": {{"y": "{to}"}},
            "attributes": {{"axes": [-1], "eps": 0.0, "weight_offset": 0.0}}}}"#
    )
}

fn row_sums(from: &str, rows: &str, columns: &str, dtype: &str, to: &str) -> String {
    format!(
        r#"{{"kind": "program", "space": [{rows}, {columns}], "steps": [
            {{"kind": "read", "tensor": "{from}", "access": ["d0", "d1"], "type": "{dtype}"}},
            {{"kind": "op", "name": "arith.extf", "operands": [0], "type": "f32"}},
            {{"kind": "reduce", "combiner": "add", "operands": [1], "over": [1], "types": ["f32"]}},
            {{"kind": "write", "value": 2, "tensor": "{to}", "access": ["d0"]}}]}}"#
    )
}

fn definition(intermediates: &str, statements: &[String]) -> String {
    format!(
        r#"{{"intermediates": [{intermediates}], "statements": [{}]}}"#,
        statements.join(", ")
    )
}

/// Rows of 5, normalized without weight.
fn normalized(x: &[f64]) -> Vec<f64> {
    let row = |row: &[f64]| {
        let root = (row.iter().map(|x| x * x).sum::<f64>() / 5.0).sqrt();
        row.iter().map(|x| x / root).collect::<Vec<_>>()
    };
    x.chunks(5).flat_map(row).collect()
}

fn sums(x: &[f64]) -> Vec<f64> {
    x.chunks(5).map(|row| row.iter().sum()).collect()
}

fn rounded(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(|value| BF16.round(value)).collect()
}

#[test]
fn intermediates_are_rounded_to_their_type_and_name_their_sizes() {
    let x = Case::input("x", F32, &[3, 5], numbers(15, 1));
    let text = definition(
        r#"{"name": "t", "dtype": "bf16", "shape": ["t_0", 5]}"#,
        &[norm("x", "t"), row_sums("t", "\"t_0\"", "5", "bf16", "s")],
    );
    let expected = sums(&rounded(normalized(&x.values)));
    let found = evaluate(&text, &[x], &[Case::output("s", F32, &[3])]).unwrap();
    assert_close(&found["s"], &expected);
}

#[test]
fn programs_give_intermediates_the_extents_they_write() {
    let x = Case::input("x", F32, &[3, 5], numbers(15, 2));
    let text = definition(
        r#"{"name": "t", "dtype": "f32", "shape": ["t_0"]}"#,
        &[
            row_sums("x", "3", "5", "f32", "t"),
            r#"{"kind": "program", "space": ["t_0"], "steps": [
                {"kind": "size", "value": "t_0"},
                {"kind": "op", "name": "arith.sitofp", "operands": [0], "type": "f32"},
                {"kind": "read", "tensor": "t", "access": ["d0"], "type": "f32"},
                {"kind": "op", "name": "arith.mulf", "operands": [1, 2], "type": "f32"},
                {"kind": "write", "value": 3, "tensor": "s", "access": ["d0"]}]}"#
                .to_owned(),
        ],
    );
    let expected: Vec<f64> = sums(&x.values)
        .into_iter()
        .map(|sum| 3.0 * F32.round(sum))
        .collect();
    let found = evaluate(&text, &[x], &[Case::output("s", F32, &[3])]).unwrap();
    assert_close(&found["s"], &expected);
}

#[test]
fn an_extent_is_what_is_written_along_it_also_beside_a_dim_without_points() {
    let copy = |from: &str, to: &str, space: &str| {
        format!(
            r#"{{"kind": "program", "space": {space}, "steps": [
                {{"kind": "read", "tensor": "{from}", "access": ["d0"], "type": "f32"}},
                {{"kind": "write", "value": 0, "tensor": "{to}", "access": ["d0"]}}]}}"#
        )
    };
    let x = Case::input("x", F32, &[3], vec![1.0, 2.0, 3.0]);
    let text = definition(
        r#"{"name": "t", "dtype": "f32", "shape": ["t_0"]}"#,
        &[copy("x", "t", "[3, 0]"), copy("t", "y", r#"["t_0"]"#)],
    );
    let found = evaluate(&text, &[x], &[Case::output("y", F32, &[3])]).unwrap();
    assert_eq!(found["y"], [1.0, 2.0, 3.0]);
}

#[test]
fn outputs_are_read_as_they_are_stored() {
    let x = Case::input("x", F32, &[2, 5], numbers(10, 3));
    let text = definition("", &[norm("x", "y"), row_sums("y", "2", "5", "bf16", "s")]);
    let y = normalized(&x.values);
    let outputs = [Case::output("y", BF16, &[2, 5]), Case::output("s", F32, &[2])];
    let found = evaluate(&text, &[x], &outputs).unwrap();
    assert_close(&found["y"], &y);
    assert_close(&found["s"], &sums(&rounded(y)));
}

#[test]
fn the_last_of_two_writes_stays() {
    let x = Case::input("x", F32, &[2, 5], numbers(10, 4));
    let text = definition("", &[norm("x", "y"), norm("y", "y")]);
    let once = rounded(normalized(&x.values));
    let found = evaluate(&text, &[x], &[Case::output("y", BF16, &[2, 5])]).unwrap();
    assert_close(&found["y"], &rounded(normalized(&once)));
}

#[test]
fn statements_may_write_parts_of_one_tensor() {
    let part = |offset: i64, from: &str| {
        format!(
            r#"{{"kind": "program", "space": [2], "steps": [
                {{"kind": "read", "tensor": "{from}", "access": ["d0"], "type": "f32"}},
                {{"kind": "write", "value": 0, "tensor": "y", "access": ["d0 + {offset}"]}}]}}"#
        )
    };
    let inputs = [
        Case::input("a", F32, &[2], vec![1.0, 2.0]),
        Case::input("b", F32, &[2], vec![3.0, 4.0]),
    ];
    let text = definition("", &[part(2, "b"), part(0, "a")]);
    let found = evaluate(&text, &inputs, &[Case::output("y", F32, &[4])]).unwrap();
    assert_eq!(found["y"], [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn intermediates_have_the_extents_they_declare() {
    let x = Case::input("x", F32, &[2, 5], numbers(10, 5));
    let text = definition(
        r#"{"name": "t", "dtype": "f32", "shape": [2, 6]}"#,
        &[norm("x", "t"), row_sums("t", "2", "6", "f32", "s")],
    );
    assert_eq!(
        evaluate(&text, &[x], &[Case::output("s", F32, &[2])]),
        Err(OracleError::Shape {
            tensor: "t".into(),
            expected: vec![6],
            got: vec![5]
        })
    );
}
