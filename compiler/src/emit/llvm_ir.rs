//! Translates the LLVM and NVVM dialects to an LLVM module, and optimises it for the target.

use std::cell::RefCell;
use std::ffi::{CStr, c_void};

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::TargetMachine;
use melior::ir::OperationRef;

use super::{fatal, lone_elements};
use crate::error::{Error, Result};
use crate::target::{Feature, Target};

/// An LLVM context that collects LLVM's error diagnostics; LLVM's default handler prints the first one and exits.
pub struct LlvmContext {
    // Dropped before `errors`, which its handler points to.
    context: Context,
    errors: Box<RefCell<Vec<String>>>,
}

impl LlvmContext {
    /// Makes a context without modules.
    pub fn new() -> Self {
        let context = Context::create();
        let errors = Box::new(RefCell::new(Vec::new()));
        // SAFETY: the boxed cell keeps its address and outlives the context.
        unsafe {
            LLVMContextSetDiagnosticHandler(
                (&context).as_ctx_ref(),
                Some(collect_error),
                std::ptr::from_ref::<RefCell<Vec<String>>>(&errors)
                    .cast_mut()
                    .cast::<c_void>(),
            );
        }
        Self { context, errors }
    }

    /// Fails if LLVM has reported an error since the last call; `action` names the current stage in the message.
    pub(super) fn check(&self, action: &str) -> Result<()> {
        let errors = self.errors.take();
        if errors.is_empty() {
            return Ok(());
        }
        let error = Error::internal(format!("LLVM reported errors while {action}"));
        Err(errors.into_iter().fold(error, Error::note))
    }

    /// Translates a `gpu.module`, or a `builtin.module` with the same contents, for the machine.
    ///
    /// The MLIR context must have the LLVM translations registered, and the module must have passed
    /// [`super::gate::check`].
    ///
    /// # Errors
    ///
    /// An op that has no translation (a diagnostic names it), or IR that LLVM's verifier rejects.
    pub fn translate(&self, module: OperationRef, name: &str, machine: &TargetMachine) -> Result<Module<'_>> {
        fatal::enter(name);
        let context = (&self.context).as_ctx_ref();
        // SAFETY: both references are live; null, on a failure, is handled below.
        let raw = unsafe { mlir_sys::mlirTranslateModuleToLLVMIR(module.to_raw(), context.cast()) };
        if raw.is_null() {
            return Err(Error::internal(format!("'{name}' has no translation to LLVM IR")).diagnosed());
        }
        // SAFETY: the module was made in this context, and nothing else owns it.
        let llvm = unsafe { Module::new(raw.cast()) };
        llvm.set_name(name);
        llvm.set_triple(&machine.get_triple());
        llvm.set_data_layout(&machine.get_target_data().get_data_layout());
        llvm.verify().map_err(|message| {
            Error::internal(format!("LLVM rejects '{name}'")).note(message.to_string_lossy().trim_end())
        })?;
        self.check("translating")?;
        Ok(llvm)
    }

    /// Parses LLVM IR text and gives it the machine's triple and layout.
    ///
    /// # Errors
    ///
    /// Text that is not LLVM IR, with LLVM's message as a note.
    pub fn parse(&self, text: &str, name: &str, machine: &TargetMachine) -> Result<Module<'_>> {
        fatal::enter(name);
        let buffer =
            inkwell::memory_buffer::MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), name);
        let llvm = self.context.create_module_from_ir(buffer).map_err(|message| {
            Error::user(format!("'{name}' is not LLVM IR")).note(message.to_string_lossy().trim_end())
        })?;
        llvm.set_triple(&machine.get_triple());
        llvm.set_data_layout(&machine.get_target_data().get_data_layout());
        Ok(llvm)
    }

    /// Splits vectors into words, and runs LLVM's O3 pipeline for the machine.
    ///
    /// A word holds as many elements as one instruction computes with: two of 16 bits, or two f32 where the target has packed arithmetic
    /// of them, else one. Until they are split, an op on all registers of a tile cannot be moved to where one of its elements is used.
    /// f32 are split one by one if a pair of them would be left with one element, which the backend may fail to select
    /// ([`lone_elements`]).
    ///
    /// # Errors
    ///
    /// A failure of LLVM's own.
    pub fn optimize<'m>(
        &self,
        module: Module<'m>,
        machine: &TargetMachine,
        target: &Target,
    ) -> Result<Module<'m>> {
        if target.has(Feature::PackedF32) {
            let paired = module.clone();
            self.optimize_words(&paired, 64, machine)?;
            if !lone_elements::has_lone_element(&paired) {
                return Ok(paired);
            }
        }
        self.optimize_words(&module, 32, machine)?;
        Ok(module)
    }

    /// Splits vectors into words of so many bits, and runs LLVM's O3 pipeline.
    fn optimize_words(&self, module: &Module, bits: u32, machine: &TargetMachine) -> Result<()> {
        let passes = format!("function(scalarizer<min-bits={bits}>),default<O3>");
        module
            .run_passes(&passes, machine, PassBuilderOptions::create())
            .map_err(|message| Error::internal("LLVM's optimiser failed").note(message.to_string_lossy()))?;
        self.check("optimising")
    }
}

impl Default for LlvmContext {
    fn default() -> Self {
        Self::new()
    }
}

extern "C" fn collect_error(info: LLVMDiagnosticInfoRef, errors: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic, and the pointer that `LlvmContext::new` gave it.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let description = LLVMGetDiagInfoDescription(info);
        let errors = &*errors.cast_const().cast::<RefCell<Vec<String>>>();
        errors
            .borrow_mut()
            .push(CStr::from_ptr(description).to_string_lossy().into_owned());
        LLVMDisposeMessage(description);
    }
}
