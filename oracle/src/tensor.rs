//! A tensor that statements read: a stored input, or the result of an earlier statement.

use std::rc::Rc;

use norma_bundle::Element;

use crate::layout::Layout;
use crate::program::grid::Data;
use crate::scaled::Scaled;
use crate::tolerance::{Order, arithmetic_ulps};

/// A tensor with its elements.
#[derive(Clone, Debug)]
pub struct Tensor<'a> {
    /// The element type.
    pub element: Element,
    /// Extents and strides.
    pub layout: Layout,
    content: Content<'a>,
    /// How many ulp of the arithmetic, at their scale, elements may be off.
    pub ulps: f64,
}

/// The storage of a tensor's elements.
#[derive(Clone, Debug)]
enum Content<'a> {
    /// In memory, from the first one on, little-endian.
    Stored(&'a [u8]),
    /// Computed and rounded to the element type.
    Computed(Rc<Data>),
}

impl<'a> Tensor<'a> {
    /// A tensor in memory: `bytes` hold its elements from the first one on, little-endian.
    pub fn stored(element: Element, layout: Layout, bytes: &'a [u8]) -> Self {
        Tensor {
            element,
            layout,
            content: Content::Stored(bytes),
            ulps: arithmetic_ulps(1, Order::Tree),
        }
    }

    /// A tensor that a statement computed; `layout` says where its elements lie in `data`.
    pub(crate) fn computed(element: Element, layout: Layout, data: Data, ulps: f64) -> Self {
        Tensor {
            element,
            layout,
            content: Content::Computed(Rc::new(data)),
            ulps,
        }
    }

    /// Whether every element lies within the memory.
    pub(crate) fn is_whole(&self) -> bool {
        let held = match &self.content {
            Content::Stored(bytes) => bytes.len() / self.element.bytes(),
            Content::Computed(data) => data.len(),
        };
        let span = self.layout.span().and_then(|span| usize::try_from(span).ok());
        span.is_some_and(|span| span <= held)
    }

    /// The number at an index, an integer as a float; NaN outside of the memory.
    pub(crate) fn number_at(&self, index: &[i64]) -> Scaled {
        let place = index.iter().zip(&self.layout.strides);
        let place = place.map(|(index, stride)| index * stride).sum();
        let found = self.at(&[place]);
        let number = found.and_then(|data| match &data {
            Data::Float { .. } => data.floats().next(),
            Data::Integer { values, .. } => Some(Scaled::exact(*values.first()? as f64)),
        });
        number.unwrap_or(Scaled::exact(f64::NAN))
    }

    /// The elements at `places`, offsets in elements; `None` where one lies outside of the memory.
    pub(crate) fn at(&self, places: &[i64]) -> Option<Data> {
        let bytes = match &self.content {
            Content::Computed(data) => {
                let fits = places
                    .iter()
                    .all(|place| usize::try_from(*place).is_ok_and(|place| place < data.len()));
                return fits.then(|| data.gather(places));
            }
            Content::Stored(bytes) => bytes,
        };
        let patterns = places
            .iter()
            .map(|place| self.element.load(bytes, usize::try_from(*place).ok()?));
        match self.element.integer_bits() {
            None => {
                let decode = |pattern: Option<u64>| pattern.map(|bits| self.element.decode_float(bits));
                Some(Data::exact(patterns.map(decode).collect::<Option<_>>()?))
            }
            Some(_) => {
                let decode =
                    |pattern: Option<u64>| pattern.map(|bits| self.element.wrap_integer(bits as i64));
                Some(Data::integers(patterns.map(decode).collect::<Option<_>>()?))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_beyond_the_memory_are_missed_and_never_read() {
        let layout = Layout {
            shape: vec![2, 3],
            strides: vec![4, 1],
        };
        let bytes = [0u8; 7 * 4];
        let whole = Tensor::stored(Element::F32, layout.clone(), &bytes);
        assert!(whole.is_whole());
        assert_eq!(whole.at(&[1, 2, 5, 6]).unwrap().len(), 4);
        let short = Tensor::stored(Element::F32, layout, &bytes[..6 * 4]);
        assert!(!short.is_whole());
        assert_eq!(short.at(&[1, 6]), None);
    }
}
