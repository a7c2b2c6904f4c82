//! Measures how deeply an MLIR text is nested, before it is parsed.
//!
//! MLIR's parser, verifier and printer recurse on each level of nesting, and so does the folding of affine expressions. A text of nothing
//! but opening brackets, or of nothing but minus signs, would overflow the stack and end the process. Each open bracket is a level, and so
//! is each operator of an expression until the expression ends: `a + b - c` is a sum within a sum.

/// A place in a text; line and column are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The line.
    pub line: usize,
    /// The column, in bytes.
    pub column: usize,
}

/// The levels that are open at a place of the text.
#[derive(Default)]
struct Levels {
    /// The operators of the expressions around the innermost open bracket, outermost first.
    outer: Vec<usize>,
    /// The operators so far of the innermost expression.
    operators: usize,
    total: usize,
}

impl Levels {
    fn open(&mut self) {
        self.outer.push(self.operators);
        self.operators = 0;
        self.total += 1;
    }

    fn close(&mut self) {
        self.end_expression();
        if let Some(operators) = self.outer.pop() {
            self.operators = operators;
            self.total -= 1;
        }
    }

    fn operator(&mut self) {
        self.operators += 1;
        self.total += 1;
    }

    fn end_expression(&mut self) {
        self.total -= self.operators;
        self.operators = 0;
    }
}

/// Returns the place of the first bracket or operator that is nested more than `deepest` levels deep. Strings and comments are skipped.
pub(super) fn beyond(text: &str, deepest: usize) -> Option<Place> {
    let mut levels = Levels::default();
    for (line, content) in text.lines().enumerate() {
        let bytes = content.as_bytes();
        let mut in_string = false;
        let mut previous = b' ';
        for (column, byte) in content.bytes().enumerate() {
            let next = bytes.get(column + 1).copied().unwrap_or(b' ');
            match byte {
                b'"' if previous != b'\\' => in_string = !in_string,
                _ if in_string => {}
                b'/' if previous == b'/' => break,
                b'(' | b'[' | b'{' | b'<' => levels.open(),
                // The `>` of an arrow or of `>=` closes nothing.
                b'>' if previous == b'-' || next == b'=' => {}
                b')' | b']' | b'}' | b'>' => levels.close(),
                b'=' if previous == b'<' => levels.close(),
                b',' | b':' | b'=' => levels.end_expression(),
                b'-' if next == b'>' => levels.end_expression(),
                b'+' | b'-' | b'*' => levels.operator(),
                b'm' | b'f' | b'c' if is_division(&bytes[column..], previous) => levels.operator(),
                _ => {}
            }
            if levels.total > deepest {
                return Some(Place {
                    line: line + 1,
                    column: column + 1,
                });
            }
            // Of two backslashes, the second escapes nothing.
            previous = if byte == b'\\' && previous == b'\\' {
                b' '
            } else {
                byte
            };
        }
    }
    None
}

/// Whether `rest`, which follows the byte `previous`, begins with an operator that is a word.
fn is_division(rest: &[u8], previous: u8) -> bool {
    let is_of_a_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'%' | b'$');
    !is_of_a_word(previous)
        && ["mod", "floordiv", "ceildiv"].iter().any(|word| {
            rest.starts_with(word.as_bytes()) && !rest.get(word.len()).is_some_and(|byte| is_of_a_word(*byte))
        })
}

#[cfg(test)]
mod tests {
    use super::{Place, beyond};

    #[test]
    fn the_bracket_that_is_too_deep_is_found() {
        assert_eq!(beyond("{\n [(<\n", 3), Some(Place { line: 2, column: 4 }));
        assert_eq!(beyond("{\n [(<\n", 4), None);
    }

    #[test]
    fn brackets_that_close_do_not_add_up() {
        let line = "%0 = f(%x) {a = [1]} : (tensor<4xf32>) -> memref<?xf32, strided<[?]>>\n";
        assert_eq!(beyond(&line.repeat(1000), 3), None);
    }

    #[test]
    fn operators_of_one_expression_add_up() {
        for operator in ["+", "-", "*", "mod", "floordiv", "ceildiv"] {
            let text = format!("({}d0)", format!("d0\n {operator} ").repeat(4));
            assert_eq!(beyond(&text, 5), None, "{operator}");
            assert_eq!(beyond(&text, 4), Some(Place { line: 5, column: 2 }), "{operator}");
        }
        assert_eq!(beyond("-(-(-d0))", 4), Some(Place { line: 1, column: 5 }));
    }

    #[test]
    fn operators_of_several_expressions_do_not_add_up() {
        let line = "%a-b = f(-1, d0 + 1) {x = [-1, d0 mod 2]} : (f32) -> f32 \"- - -\" // - - -\n";
        assert_eq!(beyond(&line.repeat(1000), 4), None);
        assert_eq!(beyond(&"f(modulo, a.mod, %mod)\n".repeat(1000), 1), None);
    }

    #[test]
    fn comparisons_strings_and_comments_are_no_brackets() {
        let line = "s = (d0 <= 1, d0 >= 1) \"((\\\"((\" \"\\\\\" // {{{\n";
        assert_eq!(beyond(&line.repeat(1000), 2), None);
    }
}
