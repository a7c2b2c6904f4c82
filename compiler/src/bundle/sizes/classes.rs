//! Sets of dims whose sizes are equal.

use crate::bundle::host::{Buffer, HostFunction, HostTensor, Role, dim_of_symbol};
use crate::bundle::kernel_form::{KernelForms, Size};
use norma_bundle::Expression;

/// Disjoint sets (union-find) of the tensors' dims.
pub(super) struct Classes {
    first: Vec<usize>,
    parent: Vec<usize>,
}

impl Classes {
    /// The dims that a function's kernels, its scratch and its results in place imply to be equal.
    pub fn of(host: &HostFunction, forms: &KernelForms) -> Self {
        let mut classes = Self::apart(host);
        for (index, tensor) in host.tensors.iter().enumerate() {
            let Role::Scratch { extents, .. } = &tensor.role else {
                continue;
            };
            for (dim, extent) in extents.iter().enumerate() {
                if let Expression::Symbol(symbol) = extent
                    && let Some((tensor, of)) = dim_of_symbol(symbol)
                {
                    classes.unite(classes.slot(index, dim), classes.slot(tensor, of));
                }
            }
        }
        // Also of an input that no kernel reads, whose memory is all that is asked of it.
        for (index, tensor) in host.tensors.iter().enumerate() {
            if let Some(input) = host.overwritten_by(tensor) {
                let dims = tensor.shape.len().min(host.tensors[input].shape.len());
                for dim in 0..dims {
                    classes.unite(classes.slot(index, dim), classes.slot(input, dim));
                }
            }
        }
        for (launch, form) in forms.of(host) {
            for (a, b) in form.equal_sizes() {
                classes.unite_sizes(&launch.buffers, a, b);
            }
        }
        classes
    }

    /// Each dim in a set of its own.
    fn apart(host: &HostFunction) -> Self {
        let mut first = Vec::new();
        let mut count = 0;
        for argument in &host.tensors {
            first.push(count);
            count += argument.shape.len();
        }
        Self {
            first,
            parent: (0..count).collect(),
        }
    }

    /// The number of a dim among those of all tensors.
    pub fn slot(&self, argument: usize, dim: usize) -> usize {
        self.first[argument] + dim
    }

    /// The dims that have a name among `names` of their tensor, with it.
    pub fn named<'h>(
        &self,
        host: &'h HostFunction,
        names: fn(&HostTensor) -> &Vec<String>,
    ) -> Vec<(usize, &'h str)> {
        let of_tensor = |(index, tensor): (usize, &'h HostTensor)| {
            let names = names(tensor).iter().zip(&tensor.shape).enumerate();
            let slots = names.filter(|(_, (name, extent))| !name.is_empty() && extent.is_none());
            let first = self.first[index];
            slots.map(move |(dim, (name, _))| (first + dim, name.as_str()))
        };
        host.tensors.iter().enumerate().flat_map(of_tensor).collect()
    }

    /// The representative of a set: its smallest slot, so that a size is named after the first tensor that has it.
    pub fn find(&self, mut slot: usize) -> usize {
        while self.parent[slot] != slot {
            slot = self.parent[slot];
        }
        slot
    }

    /// Makes the sizes of two axes of buffers equal, dim by dim, if as many dims are collapsed into both.
    fn unite_sizes(&mut self, buffers: &[Buffer], a: Size, b: Size) {
        let dims = |size: Size| {
            let buffer = buffers.get(size.buffer)?;
            Some((buffer.tensor, buffer.groups.get(size.axis)?))
        };
        let (Some((a, a_dims)), Some((b, b_dims))) = (dims(a), dims(b)) else {
            return;
        };
        if a_dims.len() != b_dims.len() {
            return;
        }
        let pairs: Vec<_> = a_dims
            .iter()
            .zip(b_dims)
            .map(|(x, y)| (self.slot(a, *x), self.slot(b, *y)))
            .collect();
        for (x, y) in pairs {
            self.unite(x, y);
        }
    }

    /// Makes one set of the sets of two slots.
    pub fn unite(&mut self, x: usize, y: usize) {
        let (x, y) = (self.find(x), self.find(y));
        self.parent[x.max(y)] = x.min(y);
    }
}
