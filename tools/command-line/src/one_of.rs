//! Options whose value is one of some words, which shells complete.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};

/// A parser for an option whose value is one of some words. Completions offer the words; the messages are those of the function that parses,
/// which may say more than a list. An option that has it hides the words in help (`hide_possible_values`) where its help says them.
#[derive(Clone, Copy, Debug)]
pub struct OneOf<T> {
    parse: fn(&str) -> Result<T, String>,
    words: fn() -> Vec<&'static str>,
}

impl<T> OneOf<T> {
    /// The parser that takes these words by this function.
    pub const fn new(parse: fn(&str) -> Result<T, String>, words: fn() -> Vec<&'static str>) -> Self {
        Self { parse, words }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for OneOf<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        self.parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.words)().into_iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_offered_and_the_message_is_that_of_the_function() {
        let parse: fn(&str) -> Result<u8, String> = |word| match word {
            "one" => Ok(1),
            _ => Err(format!("expected one, got '{word}'")),
        };
        let parser = OneOf::new(parse, || vec!["one"]);
        let arg = Arg::new("number").long("number").value_parser(parser);
        let words: Vec<PossibleValue> = arg.get_possible_values();
        assert_eq!(words, [PossibleValue::new("one")]);
        let command = Command::new("program").arg(arg);
        let matched = |word: &str| {
            command
                .clone()
                .try_get_matches_from(["program", "--number", word])
        };
        assert_eq!(matched("one").unwrap().get_one::<u8>("number"), Some(&1));
        let error = matched("two").unwrap_err().to_string();
        assert!(error.contains("expected one, got 'two'"), "{error}");
    }
}
