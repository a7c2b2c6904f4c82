//! `gl-vectorize-access`: how many elements one instruction of `gl.load` and `gl.store` moves.
//!
//! A vector of n elements is n consecutive registers of each thread that hold consecutive elements in memory, from an
//! address that n elements divide, and for which the guards all hold or all fail. The address is a sum of terms: the
//! base, the strides times constants, indices and coordinates. Along the one tile axis that moves the address by one
//! element the layout says how long runs are and that they start at multiples of their length; every other term has to
//! be a multiple of the vector. The same holds for guards: with `lhs - rhs = coordinate + rest` and the rest a multiple
//! of n, the sign is the same for all of an aligned run.
//!
//! What is assumed of a buffer is what the launcher checks: its base address and its dynamic strides are multiples of
//! its entry in `alignments` of `gl.launch`.

use melior::ir::{
    AffineMap, Attribute, BlockLike, OperationRef, Type, Value, ValueLike,
    attribute::IntegerAttribute,
    block::BlockArgument,
    operation::{OperationLike, OperationResult},
};
use norma_dialects::{
    attributes,
    gl::{LaunchAttr, LoadOp, StoreOp},
    layout, op_name,
};
use norma_layout::LinearLayout;
use norma_targets::ACCESS_BYTES;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        linear_form::LinearForm,
        pass::{PassContext, PassError, PassResult},
        types, walk,
    },
    table::{GlVectorizeAccess, GlVectorizeAccessStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlVectorizeAccess>) -> PassResult<'c> {
    for op in walk::pre_order(op) {
        let Some(access) = Access::of(op)? else {
            continue;
        };
        let layout = layout::of_tile(access.tile).map_err(|error| Diagnostic::user(op.location(), error))?;
        let (vector, why_not_more) = access.vector(&layout);
        if let Some(reason) = why_not_more {
            cx.remark(op.location(), format!("vector of {vector}: {reason}"));
        }
        let b = Builder::before(op);
        b.set_attribute(op, "vector", b.i64_attribute(vector));
        if vector > 1 {
            cx.count(GlVectorizeAccessStatistic::NumVectorized, 1);
        }
    }
    Ok(())
}

/// A load or store that has no vector yet.
struct Access<'c, 'a> {
    tile: Type<'c>,
    buffer: Value<'c, 'a>,
    map: AffineMap<'c>,
    guards: Option<AffineMap<'c>>,
    /// What divides each index.
    indices: Vec<i64>,
    /// What divides each limit of the guards.
    limits: Vec<i64>,
    /// What divides the buffer's base address and dynamic strides, in bytes.
    alignment: i64,
}

impl<'c, 'a> Access<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>) -> Result<Option<Self>, PassError<'c>> {
        let (tile, buffer, map, guards, indices, limits, vector) = if let Some(load) = LoadOp::from_op(op) {
            let (indices, limits) = (load.indices(), load.limits());
            let (buffer, map) = (load.buffer()?, load.access()?);
            (
                load.tile()?,
                buffer,
                map,
                load.guards(),
                indices,
                limits,
                load.vector(),
            )
        } else if let Some(store) = StoreOp::from_op(op) {
            let (indices, limits) = (store.indices(), store.limits());
            let (buffer, map) = (store.buffer()?, store.access()?);
            (
                store.tile()?,
                buffer,
                map,
                store.guards(),
                indices,
                limits,
                store.vector(),
            )
        } else {
            return Ok(None);
        };
        if vector.is_some() {
            return Ok(None);
        }
        let divisors = |values: Vec<Value<'c, 'a>>| values.into_iter().map(|value| divisor(value)).collect();
        Ok(Some(Self {
            tile: tile.r#type(),
            buffer,
            map,
            guards,
            indices: divisors(indices),
            limits: divisors(limits),
            alignment: alignment(buffer),
        }))
    }

    /// The vector's length, and what keeps it shorter than the layout's runs and the hardware would allow.
    fn vector(&self, layout: &LinearLayout) -> (i64, Option<String>) {
        let Some(bytes) = types::element_bytes(types::element(self.tile)) else {
            return (1, Some("the elements have no size".to_owned()));
        };
        let Some(address) = Address::of(self, bytes) else {
            return (
                1,
                Some("the address is no sum of indices and coordinates".to_owned()),
            );
        };
        let mut best = (1, Some("no axis of the tile is contiguous in memory".to_owned()));
        for axis in (0..layout.rank()).filter(|&axis| address.is_contiguous(axis, bytes)) {
            let run = layout.contiguous_elements(&[axis]) as i64;
            let possible = run.min(ACCESS_BYTES / bytes).max(1);
            let aligned = possible
                .min(power_of_two_in(address.divisor_but(axis)) / bytes)
                .max(1);
            let mut vector = aligned;
            while vector > 1 && !self.guards_are_uniform(axis, vector) {
                vector /= 2;
            }
            let reason = if vector < aligned {
                Some("the guards may end within a longer one".to_owned())
            } else if aligned < possible {
                let divisor = power_of_two_in(address.divisor_but(axis));
                Some(format!("addresses are known to be multiples of {divisor} bytes"))
            } else {
                None
            };
            if best.1.is_some() && vector >= best.0 || vector > best.0 {
                best = (vector, reason);
            }
        }
        best
    }

    /// Whether each guard has one value over every aligned run of `vector` elements along a tile axis.
    fn guards_are_uniform(&self, axis: usize, vector: i64) -> bool {
        let Some(guards) = self.guards else {
            return true;
        };
        let (dims, symbols) = (guards.dim_count(), guards.symbol_count());
        let along = self.indices.len() + axis;
        let form = |index| Some(LinearForm::of(guards.result(index).ok()?, dims, symbols));
        let is_uniform = |lhs: usize| {
            let (Some(Some(lhs_form)), Some(Some(rhs_form))) = (form(lhs), form(lhs + 1)) else {
                // A guard that is no sum may still be independent of the axis.
                return [lhs, lhs + 1].iter().all(|&side| {
                    guards
                        .result(side)
                        .is_ok_and(|expression| !expression.is_function_of_dim(along))
                });
            };
            let mut rest = gcd(0, lhs_form.constant - rhs_form.constant);
            let symbols = lhs_form.symbols.iter().zip(&rhs_form.symbols).zip(&self.limits);
            for ((lhs, rhs), limit) in symbols {
                rest = gcd(rest, (lhs - rhs) * limit);
            }
            for (dim, (lhs, rhs)) in lhs_form.dims.iter().zip(&rhs_form.dims).enumerate() {
                if dim != along {
                    rest = gcd(rest, (lhs - rhs) * self.indices.get(dim).unwrap_or(&1));
                }
            }
            match lhs_form.dims[along] - rhs_form.dims[along] {
                0 => true,
                1 => rest % vector == 0,
                _ => false,
            }
        };
        (0..guards.result_count()).step_by(2).all(is_uniform)
    }
}

/// What an access's byte address is made of.
struct Address {
    /// What divides the base, the offset and what constants add.
    constant: i64,
    /// What divides each index's contribution.
    indices: Vec<i64>,
    /// Bytes by which one step along each tile axis moves the address, where that is known.
    steps: Vec<Option<i64>>,
    /// What divides that number of bytes.
    step_divisors: Vec<i64>,
}

impl Address {
    /// `None` if the address is not known to be a sum.
    fn of(access: &Access<'_, '_>, bytes: i64) -> Option<Self> {
        let dims = access.map.dim_count();
        let (strides, offset) = types::strides_and_offset(access.buffer.r#type())?;
        let mut constant = gcd(access.alignment, offset?.checked_mul(bytes)?);
        let mut known = vec![0_i64; dims];
        let mut unknown = vec![0_i64; dims];
        for (axis, stride) in strides.into_iter().enumerate() {
            let form = LinearForm::of(access.map.result(axis).ok()?, dims, 0)?;
            let step = stride.map(|stride| stride * bytes);
            constant = gcd(
                constant,
                step.unwrap_or(access.alignment).checked_mul(form.constant)?,
            );
            for (dim, &coefficient) in form.dims.iter().enumerate() {
                match step {
                    Some(step) => known[dim] += step.checked_mul(coefficient)?,
                    None => unknown[dim] = gcd(unknown[dim], access.alignment.checked_mul(coefficient)?),
                }
            }
        }
        let indices = access.indices.len();
        let divisor = |dim: usize| gcd(known[dim], unknown[dim]);
        Some(Self {
            constant,
            indices: (0..indices)
                .map(|dim| divisor(dim).checked_mul(access.indices[dim]))
                .collect::<Option<_>>()?,
            steps: (indices..dims)
                .map(|dim| (unknown[dim] == 0).then_some(known[dim]))
                .collect(),
            step_divisors: (indices..dims).map(divisor).collect(),
        })
    }

    fn is_contiguous(&self, axis: usize, bytes: i64) -> bool {
        self.steps.get(axis) == Some(&Some(bytes))
    }

    /// What divides the address, without what the coordinate along `axis` adds.
    fn divisor_but(&self, axis: usize) -> i64 {
        let other_steps = self
            .step_divisors
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != axis)
            .map(|(_, divisor)| divisor);
        self.indices
            .iter()
            .chain(other_steps)
            .fold(self.constant, |divisor, term| gcd(divisor, *term))
    }
}

/// A divisor of a scalar; 0 stands for the value 0, which everything divides.
fn divisor(value: Value<'_, '_>) -> i64 {
    let Some(op) = OperationResult::try_from(value).ok().map(|result| result.owner()) else {
        return 1;
    };
    let operand = |index| op.operand(index).map_or(1, |operand| divisor(operand));
    match op_name(op) {
        "arith.constant" => op
            .attribute("value")
            .and_then(IntegerAttribute::try_from)
            .map_or(1, |constant| gcd(0, constant.value())),
        "arith.muli" => operand(0).checked_mul(operand(1)).unwrap_or(1),
        "arith.addi" | "arith.subi" => gcd(operand(0), operand(1)),
        "memref.dim" => row_length_divisor(op).unwrap_or(1),
        _ => 1,
    }
}

/// A divisor of `memref.dim` where it asks for the last axis of a contiguous buffer with dynamic rows: their length is
/// the stride of the axis before it, too, which is a multiple of the buffer's alignment.
fn row_length_divisor(dim: OperationRef<'_, '_>) -> Option<i64> {
    let buffer = dim.operand(0).ok()?;
    let axis = OperationResult::try_from(dim.operand(1).ok()?)
        .ok()?
        .owner()
        .attribute("value")
        .ok()?;
    let axis = usize::try_from(IntegerAttribute::try_from(axis).ok()?.value()).ok()?;
    let ty = buffer.r#type();
    let rank = types::shape(ty)?.len();
    let bytes = types::element_bytes(types::element(ty))?;
    (types::is_contiguous(ty) && rank >= 2 && axis + 1 == rank).then(|| alignment(buffer) / bytes)
}

/// Bytes that divide the buffer's base address and dynamic strides: the kernel's launch says so for its parameters; of
/// anything else only its elements' natural alignment is known.
fn alignment(buffer: Value<'_, '_>) -> i64 {
    let natural = || types::element_bytes(types::element(buffer.r#type())).unwrap_or(1);
    promised_alignment(buffer).unwrap_or_else(natural)
}

fn promised_alignment(buffer: Value<'_, '_>) -> Option<i64> {
    let argument = BlockArgument::try_from(buffer).ok()?;
    let kernel = argument.owner().parent_operation()?;
    let launch: Attribute<'_> = kernel.attribute(attributes::kernel::LAUNCH).ok()?;
    let alignments = LaunchAttr::from_attribute(launch)?.alignments();
    alignments.get(argument.argument_number()).copied()
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The largest power of two that divides `value`, which is at most [`ACCESS_BYTES`].
fn power_of_two_in(value: i64) -> i64 {
    1 << value.trailing_zeros().min(ACCESS_BYTES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::{gcd, power_of_two_in};

    #[test]
    fn zero_is_divided_by_everything() {
        assert_eq!(gcd(0, 24), 24);
        assert_eq!(gcd(0, -24), 24);
        assert_eq!(power_of_two_in(0), 16);
    }

    #[test]
    fn powers_of_two_stop_at_the_widest_access() {
        assert_eq!(power_of_two_in(24), 8);
        assert_eq!(power_of_two_in(4096), 16);
        assert_eq!(power_of_two_in(3), 1);
    }
}
