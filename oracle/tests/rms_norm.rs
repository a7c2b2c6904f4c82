//! The formula of `rms_norm`, against numbers worked out by hand and against plain loops over its definition.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod common;

use std::collections::BTreeMap;

use common::{Case, assert_close, evaluate, numbers};
use norma_bundle::Element;
use norma_oracle::OracleError;

/// A definition of one rms_norm of `operands` (x, weight and bias under their own names) into y and rstd, over the last `axes`
/// axes.
fn definition(operands: &[&str], axes: usize, eps: f64, offset: f64, rstd: bool) -> String {
    let operands: Vec<String> = operands
        .iter()
        .map(|name| format!("\"{name}\": \"{name}\""))
        .collect();
    let axes: Vec<i64> = (1..=axes as i64).map(|axis| -axis).collect();
    let rstd = if rstd { ", \"rstd\": \"rstd\"" } else { "" };
    format!(
        "{{\"statements\": [{{\"kind\": \"named\", \"op\": \"rms_norm\", \"operands\": {{{}}}, \
          \"results\": {{\"y\": \"y\"{rstd}}}, \
          \"attributes\": {{\"axes\": {axes:?}, \"eps\": {eps:?}, \"weight_offset\": {offset:?}}}}}]}}",
        operands.join(", ")
    )
}

fn input(name: &'static str, shape: &[i64], values: &[f64]) -> Case {
    Case::input(name, Element::F32, shape, values.to_vec())
}

fn output(name: &'static str, shape: &[i64]) -> Case {
    Case::output(name, Element::F32, shape)
}

/// y and rstd of one x, without weight and bias.
fn plain(x: Case, eps: f64) -> BTreeMap<String, Vec<f64>> {
    let leading = &x.shape[..x.shape.len() - 1];
    let outputs = [output("y", &x.shape), output("rstd", leading)];
    evaluate(&definition(&["x"], 1, eps, 0.0, true), &[x], &outputs).unwrap()
}

#[test]
fn three_and_four_by_hand() {
    // (9 + 16) / 2 + 3.5 = 16, whose root is 4.
    let found = plain(input("x", &[1, 2], &[3.0, 4.0]), 3.5);
    assert_eq!(found["rstd"], [0.25]);
    assert_eq!(found["y"], [0.75, 1.0]);
}

#[test]
fn weight_offset_and_bias_by_hand() {
    // rstd is 1/4 again; times (w + 1), plus b.
    let inputs = [
        input("x", &[1, 2], &[3.0, 4.0]),
        input("weight", &[2], &[1.0, -3.0]),
        input("bias", &[2], &[0.5, -0.25]),
    ];
    let text = definition(&["x", "weight", "bias"], 1, 3.5, 1.0, false);
    let found = evaluate(&text, &inputs, &[output("y", &[1, 2])]).unwrap();
    assert_eq!(found["y"], [0.75 * 2.0 + 0.5, 1.0 * -2.0 - 0.25]);
}

#[test]
fn one_element_is_its_sign_without_eps() {
    let found = plain(input("x", &[3, 1], &[-7.5, 0.125, 0.0]), 0.0);
    assert_eq!(found["y"][..2], [-1.0, 1.0]);
    assert_eq!(found["rstd"][..2], [1.0 / 7.5, 8.0]);
    assert_eq!(found["rstd"][2], f64::INFINITY);
    assert!(found["y"][2].is_nan(), "0 times infinity");
}

#[test]
fn eps_is_the_f32_nearest_to_what_is_written() {
    let found = plain(input("x", &[1, 1], &[0.0]), 1e-6);
    assert_eq!(found["rstd"], [1.0 / f64::from(1e-6f32).sqrt()]);
}

#[test]
fn nan_and_infinity_reach_their_row_alone() {
    let mut x = vec![1.0; 12];
    x[1] = f64::NAN;
    x[6] = f64::INFINITY;
    let found = plain(input("x", &[3, 4], &x), 0.0);
    assert!(found["y"][..4].iter().all(|y| y.is_nan()) && found["rstd"][0].is_nan());
    // 1 / sqrt(infinity) is 0; infinity times that is NaN.
    assert_eq!(found["rstd"][1], 0.0);
    assert_eq!((found["y"][4], found["y"][5], found["y"][7]), (0.0, 0.0, 0.0));
    assert!(found["y"][6].is_nan());
    assert_eq!(found["y"][8..], [1.0; 4]);
}

#[test]
fn no_rows_are_no_values() {
    let found = plain(input("x", &[0, 4], &[]), 0.0);
    assert!(found["y"].is_empty() && found["rstd"].is_empty());
}

/// The definition as loops over indices, sharing nothing with the oracle but the inputs.
fn by_loops(x: &Case, weight: &[f64], bias: &[f64], row: usize, offset: f64) -> (Vec<f64>, Vec<f64>) {
    let eps = f64::from(1e-6f32);
    let (mut y, mut rstd) = (Vec::new(), Vec::new());
    for start in (0..x.values.len()).step_by(row) {
        // Neumaier's sum, which is nothing like a pairwise one.
        let (mut sum, mut lost) = (0.0f64, 0.0f64);
        for i in start..start + row {
            let square = x.values[i] * x.values[i];
            let next = sum + square;
            lost += if sum >= square {
                (sum - next) + square
            } else {
                (square - next) + sum
            };
            sum = next;
        }
        let r = ((sum + lost) / row as f64 + eps).powf(-0.5);
        rstd.push(r);
        for i in start..start + row {
            y.push(x.values[i] * r * (weight[i - start] + offset) + bias[i - start]);
        }
    }
    (y, rstd)
}

#[test]
fn random_tensors_agree_with_loops() {
    let cases: [(Element, &[i64], usize); 6] = [
        (Element::F32, &[3, 769], 1),
        (Element::BF16, &[2, 4096], 1),
        (Element::F16, &[5, 33], 1),
        (Element::F32, &[2, 3, 31], 1),
        (Element::BF16, &[2, 3, 31], 2),
        (Element::F32, &[7, 5], 2),
    ];
    for (element, shape, axes) in cases {
        let (leading, along_row) = shape.split_at(shape.len() - axes);
        let row = along_row.iter().product::<i64>() as usize;
        let count = shape.iter().product::<i64>() as usize;
        let x = Case::input("x", element, shape, numbers(count, 1));
        let weight = Case::input("weight", Element::F32, along_row, numbers(row, 2));
        let bias = Case::input("bias", Element::BF16, along_row, numbers(row, 3));
        let (y, rstd) = by_loops(&x, &weight.values, &bias.values, row, 0.5);
        let found = evaluate(
            &definition(&["x", "weight", "bias"], axes, 1e-6, 0.5, true),
            &[x, weight, bias],
            &[Case::output("y", element, shape), output("rstd", leading)],
        )
        .unwrap();
        assert_close(&found["y"], &y);
        assert_close(&found["rstd"], &rstd);
    }
}

#[test]
fn rows_may_lie_apart() {
    let dense = input("x", &[3, 5], &numbers(15, 4));
    let apart = Case {
        row_stride: 8,
        ..dense.clone()
    };
    assert_eq!(plain(apart, 1e-6), plain(dense, 1e-6));
}

fn refusal(text: &str, inputs: &[Case], outputs: &[Case]) -> String {
    evaluate(text, inputs, outputs).unwrap_err().to_string()
}

#[test]
fn calls_that_the_definition_does_not_allow_are_refused() {
    let x = input("x", &[2, 4], &numbers(8, 5));
    let y = output("y", &[2, 4]);
    let short = input("weight", &[3], &numbers(3, 6));
    assert_eq!(
        refusal(
            &definition(&["x", "weight"], 1, 0.0, 0.0, false),
            &[x.clone(), short],
            std::slice::from_ref(&y)
        ),
        "in the definition, op 'rms_norm': expected 'weight' to broadcast to [2, 4], got [3]"
    );
    let only_x = |axes, offset| {
        refusal(
            &definition(&["x"], axes, 0.0, offset, false),
            std::slice::from_ref(&x),
            std::slice::from_ref(&y),
        )
    };
    assert!(only_x(3, 0.0).contains("expected an axis of [2, 4], got -3"));
    assert!(only_x(1, 1.0).contains("expected a weight to add weight_offset to"));
    assert_eq!(
        evaluate(
            &definition(&["x"], 1, 0.0, 0.0, false),
            std::slice::from_ref(&x),
            &[output("y", &[4, 2])]
        ),
        Err(OracleError::Shape {
            tensor: "y".into(),
            expected: vec![4, 2],
            got: vec![2, 4]
        })
    );
    let unknown = definition(&["x"], 1, 0.0, 0.0, false).replace("rms_norm", "max_norm");
    let message = refusal(&unknown, &[x], &[y]);
    assert!(
        message.starts_with("in the definition, op 'max_norm': the oracle has no formula for it, only for ")
    );
    assert!(message.contains("rms_norm"));
}
