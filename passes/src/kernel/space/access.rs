//! Accesses of a kernel, over the dims of its space and the scalars that its launch passes.

use melior::{
    Error,
    ir::{AffineExpr, AffineMap, OperationRef, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::norm::{GatherOp, ReadOp, ScatterOp, WriteOp};

use super::{DimSet, Space};
use crate::gcd::gcd;
use crate::kernel::guards::Guard;
use crate::mlir::{
    affine::{Leaf, substitute, symbols},
    context,
    interval::Interval,
    linear_form::LinearForm,
    types,
};

impl<'c, 'a> Space<'c, 'a> {
    /// Every access of the body.
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

    /// Returns the access of a read, a gather, a write or a scatter; `None` for other ops.
    ///
    /// # Errors
    ///
    /// The op is not one that its verifier accepts.
    pub fn access(&self, op: OperationRef<'c, 'a>) -> Result<Option<Access<'c, 'a>>, Error> {
        let Some(operands) = Operands::of(op)? else {
            return Ok(None);
        };
        let not_in_space = || Error::BlockArgumentExpected(op.to_string());
        let buffer = self.buffers.iter().position(|buffer| *buffer == operands.buffer);
        let buffer = buffer.ok_or_else(not_in_space)?;
        let context = context::of(op.location());
        let (dim_count, symbols) = (self.dims.len(), self.symbols());
        let mut indirect = Vec::new();
        let mut expressions = Vec::with_capacity(operands.indices.len());
        for index in operands.indices {
            if let Some(position) = self.dim_position(index) {
                expressions.push(AffineExpr::dim(context, position));
                continue;
            }
            let symbol = symbols
                .iter()
                .position(|known| *known == index)
                .ok_or_else(not_in_space)?;
            expressions.push(AffineExpr::symbol(context, symbol));
            if symbol >= self.scalars.len() {
                indirect.push((symbol, self.dims_of(index)));
            }
        }
        let into_space = AffineMap::new(context, dim_count, symbols.len(), &expressions);
        let map = operands.map;
        let coordinates = (0..map.result_count())
            .map(|axis| map.result(axis).map(|coordinate| coordinate.compose(into_space)))
            .collect::<Result<_, _>>()?;
        Ok(Some(Access {
            op,
            buffer,
            is_write: operands.is_write,
            coordinates,
            value: operands.value,
            condition: operands.condition,
            buffer_value: operands.buffer,
            dim_count,
            symbol_count: symbols.len(),
            indirect,
        }))
    }

    /// The values that the symbols of coordinates stand for: the scalars that a launch passes, and then the values of the body at which
    /// anything is accessed.
    pub fn symbols(&self) -> Vec<Value<'c, 'a>> {
        [self.scalars.as_slice(), &self.places].concat()
    }
}

/// Whether an op writes to a buffer.
pub fn is_write(op: OperationRef<'_, '_>) -> bool {
    WriteOp::from_op(op).is_some() || ScatterOp::from_op(op).is_some()
}

/// One access: a buffer, and coordinates that are affine in the kernel's dims, its scalars, and values of the body.
#[derive(Clone, Debug)]
pub struct Access<'c, 'a> {
    /// The `norm.read`, `norm.gather`, `norm.write` or `norm.scatter`.
    pub op: OperationRef<'c, 'a>,
    /// The position of the buffer among the kernel's.
    pub buffer: usize,
    /// Whether it writes.
    pub is_write: bool,
    /// One coordinate for each axis, over all dims of the kernel. Its symbols are those of [`Space::symbols`].
    pub coordinates: Vec<AffineExpr<'c>>,
    /// The element that is read or written.
    pub value: Value<'c, 'a>,
    /// The value of the body that decides whether the element is accessed.
    pub condition: Option<Value<'c, 'a>>,
    buffer_value: Value<'c, 'a>,
    dim_count: usize,
    symbol_count: usize,
    /// The symbols among the indices that are values of the body, each with the dims that it varies over.
    indirect: Vec<(usize, DimSet)>,
}

impl<'c> Access<'c, '_> {
    /// Whether values of the body decide where the element lies, or whether it is accessed: nothing is known of them before the kernel
    /// runs.
    pub fn is_indirect(&self) -> bool {
        !self.indirect.is_empty() || self.condition.is_some()
    }

    /// The dims that the values of the body among the indices vary over.
    pub fn indirect_dims(&self) -> DimSet {
        self.indirect.iter().flat_map(|(_, dims)| dims).copied().collect()
    }

    /// The symbols in a coordinate that are values of the body, each with the dims that it varies over.
    pub fn indirect_in(&self, axis: usize) -> impl Iterator<Item = &(usize, DimSet)> {
        let used = symbols(self.coordinates[axis]);
        self.indirect
            .iter()
            .filter(move |(symbol, _)| used.contains(symbol))
    }

    /// Whether a coordinate depends on a symbol: a scalar that the launch passes, or a value of the body.
    pub fn uses_symbols(&self) -> bool {
        self.coordinates
            .iter()
            .any(|coordinate| !symbols(*coordinate).is_empty())
    }

    /// The coordinates with every symbol replaced by 0.
    pub fn coordinates_from_zero(&self) -> Vec<AffineExpr<'c>> {
        let context = context::of(self.op.location());
        let from_zero = |coordinate: &AffineExpr<'c>| {
            substitute(*coordinate, &mut |leaf| match leaf {
                Leaf::Dim(dim) => AffineExpr::dim(context, dim),
                Leaf::Symbol(_) => AffineExpr::constant(context, 0),
            })
        };
        self.coordinates.iter().map(from_zero).collect()
    }

    /// The dims that the access uses, be it through values of the body.
    pub fn dims(&self) -> DimSet {
        let is_used = |dim: &usize| {
            let mut coordinates = self.coordinates.iter();
            coordinates.any(|coordinate| coordinate.is_function_of_dim(*dim))
        };
        let mut dims = (0..self.dim_count).filter(is_used).collect::<DimSet>();
        dims.extend(self.indirect_dims());
        dims
    }

    /// Whether the coordinate of an axis depends on a dim.
    pub fn is_along(&self, axis: usize, dim: usize) -> bool {
        self.coordinates[axis].is_function_of_dim(dim)
    }

    /// Whether the coordinate of an axis is linear in dims and symbols.
    pub fn is_linear(&self, axis: usize) -> bool {
        LinearForm::of(self.coordinates[axis], self.dim_count, self.symbol_count).is_some()
    }

    /// The bytes of one element; an index is stored as i64.
    pub fn element_bytes(&self) -> i64 {
        types::element_bytes(self.value.r#type()).unwrap_or(8)
    }

    /// The stride of the address along each dim and the offset at which it starts, in elements; each is `None` if it is not known before
    /// the run. The whole is `None` if a coordinate is not linear in dims and scalars.
    pub fn strides(&self) -> Option<Strides> {
        let (axes, offset) = types::strides_and_offset(self.buffer_value.r#type())?;
        let mut strides = Strides {
            dims: vec![Some(0); self.dim_count],
            offset,
        };
        for (coordinate, stride) in self.coordinates.iter().zip(axes) {
            let form = LinearForm::of(*coordinate, self.dim_count, self.symbol_count)?;
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
            if form.symbols.iter().any(|factor| scaled(*factor) != Some(0)) {
                strides.offset = None;
            }
        }
        for dim in self.indirect_dims() {
            strides.dims[dim] = None;
        }
        Some(strides)
    }
}

impl<'c> Space<'c, '_> {
    /// The size of a buffer's axis, if it is static.
    fn static_size(&self, buffer: usize, axis: usize) -> Option<i64> {
        let shape = types::shape(self.buffers.get(buffer)?.r#type())?;
        shape.get(axis).copied().flatten()
    }

    /// A known divisor of the size of a buffer's axis: the size itself if it is static, or else what the kernel states.
    pub fn size_multiple(&self, buffer: usize, axis: usize) -> i64 {
        if let Some(size) = self.static_size(buffer, axis) {
            return size;
        }
        let multiples = self.kernel().ok().and_then(|kernel| kernel.multiples());
        let multiples = multiples.unwrap_or_default();
        let stated = multiples
            .chunks_exact(3)
            .find(|triple| (triple[0], triple[1]) == (buffer as i64, axis as i64));
        stated.map_or(1, |triple| triple[2])
    }

    /// The range of the size of a buffer's axis: the size itself if it is static, or else what the kernel states.
    pub fn size_bounds(&self, buffer: usize, axis: usize) -> Interval {
        if let Some(size) = self.static_size(buffer, axis) {
            return Interval::exactly(size);
        }
        let assumed = self.assumed.iter().filter(|(b, a, _)| (*b, *a) == (buffer, axis));
        let assumed = assumed.map(|(_, _, most)| *most).min().unwrap_or(i64::MAX);
        let stated = self.stated_bounds(buffer, axis);
        Interval {
            most: stated.most.min(assumed),
            ..stated
        }
    }

    /// The range of a dynamic size that the kernel states.
    fn stated_bounds(&self, buffer: usize, axis: usize) -> Interval {
        let bounds = self.kernel().ok().and_then(|kernel| kernel.bounds());
        let bounds = bounds.unwrap_or_default();
        let stated = bounds
            .chunks_exact(4)
            .find(|bound| (bound[0], bound[1]) == (buffer as i64, axis as i64));
        stated.map_or(Interval::SIZE, |bound| Interval {
            least: bound[2],
            most: bound[3],
        })
    }

    /// The range of an expression over the kernel's sizes.
    pub fn bounds_of(&self, expression: AffineExpr<'c>) -> Interval {
        Interval::of(expression, &|_| Interval::ANY, &|symbol| {
            let (buffer, axis) = self.sizes[symbol];
            self.size_bounds(buffer, axis)
        })
    }

    /// The range of a dim's extent.
    pub fn extent_bounds(&self, dim: usize) -> Interval {
        self.bounds_of(self.extents[dim])
    }

    /// A number n such that the points 0 to n - 1, n to 2n - 1, … of a dim each exist as a whole or not at all, for every point of the
    /// other dims: a divisor of the extent such that no guard splits these runs. It may be 0 for an extent of 0.
    pub fn run_multiple(&self, dim: usize) -> i64 {
        let broken = |multiple: i64, guard: &Guard<'c>| {
            if !guard.iter().any(|side| side.is_function_of_dim(dim)) {
                return multiple;
            }
            let [lhs, limit] = *guard;
            let Some(form) = LinearForm::of(lhs, self.dims.len(), 0) else {
                return 1;
            };
            let room = gcd(self.known_divisor(limit), form.constant);
            let others = form.dims.iter().enumerate().filter(|(other, _)| *other != dim);
            let unit = others.fold(room, |unit, (_, factor)| gcd(unit, *factor));
            match unit.checked_rem(form.dims[dim]) {
                Some(0) => gcd(multiple, unit / form.dims[dim]),
                _ => 1,
            }
        };
        self.guards
            .iter()
            .fold(self.known_divisor(self.extents[dim]), broken)
    }

    /// A known divisor of an expression over the kernel's sizes; 1 for one over dims.
    fn known_divisor(&self, expression: AffineExpr<'c>) -> i64 {
        if expression.is_constant() {
            return expression.constant_value();
        }
        if !expression.is_symbol() {
            return 1;
        }
        let (buffer, axis) = self.sizes[expression.symbol_position()];
        self.size_multiple(buffer, axis)
    }

    /// The promised alignment of a buffer's address, in bytes; `None` if nothing is promised.
    pub fn alignment(&self, buffer: usize) -> Option<i64> {
        let alignments = self.kernel().ok().and_then(|kernel| kernel.alignments())?;
        alignments.get(buffer).copied()
    }

    /// For each axis of a buffer of elements of `bytes` bytes, a divisor of its stride in elements: the stride itself if it is known, and
    /// otherwise what is promised of it.
    pub fn axis_divisors(&self, buffer: usize, bytes: i64) -> Option<Vec<i64>> {
        let ty = self.buffers[buffer].r#type();
        let (strides, _) = types::strides_and_offset(ty)?;
        let count = strides.len();
        let alignment = self.alignment(buffer).unwrap_or(1);
        let divisor = |(axis, stride): (usize, Option<i64>)| match stride {
            Some(stride) => stride,
            // A contiguous buffer's stride is a product of sizes.
            None if types::is_contiguous(ty) => (axis + 1..count)
                .map(|inner| self.size_multiple(buffer, inner))
                .fold(1, i64::saturating_mul),
            None => (alignment / bytes).max(1),
        };
        Some(strides.into_iter().enumerate().map(divisor).collect())
    }

    /// For each dim of the kernel, a divisor of the stride of an access's address, and a divisor of the offset at which it starts, in
    /// elements, as far as [`Self::axis_divisors`] knows. `None` if a coordinate is not linear in dims and scalars.
    pub fn address_divisors(&self, access: &Access<'_, '_>) -> Option<Divisors> {
        let axes = self.axis_divisors(access.buffer, access.element_bytes())?;
        let (strides, base) = types::strides_and_offset(self.buffers[access.buffer].r#type())?;
        let mut divisors = Divisors {
            dims: vec![0_i64; self.dims.len()],
            offset: i64::from(base.is_none()),
        };
        let mut known = base.unwrap_or(0);
        for ((coordinate, divisor), stride) in access.coordinates.iter().zip(axes).zip(strides) {
            let form = LinearForm::of(*coordinate, self.dims.len(), access.symbol_count)?;
            let multiple = |factor: i64| divisor.saturating_mul(factor);
            for (dim, factor) in form.dims.into_iter().enumerate() {
                divisors.dims[dim] = gcd(divisors.dims[dim], multiple(factor));
            }
            for factor in &form.symbols {
                divisors.offset = gcd(divisors.offset, multiple(*factor));
            }
            for (symbol, dims) in &access.indirect {
                for dim in dims {
                    divisors.dims[*dim] = gcd(divisors.dims[*dim], multiple(form.symbols[*symbol]));
                }
            }
            match stride.and_then(|stride| known.checked_add(stride.checked_mul(form.constant)?)) {
                Some(sum) => known = sum,
                None => divisors.offset = gcd(divisors.offset, multiple(form.constant)),
            }
        }
        divisors.offset = gcd(divisors.offset, known);
        Some(divisors)
    }
}

/// See [`Access::strides`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strides {
    /// The stride along each dim of the kernel, in elements.
    pub dims: Vec<Option<i64>>,
    /// The distance from the buffer's base to the element at the origin of the space, in elements.
    pub offset: Option<i64>,
}

/// See [`Space::address_divisors`]. Everything divides 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divisors {
    /// A divisor of the stride along each dim of the kernel, in elements.
    pub dims: Vec<i64>,
    /// A divisor of the distance from the buffer's base to the element at the origin of the space, in elements.
    pub offset: i64,
}

/// The operands and attributes of an op that accesses a buffer.
struct Operands<'c, 'a> {
    /// What is read or written.
    value: Value<'c, 'a>,
    buffer: Value<'c, 'a>,
    indices: Vec<Value<'c, 'a>>,
    map: AffineMap<'c>,
    condition: Option<Value<'c, 'a>>,
    is_write: bool,
}

impl<'c, 'a> Operands<'c, 'a> {
    /// The operands of a read, a gather, a write or a scatter; `None` of other ops.
    fn of(op: OperationRef<'c, 'a>) -> Result<Option<Self>, Error> {
        Ok(Some(if let Some(read) = ReadOp::from_op(op) {
            Self {
                value: read.result()?,
                buffer: read.buffer()?,
                indices: read.indices(),
                map: read.access()?,
                condition: None,
                is_write: false,
            }
        } else if let Some(gather) = GatherOp::from_op(op) {
            Self {
                value: gather.result()?,
                buffer: gather.buffer()?,
                indices: gather.indices(),
                map: gather.access()?,
                condition: gather.condition(),
                is_write: false,
            }
        } else if let Some(write) = WriteOp::from_op(op) {
            Self {
                value: write.value()?,
                buffer: write.buffer()?,
                indices: write.indices(),
                map: write.access()?,
                condition: None,
                is_write: true,
            }
        } else if let Some(scatter) = ScatterOp::from_op(op) {
            Self {
                value: scatter.value()?,
                buffer: scatter.buffer()?,
                indices: scatter.indices(),
                map: scatter.access()?,
                condition: scatter.condition(),
                is_write: true,
            }
        } else {
            return Ok(None);
        }))
    }
}
