//! What a function needs of the sizes of its tensors beyond their shapes.
//!
//! The kernels read and write out of bounds, or leave elements unwritten, for sizes that break one, so a launcher
//! refuses them.

use serde::{Deserialize, Serialize};

use crate::expression::{EvaluateError, Expression};

/// `left == right` or `left >= right`, over the function's size symbols.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The left side.
    pub left: Expression,
    /// How the sides must compare.
    pub relation: Relation,
    /// The right side.
    pub right: Expression,
    /// The condition in terms of the tensors, such as `dim(x, 1) >= 64`, for messages.
    pub text: String,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// Both sides are the same number.
    #[serde(rename = "==")]
    Equal,
    /// The left side is not less.
    #[serde(rename = ">=")]
    AtLeast,
}

impl Relation {
    /// Its spelling.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Equal => "==",
            Relation::AtLeast => ">=",
        }
    }

    fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Relation::Equal => left == right,
            Relation::AtLeast => left >= right,
        }
    }
}

impl Condition {
    /// Whether it holds whatever the sizes are, as far as its form shows.
    pub fn is_trivial(&self) -> bool {
        match (&self.left, &self.right) {
            (Expression::Integer(left), Expression::Integer(right)) => self.relation.holds(*left, *right),
            (left, right) => left == right,
        }
    }

    /// What is wrong with these sizes, if they break the condition.
    ///
    /// # Errors
    /// A side has no value.
    pub fn violation(&self, bindings: &dyn Fn(&str) -> Option<i64>) -> Result<Option<String>, EvaluateError> {
        let (left, right) = (self.left.evaluate(bindings)?, self.right.evaluate(bindings)?);
        if self.relation.holds(left, right) {
            return Ok(None);
        }
        let got = match self.right {
            Expression::Integer(_) => left.to_string(),
            _ => format!("{left} and {right}"),
        };
        Ok(Some(format!("expected {}, got {got}", self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(left: &str, relation: Relation, right: &str) -> Condition {
        Condition {
            left: Expression::parse(left).unwrap(),
            relation,
            right: Expression::parse(right).unwrap(),
            text: format!("{left} {} {right}", relation.name()),
        }
    }

    fn violation(condition: &Condition) -> Option<String> {
        let bindings = |name: &str| (name == "m").then_some(7);
        condition.violation(&bindings).unwrap()
    }

    #[test]
    fn a_broken_condition_says_what_it_got() {
        let short = condition("m", Relation::AtLeast, "8");
        assert_eq!(violation(&short).unwrap(), "expected m >= 8, got 7");
        let unequal = condition("m + 1", Relation::Equal, "m*2");
        assert_eq!(
            violation(&unequal).unwrap(),
            "expected m + 1 == m*2, got 8 and 14"
        );
    }

    #[test]
    fn the_bound_itself_is_allowed() {
        assert_eq!(violation(&condition("m", Relation::AtLeast, "7")), None);
        assert_eq!(violation(&condition("m", Relation::Equal, "7")), None);
        assert!(violation(&condition("m", Relation::Equal, "6")).is_some());
    }

    #[test]
    fn equal_sides_and_constants_that_hold_are_trivial() {
        assert!(condition("m", Relation::AtLeast, "m").is_trivial());
        assert!(condition("8", Relation::AtLeast, "7").is_trivial());
        assert!(!condition("8", Relation::Equal, "7").is_trivial());
        assert!(!condition("m", Relation::AtLeast, "7").is_trivial());
    }

    #[test]
    fn relations_are_written_as_they_read() {
        let json = serde_json::to_string(&condition("m", Relation::AtLeast, "64")).unwrap();
        assert_eq!(
            json,
            r#"{"left":"m","relation":">=","right":64,"text":"m >= 64"}"#
        );
    }
}
