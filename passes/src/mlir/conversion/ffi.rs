//! Declarations of the functions of capi/Conversion.cpp, where they are documented.

use std::ffi::c_void;

use mlir_sys::{
    MlirContext, MlirOperation, MlirRegion, MlirRewriterBase, MlirStringRef, MlirType, MlirValue,
};

pub(super) type RawTypeRule = unsafe extern "C" fn(MlirType, *mut c_void) -> MlirType;
pub(super) type RawLegality = unsafe extern "C" fn(MlirOperation, *mut c_void) -> bool;
pub(super) type RawPattern = unsafe extern "C" fn(
    MlirOperation,
    *const MlirValue,
    isize,
    MlirRewriterBase,
    *mut c_void,
    *mut c_void,
) -> bool;

unsafe extern "C" {
    pub(super) fn normaConversionCreate(context: MlirContext) -> *mut c_void;
    pub(super) fn normaConversionDestroy(conversion: *mut c_void);
    pub(super) fn normaConversionAddTypeRule(
        conversion: *mut c_void,
        rule: RawTypeRule,
        callback: *mut c_void,
    );
    pub(super) fn normaConversionSetDialect(conversion: *mut c_void, name: MlirStringRef, legal: bool);
    pub(super) fn normaConversionSetOp(conversion: *mut c_void, name: MlirStringRef, legal: bool);
    pub(super) fn normaConversionSetDynamicOp(
        conversion: *mut c_void,
        name: MlirStringRef,
        legality: RawLegality,
        callback: *mut c_void,
    );
    pub(super) fn normaConversionSetDynamicDialect(
        conversion: *mut c_void,
        name: MlirStringRef,
        legality: RawLegality,
        callback: *mut c_void,
    );
    pub(super) fn normaConversionSetUnknownByTypes(conversion: *mut c_void);
    pub(super) fn normaConversionAddPattern(
        conversion: *mut c_void,
        root: MlirStringRef,
        benefit: u16,
        pattern: RawPattern,
        callback: *mut c_void,
    );
    pub(super) fn normaConversionAddSignature(conversion: *mut c_void, function: MlirStringRef);
    pub(super) fn normaConversionAddCalls(conversion: *mut c_void);
    pub(super) fn normaConversionAddStructured(conversion: *mut c_void);
    pub(super) fn normaConversionApply(
        conversion: *mut c_void,
        op: MlirOperation,
        full: bool,
        diagnosed: *const bool,
    ) -> bool;
    pub(super) fn normaConversionConvertType(conversion: *mut c_void, ty: MlirType) -> MlirType;
    pub(super) fn normaRewriterConvertRegion(
        rewriter: *mut c_void,
        conversion: *mut c_void,
        region: MlirRegion,
    ) -> bool;
    pub(super) fn normaRewriterRetype(
        rewriter: *mut c_void,
        conversion: *mut c_void,
        op: MlirOperation,
        operand_count: isize,
        operands: *const MlirValue,
    ) -> MlirOperation;
}
