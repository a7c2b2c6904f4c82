//! The formulas of named ops, against numbers worked out by hand, at their edge cases too, and gradients against difference
//! quotients.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod common;

use std::collections::BTreeMap;

use common::{Case, assert_close, evaluate, numbers};
use norma_bundle::Element;
use norma_oracle::OracleError;

const INF: f64 = f64::INFINITY;

/// The results of a call of one op; tensors have the names of its operands and results.
fn call(op: &str, attributes: &str, inputs: &[Case], outputs: &[Case]) -> BTreeMap<String, Vec<f64>> {
    try_call(op, attributes, inputs, outputs).unwrap()
}

fn try_call(
    op: &str,
    attributes: &str,
    inputs: &[Case],
    outputs: &[Case],
) -> Result<BTreeMap<String, Vec<f64>>, OracleError> {
    let names = |cases: &[Case]| {
        let pairs = cases.iter().map(|case| format!("\"{0}\": \"{0}\"", case.name));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let definition = format!(
        "{{\"statements\": [{{\"kind\": \"named\", \"op\": \"{op}\", \"operands\": {{{}}}, \"results\": {{{}}}, \
          \"attributes\": {{{attributes}}}}}]}}",
        names(inputs),
        names(outputs)
    );
    evaluate(&definition, inputs, outputs)
}

fn input(name: &'static str, shape: &[i64], values: &[f64]) -> Case {
    Case::input(name, Element::F64, shape, values.to_vec())
}

fn integers(name: &'static str, element: Element, shape: &[i64], values: &[f64]) -> Case {
    Case::input(name, element, shape, values.to_vec())
}

fn output(name: &'static str, shape: &[i64]) -> Case {
    Case::output(name, Element::F64, shape)
}

#[test]
fn layer_norm_by_hand() {
    let inputs = [
        input("x", &[2, 2], &[1.0, 5.0, 3.0, 5.0]),
        input("weight", &[2], &[1.0, -3.0]),
        input("bias", &[2], &[0.5, 0.25]),
    ];
    let outputs = [output("y", &[2, 2]), output("mean", &[2]), output("rstd", &[2])];
    // The columns are 2 -+ 1, whose variance is 1, and 5 twice; 1 / sqrt(1 + 3) and 1 / sqrt(0 + 3).
    let found = call(
        "layer_norm",
        "\"axes\": [0], \"eps\": 3.0, \"weight_offset\": 1.0",
        &inputs,
        &outputs,
    );
    assert_eq!(found["mean"], [2.0, 5.0]);
    assert_close(&found["rstd"], &[0.5, 3f64.sqrt().recip()]);
    assert_close(&found["y"], &[-0.5 * 2.0 + 0.5, 0.5, 0.5 * -2.0 + 0.25, 0.25]);
}

#[test]
fn no_elements_have_no_mean() {
    let outputs = [output("y", &[2, 0]), output("mean", &[2]), output("rstd", &[2])];
    let attributes = "\"axes\": [-1], \"eps\": 1.0, \"weight_offset\": 0.0";
    let found = call("layer_norm", attributes, &[input("x", &[2, 0], &[])], &outputs);
    assert!(found["y"].is_empty());
    assert!(
        found["mean"]
            .iter()
            .chain(&found["rstd"])
            .all(|statistic| statistic.is_nan())
    );
}

#[test]
fn l2_norm_by_hand() {
    let x = input("x", &[3, 2], &[3.0, 4.0, 0.0, 0.0, 0.0, 0.5]);
    let outputs = [output("y", &[3, 2]), output("inverse", &[3])];
    let found = call(
        "l2_norm",
        "\"axes\": [1], \"eps\": 2.0",
        std::slice::from_ref(&x),
        &outputs,
    );
    assert_close(&found["inverse"], &[0.2, 0.5, 0.5]);
    assert_close(&found["y"], &[0.6, 0.8, 0.0, 0.0, 0.0, 0.25]);
    let found = call("l2_norm", "\"axes\": [1], \"eps\": 0.0", &[x], &outputs);
    assert!(found["y"][2].is_nan(), "0 times infinity");
}

const PLAIN: &str = "\"axes\": [-1], \"scale\": 1.0, \"softcap\": 0.0, \"causal\": []";

#[test]
fn softmax_and_its_logarithms_by_hand() {
    let three = 3f64.ln();
    let x = input("x", &[1, 2], &[1000.0, 1000.0 + three]);
    let y = |op: &str, shape: &[i64]| {
        let found = call(op, PLAIN, std::slice::from_ref(&x), &[output("y", shape)]);
        found["y"].clone()
    };
    let close = |actual: Vec<f64>, expected: &[f64]| {
        let pairs = actual.iter().zip(expected);
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-10), "{actual:?}");
    };
    close(y("softmax", &[1, 2]), &[0.25, 0.75]);
    close(y("log_softmax", &[1, 2]), &[0.25f64.ln(), 0.75f64.ln()]);
    close(y("logsumexp", &[1]), &[1000.0 + 4f64.ln()]);
}

#[test]
fn infinite_logits_are_as_in_pytorch() {
    let x = input("x", &[3, 2], &[-INF, -INF, -INF, 7.0, INF, 7.0]);
    let found = call(
        "softmax",
        PLAIN,
        std::slice::from_ref(&x),
        &[output("y", &[3, 2])],
    );
    assert!(found["y"][..2].iter().chain(&found["y"][4..]).all(|y| y.is_nan()));
    assert_eq!(found["y"][2..4], [0.0, 1.0]);
    let found = call("logsumexp", PLAIN, &[x], &[output("y", &[3])]);
    assert_eq!(found["y"], [-INF, 7.0, INF]);
    let none = input("x", &[2, 0], &[]);
    assert_eq!(
        call("logsumexp", PLAIN, &[none], &[output("y", &[2])])["y"],
        [-INF; 2]
    );
}

#[test]
fn masks_broadcast_and_exclude() {
    let inputs = [
        input("x", &[2, 3], &[0.0; 6]),
        input("mask", &[3], &[0.0, 2f64.ln(), 0.0]),
        integers("keep", Element::I8, &[2, 1], &[1.0, 0.0]),
    ];
    let y = [output("y", &[2, 3])];
    let found = call("softmax", PLAIN, &inputs, &y);
    assert_close(&found["y"], &[0.25, 0.5, 0.25, f64::NAN, f64::NAN, f64::NAN]);
    let causal = PLAIN.replace("[]", "[0, -1]");
    assert_close(
        &call("softmax", &causal, &inputs[..1], &y)["y"],
        &[1.0, 0.0, 0.0, 0.5, 0.5, 0.0],
    );
}

#[test]
fn logits_are_scaled_and_then_capped() {
    let attributes = PLAIN.replace(
        "\"scale\": 1.0, \"softcap\": 0.0",
        "\"scale\": 2.0, \"softcap\": 4.0",
    );
    let found = call(
        "logsumexp",
        &attributes,
        &[input("x", &[1, 1], &[3.0])],
        &[output("y", &[1])],
    );
    assert_close(&found["y"], &[4.0 * 1.5f64.tanh()]);
}

fn cross_entropy(
    attributes: [&str; 4],
    logits: &Case,
    label: f64,
    weight: Option<&[f64]>,
) -> BTreeMap<String, Vec<f64>> {
    let [smoothing, z_loss, softcap, ignored] = attributes;
    let attributes = format!(
        "\"axis\": -1, \"ignore_index\": {ignored}, \"label_smoothing\": {smoothing}, \"z_loss\": {z_loss}, \
         \"softcap\": {softcap}, \"reduction\": \"none\""
    );
    let classes = logits.shape[1];
    let mut inputs = vec![logits.clone(), integers("labels", Element::I64, &[1], &[label])];
    inputs.extend(weight.map(|weight| input("weight", &[classes], weight)));
    let outputs = [
        output("loss", &[1]),
        output("lse", &[1]),
        output("row_weight", &[1]),
        output("dlogits", &[1, classes]),
    ];
    call("cross_entropy", &attributes, &inputs, &outputs)
}

#[test]
fn cross_entropy_by_hand() {
    let logits = input("logits", &[1, 2], &[0.0, 3f64.ln()]);
    let plain = ["0.0", "0.0", "0.0", "-100"];
    let found = cross_entropy(plain, &logits, 1.0, None);
    assert_close(&found["loss"], &[-(0.75f64.ln())]);
    assert_close(&found["lse"], &[4f64.ln()]);
    assert_close(&found["dlogits"], &[0.25, -0.25]);
    let weighted = cross_entropy(plain, &logits, 1.0, Some(&[2.0, 3.0]));
    assert_close(&weighted["loss"], &[-3.0 * 0.75f64.ln()]);
    assert_close(&weighted["row_weight"], &[3.0]);
    let smooth = cross_entropy(["0.5", "2.0", "0.0", "-100"], &logits, 1.0, None);
    let expected = -0.5 * 0.75f64.ln() - 0.25 * (0.25f64.ln() + 0.75f64.ln()) + 2.0 * 4f64.ln().powi(2);
    assert_close(&smooth["loss"], &[expected]);
}

#[test]
fn labels_may_be_ignored_or_name_no_class() {
    let logits = input("logits", &[1, 2], &[f64::NAN, 1.0]);
    let ignored = cross_entropy(["0.5", "1.0", "0.0", "1"], &logits, 1.0, None);
    assert_eq!(
        (
            ignored["loss"][0],
            ignored["row_weight"][0],
            ignored["dlogits"].clone()
        ),
        (0.0, 0.0, vec![0.0; 2])
    );
    for label in [2.0, -1.0] {
        let logits = input("logits", &[1, 2], &[0.0, 1.0]);
        let found = cross_entropy(["0.0", "0.0", "0.0", "-100"], &logits, label, None);
        assert!(found["loss"][0].is_nan() && found["row_weight"][0].is_nan());
        assert!(found["dlogits"].iter().all(|gradient| gradient.is_nan()));
        assert!(found["lse"][0].is_finite());
    }
}

#[test]
fn gradients_of_cross_entropy_are_differences_of_losses() {
    const STEP: f64 = 1e-5;
    let values = numbers(5, 1);
    let weight = [1.0, 0.5, 2.0, 0.25, 3.0];
    let options = ["0.125", "0.5", "2.0", "-100"];
    let loss = |values: &[f64]| {
        let logits = input("logits", &[1, 5], values);
        cross_entropy(options, &logits, 2.0, Some(&weight))
    };
    let gradient = &loss(&values)["dlogits"];
    for class in 0..5 {
        let at = |step: f64| {
            let mut moved = values.clone();
            moved[class] += step;
            loss(&moved)["loss"][0]
        };
        let difference = (at(STEP) - at(-STEP)) / (2.0 * STEP);
        assert!((gradient[class] - difference).abs() < 1e-8, "{class}");
    }
}

#[test]
fn group_norm_by_hand() {
    // Two groups of two channels of two points, channels first and channels last.
    let rows = [0.0, 0.0, 2.0, 2.0, 10.0, 30.0, 10.0, 30.0];
    let transposed: Vec<f64> = (0..8).map(|place| rows[(place % 4) * 2 + place / 4]).collect();
    let y = [-0.5, -0.5, 2.0, 2.0, -1.0, 1.0, -1.0, 1.0];
    let of = |shape: &[i64], axis: i64, x: &[f64]| {
        let inputs = [
            input("x", shape, x),
            input("weight", &[4], &[1.0, 2.0, 1.0, 1.0]),
            input("bias", &[4], &[0.5, 0.0, 0.0, 0.0]),
        ];
        let outputs = [
            output("y", shape),
            output("mean", &[1, 2]),
            output("rstd", &[1, 2]),
        ];
        let attributes = format!("\"groups\": 2, \"channel_axis\": {axis}, \"eps\": 0.0");
        call("group_norm", &attributes, &inputs, &outputs)
    };
    let found = of(&[1, 4, 2], 1, &rows);
    assert_eq!(
        (&found["mean"][..], &found["rstd"][..]),
        (&[1.0, 20.0][..], &[1.0, 0.1][..])
    );
    assert_close(&found["y"], &y);
    let found = of(&[1, 2, 4], -1, &transposed);
    let expected: Vec<f64> = (0..8).map(|place| y[(place % 4) * 2 + place / 4]).collect();
    assert_close(&found["y"], &expected);
}

#[test]
fn batch_stats_by_hand() {
    let var = |correction: i64, x: &[f64]| {
        let shape = [x.len() as i64];
        let outputs = [output("mean", &[]), output("var", &[])];
        let attributes = format!("\"axes\": [0], \"correction\": {correction}");
        call("batch_stats", &attributes, &[input("x", &shape, x)], &outputs)["var"][0]
    };
    assert_eq!((var(0, &[1.0, 3.0]), var(1, &[1.0, 3.0])), (1.0, 2.0));
    assert_eq!(var(3, &[1.0, 3.0]), INF);
    assert!(var(1, &[1.0]).is_nan() && var(0, &[]).is_nan());
}

#[test]
fn scales_rounded_down_are_those_of_the_microscaling_formats() {
    let x = input("x", &[1, 4], &[500.0, 1.0, 0.0, 0.0]);
    let outputs = [
        Case::output("q", Element::F8E4M3FN, &[1, 4]),
        Case::output("scale", Element::F8E8M0FNU, &[1, 2]),
    ];
    let found = call(
        "quantize",
        "\"block\": [1, 2], \"scale_layout\": \"linear\", \"round_down\": 1",
        &[x],
        &outputs,
    );
    // 500 is 1.95 * 2^8, and 448 is 1.75 * 2^8: the scale is 1, and 500 saturates where it is stored.
    assert_eq!(found["scale"], [127.0, 1.0]);
    assert_eq!(found["q"][..2], [500.0, 1.0]);
}

#[test]
fn floats_of_4_bits_lie_in_pairs_with_the_even_one_low() {
    let x = input(
        "x",
        &[2, 4],
        &[12.0, -1.0, 0.25, f64::NAN, 0.0, -0.0, 672.0, -84.0],
    );
    let outputs = [
        Case::output("q", Element::I8, &[2, 2]),
        Case::output("scale", Element::F8E4M3FN, &[2, 2]),
    ];
    let attributes = "\"block\": [1, 2], \"scale_layout\": \"linear\", \"e2m1\": 1";
    let found = call("quantize", attributes, std::slice::from_ref(&x), &outputs);
    // 12 / 2 is 6, code 7, and -1 / 2 is -0.5, code 9; 672 / 112 is 6, and -0.75 lies between -0.5 and -1, whose code is even.
    let codes = |high: i64, low: i64| Element::I8.wrap_integer(high << 4 | low) as f64;
    assert_eq!(found["scale"][0], 2.0);
    assert!(found["scale"][1].is_nan());
    // A block of zeros has the least scale of the type.
    assert_eq!(found["scale"][2..], [1.0 / 512.0, 112.0]);
    assert_eq!(found["q"], [codes(9, 7), codes(7, 7), codes(8, 0), codes(10, 7)]);
    let inputs = [
        integers(
            "q",
            Element::I8,
            &[2, 2],
            &[codes(9, 7), codes(1, 15), codes(8, 0), 5.0],
        ),
        Case::input("scale", Element::F8E4M3FN, &[2, 2], vec![2.0, 1.0, 448.0, 0.5]),
        input("tensor_scale", &[], &[4.0]),
    ];
    let found = call("dequantize", attributes, &inputs, &[output("y", &[2, 4])]);
    assert_eq!(found["y"], [48.0, -4.0, -24.0, 2.0, 0.0, -0.0, 6.0, 0.0]);
}

#[test]
fn elements_behind_the_length_of_a_row_do_not_exist() {
    let inputs = [
        input("x", &[4, 2], &[3.0, 4.0, 1.0, f64::NAN, 5.0, 6.0, 3.0, 4.0]),
        integers("lengths", Element::I32, &[4], &[2.0, 1.0, 0.0, 9.0]),
    ];
    let found = call("softmax", PLAIN, &inputs, &[output("y", &[4, 2])]);
    assert_eq!(found["y"][2..6], [1.0, 0.0, 0.0, 0.0]);
    let found = call("logsumexp", PLAIN, &inputs, &[output("y", &[4])]);
    assert_eq!(found["y"][1..3], [1.0, -INF]);
    let attributes = "\"axes\": [-1], \"eps\": 0.0, \"weight_offset\": 0.0";
    let outputs = [output("y", &[4, 2]), output("rstd", &[4])];
    let found = call("rms_norm", attributes, &inputs, &outputs);
    assert_eq!(found["y"][2..6], [1.0, 0.0, 0.0, 0.0]);
    let rstd = 12.5f64.sqrt().recip();
    assert_close(&found["rstd"], &[rstd, 1.0, f64::NAN, rstd]);
}

#[test]
fn elements_behind_the_length_of_a_row_have_no_gradient() {
    let lengths = integers("lengths", Element::I32, &[3], &[2.0, 1.0, -1.0]);
    let (y, dy) = (
        input("y", &[3, 2], &[0.25, 0.75, 1.0, f64::NAN, f64::NAN, 0.5]),
        input("dy", &[3, 2], &[4.0, 8.0, 3.0, f64::NAN, 1.0, f64::NAN]),
    );
    let outputs = [output("dx", &[3, 2])];
    let inputs = [y, dy.clone(), lengths.clone()];
    let found = call(
        "softmax_grad",
        "\"axes\": [-1], \"scale\": 2.0",
        &inputs,
        &outputs,
    );
    assert_eq!(found["dx"], [-1.5, 1.5, 0.0, 0.0, 0.0, 0.0]);
    let y = input("y", &[3, 2], &[0.0, -INF, 0.0, f64::NAN, f64::NAN, 0.5]);
    let inputs = [y, dy.clone(), lengths.clone()];
    let found = call(
        "log_softmax_grad",
        "\"axes\": [-1], \"scale\": 1.0",
        &inputs,
        &outputs,
    );
    assert_eq!(found["dx"], [-8.0, 8.0, 0.0, 0.0, 0.0, 0.0]);

    let inputs = [
        input("x", &[3, 2], &[1.0, -1.0, 3.0, f64::NAN, f64::NAN, 5.0]),
        dy,
        input("residual", &[3, 2], &[0.0, 0.0, 0.5, 7.0, 9.0, f64::NAN]),
        lengths,
    ];
    let outputs = [
        output("dx", &[3, 2]),
        output("dweight", &[2]),
        output("dbias", &[2]),
    ];
    let attributes = "\"axes\": [-1], \"eps\": 0.0, \"weight_offset\": 0.0";
    // Of the first row, rstd is 1 and the mean of dy * x is -2; an element alone has no gradient but that of the residual path.
    let found = call("rms_norm_grad", attributes, &inputs, &outputs);
    assert_close(&found["dx"][..5], &[6.0, 6.0, 0.5, 7.0, 9.0]);
    assert!(found["dx"][5].is_nan());
    assert_close(&found["dweight"], &[7.0, -8.0]);
    assert_eq!(found["dbias"], [7.0, 8.0]);
    let attributes = "\"axes\": [-1], \"eps\": 1.0, \"weight_offset\": 0.0";
    // Of the first row, rstd^2 is 1/2; the only element of the second row is its own mean.
    let found = call("layer_norm_grad", attributes, &inputs, &outputs);
    let rstd = 0.5f64.sqrt();
    let first = (4.0 - 6.0 + rstd * rstd * 2.0) * rstd;
    assert_close(&found["dx"][..5], &[first, -first, 0.5, 7.0, 9.0]);
    assert_close(&found["dweight"], &[4.0 * rstd, -8.0 * rstd]);
    assert_eq!(found["dbias"], [7.0, 8.0]);
}

#[test]
fn the_largest_of_a_row_come_sorted() {
    let x = input("x", &[2, 4], &[1.0, f64::NAN, 7.0, 7.0, -0.0, -INF, 0.0, -1.0]);
    let outputs = [
        output("values", &[2, 3]),
        Case::output("indices", Element::I32, &[2, 3]),
    ];
    let found = call("top_k", "\"axis\": -1, \"k\": 3", &[x], &outputs);
    assert_eq!(found["indices"], [1.0, 2.0, 3.0, 0.0, 2.0, 3.0]);
    assert!(found["values"][0].is_nan());
    assert_eq!(found["values"][1..], [7.0, 7.0, 0.0, 0.0, -1.0]);
    assert!(found["values"][3].is_sign_positive());
    let few = input("x", &[1, 1], &[2.0]);
    let outputs = [
        output("values", &[1, 2]),
        Case::output("indices", Element::I32, &[1, 2]),
    ];
    let found = call("top_k", "\"axis\": 1, \"k\": 2", &[few], &outputs);
    assert_eq!(found["values"], [2.0, -INF]);
    assert_eq!(found["indices"], [0.0, f64::from(i32::MAX)]);
}

#[test]
fn what_was_taken_comes_back_to_its_place() {
    let dvalues = input("dvalues", &[2, 3], &[1.0, 2.0, 4.0, f64::NAN, 3.0, 5.0]);
    let places = [1.0, 1.0, 9.0, 0.0, 3.0, -1.0];
    let indices = integers("indices", Element::I32, &[2, 3], &places);
    let attributes = "\"axis\": 1, \"elements\": 4";
    let outputs = [output("dx", &[2, 4])];
    let found = call("top_k_grad", attributes, &[dvalues, indices], &outputs);
    assert_eq!(found["dx"][..4], [0.0, 3.0, 0.0, 0.0]);
    assert!(found["dx"][4].is_nan());
    assert_eq!(found["dx"][5..], [0.0, 0.0, 3.0]);
}

#[test]
fn a_place_among_several_axes_is_in_row_major_order() {
    let found = |axes: &str, shape: &[i64], values: &[f64]| {
        let attributes = format!("\"kind\": \"argmax\", \"axes\": {axes}, \"correction\": 0");
        let x = input("x", &[2, 2, 3], values);
        call(
            "reduce_axes",
            &attributes,
            &[x],
            &[Case::output("y", Element::I32, shape)],
        )["y"]
            .clone()
    };
    let values = [0.0, 1.0, 2.0, 9.0, 1.0, 9.0, 9.0, 3.0, 3.0, 3.0, 7.0, 7.0];
    assert_eq!(found("[2, 1]", &[2], &values), [3.0, 0.0]);
    assert_eq!(found("[0, 2]", &[2], &values), [3.0, 0.0]);
    assert_eq!(found("[0, 1, 2]", &[], &values), [3.0]);
    assert_eq!(found("[]", &[2, 2, 3], &values), [0.0; 12]);
}

#[test]
fn floats_are_not_taken_for_integers_nor_integers_for_floats() {
    let reduce = |kind: &str| format!("\"kind\": \"{kind}\", \"axes\": [1], \"correction\": 0");
    let (sum, argmax) = (reduce("sum"), reduce("argmax"));
    let whole = |name, shape: &[i64]| Case::output(name, Element::I32, shape);
    let (floats, integers) = (
        input("x", &[1, 2], &[1.0, 2.0]),
        Case::input("x", Element::I32, &[1, 2], vec![1.0, 2.0]),
    );
    for (op, attributes, result, shape) in [
        ("cumsum", "\"axis\": 1", "y", &[1, 2][..]),
        ("reduce_axes", &sum, "y", &[1]),
        ("top_k", "\"axis\": 1, \"k\": 2", "values", &[1, 2]),
    ] {
        let refusal = |x: &Case, result: Case| {
            let indices = (op == "top_k").then(|| whole("indices", shape));
            let outputs: Vec<Case> = [Some(result), indices].into_iter().flatten().collect();
            let found = try_call(op, attributes, std::slice::from_ref(x), &outputs);
            found.unwrap_err().to_string()
        };
        let expected = format!(
            "in the definition, op '{op}': expected 'x' and '{result}' both of floats or both of integers"
        );
        assert_eq!(
            refusal(&integers, output(result, shape)),
            format!("{expected}, got i32 and f64")
        );
        assert_eq!(
            refusal(&floats, whole(result, shape)),
            format!("{expected}, got f64 and i32")
        );
    }
    let found = call("reduce_axes", &argmax, &[floats], &[whole("y", &[1])]);
    assert_eq!(found["y"], [1.0]);
}
