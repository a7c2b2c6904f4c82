//! A `norm.compute` under construction by a decomposition.
//!
//! All floating-point arithmetic has one type: f64 if an operand or a result of the named op is f64, and f32 otherwise. Reads are widened
//! to it and writes rounded once, so operands may differ in type.

mod access;
mod blocks;
mod classes;
mod compute;
mod conversions;
pub(super) mod e2m1;
mod gradients;
mod groups;
mod keys;
mod labels;
mod lengths;
mod logits;
mod numbers;
mod places;
mod powers;
pub(super) mod scale_layout;
mod statistics;

use melior::ir::{OperationRef, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::norm::{ReduceKind, ScanOp};

pub(super) use self::access::Coordinate;
pub(super) use self::blocks::{Blocks, Pairs};
pub(super) use self::classes::{Classes, Factors, Smooth};
pub(super) use self::compute::{Extent, Limit};
pub(super) use self::gradients::{Normalized, Places};
pub(super) use self::groups::Grouped;
pub(super) use self::logits::Exponentials;
pub(super) use self::numbers::Setting;
pub(super) use self::powers::{Rounding, is_power_of_two};
pub(super) use self::statistics::{Affine, Moments};
use crate::{
    kernel::reductions,
    mlir::{
        builder::Builder,
        comparison::{Predicate, compare_floats},
        diagnostic::Diagnostic,
        pass::PassError,
        types,
        values::key,
        walk,
    },
    norm::function_scalars,
};

/// Writes the body of a `norm.compute` that takes the place of a named op.
pub(super) struct Program<'c, 'a> {
    named: OperationRef<'c, 'a>,
    compute: OperationRef<'c, 'a>,
    /// The tensors among the operands and results of the named op, each with its block argument.
    buffers: Vec<(Value<'c, 'a>, Value<'c, 'a>)>,
    /// The scalars among the operands, each with its value in the program.
    numbers: Vec<(Value<'c, 'a>, Value<'c, 'a>)>,
    dims: Vec<Value<'c, 'a>>,
    extents: Vec<Extent>,
    b: Builder<'c, 'a>,
    /// The type of the arithmetic.
    float: Type<'c>,
}

/// The dims of a program, split into reduced and kept ones.
pub(super) struct Split<'c, 'a> {
    /// The dims that reductions are over.
    pub(super) reduced: Vec<Value<'c, 'a>>,
    /// The other dims.
    pub(super) kept: Vec<Value<'c, 'a>>,
    /// The number of points of the reduced dims, if it is known.
    pub(super) count: Option<i64>,
    /// Whether an element exists; `None` if all do.
    pub(super) exists: Option<Value<'c, 'a>>,
}

impl<'c, 'a> Split<'c, 'a> {
    /// The coordinates of an operand that has the shape of the reduced dims.
    pub(super) fn row(&self) -> Vec<Coordinate<'c, 'a>> {
        Coordinate::of(&self.reduced)
    }
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// Begins the definition of `named`, before that op, with a dim for each axis of the first operand.
    pub(super) fn begin(named: OperationRef<'c, 'a>) -> Result<Self, PassError<'c>> {
        let extents = Self::axes(named)?;
        Self::begin_over(named, extents, &[])
    }

    /// The extents of the axes of the first operand.
    pub(super) fn axes(named: OperationRef<'c, 'a>) -> Result<Vec<Extent>, PassError<'c>> {
        let shape = types::shape(named.operand(0)?.r#type()).unwrap_or_default();
        let extents = shape.iter().enumerate();
        Ok(extents
            .map(|(axis, size)| size.map_or(Extent::Size(axis), Extent::Static))
            .collect())
    }

    /// Begins the definition of `named`, before that op, with a dim of each of these extents, and of their points those within `limits`.
    pub(super) fn begin_over(
        named: OperationRef<'c, 'a>,
        extents: Vec<Extent>,
        limits: &[Limit],
    ) -> Result<Self, PassError<'c>> {
        let (tensors, scalars): (Vec<_>, Vec<_>) = distinct(named.operands())
            .into_iter()
            .partition(|operand| types::is_tensor(operand.r#type()));
        // A scalar that the function computes is computed in the program instead.
        let mut leaves = Vec::new();
        for scalar in &scalars {
            function_scalars::leaves(*scalar, named, &mut leaves)?;
        }
        let results = named.results().map(Value::from).collect::<Vec<_>>();
        let (compute, arguments) = compute::build_compute(named, &tensors, &leaves, &extents, limits)?;

        let b = Builder::at_end(walk::entry_block(compute)?, named.location());
        let known = leaves.iter().map(|leaf| key(*leaf));
        let mut known = known.zip(arguments.scalars).collect();
        let numbers = scalars
            .into_iter()
            .map(|scalar| Ok((scalar, function_scalars::copy(&b, scalar, &mut known)?)))
            .collect::<Result<Vec<_>, PassError<'c>>>()?;
        let buffers = tensors.into_iter().chain(results).zip(arguments.buffers);
        let buffers = buffers.collect::<Vec<_>>();
        let f64 = Type::float64(b.context());
        let is_wide = buffers
            .iter()
            .any(|(value, _)| types::element(value.r#type()) == f64);
        let float = if is_wide { f64 } else { Type::float32(b.context()) };
        Ok(Self {
            named,
            compute,
            buffers,
            numbers,
            dims: arguments.dims,
            extents,
            b,
            float,
        })
    }

    /// The dims, outermost first.
    pub(super) fn dims(&self) -> &[Value<'c, 'a>] {
        &self.dims
    }

    /// Splits the dims: those of `axes` are reduced. A negative axis counts from the end.
    pub(super) fn split(&self, axes: &[i64]) -> Split<'c, 'a> {
        let rank = self.dims.len() as i64;
        self.split_by(|dim| axes.iter().any(|axis| axis.rem_euclid(rank) == dim as i64))
    }

    /// Splits the dims: those at positions for which `is_reduced` holds are reduced.
    pub(super) fn split_by(&self, is_reduced: impl Fn(usize) -> bool) -> Split<'c, 'a> {
        let dims = |wanted: bool| {
            let chosen = (0..self.dims.len()).filter(|dim| is_reduced(*dim) == wanted);
            chosen.map(|dim| self.dims[dim]).collect()
        };
        let reduced = self
            .extents
            .iter()
            .enumerate()
            .filter(|(dim, _)| is_reduced(*dim));
        Split {
            reduced: dims(true),
            kept: dims(false),
            count: reduced
                .map(|(_, extent)| match extent {
                    Extent::Static(size) => Some(*size),
                    Extent::Size(_) | Extent::Runs { .. } => None,
                })
                .product(),
            exists: None,
        }
    }

    /// The block argument of an operand or a result of the named op.
    fn buffer(&self, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let found = self
            .buffers
            .iter()
            .find(|(outside, _)| key(*outside) == key(value));
        found.map(|(_, inside)| *inside).ok_or_else(|| {
            Diagnostic::internal(
                self.named.location(),
                "expected an operand or a result of the named op",
            )
            .into()
        })
    }

    /// Reduces `value` over `dims` by a named combiner; returns the value itself if there are no dims.
    pub(super) fn reduce(
        &self,
        kind: ReduceKind,
        value: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        Ok(reductions::reduce(&self.b, kind, dims, value)?)
    }

    /// Reduces `value` over `dims` to its order statistics along the dim `nth`, see [`reductions::reduce_to_nth`].
    pub(super) fn reduce_to_nth(
        &self,
        kind: ReduceKind,
        value: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
        nth: Value<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        Ok(reductions::reduce_to_nth(&self.b, kind, dims, nth, value)?)
    }

    /// The running sum of `value` along `dims`: of the values up to each point, without its own if `exclusive`, and from each point to the
    /// end instead if `reverse`.
    pub(super) fn running_sum(
        &self,
        value: Value<'c, 'a>,
        dims: &[Value<'c, 'a>],
        exclusive: bool,
        reverse: bool,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let scan = ScanOp::build(
            self.b.location(),
            value,
            dims,
            ReduceKind::Add,
            exclusive,
            reverse,
        )?;
        Ok(self.b.insert(scan).result(0)?.into())
    }

    /// The sum of the elements that exist, over the reduced dims.
    pub(super) fn sum(
        &self,
        value: Value<'c, 'a>,
        split: &Split<'c, 'a>,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let value = self.existing(value, 0.0, split);
        self.reduce(ReduceKind::Add, value, &split.reduced)
    }

    /// A constant of the arithmetic's type, rounded from `value`.
    pub(super) fn constant(&self, value: f64) -> Value<'c, 'a> {
        self.b.float(self.float, value)
    }

    /// Builds an `arith` or `math` op on numbers of the arithmetic's type.
    pub(super) fn op(&self, name: &str, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        self.b.value(name, operands, self.float)
    }

    /// `chosen` where the condition holds, else `other`; both are numbers of the arithmetic's type.
    pub(super) fn select(
        &self,
        condition: Value<'c, 'a>,
        chosen: Value<'c, 'a>,
        other: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        self.op("arith.select", &[condition, chosen, other])
    }

    /// Whether a number is at least `least`; false for NaN.
    pub(super) fn is_at_least(&self, value: Value<'c, 'a>, least: Value<'c, 'a>) -> Value<'c, 'a> {
        compare_floats(&self.b, Predicate::AtLeast, value, least)
    }

    /// Whether a number is neither infinite nor NaN.
    pub(super) fn is_finite(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let magnitude = self.op("math.absf", &[value]);
        compare_floats(&self.b, Predicate::Less, magnitude, self.constant(f64::INFINITY))
    }

    /// Whether a number is infinite.
    pub(super) fn is_infinite(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let magnitude = self.op("math.absf", &[value]);
        compare_floats(&self.b, Predicate::Equal, magnitude, self.constant(f64::INFINITY))
    }

    /// Ends the definition and replaces the named op by it.
    pub(super) fn end(self) {
        let results = self.compute.results().map(Value::from).collect::<Vec<_>>();
        Builder::before(self.named).replace(self.named, &results);
    }
}

/// The values without duplicates: an operand given twice is one input.
fn distinct<'c: 'a, 'a>(values: impl Iterator<Item = Value<'c, 'a>>) -> Vec<Value<'c, 'a>> {
    let mut found = Vec::<Value<'c, 'a>>::new();
    for value in values {
        if !found.iter().any(|known| key(*known) == key(value)) {
            found.push(value);
        }
    }
    found
}
