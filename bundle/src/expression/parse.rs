//! The parser of size expressions.

use thiserror::Error;

use super::{Expression, Operation};

/// The longest text that is parsed or written, in bytes; it bounds the depth of every expression.
const MAX_SOURCE: usize = 4096;
/// The deepest nesting of parentheses that is parsed or written.
const MAX_NESTING: usize = 64;

/// The operations that are written like calls.
const CALLS: [Operation; 5] = [
    Operation::FloorDivide,
    Operation::CeilDivide,
    Operation::Modulo,
    Operation::Minimum,
    Operation::Maximum,
];

/// Why a text is not an expression. Columns are 1-based and count bytes.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("in expression '{source_text}', column {column}: {message}")]
pub struct ParseError {
    source_text: String,
    /// The column of the first wrong character.
    pub column: usize,
    message: String,
}

/// Parses one expression.
///
/// # Errors
/// The text is not an expression; the error names the column.
pub(super) fn parse(source: &str) -> Result<Expression, ParseError> {
    Parser::new(source).whole()
}

/// Refuses the text of an expression that [`parse`] would refuse for its length or nesting.
///
/// # Errors
/// Which of the two it is.
pub(super) fn check(text: &str) -> Result<(), ParseError> {
    check_length(text)?;
    check_nesting(text)
}

/// Refuses a text that is longer than [`MAX_SOURCE`].
fn check_length(text: &str) -> Result<(), ParseError> {
    if text.len() <= MAX_SOURCE {
        return Ok(());
    }
    Err(ParseError {
        source_text: beginning(text),
        column: MAX_SOURCE,
        message: format!("expected at most {MAX_SOURCE} bytes, got {}", text.len()),
    })
}

/// Refuses the text of an expression whose parentheses nest deeper than [`MAX_NESTING`].
fn check_nesting(text: &str) -> Result<(), ParseError> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' if depth == MAX_NESTING => return Err(too_nested(text, at + 2)),
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}

/// The error for parentheses that nest too deeply at a column.
fn too_nested(text: &str, column: usize) -> ParseError {
    ParseError {
        source_text: beginning(text),
        column,
        message: format!("expected at most {MAX_NESTING} levels of parentheses"),
    }
}

/// The first characters of a long text, for messages.
fn beginning(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    format!("{start}...")
}

/// A recursive-descent parser: `sum := product (('+'|'-') product)*`, `product := atom ('*' atom)*`.
struct Parser<'a> {
    source: &'a str,
    at: usize,
    nesting: usize,
}

impl<'a> Parser<'a> {
    fn new(source: &'a str) -> Self {
        Parser {
            source,
            at: 0,
            nesting: 0,
        }
    }

    fn whole(mut self) -> Result<Expression, ParseError> {
        check_length(self.source)?;
        let expression = self.sum()?;
        self.skip_space();
        match self.peek() {
            None => Ok(expression),
            Some(c) => Err(self.error(format!("expected an operator or the end, got '{c}'"))),
        }
    }

    fn sum(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.product()?;
        loop {
            let operation = match self.token() {
                Some('+') => Operation::Add,
                Some('-') => Operation::Subtract,
                _ => return Ok(left),
            };
            self.at += 1;
            left = Expression::Binary(operation, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expression, ParseError> {
        let mut left = self.atom()?;
        while self.token() == Some('*') {
            self.at += 1;
            left = Expression::Binary(Operation::Multiply, Box::new(left), Box::new(self.atom()?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Expression, ParseError> {
        match self.token() {
            Some('(') => {
                self.at += 1;
                let inner = self.nested(Self::sum)?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(c) if c == '-' || c.is_ascii_digit() => self.integer(),
            Some(c) if c == '_' || c.is_ascii_alphabetic() => self.name_or_call(),
            Some(c) => Err(self.error(format!("expected a number, a name or '(', got '{c}'"))),
            None => Err(self.error("expected a number, a name or '(', got the end".to_owned())),
        }
    }

    fn integer(&mut self) -> Result<Expression, ParseError> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some('-'));
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.error("expected a digit after '-'".to_owned()));
        }
        self.source[start..self.at]
            .parse()
            .map(Expression::Integer)
            .map_err(|_| {
                let message = format!("'{}' does not fit in 64 bits", &self.source[start..self.at]);
                ParseError {
                    source_text: self.source.to_owned(),
                    column: start + 1,
                    message,
                }
            })
    }

    fn name_or_call(&mut self) -> Result<Expression, ParseError> {
        let start = self.at;
        let name = self.take_while(|c| c == '_' || c.is_ascii_alphanumeric());
        if self.token() != Some('(') {
            return Ok(Expression::Symbol(name.to_owned()));
        }
        let Some(operation) = CALLS.into_iter().find(|operation| operation.name() == name) else {
            let known = CALLS.map(Operation::name).join(", ");
            let message = format!("expected one of {known}, got '{name}'");
            return Err(ParseError {
                source_text: self.source.to_owned(),
                column: start + 1,
                message,
            });
        };
        self.at += 1;
        let a = self.nested(Self::sum)?;
        self.expect(',')?;
        let b = self.nested(Self::sum)?;
        self.expect(')')?;
        Ok(Expression::Binary(operation, Box::new(a), Box::new(b)))
    }

    fn nested(
        &mut self,
        parse: fn(&mut Self) -> Result<Expression, ParseError>,
    ) -> Result<Expression, ParseError> {
        if self.nesting == MAX_NESTING {
            return Err(too_nested(self.source, self.at + 1));
        }
        self.nesting += 1;
        let inner = parse(self);
        self.nesting -= 1;
        inner
    }

    fn expect(&mut self, wanted: char) -> Result<(), ParseError> {
        match self.token() {
            Some(c) if c == wanted => {
                self.at += 1;
                Ok(())
            }
            Some(c) => Err(self.error(format!("expected '{wanted}', got '{c}'"))),
            None => Err(self.error(format!("expected '{wanted}', got the end"))),
        }
    }

    /// The next character that is not a space; it is not consumed.
    fn token(&mut self) -> Option<char> {
        self.skip_space();
        self.peek()
    }

    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    fn skip_space(&mut self) {
        self.take_while(|c| c == ' ');
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.source[self.at..];
        let taken = &rest[..rest.find(|c| !accept(c)).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn error(&self, message: String) -> ParseError {
        ParseError {
            source_text: self.source.to_owned(),
            column: self.at + 1,
            message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_column() {
        for (source, column, part) in [
            ("", 1, "got the end"),
            ("m +", 4, "got the end"),
            ("m @ 2", 3, "expected an operator"),
            ("ceildiv(m)", 10, "expected ','"),
            ("div(m, 2)", 1, "expected one of floordiv"),
            ("2 + 99999999999999999999", 5, "does not fit"),
            ("(m", 3, "expected ')'"),
            ("é", 1, "expected a number"),
            ("- m", 2, "expected a digit"),
        ] {
            let error = Expression::parse(source).unwrap_err();
            assert_eq!(error.column, column, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn nesting_and_length_are_bounded() {
        let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Expression::parse(&deep).is_err());
        let nested = format!("{}1{}", "(".repeat(65), ")".repeat(65));
        assert!(
            Expression::parse(&nested)
                .unwrap_err()
                .to_string()
                .contains("levels")
        );
    }

    #[test]
    fn what_could_not_be_read_is_not_written() {
        let m = || Expression::symbol("m");
        let json =
            |expression: &Expression| serde_json::to_string(expression).map_err(|error| error.to_string());
        let mut nested = m();
        let mut sum = m();
        for level in 1..=80 {
            nested = nested.ceil_divide(2).minimum(m());
            sum = sum + m();
            let read = Expression::parse(&nested.to_string());
            match read {
                Ok(_) => assert!(json(&nested).is_ok(), "{level}"),
                Err(error) => assert_eq!(json(&nested).unwrap_err(), error.to_string()),
            }
        }
        assert!(json(&nested).unwrap_err().contains("levels of parentheses"));
        assert!(json(&sum).is_ok());
        while sum.to_string().len() <= MAX_SOURCE {
            sum = sum + m();
        }
        let error = Expression::parse(&sum.to_string()).unwrap_err();
        assert_eq!(json(&sum).unwrap_err(), error.to_string());
        assert!(error.to_string().contains("expected at most 4096 bytes"));
    }
}
