//! A source text whose lines every diagnostic can show.
//!
//! While a [`Source`] is alive, each diagnostic of its context is rendered as `file:line:column: error: ...` with the
//! line and a caret, whichever pass emits it, as long as its location goes back to the text. A compile keeps it from
//! parsing to the last pass.

use std::{ffi::c_void, fmt};

use melior::{Context, StringRef, ir::Module};
use mlir_sys::{MlirContext, MlirModule, MlirStringRef};

use super::guard;

type Sink<'s> = Box<dyn FnMut(&str) + Send + 's>;

/// A source text that is attached to a context, until it is dropped.
pub struct Source<'c, 's> {
    raw: *mut c_void,
    context: &'c Context,
    /// Where rendered diagnostics go; boxed twice so that the pointer to it is thin and stays.
    _sink: Box<Sink<'s>>,
}

impl<'c, 's> Source<'c, 's> {
    /// Attaches `text`, which diagnostics call `name`. Rendered diagnostics come to `sink` in pieces, one at a time
    /// and whole diagnostics in a row, but from the threads that passes run on.
    pub fn attach(context: &'c Context, text: &str, name: &str, sink: impl FnMut(&str) + Send + 's) -> Self {
        unsafe extern "C" fn write(text: MlirStringRef, sink: *mut c_void) {
            // SAFETY: `sink` is the box below, which outlives the handler; MLIR holds a lock around each diagnostic.
            let (sink, text) = unsafe {
                let bytes = std::slice::from_raw_parts(text.data.cast::<u8>(), text.length);
                (&mut *sink.cast::<Sink<'_>>(), String::from_utf8_lossy(bytes))
            };
            // A sink that panics loses its text; there is no diagnostic left to make of that.
            let _lost = guard::catch(|| sink(&text));
        }
        let mut sink: Box<Sink<'s>> = Box::new(Box::new(sink));
        // SAFETY: the texts outlive the call, which copies them; context and sink outlive the result.
        let raw = unsafe {
            normaSourceCreate(
                context.to_raw(),
                StringRef::new(text).to_raw(),
                StringRef::new(name).to_raw(),
                write,
                (&raw mut *sink).cast(),
            )
        };
        Self {
            raw,
            context,
            _sink: sink,
        }
    }

    /// Parses and verifies the text as a module. `None` if it is none; the reasons have gone to the sink.
    pub fn parse(&self) -> Option<Module<'c>> {
        // SAFETY: source and context are alive; the module's ownership passes to the result.
        unsafe { Module::from_option_raw(normaSourceParse(self.raw, self.context.to_raw())) }
    }
}

impl Drop for Source<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: `attach` created it; the sink is dropped after this.
        unsafe { normaSourceDestroy(self.raw) }
    }
}

impl fmt::Debug for Source<'_, '_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Source")
    }
}

unsafe extern "C" {
    fn normaSourceCreate(
        context: MlirContext,
        text: MlirStringRef,
        name: MlirStringRef,
        write: unsafe extern "C" fn(MlirStringRef, *mut c_void),
        sink: *mut c_void,
    ) -> *mut c_void;
    fn normaSourceParse(source: *mut c_void, context: MlirContext) -> MlirModule;
    fn normaSourceDestroy(source: *mut c_void);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use melior::{Context, ir::operation::OperationLike};

    use super::Source;
    use crate::support::diagnostic::Diagnostic;

    #[test]
    fn a_syntax_error_shows_its_line_and_a_caret() {
        let context = Context::new();
        let output = Mutex::new(String::new());
        let source = Source::attach(&context, "module {\n  oops\n}\n", "input.mlir", |text| {
            if let Ok(mut output) = output.lock() {
                output.push_str(text);
            }
        });
        assert!(source.parse().is_none());
        drop(source);
        let output = output.into_inner().unwrap_or_default();
        assert!(output.starts_with("input.mlir:2:3: error: "), "{output}");
        assert!(output.contains("\n  oops\n  ^\n"), "{output}");
    }

    #[test]
    fn a_later_diagnostic_points_into_the_source_while_it_is_attached() {
        let context = Context::new();
        let output = Mutex::new(String::new());
        let source = Source::attach(&context, "\nmodule @kernels {}\n", "input.mlir", |text| {
            if let Ok(mut output) = output.lock() {
                output.push_str(text);
            }
        });
        let Some(module) = source.parse() else {
            unreachable!("the text is valid")
        };
        let location = module.as_operation().location();
        let diagnostic = || Diagnostic::user(location, "expected a kernel").note(location, "in here");
        diagnostic().emit(None);
        drop(source);
        context.attach_diagnostic_handler(|_| true);
        diagnostic().emit(None);
        // A note at the headline's place does not repeat the line.
        let output = output.into_inner().unwrap_or_default();
        assert_eq!(
            output,
            "input.mlir:2:1: error: expected a kernel\nmodule @kernels {}\n^\n\
             input.mlir:2:1: note: in here\n"
        );
    }
}
