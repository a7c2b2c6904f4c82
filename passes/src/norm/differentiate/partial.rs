//! Partial derivatives of scalar ops, from their table, as sums of products.

use melior::ir::{OperationRef, Value, operation::OperationLike};
use norma_bundle::derivative::{Partial, Relation};

use super::{
    sum::{Product, Sum},
    values::Values,
};
use crate::mlir::{comparison::Predicate, pass::PassError};

/// An op of the forward program; its partial derivatives are expressions over its operands and result.
#[derive(Clone, Copy)]
pub(super) struct Applied<'c, 'a> {
    op: OperationRef<'c, 'a>,
    result: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Applied<'c, 'a> {
    /// Takes an op with one result.
    pub(super) fn new(op: OperationRef<'c, 'a>) -> Result<Self, PassError<'c>> {
        let result = op.result(0)?.into();
        Ok(Self { op, result })
    }
}

impl<'c: 'a, 'a> Values<'c, 'a> {
    /// The adjoint of an op's result times one of the op's partial derivatives.
    pub(super) fn passed(
        &mut self,
        adjoint: &Sum,
        of: Applied<'c, 'a>,
        partial: &Partial,
    ) -> Result<Sum, PassError<'c>> {
        let slope = self.partial(of, partial)?;
        if slope.is_zero() {
            return Ok(slope);
        }
        let (coefficient, product) = self.single(&slope);
        Ok(self.times(adjoint, coefficient, &product))
    }

    /// Returns a sum, which is not 0, as one product; a longer sum is emitted as a single value.
    pub(super) fn single(&mut self, sum: &Sum) -> (f64, Product) {
        match sum.as_product() {
            Some((coefficient, product)) => (coefficient, product.clone()),
            None => self.written_out(sum),
        }
    }

    fn partial(&mut self, of: Applied<'c, 'a>, partial: &Partial) -> Result<Sum, PassError<'c>> {
        Ok(match partial {
            Partial::Number(0.0) => self.zero(),
            Partial::Number(number) => self.sum_of(*number, Product::default()),
            Partial::Operand(index) => {
                let operand = of.op.operand(*index)?;
                self.sum(operand)
            }
            Partial::Result => self.sum(of.result),
            Partial::Negated(a) => self.partial(of, a)?.scaled(-1.0),
            Partial::Sum(a, b) => {
                let mut sum = self.partial(of, a)?;
                sum.add(&self.partial(of, b)?, 1.0);
                sum
            }
            Partial::Difference(a, b) => {
                let mut sum = self.partial(of, a)?;
                sum.add(&self.partial(of, b)?, -1.0);
                sum
            }
            Partial::Product(a, b) => {
                let (a, b) = (self.partial(of, a)?, self.partial(of, b)?);
                self.product_of(&a, &b)
            }
            Partial::Quotient(a, b) => {
                let (a, b) = (self.partial(of, a)?, self.partial(of, b)?);
                let (coefficient, reciprocal) = self.reciprocal(&b);
                self.times(&a, coefficient, &reciprocal)
            }
            Partial::Call(op, operands) => {
                let operands = operands.iter().map(|operand| {
                    let operand = self.partial(of, operand)?;
                    Ok(self.value(&operand))
                });
                let operands = operands.collect::<Result<Vec<_>, PassError<'c>>>()?;
                let value = self.op(op.row().name, &operands);
                self.sum(value)
            }
            Partial::Holds(relation, a, b) => {
                let (a, b) = (self.partial(of, a)?, self.partial(of, b)?);
                let (a, b) = (self.value(&a), self.value(&b));
                let predicate = match relation {
                    Relation::Greater => Predicate::Greater,
                    Relation::AtLeast => Predicate::AtLeast,
                    Relation::Equal => Predicate::Equal,
                    Relation::Unordered => Predicate::Unordered,
                };
                let holds = self.compare(predicate, a, b);
                let indicator = self.indicator(holds);
                self.sum(indicator)
            }
            Partial::Is(index, wanted) => {
                // What a select does not choose has no gradient, also where the product of 0 and the rest would be NaN.
                let condition = of.op.operand(*index)?;
                let conditions = [(self.atom(condition), *wanted)].into();
                self.sum_of(
                    1.0,
                    Product {
                        conditions,
                        ..Product::default()
                    },
                )
            }
        })
    }

    fn product_of(&mut self, a: &Sum, b: &Sum) -> Sum {
        if a.is_zero() || b.is_zero() {
            return self.zero();
        }
        let (coefficient, product) = self.single(b);
        self.times(a, coefficient, &product)
    }
}
