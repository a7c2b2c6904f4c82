//! What the kernel form says that its lowered kernel does not: the scalar program, the sizes that are equal,
//! the schedule.
//!
//! It is read before the kernel is lowered and kept in the manifest's own terms, over names of its own:
//! `b0_1` is the extent of axis 1 of buffer 0. A launch later says which tensors the buffers are.

use std::collections::HashMap;

use melior::ir::attribute::{FloatAttribute, IntegerAttribute};
use melior::ir::block::BlockArgument;
use melior::ir::operation::OperationLike;
use melior::ir::{
    Attribute, AttributeLike, BlockLike, BlockRef, Module, OperationRef, RegionLike, RegionRef, Type,
    Value as IrValue, ValueLike,
};
use norma_bundle::program::{Combiner, Number, Operation, Program, Region, Step, Value, dim_of_symbol};
use norma_bundle::{Element, Expression};
use norma_dialects::norm::{CacheOp, KernelOp, ReadOp, ReduceKind, ReduceOp, WriteOp, YieldOp};
use norma_dialects::op_name;
use norma_passes::support::space::key;
use norma_passes::support::{types, walk};

use super::affine::{self, substitute};
use super::host::{Buffer, HostFunction};
use super::sizes::Sizes;

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

/// Turns a kernel's body into steps.
struct Reader {
    buffers: usize,
    symbols: Vec<Expression>,
    steps: Vec<Step>,
    values: HashMap<usize, Value>,
    count: Value,
    plain_accesses: Vec<(Size, usize)>,
}

impl Reader {
    fn new(buffers: usize, symbols: Vec<Expression>) -> Self {
        Self {
            buffers,
            symbols,
            steps: Vec::new(),
            values: HashMap::new(),
            count: 0,
            plain_accesses: Vec::new(),
        }
    }

    /// Reads all ops of the body; nothing if one has no neutral form. Accesses are recorded all the same.
    fn read_block(&mut self, block: BlockRef) -> Option<()> {
        let mut whole = Some(());
        let mut next = block.first_operation();
        while let Some(op) = next {
            whole = self.read_op(op).and(whole);
            next = op.next_in_block();
        }
        whole
    }

    fn read_op(&mut self, op: OperationRef) -> Option<()> {
        if let Some(read) = ReadOp::from_op(op) {
            let (tensor, access) = self.access(read.buffer().ok()?, &read.indices(), read.access().ok()?)?;
            let result = read.result().ok()?;
            let element = element(result.r#type())?;
            self.define(
                Step::Read {
                    tensor,
                    access,
                    element,
                },
                &[result],
            );
        } else if let Some(write) = WriteOp::from_op(op) {
            let (tensor, access) =
                self.access(write.buffer().ok()?, &write.indices(), write.access().ok()?)?;
            let value = self.value(write.value().ok()?)?;
            self.define(
                Step::Write {
                    value,
                    tensor,
                    access,
                },
                &[],
            );
        } else if let Some(reduce) = ReduceOp::from_op(op) {
            let step = Step::Reduce {
                combiner: combiner(reduce)?,
                operands: reduce
                    .values()
                    .into_iter()
                    .map(|value| self.value(value))
                    .collect::<Option<_>>()?,
                over: reduce
                    .dims()
                    .into_iter()
                    .map(|dim| self.dim(dim))
                    .collect::<Option<_>>()?,
                types: reduce
                    .results()
                    .iter()
                    .map(|result| element(result.r#type()))
                    .collect::<Option<_>>()?,
            };
            self.define(step, &reduce.results());
        } else if let Some(cache) = CacheOp::from_op(op) {
            let value = self.value(cache.value().ok()?)?;
            self.values.insert(key(cache.result().ok()?), value);
        } else {
            let operands = op
                .operands()
                .map(|operand| self.value(operand))
                .collect::<Option<Vec<_>>>()?;
            self.define(scalar_step(op, operands)?, &[op.result(0).ok()?.into()]);
        }
        Some(())
    }

    fn define(&mut self, step: Step, results: &[IrValue]) {
        for result in results {
            self.values.insert(key(*result), self.count);
            self.count += 1;
        }
        self.steps.push(step);
    }

    /// The number of a value; a dim that is used as one is given its step at the first use.
    fn value(&mut self, value: IrValue) -> Option<Value> {
        if let Some(number) = self.values.get(&key(value)) {
            return Some(*number);
        }
        let dim = self.dim(value)?;
        self.define(Step::Index { dim }, &[value]);
        Some(self.count - 1)
    }

    /// Which dim of the space a block argument is.
    fn dim(&self, value: IrValue) -> Option<usize> {
        BlockArgument::try_from(value)
            .ok()?
            .argument_number()
            .checked_sub(self.buffers)
    }

    fn access(
        &mut self,
        buffer: IrValue,
        indices: &[IrValue],
        map: melior::ir::AffineMap,
    ) -> Option<(String, Vec<Expression>)> {
        let buffer = BlockArgument::try_from(buffer).ok()?.argument_number();
        let dims = indices
            .iter()
            .map(|index| self.dim(*index).map(dim_symbol))
            .collect::<Option<Vec<_>>>()?;
        let access = affine::results(map, &dims, &self.symbols)?;
        for (axis, index) in access.iter().enumerate() {
            if let Expression::Symbol(name) = index
                && let Some(dim) = dim_of_symbol(name)
            {
                self.plain_accesses.push((Size { buffer, axis }, dim));
            }
        }
        Some((format!("b{buffer}"), access))
    }
}

/// An `arith` or `math` op, or a constant.
fn scalar_step(op: OperationRef, operands: Vec<Value>) -> Option<Step> {
    let element = element(op.result(0).ok()?.r#type())?;
    let name = op_name(op);
    if name == "arith.constant" {
        return Some(Step::Constant {
            value: number(op.attribute("value").ok()?)?,
            element,
        });
    }
    if op.region_count() > 0
        || op.result_count() != 1
        || !(name.starts_with("arith.") || name.starts_with("math."))
    {
        return None;
    }
    let predicate = match name {
        "arith.cmpf" => Some(predicate(op, FLOAT_PREDICATES)?),
        "arith.cmpi" => Some(predicate(op, INTEGER_PREDICATES)?),
        _ => None,
    };
    Some(Step::Op(Operation {
        name: name.to_owned(),
        operands,
        predicate,
        saturate: false,
        element,
    }))
}

fn combiner(reduce: ReduceOp) -> Option<Combiner> {
    Some(match reduce.kind() {
        Some(ReduceKind::Add) => Combiner::Add,
        Some(ReduceKind::Mul) => Combiner::Mul,
        Some(ReduceKind::Max) => Combiner::Max,
        Some(ReduceKind::Min) => Combiner::Min,
        Some(ReduceKind::And | ReduceKind::Or) => return None,
        None => Combiner::Region(region(reduce.combiner().ok()?, &reduce.identity()?)?),
    })
}

fn region(region: RegionRef, identity: &[Attribute]) -> Option<Region> {
    let block = region.first_block()?;
    let mut reader = Reader::new(0, Vec::new());
    for index in 0..block.argument_count() {
        reader
            .values
            .insert(key(block.argument(index).ok()?.into()), reader.count);
        reader.count += 1;
    }
    let mut next = block.first_operation();
    while let Some(op) = next {
        if op_name(op) == YieldOp::NAME {
            return Some(Region {
                identities: identity
                    .iter()
                    .map(|value| number(*value))
                    .collect::<Option<_>>()?,
                results: op
                    .operands()
                    .map(|value| reader.value(value))
                    .collect::<Option<_>>()?,
                steps: reader.steps,
            });
        }
        reader.read_op(op)?;
        next = op.next_in_block();
    }
    None
}

/// In the order of MLIR's `CmpFPredicate`.
const FLOAT_PREDICATES: &[&str] = &[
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une",
    "uno", "true",
];
/// In the order of MLIR's `CmpIPredicate`.
const INTEGER_PREDICATES: &[&str] = &["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

fn predicate(op: OperationRef, names: &[&str]) -> Option<String> {
    let index = IntegerAttribute::try_from(op.attribute("predicate").ok()?)
        .ok()?
        .value();
    names
        .get(usize::try_from(index).ok()?)
        .map(|name| (*name).to_owned())
}

fn number(attribute: Attribute) -> Option<Number> {
    if attribute.is_float() {
        return Some(Number::Float(FloatAttribute::try_from(attribute).ok()?.value()));
    }
    if attribute.is_bool() {
        return Some(Number::Integer(i64::from(attribute.to_string() == "true")));
    }
    Some(Number::Integer(
        IntegerAttribute::try_from(attribute).ok()?.value(),
    ))
}

fn element(ty: Type) -> Option<Element> {
    match types::element(ty).to_string().as_str() {
        "index" => Some(Element::I64),
        name => Element::from_name(name),
    }
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
