//! Parsers for options that take whole numbers.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

/// A parser for an option that takes a whole number of a range, which begins at a number. An option that has it takes negative numbers as
/// values too (`allow_negative_numbers`), so that they are refused as what they are.
pub fn whole_number<N>(
    range: impl RangeBounds<N> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display,
{
    move |text| match text.parse::<N>() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!("expected a whole number{}, got '{text}'", words(&range))),
    }
}

/// Says which numbers a range has.
fn words<N: Display>(range: &impl RangeBounds<N>) -> String {
    match (range.start_bound(), range.end_bound()) {
        (Bound::Included(least), Bound::Included(most)) => format!(" from {least} to {most}"),
        (Bound::Included(least), _) => format!(" of at least {least}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::whole_number;

    #[test]
    fn a_wrong_number_is_told_what_is_expected() {
        assert_eq!(whole_number::<u16>(1..=32)("32"), Ok(32));
        let refused = |text: &str, expected: &str| {
            assert_eq!(
                whole_number::<u16>(1..=32)(text),
                Err(format!("expected a whole number {expected}, got '{text}'"))
            );
        };
        for text in ["0", "33", "-1", "1.5", "many", "", "70000"] {
            refused(text, "from 1 to 32");
        }
        assert_eq!(
            whole_number::<u64>(1..)("0").unwrap_err(),
            "expected a whole number of at least 1, got '0'"
        );
    }
}
