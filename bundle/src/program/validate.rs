//! Checks a program before anything evaluates it.

use std::collections::BTreeSet;

use thiserror::Error;

use super::{Combiner, Program, Step, Value, dim_of_symbol, dims_of_access};
use crate::definition::{Declared, Scope};
use crate::element::Element;
use crate::expression::Expression;

/// A rule that a program violates, and the step that does.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("step {step}: {message}")]
pub struct ProgramError {
    /// The step's index.
    pub step: usize,
    /// What was expected there.
    pub message: String,
}

impl Program {
    /// Checks the program against its scope: values are defined before they are used, tensors exist with the accessed rank
    /// and type, dims exist, and sizes are known.
    pub(crate) fn validate(&self, scope: &Scope<'_>) -> Result<(), ProgramError> {
        let sizes = &scope.sizes;
        let check_sizes = |step: usize, expression: &Expression| match expression
            .symbols()
            .into_iter()
            .find(|name| !sizes.contains(name))
        {
            None => Ok(()),
            Some(name) => Err(ProgramError {
                step,
                message: format!("'{name}' is no size of the function"),
            }),
        };
        if let Some(name) = sizes.iter().find(|name| dim_of_symbol(name).is_some()) {
            let message = format!("the size '{name}' has the name of a dim");
            return Err(ProgramError { step: 0, message });
        }
        self.space.iter().try_for_each(|extent| check_sizes(0, extent))?;
        for side in self.guards.iter().flatten() {
            for name in side.symbols() {
                let is_known = match dim_of_symbol(name) {
                    Some(dim) => dim < self.space.len(),
                    None => sizes.contains(name),
                };
                if !is_known {
                    let message = format!("expected dims and sizes in a guard, got '{name}'");
                    return Err(ProgramError { step: 0, message });
                }
            }
        }

        let mut types: Vec<Element> = Vec::new();
        let mut dims: Vec<Vec<usize>> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let error = |message: String| ProgramError { step: index, message };
            let fail = |message: String| Err(error(message));
            let known = types.len();
            if let Some(operand) = step.operands().find(|operand| *operand >= known) {
                return fail(format!("expected a value below {known}, got {operand}"));
            }
            let ordered: &[usize] = match step {
                Step::Nth { over, .. } => over,
                Step::Scan { along, .. } => along,
                _ => &[],
            };
            let has_guard = |dim: &&usize| {
                let mut guards = self.guards.iter();
                guards.any(|guard| dims_of_access(guard).contains(dim))
            };
            if let Some(dim) = ordered.iter().find(has_guard) {
                return fail(format!(
                    "expected an order along dims without guards, got dim {dim}"
                ));
            }
            match step {
                Step::Read {
                    tensor,
                    access,
                    element,
                } => {
                    let declared = scope.read(tensor).map_err(error)?;
                    self.check_access(index, declared, sizes, access, *element)?;
                }
                Step::Gather {
                    tensor,
                    coordinates,
                    condition,
                    element,
                } => {
                    let declared = scope.read(tensor).map_err(error)?;
                    check_computed(declared, &types, coordinates, *condition, *element).map_err(error)?;
                }
                Step::Scatter {
                    value,
                    tensor,
                    coordinates,
                    condition,
                } => {
                    let declared = scope.write(tensor).map_err(error)?;
                    check_computed(declared, &types, coordinates, *condition, types[*value])
                        .map_err(error)?;
                }
                Step::Write {
                    value,
                    tensor,
                    access,
                    ..
                } => {
                    let declared = scope.write(tensor).map_err(error)?;
                    self.check_access(index, declared, sizes, access, types[*value])?;
                }
                Step::Index { dim } if *dim >= self.space.len() => {
                    return fail(format!("expected a dim below {}, got {dim}", self.space.len()));
                }
                Step::Size { value } => check_sizes(index, value)?,
                Step::Reduce {
                    combiner,
                    operands,
                    over,
                    types,
                } => {
                    if operands.is_empty() || operands.len() != types.len() {
                        let message = format!(
                            "expected one type per operand, got {} and {}",
                            types.len(),
                            operands.len()
                        );
                        return fail(message);
                    }
                    if let Some(dim) = over.iter().find(|dim| **dim >= self.space.len()) {
                        return fail(format!("expected a dim below {}, got {dim}", self.space.len()));
                    }
                    check_combiner(combiner, operands.len()).or_else(fail)?;
                }
                Step::Nth {
                    combiner,
                    operand,
                    over,
                    nth,
                    element,
                } => {
                    if !matches!(combiner, Combiner::Max | Combiner::Min) || element.integer_bits().is_none()
                    {
                        return fail("expected max or min of integers".to_owned());
                    }
                    if types[*operand] != *element {
                        return fail(format!("expected type {}, got {element}", types[*operand]));
                    }
                    if let Some(dim) = over.iter().chain([nth]).find(|dim| **dim >= self.space.len()) {
                        return fail(format!("expected a dim below {}, got {dim}", self.space.len()));
                    }
                    if over.contains(nth) || dims[*operand].contains(nth) {
                        return fail(format!(
                            "expected ranks along a dim that is not reduced and that the value does not vary over, got {nth}"
                        ));
                    }
                }
                Step::Scan {
                    combiner,
                    operand,
                    along,
                    element,
                    ..
                } => {
                    if matches!(combiner, Combiner::Region(_)) {
                        return fail("expected a combiner that has a name".to_owned());
                    }
                    if types[*operand] != *element {
                        return fail(format!("expected type {}, got {element}", types[*operand]));
                    }
                    if let Some(dim) = along.iter().find(|dim| **dim >= self.space.len()) {
                        return fail(format!("expected a dim below {}, got {dim}", self.space.len()));
                    }
                }
                _ => {}
            }
            let step_dims = step.dims(&dims);
            dims.extend(std::iter::repeat_n(step_dims, step.result_count()));
            types.extend((0..step.result_count()).filter_map(|result| step.result_type(result)));
        }
        Ok(())
    }

    fn check_access(
        &self,
        step: usize,
        declared: Declared,
        sizes: &BTreeSet<&str>,
        access: &[Expression],
        element: Element,
    ) -> Result<(), ProgramError> {
        let fail = |message: String| Err(ProgramError { step, message });
        if declared.rank != access.len() {
            return fail(format!(
                "expected {} coordinates, got {}",
                declared.rank,
                access.len()
            ));
        }
        if declared.element != element {
            return fail(format!("expected type {}, got {element}", declared.element));
        }
        for name in access.iter().flat_map(Expression::symbols) {
            match dim_of_symbol(name) {
                Some(dim) if dim < self.space.len() => {}
                None if sizes.contains(name) => {}
                _ => {
                    return fail(format!(
                        "'{name}' is neither a dim of the space, nor a size or a number"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Checks an access at computed coordinates, given the types of all values so far.
fn check_computed(
    declared: Declared,
    types: &[Element],
    coordinates: &[Value],
    condition: Option<Value>,
    element: Element,
) -> Result<(), String> {
    if declared.rank != coordinates.len() {
        let (expected, got) = (declared.rank, coordinates.len());
        return Err(format!("expected {expected} coordinates, got {got}"));
    }
    if declared.element != element {
        return Err(format!("expected type {}, got {element}", declared.element));
    }
    if let Some(other) = coordinates.iter().find(|value| types[**value] != Element::I64) {
        return Err(format!("expected coordinates of type i64, got {}", types[*other]));
    }
    match condition.filter(|value| types[*value] != Element::I1) {
        Some(other) => Err(format!("expected a condition of type i1, got {}", types[other])),
        None => Ok(()),
    }
}

fn check_combiner(combiner: &Combiner, accumulators: usize) -> Result<(), String> {
    let Combiner::Region(region) = combiner else {
        return if accumulators == 1 {
            Ok(())
        } else {
            Err(format!(
                "expected one operand for a named combiner, got {accumulators}"
            ))
        };
    };
    if region.identities.len() != accumulators || region.results.len() != accumulators {
        return Err(format!(
            "expected {accumulators} identities and results, got {} and {}",
            region.identities.len(),
            region.results.len()
        ));
    }
    let mut known = 2 * accumulators;
    for step in &region.steps {
        match step {
            Step::Constant { .. } => {}
            Step::Op(operation) => {
                if let Some(operand) = operation.operands.iter().find(|operand| **operand >= known) {
                    return Err(format!(
                        "expected a value of the region below {known}, got {operand}"
                    ));
                }
            }
            _ => return Err("expected only operations and constants in a combiner".to_owned()),
        }
        known += 1;
    }
    match region.results.iter().find(|result| **result >= known) {
        Some(result) => Err(format!("expected a result below {known}, got {result}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Statement;
    use crate::manifest::{Function, Manifest};
    use crate::program::{Number, Region};

    fn rms_norm() -> Function {
        let text = include_str!("../../testdata/rms_norm.json");
        serde_json::from_str::<Manifest>(text)
            .unwrap()
            .functions
            .remove(0)
    }

    fn complaint(change: impl FnOnce(&mut Program)) -> ProgramError {
        let function = rms_norm();
        let mut statements = function.definition.clone().unwrap().statements;
        let Statement::Program(program) = &mut statements[0] else {
            unreachable!("the test's manifest has a program")
        };
        change(program);
        program.validate(&Scope::of(&function)).unwrap_err()
    }

    #[test]
    fn values_are_defined_before_use() {
        let error = complaint(|program| {
            if let Step::Op(operation) = &mut program.steps[1] {
                operation.operands[0] = 1;
            }
        });
        assert_eq!(
            error,
            ProgramError {
                step: 1,
                message: "expected a value below 1, got 1".into()
            }
        );
    }

    #[test]
    fn guards_are_over_dims_and_sizes() {
        let guard = |lhs: &str| {
            let side = Expression::parse(lhs).unwrap();
            complaint(|program| program.guards.push([side, Expression::Integer(4)])).message
        };
        assert_eq!(guard("d0 + d7"), "expected dims and sizes in a guard, got 'd7'");
        assert_eq!(guard("d0 + k"), "expected dims and sizes in a guard, got 'k'");
    }

    #[test]
    fn no_order_is_along_dims_of_a_guard() {
        let error = complaint(|program| {
            program
                .guards
                .push([Expression::parse("d1").unwrap(), Expression::Integer(4)]);
            program.steps.push(Step::Scan {
                combiner: Combiner::Add,
                exclusive: false,
                reverse: false,
                operand: 0,
                along: vec![1],
                element: Element::BF16,
            });
        });
        assert_eq!(
            error.message,
            "expected an order along dims without guards, got dim 1"
        );
    }

    #[test]
    fn accesses_match_the_tensor() {
        let set = |access: &'static [&str], element| {
            move |program: &mut Program| {
                let access = access
                    .iter()
                    .map(|source| Expression::parse(source).unwrap())
                    .collect();
                program.steps[0] = Step::Read {
                    tensor: "x".into(),
                    access,
                    element,
                };
            }
        };
        assert!(
            complaint(set(&["d0"], Element::BF16))
                .message
                .contains("expected 2 coordinates, got 1")
        );
        assert!(
            complaint(set(&["d0", "d1"], Element::F16))
                .message
                .contains("expected type bf16, got f16")
        );
        assert!(
            complaint(set(&["d0", "d2"], Element::BF16))
                .message
                .contains("'d2' is neither")
        );
        assert!(
            complaint(set(&["d0", "k"], Element::BF16))
                .message
                .contains("'k' is neither")
        );
    }

    #[test]
    fn inputs_are_not_written() {
        let error = complaint(|program| {
            program.steps.push(Step::Write {
                value: 10,
                tensor: "w".into(),
                access: vec![],
                partial: false,
            });
        });
        assert_eq!(error.message, "no output or intermediate is named 'w'");
    }

    #[test]
    fn ranks_lie_along_a_dim_of_their_own() {
        let nth = |over: &[usize], nth: usize| {
            let over = over.to_vec();
            move |program: &mut Program| {
                program.space.push(Expression::from(4));
                program.steps.truncate(1);
                let element = Element::I64;
                program.steps.push(Step::Index { dim: 1 });
                program.steps.push(Step::Nth {
                    combiner: Combiner::Max,
                    operand: 1,
                    over,
                    nth,
                    element,
                });
                // Makes a program that is right up to here a wrong one.
                program.steps.push(Step::Index { dim: 9 });
            }
        };
        assert_eq!(complaint(nth(&[1], 2)).message, "expected a dim below 3, got 9");
        for (over, dim) in [(&[1][..], 1), (&[0], 1), (&[0, 1], 0)] {
            let error = complaint(nth(over, dim));
            assert_eq!(
                error.message,
                format!(
                    "expected ranks along a dim that is not reduced and that the value does not vary over, got {dim}"
                )
            );
        }
    }

    #[test]
    fn region_combiners_are_closed() {
        let region = Region {
            identities: vec![Number::Integer(0)],
            steps: vec![],
            results: vec![2],
        };
        let error = complaint(|program| {
            program.steps[3] = Step::Reduce {
                combiner: Combiner::Region(region),
                operands: vec![2],
                over: vec![1],
                types: vec![Element::F32],
            };
        });
        assert_eq!(error.message, "expected a result below 2, got 2");
    }
}
