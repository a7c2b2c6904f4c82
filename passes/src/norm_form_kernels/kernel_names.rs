//! Names for a function's kernels: `<function>_<number>`, past what the module's symbols take.

use std::collections::HashSet;

use melior::ir::{OperationRef, operation::OperationLike};

use crate::support::walk;

/// Gives a new name at each call.
pub(super) struct KernelNames {
    function: String,
    next: usize,
    taken: HashSet<String>,
}

impl KernelNames {
    pub(super) fn new(module: OperationRef<'_, '_>, function: OperationRef<'_, '_>) -> Self {
        let taken = walk::pre_order(module).into_iter().filter_map(symbol).collect();
        Self {
            function: symbol(function).unwrap_or_default(),
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

/// The name of an op that is a symbol; an unnamed one has none.
fn symbol(op: OperationRef<'_, '_>) -> Option<String> {
    norma_dialects::string(op.attribute("sym_name").ok()?)
        .ok()
        .map(str::to_owned)
}
