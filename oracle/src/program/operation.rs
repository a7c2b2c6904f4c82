//! What `arith` and `math` operations compute, in f64, element by element.
//!
//! Only conversions and operations whose result is a narrow float (bf16, f16, fp8) round: those roundings are part of
//! an op's definition, f32 arithmetic is not. Each operation also carries scales (see `scaled.rs`) from its operands
//! to its result. A comparison carries none, so the outcome of comparing computed values that are nearly equal is taken
//! as it falls.

use thiserror::Error;

use norma_bundle::Element;
use norma_bundle::program::Operation;

use super::functions;
use super::grid::Data;
use crate::rounding::round_narrow;
use crate::scaled::Scaled;

/// Why an operation has no value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OperationError {
    /// The name, or the predicate, is none that the evaluator knows.
    #[error("the oracle does not know '{0}'")]
    Unknown(String),
    /// The operands are of the wrong kind or number.
    #[error("'{name}' does not take {count} operands of these types")]
    Operands {
        /// The operation.
        name: String,
        /// How many operands it was given.
        count: usize,
    },
    /// An integer division by zero.
    #[error("'{0}' divides by zero")]
    DivideByZero(String),
}

/// Applies `operation` to operands of equal length, whose types are `types`, and rounds the result where the definition
/// does. `ulps` is how far, in ulp of the arithmetic at their scale, the result may be off in a kernel, see `tolerance.rs`.
///
/// # Errors
/// An operation the oracle does not know, operands it does not take, or an integer division by zero.
pub fn apply(
    operation: &Operation,
    operands: &[&Data],
    types: &[Element],
    ulps: f64,
) -> Result<Data, OperationError> {
    let unrounded = apply_unrounded(operation, operands, types)?;
    Ok(rounded(unrounded, operation, types, ulps))
}

/// [`apply`] without the rounding to the result's type: what a kernel's result, before it is stored, approximates.
///
/// # Errors
/// As [`apply`].
pub fn apply_unrounded(
    operation: &Operation,
    operands: &[&Data],
    types: &[Element],
) -> Result<Data, OperationError> {
    let name = operation.name.as_str();
    let wrong = || OperationError::Operands {
        name: name.to_owned(),
        count: operands.len(),
    };
    let predicate = || operation.predicate.as_deref().unwrap_or("");
    let unknown_predicate = || OperationError::Unknown(format!("{name} {}", predicate()));
    let result = match (operands, types) {
        ([Data::Float { values, scales }], _) => match (name, functions::unary(name)) {
            ("arith.extf" | "arith.truncf", _) => Data::Float {
                values: values.clone(),
                scales: scales.clone(),
            },
            ("arith.fptosi" | "arith.fptoui", _) => {
                let convert = |value: &f64| operation.element.wrap_integer(value.trunc() as i64);
                Data::Integer(values.iter().map(convert).collect())
            }
            (_, Some(function)) => operands[0].floats().map(function).collect(),
            _ => return Err(unknown_or(wrong, name)),
        },
        ([Data::Integer(values)], [from]) => {
            let unsigned = |value: i64| match from.integer_bits() {
                Some(bits) if bits < 64 => value as u64 & ((1 << bits) - 1),
                _ => value as u64,
            };
            // A true `i1` is -1 when read as signed.
            let signed = |value: i64| if *from == Element::I1 { -value } else { value };
            match name {
                "arith.sitofp" => Data::exact(values.iter().map(|v| signed(*v) as f64).collect()),
                "arith.uitofp" => Data::exact(values.iter().map(|v| unsigned(*v) as f64).collect()),
                "arith.extsi" | "arith.index_cast" | "arith.trunci" => {
                    let convert = |v: &i64| operation.element.wrap_integer(signed(*v));
                    Data::Integer(values.iter().map(convert).collect())
                }
                "arith.extui" | "arith.index_castui" => {
                    Data::Integer(values.iter().map(|v| unsigned(*v) as i64).collect())
                }
                _ => return Err(unknown_or(wrong, name)),
            }
        }
        ([a @ Data::Float { .. }, b @ Data::Float { .. }], _) => {
            let pairs = a.floats().zip(b.floats());
            if name == "arith.cmpf" {
                let holds = functions::float_predicate(predicate()).ok_or_else(unknown_predicate)?;
                let compare = |(a, b): (Scaled, Scaled)| i64::from(holds(a.value.partial_cmp(&b.value)));
                Data::Integer(pairs.map(compare).collect())
            } else {
                let function = functions::binary(name).ok_or_else(|| unknown_or(wrong, name))?;
                pairs.map(|(a, b)| function(a, b)).collect()
            }
        }
        ([Data::Integer(a), Data::Integer(b)], _) => {
            if name == "arith.cmpi" {
                let holds = functions::integer_predicate(predicate()).ok_or_else(unknown_predicate)?;
                Data::Integer(a.iter().zip(b).map(|(a, b)| i64::from(holds(*a, *b))).collect())
            } else {
                let function = functions::integer(name).ok_or_else(|| unknown_or(wrong, name))?;
                let combine = |(a, b): (&i64, &i64)| {
                    let value =
                        function(*a, *b).ok_or_else(|| OperationError::DivideByZero(name.to_owned()))?;
                    Ok(operation.element.wrap_integer(value))
                };
                Data::Integer(a.iter().zip(b).map(combine).collect::<Result<_, _>>()?)
            }
        }
        ([Data::Integer(condition), a, b], _) if name == "arith.select" => match (a, b) {
            (Data::Float { .. }, Data::Float { .. }) => {
                let cases = condition.iter().zip(a.floats().zip(b.floats()));
                cases
                    .map(|(holds, (a, b))| if *holds != 0 { a } else { b })
                    .collect()
            }
            (Data::Integer(a), Data::Integer(b)) => {
                let cases = condition.iter().zip(a.iter().zip(b));
                Data::Integer(
                    cases
                        .map(|(holds, (a, b))| if *holds != 0 { *a } else { *b })
                        .collect(),
                )
            }
            _ => return Err(wrong()),
        },
        (
            [
                a @ Data::Float { .. },
                b @ Data::Float { .. },
                c @ Data::Float { .. },
            ],
            _,
        ) if name == "math.fma" => {
            let triples = a.floats().zip(b.floats()).zip(c.floats());
            triples.map(|((a, b), c)| a.multiply_add(b, c)).collect()
        }
        _ => return Err(unknown_or(wrong, name)),
    };
    Ok(result)
}

/// Combines floats element by element; `None` where the operands are no floats. Both are equally long.
pub(crate) fn zip_floats(a: &Data, b: &Data, combine: fn(Scaled, Scaled) -> Scaled) -> Option<Data> {
    let both = matches!((a, b), (Data::Float { .. }, Data::Float { .. }));
    both.then(|| a.floats().zip(b.floats()).map(|(a, b)| combine(a, b)).collect())
}

/// Rounds to the result's type where the definition does: to narrow floats always, and to f32 in a `truncf`.
pub(super) fn rounded(mut data: Data, operation: &Operation, types: &[Element], ulps: f64) -> Data {
    let arithmetic = if types.contains(&Element::F64) {
        Element::F64
    } else {
        Element::F32
    };
    let element = operation.element;
    if let Data::Float { values, scales } = &mut data {
        if element.is_narrow_float() {
            round_narrow(element, operation.saturate, arithmetic, ulps, values, scales);
        } else if operation.name == "arith.truncf" {
            values.iter_mut().for_each(|value| *value = element.round(*value));
        }
    }
    data
}

fn unknown_or(wrong: impl Fn() -> OperationError, name: &str) -> OperationError {
    if functions::is_known(name) {
        wrong()
    } else {
        OperationError::Unknown(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &str, element: Element) -> Operation {
        Operation {
            name: name.into(),
            operands: vec![],
            predicate: None,
            saturate: false,
            element,
        }
    }

    fn float(name: &str, operands: &[f64]) -> f64 {
        let data: Vec<Data> = operands.iter().map(|value| Data::exact(vec![*value])).collect();
        let types = vec![Element::F32; data.len()];
        match apply(
            &operation(name, Element::F32),
            &data.iter().collect::<Vec<_>>(),
            &types,
            4.0,
        )
        .unwrap()
        {
            Data::Float { values, .. } => values[0],
            Data::Integer(_) => f64::NAN,
        }
    }

    #[test]
    fn functions_agree_with_their_definitions() {
        assert_eq!(float("math.rsqrt", &[4.0]), 0.5);
        assert_eq!(float("math.exp2", &[10.0]), 1024.0);
        assert!((float("math.erf", &[1.0]) - 0.842_700_792_949_714_9).abs() < 1e-15);
        assert!((float("math.tanh", &[0.5]) - 0.462_117_157_260_009_76).abs() < 1e-15);
        assert_eq!(float("math.fma", &[2.0, 3.0, 4.0]), 10.0);
        assert_eq!(float("math.powf", &[2.0, 0.5]), 2.0f64.sqrt());
    }

    #[test]
    fn functions_carry_the_scale_of_their_operand() {
        let x = Data::Float {
            values: vec![3.0],
            scales: vec![5.0],
        };
        let result = apply(&operation("math.exp", Element::F32), &[&x], &[Element::F32], 4.0).unwrap();
        assert_eq!(result.floats().next().unwrap().scale, 5.0 * 3.0f64.exp());
    }

    #[test]
    fn narrow_results_round_and_wide_ones_do_not() {
        let third = Data::exact(vec![1.0 / 3.0]);
        let rounded = apply(
            &operation("arith.truncf", Element::BF16),
            &[&third],
            &[Element::F32],
            4.0,
        )
        .unwrap();
        assert!(matches!(rounded, Data::Float { values, .. } if values[0] == Element::BF16.round(1.0 / 3.0)));
        assert_eq!(float("arith.divf", &[1.0, 3.0]), 1.0 / 3.0);
    }

    #[test]
    fn saturating_conversion_stops_at_the_largest_number() {
        let big = Data::exact(vec![1e6, -1e6]);
        let mut narrow = operation("arith.truncf", Element::F8E4M3FN);
        narrow.saturate = true;
        let result = apply(&narrow, &[&big], &[Element::F32], 4.0).unwrap();
        assert!(matches!(result, Data::Float { values, .. } if values == [448.0, -448.0]));
    }

    #[test]
    fn integers_wrap_at_their_width() {
        let (a, b) = (Data::Integer(vec![i64::from(i32::MAX)]), Data::Integer(vec![1]));
        let types = [Element::I32; 2];
        let sum = apply(&operation("arith.addi", Element::I32), &[&a, &b], &types, 4.0).unwrap();
        assert_eq!(sum, Data::Integer(vec![i64::from(i32::MIN)]));
        let truth = Data::Integer(vec![1]);
        let signed = apply(
            &operation("arith.extsi", Element::I32),
            &[&truth],
            &[Element::I1],
            4.0,
        )
        .unwrap();
        assert_eq!(signed, Data::Integer(vec![-1]));
        let zero = Data::Integer(vec![0]);
        assert_eq!(
            apply(&operation("arith.divsi", Element::I32), &[&a, &zero], &types, 4.0),
            Err(OperationError::DivideByZero("arith.divsi".into()))
        );
    }

    #[test]
    fn unordered_predicates_hold_on_nan() {
        let (a, b) = (Data::exact(vec![f64::NAN, 1.0]), Data::exact(vec![1.0, 2.0]));
        let mut compare = operation("arith.cmpf", Element::I1);
        for (predicate, expected) in [("olt", [0, 1]), ("ult", [1, 1]), ("uge", [1, 0]), ("one", [0, 1])] {
            compare.predicate = Some(predicate.into());
            let holds = apply(&compare, &[&a, &b], &[Element::F32; 2], 4.0).unwrap();
            assert_eq!(holds, Data::Integer(expected.to_vec()), "{predicate}");
        }
    }

    #[test]
    fn unknown_operations_are_named() {
        let x = Data::exact(vec![1.0]);
        assert_eq!(
            apply(
                &operation("math.gamma", Element::F32),
                &[&x],
                &[Element::F32],
                4.0
            ),
            Err(OperationError::Unknown("math.gamma".into()))
        );
        assert_eq!(
            apply(
                &operation("arith.addf", Element::F32),
                &[&x],
                &[Element::F32],
                4.0
            ),
            Err(OperationError::Operands {
                name: "arith.addf".into(),
                count: 1
            })
        );
    }
}
