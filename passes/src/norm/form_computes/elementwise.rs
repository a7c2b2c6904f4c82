//! Ops of `arith` and `math` on tensors of one shape: the op on each element.

use melior::ir::{AffineMap, OperationRef, Value, ValueLike, operation::OperationLike};

use super::{Former, sizes::Size, unknown_size, writer::Writer};
use crate::mlir::{diagnostic::Diagnostic, pass::PassError, types};

impl<'c: 'a, 'a> Former<'c, 'a> {
    /// Writes the program of an op, and returns its results.
    pub(super) fn elementwise(
        &mut self,
        op: OperationRef<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        if op.region_count() > 0 || op.result_count() != 1 {
            let message = format!(
                "'{}' on tensors; supported: ops of one result",
                norma_dialects::op_name(op)
            );
            return Err(Diagnostic::unsupported(op.location(), message).into());
        }
        let result = Value::from(op.result(0)?);
        let extents = self.extents(op, result)?;
        let (tensors, numbers): (Vec<_>, Vec<_>) = op
            .operands()
            .partition(|operand| types::is_tensor(operand.r#type()));
        let mut writer = Writer::begin(&self.sizes, op, &tensors, &numbers, &extents)?;
        let identity = AffineMap::multi_dim_identity(writer.b.context(), extents.len());
        let operands = op.operands().map(|operand| writer.read(operand, identity));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let value = writer
            .b
            .rebuild(op, &operands, &[types::element(result.r#type())])
            .result(0)?;
        writer.write(value.into(), 0, identity)?;
        Ok(writer.results())
    }

    /// The sizes of a tensor's axes, as sizes that are available before `op`.
    pub(super) fn extents(
        &self,
        op: OperationRef<'c, 'a>,
        tensor: Value<'c, 'a>,
    ) -> Result<Vec<Size<'c, 'a>>, PassError<'c>> {
        let rank = types::shape(tensor.r#type()).unwrap_or_default().len();
        let sizes = (0..rank).map(|axis| {
            self.sizes
                .size(tensor, axis, op)
                .ok_or_else(|| unknown_size(op, tensor, axis))
        });
        sizes.collect()
    }
}
