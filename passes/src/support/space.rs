//! What a kernel's iteration space says about its values and accesses: dims, phases, reuse, strides, traffic.
//!
//! A value varies over the dims that its operands vary over, less those that a reduction removes. Its phase is 0 before
//! any reduction and one more than that of the reduced values behind a reduction: phase p can start when every
//! reduction of the phases before it has its result.

use std::collections::{BTreeSet, HashMap};

use melior::{
    Error,
    ir::{
        AffineExpr, AffineMap, BlockLike, Location, OperationRef, RegionLike, Value, ValueLike,
        operation::OperationLike,
    },
};
use norma_dialects::norm::{CacheOp, DimRole, KernelOp, ReadOp, ReduceOp, WriteOp};

use super::{context, linear_form::LinearForm, types, walk};

/// Positions of dims in a kernel's space.
pub type DimSet = BTreeSet<usize>;

/// A kernel's space and what follows from its body's data flow. Positions of ops count within the body.
#[derive(Debug)]
pub struct Space<'c, 'a> {
    /// The kernel.
    pub kernel: KernelOp<'c, 'a>,
    /// Its buffers.
    pub buffers: Vec<Value<'c, 'a>>,
    /// Its dims, as block arguments.
    pub dims: Vec<Value<'c, 'a>>,
    /// The extent of each dim, over the kernel's sizes.
    pub extents: Vec<AffineExpr<'c>>,
    /// What each dim is spread over, once the kernel is tiled.
    pub roles: Option<Vec<DimRole>>,
    /// Guards `lhs < rhs`, over the dims and sizes.
    pub guards: Vec<[AffineExpr<'c>; 2]>,
    /// The sizes, as (buffer, axis).
    pub sizes: Vec<(usize, usize)>,
    /// The ops of the body, in order.
    pub ops: Vec<OperationRef<'c, 'a>>,
    facts: HashMap<usize, Facts>,
    definitions: HashMap<usize, usize>,
}

/// What is known of one value.
#[derive(Clone, Debug, Default)]
struct Facts {
    dims: DimSet,
    phase: usize,
    /// Positions of the reads that it depends on without a reduction or a cache in between.
    leaves: BTreeSet<usize>,
    /// Positions of all reads that it depends on.
    reads: BTreeSet<usize>,
    /// Positions of all reductions that it depends on.
    reductions: BTreeSet<usize>,
}

impl Facts {
    fn join(&mut self, other: &Self) {
        self.dims.extend(&other.dims);
        self.phase = self.phase.max(other.phase);
        self.leaves.extend(&other.leaves);
        self.reads.extend(&other.reads);
        self.reductions.extend(&other.reductions);
    }
}

impl<'c, 'a> Space<'c, 'a> {
    /// Analyses a kernel.
    ///
    /// # Errors
    ///
    /// The kernel is not one that its verifier accepts.
    pub fn of(kernel: KernelOp<'c, 'a>) -> Result<Self, Error> {
        let extents = results(kernel.extents()?)?;
        let guards = kernel.guards().map(results).transpose()?.unwrap_or_default();
        let block = kernel
            .body()?
            .first_block()
            .ok_or(Error::BlockArgumentExpected("a kernel without a body".to_owned()))?;
        let mut arguments = (0..block.argument_count())
            .map(|index| block.argument(index).map(Value::from))
            .collect::<Result<Vec<_>, _>>()?;
        let dims = arguments.split_off(arguments.len().saturating_sub(extents.len()));
        let mut space = Self {
            kernel,
            buffers: arguments,
            dims,
            extents,
            roles: kernel.roles().map(decode).transpose()?,
            guards: guards.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect(),
            sizes: kernel
                .sizes()?
                .chunks_exact(2)
                .map(|pair| (pair[0] as usize, pair[1] as usize))
                .collect(),
            ops: Vec::new(),
            facts: HashMap::new(),
            definitions: HashMap::new(),
        };
        for (position, dim) in space.dims.iter().enumerate() {
            let facts = Facts {
                dims: [position].into(),
                ..Facts::default()
            };
            space.facts.insert(key(*dim), facts);
        }
        for op in walk::in_block(block) {
            space.add(op)?;
        }
        Ok(space)
    }

    /// Where the kernel stands in the source.
    pub fn location(&self) -> Location<'c> {
        self.kernel.op().location()
    }

    /// Derives what is known of an op's results from its operands.
    fn add(&mut self, op: OperationRef<'c, 'a>) -> Result<(), Error> {
        let position = self.ops.len();
        let mut facts = self.joined(op.operands());
        if ReadOp::from_op(op).is_some() {
            facts.dims = self.access(op)?.map_or_else(DimSet::new, |access| access.dims());
            facts.leaves.insert(position);
            facts.reads.insert(position);
        }
        if let Some(reduce) = ReduceOp::from_op(op) {
            facts = self.joined(reduce.values());
            for dim in self.dims_reduced_by(reduce) {
                facts.dims.remove(&dim);
            }
            facts.phase += 1;
            facts.leaves.clear();
            facts.reductions.insert(position);
        }
        if CacheOp::from_op(op).is_some() {
            facts.leaves.clear();
        }
        for index in 0..op.result_count() {
            let result = key(op.result(index)?.into());
            self.facts.insert(result, facts.clone());
            self.definitions.insert(result, position);
        }
        self.ops.push(op);
        Ok(())
    }

    fn joined(&self, values: impl IntoIterator<Item = Value<'c, 'a>>) -> Facts {
        let mut facts = Facts::default();
        for value in values {
            if let Some(other) = self.facts.get(&key(value)) {
                facts.join(other);
            }
        }
        facts
    }

    /// The position of a value among the dims, if it is one.
    pub fn dim_position(&self, value: Value<'c, 'a>) -> Option<usize> {
        self.dims.iter().position(|dim| *dim == value)
    }

    /// The dims that a value varies over.
    pub fn dims_of(&self, value: Value<'c, 'a>) -> DimSet {
        self.facts
            .get(&key(value))
            .map(|facts| facts.dims.clone())
            .unwrap_or_default()
    }

    /// The phase in which a value can first be had.
    pub fn phase_of(&self, value: Value<'c, 'a>) -> usize {
        self.facts.get(&key(value)).map_or(0, |facts| facts.phase)
    }

    /// The phase in which an op can first run: the latest of its operands.
    pub fn phase_of_op(&self, op: OperationRef<'c, 'a>) -> usize {
        op.operands()
            .map(|operand| self.phase_of(operand))
            .max()
            .unwrap_or(0)
    }

    /// Every reduction of the body.
    pub fn reductions(&self) -> Vec<ReduceOp<'c, 'a>> {
        self.ops.iter().filter_map(|op| ReduceOp::from_op(*op)).collect()
    }

    /// The dims that a reduction removes.
    pub fn dims_reduced_by(&self, reduce: ReduceOp<'c, 'a>) -> DimSet {
        reduce
            .dims()
            .into_iter()
            .filter_map(|dim| self.dim_position(dim))
            .collect()
    }

    /// Every read and write of the body.
    ///
    /// # Errors
    ///
    /// See [`Self::access`].
    pub fn accesses(&self) -> Result<Vec<Access<'c, 'a>>, Error> {
        self.ops
            .iter()
            .filter_map(|op| self.access(*op).transpose())
            .collect()
    }

    /// The access that an op is, if it is one.
    ///
    /// # Errors
    ///
    /// The op is not one that its verifier accepts.
    pub fn access(&self, op: OperationRef<'c, 'a>) -> Result<Option<Access<'c, 'a>>, Error> {
        let (value, buffer_value, indices, access, is_write) = if let Some(read) = ReadOp::from_op(op) {
            (
                read.result()?,
                read.buffer()?,
                read.indices(),
                read.access()?,
                false,
            )
        } else if let Some(write) = WriteOp::from_op(op) {
            (
                write.value()?,
                write.buffer()?,
                write.indices(),
                write.access()?,
                true,
            )
        } else {
            return Ok(None);
        };
        let not_in_space = || Error::BlockArgumentExpected(op.to_string());
        let buffer = self
            .buffers
            .iter()
            .position(|buffer| *buffer == buffer_value)
            .ok_or_else(not_in_space)?;
        let context = context::of(op.location());
        let dims = indices
            .into_iter()
            .map(|index| {
                self.dim_position(index)
                    .map(|position| AffineExpr::dim(context, position))
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(not_in_space)?;
        let dim_count = self.dims.len();
        let into_space = AffineMap::new(context, dim_count, 0, &dims);
        let coordinates = (0..access.result_count())
            .map(|axis| {
                access
                    .result(axis)
                    .map(|coordinate| coordinate.compose(into_space))
            })
            .collect::<Result<_, _>>()?;
        Ok(Some(Access {
            op,
            buffer,
            is_write,
            coordinates,
            value,
            buffer_value,
            dim_count,
        }))
    }

    /// The position of the op that a value is a result of; `None` for a buffer or a dim.
    pub fn definition(&self, value: Value<'c, 'a>) -> Option<usize> {
        self.definitions.get(&key(value)).copied()
    }

    /// Positions of the reads that a value depends on without a reduction or a cache in between.
    pub fn leaves(&self, value: Value<'c, 'a>) -> BTreeSet<usize> {
        self.facts
            .get(&key(value))
            .map(|facts| facts.leaves.clone())
            .unwrap_or_default()
    }

    /// The reused reads that the use of `operand` by `user` needs across a phase: `user` waits for a reduction that
    /// they contribute to, and `operand` does not. Only reads that vary over a reduced dim count; a value per row is
    /// simply kept.
    pub fn reads_carried(&self, user: OperationRef<'c, 'a>, operand: Value<'c, 'a>) -> BTreeSet<usize> {
        let Some(facts) = self.facts.get(&key(operand)) else {
            return BTreeSet::new();
        };
        if facts.phase >= self.phase_of_op(user) {
            return BTreeSet::new();
        }
        let waits_for = self.joined(user.operands()).reductions;
        let mut carried = BTreeSet::new();
        for reduce in waits_for
            .iter()
            .filter_map(|position| ReduceOp::from_op(self.ops[*position]))
        {
            let contributors = self.joined(reduce.values()).reads;
            let reduced = self.dims_reduced_by(reduce);
            let leaves = facts.leaves.intersection(&contributors);
            carried.extend(leaves.filter(|leaf| {
                let results = self.ops[**leaf].results();
                results
                    .into_iter()
                    .any(|result| !self.dims_of(result.into()).is_disjoint(&reduced))
            }));
        }
        carried
    }

    /// Positions of all reused reads: those that contribute to a reduction and are needed again behind it.
    pub fn reused_reads(&self) -> BTreeSet<usize> {
        let uses = self
            .ops
            .iter()
            .flat_map(|op| op.operands().map(|operand| (*op, operand)));
        uses.flat_map(|(user, operand)| self.reads_carried(user, operand))
            .collect()
    }

    /// Positions of all reads that contribute to a reduction.
    pub fn contributing_reads(&self) -> BTreeSet<usize> {
        let values = self.reductions().into_iter().flat_map(ReduceOp::values);
        self.joined(values).reads
    }

    /// The fewest bytes that the kernel must move, over its sizes: what each distinct access reaches, once, since a second
    /// one to the same elements hits a cache or a register. Tiling does not change it. A product of several sizes is
    /// semi-affine.
    ///
    /// # Errors
    ///
    /// See [`Self::access`].
    pub fn traffic(&self) -> Result<Traffic<'c>, Error> {
        let zero = AffineExpr::constant(context::of(self.location()), 0);
        let mut traffic = Traffic {
            read: zero,
            written: zero,
        };
        let mut counted: Vec<Access<'c, 'a>> = Vec::new();
        for access in self.accesses()? {
            let is_same = |other: &Access<'c, 'a>| {
                (other.is_write, other.buffer) == (access.is_write, access.buffer)
                    && other.coordinates == access.coordinates
            };
            if counted.iter().any(is_same) {
                continue;
            }
            let direction = if access.is_write {
                &mut traffic.written
            } else {
                &mut traffic.read
            };
            *direction = *direction + self.bytes_reached(&access);
            counted.push(access);
        }
        Ok(traffic)
    }

    /// The bytes of the part of a buffer that an access covers, from its first element on.
    fn bytes_reached(&self, access: &Access<'c, 'a>) -> AffineExpr<'c> {
        let context = context::of(self.location());
        let last = self
            .extents
            .iter()
            .map(|extent| *extent + AffineExpr::constant(context, -1))
            .collect::<Vec<_>>();
        let last = AffineMap::new(context, 0, self.sizes.len(), &last);
        let bytes = AffineExpr::constant(context, access.element_bytes());
        access.coordinates.iter().fold(bytes, |bytes, coordinate| {
            // A guard over the coordinate says where it ends; without one it goes to the last point of the dims.
            let guard = self.guards.iter().find(|[lhs, _]| lhs == coordinate);
            bytes
                * guard.map_or_else(
                    || coordinate.compose(last) + AffineExpr::constant(context, 1),
                    |[_, limit]| *limit,
                )
        })
    }
}

/// See [`Space::traffic`]; in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Traffic<'c> {
    /// What reads move.
    pub read: AffineExpr<'c>,
    /// What writes move.
    pub written: AffineExpr<'c>,
}

/// One read or write: a buffer at affine functions of the kernel's dims.
#[derive(Clone, Debug)]
pub struct Access<'c, 'a> {
    /// The `norm.read` or `norm.write`.
    pub op: OperationRef<'c, 'a>,
    /// The position of the buffer among the kernel's.
    pub buffer: usize,
    /// Whether it writes.
    pub is_write: bool,
    /// One coordinate for each axis, over all dims of the kernel.
    pub coordinates: Vec<AffineExpr<'c>>,
    value: Value<'c, 'a>,
    buffer_value: Value<'c, 'a>,
    dim_count: usize,
}

impl Access<'_, '_> {
    /// The dims that the access uses.
    pub fn dims(&self) -> DimSet {
        (0..self.dim_count)
            .filter(|dim| {
                self.coordinates
                    .iter()
                    .any(|coordinate| coordinate.is_function_of_dim(*dim))
            })
            .collect()
    }

    /// Bytes of one element; an index becomes i64.
    pub fn element_bytes(&self) -> i64 {
        types::element_bytes(self.value.r#type()).unwrap_or(8)
    }

    /// By how many elements the address moves with one step along each dim and where it starts, in elements; `None`
    /// within for what is not known before the run. `None` where a coordinate is no sum of dims.
    pub fn strides(&self) -> Option<Strides> {
        let (axes, offset) = types::strides_and_offset(self.buffer_value.r#type())?;
        let mut strides = Strides {
            dims: vec![Some(0); self.dim_count],
            offset,
        };
        for (coordinate, stride) in self.coordinates.iter().zip(axes) {
            let form = LinearForm::of(*coordinate, self.dim_count, 0)?;
            let scaled = |factor: i64| {
                if factor == 0 {
                    Some(0)
                } else {
                    stride?.checked_mul(factor)
                }
            };
            let sum = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
            for (dim, factor) in form.dims.into_iter().enumerate() {
                strides.dims[dim] = sum(strides.dims[dim], scaled(factor));
            }
            strides.offset = sum(strides.offset, scaled(form.constant));
        }
        Some(strides)
    }
}

/// See [`Access::strides`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Elements for one step along each dim of the kernel.
    pub dims: Vec<Option<i64>>,
    /// Elements from the buffer's base to the element at the origin.
    pub offset: Option<i64>,
}

fn results<'c>(map: AffineMap<'c>) -> Result<Vec<AffineExpr<'c>>, Error> {
    (0..map.result_count()).map(|index| map.result(index)).collect()
}

fn decode(roles: Vec<i32>) -> Result<Vec<DimRole>, Error> {
    let decode = |role: i32| u32::try_from(role).ok().and_then(DimRole::from_u32);
    roles
        .into_iter()
        .map(|role| decode(role).ok_or_else(|| Error::AttributeExpected("role of a dim", role.to_string())))
        .collect()
}

/// Identifies a value while its op is alive; melior's values compare but do not hash.
pub fn key(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        dialect::{DialectHandle, DialectRegistry},
        ir::Module,
    };
    use norma_dialects::norm::KernelOp;

    use super::Space;
    use crate::support::walk;

    /// (read, written) of the first kernel in `text`.
    fn traffic(text: &str) -> Option<(String, String)> {
        let registry = DialectRegistry::new();
        norma_dialects::register(&registry);
        DialectHandle::arith().insert_dialect(&registry);
        let context = Context::new();
        context.append_dialect_registry(&registry);
        context.load_all_available_dialects();
        let module = Module::parse(&context, text)?;
        let kernel = *walk::named(module.as_operation(), KernelOp::NAME).first()?;
        let traffic = Space::of(KernelOp::from_op(kernel)?).ok()?.traffic().ok()?;
        Some((traffic.read.to_string(), traffic.written.to_string()))
    }

    #[test]
    fn tiling_changes_no_traffic() {
        let whole = traffic(
            "norm.kernel @k(%x: memref<?x11xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 11) {
               %0 = norm.read %x[%m, %n] : memref<?x11xf32>
               %1 = norm.reduce add %0 over(%n) : f32
               norm.write %1, %y[%m] : memref<?xf32>
             }",
        );
        let tiled = traffic(
            "norm.kernel @k(%x: memref<?x11xf32>, %y: memref<?xf32>)
                 space(%b = dim(%x, 0) ceildiv 8 : grid, %r = 8 : tile, %t = 16 : tile)
                 where(%b * 8 + %r < dim(%x, 0), %t < 11) {
               %0 = norm.read %x[%b * 8 + %r, %t] : memref<?x11xf32>
               %1 = norm.reduce add %0 over(%t) : f32
               norm.write %1, %y[%b * 8 + %r] : memref<?xf32>
             }",
        );
        assert_eq!(whole, Some(("s0 * 44".to_owned(), "s0 * 4".to_owned())));
        assert_eq!(tiled, whole);
    }

    #[test]
    fn the_same_elements_are_moved_once() {
        let moved = traffic(
            "norm.kernel @k(%x: memref<8x4xf32>, %y: memref<8x4xf32>) space(%m = 8, %n = 4) {
               %0 = norm.read %x[%m, %n] : memref<8x4xf32>
               %1 = norm.read %x[%m, %n] : memref<8x4xf32>
               %2 = norm.read %x[%m, 0] : memref<8x4xf32>
               norm.write %0, %y[%m, %n] : memref<8x4xf32>
             }",
        );
        assert_eq!(moved, Some(("160".to_owned(), "128".to_owned())));
    }
}
