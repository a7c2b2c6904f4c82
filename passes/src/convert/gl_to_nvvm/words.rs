//! The registers through which PTX moves the data of one load or store: one, two or four words.

use norma_targets::ACCESS_BYTES;

use crate::mlir::diagnostic::Diagnostic;

use super::emit::{Emit, Value};

/// The words of 1, 2, 4, 8 or 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// The number of words.
    pub count: usize,
    /// Bits of each in memory.
    pub bits: u32,
    /// The suffix of `ld` and `st`.
    pub suffix: &'static str,
    /// LLVM's constraint for the register of each.
    pub constraint: &'static str,
}

impl Words {
    /// The words of `bytes` bytes; `None` if no single instruction moves them.
    pub fn of(bytes: usize) -> Option<Self> {
        let words = |count, bits, suffix, constraint| Self {
            count,
            bits,
            suffix,
            constraint,
        };
        match bytes {
            1 => Some(words(1, 8, "b8", "h")),
            2 => Some(words(1, 16, "b16", "h")),
            4 => Some(words(1, 32, "b32", "r")),
            8 => Some(words(2, 32, "v2.b32", "r")),
            _ if bytes == ACCESS_BYTES as usize => Some(words(4, 32, "v4.b32", "r")),
            _ => None,
        }
    }

    /// The bits of the register that holds each word: PTX has no 8-bit ones, so a byte takes the low half of a 16-bit one.
    pub fn register_bits(self) -> u32 {
        self.bits.max(16)
    }

    /// Splits a vector of as many bytes into the operands that inline PTX stores.
    pub fn split<'c, 'a>(
        self,
        e: &Emit<'_, 'c, 'a>,
        vector: Value<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, Diagnostic<'c>> {
        if self.count > 1 {
            let packed = e.bitcast(vector, e.vector_of(self.count, e.int(self.bits))?);
            return e.elements(packed).map_err(|error| e.internal(error));
        }
        let word = e.bitcast(vector, e.int(self.bits));
        Ok(vec![if self.bits == self.register_bits() {
            word
        } else {
            e.b.value("arith.extui", &[word], e.int(self.register_bits()))
        }])
    }

    /// The words as operands of inline PTX from `first` on: `$0` or `{$0, $1, ...}`.
    pub fn list(self, first: usize) -> String {
        let names = (first..first + self.count)
            .map(|index| format!("${index}"))
            .collect::<Vec<_>>()
            .join(", ");
        if self.count == 1 {
            names
        } else {
            format!("{{{names}}}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    #[test]
    fn words_hold_the_bytes() {
        for bytes in [1, 2, 4, 8, 16] {
            let held = Words::of(bytes).map(|words| words.count * words.bits as usize / 8);
            assert_eq!(held, Some(bytes));
        }
        assert_eq!(Words::of(3), None);
        assert_eq!(Words::of(32), None);
    }

    #[test]
    fn one_word_needs_no_braces() {
        assert_eq!(Words::of(4).map(|words| words.list(1)).as_deref(), Some("$1"));
        assert_eq!(
            Words::of(8).map(|words| words.list(2)).as_deref(),
            Some("{$2, $3}")
        );
    }
}
