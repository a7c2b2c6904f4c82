//! Names for a function's kernels: `<function>_<number>`, past what the module's symbols take.

use std::collections::HashSet;

use melior::ir::OperationRef;
use norma_dialects::symbol_name;

use crate::support::walk;

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
            function: symbol_name(function).unwrap_or_default().to_owned(),
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
