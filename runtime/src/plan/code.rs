//! Compiles size expressions to straight-line code, so that a launch evaluates them without trees, names or allocations.
//!
//! All expressions of a function share one array of values: inputs that the launcher writes (extents, strides, properties of
//! the device), constants, and one value for each distinct operation. Each step writes one value, in order.

use std::collections::HashMap;
use std::ops::{Index, IndexMut, Range};

use norma_bundle::Expression;
use norma_bundle::condition::{Condition, Relation};
use norma_bundle::expression::{EvaluateError, Operation};

/// The index of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(usize);

/// The values of a call; also their initial contents.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<i64>);

impl Values {
    /// Copies the initial values, reusing the allocated memory.
    pub(crate) fn start(&mut self, initial: &Values) {
        self.0.clear();
        self.0.extend_from_slice(&initial.0);
    }
}

impl Index<Slot> for Values {
    type Output = i64;
    fn index(&self, slot: Slot) -> &i64 {
        &self.0[slot.0]
    }
}

impl IndexMut<Slot> for Values {
    fn index_mut(&mut self, slot: Slot) -> &mut i64 {
        &mut self.0[slot.0]
    }
}

/// One operation on two values.
#[derive(Clone, Copy, Debug)]
struct Step {
    operation: Operation,
    left: Slot,
    right: Slot,
    result: Slot,
}

/// The steps that compute some of the values.
pub(crate) type Section = Range<usize>;

/// A condition on two values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub(crate) left: Slot,
    relation: Relation,
    pub(crate) right: Slot,
}

impl Comparison {
    /// Whether the condition holds.
    pub(crate) fn holds(&self, values: &Values) -> bool {
        self.relation.holds(values[self.left], values[self.right])
    }
}

/// The compiled steps.
#[derive(Debug)]
pub(crate) struct Code {
    steps: Box<[Step]>,
    /// The source of each step, for errors.
    sources: Box<[Expression]>,
}

impl Code {
    /// Runs a section's steps.
    ///
    /// # Errors
    /// A value that overflows, or a divisor that is not positive.
    pub(crate) fn run(&self, section: &Section, values: &mut Values) -> Result<(), EvaluateError> {
        for index in section.clone() {
            let step = self.steps[index];
            let (left, right) = (values[step.left], values[step.right]);
            match step.operation.apply(left, right) {
                Some(value) => values[step.result] = value,
                None => return Err(step.operation.error(&self.sources[index], right)),
            }
        }
        Ok(())
    }
}

/// Maps the names in an expression to their values.
pub(crate) type Names<'a> = &'a dyn Fn(&str) -> Option<Slot>;

/// Compiles expressions to code.
#[derive(Default)]
pub(crate) struct Compiler {
    initial: Vec<i64>,
    constants: HashMap<i64, Slot>,
    computed: HashMap<(Operation, Slot, Slot), Slot>,
    steps: Vec<Step>,
    sources: Vec<Expression>,
}

impl Compiler {
    /// Adds a value that is written from outside, not by a step.
    pub(crate) fn input(&mut self) -> Slot {
        self.value(0)
    }

    /// Adds a value that may be written from outside, and that is `initial` otherwise.
    pub(crate) fn value(&mut self, initial: i64) -> Slot {
        self.initial.push(initial);
        Slot(self.initial.len() - 1)
    }

    /// Returns the value of an expression. It adds steps only for operations that earlier steps have not computed.
    ///
    /// # Errors
    /// A name that has no value.
    pub(crate) fn expression(
        &mut self,
        expression: &Expression,
        names: Names<'_>,
    ) -> Result<Slot, EvaluateError> {
        match expression {
            Expression::Integer(value) => {
                if let Some(slot) = self.constants.get(value) {
                    return Ok(*slot);
                }
                let slot = self.value(*value);
                self.constants.insert(*value, slot);
                Ok(slot)
            }
            Expression::Symbol(name) => names(name).ok_or_else(|| EvaluateError::Unbound(name.clone())),
            Expression::Binary(operation, left, right) => {
                let left = self.expression(left, names)?;
                let right = self.expression(right, names)?;
                if let Some(slot) = self.computed.get(&(*operation, left, right)) {
                    return Ok(*slot);
                }
                let result = self.value(0);
                self.computed.insert((*operation, left, right), result);
                self.steps.push(Step {
                    operation: *operation,
                    left,
                    right,
                    result,
                });
                self.sources.push(expression.clone());
                Ok(result)
            }
        }
    }

    /// Compiles a condition.
    ///
    /// # Errors
    /// As [`Compiler::expression`].
    pub(crate) fn condition(
        &mut self,
        condition: &Condition,
        names: Names<'_>,
    ) -> Result<Comparison, EvaluateError> {
        Ok(Comparison {
            left: self.expression(&condition.left, names)?,
            relation: condition.relation,
            right: self.expression(&condition.right, names)?,
        })
    }

    /// Returns the range of steps that `compile` adds.
    pub(crate) fn section<T, E>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<(Section, T), E> {
        let start = self.steps.len();
        let compiled = compile(self)?;
        Ok((start..self.steps.len(), compiled))
    }

    /// Compiles steps that may be skipped at run time: later steps do not reuse their results.
    pub(crate) fn branch<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        let end = Slot(self.initial.len());
        let compiled = compile(self);
        self.computed.retain(|_, result| *result < end);
        compiled
    }

    /// Returns the code and the initial values.
    pub(crate) fn finish(self) -> (Code, Values) {
        let code = Code {
            steps: self.steps.into(),
            sources: self.sources.into(),
        };
        (code, Values(self.initial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(source: &str) -> Expression {
        Expression::parse(source).unwrap()
    }

    #[test]
    fn equal_operations_are_computed_once() {
        let mut compiler = Compiler::default();
        let m = compiler.input();
        let names = |name: &str| (name == "m").then_some(m);
        let (section, (grid, bytes)) = compiler
            .section(|compiler| {
                let grid = compiler.expression(&parse("ceildiv(m, 2)"), &names)?;
                let bytes = compiler.expression(&parse("ceildiv(m, 2)*8 + 2"), &names)?;
                Ok::<_, EvaluateError>((grid, bytes))
            })
            .unwrap();
        assert_eq!(section, 0..3);
        let (code, mut values) = compiler.finish();
        values[m] = 7;
        code.run(&section, &mut values).unwrap();
        assert_eq!((values[grid], values[bytes]), (4, 34));
    }

    #[test]
    fn what_a_branch_computed_is_computed_again_behind_it() {
        let mut compiler = Compiler::default();
        let m = compiler.input();
        let names = |_: &str| Some(m);
        let source = parse("m + 1");
        let inside = compiler.branch(|compiler| compiler.expression(&source, &names).unwrap());
        let behind = compiler.expression(&source, &names).unwrap();
        assert_ne!(inside, behind);
    }

    #[test]
    fn errors_name_the_expression() {
        let mut compiler = Compiler::default();
        let m = compiler.input();
        let names = |name: &str| (name == "m").then_some(m);
        let compile = |compiler: &mut Compiler| compiler.expression(&parse("3 + m*m"), &names);
        let (section, _) = compiler.section(compile).unwrap();
        let unknown = compiler.expression(&parse("k"), &names);
        assert_eq!(unknown, Err(EvaluateError::Unbound("k".into())));
        let (code, mut values) = compiler.finish();
        values[m] = i64::MAX;
        let error = code.run(&section, &mut values).unwrap_err();
        assert_eq!(error, EvaluateError::Overflow("m*m".into()));
    }
}
