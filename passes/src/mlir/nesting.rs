//! How deeply the brackets of a text of MLIR are nested, told before it is parsed.
//!
//! MLIR's parser, verifier and printer call themselves for each level, so that a text of nothing but opening brackets
//! would end the process.

/// A place in a text, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The line.
    pub line: usize,
    /// The column, in bytes.
    pub column: usize,
}

/// Where the first bracket that is nested more than `deepest` deep stands. Strings and comments have none.
pub(super) fn beyond(text: &str, deepest: usize) -> Option<Place> {
    let mut depth = 0_usize;
    for (line, content) in text.lines().enumerate() {
        let mut in_string = false;
        let mut previous = b' ';
        for (column, byte) in content.bytes().enumerate() {
            match byte {
                b'"' if previous != b'\\' => in_string = !in_string,
                _ if in_string => {}
                b'/' if previous == b'/' => break,
                b'(' | b'[' | b'{' | b'<' => depth += 1,
                // Half of an arrow or of `>=` closes nothing.
                b'>' if previous == b'-' || content.as_bytes().get(column + 1) == Some(&b'=') => {}
                b')' | b']' | b'}' | b'>' => depth = depth.saturating_sub(1),
                b'=' if previous == b'<' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth > deepest {
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
    fn comparisons_strings_and_comments_are_no_brackets() {
        let line = "s = (d0 <= 1, d0 >= 1) \"((\\\"((\" \"\\\\\" // {{{\n";
        assert_eq!(beyond(&line.repeat(1000), 2), None);
    }
}
