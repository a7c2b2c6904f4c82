//! Checks a program before anything evaluates it.

use std::collections::BTreeSet;
use std::iter;

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
        let in_step = |step: usize| move |message: String| ProgramError { step, message };
        self.check_space(&scope.sizes).map_err(in_step(0))?;
        let mut checked = Checked {
            program: self,
            scope,
            types: Vec::new(),
            dims: Vec::new(),
        };
        for (index, step) in self.steps.iter().enumerate() {
            checked.check(step).map_err(in_step(index))?;
            checked.define(step);
        }
        Ok(())
    }

    /// Checks the space and its guards.
    fn check_space(&self, sizes: &BTreeSet<&str>) -> Result<(), String> {
        if let Some(name) = sizes.iter().find(|name| dim_of_symbol(name).is_some()) {
            return Err(format!("the size '{name}' has the name of a dim"));
        }
        for extent in &self.space {
            check_sizes(extent, sizes)?;
        }
        let used = self.guards.iter().flatten().flat_map(Expression::symbols);
        match used.into_iter().find(|name| !self.is_dim_or_size(name, sizes)) {
            Some(name) => Err(format!("expected dims and sizes in a guard, got '{name}'")),
            None => Ok(()),
        }
    }

    /// Whether a symbol is a dim of the space, or one of the sizes.
    fn is_dim_or_size(&self, name: &str, sizes: &BTreeSet<&str>) -> bool {
        match dim_of_symbol(name) {
            Some(dim) => dim < self.space.len(),
            None => sizes.contains(name),
        }
    }

    /// Checks that dims are of the space.
    fn check_dims<'d>(&self, dims: impl IntoIterator<Item = &'d usize>) -> Result<(), String> {
        let dim_count = self.space.len();
        match dims.into_iter().find(|dim| **dim >= dim_count) {
            Some(dim) => Err(format!("expected a dim below {dim_count}, got {dim}")),
            None => Ok(()),
        }
    }

    /// Checks that no guard concerns dims whose points have an order.
    fn check_order(&self, ordered: &[usize]) -> Result<(), String> {
        let has_guard = |dim: &&usize| {
            let mut guards = self.guards.iter();
            guards.any(|guard| dims_of_access(guard).contains(dim))
        };
        match ordered.iter().find(has_guard) {
            Some(dim) => Err(format!(
                "expected an order along dims without guards, got dim {dim}"
            )),
            None => Ok(()),
        }
    }
}

/// The steps that have been checked.
struct Checked<'p> {
    program: &'p Program,
    scope: &'p Scope<'p>,
    /// The type of each value.
    types: Vec<Element>,
    /// The dims that each value varies over.
    dims: Vec<Vec<usize>>,
}

impl Checked<'_> {
    /// Adds the values that a checked step defines.
    fn define(&mut self, step: &Step) {
        let dims = step.dims(&self.dims);
        self.dims.extend(iter::repeat_n(dims, step.result_count()));
        let results = 0..step.result_count();
        self.types
            .extend(results.filter_map(|result| step.result_type(result)));
    }

    /// Checks the next step.
    fn check(&self, step: &Step) -> Result<(), String> {
        let known = self.types.len();
        if let Some(operand) = step.operands().find(|operand| *operand >= known) {
            return Err(format!("expected a value below {known}, got {operand}"));
        }
        match step {
            Step::Read {
                tensor,
                access,
                element,
            } => self.check_access(self.scope.read(tensor)?, access, *element),
            Step::Gather {
                tensor,
                coordinates,
                condition,
                element,
            } => self.check_computed(self.scope.read(tensor)?, coordinates, *condition, *element),
            Step::Write {
                value,
                tensor,
                access,
                ..
            } => self.check_access(self.scope.write(tensor)?, access, self.types[*value]),
            Step::Scatter {
                value,
                tensor,
                coordinates,
                condition,
            } => {
                let declared = self.scope.write(tensor)?;
                self.check_computed(declared, coordinates, *condition, self.types[*value])
            }
            Step::Index { dim } => self.program.check_dims([dim]),
            Step::Size { value } => check_sizes(value, &self.scope.sizes),
            Step::Reduce {
                combiner,
                operands,
                over,
                types,
            } => self.check_reduction(combiner, operands, over, types),
            Step::Nth {
                combiner,
                operand,
                over,
                nth,
                element,
            } => self.check_nth(combiner, *operand, over, *nth, *element),
            Step::Scan {
                combiner,
                operand,
                along,
                element,
                ..
            } => self.check_scan(combiner, *operand, along, *element),
            Step::Scalar { .. } | Step::Constant { .. } | Step::Op(_) => Ok(()),
        }
    }

    /// Checks an access at coordinates over dims and sizes.
    fn check_access(
        &self,
        declared: Declared,
        access: &[Expression],
        element: Element,
    ) -> Result<(), String> {
        check_declared(declared, access.len(), element)?;
        let mut used = access.iter().flat_map(Expression::symbols);
        match used.find(|name| !self.program.is_dim_or_size(name, &self.scope.sizes)) {
            Some(name) => Err(format!(
                "'{name}' is neither a dim of the space, nor a size or a number"
            )),
            None => Ok(()),
        }
    }

    /// Checks an access at computed coordinates.
    fn check_computed(
        &self,
        declared: Declared,
        coordinates: &[Value],
        condition: Option<Value>,
        element: Element,
    ) -> Result<(), String> {
        check_declared(declared, coordinates.len(), element)?;
        let mut coordinates = coordinates.iter().map(|value| self.types[*value]);
        if let Some(other) = coordinates.find(|element| *element != Element::I64) {
            return Err(format!("expected coordinates of type i64, got {other}"));
        }
        let condition = condition.map(|value| self.types[value]);
        match condition.filter(|element| *element != Element::I1) {
            Some(other) => Err(format!("expected a condition of type i1, got {other}")),
            None => Ok(()),
        }
    }

    fn check_reduction(
        &self,
        combiner: &Combiner,
        operands: &[Value],
        over: &[usize],
        types: &[Element],
    ) -> Result<(), String> {
        if operands.is_empty() || operands.len() != types.len() {
            return Err(format!(
                "expected one type per operand, got {} and {}",
                types.len(),
                operands.len()
            ));
        }
        self.program.check_dims(over)?;
        check_combiner(combiner, operands.len())
    }

    fn check_nth(
        &self,
        combiner: &Combiner,
        operand: Value,
        over: &[usize],
        nth: usize,
        element: Element,
    ) -> Result<(), String> {
        self.program.check_order(over)?;
        if !matches!(combiner, Combiner::Max | Combiner::Min) || element.integer_bits().is_none() {
            return Err("expected max or min of integers".to_owned());
        }
        self.check_type(operand, element)?;
        self.program.check_dims(over.iter().chain([&nth]))?;
        if over.contains(&nth) || self.dims[operand].contains(&nth) {
            return Err(format!(
                "expected ranks along a dim that is not reduced and that the value does not vary over, got {nth}"
            ));
        }
        Ok(())
    }

    fn check_scan(
        &self,
        combiner: &Combiner,
        operand: Value,
        along: &[usize],
        element: Element,
    ) -> Result<(), String> {
        self.program.check_order(along)?;
        if matches!(combiner, Combiner::Region(_)) {
            return Err("expected a combiner that has a name".to_owned());
        }
        self.check_type(operand, element)?;
        self.program.check_dims(along)
    }

    /// Checks the type of a value.
    fn check_type(&self, value: Value, element: Element) -> Result<(), String> {
        match self.types[value] == element {
            true => Ok(()),
            false => Err(format!("expected type {}, got {element}", self.types[value])),
        }
    }
}

/// Checks that an expression uses only known sizes.
fn check_sizes(expression: &Expression, sizes: &BTreeSet<&str>) -> Result<(), String> {
    match expression
        .symbols()
        .into_iter()
        .find(|name| !sizes.contains(name))
    {
        Some(name) => Err(format!("'{name}' is no size of the function")),
        None => Ok(()),
    }
}

/// Checks the number of coordinates of an access, and the type of what it reads or writes.
fn check_declared(declared: Declared, coordinates: usize, element: Element) -> Result<(), String> {
    if declared.rank != coordinates {
        let expected = declared.rank;
        return Err(format!("expected {expected} coordinates, got {coordinates}"));
    }
    if declared.element != element {
        return Err(format!("expected type {}, got {element}", declared.element));
    }
    Ok(())
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
