//! Replaces the iteration space of a kernel by one in whose dims the old dims are affine expressions.
//!
//! Accesses, reductions, scans and guards follow by substitution, so a pass that changes a space only states each old dim in terms of the
//! new ones.

use melior::{
    Error,
    ir::{
        AffineExpr, AffineMap, Attribute, BlockLike, OperationRef, RegionLike, Type, Value, ValueLike,
        attribute::DenseI32ArrayAttribute, operation::OperationLike,
    },
};
use norma_dialects::{
    affine_map_attribute,
    norm::{DimRole, ReduceKind, ReduceOp, ScanOp},
};

use super::{
    indices::{numbered, set_coordinates},
    named_combiner, reductions,
    space::{Access, DimSet, Space},
};
use crate::mlir::{
    affine_value::value_of,
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    context, types,
};

/// A dim of a new space.
#[derive(Clone, Copy, Debug)]
pub struct NewDim<'c> {
    /// Its extent, over the kernel's sizes.
    pub extent: AffineExpr<'c>,
    /// The level that it is mapped to; `None` for a space that is not tiled.
    pub role: Option<DimRole>,
}

/// An amount added to an old dim besides the sum of its new dims.
#[derive(Clone, Copy, Debug)]
pub struct Shift<'c> {
    /// The old dim.
    pub dim: usize,
    /// The amount, over new dims that the old dim does not consist of.
    pub by: AffineExpr<'c>,
}

/// A new space, and the old one in terms of it.
#[derive(Debug, Default)]
pub struct NewSpace<'c> {
    /// The new dims.
    pub dims: Vec<NewDim<'c>>,
    /// Each old dim, without its shift, as a sum of multiples of new dims and a constant.
    pub old_dims: Vec<AffineExpr<'c>>,
    /// The shift of an old dim, if one is shifted.
    pub shift: Option<Shift<'c>>,
    /// Guards `lhs < rhs` over new dims and sizes, which are added to the kernel's own.
    pub guards: Vec<[AffineExpr<'c>; 2]>,
}

impl<'c> NewSpace<'c> {
    /// A space without some of its dims, with 0 in their place.
    pub fn without(space: &Space<'c, '_>, dims: &DimSet) -> Self {
        let context = context::of(space.location());
        let mut new = Self::default();
        for (dim, extent) in space.extents.iter().enumerate() {
            if dims.contains(&dim) {
                new.old_dims.push(AffineExpr::constant(context, 0));
                continue;
            }
            new.old_dims.push(AffineExpr::dim(context, new.dims.len()));
            new.dims.push(NewDim {
                extent: *extent,
                role: space.roles.as_ref().and_then(|roles| roles.get(dim).copied()),
            });
        }
        new
    }

    /// Each old dim with its shift, over the new dims.
    pub fn old_dims_shifted(&self) -> Vec<AffineExpr<'c>> {
        let mut old_dims = self.old_dims.clone();
        if let Some(Shift { dim, by }) = self.shift {
            old_dims[dim] = old_dims[dim] + by;
        }
        old_dims
    }
}

/// Replaces a kernel's space. A reduction over an old dim becomes one over the new dims that the old one varies over. If there are none, it
/// ranges over one point and is replaced by its operands. A scan without dims is replaced likewise, by its operand if it is inclusive and
/// by the combiner's initial value if it is exclusive.
///
/// # Errors
///
/// An old dim is not a linear expression, or the kernel is not one that its verifier accepts.
pub fn replace_space<'c>(space: &Space<'c, '_>, new: &NewSpace<'c>) -> Result<(), Error> {
    let op = space.program;
    let context = context::of(op.location());
    let block = op
        .region(0)?
        .first_block()
        .ok_or_else(|| expected("a kernel with a body", op))?;
    let dims = new
        .dims
        .iter()
        .map(|_| block.add_argument(Type::index(context), op.location()))
        .collect::<Vec<_>>();
    let rewrite = Rewrite {
        space,
        new,
        dims,
        builder: Builder::at_start(block, op.location()),
        old_dims: AffineMap::new(context, new.dims.len(), 0, &new.old_dims_shifted()),
    };
    let mut emptied = Vec::new();
    for op in &space.ops {
        if rewrite.op(*op)? {
            emptied.push(*op);
        }
    }
    rewrite.other_uses()?;
    rewrite.attributes()?;
    for op in emptied {
        // Erased only now, because until here the analysis refers to the op.
        rewrite.builder.erase(op);
    }
    for dim in (0..space.dims.len()).rev() {
        // SAFETY: nothing uses an old dim any more, and the analysis that names them ends with the caller's borrow.
        unsafe { block.erase_argument(space.buffers.len() + space.scalars.len() + dim) }
    }
    Ok(())
}

struct Rewrite<'s, 'c, 'a> {
    space: &'s Space<'c, 'a>,
    new: &'s NewSpace<'c>,
    dims: Vec<Value<'c, 'a>>,
    builder: Builder<'c, 'a>,
    old_dims: AffineMap<'c>,
}

impl<'c, 'a> Rewrite<'_, 'c, 'a> {
    /// Rewrites an op; returns whether it is a reduction or a scan that has no dims left.
    fn op(&self, op: OperationRef<'c, 'a>) -> Result<bool, Error> {
        if let Some(access) = self.space.access(op)? {
            self.access(&access);
        } else if let Some(reduce) = ReduceOp::from_op(op) {
            return Ok(self.reduce(reduce));
        } else if let Some(scan) = ScanOp::from_op(op) {
            return self.scan(scan);
        }
        Ok(false)
    }

    /// Composes an access with the substitution; only the dims and symbols that it still uses remain indices.
    fn access(&self, access: &Access<'c, 'a>) {
        let coordinates = access.coordinates.iter();
        let coordinates = coordinates.map(|coordinate| coordinate.compose(self.old_dims));
        let (dims, symbols) = (numbered(&self.dims), numbered(&self.space.symbols()));
        set_coordinates(
            &self.builder,
            access,
            &coordinates.collect::<Vec<_>>(),
            &dims,
            &symbols,
        );
    }

    fn reduce(&self, reduce: ReduceOp<'c, 'a>) -> bool {
        let values = reduce.values();
        let dims = self.new_dims_of(&self.space.dims_reduced_by(reduce));
        let nth = self
            .space
            .dim_of_nth(reduce)
            .map(|dim| self.new_dims_of(&[dim].into()));
        // A dim that no new dim replaces has one point, the first, at which the result is that of a reduction without `nth`.
        let nth = nth.and_then(|nth| nth.first().copied());
        if !dims.is_empty() {
            reductions::set_operands(&self.builder, reduce.op(), &values, &dims, nth);
            return false;
        }
        for (result, value) in reduce.results().into_iter().zip(values) {
            let only = nth.map_or(value, |nth| self.only_at_first(reduce, value, nth));
            self.builder.replace_all_uses(result, only);
        }
        true
    }

    /// Selects the only value at the first point of the dim that counts a reduction's results, and the combiner's identity at the others.
    fn only_at_first(
        &self,
        reduce: ReduceOp<'c, 'a>,
        value: Value<'c, 'a>,
        nth: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let b = Builder::before(reduce.op());
        let ty = value.r#type();
        let bits = types::bit_width(ty).unwrap_or(64) as u32;
        let kind = reduce.kind().unwrap_or(ReduceKind::Max);
        let none = b.integer(ty, named_combiner::integer_identity(kind, bits));
        let is_first = compare_integers(&b, IntegerPredicate::Equal, nth, b.index(0));
        b.value("arith.select", &[is_first, value, none], ty)
    }

    fn scan(&self, scan: ScanOp<'c, 'a>) -> Result<bool, Error> {
        let (value, result) = (scan.value()?, scan.result()?);
        let dims = self.new_dims_of(&self.space.dims_scanned_by(scan));
        if !dims.is_empty() {
            self.builder
                .set_operands(scan.op(), &[vec![value], dims].concat());
            return Ok(false);
        }
        let only = match scan.exclusive() {
            false => value,
            true => {
                let ty = value.r#type();
                let first = named_combiner::first_of_scan(self.builder.context(), scan.kind()?, ty);
                let first = first.ok_or_else(|| expected("a combiner of the value", scan.op()))?;
                self.builder.constant(first, ty)
            }
        };
        self.builder.replace_all_uses(result, only);
        Ok(true)
    }

    /// The new dims that any of the old ones varies over, in the order of the space.
    fn new_dims_of(&self, old: &DimSet) -> Vec<Value<'c, 'a>> {
        let is_of = |dim: &usize| {
            old.iter()
                .any(|old| self.new.old_dims[*old].is_function_of_dim(*dim))
        };
        let dims = (0..self.dims.len()).filter(is_of);
        dims.map(|dim| self.dims[dim]).collect()
    }

    /// Replaces old dims that are used as values by expressions computed at the start of the body.
    fn other_uses(&self) -> Result<(), Error> {
        for (old, expression) in self.space.dims.iter().zip(self.new.old_dims_shifted()) {
            let is_used = self
                .space
                .ops
                .iter()
                .any(|op| op.operands().any(|operand| operand == *old));
            if is_used {
                let value = value_of(&self.builder, expression, &self.dims, &[])?;
                self.builder.replace_all_uses(*old, value);
            }
        }
        Ok(())
    }

    fn attributes(&self) -> Result<(), Error> {
        let context = self.builder.context();
        let kernel = self.space.kernel()?;
        let symbols = kernel.extents()?.symbol_count();
        let extents = self.new.dims.iter().map(|dim| dim.extent).collect::<Vec<_>>();
        let roles = self
            .new
            .dims
            .iter()
            .map(|dim| dim.role.map(|role| role as i32))
            .collect::<Option<Vec<_>>>();
        let mut guards = Vec::new();
        if let Some(own) = kernel.guards() {
            for index in 0..own.result_count() {
                guards.push(own.result(index)?.compose(self.old_dims));
            }
        }
        guards.extend(self.new.guards.iter().flatten());
        let set =
            |name: &str, attribute: Attribute<'c>| self.builder.set_attribute(kernel.op(), name, attribute);
        let extents = AffineMap::new(context, 0, symbols, &extents);
        set("extents", affine_map_attribute(extents));
        if let Some(roles) = roles {
            set("roles", DenseI32ArrayAttribute::new(context, &roles).into());
        }
        if !guards.is_empty() {
            let guards = AffineMap::new(context, self.dims.len(), symbols, &guards);
            set("guards", affine_map_attribute(guards));
        }
        Ok(())
    }
}

fn expected(expected: &'static str, op: OperationRef<'_, '_>) -> Error {
    Error::OperationExpected {
        expected,
        actual: op.to_string(),
    }
}
