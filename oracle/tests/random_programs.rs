//! Random scalar programs, evaluated by the oracle and by a naive recursive walk, one point at a time.

#![expect(clippy::unwrap_used, reason = "every program here is made well-formed")]

use std::collections::BTreeMap;
use std::ops::Range;

use norma_bundle::program::{Combiner, Number, Operation, Step, dim_of_symbol};
use norma_bundle::{Element, Expression, Program};
use norma_oracle::layout::Layout;
use norma_oracle::program::Evaluator;
use norma_oracle::program::grid::Data;
use norma_oracle::tensor::Tensor;
use proptest::prelude::*;

/// The shape of the input: large enough for every access that is made here.
const SHAPE: [i64; 2] = [12, 12];

/// A step, as numbers taken modulo the number of alternatives, so that any choice gives a valid program.
type Choice = (u8, usize, usize);

/// The dims that a value varies over.
type Dims = Vec<usize>;

fn program(extents: &[i64], choices: &[Choice]) -> (Program, Vec<Dims>) {
    let rank = extents.len();
    let mut program = Program {
        space: extents
            .iter()
            .map(|extent| Expression::Integer(*extent))
            .collect(),
        guards: vec![],
        steps: vec![],
    };
    let mut dims: Vec<Dims> = Vec::new();
    let mut add = |step: Step, varies: Dims| {
        program.steps.push(step);
        dims.push(varies);
        dims.clone()
    };
    let mut known = add(read(&["d0", "mod(d0, 3)"]), vec![0]);
    for (kind, a, b) in choices {
        let operands = [a % known.len(), b % known.len()];
        let both = |count: usize| {
            let mut all: Dims = operands[..count]
                .iter()
                .flat_map(|value| known[*value].clone())
                .collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let (x, y) = (format!("d{}", a % rank), format!("d{}", b % rank));
        let mut xy = vec![a % rank, b % rank];
        xy.sort_unstable();
        xy.dedup();
        known = match kind % 9 {
            0 => add(read(&[&x, &y]), xy),
            1 => add(read(&[&format!("{x} + {y}"), &format!("floordiv({y}, 2)")]), xy),
            2 => add(
                Step::Constant {
                    value: Number::Float(*a as f64 % 7.0 - 3.0),
                    element: Element::F32,
                },
                vec![],
            ),
            3 => add(operation("arith.addf", &operands), both(2)),
            4 => add(operation("arith.subf", &operands), both(2)),
            5 => add(operation("arith.mulf", &operands), both(2)),
            6 => add(operation("math.tanh", &operands[..1]), both(1)),
            7 => add(
                reduce(Combiner::Add, operands[0], b % rank),
                without(both(1), b % rank),
            ),
            _ => add(
                reduce(Combiner::Max, operands[0], b % rank),
                without(both(1), b % rank),
            ),
        };
    }
    (program, known)
}

fn without(dims: Dims, dim: usize) -> Dims {
    dims.into_iter().filter(|own| *own != dim).collect()
}

fn read(access: &[&str]) -> Step {
    Step::Read {
        tensor: "x".into(),
        access: access
            .iter()
            .map(|source| Expression::parse(source).unwrap())
            .collect(),
        element: Element::F32,
    }
}

fn operation(name: &str, operands: &[usize]) -> Step {
    Step::Op(Operation {
        name: name.into(),
        operands: operands.to_vec(),
        predicate: None,
        relaxed: false,
        element: Element::F32,
    })
}

fn reduce(combiner: Combiner, operand: usize, over: usize) -> Step {
    Step::Reduce {
        combiner,
        operands: vec![operand],
        over: vec![over],
        types: vec![Element::F32],
    }
}

/// The value at one point, and a bound of the magnitudes behind it; every step here defines one value.
fn walk(program: &Program, extents: &[i64], x: &[f64], value: usize, point: &[i64]) -> (f64, f64) {
    let at = |value: usize, point: &[i64]| walk(program, extents, x, value, point);
    match &program.steps[value] {
        Step::Read { access, .. } => {
            let index: Vec<i64> = access
                .iter()
                .map(|coordinate| {
                    coordinate
                        .evaluate(&|name| dim_of_symbol(name).map(|dim| point[dim]))
                        .unwrap()
                })
                .collect();
            let found = x[(index[0] * SHAPE[1] + index[1]) as usize];
            (found, found.abs())
        }
        Step::Constant { value, .. } => (value.as_f64(), value.as_f64().abs()),
        Step::Op(operation) => {
            let a = at(operation.operands[0], point);
            let b = operation
                .operands
                .get(1)
                .map_or((0.0, 0.0), |operand| at(*operand, point));
            match operation.name.as_str() {
                "arith.addf" => (a.0 + b.0, a.1 + b.1),
                "arith.subf" => (a.0 - b.0, a.1 + b.1),
                "arith.mulf" => (a.0 * b.0, a.1 * b.1),
                "math.tanh" => (a.0.tanh(), a.1.max(1.0)),
                name => unreachable!("no program here has {name}"),
            }
        }
        Step::Reduce {
            combiner,
            operands,
            over,
            ..
        } => {
            let mut point = point.to_vec();
            let is_sum = *combiner == Combiner::Add;
            let (mut result, mut magnitude) = (if is_sum { 0.0 } else { f64::NEG_INFINITY }, 0.0f64);
            for index in 0..extents[over[0]] {
                point[over[0]] = index;
                let term = at(operands[0], &point);
                result = match (is_sum, result.is_nan() || term.0.is_nan()) {
                    (true, _) => result + term.0,
                    (false, true) => f64::NAN,
                    (false, false) => result.max(term.0),
                };
                magnitude = if is_sum {
                    magnitude + term.1
                } else {
                    magnitude.max(term.1)
                };
            }
            (result, magnitude)
        }
        step => unreachable!("no program here has {step:?}"),
    }
}

fn points(extents: &[i64], dims: &[usize]) -> Vec<Vec<i64>> {
    dims.iter().fold(vec![vec![0; extents.len()]], |points, dim| {
        let along = |point: Vec<i64>| {
            (0..extents[*dim]).map(move |index| {
                let mut point = point.clone();
                point[*dim] = index;
                point
            })
        };
        points.into_iter().flat_map(along).collect()
    })
}

proptest! {
    #[test]
    fn the_oracle_agrees_with_a_walk_point_by_point(
        extents in prop::collection::vec(0i64..7, 1..4),
        choices in prop::collection::vec(any::<Choice>(), 0..12),
        numbers in prop::collection::vec(-2.0f32..2.0, 144),
    ) {
        let (mut program, dims) = program(&extents, &choices);
        let last = dims.len() - 1;
        let varies = &dims[last];
        program.steps.push(Step::Write {
            value: last,
            tensor: "y".into(),
            access: varies.iter().map(|dim| Expression::symbol(format!("d{dim}"))).collect(),
            partial: false,
        });
        let x: Vec<f64> = numbers.iter().map(|x| f64::from(*x)).collect();
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        let scalars = BTreeMap::new();
        let layout = Layout::contiguous(&SHAPE).unwrap();
        let inputs = BTreeMap::from([("x".to_owned(), Tensor::stored(Element::F32, layout, &bytes))]);
        let evaluator = Evaluator::new(&program, BTreeMap::new(), &scalars, inputs).unwrap();
        let whole: Vec<Range<i64>> = extents.iter().map(|extent| 0..*extent).collect();
        let found = evaluator.stored(&evaluator.writes()[0], &whole).unwrap();
        let Data::Float { values, scales } = found.data else {
            unreachable!("every step is of floats")
        };
        let expected: Vec<(f64, f64)> = points(&extents, varies)
            .iter()
            .map(|point| walk(&program, &extents, &x, last, point))
            .collect();
        prop_assert_eq!(values.len(), expected.len());
        // A maximum errs by no more than its operands do, and may be an exact one of them.
        let is_maximum =
            |step: &Step| matches!(step, Step::Reduce { combiner, .. } if *combiner != Combiner::Add);
        let has_maximum = program.steps.iter().any(is_maximum);
        for ((value, scale), (expected, magnitude)) in values.iter().zip(&scales).zip(expected) {
            // Reductions over nothing give infinities, whose difference is NaN.
            let is_nan = value.is_nan() && expected.is_nan();
            // The oracle rounds the values that every kernel rounds to f32.
            let same = is_nan || *value == expected || (value - expected).abs() <= 1e-6 * magnitude;
            prop_assert!(same, "expected {expected}, got {value}");
            let is_scaled = *scale == 0.0 || *scale >= value.abs();
            prop_assert!(has_maximum || is_nan || is_scaled, "scale {scale} of {value}");
        }
    }
}
