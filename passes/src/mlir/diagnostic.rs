//! Located diagnostics: the errors that a pass returns, and the emission of any severity with notes.

use std::fmt;

use melior::{StringRef, ir::Location};
use mlir_sys::{MlirLocation, MlirStringRef};

/// The severity of a diagnostic. The values are MLIR's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Severity {
    /// Compilation fails.
    Error = 0,
    /// Something is likely not what the user meant.
    Warning = 1,
    /// Extra information of its own.
    Note = 2,
    /// What an optimisation did, or why it did not apply.
    Remark = 3,
}

/// Who is at fault for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The input is wrong; the message says what was expected.
    User,
    /// The input is right but the compiler cannot do it; the message says what is supported.
    Unsupported,
    /// The compiler is wrong.
    Internal,
}

/// An error at a place in the user's source, with notes at the places that caused it.
///
/// Messages are lower-case, without a final period: `expected a power of two, got 3`.
#[derive(Clone, Debug)]
#[must_use = "a diagnostic does nothing until it is returned or emitted"]
pub struct Diagnostic<'c> {
    /// Who is at fault.
    pub kind: Kind,
    /// Where the headline points.
    pub location: Location<'c>,
    /// The headline.
    pub message: String,
    /// Further places, and how they are related.
    pub notes: Vec<(Location<'c>, String)>,
}

impl<'c> Diagnostic<'c> {
    /// The input is wrong.
    pub fn user(location: Location<'c>, message: impl fmt::Display) -> Self {
        Self::new(Kind::User, location, message)
    }

    /// The input is right but not supported. Printed after `unsupported: `.
    pub fn unsupported(location: Location<'c>, message: impl fmt::Display) -> Self {
        Self::new(Kind::Unsupported, location, message)
    }

    /// The compiler is wrong. Printed as an internal compiler error, with a request to report it.
    pub fn internal(location: Location<'c>, message: impl fmt::Display) -> Self {
        Self::new(Kind::Internal, location, message)
    }

    fn new(kind: Kind, location: Location<'c>, message: impl fmt::Display) -> Self {
        Self {
            kind,
            location,
            message: message.to_string(),
            notes: Vec::new(),
        }
    }

    /// Adds a note.
    pub fn note(mut self, location: Location<'c>, text: impl fmt::Display) -> Self {
        self.notes.push((location, text.to_string()));
        self
    }

    /// Emits the diagnostic as an error. `pass` is the argument of the pass in which an internal error occurred.
    pub fn emit(self, pass: Option<&str>) {
        let headline = self.headline(pass);
        let mut notes = self.notes;
        if self.kind == Kind::Internal {
            notes.push((
                self.location,
                "this is a bug in the compiler; please report it with the input and the command line"
                    .to_owned(),
            ));
        }
        emit(self.location, Severity::Error, &headline, &notes);
    }

    fn headline(&self, pass: Option<&str>) -> String {
        match (self.kind, pass) {
            (Kind::User, _) => self.message.clone(),
            (Kind::Unsupported, _) => format!("unsupported: {}", self.message),
            (Kind::Internal, Some(pass)) => {
                format!("internal compiler error in pass '{pass}': {}", self.message)
            }
            (Kind::Internal, None) => format!("internal compiler error: {}", self.message),
        }
    }
}

/// Emits a diagnostic with notes through the handlers of the location's context.
pub fn emit<'c>(location: Location<'c>, severity: Severity, text: &str, notes: &[(Location<'c>, String)]) {
    let notes = notes
        .iter()
        .map(|(location, text)| RawNote {
            location: location.to_raw(),
            text: StringRef::new(text).to_raw(),
        })
        .collect::<Vec<_>>();
    // SAFETY: locations are alive by their lifetime; texts and notes outlive the call, which copies them.
    unsafe {
        normaEmit(
            location.to_raw(),
            severity as i32,
            StringRef::new(text).to_raw(),
            notes.as_ptr(),
            notes.len() as isize,
        );
    }
}

#[repr(C)]
struct RawNote {
    location: MlirLocation,
    text: MlirStringRef,
}

unsafe extern "C" {
    fn normaEmit(
        location: MlirLocation,
        severity: i32,
        text: MlirStringRef,
        notes: *const RawNote,
        note_count: isize,
    );
}

#[cfg(test)]
mod tests {
    use melior::{Context, ir::Location};

    use super::Diagnostic;

    #[test]
    fn each_kind_has_its_headline() {
        let context = Context::new();
        let location = Location::unknown(&context);
        let headline = |diagnostic: Diagnostic<'_>| diagnostic.headline(Some("gl-allocate-shared"));
        assert_eq!(
            headline(Diagnostic::user(location, "expected 2 rows, got 3")),
            "expected 2 rows, got 3"
        );
        assert_eq!(
            headline(Diagnostic::unsupported(location, "rank above 8")),
            "unsupported: rank above 8"
        );
        assert_eq!(
            headline(Diagnostic::internal(location, "no layout")),
            "internal compiler error in pass 'gl-allocate-shared': no layout"
        );
    }
}
