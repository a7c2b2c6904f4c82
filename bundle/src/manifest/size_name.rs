//! The names that sizes may have.

use thiserror::Error;

use super::DEVICE_SYMBOLS;
use crate::expression::Expression;

/// Why a text cannot be the name of a size.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SizeNameError {
    /// It is no identifier.
    #[error("expected a name of letters, digits and '_' without a digit first, got '{name}'")]
    NoName {
        /// The text.
        name: String,
    },
    /// The name has another meaning in a manifest's expressions.
    #[error(
        "expected a size's name other than the reserved {}, d0, d1, ..., *_stride* and intermediate*, got '{name}'",
        DEVICE_SYMBOLS.join(", ")
    )]
    Reserved {
        /// The name.
        name: String,
    },
}

/// Checks a name for a size: an identifier that has no other meaning in a manifest's expressions, such as a device symbol, a dim
/// `d0` of a program, a stride `x_stride0` or a size of an intermediate.
///
/// # Errors
/// It is no identifier, or it is reserved.
pub fn check_size_name(name: &str) -> Result<(), SizeNameError> {
    if !matches!(Expression::parse(name), Ok(Expression::Symbol(symbol)) if symbol == name) {
        return Err(SizeNameError::NoName {
            name: name.to_owned(),
        });
    }
    let is_dim = name
        .strip_prefix('d')
        .is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()) && !number.is_empty());
    let is_made = name.contains("_stride") || name.starts_with("intermediate");
    match is_dim || is_made || DEVICE_SYMBOLS.contains(&name) {
        true => Err(SizeNameError::Reserved {
            name: name.to_owned(),
        }),
        false => Ok(()),
    }
}

/// Whether a size may have the name.
pub fn is_size_name(name: &str) -> bool {
    check_size_name(name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_names_without_another_meaning() {
        for name in ["m", "rows", "d", "d_model", "dim0", "stride", "_n"] {
            assert_eq!(check_size_name(name), Ok(()), "{name}");
        }
        for name in [
            "d0",
            "d12",
            "num_sms",
            "ctas_per_sm",
            "x_stride0",
            "intermediate_size",
        ] {
            let error = check_size_name(name).unwrap_err().to_string();
            let reserved = "num_sms, ctas_per_sm, d0, d1, ..., *_stride* and intermediate*";
            assert_eq!(
                error,
                format!("expected a size's name other than the reserved {reserved}, got '{name}'")
            );
        }
        for text in ["", "1m", "m n", "m+1", "größe"] {
            let error = check_size_name(text).unwrap_err().to_string();
            let expected = "expected a name of letters, digits and '_' without a digit first";
            assert_eq!(error, format!("{expected}, got '{text}'"));
        }
    }
}
