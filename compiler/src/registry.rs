//! Registers the dialects and passes that the tools know.
//!
//! Each is registered individually rather than with MLIR's "register everything": the drivers start in a few milliseconds and
//! stay small.

use std::{ffi::OsString, sync::Once};

use melior::dialect::DialectRegistry;
use mlir_sys::*;
use norma_passes::mlir::driver;

use crate::pipeline;

/// A registry of every dialect that may occur in a module between input and PTX.
pub fn dialects() -> DialectRegistry {
    let registry = DialectRegistry::new();
    // SAFETY: the handles are static, and the registry is alive.
    unsafe {
        for handle in [
            mlirGetDialectHandle__affine__(),
            mlirGetDialectHandle__arith__(),
            mlirGetDialectHandle__cf__(),
            mlirGetDialectHandle__func__(),
            mlirGetDialectHandle__gpu__(),
            mlirGetDialectHandle__index__(),
            mlirGetDialectHandle__linalg__(),
            mlirGetDialectHandle__llvm__(),
            mlirGetDialectHandle__math__(),
            mlirGetDialectHandle__memref__(),
            mlirGetDialectHandle__nvvm__(),
            mlirGetDialectHandle__scf__(),
            mlirGetDialectHandle__tensor__(),
            mlirGetDialectHandle__ub__(),
            mlirGetDialectHandle__vector__(),
        ] {
            mlirDialectHandleInsertDialect(handle, registry.to_raw());
        }
    }
    norma_dialects::register(&registry);
    driver::register_upstream_extensions(&registry);
    registry
}

/// Registers every pass that a pipeline or a test names, Norma's own and MLIR's; only the first call in a process has an
/// effect.
pub fn register_passes() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        norma_passes::register_passes();
        // SAFETY: registration is not thread-safe, and `Once` runs it on one thread.
        unsafe {
            mlirRegisterTransformsCanonicalizer();
            mlirRegisterTransformsCSE();
            mlirRegisterTransformsInliner();
            mlirRegisterTransformsLoopInvariantCodeMotion();
            mlirRegisterTransformsStripDebugInfo();
            mlirRegisterTransformsSymbolDCE();

            mlirRegisterConversionArithToLLVMConversionPass();
            mlirRegisterConversionConvertControlFlowToLLVMPass();
            mlirRegisterConversionConvertFuncToLLVMPass();
            mlirRegisterConversionConvertGpuOpsToNVVMOps();
            mlirRegisterConversionConvertIndexToLLVMPass();
            mlirRegisterConversionConvertMathToLLVMPass();
            mlirRegisterConversionConvertNVVMToLLVMPass();
            mlirRegisterConversionConvertVectorToLLVMPass();
            mlirRegisterConversionFinalizeMemRefToLLVMConversionPass();
            mlirRegisterConversionLowerAffinePass();
            mlirRegisterConversionReconcileUnrealizedCastsPass();
            mlirRegisterConversionSCFToControlFlowPass();

            mlirRegisterGPUGpuNVVMAttachTarget();
            mlirRegisterLLVMDIScopeForLLVMFuncOpPass();
        }
    });
}

/// The main function of norma-opt: mlir-opt with the dialects and passes of this file, and the pipelines that normac runs.
pub fn opt_main(arguments: impl Iterator<Item = OsString>) -> u8 {
    register_passes();
    pipeline::register();
    exit_code(driver::opt_main(
        arguments,
        "Norma modular optimizer driver",
        &dialects(),
    ))
}

/// The main function of norma-lsp-server: mlir-lsp-server with the dialects of this file.
pub fn lsp_server_main(arguments: impl Iterator<Item = OsString>) -> u8 {
    exit_code(driver::lsp_server_main(arguments, &dialects()))
}

fn exit_code(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(1)
}
