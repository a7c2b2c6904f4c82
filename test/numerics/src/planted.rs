//! Faults planted into the text of kernels, one of each kind that a tolerance hides. Each is caught on inputs whose results are
//! exact, that is, the same to the bit in every right kernel.

use norma_bundle::Element::{self, BF16, F32};
use norma_bundle::ScalarOp;
use norma_oracle::Fill;

use crate::case::{Case, Op, Schedule};
use crate::check;
use crate::source::named::Call;
use crate::source::scalar_signatures;
use crate::table::plain;
use crate::trial::Trial;

/// A case of 16 rows of `columns` elements, so that each number of the fill occupies whole rows.
fn case(op: Op, x: Element, columns: i64, fill: Fill) -> Case {
    let mut case = plain(op, x, columns);
    case.run.fill = fill;
    case.run.rows = 16;
    case
}

/// Asserts that a case passes unchanged, and fails once `plant` has changed the text of its module.
fn assert_caught(case: Case, plant: impl Fn(&str) -> String) {
    let trial = Trial::from(case);
    let (text, definition) = check::module(&trial).unwrap();
    let planted = plant(&text);
    assert!(planted != text, "nothing was planted");
    let run = |text: &str| {
        let bundle = check::from_module(text, &definition).unwrap();
        check::run(&bundle, &trial).map(drop)
    };
    assert_eq!(run(&text), Ok(()));
    assert!(run(&planted).is_err(), "nothing caught it");
}

/// Inputs that leave no tolerance: every result is compared to the bit.
#[test]
fn sums_and_extremes_of_exact_numbers_leave_no_tolerance() {
    for op in [Op::Sum, Op::Amax, Op::Min, Op::MaxNegated, Op::ArgMax] {
        for (columns, x) in [(33, F32), (1000, BF16)] {
            let trial = Trial::from(case(op, x, columns, Fill::Exact));
            let judgement = check::run(&check::compile(&trial).unwrap(), &trial).unwrap();
            let outputs = judgement.verification.iter().flat_map(|found| &found.outputs);
            let mut compared = 0;
            for output in outputs {
                assert_eq!(output.exact, output.checked, "{trial}: {}", output.tensor);
                compared += output.checked;
            }
            assert!(compared > 0, "{trial}");
        }
    }
}

#[test]
fn an_identity_of_a_maximum_that_is_not_below_all_numbers() {
    let case = case(Op::MaxNegated, BF16, 100, Fill::Identities);
    assert_caught(case, |text| {
        let text = text.replace("dense<0xFF800000>", "dense<-3.000000e+38>");
        text.replace("(0xFF800000 : f32)", "(-3.000000e+38 : f32)")
    });
}

/// Rounds ties away from zero on the bits of the f32: adds half an ulp of bf16 and clears the bits below an ulp.
#[test]
fn ties_of_bf16_that_go_away_from_zero() {
    let op = ScalarOp::TruncF;
    let signatures = scalar_signatures(op);
    let narrows = |(operands, result): &(Vec<Element>, Element)| operands[..] == [F32] && *result == BF16;
    let signature = signatures.iter().position(narrows).unwrap();
    let mut case = case(Op::Scalar { op, signature }, F32, 100, Fill::Exact);
    case.program.y = BF16;
    assert_caught(case, |text| {
        let mut planted = String::new();
        for (number, line) in text.lines().enumerate() {
            let Some((result, rest)) = line.trim().split_once(" = nvvm.convert.f32x2.to.bf16x2 ") else {
                planted += &format!("{line}\n");
                continue;
            };
            let (values, attributes) = rest.split_once(" {").unwrap();
            let mut rounded = Vec::new();
            for (position, value) in values.split(", ").enumerate() {
                let name = |part: &str| format!("%planted{number}_{position}_{part}");
                let [bits, half, raised, mask, kept, float] =
                    ["bits", "half", "raised", "mask", "kept", "float"].map(name);
                planted += &format!(
                    "{bits} = llvm.bitcast {value} : f32 to i32
                     {half} = llvm.mlir.constant(32768 : i32) : i32
                     {raised} = llvm.add {bits}, {half} : i32
                     {mask} = llvm.mlir.constant(-65536 : i32) : i32
                     {kept} = llvm.and {raised}, {mask} : i32
                     {float} = llvm.bitcast {kept} : i32 to f32\n"
                );
                rounded.push(float);
            }
            planted += &format!(
                "{result} = nvvm.convert.f32x2.to.bf16x2 {} {{{attributes}\n",
                rounded.join(", ")
            );
        }
        planted
    });
}

/// Vectors at the ends of an unaligned row are read element by element.
#[test]
fn elements_that_are_lost_where_a_vector_is_read_in_part() {
    let mut case = case(Op::Sum, BF16, 1001, Fill::Exact);
    case.program.schedule = Some(Schedule {
        threads_per_row: 64,
        vector: 8,
        is_aligned: true,
        ..Schedule::default()
    });
    assert_caught(case, |text| {
        text.replace("mov.b16 $0, 0; @$2 ld.global.b16 $0, [$1];", "mov.b16 $0, 0;")
    });
}

/// Merges the sums of squares of two CTAs, each around the mean of its own 512 elements, as if each were of 256.
#[test]
fn partial_results_of_another_number_of_elements() {
    const LAYER_NORM: Call = Call {
        name: "layer_norm, merged",
        op: "layer_norm",
        schedule: Some(
            "spread = [[grid], [register(2), cluster(2), warp(2), lane(32), vector(4)]], merge_reductions = [cluster]",
        ),
        ..Call::PLAIN
    };
    assert_caught(case(Op::Named(&LAYER_NORM), F32, 1024, Fill::Normal), |text| {
        text.replace("dense<5.120000e+02>", "dense<2.560000e+02>")
    });
}

/// The upper of two bf16 in a word loses the lowest bit of its mantissa.
#[test]
fn a_mantissa_bit_that_is_lost() {
    assert_caught(case(Op::Sum, BF16, 1000, Fill::Exact), |text| {
        text.replace("(-65536 : i32)", "(-131072 : i32)")
            .replace("dense<-65536>", "dense<-131072>")
    });
}
