//! Command-line options and output functions that several programs share. The crate links no MLIR, so that `norma-run` may
//! use it.
//!
//! | what | by |
//! |---|---|
//! | the function to run, its arguments, and how much of the result is compared | [`RunOptions`] |
//! | writing reports and messages, with errors for reports that could not be written | [`output`] |

pub mod output;
mod run_options;
mod setting;

pub use run_options::{RunOptions, RunOptionsError};
pub use setting::Setting;

/// A parser for options that must not be empty, because an empty value would be taken for a missing one.
///
/// # Errors
/// The value is blank.
pub fn stated(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected a value that is not empty".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_state_nothing() {
        assert_eq!(stated("chunk = 64"), Ok("chunk = 64".to_owned()));
        assert!(stated("").is_err() && stated(" ").is_err());
    }
}
