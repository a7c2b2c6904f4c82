//! Command-line options and output functions that several programs share. The crate links no MLIR, so that `norma-run` may
//! use it.
//!
//! | what | by |
//! |---|---|
//! | the function to run, its arguments, and how much of the result is compared | [`RunOptions`] |
//! | what to compile for | [`target`] |
//! | parsing a command line, which can print its completions | [`parse`] |
//! | options that take whole numbers | [`whole_number`] |
//! | options that take one of some words | [`OneOf`] |
//! | writing reports and messages, with errors for reports that could not be written | [`output`] |
//! | writing files completely or not at all | [`output_file`] |

mod number;
mod one_of;
pub mod output;
pub mod output_file;
mod program;
mod run_options;
mod setting;

use norma_targets::{TARGETS, Target};
pub use number::whole_number;
pub use one_of::OneOf;
pub use program::parse;
pub use run_options::{RunOptions, RunOptionsError};
pub use setting::Setting;

/// The exit status of an internal error, `EX_SOFTWARE` of sysexits.h.
pub const EXIT_INTERNAL: u8 = 70;
/// The exit status of a wrong command line, which is clap's.
pub const EXIT_USAGE: u8 = 2;

/// A parser for options that name a target. The message for an unknown one lists the known ones, and names the one that was probably meant.
pub fn target() -> OneOf<&'static Target> {
    OneOf::new(target_of, || TARGETS.iter().map(|target| target.name).collect())
}

fn target_of(name: &str) -> Result<&'static Target, String> {
    Target::parse(name).map_err(|error| {
        let hint = error.hint().map(|hint| format!("\n  {hint}"));
        error.to_string() + &hint.unwrap_or_default()
    })
}

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
    fn a_target_that_is_nearly_right_is_pointed_to() {
        assert_eq!(target_of("sm_90a").map(|target| target.name), Ok("sm_90a"));
        assert!(
            target_of("sm_90")
                .unwrap_err()
                .ends_with("\n  'sm_90' lacks the architecture's own instructions; ask for 'sm_90a'")
        );
    }

    #[test]
    fn blanks_state_nothing() {
        assert_eq!(stated("chunk = 64"), Ok("chunk = 64".to_owned()));
        assert!(stated("").is_err() && stated(" ").is_err());
    }
}
