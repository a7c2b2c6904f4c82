//! Conditions on the sizes of a function's tensors, beyond their shapes, and on the numbers that its caller sets.
//!
//! For sizes and numbers that violate a condition, kernels would access memory out of bounds or leave elements unwritten, so
//! a launcher refuses them.

use serde::{Deserialize, Serialize};

use crate::expression::{EvaluateError, Expression};

/// `left == right` or `left >= right`, over the function's size symbols and numbers.
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
    /// The left side is at least the right side.
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

    /// Whether two numbers satisfy the relation.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Relation::Equal => left == right,
            Relation::AtLeast => left >= right,
        }
    }
}

impl Condition {
    /// Whether the condition evidently holds for all sizes, judging by its form.
    pub fn is_trivial(&self) -> bool {
        match (&self.left, &self.right) {
            (Expression::Integer(left), Expression::Integer(right)) => self.relation.holds(*left, *right),
            (left, right) => left == right,
        }
    }

    /// Whether both conditions have the same form, regardless of their texts.
    pub fn is_same(&self, other: &Condition) -> bool {
        (&self.left, self.relation, &self.right) == (&other.left, other.relation, &other.right)
    }

    /// The negation; `None` for an equality, whose negation is not a condition.
    pub fn negated(&self) -> Option<Condition> {
        // A constant side absorbs the 1 of the strict comparison, so that negating twice gives the original condition.
        let (left, right) = match (&self.left, &self.right) {
            (left, Expression::Integer(bound)) => (Expression::Integer(bound.checked_sub(1)?), left.clone()),
            (left, right) => (right.clone(), left.clone() + 1),
        };
        (self.relation == Relation::AtLeast).then(|| Condition {
            left,
            relation: Relation::AtLeast,
            right,
            text: format!("not {}", self.text),
        })
    }

    /// Whether the given sizes satisfy the condition.
    ///
    /// # Errors
    /// A side cannot be evaluated.
    pub fn holds(&self, bindings: &dyn Fn(&str) -> Option<i64>) -> Result<bool, EvaluateError> {
        let (left, right) = (self.left.evaluate(bindings)?, self.right.evaluate(bindings)?);
        Ok(self.relation.holds(left, right))
    }

    /// The message for sizes that violate the condition; `None` if they satisfy it.
    ///
    /// # Errors
    /// A side cannot be evaluated.
    pub fn violation(&self, bindings: &dyn Fn(&str) -> Option<i64>) -> Result<Option<String>, EvaluateError> {
        let (left, right) = (self.left.evaluate(bindings)?, self.right.evaluate(bindings)?);
        if self.relation.holds(left, right) {
            return Ok(None);
        }
        Ok(Some(self.broken_by(left, right)))
    }

    /// The message for a violated condition, given the values of its sides.
    pub fn broken_by(&self, left: i64, right: i64) -> String {
        let got = match (&self.left, &self.right) {
            (_, Expression::Integer(_)) => left.to_string(),
            (Expression::Integer(_), _) => right.to_string(),
            _ => format!("{left} and {right}"),
        };
        format!("expected {}, got {got}", self.text)
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
    fn an_upper_bound_says_what_it_got() {
        let mut long = condition("6", Relation::AtLeast, "m");
        long.text = "dim(x, 0) <= 6".into();
        assert_eq!(violation(&long).unwrap(), "expected dim(x, 0) <= 6, got 7");
    }

    #[test]
    fn either_a_condition_or_its_opposite_holds() {
        let bindings = |name: &str| (name == "m").then_some(7);
        for bound in ["6", "7", "8"] {
            let one = condition("m", Relation::AtLeast, bound);
            let other = one.negated().unwrap();
            assert_ne!(one.holds(&bindings), other.holds(&bindings), "{bound}");
            assert!(other.negated().unwrap().is_same(&one));
        }
        assert!(condition("m", Relation::Equal, "7").negated().is_none());
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
