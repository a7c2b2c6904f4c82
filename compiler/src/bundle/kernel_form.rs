//! What the kernel form says that its lowered kernel does not: the sizes that are equal, and the schedule.
//!
//! It is read before the kernel is lowered and kept in neutral terms; a launch later says which tensors the buffers are.

use melior::ir::block::BlockArgument;
use melior::ir::{AffineMap, BlockLike, Module, RegionLike, Value};
use norma_bundle::Expression;
use norma_bundle::program::dim_of_symbol;
use norma_dialects::norm::{KernelOp, ReadOp, WriteOp};
use norma_passes::mlir::walk;

use super::affine;

/// A `norm.kernel`, in neutral terms.
#[derive(Debug, Clone)]
pub struct KernelForm {
    /// The kernel's symbol.
    pub symbol: String,
    /// Its schedule, as printed.
    pub schedule: Option<String>,
    /// The size that each dim of its space extends over, where it is just a buffer's.
    extents: Vec<Option<Size>>,
    /// Buffers' axes that are accessed at exactly one dim: (size, dim).
    plain_accesses: Vec<(Size, usize)>,
}

/// The extent of an axis of a kernel's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub buffer: usize,
    pub axis: usize,
}

impl KernelForm {
    /// Reads every `norm.kernel` of a module.
    pub fn collect(module: &Module) -> Vec<Self> {
        walk::pre_order(module.as_operation())
            .into_iter()
            .filter_map(KernelOp::from_op)
            .filter_map(Self::read)
            .collect()
    }

    /// Adds the schedules that kernels of the same names have by now.
    pub fn add_schedules(forms: &mut [Self], module: &Module) {
        for kernel in walk::pre_order(module.as_operation())
            .into_iter()
            .filter_map(KernelOp::from_op)
        {
            if let Some(form) = forms
                .iter_mut()
                .find(|form| kernel.sym_name() == Ok(&form.symbol))
            {
                form.schedule = kernel.schedule().map(|schedule| schedule.to_string());
            }
        }
    }

    /// The form of a kernel's name.
    pub(super) fn find<'a>(forms: &'a [Self], kernel: &str) -> Option<&'a Self> {
        forms.iter().find(|form| form.symbol == kernel)
    }

    /// Pairs of sizes that the kernel takes to be equal: both are the extent of one dim.
    pub(super) fn equal_sizes(&self) -> impl Iterator<Item = (Size, Size)> + '_ {
        self.plain_accesses
            .iter()
            .filter_map(|(size, dim)| Some((*size, (*self.extents.get(*dim)?)?)))
    }

    fn read(kernel: KernelOp) -> Option<Self> {
        let block = kernel.body().ok()?.first_block()?;
        let symbols: Vec<_> = kernel
            .sizes()
            .ok()?
            .chunks_exact(2)
            .enumerate()
            .map(|(index, pair)| (format!("s{index}"), size(pair)))
            .collect();
        let names: Vec<_> = symbols
            .iter()
            .map(|(name, _)| Expression::symbol(name.clone()))
            .collect();
        let extents = affine::results(kernel.extents().ok()?, &[], &names)?;
        let extents: Vec<_> = extents
            .iter()
            .map(|extent| match extent {
                Expression::Symbol(name) => symbols.iter().find(|(known, _)| known == name)?.1,
                _ => None,
            })
            .collect();
        let buffers = block.argument_count().checked_sub(extents.len())?;
        let mut plain_accesses = Vec::new();
        for op in walk::in_block(block) {
            let found = if let Some(read) = ReadOp::from_op(op) {
                plain(buffers, read.buffer().ok()?, &read.indices(), read.access().ok()?)
            } else if let Some(write) = WriteOp::from_op(op) {
                plain(
                    buffers,
                    write.buffer().ok()?,
                    &write.indices(),
                    write.access().ok()?,
                )
            } else {
                None
            };
            plain_accesses.extend(found.unwrap_or_default());
        }
        Some(Self {
            symbol: kernel.sym_name().ok()?.to_owned(),
            schedule: kernel.schedule().map(|schedule| schedule.to_string()),
            extents,
            plain_accesses,
        })
    }
}

/// The axes of an access that are exactly one dim of the space, whose arguments come after those of `buffers`.
fn plain(buffers: usize, buffer: Value, indices: &[Value], access: AffineMap) -> Option<Vec<(Size, usize)>> {
    let argument = |value: Value| Some(BlockArgument::try_from(value).ok()?.argument_number());
    let buffer = argument(buffer)?;
    let dims = indices
        .iter()
        .map(|index| {
            let dim = argument(*index)?.checked_sub(buffers)?;
            Some(Expression::symbol(format!("d{dim}")))
        })
        .collect::<Option<Vec<_>>>()?;
    // Sizes may take part in an access, but not in one that is a dim alone.
    let symbols = vec![Expression::symbol("size"); access.symbol_count()];
    let axes = affine::results(access, &dims, &symbols)?;
    let plain = axes.iter().enumerate().filter_map(|(axis, index)| match index {
        Expression::Symbol(name) => Some((Size { buffer, axis }, dim_of_symbol(name)?)),
        _ => None,
    });
    Some(plain.collect())
}

fn size(pair: &[i64]) -> Option<Size> {
    Some(Size {
        buffer: usize::try_from(pair[0]).ok()?,
        axis: usize::try_from(pair[1]).ok()?,
    })
}
