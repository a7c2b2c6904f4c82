//! A source text in an MLIR context: parsing it, and rendering diagnostics against its lines.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::{slice, str};

use melior::ir::Module;
use melior::{Context, StringRef};
use mlir_sys::{MlirContext, MlirModule, MlirStringRef};

/// A source text whose context renders diagnostics against it, with a caret, for as long as this lives.
pub struct Source<'c> {
    raw: NonNull<c_void>,
    context: &'c Context,
    // Boxed, because the handler holds its address.
    rendered: Box<RefCell<String>>,
}

impl<'c> Source<'c> {
    /// Installs the text in a context. `name` is what diagnostics call it.
    ///
    /// Returns nothing if the handler cannot be made.
    pub fn new(context: &'c Context, name: &str, text: &str) -> Option<Self> {
        let rendered = Box::new(RefCell::new(String::new()));
        // SAFETY: the shim copies both texts; the context and the boxed cell outlive the handler, which
        // `drop` destroys.
        let raw = unsafe {
            normaSourceCreate(
                context.to_raw(),
                StringRef::new(text).to_raw(),
                StringRef::new(name).to_raw(),
                append,
                (&raw const *rendered).cast_mut().cast(),
            )
        };
        Some(Self {
            raw: NonNull::new(raw)?,
            context,
            rendered,
        })
    }

    /// Parses and verifies the text; nothing if that fails, and then the diagnostics say why.
    pub fn parse(&self) -> Option<Module<'c>> {
        // SAFETY: the handler is live, and its module belongs to the same context; a null module means
        // failure.
        unsafe { Module::from_option_raw(normaSourceParse(self.raw.as_ptr(), self.context.to_raw())) }
    }

    /// The diagnostics so far, rendered; each is given once.
    pub fn take_diagnostics(&self) -> String {
        self.rendered.take()
    }
}

impl Drop for Source<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointer came from normaSourceCreate and is destroyed once.
        unsafe { normaSourceDestroy(self.raw.as_ptr()) };
    }
}

extern "C" fn append(text: MlirStringRef, rendered: *mut c_void) {
    // SAFETY: the shim passes live text, and the cell that `Source::new` gave it.
    let (bytes, rendered) = unsafe {
        let bytes = match text.length {
            0 => &[],
            length => slice::from_raw_parts(text.data.cast::<u8>(), length),
        };
        (bytes, &*rendered.cast_const().cast::<RefCell<String>>())
    };
    rendered.borrow_mut().push_str(&String::from_utf8_lossy(bytes));
}

unsafe extern "C" {
    fn normaSourceCreate(
        context: MlirContext,
        text: MlirStringRef,
        name: MlirStringRef,
        write: extern "C" fn(MlirStringRef, *mut c_void),
        user_data: *mut c_void,
    ) -> *mut c_void;
    fn normaSourceParse(source: *mut c_void, context: MlirContext) -> MlirModule;
    fn normaSourceDestroy(source: *mut c_void);
}
