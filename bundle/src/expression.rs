//! Size expressions, which a manifest uses for sizes that are known only at launch.
//!
//! An expression is an integer, or `+ - *`, `floordiv(a, b)`, `ceildiv(a, b)`, `mod(a, b)`, `min(a, b)` and `max(a, b)` over
//! integers and symbols. Division rounds towards minus infinity (`floordiv`, and `mod` with it) or plus infinity (`ceildiv`),
//! as MLIR's affine maps do. Arithmetic is checked: a size that overflows `i64` is an error, never a wrapped number.

mod parse;

use std::collections::BTreeSet;
use std::fmt;
use std::ops;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use thiserror::Error;

pub use self::parse::ParseError;

/// An integer-valued expression over symbols.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expression {
    /// A constant.
    Integer(i64),
    /// A name that the launcher binds: a size, a stride, `num_sms` or `ctas_per_sm`.
    Symbol(String),
    /// An operation on two expressions.
    Binary(Operation, Box<Expression>, Box<Expression>),
}

/// The operation of a binary expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// `a * b`
    Multiply,
    /// `floordiv(a, b)`: the quotient rounded towards minus infinity.
    FloorDivide,
    /// `ceildiv(a, b)`: the quotient rounded towards plus infinity.
    CeilDivide,
    /// `mod(a, b)`: `a - b * floordiv(a, b)`.
    Modulo,
    /// `min(a, b)`
    Minimum,
    /// `max(a, b)`
    Maximum,
}

/// Why an expression cannot be evaluated.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvaluateError {
    /// A symbol has no binding.
    #[error("symbol '{0}' has no value")]
    Unbound(String),
    /// The value does not fit in 64 bits.
    #[error("'{0}' overflows a 64-bit integer")]
    Overflow(String),
    /// A divisor is zero or negative.
    #[error("'{expression}' divides by {divisor}, expected a positive divisor")]
    Divisor {
        /// The expression that divides.
        expression: String,
        /// The divisor's value.
        divisor: i64,
    },
}

impl Operation {
    /// The operation's spelling in an expression.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Add => "+",
            Operation::Subtract => "-",
            Operation::Multiply => "*",
            Operation::FloorDivide => "floordiv",
            Operation::CeilDivide => "ceildiv",
            Operation::Modulo => "mod",
            Operation::Minimum => "min",
            Operation::Maximum => "max",
        }
    }

    fn divides(self) -> bool {
        matches!(
            self,
            Operation::FloorDivide | Operation::CeilDivide | Operation::Modulo
        )
    }

    /// The reason why `expression`, which applies this operation to a value and `b`, cannot be evaluated.
    #[cold]
    pub fn error(self, expression: &Expression, b: i64) -> EvaluateError {
        if self.divides() && b <= 0 {
            EvaluateError::Divisor {
                expression: expression.to_string(),
                divisor: b,
            }
        } else {
            EvaluateError::Overflow(expression.to_string())
        }
    }

    /// The value, or `None` if it overflows or the divisor is not positive ([`Operation::error`] tells which).
    pub fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Operation::Add => a.checked_add(b),
            Operation::Subtract => a.checked_sub(b),
            Operation::Multiply => a.checked_mul(b),
            _ if self.divides() && b <= 0 => None,
            Operation::FloorDivide => Some(a.div_euclid(b)),
            Operation::CeilDivide => Some(a.div_euclid(b) + i64::from(a.rem_euclid(b) != 0)),
            Operation::Modulo => Some(a.rem_euclid(b)),
            Operation::Minimum => Some(a.min(b)),
            Operation::Maximum => Some(a.max(b)),
        }
    }
}

impl Expression {
    /// A symbol; `name` must be an identifier (letters, digits and `_`, no leading digit) to be parsed again.
    pub fn symbol(name: impl Into<String>) -> Self {
        Expression::Symbol(name.into())
    }

    /// Parses one expression.
    ///
    /// # Errors
    /// The text is not an expression; the error names the column.
    pub fn parse(source: &str) -> Result<Self, ParseError> {
        parse::parse(source)
    }

    /// `floordiv(self, divisor)`, simplified.
    pub fn floor_divide(self, divisor: impl Into<Expression>) -> Self {
        Self::binary(Operation::FloorDivide, self, divisor.into())
    }

    /// `ceildiv(self, divisor)`, simplified.
    pub fn ceil_divide(self, divisor: impl Into<Expression>) -> Self {
        Self::binary(Operation::CeilDivide, self, divisor.into())
    }

    /// `mod(self, divisor)`, simplified.
    pub fn modulo(self, divisor: impl Into<Expression>) -> Self {
        Self::binary(Operation::Modulo, self, divisor.into())
    }

    /// `min(self, other)`, simplified.
    pub fn minimum(self, other: impl Into<Expression>) -> Self {
        Self::binary(Operation::Minimum, self, other.into())
    }

    /// `max(self, other)`, simplified.
    pub fn maximum(self, other: impl Into<Expression>) -> Self {
        Self::binary(Operation::Maximum, self, other.into())
    }

    /// `a op b`, with constants folded and neutral operands dropped. An operation that would overflow or divide by zero is
    /// kept, so that evaluation reports it.
    pub fn binary(operation: Operation, a: Expression, b: Expression) -> Self {
        use Expression::Integer;
        use Operation::*;
        if let (Integer(x), Integer(y)) = (&a, &b)
            && let Some(value) = operation.apply(*x, *y)
        {
            return Integer(value);
        }
        match (operation, &a, &b) {
            (Add | Subtract, _, Integer(0)) => a,
            (Add, Integer(0), _) => b,
            (Multiply | FloorDivide | CeilDivide, _, Integer(1)) => a,
            (Multiply, Integer(1), _) => b,
            (Multiply, Integer(0), _) | (Multiply, _, Integer(0)) | (Modulo, _, Integer(1)) => Integer(0),
            (Minimum | Maximum, _, _) if a == b => a,
            _ => Expression::Binary(operation, Box::new(a), Box::new(b)),
        }
    }

    /// A lower bound of the expression for symbols of at least 0, or `None` if no bound is found.
    pub fn least(&self) -> Option<i64> {
        self.bounds().0
    }

    /// The expression, or 0 where it is negative: the size of an axis that has no points then.
    pub fn at_least_0(self) -> Self {
        match self.least() {
            Some(0..) => self,
            _ => self.maximum(0),
        }
    }

    /// A lower and an upper bound of the expression for symbols of at least 0, where found.
    fn bounds(&self) -> (Option<i64>, Option<i64>) {
        let (operation, a, b) = match self {
            Expression::Integer(value) => return (Some(*value), Some(*value)),
            Expression::Symbol(_) => return (Some(0), None),
            Expression::Binary(operation, a, b) => (*operation, a.bounds(), b.bounds()),
        };
        let both = |x: Option<i64>, y: Option<i64>, apply: fn(i64, i64) -> Option<i64>| apply(x?, y?);
        let are_counts = a.0 >= Some(0) && b.0 >= Some(0);
        match operation {
            Operation::Add => (both(a.0, b.0, i64::checked_add), both(a.1, b.1, i64::checked_add)),
            Operation::Subtract => (both(a.0, b.1, i64::checked_sub), both(a.1, b.0, i64::checked_sub)),
            Operation::Multiply if are_counts => {
                (both(a.0, b.0, i64::checked_mul), both(a.1, b.1, i64::checked_mul))
            }
            Operation::Multiply => (None, None),
            // Divisors are positive, so a quotient is at most as far from 0 as its dividend.
            Operation::FloorDivide | Operation::CeilDivide => {
                (a.0.map(|least| least.min(0)), a.1.map(|most| most.max(0)))
            }
            Operation::Modulo => (Some(0), b.1),
            Operation::Minimum => {
                let most = [a.1, b.1].into_iter().flatten().min();
                (both(a.0, b.0, |x, y| Some(x.min(y))), most)
            }
            Operation::Maximum => {
                let least = [a.0, b.0].into_iter().flatten().max();
                (least, both(a.1, b.1, |x, y| Some(x.max(y))))
            }
        }
    }

    /// The constant, if the expression is one.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Expression::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The value under `bindings`, which returns `None` for unknown names.
    ///
    /// # Errors
    /// An unbound symbol, an overflow, or a divisor that is not positive.
    pub fn evaluate(&self, bindings: &dyn Fn(&str) -> Option<i64>) -> Result<i64, EvaluateError> {
        match self {
            Expression::Integer(value) => Ok(*value),
            Expression::Symbol(name) => bindings(name).ok_or_else(|| EvaluateError::Unbound(name.clone())),
            Expression::Binary(operation, a, b) => {
                let (a, b) = (a.evaluate(bindings)?, b.evaluate(bindings)?);
                operation.apply(a, b).ok_or_else(|| operation.error(self, b))
            }
        }
    }

    /// The names the expression depends on, in alphabetical order.
    pub fn symbols(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        self.collect_symbols(&mut names);
        names
    }

    fn collect_symbols<'a>(&'a self, names: &mut BTreeSet<&'a str>) {
        match self {
            Expression::Integer(_) => {}
            Expression::Symbol(name) => {
                names.insert(name);
            }
            Expression::Binary(_, a, b) => {
                a.collect_symbols(names);
                b.collect_symbols(names);
            }
        }
    }

    /// The precedence of the printed form: 0 for sums, 1 for products, 2 for everything else.
    fn precedence(&self) -> u8 {
        match self {
            Expression::Binary(Operation::Add | Operation::Subtract, ..) => 0,
            Expression::Binary(Operation::Multiply, ..) => 1,
            _ => 2,
        }
    }

    fn print_within(&self, f: &mut fmt::Formatter<'_>, precedence: u8) -> fmt::Result {
        if self.precedence() < precedence {
            write!(f, "({self})")
        } else {
            write!(f, "{self}")
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Integer(value) => write!(f, "{value}"),
            Expression::Symbol(name) => f.write_str(name),
            Expression::Binary(operation, a, b) if self.precedence() < 2 => {
                // All three operators associate to the left, so a right operand of equal precedence keeps its parentheses.
                a.print_within(f, self.precedence())?;
                match operation {
                    Operation::Multiply => f.write_str("*")?,
                    _ => write!(f, " {} ", operation.name())?,
                }
                b.print_within(f, self.precedence() + 1)
            }
            Expression::Binary(operation, a, b) => write!(f, "{}({a}, {b})", operation.name()),
        }
    }
}

impl From<i64> for Expression {
    fn from(value: i64) -> Self {
        Expression::Integer(value)
    }
}

impl<T: Into<Expression>> ops::Add<T> for Expression {
    type Output = Expression;
    fn add(self, other: T) -> Expression {
        Expression::binary(Operation::Add, self, other.into())
    }
}

impl<T: Into<Expression>> ops::Sub<T> for Expression {
    type Output = Expression;
    fn sub(self, other: T) -> Expression {
        Expression::binary(Operation::Subtract, self, other.into())
    }
}

impl<T: Into<Expression>> ops::Mul<T> for Expression {
    type Output = Expression;
    fn mul(self, other: T) -> Expression {
        Expression::binary(Operation::Multiply, self, other.into())
    }
}

/// A constant is a JSON number, everything else a string. An expression that [`Expression::parse`] would refuse for its length
/// or nesting is refused here too, so that whatever is written can be read.
impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Expression::Integer(value) => serializer.serialize_i64(*value),
            _ => {
                let text = self.to_string();
                parse::check(&text).map_err(serde::ser::Error::custom)?;
                serializer.serialize_str(&text)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FromJson;
        impl Visitor<'_> for FromJson {
            type Value = Expression;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an integer or a size expression")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Expression, E> {
                Ok(Expression::Integer(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Expression, E> {
                i64::try_from(value).map(Expression::Integer).map_err(E::custom)
            }
            fn visit_str<E: serde::de::Error>(self, source: &str) -> Result<Expression, E> {
                Expression::parse(source).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(FromJson)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(source: &str) -> Result<i64, EvaluateError> {
        let bindings = |name: &str| match name {
            "m" => Some(7),
            "n" => Some(-7),
            "big" => Some(i64::MAX),
            _ => None,
        };
        Expression::parse(source).unwrap().evaluate(&bindings)
    }

    #[test]
    fn a_size_that_may_be_negative_is_clamped() {
        let size = |source: &str| Expression::parse(source).unwrap().at_least_0().to_string();
        assert_eq!(size("m - 1"), "max(m - 1, 0)");
        assert_eq!(size("ceildiv(m, 2)*3"), "ceildiv(m, 2)*3");
    }

    #[test]
    fn precedence_and_association() {
        assert_eq!(value("1 + 2*3"), Ok(7));
        assert_eq!(value("10 - 3 - 2"), Ok(5));
        assert_eq!(value("10 - (3 - 2)"), Ok(9));
        assert_eq!(value("(1+2)*m"), Ok(21));
        assert_eq!(value(" m*8192 + 8192 "), Ok(65536));
    }

    #[test]
    fn division_rounds_towards_the_named_infinity() {
        assert_eq!(value("floordiv(m, 2)"), Ok(3));
        assert_eq!(value("floordiv(n, 2)"), Ok(-4));
        assert_eq!(value("ceildiv(m, 2)"), Ok(4));
        assert_eq!(value("ceildiv(n, 2)"), Ok(-3));
        assert_eq!(value("mod(m, 4)"), Ok(3));
        assert_eq!(value("mod(n, 4)"), Ok(1));
        assert_eq!(value("min(m, n) + max(m, n)"), Ok(0));
    }

    #[test]
    fn arithmetic_is_checked() {
        assert_eq!(value("big + 1"), Err(EvaluateError::Overflow("big + 1".into())));
        assert_eq!(value("big*2"), Err(EvaluateError::Overflow("big*2".into())));
        assert_eq!(
            value("ceildiv(m, m - 7)"),
            Err(EvaluateError::Divisor {
                expression: "ceildiv(m, m - 7)".into(),
                divisor: 0
            })
        );
        assert_eq!(value("k"), Err(EvaluateError::Unbound("k".into())));
    }

    #[test]
    fn builders_fold_constants_and_units() {
        let m = || Expression::symbol("m");
        assert_eq!((m() * 1 + 0).ceil_divide(1), m());
        assert_eq!(m() * Expression::from(0), Expression::Integer(0));
        assert_eq!(m().modulo(1), Expression::Integer(0));
        assert_eq!(m().minimum(m()), m());
        assert_eq!(Expression::from(7).ceil_divide(2), Expression::Integer(4));
        assert_eq!((m() * 8192 + 8192).to_string(), "m*8192 + 8192");
        assert_eq!(
            (m().ceil_divide(2) * (m() - 1)).to_string(),
            "ceildiv(m, 2)*(m - 1)"
        );
    }

    #[test]
    fn what_cannot_be_folded_is_left_for_evaluation() {
        let divided = Expression::from(1).floor_divide(0);
        assert!(divided.evaluate(&|_| None).is_err());
    }

    fn expressions() -> impl Strategy<Value = Expression> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(Expression::Integer),
            (-9i64..9).prop_map(Expression::Integer),
            prop_oneof!["m", "n", "num_sms", "x_stride"].prop_map(Expression::Symbol),
        ];
        leaf.prop_recursive(5, 40, 2, |inner| {
            let operation = prop_oneof![
                Just(Operation::Add),
                Just(Operation::Subtract),
                Just(Operation::Multiply),
                Just(Operation::FloorDivide),
                Just(Operation::CeilDivide),
                Just(Operation::Modulo),
                Just(Operation::Minimum),
                Just(Operation::Maximum),
            ];
            (operation, inner.clone(), inner)
                .prop_map(|(operation, a, b)| Expression::Binary(operation, Box::new(a), Box::new(b)))
        })
    }

    fn sample(name: &str) -> Option<i64> {
        Some(name.len() as i64 * 37 - 100)
    }

    fn simplify(expression: &Expression) -> Expression {
        match expression {
            Expression::Binary(operation, a, b) => Expression::binary(*operation, simplify(a), simplify(b)),
            leaf => leaf.clone(),
        }
    }

    proptest! {
        #[test]
        fn printing_then_parsing_is_the_identity(expression in expressions()) {
            prop_assert_eq!(Expression::parse(&expression.to_string()).unwrap(), expression);
        }

        #[test]
        fn json_round_trips(expression in expressions()) {
            let json = serde_json::to_string(&expression).unwrap();
            prop_assert_eq!(serde_json::from_str::<Expression>(&json).unwrap(), expression);
        }

        #[test]
        fn simplification_keeps_the_value(expression in expressions()) {
            if let Ok(value) = expression.evaluate(&sample) {
                prop_assert_eq!(simplify(&expression).evaluate(&sample), Ok(value));
            }
        }

        #[test]
        fn any_text_is_parsed_or_refused(source in ".{0,60}") {
            let _ = Expression::parse(&source);
        }
    }

    #[test]
    fn the_least_value_is_that_for_sizes_of_at_least_0() {
        let least = |source: &str| Expression::parse(source).unwrap().least();
        assert_eq!(least("ceildiv(m, 2) + 3"), Some(3));
        assert_eq!(least("m - 5"), Some(-5));
        assert_eq!(least("5 - m"), None);
        assert_eq!(least("max(m - 5, 0)"), Some(0));
        assert_eq!(least("min(2*num_sms, m)"), Some(0));
        assert_eq!(least("mod(m - 5, 8)"), Some(0));
        assert_eq!(least("floordiv(m - 5, 2)"), Some(-5));
        assert_eq!(least("m*(k - 1)"), None);
        assert_eq!(least("6 - mod(m, 5)"), Some(1));
    }
}
