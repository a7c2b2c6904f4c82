//! Handles fatal errors of LLVM: prints a message that names the module, and exits without a core dump.
//!
//! LLVM's fatal errors cannot be recovered from: the handler must not return. The feature gate ensures that no input gets
//! here; reaching this handler is a bug of the gate.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::sync::Once;

use inkwell::support::error_handling::install_fatal_error_handler;

/// The exit status of an internal error, `EX_SOFTWARE` of sysexits.h.
const EXIT_INTERNAL: i32 = 70;

static INSTALL: Once = Once::new();

thread_local! {
    static MODULE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Names the module that this thread is about to hand to LLVM.
pub(super) fn enter(module: &str) {
    // SAFETY: the handler is a static function that never returns, as LLVM demands.
    INSTALL.call_once(|| unsafe { install_fatal_error_handler(handler) });
    MODULE.with_borrow_mut(|current| module.clone_into(current));
}

extern "C" fn handler(reason: *const c_char) {
    // SAFETY: LLVM passes a NUL-terminated string that lives through the call.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    let module = MODULE.with(|current| current.try_borrow().map(|name| name.clone()).unwrap_or_default());
    eprintln!("error: internal compiler error: LLVM gave up on '{module}': {reason}");
    eprintln!("note: this is a bug: an operation the target lacks passed the compiler's own check");
    std::process::exit(EXIT_INTERNAL)
}
