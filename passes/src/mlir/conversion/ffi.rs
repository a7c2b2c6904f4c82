//! Declarations of the functions of capi/Conversion.cpp, where they are documented.

use std::ffi::c_void;

use mlir_sys::{MlirContext, MlirOperation, MlirRewriterBase, MlirStringRef, MlirType, MlirValue};

pub(super) type RawTypeRule = unsafe extern "C" fn(MlirType, *mut c_void) -> MlirType;
pub(super) type RawLegality = unsafe extern "C" fn(MlirOperation, *mut c_void) -> bool;
pub(super) type RawPattern =
    unsafe extern "C" fn(MlirOperation, *const MlirValue, isize, MlirRewriterBase, *mut c_void) -> bool;

unsafe extern "C" {
    pub(super) fn normaConversionCreate(context: MlirContext) -> *mut c_void;
    pub(super) fn normaConversionDestroy(conversion: *mut c_void);
    pub(super) fn normaConversionAddTypeRule(
        conversion: *mut c_void,
        rule: RawTypeRule,
        callback: *mut c_void,
    );
    pub(super) fn normaConversionSetDialect(conversion: *mut c_void, name: MlirStringRef, legal: bool);
    pub(super) fn normaConversionSetLegalOp(conversion: *mut c_void, name: MlirStringRef);
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
    pub(super) fn normaConversionAddPattern(
        conversion: *mut c_void,
        root: MlirStringRef,
        pattern: RawPattern,
        callback: *mut c_void,
    );
    pub(super) fn normaConversionAddStructured(conversion: *mut c_void);
    pub(super) fn normaConversionApply(
        conversion: *mut c_void,
        op: MlirOperation,
        diagnosed: *const bool,
    ) -> bool;
}
