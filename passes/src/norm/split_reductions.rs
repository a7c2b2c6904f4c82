//! `norm-split-reductions`: a reduction whose dim is split over CTAs becomes partial results and a second kernel.
//!
//! Matches a kernel whose schedule has a `split` factor. In the first kernel the part of the dim that the factor takes is a
//! dim of its own, which reductions no longer range over: each leaves a partial result for each of its points, in scratch.
//! The second kernel reads the partial results and reduces them, in an order that the schedule fixes, and computes what
//! hangs on them. The two compute what the one did, because a combiner is associative and commutative up to rounding.
//!
//! It costs the partial results' bytes twice, and a launch.

use std::collections::{BTreeSet, HashSet};

use melior::ir::{
    AffineExpr, AffineMap, Attribute, Operation, OperationRef, Type, Value, ValueLike,
    attribute::{DenseI32ArrayAttribute, FlatSymbolRefAttribute, IntegerAttribute, StringAttribute},
    operation::OperationLike,
    r#type::IntegerType,
};
use norma_dialects::{
    affine_map_attribute,
    attributes::{scratch, tensor},
    norm::{KernelOp, LaunchOp, Level, ReadOp, ReduceOp, WriteOp},
    symbol_name,
};

use crate::{
    kernel::{
        signature::{Left, add_buffer, drop_dead, drop_unused},
        space::Space,
        space_rewrite::{NewDim, NewSpace, replace_space},
    },
    mlir::{
        builder::Builder,
        context,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        types,
        values::{key, uses},
        walk,
    },
    schedule::{
        mapping::{Factor, Mapping},
        plan,
    },
    table::{NormSplitReductions, NormSplitReductionsStatistic},
};

pub(crate) fn run<'c>(
    module: OperationRef<'c, '_>,
    cx: &PassContext<'c, NormSplitReductions>,
) -> PassResult<'c> {
    for kernel in walk::named(module, KernelOp::NAME)
        .into_iter()
        .filter_map(KernelOp::from_op)
    {
        // Each round takes one dim apart; the kernel that is left may have another.
        while let Some(split) = Split::of(kernel)? {
            split.apply(module)?;
            cx.count(NormSplitReductionsStatistic::NumSplit, 1);
        }
    }
    Ok(())
}

/// A kernel with a dim that is to be split.
struct Split<'c, 'a> {
    kernel: KernelOp<'c, 'a>,
    mapping: Mapping,
    dim: usize,
    /// The position of the split factor among the dim's.
    factor: usize,
    /// How many parts there are.
    parts: i64,
}

impl<'c: 'a, 'a> Split<'c, 'a> {
    fn of(kernel: KernelOp<'c, 'a>) -> Result<Option<Self>, PassError<'c>> {
        let Some(schedule) = kernel.schedule().filter(|_| kernel.roles().is_none()) else {
            return Ok(None);
        };
        let mapping = Mapping::of(schedule);
        let position = |factors: &Vec<Factor>| factors.iter().position(|factor| factor.level == Level::Split);
        let Some((dim, factor)) = mapping
            .spread
            .iter()
            .enumerate()
            .find_map(|(dim, factors)| Some((dim, position(factors)?)))
        else {
            return Ok(None);
        };
        let location = kernel.op().location();
        if mapping.aligned_dim.is_some() {
            let message = "a split in a schedule with aligned_dim; supported: one or the other";
            return Err(Diagnostic::unsupported(location, message).into());
        }
        let Some(parts) = mapping.spread[dim][factor].size else {
            let message = format!("a split of dim {dim} without a size; supported: a number of parts");
            return Err(Diagnostic::unsupported(location, message).into());
        };
        let space = Space::of(kernel)?;
        if dim >= space.dims.len() {
            let message = format!("expected factors for {} dims, got more", space.dims.len());
            return Err(Diagnostic::user(location, message).into());
        }
        Ok(Some(Self {
            kernel,
            mapping,
            dim,
            factor,
            parts,
        }))
    }

    /// Positions of the reductions over the dim.
    fn reductions(&self, space: &Space<'c, 'a>) -> Vec<usize> {
        let ranges = |op: &OperationRef<'c, 'a>| {
            ReduceOp::from_op(*op).is_some_and(|reduce| space.dims_reduced_by(reduce).contains(&self.dim))
        };
        (0..space.ops.len())
            .filter(|position| ranges(&space.ops[*position]))
            .collect()
    }

    fn apply(self, module: OperationRef<'c, 'a>) -> PassResult<'c> {
        let location = self.kernel.op().location();
        let space = Space::of(self.kernel)?;
        let reductions = self.reductions(&space);
        if reductions.is_empty() {
            let message = format!(
                "expected a reduction over dim {}, which the schedule splits",
                self.dim
            );
            return Err(Diagnostic::user(location, message).into());
        }
        let behind = behind(&space, &reductions);
        if let Some(op) = behind.iter().map(|position| space.ops[*position]).find(|op| {
            op.operands()
                .any(|operand| space.dims_of(operand).contains(&self.dim))
        }) {
            let message = format!(
                "a split of dim {}, to which results of a reduction over it come back; supported: dims that are only reduced",
                self.dim
            );
            return Err(Diagnostic::unsupported(location, message)
                .note(op.location(), "here")
                .into());
        }
        plan::check(&space, &self.mapping).map_err(|reason| reason.at(location))?;
        let num_buffers = space.buffers.len();
        let shapes = self.scratch_shapes(&space, &reductions);
        let launches = walk::named(module, LaunchOp::NAME)
            .into_iter()
            .filter_map(LaunchOp::from_op)
            .filter(|launch| {
                let callee = launch.op().attribute("callee").and_then(norma_dialects::symbol);
                callee.is_ok_and(|callee| Ok(callee) == self.kernel.sym_name())
            })
            .collect::<Vec<_>>();

        let finish = self.finish_kernel(module, &shapes)?;
        let partial = self.partial_kernel(&shapes)?;
        for launch in launches {
            self.launch_both(module, launch, num_buffers, &shapes, &partial, &finish)?;
        }
        Ok(())
    }

    /// The scratch of each result of each reduction over the dim.
    fn scratch_shapes(&self, space: &Space<'c, 'a>, reductions: &[usize]) -> Vec<ScratchShape<'c>> {
        let mut shapes = Vec::new();
        for (reduction, reduce) in reductions
            .iter()
            .filter_map(|position| Some((*position, ReduceOp::from_op(space.ops[*position])?)))
        {
            for (index, result) in reduce.results().into_iter().enumerate() {
                let kept = space.dims_of(result).into_iter().collect::<Vec<_>>();
                shapes.push(ScratchShape {
                    reduction,
                    result: index,
                    element: result.r#type(),
                    extents: kept.iter().map(|dim| space.extents[*dim]).collect(),
                    kept,
                    sizes: space.sizes.clone(),
                });
            }
        }
        shapes
    }

    /// Turns the kernel into the one that leaves partial results.
    fn partial_kernel(&self, shapes: &[ScratchShape<'c>]) -> Result<Left, PassError<'c>> {
        let location = self.kernel.op().location();
        let context = context::of(location);
        let factors = &self.mapping.spread[self.dim];
        let (outer, inner) = (&factors[..self.factor], &factors[self.factor + 1..]);

        let space = Space::of(self.kernel)?;
        let reduced = self
            .reductions(&space)
            .into_iter()
            .map(|position| (position, space.ops[position]))
            .collect::<Vec<_>>();
        let (new, places) = self.split_space(&space, outer, inner)?;
        replace_space(&space, &new)?;

        // Where a dim is a value, the new space computes it first, and positions are others.
        let space = Space::of(self.kernel)?;
        let part = places.part;
        let is_reduced = |op: &OperationRef<'c, 'a>| {
            let mut reduced = reduced.iter();
            reduced.any(|(_, reduction)| reduction.to_raw().ptr == op.to_raw().ptr)
        };
        let reductions = (0..space.ops.len())
            .filter(|position| is_reduced(&space.ops[*position]))
            .collect::<Vec<_>>();
        for (_, op) in &reduced {
            let reduce = ReduceOp::from_op(*op)
                .ok_or_else(|| Diagnostic::internal(location, "expected a reduction"))?;
            let dims = reduce
                .dims()
                .into_iter()
                .filter(|dim| *dim != space.dims[part])
                .collect::<Vec<_>>();
            let b = Builder::before(reduce.op());
            let values = reduce.values();
            let segments = DenseI32ArrayAttribute::new(context, &[values.len() as i32, dims.len() as i32]);
            b.set_operands(reduce.op(), &[values, dims].concat());
            b.set_attribute(reduce.op(), "operandSegmentSizes", segments.into());
        }
        // What hangs on the results is the second kernel's.
        let behind = behind(&space, &reductions);
        for position in behind.iter().rev() {
            Builder::before(space.ops[*position]).erase(space.ops[*position]);
        }
        for shape in shapes {
            let memref = shape.memref(self.parts)?;
            let buffer = add_buffer(self.kernel, memref, scratch::ALIGNMENT)?;
            let space = Space::of(self.kernel)?;
            let reduce = reduced
                .iter()
                .find(|(position, _)| *position == shape.reduction)
                .and_then(|(_, op)| ReduceOp::from_op(*op))
                .ok_or_else(|| Diagnostic::internal(location, "expected a reduction"))?;
            let value = reduce.results()[shape.result];
            let mut indices = vec![space.dims[part]];
            indices.extend(shape.kept.iter().map(|dim| space.dims[places.of(*dim)]));
            let identity = identity(context, indices.len());
            let write = WriteOp::build(reduce.op().location(), value, buffer, &indices, identity)?;
            let end = walk::entry_block(self.kernel.op())?;
            Builder::at_end(end, location).insert(write);
        }
        drop_dead(self.kernel)?;

        let mut mapping = self.mapping.clone();
        let mut parts = Vec::new();
        if places.has_outer {
            parts.push(outer.to_vec());
        }
        parts.push(vec![Factor::rest(Level::Grid)]);
        if places.has_inner {
            parts.push(inner.to_vec());
        }
        mapping.spread.splice(self.dim..=self.dim, parts);
        // Dims that the first kernel has no use for are not spread either.
        let space = Space::of(self.kernel)?;
        let used = |dim: usize| uses(space.dims[dim]) > 0;
        // A split of another dim, over which nothing is reduced here any more, is one over CTAs and no more.
        let reduced = space.reductions().into_iter();
        let reduced = reduced
            .flat_map(|reduce| space.dims_reduced_by(reduce))
            .collect::<BTreeSet<_>>();
        for (dim, factors) in mapping.spread.iter_mut().enumerate() {
            for factor in factors.iter_mut() {
                if factor.level == Level::Split && !reduced.contains(&dim) {
                    factor.level = Level::Grid;
                }
            }
        }
        let spread = mapping.spread.iter().enumerate().filter(|(dim, _)| used(*dim));
        mapping.spread = spread.map(|(_, factors)| factors.clone()).collect();
        let left = drop_unused(self.kernel)?;
        // Partial results are written alone.
        let places = left.buffers.iter().map(|buffer| self.mapping.place(*buffer));
        mapping.keep = match self.mapping.keep.len() {
            0 | 1 => self.mapping.keep.clone(),
            _ => places.collect(),
        };
        let schedule = mapping.attribute(location).ok_or(PassError::Reported)?;
        Builder::before(self.kernel.op()).set_attribute(self.kernel.op(), "schedule", schedule.into());
        Ok(left)
    }

    /// The space in which the part is a dim of its own.
    fn split_space(
        &self,
        space: &Space<'c, 'a>,
        outer: &[Factor],
        inner: &[Factor],
    ) -> Result<(NewSpace<'c>, Places), PassError<'c>> {
        let location = space.location();
        let context = context::of(location);
        let constant = |value: i64| AffineExpr::constant(context, value);
        let extent = space.extents[self.dim];
        let known = extent.is_constant().then(|| extent.constant_value().max(0));
        let product = |factors: &[Factor]| {
            factors
                .iter()
                .filter_map(|factor| factor.size)
                .fold(1, i64::saturating_mul)
        };
        let has_rest = |factors: &[Factor]| factors.iter().any(|factor| factor.size.is_none());
        let ceil = |dividend: i64, divisor: i64| (dividend as u64).div_ceil(divisor.max(1) as u64) as i64;
        let inner_size = if has_rest(inner) {
            // That the mapping can be applied has been checked.
            let known = known.ok_or_else(|| Diagnostic::internal(location, "expected a static extent"))?;
            let other = self
                .parts
                .saturating_mul(product(outer))
                .saturating_mul(product(inner));
            product(inner) * ceil(known, other)
        } else {
            product(inner)
        };
        let step = self.parts.saturating_mul(inner_size);
        let outer_size = match (has_rest(outer), known) {
            (false, _) => constant(product(outer)),
            (true, Some(known)) => constant(ceil(known, step)),
            (true, None) => AffineExpr::ceil_div(extent, constant(step)),
        };
        let is_one = |size: AffineExpr<'c>| size.is_constant() && size.constant_value() <= 1;
        let places = Places {
            first: self.dim,
            part: self.dim + usize::from(!is_one(outer_size)),
            has_outer: !is_one(outer_size),
            has_inner: inner_size > 1,
        };
        let mut new = NewSpace::default();
        let mut add = |extent: AffineExpr<'c>| {
            new.dims.push(NewDim { extent, role: None });
            AffineExpr::dim(context, new.dims.len() - 1)
        };
        let mut old_dims = Vec::new();
        let mut guard = None;
        for dim in 0..space.dims.len() {
            if dim != self.dim {
                old_dims.push(add(space.extents[dim]));
                continue;
            }
            let mut whole = constant(0);
            if places.has_outer {
                whole = whole + add(outer_size) * constant(step);
            }
            whole = whole + add(constant(self.parts)) * constant(inner_size);
            if places.has_inner {
                whole = whole + add(constant(inner_size));
            }
            let covers = known.is_some_and(|known| {
                outer_size.is_constant() && outer_size.constant_value().saturating_mul(step) == known
            });
            if !covers {
                guard = Some([whole, extent]);
            }
            old_dims.push(whole);
        }
        new.old_dims = old_dims;
        new.guards.extend(guard);
        Ok((new, places))
    }

    /// The kernel that combines the partial results and computes what hangs on them; its arguments are those of the kernel
    /// and then the scratch. Gives its name and which of its arguments are left.
    fn finish_kernel(
        &self,
        module: OperationRef<'c, 'a>,
        shapes: &[ScratchShape<'c>],
    ) -> Result<(String, Left), PassError<'c>> {
        let location = self.kernel.op().location();
        let context = context::of(location);
        let name = fresh_name(module, self.kernel)?;
        let beside = Builder::after(self.kernel.op());
        let copy = beside.insert(Operation::clone(&self.kernel.op()));
        beside.set_attribute(copy, "sym_name", StringAttribute::new(context, &name).into());
        beside.remove_attribute(copy, "schedule");
        let copy =
            KernelOp::from_op(copy).ok_or_else(|| Diagnostic::internal(location, "expected norm.kernel"))?;

        // The dim is that of the partial results from here on.
        let space = Space::of(copy)?;
        let mut extents = space.extents.clone();
        extents[self.dim] = AffineExpr::constant(context, self.parts);
        let extents = AffineMap::new(context, 0, space.sizes.len(), &extents);
        let reductions = self.reductions(&space);
        let needed = behind(&space, &reductions);
        let is_others =
            |position: &usize| WriteOp::from_op(space.ops[*position]).is_some() && !needed.contains(position);
        for position in (0..space.ops.len()).filter(is_others) {
            Builder::before(space.ops[position]).erase(space.ops[position]);
        }
        beside.set_attribute(copy.op(), "extents", affine_map_attribute(extents));
        let reduced = reductions
            .iter()
            .map(|position| space.ops[*position])
            .collect::<Vec<_>>();
        let part = space.dims[self.dim];
        for (position, op) in reductions.iter().zip(reduced) {
            let reduce = ReduceOp::from_op(op)
                .ok_or_else(|| Diagnostic::internal(location, "expected a reduction"))?;
            let mut partials = Vec::new();
            for shape in shapes.iter().filter(|shape| shape.reduction == *position) {
                let buffer = add_buffer(copy, shape.memref(self.parts)?, scratch::ALIGNMENT)?;
                let mut indices = vec![part];
                indices.extend(shape.kept.iter().map(|dim| space.dims[*dim]));
                let read = ReadOp::build(op.location(), buffer, &indices, identity(context, indices.len()))?;
                partials.push(Builder::before(op).insert(read).result(0)?.into());
            }
            let segments = DenseI32ArrayAttribute::new(context, &[partials.len() as i32, 1]);
            let b = Builder::before(reduce.op());
            b.set_operands(op, &[partials, vec![part]].concat());
            b.set_attribute(op, "operandSegmentSizes", segments.into());
        }
        drop_dead(copy)?;
        let left = drop_unused(copy)?;
        Ok((name, left))
    }

    /// Launches both kernels where the one was launched, with scratch between them.
    fn launch_both(
        &self,
        module: OperationRef<'c, 'a>,
        launch: LaunchOp<'c, 'a>,
        num_buffers: usize,
        shapes: &[ScratchShape<'c>],
        partial: &Left,
        (finish, left): &(String, Left),
    ) -> PassResult<'c> {
        let b = Builder::before(launch.op());
        let arguments = launch.arguments();
        let (buffers, scalars) = arguments.split_at(num_buffers.min(arguments.len()));
        let mut all = buffers.to_vec();
        for shape in shapes {
            all.push(shape.allocate(&b, buffers, self.parts, &scratch_name(module))?);
        }
        let operands = |left: &Left| {
            let buffers = left.buffers.iter().filter_map(|buffer| all.get(*buffer));
            let scalars = left.scalars.iter().filter_map(|scalar| scalars.get(*scalar));
            buffers.chain(scalars).copied().collect::<Vec<Value<'c, 'a>>>()
        };
        for (name, left) in [(self.kernel.sym_name()?, partial), (finish.as_str(), left)] {
            let callee = FlatSymbolRefAttribute::new(b.context(), name).into();
            b.insert(LaunchOp::build(launch.op().location(), &operands(left), callee)?);
        }
        b.erase(launch.op());
        Ok(())
    }
}

/// Where the parts of the split dim are in the first kernel's space, in which the dims behind it have moved.
struct Places {
    first: usize,
    part: usize,
    has_outer: bool,
    has_inner: bool,
}

impl Places {
    /// The position of a dim that is not split.
    fn of(&self, dim: usize) -> usize {
        if dim < self.first {
            dim
        } else {
            dim + usize::from(self.has_outer) + usize::from(self.has_inner)
        }
    }
}

/// The scratch of one result: a point for each part and each point of the dims that the result varies over.
struct ScratchShape<'c> {
    /// The reduction's position in the kernel.
    reduction: usize,
    result: usize,
    element: Type<'c>,
    /// The dims of the kernel that the result varies over, and their extents, over its sizes.
    kept: Vec<usize>,
    extents: Vec<AffineExpr<'c>>,
    sizes: Vec<(usize, usize)>,
}

impl<'c> ScratchShape<'c> {
    fn memref(&self, parts: i64) -> Result<Type<'c>, PassError<'c>> {
        let known = |extent: &AffineExpr<'c>| extent.is_constant().then(|| extent.constant_value());
        let mut shape = vec![Some(parts)];
        shape.extend(self.extents.iter().map(known));
        types::memref(&shape, self.element, None, None).ok_or(PassError::Reported)
    }

    fn allocate<'a>(
        &self,
        b: &Builder<'c, 'a>,
        buffers: &[Value<'c, 'a>],
        parts: i64,
        name: &str,
    ) -> Result<Value<'c, 'a>, PassError<'c>>
    where
        'c: 'a,
    {
        let context = b.context();
        let index = Type::index(context);
        let mut operands = Vec::new();
        for extent in self.extents.iter().filter(|extent| !extent.is_constant()) {
            let sizes = self
                .sizes
                .iter()
                .map(|(buffer, axis)| {
                    b.value("memref.dim", &[buffers[*buffer], b.index(*axis as i64)], index)
                })
                .collect::<Vec<_>>();
            let map = AffineMap::new(context, 0, sizes.len(), &[*extent]);
            operands.push(b.value_with(
                "affine.apply",
                &sizes,
                index,
                &[("map", affine_map_attribute(map))],
            ));
        }
        let segments = DenseI32ArrayAttribute::new(context, &[operands.len() as i32, 0]);
        let alignment = IntegerAttribute::new(IntegerType::new(context, 64).into(), scratch::ALIGNMENT);
        let attributes = [
            ("operandSegmentSizes", segments.into()),
            ("alignment", alignment.into()),
            (tensor::NAME, StringAttribute::new(context, name).into()),
            (scratch::SCRATCH, Attribute::unit(context)),
        ];
        Ok(b.value_with("memref.alloc", &operands, self.memref(parts)?, &attributes))
    }
}

/// Positions of the ops that depend on one of `reductions`, those left out.
fn behind(space: &Space<'_, '_>, reductions: &[usize]) -> BTreeSet<usize> {
    let mut made = HashSet::new();
    let mut behind = BTreeSet::new();
    for (position, op) in space.ops.iter().enumerate() {
        let is_reduction = reductions.contains(&position);
        let depends = op.operands().any(|operand| made.contains(&key(operand)));
        if is_reduction || depends {
            made.extend(op.results().map(|result| key(result.into())));
        }
        if depends && !is_reduction {
            behind.insert(position);
        }
    }
    behind
}

fn identity<'c>(context: &'c melior::Context, rank: usize) -> AffineMap<'c> {
    let dims = (0..rank)
        .map(|dim| AffineExpr::dim(context, dim))
        .collect::<Vec<_>>();
    AffineMap::new(context, rank, 0, &dims)
}

/// A name for the second kernel that no symbol of the module has.
fn fresh_name<'c>(module: OperationRef<'c, '_>, kernel: KernelOp<'c, '_>) -> Result<String, PassError<'c>> {
    let taken = walk::pre_order(module)
        .into_iter()
        .filter_map(symbol_name)
        .collect::<HashSet<_>>();
    let base = format!("{}_finish", kernel.sym_name()?);
    let names = std::iter::once(base.clone()).chain((1..).map(|count| format!("{base}_{count}")));
    let mut free = names.filter(|name| !taken.contains(name.as_str()));
    Ok(free.next().unwrap_or(base))
}

/// A name for scratch that nothing in the module has.
fn scratch_name(module: OperationRef<'_, '_>) -> String {
    let taken = walk::named(module, "memref.alloc")
        .into_iter()
        .filter_map(|op| op.attribute(tensor::NAME).and_then(norma_dialects::string).ok())
        .map(str::to_owned)
        .collect::<HashSet<_>>();
    let mut names = (0..).map(|count| format!("partial{count}"));
    names.find(|name| !taken.contains(name)).unwrap_or_default()
}
