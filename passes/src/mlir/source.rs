//! A source text whose lines are shown by diagnostics.
//!
//! While a [`Source`] is alive, each diagnostic of its context is rendered as `file:line:column: error: ...` with the line and a caret,
//! whichever pass emits it, as long as its location refers to the text. A compilation keeps it from parsing to the last pass.

use std::{
    ffi::c_void,
    fmt, mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use melior::{
    Context, StringRef,
    ir::{Location, Module},
};
use mlir_sys::{MlirContext, MlirModule, MlirStringRef};

use super::{
    diagnostic::Diagnostic,
    nesting::{self, Place},
};

/// The deepest nesting of brackets and operators that is parsed: far more than programs have, and far less than what overflows a stack of 8
/// MiB.
const DEEPEST: usize = 256;

/// What diagnostics show.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Remarks, beside errors and warnings.
    pub remarks: bool,
    /// The lines of the source that they point at.
    pub lines: bool,
}

/// A source text that is attached to a context, until it is dropped.
pub struct Source<'c> {
    raw: *mut c_void,
    context: &'c Context,
    /// Boxed, because the handler holds its address; locked, because passes emit from several threads.
    rendered: Box<Mutex<String>>,
    name: String,
    /// The place from which the text is nested too deeply for MLIR's recursive parser.
    too_deep: Option<Place>,
}

/// A place among the diagnostics of a [`Source`].
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

impl<'c> Source<'c> {
    /// Attaches `text` to a context, under the name that diagnostics give it.
    pub fn new(context: &'c Context, name: &str, text: &str, shown: Shown) -> Self {
        unsafe extern "C" fn append(text: MlirStringRef, rendered: *mut c_void) {
            // SAFETY: `rendered` is the box below, which outlives the handler; MLIR's text is alive for the call.
            let (rendered, text) = unsafe {
                let bytes = std::slice::from_raw_parts(text.data.cast::<u8>(), text.length);
                (&*rendered.cast::<Mutex<String>>(), String::from_utf8_lossy(bytes))
            };
            rendered
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push_str(&text);
        }
        let rendered = Box::new(Mutex::new(String::new()));
        // SAFETY: the texts outlive the call, which copies them; context and box outlive the result.
        let raw = unsafe {
            normaSourceCreate(
                context.to_raw(),
                StringRef::new(text).to_raw(),
                StringRef::new(name).to_raw(),
                shown.remarks,
                shown.lines,
                append,
                (&raw const *rendered).cast_mut().cast(),
            )
        };
        Self {
            raw,
            context,
            rendered,
            name: name.to_owned(),
            too_deep: nesting::beyond(text, DEEPEST),
        }
    }

    /// Parses and verifies the text as a module. Returns `None` if that fails; the diagnostics say why.
    pub fn parse(&self) -> Option<Module<'c>> {
        if let Some(place) = &self.too_deep {
            let message = format!("expected brackets and operators nested at most {DEEPEST} deep, got more");
            let location = Location::new(self.context, &self.name, place.line, place.column);
            Diagnostic::user(location, message).emit(None);
            return None;
        }
        // SAFETY: source and context are alive; the module's ownership passes to the result.
        unsafe { Module::from_option_raw(normaSourceParse(self.raw, self.context.to_raw())) }
    }

    /// Marks the diagnostics so far, for [`Self::forget_since`].
    pub fn mark(&self) -> Mark {
        Mark(self.rendered().len())
    }

    /// Forgets the diagnostics since a mark, unless they were taken in the meantime.
    pub fn forget_since(&self, mark: Mark) {
        self.rendered().truncate(mark.0);
    }

    /// Returns the rendered diagnostics since the last call.
    pub fn take_diagnostics(&self) -> String {
        mem::take(&mut *self.rendered())
    }

    /// Whether any diagnostic so far says that the compiler is at fault.
    pub fn has_fault(&self) -> bool {
        // SAFETY: the source is alive.
        unsafe { normaSourceHasFault(self.raw) }
    }

    fn rendered(&self) -> MutexGuard<'_, String> {
        self.rendered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Source<'_> {
    fn drop(&mut self) {
        // SAFETY: `new` created it; the box is dropped after this.
        unsafe { normaSourceDestroy(self.raw) }
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Source")
    }
}

unsafe extern "C" {
    fn normaSourceCreate(
        context: MlirContext,
        text: MlirStringRef,
        name: MlirStringRef,
        remarks: bool,
        lines: bool,
        write: unsafe extern "C" fn(MlirStringRef, *mut c_void),
        rendered: *mut c_void,
    ) -> *mut c_void;
    fn normaSourceParse(source: *mut c_void, context: MlirContext) -> MlirModule;
    fn normaSourceHasFault(source: *mut c_void) -> bool;
    fn normaSourceDestroy(source: *mut c_void);
}

#[cfg(test)]
mod tests {
    use melior::{Context, ir::operation::OperationLike};

    use super::{Shown, Source};
    use crate::mlir::diagnostic::Diagnostic;

    const LINES: Shown = Shown {
        remarks: false,
        lines: true,
    };

    #[test]
    fn only_the_message_of_an_error_says_that_the_compiler_is_at_fault() {
        let context = Context::new();
        let text = "module {\n  oops // error: internal compiler error\n}\n";
        let source = Source::new(&context, "input.mlir", text, LINES);
        assert!(source.parse().is_none());
        assert!(!source.has_fault());
        let location = melior::ir::Location::unknown(&context);
        Diagnostic::internal(location, "expected an op").emit(None);
        assert!(source.has_fault());
    }

    #[test]
    fn a_syntax_error_shows_its_line_and_a_caret() {
        let context = Context::new();
        let source = Source::new(&context, "input.mlir", "module {\n  oops\n}\n", LINES);
        assert!(source.parse().is_none());
        let text = source.take_diagnostics();
        assert!(text.starts_with("input.mlir:2:3: error: "), "{text}");
        assert!(text.contains("\n  oops\n  ^\n"), "{text}");
        assert_eq!(source.take_diagnostics(), "");
    }

    #[test]
    fn lines_are_shown_only_where_someone_wrote_them() {
        let context = Context::new();
        let shown = Shown {
            lines: false,
            ..LINES
        };
        let source = Source::new(&context, "<op>", "oops", shown);
        assert!(source.parse().is_none());
        let text = source.take_diagnostics();
        assert!(
            text.starts_with("<op>:1:1: error: ") && text.lines().count() == 1,
            "{text}"
        );
    }

    #[test]
    fn a_later_diagnostic_points_into_the_source_until_it_is_forgotten() {
        let context = Context::new();
        let source = Source::new(&context, "input.mlir", "\nmodule @kernels {}\n", LINES);
        let Some(module) = source.parse() else {
            unreachable!("the text is valid")
        };
        let location = module.as_operation().location();
        Diagnostic::user(location, "expected a kernel")
            .note(location, "in here")
            .emit(None);
        let mark = source.mark();
        Diagnostic::user(location, "expected another kernel").emit(None);
        source.forget_since(mark);
        // A note at the headline's place does not repeat the line.
        assert_eq!(
            source.take_diagnostics(),
            "input.mlir:2:1: error: expected a kernel\nmodule @kernels {}\n^\n\
             input.mlir:2:1: note: in here\n"
        );
    }
}
