//! Names for new kernels, which no symbol of the module has yet. A kernel that is formed from a function, or split off a kernel, is
//! called `<that name>_<number>`.
//!
//! A kernel's name goes into PTX and names a file, so it is an identifier of C whatever the function is called.

use std::collections::{HashMap, HashSet};

use melior::ir::OperationRef;
use norma_dialects::symbol_name;

use crate::mlir::walk;

/// How many bytes of a function's name its kernels' names begin with: a file name has at most 255.
const MOST_BYTES: usize = 128;

/// The names that a module's symbols take, and those that have been given since.
pub(super) struct KernelNames {
    taken: HashSet<String>,
    /// By prefix of names: the next number.
    next: HashMap<String, usize>,
}

impl KernelNames {
    pub(super) fn new(module: OperationRef<'_, '_>) -> Self {
        let taken = walk::pre_order(module)
            .into_iter()
            .filter_map(symbol_name)
            .map(str::to_owned)
            .collect();
        Self {
            taken,
            next: HashMap::new(),
        }
    }

    /// A new name for a kernel of `function`, or split off a kernel of that name.
    pub(super) fn of(&mut self, function: OperationRef<'_, '_>) -> String {
        let function = identifier(symbol_name(function).unwrap_or_default());
        let next = self.next.entry(function.clone()).or_default();
        loop {
            let name = format!("{function}_{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// `name`, with a number if it is taken.
    pub(super) fn like(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let next = self.next.entry(name.to_owned()).or_insert(1);
        loop {
            let numbered = format!("{name}_{next}");
            *next += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
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
