//! Parses a kernel that a test writes as text, and analyses its space.

use melior::{
    Context,
    dialect::{DialectHandle, DialectRegistry},
    ir::Module,
};
use norma_dialects::norm::KernelOp;

use super::space::Space;
use crate::mlir::walk;

/// Applies `look` to the first kernel of `text`; `None` if there is no valid kernel or `look` returns none.
pub fn in_first_kernel<T>(text: &str, look: impl FnOnce(&Space<'_, '_>) -> Option<T>) -> Option<T> {
    let registry = DialectRegistry::new();
    norma_dialects::register(&registry);
    DialectHandle::arith().insert_dialect(&registry);
    // SAFETY: the handle is a static of the library.
    unsafe { DialectHandle::from_raw(mlir_sys::mlirGetDialectHandle__math__()) }.insert_dialect(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    let module = Module::parse(&context, text)?;
    let kernel = *walk::named(module.as_operation(), KernelOp::NAME).first()?;
    look(&Space::of(KernelOp::from_op(kernel)?).ok()?)
}
