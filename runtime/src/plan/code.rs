//! Size expressions as straight-line code, so that a launch evaluates them without a tree, a name or an allocation.
//!
//! All expressions of a function share one array of values: what the launcher writes (extents, strides, facts of the
//! device), constants, and one value for each distinct operation. Steps write each value once, in order.

use std::collections::HashMap;
use std::ops::{Index, IndexMut, Range};

use norma_bundle::Expression;
use norma_bundle::condition::{Condition, Relation};
use norma_bundle::expression::{EvaluateError, Operation};

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(usize);

/// The values of a call; also what they are before one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<i64>);

impl Values {
    /// Takes the values before a call, into the memory that is there.
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
    /// Whether it holds.
    pub(crate) fn holds(&self, values: &Values) -> bool {
        self.relation.holds(values[self.left], values[self.right])
    }
}

/// Code, and the values before it runs.
#[derive(Debug)]
pub(crate) struct Code {
    steps: Box<[Step]>,
    /// What each step computes, for errors.
    sources: Box<[Expression]>,
}

impl Code {
    /// Runs a section's steps.
    ///
    /// # Errors
    /// A value that does not fit, or a divisor that is not positive.
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

/// Where the names of an expression have their values.
pub(crate) type Names<'a> = &'a dyn Fn(&str) -> Option<Slot>;

/// Turns expressions into code.
#[derive(Default)]
pub(crate) struct Compiler {
    initial: Vec<i64>,
    constants: HashMap<i64, Slot>,
    computed: HashMap<(Operation, Slot, Slot), Slot>,
    steps: Vec<Step>,
    sources: Vec<Expression>,
}

impl Compiler {
    /// A value that something else than a step writes.
    pub(crate) fn input(&mut self) -> Slot {
        self.value(0)
    }

    /// A value that something else than a step may write, and that is `initial` otherwise.
    pub(crate) fn value(&mut self, initial: i64) -> Slot {
        self.initial.push(initial);
        Slot(self.initial.len() - 1)
    }

    /// The value of an expression, computed by new steps unless earlier ones have done so.
    ///
    /// # Errors
    /// A name without a value.
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

    /// The steps that `compile` adds.
    pub(crate) fn section<T, E>(
        &mut self,
        compile: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<(Section, T), E> {
        let start = self.steps.len();
        let compiled = compile(self)?;
        Ok((start..self.steps.len(), compiled))
    }

    /// Compiles what may not run: steps after it do not rely on its steps.
    pub(crate) fn branch<T>(&mut self, compile: impl FnOnce(&mut Self) -> T) -> T {
        let end = Slot(self.initial.len());
        let compiled = compile(self);
        self.computed.retain(|_, result| *result < end);
        compiled
    }

    /// The code, and what the values are before it runs.
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
