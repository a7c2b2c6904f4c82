//! What a function promises about its tensors' sizes: one number for each axis.

use melior::ir::{
    Attribute,
    attribute::{ArrayAttribute, DenseI64ArrayAttribute},
};
use norma_bundle::manifest::{SizeNameError, check_size_name};
use norma_dialects::attributes::tensor;

use super::Place;
use crate::mlir::{interval::Interval, pass::PassError, types};

/// The entry of `norm.max` for an axis without an upper bound.
pub(super) const NO_MAXIMUM: i64 = -1;

impl<'c> Place<'c> {
    /// Reads `norm.multiples`: one multiple for each axis. That of a static axis has to divide its extent.
    pub(super) fn multiples(&self, value: Attribute<'c>) -> Result<Vec<i64>, PassError<'c>> {
        let shape = types::shape(self.ty).unwrap_or_default();
        let multiples = self.numbers(tensor::MULTIPLES, value)?;
        for (multiple, extent) in multiples.iter().zip(&shape) {
            if *multiple < 1 || extent.is_some_and(|extent| extent % multiple != 0) {
                let message = format!(
                    "expected positive norm.multiples that divide {}, got {value}",
                    self.ty
                );
                return Err(self.wrong(message));
            }
        }
        Ok(multiples)
    }

    /// Checks `norm.sizes` or `norm.dims`, as `attribute` says: one name for each axis, which is empty for an axis of static extent or without
    /// a name.
    pub(super) fn size_names(
        &self,
        attribute: &str,
        value: Attribute<'c>,
    ) -> Result<Attribute<'c>, PassError<'c>> {
        let shape = types::shape(self.ty).unwrap_or_default();
        let wrong = || {
            let message = format!(
                "expected {attribute} to hold a string for each axis of {}, names of sizes for those that are dynamic, and empty for \
                 others, got {value}",
                self.ty
            );
            self.wrong(message)
        };
        let names = ArrayAttribute::try_from(value).map_err(|_| wrong())?;
        if names.len() != shape.len() {
            return Err(wrong());
        }
        for (axis, extent) in shape.iter().enumerate() {
            let name = names.element(axis).map_err(|_| wrong())?;
            let name = norma_dialects::string(name).map_err(|_| wrong())?;
            if name.is_empty() {
                continue;
            }
            match check_size_name(name) {
                Ok(()) if extent.is_none() => {}
                Err(reserved @ SizeNameError::Reserved { .. }) => {
                    return Err(self.wrong(format!("{attribute}: {reserved}")));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(value)
    }

    /// An array of one number for each axis.
    pub(super) fn numbers(&self, name: &str, value: Attribute<'c>) -> Result<Vec<i64>, PassError<'c>> {
        let rank = types::shape(self.ty).unwrap_or_default().len();
        let Ok(array) = DenseI64ArrayAttribute::try_from(value) else {
            return Err(self.wrong(format!("expected {name} to be an array of i64, got {value}")));
        };
        if array.len() != rank {
            let got = array.len();
            return Err(self.wrong(format!("expected {rank} numbers in {name}, got {got}")));
        }
        Ok((0..rank)
            .map(|index| array.element(index))
            .collect::<Result<_, _>>()?)
    }

    /// The bounds of each extent, from `norm.min` and `norm.max`; empty if neither is given. Those of a static axis have to contain
    /// its extent.
    pub(super) fn bounds(
        &self,
        least: Option<Vec<i64>>,
        most: Option<Vec<i64>>,
    ) -> Result<Vec<Interval>, PassError<'c>> {
        if least.is_none() && most.is_none() {
            return Ok(Vec::new());
        }
        let shape = types::shape(self.ty).unwrap_or_default();
        let number = |numbers: &Option<Vec<i64>>, axis: usize| Some(*numbers.as_ref()?.get(axis)?);
        let axis = |axis: usize| {
            let least = number(&least, axis).unwrap_or(0);
            let most = match number(&most, axis) {
                None | Some(NO_MAXIMUM) => i64::MAX,
                Some(most) => most,
            };
            let holds = |extent: i64| (least..=most).contains(&extent);
            if least < 0 || least > most || !shape[axis].is_none_or(holds) {
                let ty = self.ty;
                let message = format!(
                    "expected norm.min of at least 0, norm.max of at least that, or -1 for none, that hold for {ty}, got \
                     {least} and {most} for axis {axis}"
                );
                return Err(self.wrong(message));
            }
            Ok(Interval { least, most })
        };
        (0..shape.len()).map(axis).collect()
    }
}
