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

/// What is known of a value at one point.
#[derive(Clone, Copy)]
struct Walked {
    value: f64,
    /// A bound of the magnitudes behind it.
    magnitude: f64,
    /// The least scale that it may have where it is not exact; infinite where it is exact in any case.
    least_scale: f64,
}

impl Walked {
    /// A number that is exact as it stands.
    fn exact(value: f64) -> Self {
        Walked {
            value,
            magnitude: value.abs(),
            least_scale: f64::INFINITY,
        }
    }

    /// A value that is computed, and may be rounded: its scale is at least its own magnitude.
    fn computed(value: f64, magnitude: f64) -> Self {
        Walked {
            value,
            magnitude,
            least_scale: value.abs(),
        }
    }

    /// The maximum of two values. It has the larger of their scales, which is not its own magnitude where the larger value is exact.
    fn maximum(self, other: Walked) -> Self {
        let is_nan = self.value.is_nan() || other.value.is_nan();
        Walked {
            value: if is_nan {
                f64::NAN
            } else {
                self.value.max(other.value)
            },
            magnitude: self.magnitude.max(other.magnitude),
            least_scale: self.least_scale.min(other.least_scale),
        }
    }
}

/// The value at one point; every step here defines one value.
fn walk(program: &Program, extents: &[i64], x: &[f64], value: usize, point: &[i64]) -> Walked {
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
            Walked::exact(x[(index[0] * SHAPE[1] + index[1]) as usize])
        }
        Step::Constant { value, .. } => Walked::exact(value.as_f64()),
        Step::Op(operation) => {
            let a = at(operation.operands[0], point);
            let b = operation
                .operands
                .get(1)
                .map_or(Walked::exact(0.0), |operand| at(*operand, point));
            match operation.name.as_str() {
                "arith.addf" => Walked::computed(a.value + b.value, a.magnitude + b.magnitude),
                "arith.subf" => Walked::computed(a.value - b.value, a.magnitude + b.magnitude),
                "arith.mulf" => Walked::computed(a.value * b.value, a.magnitude * b.magnitude),
                "math.tanh" => Walked::computed(a.value.tanh(), a.magnitude.max(1.0)),
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
            let terms = (0..extents[over[0]]).map(|index| {
                point[over[0]] = index;
                at(operands[0], &point)
            });
            match combiner {
                Combiner::Add => {
                    let (mut sum, mut magnitude) = (0.0, 0.0);
                    terms.for_each(|term| (sum, magnitude) = (sum + term.value, magnitude + term.magnitude));
                    Walked::computed(sum, magnitude)
                }
                _ => terms
                    .reduce(Walked::maximum)
                    .unwrap_or(Walked::exact(f64::NEG_INFINITY)),
            }
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
        let expected: Vec<Walked> = points(&extents, varies)
            .iter()
            .map(|point| walk(&program, &extents, &x, last, point))
            .collect();
        prop_assert_eq!(values.len(), expected.len());
        for ((value, scale), expected) in values.iter().zip(&scales).zip(expected) {
            let Walked { value: walked, magnitude, least_scale } = expected;
            // Reductions over nothing give infinities, whose difference is NaN.
            if value.is_nan() && walked.is_nan() {
                continue;
            }
            // The oracle rounds the values that every kernel rounds to f32.
            let slack = 1e-6 * magnitude;
            let same = *value == walked || (value - walked).abs() <= slack;
            prop_assert!(same, "expected {walked}, got {value}");
            let is_scaled = *scale == 0.0 || *scale >= least_scale || *scale >= least_scale - slack;
            prop_assert!(is_scaled, "expected a scale of at least {least_scale}, got {scale} of {value}");
        }
    }
}
