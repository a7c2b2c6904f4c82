//! Derivatives of scalar ops: the column of the table of scalar ops from which differentiation builds its programs.
//!
//! A derivative is an expression over the op's operands `a`, `b` and `c` and its result `y`, built from ops of the same
//! table. Where a function is not differentiable, the derivative is a value between those on both sides: a maximum of two
//! equal numbers passes half to each.

use std::fmt;

use crate::scalar_op::ScalarOp;

/// The derivatives of an op with respect to its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Derivative {
    /// Undefined: the op takes or returns integers, or is a step function. A gradient that would pass through it is refused.
    None,
    /// Zero: the op returns a truth value, which only selects between values.
    OfTruth,
    /// The partial derivative of the result with respect to each operand.
    Partial(&'static [Partial]),
}

/// An expression over the operands and the result of an op.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum Partial {
    Number(f64),
    Operand(usize),
    Result,
    Negated(&'static Partial),
    Sum(&'static Partial, &'static Partial),
    Difference(&'static Partial, &'static Partial),
    Product(&'static Partial, &'static Partial),
    Quotient(&'static Partial, &'static Partial),
    /// A floating-point op of the table.
    Call(ScalarOp, &'static [Partial]),
    /// 1 if the relation holds, else 0.
    Holds(Relation, &'static Partial, &'static Partial),
    /// 1 if the operand, a truth value, equals the given one, else 0.
    Is(usize, bool),
}

/// A comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum Relation {
    Greater,
    AtLeast,
    Equal,
    /// Either is NaN.
    Unordered,
}

impl fmt::Display for Derivative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Derivative::None => f.write_str("none"),
            Derivative::OfTruth => f.write_str("0"),
            Derivative::Partial(partials) => {
                let partials: Vec<String> = partials.iter().map(Partial::to_string).collect();
                f.write_str(&partials.join(", "))
            }
        }
    }
}

impl fmt::Display for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Partial::Number(number) => write!(f, "{number}"),
            Partial::Operand(index) => write!(f, "{}", operand(*index)),
            Partial::Result => f.write_str("y"),
            Partial::Negated(a) => write!(f, "-{}", Bracketed(a)),
            Partial::Sum(a, b) => write!(f, "{a} + {b}"),
            Partial::Difference(a, b) => write!(f, "{a} - {}", Bracketed(b)),
            Partial::Product(a, b) => write!(f, "{} * {}", Bracketed(a), Bracketed(b)),
            Partial::Quotient(a, b) => write!(f, "{} / {}", Bracketed(a), Bracketed(b)),
            Partial::Call(op, operands) => {
                let name = op.row().name;
                let name = name.split_once('.').map_or(name, |(_, mnemonic)| mnemonic);
                let operands: Vec<String> = operands.iter().map(Partial::to_string).collect();
                write!(f, "{name}({})", operands.join(", "))
            }
            Partial::Holds(relation, a, b) => match relation {
                Relation::Greater => write!(f, "[{a} > {b}]"),
                Relation::AtLeast => write!(f, "[{a} >= {b}]"),
                Relation::Equal => write!(f, "[{a} = {b}]"),
                Relation::Unordered => write!(f, "[{a} or {b} is NaN]"),
            },
            Partial::Is(index, true) => write!(f, "[{}]", operand(*index)),
            Partial::Is(index, false) => write!(f, "[not {}]", operand(*index)),
        }
    }
}

fn operand(index: usize) -> char {
    char::from(b'a' + index as u8)
}

/// An expression in brackets where it is an operand of a product.
struct Bracketed(&'static Partial);

impl fmt::Display for Bracketed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Partial::Sum(..)
            | Partial::Difference(..)
            | Partial::Product(..)
            | Partial::Quotient(..)
            | Partial::Negated(_) => write!(f, "({})", self.0),
            atom => atom.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_quotients_are_read_as_they_are_meant() {
        let partials = |op: ScalarOp| op.row().derivative.to_string();
        assert_eq!(partials(ScalarOp::DivF), "1 / b, -((a / b) * (1 / b))");
        assert_eq!(partials(ScalarOp::Tanh), "1 - (y * y)");
        assert_eq!(partials(ScalarOp::Cos), "-sin(a)");
        assert_eq!(partials(ScalarOp::Floor), "none");
    }
}
