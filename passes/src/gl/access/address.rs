//! The byte address of an access as a sum of terms, and its divisors.

use melior::ir::{AffineMap, Value, ValueLike};
use norma_targets::ACCESS_BYTES;

use crate::{
    gcd::gcd,
    gl::{
        divisibility::{self, alignment},
        quotient_form::{Quotient, QuotientForm},
    },
    mlir::types,
};

/// The byte address of an access, relative to the buffer's base.
pub struct Address {
    /// The terms whose strides are constants, in bytes.
    pub fixed: QuotientForm,
    /// Terms whose strides are known only at run time: each is a form, to be multiplied by the stride, and a divisor of the
    /// stride in bytes.
    pub runtime: Vec<(QuotientForm, i64)>,
    /// A divisor of the base address, in bytes.
    pub alignment: i64,
}

impl Address {
    /// Returns the address that `map` gives in a buffer of elements of `bytes` bytes; `None` if it cannot be written as
    /// [`QuotientForm`]s.
    pub fn of(buffer: Value<'_, '_>, map: AffineMap<'_>, bytes: i64) -> Option<Self> {
        let dims = map.dim_count();
        let ty = buffer.r#type();
        let alignment = alignment(buffer);
        let (strides, offset) = types::strides_and_offset(ty)?;
        let rank = strides.len();
        // The strides of a contiguous buffer are products of sizes.
        let stride_divisor = |axis: usize| match types::is_contiguous(ty) {
            true => (axis + 1..rank).try_fold(bytes, |product, inner| {
                product.checked_mul(divisibility::size_divisor(buffer, inner))
            }),
            false => Some(alignment),
        };
        let mut fixed = QuotientForm::zero(dims, 0);
        fixed.constant = offset?.checked_mul(bytes)?;
        let mut runtime = Vec::new();
        for (axis, stride) in strides.into_iter().enumerate() {
            let form = QuotientForm::of(map.result(axis).ok()?, dims, 0)?;
            match stride {
                Some(stride) => fixed.add(&form, stride.checked_mul(bytes)?)?,
                None => runtime.push((form, stride_divisor(axis)?)),
            }
        }
        Some(Self {
            fixed,
            runtime,
            alignment,
        })
    }

    /// Returns the bytes by which a step along dim `along` moves the address, apart from quotients; `None` if they are known
    /// only at run time.
    pub fn stride(&self, along: usize) -> Option<i64> {
        let is_fixed = self.runtime.iter().all(|(form, _)| form.dims[along] == 0);
        is_fixed.then_some(self.fixed.dims[along])
    }

    /// All quotients in the address.
    pub fn quotients(&self) -> impl Iterator<Item = &Quotient> {
        let forms = std::iter::once(&self.fixed).chain(self.runtime.iter().map(|(form, _)| form));
        forms.flat_map(|form| form.quotients.iter().map(|(_, quotient)| quotient))
    }

    /// Returns a divisor of the address in bytes, given a divisor of each dim.
    pub fn divisor(&self, dims: &[i64]) -> i64 {
        let of_form = |form| divisibility::of_form(form, dims, &[]);
        let runtime = self
            .runtime
            .iter()
            .map(|(form, stride)| of_form(form).checked_mul(*stride).unwrap_or(1));
        runtime.fold(gcd(self.alignment, of_form(&self.fixed)), gcd)
    }
}

/// Returns a divisor of the byte address that `map` gives in a buffer of elements of `bytes` bytes, given a divisor of each of
/// the map's dims; `None` if the address is not a sum of multiples of the dims and of their quotients.
pub fn address_divisor(buffer: Value<'_, '_>, map: AffineMap<'_>, dims: &[i64], bytes: i64) -> Option<i64> {
    Some(Address::of(buffer, map, bytes)?.divisor(dims))
}

/// The largest power of two, at most [`ACCESS_BYTES`], that divides `value`.
pub fn power_of_two_in(value: i64) -> i64 {
    1 << value.trailing_zeros().min(ACCESS_BYTES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::power_of_two_in;

    #[test]
    fn powers_of_two_stop_at_the_widest_access() {
        assert_eq!(power_of_two_in(0), 16);
        assert_eq!(power_of_two_in(24), 8);
        assert_eq!(power_of_two_in(4096), 16);
        assert_eq!(power_of_two_in(3), 1);
    }
}
