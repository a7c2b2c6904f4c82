//! Names for the kernels of a function, or for those split off a kernel: `<its name>_<number>`, past what the module's
//! symbols take.
//!
//! A kernel's name goes into PTX and names a file, so it is an identifier of C whatever the function is called.

use std::collections::HashSet;

use melior::ir::OperationRef;
use norma_dialects::symbol_name;

use crate::mlir::walk;

/// The bytes of a function's name that its kernels' names begin with: a file's name has at most 255.
const MOST_BYTES: usize = 128;

/// Gives a new name at each call.
pub(super) struct KernelNames {
    function: String,
    next: usize,
    taken: HashSet<String>,
}

impl KernelNames {
    pub(super) fn new(module: OperationRef<'_, '_>, function: OperationRef<'_, '_>) -> Self {
        let taken = walk::pre_order(module)
            .into_iter()
            .filter_map(symbol_name)
            .map(str::to_owned)
            .collect();
        Self {
            function: identifier(symbol_name(function).unwrap_or_default()),
            next: 0,
            taken,
        }
    }

    pub(super) fn next(&mut self) -> String {
        loop {
            let name = format!("{}_{}", self.function, self.next);
            self.next += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}

/// `name` with an underscore for each character that C's identifiers do not have.
fn identifier(name: &str) -> String {
    let is_digit_first = name.starts_with(|first: char| first.is_ascii_digit());
    let mut identifier = String::from(if is_digit_first { "_" } else { "" });
    let legal = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    identifier.extend(name.chars().map(legal).take(MOST_BYTES));
    identifier
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, identifier};

    #[test]
    fn a_name_of_any_characters_gives_an_identifier() {
        assert_eq!(identifier("rms_norm"), "rms_norm");
        assert_eq!(identifier("rms.norm-2"), "rms_norm_2");
        assert_eq!(identifier("../\"größe\""), "____gr__e_");
        assert_eq!(identifier("3d"), "_3d");
        assert_eq!(identifier(&"n".repeat(1000)).len(), MOST_BYTES);
    }
}
