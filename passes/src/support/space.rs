//! What a kernel's iteration space says about its values and accesses: dims, phases, reuse, strides, traffic.
//!
//! A value varies over the dims that its operands vary over, less those that a reduction removes. Its phase is 0 before
//! any reduction and one more than that of the reduced values behind a reduction: phase p can start when every
//! reduction of the phases before it has its result.

use std::collections::{BTreeSet, HashMap};

use melior::{
    Error,
    ir::{
        AffineExpr, AffineMap, BlockLike, OperationRef, RegionLike, TypeLike, Value, ValueLike,
        operation::OperationLike,
    },
};
use norma_dialects::norm::{CacheOp, KernelOp, ReadOp, ReduceOp, WriteOp};

use super::{context, linear_form::LinearForm, types};

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
        let extents = kernel.extents()?;
        let extents = (0..extents.result_count())
            .map(|dim| extents.result(dim))
            .collect::<Result<Vec<_>, _>>()?;
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
        let mut next = block.first_operation();
        while let Some(op) = next {
            space.add(op)?;
            next = op.next_in_block();
        }
        Ok(space)
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

    /// The fewest bytes that the kernel must move, over its sizes: what each distinct access touches, once. A
    /// product of several sizes is semi-affine.
    ///
    /// # Errors
    ///
    /// See [`Self::access`].
    pub fn traffic_bytes(&self) -> Result<AffineExpr<'c>, Error> {
        let context = context::of(self.kernel.op().location());
        let mut counted: Vec<Access<'c, 'a>> = Vec::new();
        let mut total = AffineExpr::constant(context, 0);
        for access in self.accesses()? {
            if counted
                .iter()
                .any(|other| other.buffer == access.buffer && other.coordinates == access.coordinates)
            {
                continue;
            }
            let bytes = AffineExpr::constant(context, access.element_bytes());
            let elements = access.dims().into_iter().map(|dim| self.extents[dim]);
            total = total + elements.fold(bytes, |product, extent| extent * product);
            counted.push(access);
        }
        Ok(total)
    }
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

    /// Bytes of one element, of a type of whole bytes.
    pub fn element_bytes(&self) -> i64 {
        let ty = self.value.r#type();
        // SAFETY: each width is asked of a type of its kind.
        let bits = unsafe {
            if mlir_sys::mlirTypeIsAFloat(ty.to_raw()) {
                mlir_sys::mlirFloatTypeGetWidth(ty.to_raw())
            } else if mlir_sys::mlirTypeIsAInteger(ty.to_raw()) {
                mlir_sys::mlirIntegerTypeGetWidth(ty.to_raw())
            } else {
                64
            }
        };
        i64::from(bits.div_ceil(8))
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

/// Identifies a value while its op is alive; melior's values compare but do not hash.
pub fn key(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}
