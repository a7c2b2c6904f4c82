//! Adjoints of the operands of reductions.

use melior::ir::{Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{ReduceKind, ReduceOp};

use super::{
    sum::Sum,
    values::{DimSet, Values},
};
use crate::mlir::{comparison::Predicate, diagnostic::Diagnostic, pass::PassError, types};

impl<'c: 'a, 'a> Values<'c, 'a> {
    /// The adjoint of the operand of `reduce`, which reduces over `dims` and whose result has the adjoint `adjoint`.
    ///
    /// # Errors
    ///
    /// Unsupported: a combiner given as a region, or a combiner of integers.
    pub(super) fn passed_by_reduction(
        &mut self,
        adjoint: &Sum,
        reduce: ReduceOp<'c, 'a>,
        dims: &DimSet,
    ) -> Result<Sum, PassError<'c>> {
        let (values, results) = (reduce.values(), reduce.results());
        let (Some(kind), [value], [result]) = (reduce.kind(), values.as_slice(), results.as_slice()) else {
            return Err(refused(reduce, "a combiner that is written out"));
        };
        if !types::is_float(value.r#type()) {
            return Err(refused(reduce, "a combiner of integers"));
        }
        match kind {
            ReduceKind::Add => Ok(adjoint.clone()),
            ReduceKind::Max | ReduceKind::Min => self.passed_by_extreme(adjoint, *value, *result, dims),
            ReduceKind::Mul => self.passed_by_product(adjoint, *value, dims),
            ReduceKind::And | ReduceKind::Or => Err(refused(reduce, "a combiner of integers")),
        }
    }

    /// The adjoint of a maximum or minimum: all values that equal it share it evenly.
    fn passed_by_extreme(
        &mut self,
        adjoint: &Sum,
        value: Value<'c, 'a>,
        extreme: Value<'c, 'a>,
        dims: &DimSet,
    ) -> Result<Sum, PassError<'c>> {
        let (value, extreme) = (self.widened(value), self.widened(extreme));
        let is_extreme = self.compare(Predicate::Equal, value, extreme);
        let is_extreme = self.indicator(is_extreme);
        let is_extreme = self.sum(is_extreme);
        let count = self.summed(&is_extreme, dims)?;
        let (coefficient, share) = self.reciprocal(&count);
        let shared = self.times(adjoint, coefficient, &share);
        let (coefficient, is_extreme) = self.single(&is_extreme);
        Ok(self.times(&shared, coefficient, &is_extreme))
    }

    /// The adjoint of a product: each value gets the product of the others. It is computed from the product of all nonzero values: divided
    /// by the value if none is 0; for the value that is the only 0, that product itself; and 0 otherwise.
    fn passed_by_product(
        &mut self,
        adjoint: &Sum,
        value: Value<'c, 'a>,
        dims: &DimSet,
    ) -> Result<Sum, PassError<'c>> {
        let value = self.widened(value);
        let (zero, one) = (self.constant(0.0), self.constant(1.0));
        let is_zero = self.compare(Predicate::Equal, value, zero);
        let indicator = self.indicator(is_zero);
        let indicator = self.sum(indicator);
        let zeros = self.summed(&indicator, dims)?;
        let zeros = self.value(&zeros);
        let factor = self.op("arith.select", &[is_zero, one, value]);
        let product = self.reduce(ReduceKind::Mul, factor, dims)?;
        let (has_none, has_one) = (
            self.compare(Predicate::Equal, zeros, zero),
            self.compare(Predicate::Equal, zeros, one),
        );
        let (if_none, if_one) = (self.indicator(has_none), self.indicator(has_one));
        let divided = self.op("arith.divf", &[if_none, factor]);
        let others = self.op("arith.select", &[is_zero, if_one, divided]);
        let product = self.sum(product);
        let (coefficient, product) = self.single(&product);
        let passed = self.times(adjoint, coefficient, &product);
        let others = self.sum(others);
        let (coefficient, others) = self.single(&others);
        Ok(self.times(&passed, coefficient, &others))
    }
}

fn refused<'c>(reduce: ReduceOp<'c, '_>, by: &str) -> PassError<'c> {
    let message =
        format!("a gradient through a reduction by {by}; supported: add, mul, max and min of floats");
    Diagnostic::unsupported(reduce.op().location(), message).into()
}
