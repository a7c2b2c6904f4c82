//! Outputs that a kernel writes at computed places: which of their elements are reached, and how often.

use std::collections::HashMap;

use norma_bundle::Element;

use crate::error::OracleError;
use crate::layout::Layout;
use crate::memory::{Image, POISON};
use crate::part::Part;
use crate::program::grid::offsets;

/// The most points of a part that are looked at: those of a longer one may reach any element.
const MOST_POINTS: i64 = 1 << 22;

/// How many points reach each element of an output, by its offset in memory.
pub(crate) struct Reached(HashMap<i64, usize>);

impl Reached {
    /// Counts the points of the parts of one output; `None` if no part is at computed places, or if there are too many points.
    pub fn by(parts: &[&Part<'_>], layout: &Layout) -> Result<Option<Self>, OracleError> {
        let points = |part: &Part<'_>| {
            let extents = part.extents();
            let dims = part.dims().into_iter();
            dims.map(|dim| extents[dim]).fold(1, i64::saturating_mul)
        };
        let is_computed = parts.iter().any(|part| part.is_at_computed_places());
        if !is_computed || parts.iter().any(|part| points(part) > MOST_POINTS) {
            return Ok(None);
        }
        let mut counts = HashMap::new();
        for part in parts {
            for region in part.boxes(&part.whole()) {
                for place in part.places(layout, &region)? {
                    *counts.entry(place).or_insert(0) += 1;
                }
            }
        }
        Ok(Some(Self(counts)))
    }

    /// Whether several points reach an element, which then holds the value of any of them.
    pub fn is_contested(&self, place: i64) -> bool {
        self.0.get(&place).is_some_and(|count| *count > 1)
    }

    /// Whether every element that no point reaches still holds the poison.
    pub fn leaves_others(&self, image: &Image, element: Element, layout: &Layout) -> bool {
        let extents: Vec<usize> = layout.shape.iter().map(|extent| *extent as usize).collect();
        let untouched = element.load(&[POISON; 8], 0);
        let all = offsets(0, &extents, &layout.strides);
        let mut others = all.into_iter().filter(|place| !self.0.contains_key(place));
        others.all(|place| {
            let place = usize::try_from(place).ok();
            place.and_then(|place| element.load(image.body(), place)) == untouched
        })
    }
}
