//! The builder of conversion patterns.

use std::{ffi::c_void, ops::Deref};

use melior::{
    Context,
    ir::{OperationRef, RegionLike, RegionRef, Type, TypeLike, Value, ValueLike},
};
use mlir_sys::{mlirRewriterBaseFinalizeOpModification, mlirRewriterBaseStartOpModification};

use super::{
    Rejection,
    ffi::{normaConversionConvertType, normaRewriterConvertRegion, normaRewriterRetype},
};
use crate::mlir::builder::Builder;

/// The builder that a conversion pattern gets: a [`Builder`] with access to the type rules.
#[derive(Debug)]
pub struct ConversionBuilder<'c, 'a> {
    pub(super) builder: Builder<'c, 'a>,
    pub(super) rewriter: *mut c_void,
    pub(super) conversion: *mut c_void,
}

impl<'c, 'a> ConversionBuilder<'c, 'a> {
    /// Converts a type by the type rules.
    ///
    /// # Errors
    ///
    /// A mismatch that names the type, if no rule takes it.
    pub fn convert_type(&self, ty: Type<'c>) -> Result<Type<'c>, Rejection<'c>> {
        // SAFETY: the conversion is running, so it is alive.
        let converted =
            unsafe { Type::from_option_raw(normaConversionConvertType(self.conversion, ty.to_raw())) };
        converted.ok_or_else(|| Rejection::NoMatch(format!("type {ty} has no conversion")))
    }

    /// Converts the argument types of every block of a region.
    ///
    /// # Errors
    ///
    /// A mismatch if a type does not convert.
    pub fn convert_region(&self, region: RegionRef<'c, 'a>) -> Result<(), Rejection<'c>> {
        // SAFETY: the rewriter, the conversion and the region are alive.
        let success = unsafe { normaRewriterConvertRegion(self.rewriter, self.conversion, region.to_raw()) };
        if success {
            Ok(())
        } else {
            Err("a block argument's type has no conversion".into())
        }
    }

    /// Replaces `op` by a copy on converted operands, with converted result types and its regions moved over.
    ///
    /// # Errors
    ///
    /// A mismatch if a result type does not convert.
    pub fn retype(
        &self,
        op: OperationRef<'c, 'a>,
        operands: &[Value<'c, 'a>],
    ) -> Result<OperationRef<'c, 'a>, Rejection<'c>> {
        let operands = operands.iter().map(ValueLike::to_raw).collect::<Vec<_>>();
        // SAFETY: the rewriter, the conversion, the op and the operands are alive.
        let built = unsafe {
            OperationRef::from_option_raw(normaRewriterRetype(
                self.rewriter,
                self.conversion,
                op.to_raw(),
                operands.len() as isize,
                operands.as_ptr(),
            ))
        };
        built.ok_or_else(|| "a result type has no conversion".into())
    }

    /// Changes an op in place, for instance its attributes. `change` must leave its operands and results alone.
    pub fn modify(&self, op: OperationRef<'c, 'a>, change: impl FnOnce(OperationRef<'c, 'a>)) {
        // SAFETY: the rewriter and the op are alive.
        unsafe { mlirRewriterBaseStartOpModification(self.to_raw(), op.to_raw()) };
        change(op);
        // SAFETY: as above.
        unsafe { mlirRewriterBaseFinalizeOpModification(self.to_raw(), op.to_raw()) };
    }

    /// The context.
    pub fn context(&self) -> &'c Context {
        self.builder.context()
    }
}

impl<'c, 'a> Deref for ConversionBuilder<'c, 'a> {
    type Target = Builder<'c, 'a>;

    fn deref(&self) -> &Builder<'c, 'a> {
        &self.builder
    }
}
