//! What several programs' command lines and output streams have in common. It links no MLIR, so that `norma-run` may use
//! it.
//!
//! | what | by |
//! |---|---|
//! | which function is run, on what, and how much of it is compared | [`RunOptions`] |
//! | reports and messages that reach their stream, or say that they did not | [`output`] |

pub mod output;
mod run_options;
mod setting;

pub use run_options::{RunOptions, RunOptionsError};
pub use setting::Setting;

/// A value that says something: a parser for options whose empty value would be taken for none.
///
/// # Errors
/// There is nothing in it but blanks.
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
