//! Parses an attribute that stands alone, such as the value of an option, and returns what is wrong with it instead of reporting that at a
//! place in a file that nobody wrote.

use melior::{
    Context,
    ir::{Attribute, Location},
};

/// Why a text is no attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeError {
    /// The byte of the text at which parsing stopped, from 0; the text has one line.
    pub offset: usize,
    /// What was expected there.
    pub message: String,
}

/// Parses an attribute.
///
/// # Errors
///
/// The first error of the text; none of the errors reaches the handlers of the context.
pub fn parse<'c>(context: &'c Context, text: &str) -> Result<Attribute<'c>, AttributeError> {
    let mut first = None;
    let handler = context.attach_diagnostic_handler(|diagnostic| {
        first.get_or_insert_with(|| AttributeError {
            offset: column(diagnostic.location()).saturating_sub(1),
            message: diagnostic.to_string(),
        });
        true
    });
    let attribute = Attribute::parse(context, text);
    context.detach_diagnostic_handler(handler);
    attribute.ok_or_else(|| {
        first.unwrap_or_else(|| AttributeError {
            offset: 0,
            message: "expected an attribute".to_owned(),
        })
    })
}

/// The column of a location in a text, from 1; 0 for other locations.
fn column(location: Location<'_>) -> usize {
    // SAFETY: the location is alive, and has a column where it is of this kind.
    let column = unsafe {
        match mlir_sys::mlirLocationIsAFileLineColRange(location.to_raw()) {
            true => mlir_sys::mlirLocationFileLineColRangeGetStartColumn(location.to_raw()),
            false => 0,
        }
    };
    usize::try_from(column).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use melior::Context;

    use super::parse;

    #[test]
    fn an_error_is_returned_with_its_place_and_not_reported() {
        let context = Context::new();
        let mut reported = 0;
        let handler = context.attach_diagnostic_handler(|_| {
            reported += 1;
            true
        });
        assert_eq!(
            parse(&context, "[1, 2]").map(|found| found.to_string()),
            Ok("[1, 2]".to_owned())
        );
        let error = parse(&context, "[1, ?]").unwrap_err();
        assert_eq!(
            (error.offset, error.message.as_str()),
            (3, "expected attribute value")
        );
        context.detach_diagnostic_handler(handler);
        assert_eq!(reported, 0);
    }
}
