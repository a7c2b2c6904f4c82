//! `norm-gather-one-hots`: a sum over a dim that keeps one element, found by comparing positions, becomes a read of that element.
//!
//! Matches `reduce add` over a dim of `select(dim == index, value, 0)`, and `reduce or` of `dim == index`, where the index does not vary
//! over the dim: the logit of a row's label. At each element the comparison, the selection and the sum take three instructions or more,
//! and a kernel that only reads its row has about fourteen for each before it issues instructions for longer than its bytes take on an
//! H200 (two bytes an element, 4.2 TB/s, 132 SMs of four schedulers at 1.755 GHz). The gather reads a sector that the row's own read
//! brings as well.
//!
//! The value is computed anew at the index: from the elements there, which `norm.gather` reads, and from what does not vary over the
//! dim. A gather is zero where the index is no position of the dim, and says so, because the axis is as long as the dim. A dim that
//! nothing else is over leaves the space: a loss of given log-probabilities then reads one element of a row.

use std::collections::{BTreeSet, HashMap, HashSet};

use melior::ir::{AffineExpr, OperationRef, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    norm::{GatherOp, KernelOp, ReadOp, ReduceKind, ReduceOp},
    op_name,
};

use crate::{
    kernel::{
        guards,
        indices::{indices_of, numbered},
        signature::drop_dead,
        space::{Access, DimSet, Space},
        space_rewrite::{NewSpace, replace_space},
    },
    mlir::{
        builder::Builder,
        comparison::is_equality,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        types,
        values::{definition, key, number},
        walk,
    },
    table::{NormGatherOneHots, NormGatherOneHotsStatistic},
};

/// The most ops that are computed anew at an index, beyond the reads: the element is one of a row, so that a few more cost nothing.
const MOST_OPS: usize = 64;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormGatherOneHots>) -> PassResult<'c> {
    for kernel in walk::all(op, KernelOp::from_op)
        .into_iter()
        .filter(|kernel| kernel.roles().is_none())
    {
        let space = Space::of(kernel)?;
        let all = space.reductions().into_iter();
        let mut found = all
            .filter_map(|reduce| OneHot::of(&space, reduce))
            .collect::<Vec<_>>();
        let dropped = dims_to_drop(kernel, &space, &found);
        if dropped.is_empty() {
            keep_dims_in_use(&space, &mut found);
        }
        let mut gathers = Gathers::new();
        for one_hot in &found {
            one_hot.gather(&space, &mut gathers)?;
            cx.count(NormGatherOneHotsStatistic::NumGathered, 1);
        }
        if !found.is_empty() {
            drop_dead(kernel)?;
        }
        if !dropped.is_empty() {
            let space = Space::of(kernel)?;
            replace_space(&space, &NewSpace::without(&space, &dropped))?;
        }
    }
    Ok(())
}

/// The element that a read along a dim has at an index, and whether there is one, by the result of the read and the index.
type Gathers<'c, 'a> = HashMap<(usize, usize), (Value<'c, 'a>, Value<'c, 'a>)>;

/// A reduction over the dim `dim` whose operand is neutral but at one point of it.
struct OneHot<'c, 'a> {
    reduce: OperationRef<'c, 'a>,
    dim: usize,
    /// The position along the dim, of type index or of integers.
    index: Value<'c, 'a>,
    /// The operand at that point; `None` if it is whether there is such a point.
    value: Option<Value<'c, 'a>>,
    /// A read over the dim, which tells whether an index is a position of it.
    read: OperationRef<'c, 'a>,
    /// What does not vary over the dim and is needed still.
    needs: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> OneHot<'c, 'a> {
    fn of(space: &Space<'c, 'a>, reduce: ReduceOp<'c, 'a>) -> Option<Self> {
        let dims = space.dims_reduced_by(reduce);
        let (&dim, values) = (dims.first()?, reduce.values());
        let has_guard = || {
            space
                .guards
                .iter()
                .any(|guard| guards::dims_of(guard).contains(&dim))
        };
        if dims.len() != 1 || values.len() != 1 || reduce.nth().is_some() || has_guard() {
            return None;
        }
        let (condition, value) = match reduce.kind()? {
            ReduceKind::Add => {
                let select = definition(values[0]).filter(|op| op_name(*op) == "arith.select")?;
                let is_left_out = is_zero(select.operand(2).ok()?);
                is_left_out.then_some((select.operand(0).ok()?, Some(select.operand(1).ok()?)))?
            }
            ReduceKind::Or => (values[0], None),
            _ => return None,
        };
        let index = index_compared_with(space, condition, dim)?;
        let mut sources = Sources::default();
        if let Some(value) = value {
            sources.add(space, value, dim)?;
        }
        // Where it is read must not vary over more than the sum does.
        let varies = space.dims_of(values[0]);
        let is_usable = |op: &&OperationRef<'c, 'a>| {
            is_read_along(space, **op, dim)
                && (space.access(**op).ok().flatten()).is_some_and(|access| access.dims().is_subset(&varies))
        };
        let read = *sources.reads.iter().chain(&space.ops).find(is_usable)?;
        Some(Self {
            reduce: reduce.op(),
            dim,
            index,
            value,
            read,
            needs: [vec![index], sources.others].concat(),
        })
    }

    /// Replaces the reduction.
    fn gather(&self, space: &Space<'c, 'a>, gathers: &mut Gathers<'c, 'a>) -> PassResult<'c> {
        let (early, index) = self.early_index(space)?;
        let mut element = Element {
            space,
            one_hot: self,
            index,
            early,
            b: Builder::before(self.reduce),
            gathers,
            computed: HashMap::new(),
        };
        let (_, is_inside) = element.read(self.read)?;
        let result = match self.value {
            None => is_inside,
            Some(value) => {
                let there = element.value(value)?;
                let ty = there.r#type();
                let b = &element.b;
                b.value("arith.select", &[is_inside, there, b.zero(ty)], ty)
            }
        };
        element.b.replace_all_uses(self.reduce.result(0)?.into(), result);
        Ok(())
    }

    /// The index, of type index, and a builder behind it. It is converted anew where what it is converted from is known, since a
    /// conversion may stand far behind that.
    fn early_index(&self, space: &Space<'c, 'a>) -> Result<(Builder<'c, 'a>, Value<'c, 'a>), PassError<'c>> {
        let conversion = definition(self.index).filter(|op| op_name(*op) == "arith.index_cast");
        let source = match conversion.filter(|_| types::is_index(self.index.r#type())) {
            Some(conversion) => conversion.operand(0)?,
            None => self.index,
        };
        let mut b = Builder::before(space.ops[0]);
        if let Some(defined) = definition(source) {
            b.move_after(defined);
        }
        let index = Type::index(b.context());
        let value = match source.r#type() == index {
            true => source,
            false => b.value("arith.index_cast", &[source], index),
        };
        Ok((b, value))
    }
}

/// Computes values at the index of a one-hot.
struct Element<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    one_hot: &'s OneHot<'c, 'a>,
    /// Of type index.
    index: Value<'c, 'a>,
    /// Behind the index, which is before the reductions that the rest may wait for.
    early: Builder<'c, 'a>,
    /// Before the reduction.
    b: Builder<'c, 'a>,
    gathers: &'s mut Gathers<'c, 'a>,
    /// The values that have been computed, by the value along the dim.
    computed: HashMap<usize, Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Element<'_, 'c, 'a> {
    fn value(&mut self, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let dim = self.one_hot.dim;
        if value == self.space.dims[dim] {
            return Ok(self.index);
        }
        if !self.space.dims_of(value).contains(&dim) {
            return Ok(value);
        }
        if let Some(known) = self.computed.get(&key(value)) {
            return Ok(*known);
        }
        let op = definition(value).ok_or_else(|| {
            Diagnostic::internal(self.b.location(), "expected a value of the kernel's body")
        })?;
        if ReadOp::from_op(op).is_some() {
            return Ok(self.read(op)?.0);
        }
        let operands = op.operands().map(|operand| self.value(operand));
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        let result = self.b.rebuild(op, &operands, &[value.r#type()]).result(0)?.into();
        self.computed.insert(key(value), result);
        Ok(result)
    }

    /// The element at the index of what a read reads along the dim, and whether there is one.
    fn read(&mut self, op: OperationRef<'c, 'a>) -> Result<(Value<'c, 'a>, Value<'c, 'a>), PassError<'c>> {
        let read = ReadOp::from_op(op)
            .ok_or_else(|| Diagnostic::internal(op.location(), "expected a read along a dim"))?;
        let name = (key(read.result()?), key(self.one_hot.index));
        if let Some(known) = self.gathers.get(&name) {
            return Ok(*known);
        }
        let access = (self.space.access(op)?)
            .ok_or_else(|| Diagnostic::internal(op.location(), "expected an access"))?;
        let mut dims = self.space.dims.clone();
        dims[self.one_hot.dim] = self.index;
        let (dims, symbols) = (numbered(&dims), numbered(&self.space.symbols()));
        let (indices, map) = indices_of(self.early.context(), &access.coordinates, &dims, &symbols);
        let gather = GatherOp::build(op.location(), read.buffer()?, &indices, None, map)?;
        let gather = self.early.insert(gather);
        let results = (gather.result(0)?.into(), gather.result(1)?.into());
        self.gathers.insert(name, results);
        Ok(results)
    }
}

/// The index that a condition compares a dim with for equality, if it does not vary over the dim. It is of type index, or of integers to
/// which all positions along the dim are converted without loss.
fn index_compared_with<'c: 'a, 'a>(
    space: &Space<'c, 'a>,
    condition: Value<'c, 'a>,
    dim: usize,
) -> Option<Value<'c, 'a>> {
    let comparison = definition(condition).filter(|op| op_name(*op) == "arith.cmpi" && is_equality(*op))?;
    let sides = [comparison.operand(0).ok()?, comparison.operand(1).ok()?];
    let is_position = |value: Value<'c, 'a>| {
        let conversion = definition(value).filter(|op| op_name(*op) == "arith.index_cast");
        let bits = types::bit_width(value.r#type()).unwrap_or(64).min(64);
        let is_lossless = || {
            let last = space.extent_bounds(dim).bound().map(|extent| extent - 1);
            bits == 64 || last.is_some_and(|last| last < 1 << (bits - 1))
        };
        let converted = conversion.and_then(|conversion| conversion.operand(0).ok());
        value == space.dims[dim] || converted == Some(space.dims[dim]) && is_lossless()
    };
    let index = match sides.map(is_position) {
        [true, false] => sides[1],
        [false, true] => sides[0],
        _ => return None,
    };
    (!space.dims_of(index).contains(&dim)).then_some(index)
}

/// What a value along a dim is computed from by scalar ops.
#[derive(Default)]
struct Sources<'c, 'a> {
    /// The reads along the dim.
    reads: Vec<OperationRef<'c, 'a>>,
    /// What does not vary over the dim.
    others: Vec<Value<'c, 'a>>,
    seen: HashSet<usize>,
}

impl<'c: 'a, 'a> Sources<'c, 'a> {
    /// Adds those of a value; `None` if it is not computed by scalar ops alone, or by too many of them.
    fn add(&mut self, space: &Space<'c, 'a>, value: Value<'c, 'a>, dim: usize) -> Option<()> {
        if value == space.dims[dim] || !self.seen.insert(key(value)) {
            return Some(());
        }
        if !space.dims_of(value).contains(&dim) {
            self.others.push(value);
            return Some(());
        }
        let op = definition(value)?;
        if ReadOp::from_op(op).is_some() {
            self.reads.push(is_read_along(space, op, dim).then_some(op)?);
            self.others
                .extend(op.operands().filter(|operand| *operand != space.dims[dim]));
            return Some(());
        }
        let is_of_norm = op_name(op).starts_with("norm.");
        if is_of_norm || op.result_count() != 1 || self.seen.len() > MOST_OPS {
            return None;
        }
        op.operands()
            .try_for_each(|operand| self.add(space, operand, dim))
    }
}

/// Whether an op reads along a dim from the start to the end of an axis, of a buffer that no result overwrites.
fn is_read_along<'c>(space: &Space<'c, '_>, op: OperationRef<'c, '_>, dim: usize) -> bool {
    let access = ReadOp::from_op(op).and_then(|_| space.access(op).ok().flatten());
    access.is_some_and(|access| is_along(space, &access, dim))
}

fn is_along<'c>(space: &Space<'c, '_>, access: &Access<'c, '_>, dim: usize) -> bool {
    let is_overwritten = space.aliases().iter().any(|(_, input)| *input == access.buffer);
    let coordinates = access.coordinates.iter().enumerate();
    let mut along = coordinates.filter(|(_, coordinate)| coordinate.is_function_of_dim(dim));
    let (Some((axis, coordinate)), None) = (along.next(), along.next()) else {
        return false;
    };
    !is_overwritten && coordinate.is_dim() && is_size(space, space.extents[dim], access, axis)
}

/// Whether an extent is the size of an axis of the buffer that is read.
fn is_size<'c>(space: &Space<'c, '_>, extent: AffineExpr<'c>, access: &Access<'c, '_>, axis: usize) -> bool {
    let buffer = space.buffers[access.buffer];
    match types::shape(buffer.r#type()).and_then(|shape| shape.get(axis).copied()) {
        Some(Some(size)) => extent.is_constant() && extent.constant_value() == size,
        Some(None) => extent.is_symbol() && space.sizes[extent.symbol_position()] == (access.buffer, axis),
        None => false,
    }
}

/// Whether a value is a constant zero of either sign: a sum's order may decide which of them it is.
fn is_zero(value: Value<'_, '_>) -> bool {
    number(value) == Some(0.0)
}

/// The dims that nothing is over once all of `found` are gathered. None if a schedule spreads them, or if no dim would be left.
fn dims_to_drop<'c: 'a, 'a>(
    kernel: KernelOp<'c, 'a>,
    space: &Space<'c, 'a>,
    found: &[OneHot<'c, 'a>],
) -> DimSet {
    let needed = dims_needed(space, found);
    let all = found.iter().map(|one_hot| one_hot.dim);
    let dropped = all.filter(|dim| !needed.contains(dim)).collect::<DimSet>();
    let is_spread = kernel.schedule().is_some() || kernel.alternatives().is_some();
    match is_spread || dropped.len() == space.dims.len() {
        true => DimSet::default(),
        false => dropped,
    }
}

/// Leaves those of `found` whose dims something else is over, too.
fn keep_dims_in_use<'c: 'a, 'a>(space: &Space<'c, 'a>, found: &mut Vec<OneHot<'c, 'a>>) {
    loop {
        let dims = dims_needed(space, found);
        let before = found.len();
        found.retain(|one_hot| dims.contains(&one_hot.dim));
        if found.len() == before {
            return;
        }
    }
}

/// The dims over which anything is read, written, combined or computed that the writes need once the reductions of `found` are replaced.
fn dims_needed<'c: 'a, 'a>(space: &Space<'c, 'a>, found: &[OneHot<'c, 'a>]) -> BTreeSet<usize> {
    let mut needed = HashSet::new();
    let mut dims = BTreeSet::new();
    for op in space.ops.iter().rev() {
        let is_write = op.result_count() == 0;
        if !is_write && !op.results().any(|result| needed.contains(&key(result.into()))) {
            continue;
        }
        let operands = match found.iter().find(|one_hot| one_hot.reduce == *op) {
            Some(one_hot) => one_hot.needs.clone(),
            None => op.operands().collect(),
        };
        needed.extend(operands.iter().map(|operand| key(*operand)));
        dims.extend(operands.iter().filter_map(|operand| space.dim_position(*operand)));
    }
    dims
}
