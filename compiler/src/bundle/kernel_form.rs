//! What the kernel form says that its lowered kernel does not: the scalar program, the sizes that are equal,
//! the schedule.
//!
//! It is read before the kernel is lowered and kept in the manifest's own terms, over names of its own:
//! `b0_1` is the extent of axis 1 of buffer 0. A launch later says which tensors the buffers are.

mod reader;

use melior::ir::{BlockLike, Module, RegionLike};
use norma_bundle::Expression;
use norma_bundle::program::{Program, Step};
use norma_dialects::norm::KernelOp;
use norma_passes::support::walk;

use super::affine::{self, substitute};
use super::host::{Buffer, HostFunction};
use super::sizes::Sizes;
use reader::Reader;

/// A `norm.kernel`, in neutral terms.
#[derive(Debug, Clone)]
pub struct KernelForm {
    /// The kernel's symbol.
    pub symbol: String,
    /// Its schedule, as printed.
    pub schedule: Option<String>,
    /// The extent of each dim of its space.
    extents: Vec<Expression>,
    /// Buffers' axes that are accessed at exactly one dim: (size, dim).
    plain_accesses: Vec<(Size, usize)>,
    /// Its program, unless that holds what the manifest cannot say.
    program: Option<Program>,
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
            .filter_map(|(size, dim)| match self.extents.get(*dim)? {
                Expression::Symbol(name) => Some((*size, parse_size(name)?)),
                _ => None,
            })
    }

    fn read(kernel: KernelOp) -> Option<Self> {
        let block = kernel.body().ok()?.first_block()?;
        let symbols: Vec<_> = kernel
            .sizes()
            .ok()?
            .chunks_exact(2)
            .map(|pair| size_symbol(pair[0], pair[1]))
            .collect();
        let extents = affine::results(kernel.extents().ok()?, &[], &symbols)?;
        let buffers = block.argument_count().checked_sub(extents.len())?;
        let mut reader = Reader::new(buffers, symbols);
        let steps = reader.read_block(block);
        Some(Self {
            symbol: kernel.sym_name().ok()?.to_owned(),
            schedule: kernel.schedule().map(|schedule| schedule.to_string()),
            program: steps.map(|()| Program {
                space: extents.clone(),
                steps: reader.steps,
            }),
            plain_accesses: reader.plain_accesses,
            extents,
        })
    }
}

/// The program of a function that runs one kernel, over the function's tensors and sizes.
pub(super) fn reference(host: &HostFunction, sizes: &Sizes, forms: &[KernelForm]) -> Option<Program> {
    let [launch] = host.launches.as_slice() else {
        return None;
    };
    let program = KernelForm::find(forms, &launch.kernel)?.program.as_ref()?;
    let size = |name: &str| {
        let Size { buffer, axis } = parse_size(name)?;
        sizes.size(launch.buffers.get(buffer)?, axis)
    };
    let place = |tensor: &str, access: &[Expression]| {
        let buffer = launch.buffers.get(parse_buffer(tensor)?)?;
        let access: Vec<_> = access.iter().map(|index| substitute(index, &size)).collect();
        Some((
            host.arguments.get(buffer.argument)?.name.clone(),
            expand(buffer, sizes, &access)?,
        ))
    };
    let steps = program.steps.iter().map(|step| {
        Some(match step {
            Step::Read {
                tensor,
                access,
                element,
            } => {
                let (tensor, access) = place(tensor, access)?;
                Step::Read {
                    tensor,
                    access,
                    element: *element,
                }
            }
            Step::Write {
                value,
                tensor,
                access,
            } => {
                let (tensor, access) = place(tensor, access)?;
                Step::Write {
                    value: *value,
                    tensor,
                    access,
                }
            }
            Step::Size { value } => Step::Size {
                value: substitute(value, &size),
            },
            other => other.clone(),
        })
    });
    Some(Program {
        space: program
            .space
            .iter()
            .map(|extent| substitute(extent, &size))
            .collect(),
        steps: steps.collect::<Option<_>>()?,
    })
}

/// An access to a buffer as one to its tensor: an index of collapsed dims is taken apart again.
fn expand(buffer: &Buffer, sizes: &Sizes, access: &[Expression]) -> Option<Vec<Expression>> {
    let shape = sizes.shapes.get(buffer.argument)?;
    let mut expanded = vec![Expression::Integer(0); shape.len()];
    for (index, group) in access.iter().zip(&buffer.groups) {
        let (outermost, rest) = group.split_first()?;
        let mut remaining = index.clone();
        for dim in rest.iter().rev() {
            let extent = shape.get(*dim)?.clone();
            *expanded.get_mut(*dim)? = remaining.clone().modulo(extent.clone());
            remaining = remaining.floor_divide(extent);
        }
        *expanded.get_mut(*outermost)? = remaining;
    }
    Some(expanded)
}

fn dim_symbol(dim: usize) -> Expression {
    Expression::symbol(format!("d{dim}"))
}

fn size_symbol(buffer: i64, axis: i64) -> Expression {
    Expression::symbol(format!("b{buffer}_{axis}"))
}

fn parse_size(name: &str) -> Option<Size> {
    let (buffer, axis) = name.split_once('_')?;
    Some(Size {
        buffer: parse_buffer(buffer)?,
        axis: axis.parse().ok()?,
    })
}

fn parse_buffer(name: &str) -> Option<usize> {
    name.strip_prefix('b')?.parse().ok()
}
