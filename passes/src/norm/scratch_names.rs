//! Names of scratch memory.

use std::collections::HashSet;

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::attributes::tensor;

use super::host_function::Tensors;
use crate::mlir::{pass::PassError, walk};

/// The names `<prefix><number>`, in the order of the numbers, without those that are taken.
pub(super) struct ScratchNames {
    prefix: &'static str,
    taken: HashSet<String>,
    next: usize,
}

impl ScratchNames {
    pub(super) fn new(prefix: &'static str, taken: impl IntoIterator<Item = String>) -> Self {
        Self {
            prefix,
            taken: taken.into_iter().collect(),
            next: 0,
        }
    }

    /// Names that no argument, result or scratch memory of a function of the module has.
    pub(super) fn of_module<'c>(
        prefix: &'static str,
        module: OperationRef<'c, '_>,
    ) -> Result<Self, PassError<'c>> {
        let scratch = walk::named(module, "memref.alloc");
        let name = |op: OperationRef<'c, '_>| op.attribute(tensor::NAME).and_then(norma_dialects::string);
        let mut taken = scratch
            .into_iter()
            .filter_map(|op| name(op).ok())
            .map(str::to_owned)
            .collect::<Vec<_>>();
        for function in walk::named(module, "func.func") {
            let Tensors { arguments, results } = Tensors::of(function)?;
            taken.extend(arguments.into_iter().chain(results).map(|tensor| tensor.name));
        }
        Ok(Self::new(prefix, taken))
    }

    /// A new name.
    pub(super) fn next(&mut self) -> String {
        loop {
            let name = format!("{}{}", self.prefix, self.next);
            self.next += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }
}
