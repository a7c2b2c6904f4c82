//! Tensors of one value: `arith.constant` and `tensor.splat`.

use melior::ir::{
    AffineMap, Attribute, OperationRef, Value, ValueLike, attribute::DenseElementsAttribute,
    operation::OperationLike,
};

use super::{Former, writer::Writer};
use crate::mlir::{diagnostic::Diagnostic, pass::PassError, types, values::definition, walk};

/// The results of a program, and the constant that all of their elements equal, if there is one.
pub(super) type Filled<'c, 'a> = (Vec<Value<'c, 'a>>, Option<Attribute<'c>>);

impl<'c: 'a, 'a> Former<'c, 'a> {
    /// Writes the program of an `arith.constant`, which has to be a splat.
    pub(super) fn constant(&mut self, op: OperationRef<'c, 'a>) -> Result<Filled<'c, 'a>, PassError<'c>> {
        let result = Value::from(op.result(0)?);
        let value = op.attribute("value")?;
        let splat = DenseElementsAttribute::try_from(value)
            .ok()
            .filter(DenseElementsAttribute::is_splat);
        let Some(splat) = splat else {
            let message = format!(
                "a constant {} whose elements differ; supported: constants of one value, and tensors as arguments",
                result.r#type()
            );
            return Err(Diagnostic::unsupported(op.location(), message).into());
        };
        let element = splat.splat_value();
        let extents = self.extents(op, result)?;
        let writer = Writer::begin(&self.sizes, op, &[], &[], &extents)?;
        let number = writer.b.constant(element, types::element(result.r#type()));
        let identity = AffineMap::multi_dim_identity(writer.b.context(), extents.len());
        writer.write(number, 0, identity)?;
        Ok((writer.results(), Some(element)))
    }

    /// Writes the program of a `tensor.splat`.
    pub(super) fn splat(&mut self, op: OperationRef<'c, 'a>) -> Result<Filled<'c, 'a>, PassError<'c>> {
        let (number, result) = (op.operand(0)?, Value::from(op.result(0)?));
        let extents = self.extents(op, result)?;
        let mut writer = Writer::begin(&self.sizes, op, &[], &[number], &extents)?;
        let identity = AffineMap::multi_dim_identity(writer.b.context(), extents.len());
        let inside = writer.read(number, identity)?;
        writer.write(inside, 0, identity)?;
        Ok((writer.results(), constant_of(number)))
    }
}

/// The value of a number that an `arith.constant` defines; `None` for any other.
pub(super) fn constant_of<'c: 'a, 'a>(number: Value<'c, 'a>) -> Option<Attribute<'c>> {
    let constant = definition(number).filter(|op| walk::has_name(*op, "arith.constant"))?;
    constant.attribute("value").ok()
}
