//! Settings of LLVM that hold for the whole process, and that its C API offers as command-line options alone.

use std::ffi::{CStr, c_int};
use std::ptr;
use std::sync::Once;

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;

/// A program's name, then options.
///
/// `slp-max-vf`: the only vectors of f32 in which NVPTX computes are pairs, on sm_100a and later. O3's SLPVectorizer also tries 4, 8, ...
/// elements, which the backend would split into pairs again; for a thread with 64 registers of a row it took a second, four times as long
/// as it takes for pairs.
const OPTIONS: [&CStr; 2] = [c"normac", c"-slp-max-vf=2"];

static APPLY: Once = Once::new();

/// Applies the settings, unless that has been done.
pub(super) fn apply() {
    APPLY.call_once(|| {
        let options = OPTIONS.map(CStr::as_ptr);
        // SAFETY: as many strings are there as are said, each ends in a null byte, and LLVM copies what it keeps.
        unsafe { LLVMParseCommandLineOptions(options.len() as c_int, options.as_ptr(), ptr::null()) };
    });
}
