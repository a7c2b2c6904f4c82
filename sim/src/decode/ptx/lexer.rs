//! Tokens of PTX in LLVM's inline assembly.
//!
//! `$N` is operand N and `$$` a dollar, as LLVM's language reference has it ("Asm template argument modifiers"). A
//! mnemonic with its qualifiers is one word, so `ld.global.L1::no_allocate.b32` is; so is `%tid.x`.

use super::super::error::{Result, invalid, unsupported};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A mnemonic, a name or a directive such as `.reg`.
    Word(String),
    /// `$N`.
    Argument(usize),
    /// An integer.
    Integer(i64),
    /// A decimal float.
    Float(f64),
    /// `0fXXXXXXXX` or `0dXXXXXXXXXXXXXXXX`: a float's pattern.
    Pattern(u64),
    /// A single character.
    Mark(char),
}

/// A token and where it begins and ends in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spanned {
    pub token: Token,
    pub begin: usize,
    pub end: usize,
}

/// Splits a text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Spanned>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest
                .find("*/")
                .ok_or_else(|| invalid("has PTX with a comment that does not end"))?
                + 2;
        } else {
            let (token, length) = token(rest, first)?;
            tokens.push(Spanned {
                token,
                begin: at,
                end: at + length,
            });
            at += length;
        }
    }
    Ok(tokens)
}

/// The token that `text` begins with, and its length.
fn token(text: &str, first: char) -> Result<(Token, usize)> {
    if first == '$'
        && let Some(token) = argument(text)
    {
        return Ok(token);
    }
    if first.is_ascii_digit() {
        return number(text);
    }
    let length = word_length(text)?;
    if length > 0 {
        // `${:uid}` is a number that LLVM makes up for each copy of the text, and `$$` a dollar.
        let word = text[..length].replace("${:uid}", "").replace("$$", "$");
        return Ok((Token::Word(word), length));
    }
    match first {
        '{' | '}' | '[' | ']' | '(' | ')' | ',' | ';' | ':' | '|' | '!' | '@' | '+' | '-' | '<' | '>' => {
            Ok((Token::Mark(first), 1))
        }
        other => Err(invalid(format!("has PTX with '{other}', which begins no token"))),
    }
}

/// `$N` or `${N}`.
fn argument(text: &str) -> Option<(Token, usize)> {
    let rest = &text[1..];
    let (digits, closing) = match rest.strip_prefix('{') {
        Some(rest) => (rest, 2),
        None => (rest, 0),
    };
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if closing > 0 && !digits[count..].starts_with('}') {
        return None;
    }
    let number = digits[..count].parse().ok()?;
    Some((Token::Argument(number), 1 + count + closing))
}

fn word_length(text: &str) -> Result<usize> {
    let mut length = 0;
    loop {
        let rest = &text[length..];
        let next = match rest.chars().next() {
            Some(c) if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '%') => 1,
            Some(':') if rest.starts_with("::") => 2,
            Some('$') if rest.starts_with("$$") => 2,
            Some('$') if rest.starts_with("${:uid}") => "${:uid}".len(),
            Some('$') => {
                return Err(unsupported(format!(
                    "has PTX with '{}', which is not modelled",
                    rest.chars().take(8).collect::<String>()
                )));
            }
            _ => return Ok(length),
        };
        length += next;
    }
}

fn number(text: &str) -> Result<(Token, usize)> {
    let length = text
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        .count();
    let digits = &text[..length];
    let bad = || invalid(format!("has PTX with '{digits}', which is no number"));
    let radix = |prefixes: [&str; 2], radix| {
        let digits = prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix))?;
        u64::from_str_radix(digits.trim_end_matches('U'), radix).ok()
    };
    let token = if let Some(bits) = radix(["0f", "0F"], 16).or_else(|| radix(["0d", "0D"], 16)) {
        Token::Pattern(bits)
    } else if let Some(value) = radix(["0x", "0X"], 16).or_else(|| radix(["0b", "0B"], 2)) {
        Token::Integer(value as i64)
    } else if digits.contains('.') {
        Token::Float(digits.parse().map_err(|_| bad())?)
    } else {
        let value: u64 = digits.trim_end_matches('U').parse().map_err(|_| bad())?;
        Token::Integer(value as i64)
    };
    Ok((token, length))
}

#[cfg(test)]
mod tests {
    use super::{Token, tokens};

    fn of(text: &str) -> Vec<Token> {
        tokens(text)
            .unwrap_or_default()
            .into_iter()
            .map(|token| token.token)
            .collect()
    }

    #[test]
    fn a_mnemonic_with_its_qualifiers_is_one_word() {
        let word = |text: &str| Token::Word(text.to_owned());
        assert_eq!(
            of("ld.global.L1::no_allocate.b32 $0, [%r1+0x10];"),
            [
                word("ld.global.L1::no_allocate.b32"),
                Token::Argument(0),
                Token::Mark(','),
                Token::Mark('['),
                word("%r1"),
                Token::Mark('+'),
                Token::Integer(16),
                Token::Mark(']'),
                Token::Mark(';'),
            ]
        );
    }

    #[test]
    fn a_label_ends_before_its_colon() {
        let tokens = of("WAIT${:uid}: // again\n");
        assert_eq!(tokens, [Token::Word("WAIT".to_owned()), Token::Mark(':')]);
    }

    #[test]
    fn numbers_have_their_notations() {
        assert_eq!(of("0f3F800000"), [Token::Pattern(0x3f80_0000)]);
        assert_eq!(of("1.5"), [Token::Float(1.5)]);
        assert_eq!(of("0b101"), [Token::Integer(5)]);
        assert!(tokens("12abc").is_err());
    }

    #[test]
    fn modifiers_of_arguments_are_refused() {
        assert!(tokens("mov.b32 ${0:x}, 1;").is_err());
    }
}
