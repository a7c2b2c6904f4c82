//! The byte address of an access as a sum of terms, and what divides it.

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

/// What an access's byte address is made of, besides the base.
pub struct Address {
    /// The part whose strides are constants, in bytes.
    pub fixed: QuotientForm,
    /// Parts that are each to be multiplied by a stride, with what divides it, in bytes.
    pub runtime: Vec<(QuotientForm, i64)>,
    /// What divides the base, in bytes.
    pub alignment: i64,
}

impl Address {
    /// The address that `map` gives in a buffer of elements of `bytes` bytes; `None` if it is not known to be a form.
    pub fn of(buffer: Value<'_, '_>, map: AffineMap<'_>, bytes: i64) -> Option<Self> {
        let dims = map.dim_count();
        let ty = buffer.r#type();
        let alignment = alignment(buffer);
        let (strides, offset) = types::strides_and_offset(ty)?;
        let rank = strides.len();
        // The strides of rows without gaps are products of sizes.
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

    /// The bytes by which a step of dim `along` moves the address, but for what quotients do; `None` where only the run knows them.
    pub fn stride(&self, along: usize) -> Option<i64> {
        let is_fixed = self.runtime.iter().all(|(form, _)| form.dims[along] == 0);
        is_fixed.then_some(self.fixed.dims[along])
    }

    /// All quotients in it.
    pub fn quotients(&self) -> impl Iterator<Item = &Quotient> {
        let forms = std::iter::once(&self.fixed).chain(self.runtime.iter().map(|(form, _)| form));
        forms.flat_map(|form| form.quotients.iter().map(|(_, quotient)| quotient))
    }

    /// What divides the address where `dims` divide the dims, in bytes.
    pub fn divisor(&self, dims: &[i64]) -> i64 {
        let of_form = |form| divisibility::of_form(form, dims, &[]);
        let runtime = self
            .runtime
            .iter()
            .map(|(form, stride)| of_form(form).checked_mul(*stride).unwrap_or(1));
        runtime.fold(gcd(self.alignment, of_form(&self.fixed)), gcd)
    }
}

/// What divides the byte address that `map` gives in a buffer of elements of `bytes` bytes, where `dims` divide the map's dims;
/// `None` if the address is no sum of multiples of them and of their quotients.
pub fn address_divisor(buffer: Value<'_, '_>, map: AffineMap<'_>, dims: &[i64], bytes: i64) -> Option<i64> {
    Some(Address::of(buffer, map, bytes)?.divisor(dims))
}

/// The largest power of two that divides `value`, which is at most [`ACCESS_BYTES`].
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
