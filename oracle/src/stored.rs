//! The memory of a tensor between two statements.

use std::ops::Range;

use norma_bundle::Element;

use crate::error::OracleError;
use crate::layout::Layout;
use crate::part::Part;
use crate::program::grid::Data;
use crate::rounding::round_narrow;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// How many points are evaluated at once.
const CHUNK: i64 = 1 << 20;

/// A tensor that is being written.
pub(crate) struct Stored {
    element: Element,
    layout: Layout,
    data: Data,
    ulps: f64,
}

impl Stored {
    /// A tensor of that layout that holds what `before` held; without that, NaN, or -1 for integers.
    pub fn new(element: Element, layout: Layout, before: Option<&Tensor<'_>>) -> Self {
        let count = layout
            .span()
            .and_then(|span| usize::try_from(span).ok())
            .unwrap_or(0);
        let places: Vec<i64> = (0..count as i64).collect();
        let data = before.and_then(|tensor| tensor.at(&places));
        Stored {
            element,
            layout,
            data: data.unwrap_or_else(|| match element.is_float() {
                true => Data::exact(vec![f64::NAN; count]),
                false => Data::Integer(vec![-1; count]),
            }),
            ulps: before.map_or(arithmetic_ulps(1, Order::Tree), |tensor| tensor.ulps),
        }
    }

    /// Evaluates `part` and stores it, rounded to the element type.
    pub fn write(&mut self, part: &Part<'_>) -> Result<(), OracleError> {
        self.ulps = self.ulps.max(part.ulps());
        for region in chunks(&part.extents()) {
            let elements = part.evaluate(&self.layout, &region)?;
            let data = rounded(self.element, part.ulps(), elements.data);
            self.data
                .scatter(&elements.places, &data)
                .ok_or_else(|| OracleError::Unbound(part.tensor.to_owned()))?;
        }
        Ok(())
    }

    /// What statements read.
    pub fn into_tensor<'a>(self) -> Tensor<'a> {
        Tensor::computed(self.element, self.layout, self.data, self.ulps)
    }
}

fn rounded(element: Element, ulps: f64, mut data: Data) -> Data {
    if let Data::Float { values, scales } = &mut data {
        if element.is_narrow_float() {
            round_narrow(element, false, Element::F32, ulps, values, scales);
        } else {
            values.iter_mut().for_each(|value| *value = element.round(*value));
        }
    }
    data
}

/// Boxes that make up a space, cut along its first dim.
fn chunks(extents: &[i64]) -> Vec<Vec<Range<i64>>> {
    let whole: Vec<Range<i64>> = extents.iter().map(|extent| 0..*extent).collect();
    let Some(first) = extents.first() else {
        return vec![whole];
    };
    let slice: i64 = extents[1..]
        .iter()
        .fold(1, |points, extent| points.saturating_mul(*extent));
    let step = (CHUNK / slice.max(1)).max(1);
    let starts = (0..*first).step_by(usize::try_from(step).unwrap_or(1));
    starts
        .map(|start| {
            let mut region = whole.clone();
            region[0] = start..(start + step).min(*first);
            region
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_cut_along_their_first_dim() {
        assert_eq!(
            chunks(&[3, CHUNK]),
            [[0..1, 0..CHUNK], [1..2, 0..CHUNK], [2..3, 0..CHUNK]]
        );
        assert_eq!(chunks(&[5, 2]), [[0..5, 0..2]]);
        assert_eq!(chunks(&[]), [Vec::<Range<i64>>::new()]);
        assert!(chunks(&[0, 7]).is_empty());
    }
}
