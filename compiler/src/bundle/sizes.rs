//! Names for the sizes that are known only at launch, and the tensors described with them.
//!
//! Two dims are one size if the kernels say so: a kernel whose space has a dim of extent `dim(%x, 0)` and
//! which writes `%y` at that dim fixes the first extent of `y` as well.

use norma_bundle::Expression;
use norma_bundle::manifest::{Symbol, SymbolOf, Tensor};

use super::host::{Buffer, HostFunction};
use super::kernel::{self, Kernels};
use super::kernel_form::{KernelForm, Size};
use crate::error::Result;

/// The sizes of a host function's tensors, and where a launcher reads them.
pub(super) struct Sizes {
    /// For each argument and dim, its extent.
    pub shapes: Vec<Vec<Expression>>,
    /// For each argument and dim, its stride in elements.
    pub strides: Vec<Vec<Expression>>,
    /// Where each symbol of these is read.
    pub symbols: Vec<Symbol>,
}

impl Sizes {
    /// The extent of an axis of a buffer.
    pub fn size(&self, buffer: &Buffer, axis: usize) -> Option<Expression> {
        let shape = self.shapes.get(buffer.argument)?;
        let extents = buffer
            .groups
            .get(axis)?
            .iter()
            .map(|dim| shape.get(*dim).cloned());
        extents.reduce(|a, b| Some(a? * b?)).flatten()
    }

    /// The stride of an axis of a buffer, in elements: that of the innermost of its dims.
    pub fn stride(&self, buffer: &Buffer, axis: usize) -> Option<Expression> {
        let innermost = buffer.groups.get(axis)?.last()?;
        self.strides.get(buffer.argument)?.get(*innermost).cloned()
    }
}

/// Finds out which dynamic dims are one size, and names each.
pub(super) fn name_sizes(host: &HostFunction, forms: &[KernelForm]) -> Sizes {
    let mut classes = Classes::new(host);
    for launch in &host.launches {
        let Some(form) = KernelForm::find(forms, &launch.kernel) else {
            continue;
        };
        for (a, b) in form.equal_sizes() {
            classes.unite_sizes(&launch.buffers, a, b);
        }
    }
    let mut symbols = Vec::new();
    let mut names: Vec<(usize, String)> = Vec::new();
    let mut shapes = Vec::new();
    for (index, argument) in host.arguments.iter().enumerate() {
        let mut shape = Vec::new();
        for (dim, extent) in argument.shape.iter().enumerate() {
            if let Some(extent) = extent {
                shape.push(Expression::Integer(*extent));
                continue;
            }
            let class = classes.find(classes.slot(index, dim));
            let name = match names.iter().find(|(known, _)| *known == class) {
                Some((_, name)) => name.clone(),
                None => {
                    let name = match names.len() {
                        0 => "m".to_owned(),
                        count => format!("m{count}"),
                    };
                    let of = SymbolOf::Size;
                    symbols.push(Symbol {
                        name: name.clone(),
                        tensor: argument.name.clone(),
                        dim,
                        of,
                    });
                    names.push((class, name.clone()));
                    name
                }
            };
            shape.push(Expression::symbol(name));
        }
        shapes.push(shape);
    }
    let mut strides = Vec::new();
    for (argument, shape) in host.arguments.iter().zip(&shapes) {
        strides.push(match &argument.strides {
            None => contiguous(shape),
            Some(given) => given
                .iter()
                .enumerate()
                .map(|(dim, stride)| match stride {
                    Some(stride) => Expression::Integer(*stride),
                    None => {
                        let name = format!("{}_stride{dim}", argument.name);
                        let of = SymbolOf::Stride;
                        symbols.push(Symbol {
                            name: name.clone(),
                            tensor: argument.name.clone(),
                            dim,
                            of,
                        });
                        Expression::symbol(name)
                    }
                })
                .collect(),
        });
    }
    Sizes {
        shapes,
        strides,
        symbols,
    }
}

/// Row-major strides without gaps.
fn contiguous(shape: &[Expression]) -> Vec<Expression> {
    let mut strides = vec![Expression::Integer(1); shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim].clone() * shape[dim].clone();
    }
    strides
}

/// The manifest's tensors, in the order of the arguments.
pub(super) fn tensors(host: &HostFunction, sizes: &Sizes, kernels: &Kernels) -> Result<Vec<Tensor>> {
    let mut tensors = Vec::new();
    for (index, argument) in host.arguments.iter().enumerate() {
        let element_bytes = argument.element.bytes() as u64;
        let mut align = argument.align.unwrap_or(element_bytes);
        for launch in &host.launches {
            let alignments = kernel::alignments(kernels, launch)?;
            for (buffer, alignment) in launch.buffers.iter().zip(alignments) {
                if buffer.argument == index {
                    align = align.max(alignment);
                }
            }
        }
        let multiple = (align / element_bytes.max(1)).max(1);
        let dynamic =
            |stride: &Expression| matches!(stride, Expression::Symbol(_)) && argument.strides.is_some();
        let strides = &sizes.strides[index];
        let stride_multiples = match strides.iter().any(dynamic) && multiple > 1 {
            true => strides
                .iter()
                .map(|stride| if dynamic(stride) { multiple } else { 1 })
                .collect(),
            false => Vec::new(),
        };
        tensors.push(Tensor {
            name: argument.name.clone(),
            dtype: argument.element,
            shape: sizes.shapes[index].clone(),
            strides: strides.clone(),
            align,
            shape_multiples: Vec::new(),
            stride_multiples,
            index_bits: None,
        });
    }
    Ok(tensors)
}

/// Disjoint sets of the arguments' dims.
struct Classes {
    first: Vec<usize>,
    parent: Vec<usize>,
}

impl Classes {
    fn new(host: &HostFunction) -> Self {
        let mut first = Vec::new();
        let mut count = 0;
        for argument in &host.arguments {
            first.push(count);
            count += argument.shape.len();
        }
        Self {
            first,
            parent: (0..count).collect(),
        }
    }

    fn slot(&self, argument: usize, dim: usize) -> usize {
        self.first[argument] + dim
    }

    /// The smallest slot of a set, so that a size is named for the first tensor that has it.
    fn find(&self, mut slot: usize) -> usize {
        while self.parent[slot] != slot {
            slot = self.parent[slot];
        }
        slot
    }

    fn unite_sizes(&mut self, buffers: &[Buffer], a: Size, b: Size) {
        let dims = |size: Size| {
            let buffer = buffers.get(size.buffer)?;
            Some((buffer.argument, buffer.groups.get(size.axis)?))
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
            let (x, y) = (self.find(x), self.find(y));
            self.parent[x.max(y)] = x.min(y);
        }
    }
}
