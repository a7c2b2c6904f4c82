//! Statements of PTX: declarations, labels, instructions and scopes.

use super::{
    super::error::{Result, invalid, unsupported},
    lexer::{Spanned, Token, tokens},
};

/// One item of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.reg .b32 a, b;`
    Registers {
        /// Their width; 1 for predicates.
        bits: u8,
        names: Vec<String>,
    },
    /// `name:`
    Label(String),
    Statement(Statement),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    /// `@p` or `@!p`: the predicate, and whether it is negated.
    pub guard: Option<(Operand, bool)>,
    /// With its qualifiers.
    pub mnemonic: String,
    pub operands: Vec<Operand>,
    /// As it was written.
    pub text: String,
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// `$N`
    Argument(usize),
    /// A declared register, a special register or a label.
    Name(String),
    Integer(i64),
    Float(f64),
    /// A float's pattern.
    Pattern(u64),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `[a + offset]`
    Address(Box<Operand>, i64),
    /// `[map, {x, y}]`
    Box(Box<Operand>, Vec<Operand>),
    /// `!p`
    Not(Box<Operand>),
    /// `a|p`
    Pair(Box<Operand>, Box<Operand>),
}

/// Parses a text.
pub(super) fn items(text: &str) -> Result<Vec<Item>> {
    let mut parser = Parser {
        text,
        tokens: tokens(text)?,
        at: 0,
    };
    let mut items = Vec::new();
    while parser.at < parser.tokens.len() {
        if !parser.eat(';') {
            parser.item(&mut items)?;
        }
    }
    Ok(items)
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Spanned>,
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|token| &token.token)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.at += 1;
        token
    }

    fn eat(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&Token::Mark(mark));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.eat(mark) {
            return Ok(());
        }
        let begin = self
            .tokens
            .get(self.at)
            .map_or(self.text.len(), |token| token.begin);
        Err(invalid(format!(
            "has PTX that does not parse: expected '{mark}' before '{}'",
            self.text[begin..].chars().take(40).collect::<String>()
        )))
    }

    fn word(&mut self) -> Result<String> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => Err(invalid(format!(
                "has PTX that does not parse: expected a name, got {other:?}"
            ))),
        }
    }

    fn item(&mut self, items: &mut Vec<Item>) -> Result<()> {
        if self.eat('{') {
            items.push(Item::Open);
            return Ok(());
        }
        if self.eat('}') {
            items.push(Item::Close);
            return Ok(());
        }
        let begin = self.tokens[self.at].begin;
        let guard = if self.eat('@') {
            let negated = self.eat('!');
            Some((self.operand()?, negated))
        } else {
            None
        };
        let word = self.word()?;
        if guard.is_none() && self.eat(':') {
            items.push(Item::Label(word));
            return Ok(());
        }
        if word == ".reg" {
            items.push(self.registers()?);
            return Ok(());
        }
        if word.starts_with('.') {
            return Err(unsupported(format!(
                "has PTX directive '{word}', which is not modelled"
            )));
        }
        let mut operands = Vec::new();
        while self.peek() != Some(&Token::Mark(';')) {
            if !operands.is_empty() {
                self.expect(',')?;
            }
            operands.push(self.operand()?);
        }
        self.expect(';')?;
        let end = self.tokens[self.at - 1].end;
        items.push(Item::Statement(Statement {
            guard,
            mnemonic: word,
            operands,
            text: self.text[begin..end].to_owned(),
        }));
        Ok(())
    }

    fn registers(&mut self) -> Result<Item> {
        let ty = self.word()?;
        let bits = match ty.as_str() {
            ".pred" => 1,
            ".b8" | ".u8" | ".s8" => 8,
            ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 16,
            ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => 32,
            ".b64" | ".u64" | ".s64" | ".f64" => 64,
            _ => {
                return Err(unsupported(format!(
                    "has PTX registers of type '{ty}', which is not modelled"
                )));
            }
        };
        let mut names = Vec::new();
        loop {
            let name = self.word()?;
            if self.eat('<') {
                // `.reg .b32 r<3>` declares r0, r1 and r2.
                match self.next() {
                    Some(Token::Integer(count @ 0..=4096)) => {
                        names.extend((0..count).map(|number| format!("{name}{number}")));
                    }
                    other => {
                        return Err(invalid(format!(
                            "has PTX that does not parse: expected a count, got {other:?}"
                        )));
                    }
                }
                self.expect('>')?;
            } else {
                names.push(name);
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        Ok(Item::Registers { bits, names })
    }

    fn operand(&mut self) -> Result<Operand> {
        let operand = match self.next() {
            Some(Token::Argument(number)) => Operand::Argument(number),
            Some(Token::Word(name)) => Operand::Name(name),
            Some(Token::Integer(value)) => Operand::Integer(value),
            Some(Token::Float(value)) => Operand::Float(value),
            Some(Token::Pattern(bits)) => Operand::Pattern(bits),
            Some(Token::Mark('-')) => match self.next() {
                Some(Token::Integer(value)) => Operand::Integer(value.wrapping_neg()),
                Some(Token::Float(value)) => Operand::Float(-value),
                other => {
                    return Err(invalid(format!(
                        "has PTX that does not parse: expected a number, got {other:?}"
                    )));
                }
            },
            Some(Token::Mark('!')) => Operand::Not(Box::new(self.operand()?)),
            Some(Token::Mark('{')) => Operand::Vector(self.list('}')?),
            Some(Token::Mark('[')) => self.address()?,
            other => {
                return Err(invalid(format!(
                    "has PTX that does not parse: expected an operand, got {other:?}"
                )));
            }
        };
        if self.eat('|') {
            let second = self.operand()?;
            return Ok(Operand::Pair(Box::new(operand), Box::new(second)));
        }
        Ok(operand)
    }

    fn list(&mut self, end: char) -> Result<Vec<Operand>> {
        let mut list = vec![self.operand()?];
        while self.eat(',') {
            list.push(self.operand()?);
        }
        self.expect(end)?;
        Ok(list)
    }

    fn address(&mut self) -> Result<Operand> {
        let base = Box::new(self.operand()?);
        if self.eat(',') {
            self.expect('{')?;
            let coordinates = self.list('}')?;
            self.expect(']')?;
            return Ok(Operand::Box(base, coordinates));
        }
        self.eat('+');
        let negative = self.eat('-');
        let offset = match self.peek() {
            Some(Token::Integer(offset)) => {
                let offset = *offset;
                self.at += 1;
                if negative { offset.wrapping_neg() } else { offset }
            }
            _ => 0,
        };
        self.expect(']')?;
        Ok(Operand::Address(base, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::{Item, Operand, items};

    #[test]
    fn a_guarded_load_has_a_vector_and_an_address() {
        let parsed = items("@!$2 ld.global.v2.b32 {$0, $1}, [$3+-8];");
        let Ok([Item::Statement(statement)]) = parsed.as_deref() else {
            unreachable!("{parsed:?}")
        };
        assert_eq!(statement.guard, Some((Operand::Argument(2), true)));
        assert_eq!(statement.mnemonic, "ld.global.v2.b32");
        let vector = Operand::Vector(vec![Operand::Argument(0), Operand::Argument(1)]);
        assert_eq!(statement.operands[0], vector);
    }

    #[test]
    fn scopes_registers_and_labels_are_items() {
        let parsed = items("{ .reg .pred p<2>; L: @p0 bra L; }").unwrap_or_default();
        assert!(matches!(parsed[0], Item::Open));
        let names = vec!["p0".to_owned(), "p1".to_owned()];
        assert_eq!(parsed[1], Item::Registers { bits: 1, names });
        assert_eq!(parsed[2], Item::Label("L".to_owned()));
        assert!(matches!(parsed[4], Item::Close));
    }

    #[test]
    fn a_missing_semicolon_is_found() {
        assert!(items("mov.b32 $0, 1").is_err());
    }
}
