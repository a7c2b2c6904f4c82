//! Ops of `linalg` that are loop nests: indexing maps give the element of each operand at a point, and a region computes with them.
//!
//! A loop that indexes no result is a reduction loop. The region is then `op(accumulator, value)`, where the op is associative and
//! commutative. The compute reduces the values, and combines the result with the initial value unless that is the op's identity.
//! Two results may also be an extremum and its place ([`super::extrema`]).

use std::collections::{BTreeSet, HashMap, HashSet};

use melior::ir::BlockLike;
use melior::ir::{
    AffineExpr, AffineMap, Attribute, BlockRef, OperationRef, Region, Value, ValueLike,
    attribute::{ArrayAttribute, FloatAttribute, IntegerAttribute},
    operation::OperationLike,
    r#type::TypeLike,
};
use norma_dialects::{
    norm::{ReduceKind, ReduceOp},
    op_name,
};

use super::{
    Former,
    fill::{Filled, constant_of},
    sizes::Size,
    unknown_size,
    writer::Writer,
};
use crate::{
    kernel::named_combiner,
    mlir::{
        diagnostic::Diagnostic,
        pass::PassError,
        types,
        values::{block_argument, definition, key, uses},
        walk,
    },
};

/// The maps of an op that is a loop nest of `linalg`, one for each operand; `None` for any other op.
pub(super) fn indexing_maps<'c>(
    op: OperationRef<'c, '_>,
) -> Option<Result<Vec<AffineMap<'c>>, PassError<'c>>> {
    // SAFETY: the op is alive; the attribute, or null, lives in its context.
    let maps =
        unsafe { Attribute::from_option_raw(mlir_sys::mlirLinalgGetIndexingMapsAttribute(op.to_raw())) }?;
    let read = || {
        let maps = ArrayAttribute::try_from(maps)?;
        let maps = (0..maps.len()).map(|index| norma_dialects::affine_map(maps.element(index)?));
        Ok(maps.collect::<Result<_, _>>()?)
    };
    Some(read())
}

/// An op of `linalg` on tensors.
pub(super) struct Nest<'s, 'c, 'a> {
    pub(super) op: OperationRef<'c, 'a>,
    pub(super) body: BlockRef<'c, 'a>,
    maps: &'s [AffineMap<'c>],
    /// The position of the first initial value among the operands; there is one for each result.
    pub(super) inits: usize,
    /// The reduction loops: those that index no result.
    pub(super) reduced: Vec<usize>,
}

/// What a value of an op's region depends on.
#[derive(Default)]
struct Sources {
    /// The loops that index an element that it depends on, or whose position it is computed of.
    loops: BTreeSet<usize>,
    /// Whether it depends on an accumulator.
    accumulates: bool,
}

/// How a result is reduced.
struct Reduction<'c, 'a> {
    /// The op on the accumulator and the value.
    op: OperationRef<'c, 'a>,
    kind: ReduceKind,
    /// The position of the accumulator among its operands.
    accumulator: usize,
}

impl<'c: 'a, 'a> Former<'c, 'a> {
    /// Writes the program of an op; returns its results, and the constant that all of their elements equal, if there is one.
    pub(super) fn structured(
        &mut self,
        op: OperationRef<'c, 'a>,
        maps: &[AffineMap<'c>],
    ) -> Result<Filled<'c, 'a>, PassError<'c>> {
        let nest = Nest::of(op, maps)?;
        nest.check_operands()?;
        nest.check_results()?;
        let extents = self.loops(&nest)?;
        if let Some(extremum) = nest.extremum()? {
            return self.extremum(&nest, &extremum, &extents, maps);
        }
        let reductions = nest.reductions()?;
        let begins = |(result, reduction): &(usize, &Reduction<'c, 'a>)| {
            let init = op.operand(nest.inits + result).ok();
            let constant = init.and_then(|init| self.constants.get(&key(init)));
            !constant.is_some_and(|constant| is_identity(reduction.kind, *constant))
        };
        let begins = reductions
            .iter()
            .enumerate()
            .filter(begins)
            .map(|(result, _)| result);
        let begins = begins.collect::<Vec<_>>();
        let is_read = |operand: &usize| nest.is_read(*operand);
        let operands = (0..op.operand_count())
            .filter(is_read)
            .chain(begins.iter().map(|result| nest.inits + result));
        let operands = operands
            .map(|operand| op.operand(operand))
            .collect::<Result<Vec<_>, _>>()?;
        let (tensors, mut numbers): (Vec<_>, Vec<_>) = operands
            .into_iter()
            .partition(|operand| types::is_tensor(operand.r#type()));
        numbers.extend(nest.captured());
        let mut writer = Writer::begin(&self.sizes, op, &tensors, &numbers, &extents)?;
        let mut values = HashMap::new();
        for operand in (0..op.operand_count()).filter(is_read) {
            let element = writer.read(op.operand(operand)?, maps[operand])?;
            values.insert(key(nest.body.argument(operand)?.into()), element);
        }
        for inner in walk::in_block(nest.body) {
            if !reductions.iter().any(|reduction| reduction.op == inner) {
                nest.copy(inner, &mut writer, &mut values)?;
            }
        }
        if reductions.is_empty() {
            for (result, yielded) in nest.yielded()?.into_iter().enumerate() {
                let value = nest.value(yielded, &mut writer, &values)?;
                writer.write(value, result, maps[nest.inits + result])?;
            }
        }
        for (result, reduction) in reductions.into_iter().enumerate() {
            let value = nest.reduce(&reduction, &mut writer, &values)?;
            let value = match begins.contains(&result) {
                true => nest.combine_with_init(&reduction, result, value, &mut writer)?,
                false => value,
            };
            writer.write(value, result, maps[nest.inits + result])?;
        }
        let filled = (op_name(op) == "linalg.fill")
            .then(|| constant_of(op.operand(0).ok()?))
            .flatten();
        Ok((writer.results(), filled))
    }

    /// The extent of each loop: the size of an axis that is indexed by this loop alone, a static one if there is any.
    ///
    /// # Errors
    ///
    /// Unsupported: a loop that indexes no axis alone, or an axis of unknown size.
    fn loops(&self, nest: &Nest<'_, 'c, 'a>) -> Result<Vec<Size<'c, 'a>>, PassError<'c>> {
        let loops = nest.maps.first().map_or(0, AffineMap::dim_count);
        let extent = |dim: usize| {
            let mut found = None;
            for (operand, map) in nest.op.operands().zip(nest.maps) {
                for axis in 0..map.result_count() {
                    if map.result(axis)? != AffineExpr::dim(crate::mlir::context::of(nest.op.location()), dim)
                    {
                        continue;
                    }
                    match self.sizes.size(operand, axis, nest.op) {
                        Some(Size::Static(extent)) => return Ok(Size::Static(extent)),
                        Some(size) => found = found.or(Some(size)),
                        None => return Err(unknown_size(nest.op, operand, axis)),
                    }
                }
            }
            found.ok_or_else(|| {
                let message =
                    format!("loop {dim}, which no operand is indexed by alone; supported: loops over axes");
                Diagnostic::unsupported(nest.op.location(), message).into()
            })
        };
        (0..loops).map(extent).collect()
    }
}

impl<'s, 'c: 'a, 'a> Nest<'s, 'c, 'a> {
    fn of(op: OperationRef<'c, 'a>, maps: &'s [AffineMap<'c>]) -> Result<Self, PassError<'c>> {
        let body = walk::entry_block(op)?;
        let inits = op.operand_count() - op.result_count();
        let loops = maps.first().map_or(0, AffineMap::dim_count);
        let indexing = maps[inits..].iter().flat_map(|map| loops_of(*map));
        let indexing = indexing.collect::<BTreeSet<_>>();
        Ok(Self {
            op,
            body,
            maps,
            inits,
            reduced: (0..loops).filter(|dim| !indexing.contains(dim)).collect(),
        })
    }

    /// Checks that the region has elements of tensors as its arguments alone.
    ///
    /// # Errors
    ///
    /// Unsupported: an op of the region has a tensor as an operand.
    fn check_operands(&self) -> Result<(), PassError<'c>> {
        let takes_tensor =
            |op: &OperationRef<'c, 'a>| op.operands().any(|operand| operand.r#type().is_tensor());
        match walk::in_block(self.body).into_iter().find(takes_tensor) {
            Some(op) => {
                let message = format!(
                    "'{}' of a tensor in a region of linalg; supported: elements that the region has as arguments",
                    op_name(op)
                );
                Err(Diagnostic::unsupported(op.location(), message).into())
            }
            None => Ok(()),
        }
    }

    /// Checks that the steps of a loop that indexes only other results all give a result the same value.
    ///
    /// # Errors
    ///
    /// Unsupported: a result is reduced over such a loop, or its value varies over it.
    fn check_results(&self) -> Result<(), PassError<'c>> {
        let loops = self.maps.first().map_or(0, AffineMap::dim_count);
        for (result, yielded) in self.yielded()?.into_iter().enumerate() {
            let indexing = loops_of(self.maps[self.inits + result]);
            let mut left_out =
                (0..loops).filter(|dim| !self.reduced.contains(dim) && !indexing.contains(dim));
            let sources = self.sources(yielded)?;
            if let Some(dim) = left_out.find(|dim| sources.accumulates || sources.loops.contains(dim)) {
                let message = format!(
                    "result {result} as a reduction over loop {dim}, which indexes another result; supported: results that are \
                     reduced over the same loops"
                );
                return Err(Diagnostic::unsupported(self.op.location(), message).into());
            }
        }
        Ok(())
    }

    /// What a value of the region depends on.
    fn sources(&self, value: Value<'c, 'a>) -> Result<Sources, PassError<'c>> {
        let mut sources = Sources::default();
        let mut seen = HashSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if !seen.insert(key(value)) {
                continue;
            }
            if let Some(argument) = block_argument(value) {
                if argument.owner() == self.body {
                    let operand = argument.argument_number();
                    sources.accumulates |= operand >= self.inits;
                    sources.loops.extend(loops_of(self.maps[operand]));
                }
            } else if let Some(op) = definition(value) {
                if op_name(op) == "linalg.index" {
                    let dim = norma_dialects::integer(op.attribute("dim")?)?;
                    sources.loops.extend(usize::try_from(dim));
                }
                open.extend(op.operands());
            }
        }
        Ok(sources)
    }

    /// Whether the program reads an operand at its start. The initial value of a reduction is read after the reduction, if at all.
    pub(super) fn is_read(&self, operand: usize) -> bool {
        let is_used = self
            .body
            .argument(operand)
            .is_ok_and(|argument| uses(argument.into()) > 0);
        operand < self.inits || (is_used && self.reduced.is_empty())
    }

    /// The values from outside that the region uses.
    pub(super) fn captured(&self) -> Vec<Value<'c, 'a>> {
        let ops = walk::in_block(self.body);
        let is_inside = |value: &Value<'c, 'a>| {
            definition(*value).map_or_else(
                || {
                    (0..self.body.argument_count()).any(|index| {
                        self.body
                            .argument(index)
                            .is_ok_and(|argument| key(argument.into()) == key(*value))
                    })
                },
                |op| ops.contains(&op),
            )
        };
        let operands = ops.iter().flat_map(|op| op.operands().collect::<Vec<_>>());
        operands.filter(|operand| !is_inside(operand)).collect()
    }

    /// The operands of the region's terminator.
    pub(super) fn yielded(&self) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let end = walk::in_block(self.body)
            .into_iter()
            .find(|op| walk::has_name(*op, "linalg.yield"));
        let end = end.ok_or_else(|| PassError::Internal("expected a linalg.yield".to_owned()))?;
        Ok(end.operands().collect())
    }

    /// How each result is reduced; empty if there is no reduction loop.
    fn reductions(&self) -> Result<Vec<Reduction<'c, 'a>>, PassError<'c>> {
        if self.reduced.is_empty() {
            return Ok(Vec::new());
        }
        let yielded = self.yielded()?.into_iter().enumerate();
        yielded
            .map(|(result, yielded)| self.reduction(result, yielded))
            .collect()
    }

    /// Inserts the reduction of the values that the region combines with the accumulator.
    fn reduce(
        &self,
        reduction: &Reduction<'c, 'a>,
        writer: &mut Writer<'c, 'a>,
        values: &HashMap<usize, Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let value = self.value(reduction.op.operand(1 - reduction.accumulator)?, writer, values)?;
        let dims = self
            .reduced
            .iter()
            .map(|dim| writer.dims()[*dim])
            .collect::<Vec<_>>();
        let types = [value.r#type()];
        let reduce = ReduceOp::build(
            reduction.op.location(),
            &[value],
            &dims,
            None,
            Some(reduction.kind),
            None,
            &types,
            Region::new(),
        )?;
        Ok(writer.b.insert(reduce).result(0)?.into())
    }

    /// Combines a reduced value with the initial value of its result.
    fn combine_with_init(
        &self,
        reduction: &Reduction<'c, 'a>,
        result: usize,
        value: Value<'c, 'a>,
        writer: &mut Writer<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let position = self.inits + result;
        let init = writer.read(self.op.operand(position)?, self.maps[position])?;
        Ok(writer
            .b
            .rebuild(reduction.op, &[init, value], &[value.r#type()])
            .result(0)?
            .into())
    }

    /// Recognizes how the region reduces one result, from the value that it yields.
    ///
    /// # Errors
    ///
    /// Unsupported: the value is not `op(accumulator, value)` by an op of one of [`KINDS`], or it or the accumulator has another use.
    fn reduction(&self, result: usize, yielded: Value<'c, 'a>) -> Result<Reduction<'c, 'a>, PassError<'c>> {
        let accumulated = Value::from(self.body.argument(self.inits + result)?);
        let refuse = || {
            let kinds = KINDS.iter().flat_map(|kind| {
                [
                    named_combiner::op(*kind, true).0,
                    named_combiner::op(*kind, false).0,
                ]
            });
            let mut names = kinds.collect::<Vec<_>>();
            names.sort_unstable();
            names.dedup();
            let at = definition(yielded).map_or(self.op.location(), |op| op.location());
            let message = format!(
                "a reduction of result {result} whose region is not op(accumulator, value) by an op that takes any order; \
                 supported: {}, and two results that are an extremum and the first place where it is",
                names.join(", ")
            );
            PassError::from(Diagnostic::unsupported(at, message))
        };
        let op = definition(yielded)
            .filter(|op| op.operand_count() == 2)
            .ok_or_else(refuse)?;
        let is_float = types::is_float(yielded.r#type());
        let mut kinds = KINDS.into_iter();
        let kind = kinds
            .find(|kind| named_combiner::op(*kind, is_float).0 == op_name(op))
            .ok_or_else(refuse)?;
        let accumulator = op
            .operands()
            .position(|operand| operand == accumulated)
            .ok_or_else(refuse)?;
        if uses(accumulated) != 1 || uses(yielded) != 1 {
            return Err(refuse());
        }
        Ok(Reduction {
            op,
            kind,
            accumulator,
        })
    }

    /// Copies an op of the region into the program.
    pub(super) fn copy(
        &self,
        op: OperationRef<'c, 'a>,
        writer: &mut Writer<'c, 'a>,
        values: &mut HashMap<usize, Value<'c, 'a>>,
    ) -> Result<(), PassError<'c>> {
        let name = op_name(op);
        if name == "linalg.yield" {
            return Ok(());
        }
        if name == "linalg.index" {
            let dim = norma_dialects::integer(op.attribute("dim")?)?;
            let dim = usize::try_from(dim)
                .ok()
                .and_then(|dim| writer.dims().get(dim).copied());
            let dim = dim.ok_or_else(|| PassError::Internal("expected an index of a loop".to_owned()))?;
            values.insert(key(op.result(0)?.into()), dim);
            return Ok(());
        }
        if op.region_count() > 0 {
            let message = format!("'{name}' in a region; supported: scalar ops");
            return Err(Diagnostic::unsupported(op.location(), message).into());
        }
        let operands = op.operands().map(|operand| self.value(operand, writer, values));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
        let location = writer.b.location();
        writer.b.set_location(op.location());
        let copy = writer.b.rebuild(op, &operands, &types);
        writer.b.set_location(location);
        for (old, new) in op.results().zip(copy.results()) {
            values.insert(key(old.into()), new.into());
        }
        Ok(())
    }

    /// The program's value for one of the region, or for a number from outside of it.
    pub(super) fn value(
        &self,
        value: Value<'c, 'a>,
        writer: &mut Writer<'c, 'a>,
        values: &HashMap<usize, Value<'c, 'a>>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        match values.get(&key(value)) {
            Some(copy) => Ok(*copy),
            None => writer.number(value),
        }
    }
}

/// The loops that a map's results are functions of.
fn loops_of(map: AffineMap<'_>) -> BTreeSet<usize> {
    let is_used = |dim: &usize| {
        let mut axes = 0..map.result_count();
        axes.any(|axis| map.result(axis).is_ok_and(|at| at.is_function_of_dim(*dim)))
    };
    (0..map.dim_count()).filter(is_used).collect()
}

/// The combiners that have a name.
const KINDS: [ReduceKind; 6] = [
    ReduceKind::Add,
    ReduceKind::Mul,
    ReduceKind::Max,
    ReduceKind::Min,
    ReduceKind::And,
    ReduceKind::Or,
];

/// Whether a constant is the identity of a combiner. Both zeros are identities of a sum.
fn is_identity(kind: ReduceKind, constant: Attribute<'_>) -> bool {
    if let Ok(constant) = FloatAttribute::try_from(constant) {
        return named_combiner::float_identity(kind) == Some(constant.value());
    }
    let bits = types::bit_width(melior::ir::AttributeLike::r#type(&constant));
    match (IntegerAttribute::try_from(constant), bits) {
        (Ok(constant), Some(bits)) => named_combiner::integer_identity(kind, bits as u32) == constant.value(),
        _ => false,
    }
}
