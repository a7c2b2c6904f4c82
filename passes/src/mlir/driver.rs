//! The drivers that MLIR ships, named pipelines, and the interfaces that upstream dialects attach to one another.

use std::{
    ffi::{CString, OsString, c_char, c_int},
    os::unix::ffi::OsStringExt,
    ptr,
};

use melior::{StringRef, dialect::DialectRegistry};
use mlir_sys::{MlirDialectRegistry, MlirStringRef};

/// Runs mlir-opt over the dialects of `registry` and the registered passes; returns the exit code. `name` heads the help text.
pub fn opt_main(arguments: impl Iterator<Item = OsString>, name: &str, registry: &DialectRegistry) -> i32 {
    let arguments = Arguments::new(arguments);
    // SAFETY: the vector is a valid argv for the call, and the registry is alive.
    unsafe {
        normaOptMain(
            arguments.count(),
            arguments.pointers.as_ptr(),
            StringRef::new(name).to_raw(),
            registry.to_raw(),
        )
    }
}

/// Runs mlir-lsp-server over the dialects of `registry`; returns the exit code.
pub fn lsp_server_main(arguments: impl Iterator<Item = OsString>, registry: &DialectRegistry) -> i32 {
    let arguments = Arguments::new(arguments);
    // SAFETY: the vector is a valid argv for the call, and the registry is alive.
    unsafe { normaLspServerMain(arguments.count(), arguments.pointers.as_ptr(), registry.to_raw()) }
}

/// Registers a textual pipeline, anchored on `builtin.module` and written without `builtin.module(...)` around it, so that drivers take
/// `--<argument>` and `--pass-pipeline` may name it. May be called only once for each argument.
pub fn register_pipeline(argument: &str, description: &str, pipeline: &str) {
    // SAFETY: the texts outlive the call, which copies them.
    unsafe {
        normaRegisterPassPipeline(
            StringRef::new(argument).to_raw(),
            StringRef::new(description).to_raw(),
            StringRef::new(pipeline).to_raw(),
        );
    }
}

/// Attaches the interfaces that conversion to LLVM, inlining, and translation to LLVM IR need to the upstream dialects of `registry`.
pub fn register_upstream_extensions(registry: &DialectRegistry) {
    // SAFETY: the registry is alive.
    unsafe { normaRegisterUpstreamExtensions(registry.to_raw()) }
}

/// An argv: the texts, and pointers to them with a null at the end.
struct Arguments {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Arguments {
    /// Copies the arguments. Since they come from an argv, they hold no NUL byte; one that does is truncated there.
    fn new(arguments: impl Iterator<Item = OsString>) -> Self {
        let texts = arguments
            .map(|argument| {
                let bytes = argument
                    .into_vec()
                    .into_iter()
                    .take_while(|byte| *byte != 0)
                    .collect::<Vec<u8>>();
                CString::new(bytes).unwrap_or_default()
            })
            .collect::<Vec<_>>();
        let pointers = texts
            .iter()
            .map(|text| text.as_ptr())
            .chain([ptr::null()])
            .collect();
        Self {
            _texts: texts,
            pointers,
        }
    }

    fn count(&self) -> c_int {
        self.pointers.len() as c_int - 1
    }
}

unsafe extern "C" {
    fn normaOptMain(
        argc: c_int,
        argv: *const *const c_char,
        name: MlirStringRef,
        registry: MlirDialectRegistry,
    ) -> c_int;
    fn normaLspServerMain(argc: c_int, argv: *const *const c_char, registry: MlirDialectRegistry) -> c_int;
    fn normaRegisterPassPipeline(
        argument: MlirStringRef,
        description: MlirStringRef,
        pipeline: MlirStringRef,
    );
    fn normaRegisterUpstreamExtensions(registry: MlirDialectRegistry);
}
