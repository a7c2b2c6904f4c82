//! Adjoints of the operands of scans.

use melior::ir::{ValueLike, operation::OperationLike};
use norma_dialects::norm::{ReduceKind, ScanOp};

use super::{
    sum::Sum,
    values::{Facts, Values},
};
use crate::mlir::{
    diagnostic::Diagnostic,
    pass::{PassError, PassResult},
    types,
};

impl<'c: 'a, 'a> Values<'c, 'a> {
    /// Notes that a scan varies over the dims that it is along, and depends on several of their points, as a reduction does.
    pub(super) fn note_scan(&mut self, scan: ScanOp<'c, 'a>) -> PassResult<'c> {
        let value = scan.value()?;
        let operands = [vec![value], scan.dims()].concat();
        let facts = Facts {
            is_reduced: true,
            ..self.joined(&operands)
        };
        self.note(scan.result()?, facts);
        Ok(())
    }

    /// The adjoint of the operand of `scan`, whose result has the adjoint `adjoint`. A value contributes to the running sums from its own
    /// point on, or from the next one if the scan is exclusive, so its adjoint is the sum of theirs: a scan in the opposite order.
    ///
    /// # Errors
    ///
    /// Unsupported: a combiner other than a sum of floats.
    pub(super) fn passed_by_scan(
        &mut self,
        adjoint: &Sum,
        scan: ScanOp<'c, 'a>,
    ) -> Result<Sum, PassError<'c>> {
        if scan.kind()? != ReduceKind::Add || !types::is_float(scan.value()?.r#type()) {
            let message = "a gradient through a scan by another combiner than a sum of floats; supported: add of floats";
            return Err(Diagnostic::unsupported(scan.op().location(), message).into());
        }
        let adjoint = self.value(adjoint);
        let (dims, is_reversed) = (scan.dims(), !scan.reverse());
        let location = self.b.location();
        let passed = ScanOp::build(
            location,
            adjoint,
            &dims,
            ReduceKind::Add,
            scan.exclusive(),
            is_reversed,
        )?;
        let passed = ScanOp::from_op(self.b.insert(passed))
            .ok_or_else(|| PassError::Internal("expected a norm.scan".to_owned()))?;
        self.note_scan(passed)?;
        Ok(self.sum(passed.result()?))
    }
}
