//! The memory of a tensor between two statements.

use norma_bundle::Element;

use crate::error::OracleError;
use crate::layout::Layout;
use crate::part::Part;
use crate::program::grid::Data;
use crate::rounding::round_narrow;
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// A tensor that statements are writing.
pub(crate) struct Stored {
    element: Element,
    layout: Layout,
    data: Data,
    ulps: f64,
}

impl Stored {
    /// A tensor of that layout with the contents of `before`; if there is none, of NaN, or of -1 for integers.
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
                false => Data::integers(vec![-1; count]),
            }),
            ulps: before.map_or(arithmetic_ulps(1, Order::Tree), |tensor| tensor.ulps),
        }
    }

    /// Evaluates `part` and stores it, rounded to the element type.
    pub fn write(&mut self, part: &Part<'_>) -> Result<(), OracleError> {
        self.ulps = self.ulps.max(part.ulps());
        for region in part.boxes(&part.whole()) {
            let elements = part.evaluate(&self.layout, &region)?;
            let data = rounded(self.element, part.ulps(), elements.data);
            self.data
                .scatter(&elements.places, &data)
                .ok_or_else(|| OracleError::Unbound(part.tensor.to_owned()))?;
        }
        Ok(())
    }

    /// The tensor, for later statements to read.
    pub fn into_tensor<'a>(self) -> Tensor<'a> {
        Tensor::computed(self.element, self.layout, self.data, self.ulps)
    }
}

fn rounded(element: Element, ulps: f64, mut data: Data) -> Data {
    if let Data::Float { values, scales } = &mut data {
        if element.is_narrow_float() {
            round_narrow(element, Element::F32, ulps, values, scales);
        } else {
            values.iter_mut().for_each(|value| *value = element.round(*value));
        }
    }
    data
}
