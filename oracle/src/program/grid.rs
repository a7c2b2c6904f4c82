//! Arrays over some dims of an iteration space: what the evaluator computes with.

use std::borrow::Cow;

use crate::scaled::{Scaled, UNDEFINED};

/// A value on a box of the iteration space, dense and row-major over the dims it varies over.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The dims of the space it varies over, ascending.
    pub dims: Vec<usize>,
    /// The number of points along each of these dims.
    pub extents: Vec<usize>,
    /// One element per point, row-major.
    pub data: Data,
}

/// The elements of a grid.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Floats of any width, held in f64, each with its scale (see `scaled.rs`).
    Float {
        /// The values.
        values: Vec<f64>,
        /// The magnitude at which each may err; see `scaled.rs` for 0 and for undefined values.
        scales: Vec<f64>,
    },
    /// Integers of any width and booleans (0 and 1).
    Integer {
        /// The values, sign-extended.
        values: Vec<i64>,
        /// How far a kernel's value may be from each; `u64::MAX` if the program leaves the value open.
        slacks: Vec<u64>,
    },
}

impl Data {
    /// Floats that are exact as they stand: stored inputs and constants.
    pub fn exact(values: Vec<f64>) -> Data {
        let scales = vec![0.0; values.len()];
        Data::Float { values, scales }
    }

    /// Integers that are exact as they stand.
    pub fn integers(values: Vec<i64>) -> Data {
        let slacks = vec![0; values.len()];
        Data::Integer { values, slacks }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::Float { values, .. } => values.len(),
            Data::Integer { values, .. } => values.len(),
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The floats with their scales; none if the elements are integers.
    pub(crate) fn floats(&self) -> impl Iterator<Item = Scaled> + '_ {
        let (values, scales): (&[f64], &[f64]) = match self {
            Data::Float { values, scales } => (values, scales),
            Data::Integer { .. } => (&[], &[]),
        };
        let pairs = values.iter().zip(scales);
        pairs.map(|(value, scale)| Scaled {
            value: *value,
            scale: *scale,
        })
    }

    /// The elements at `offsets`, each of which is within the data.
    pub(crate) fn gather(&self, offsets: &[i64]) -> Data {
        match self {
            Data::Float { values, scales } => Data::Float {
                values: offsets.iter().map(|offset| values[*offset as usize]).collect(),
                scales: offsets.iter().map(|offset| scales[*offset as usize]).collect(),
            },
            Data::Integer { values, slacks } => Data::Integer {
                values: offsets.iter().map(|offset| values[*offset as usize]).collect(),
                slacks: offsets.iter().map(|offset| slacks[*offset as usize]).collect(),
            },
        }
    }

    /// Says of the element at `place` that it may be anything.
    pub(crate) fn leave_open(&mut self, place: usize) {
        match self {
            Data::Float { scales, .. } => scales[place] = UNDEFINED,
            Data::Integer { slacks, .. } => slacks[place] = u64::MAX,
        }
    }

    /// Puts `elements` at `offsets`; `None` if one lies outside of the data, or one side holds floats and the other integers.
    pub(crate) fn scatter(&mut self, offsets: &[i64], elements: &Data) -> Option<()> {
        let places = offsets.iter().map(|offset| usize::try_from(*offset).ok());
        match (self, elements) {
            (
                Data::Float { values, scales },
                Data::Float {
                    values: new,
                    scales: new_scales,
                },
            ) => {
                for (place, (value, scale)) in places.zip(new.iter().zip(new_scales)) {
                    let place = place?;
                    *values.get_mut(place)? = *value;
                    *scales.get_mut(place)? = *scale;
                }
            }
            (
                Data::Integer { values, slacks },
                Data::Integer {
                    values: new,
                    slacks: new_slacks,
                },
            ) => {
                for (place, (value, slack)) in places.zip(new.iter().zip(new_slacks)) {
                    let place = place?;
                    *values.get_mut(place)? = *value;
                    *slacks.get_mut(place)? = *slack;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The elements where `is_kept`, which has an entry for each of them, and the only element of `other` elsewhere; `None` if one side
    /// holds floats and the other integers.
    pub(crate) fn replaced(self, is_kept: &[bool], other: &Data) -> Option<Data> {
        let end = i64::try_from(self.len()).ok()?;
        let places = is_kept.iter().zip(0..end);
        let places: Vec<i64> = places
            .map(|(kept, place)| if *kept { place } else { end })
            .collect();
        let are_alike = matches!(self, Data::Float { .. }) == matches!(other, Data::Float { .. });
        are_alike.then(|| self.append(other.clone()).gather(&places))
    }

    /// The elements before `middle`, and those from it on.
    pub(crate) fn split(mut self, middle: usize) -> (Data, Data) {
        let tail = match &mut self {
            Data::Float { values, scales } => Data::Float {
                values: values.split_off(middle),
                scales: scales.split_off(middle),
            },
            Data::Integer { values, slacks } => Data::Integer {
                values: values.split_off(middle),
                slacks: slacks.split_off(middle),
            },
        };
        (self, tail)
    }

    /// `self` followed by `tail`, which is of the same kind.
    pub(crate) fn append(mut self, tail: Data) -> Data {
        match (&mut self, tail) {
            (
                Data::Float { values, scales },
                Data::Float {
                    values: more,
                    scales: more_scales,
                },
            ) => {
                values.extend(more);
                scales.extend(more_scales);
            }
            (
                Data::Integer { values, slacks },
                Data::Integer {
                    values: more,
                    slacks: more_slacks,
                },
            ) => {
                values.extend(more);
                slacks.extend(more_slacks);
            }
            (Data::Float { .. }, Data::Integer { .. }) | (Data::Integer { .. }, Data::Float { .. }) => {
                debug_assert!(false, "parts of one value are of one kind");
            }
        }
        self
    }
}

impl FromIterator<Scaled> for Data {
    fn from_iter<I: IntoIterator<Item = Scaled>>(elements: I) -> Data {
        let pairs = elements.into_iter().map(|element| (element.value, element.scale));
        let (values, scales) = pairs.unzip();
        Data::Float { values, scales }
    }
}

impl Grid {
    /// A value that varies over no dim.
    pub(crate) fn scalar(data: Data) -> Grid {
        Grid {
            dims: Vec::new(),
            extents: Vec::new(),
            data,
        }
    }

    /// The elements broadcast to `dims`, which contain the grid's own.
    pub(crate) fn broadcast(&self, dims: &[usize], extents: &[usize]) -> Cow<'_, Data> {
        if self.dims == dims {
            return Cow::Borrowed(&self.data);
        }
        let strides: Vec<i64> = dims.iter().map(|dim| self.stride(*dim)).collect();
        Cow::Owned(self.data.gather(&offsets(0, extents, &strides)))
    }

    /// The elements reordered so that the dims of `major` vary slowest.
    pub(crate) fn with_major(&self, major: &[usize]) -> Data {
        let leading = |dim: &&usize| major.contains(dim);
        let order = self
            .dims
            .iter()
            .filter(leading)
            .chain(self.dims.iter().filter(|dim| !leading(dim)));
        let (extents, strides): (Vec<usize>, Vec<i64>) =
            order.map(|dim| (self.extent(*dim), self.stride(*dim))).unzip();
        self.data.gather(&offsets(0, &extents, &strides))
    }

    /// The number of points along `dim`; 1 if the grid does not vary over it.
    pub fn extent(&self, dim: usize) -> usize {
        self.dims
            .iter()
            .position(|own| *own == dim)
            .map_or(1, |index| self.extents[index])
    }

    fn stride(&self, dim: usize) -> i64 {
        match self.dims.iter().position(|own| *own == dim) {
            Some(index) => self.extents[index + 1..].iter().product::<usize>() as i64,
            None => 0,
        }
    }
}

/// `base + sum(index * stride)` for every index within `extents`, row-major.
pub fn offsets(base: i64, extents: &[usize], strides: &[i64]) -> Vec<i64> {
    let mut found = vec![base];
    for (extent, stride) in extents.iter().zip(strides) {
        let outer = std::mem::take(&mut found);
        found.reserve(outer.len() * extent);
        for start in outer {
            found.extend((0..*extent as i64).map(|index| start + index * stride));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_row_major() {
        assert_eq!(offsets(5, &[2, 3], &[10, 1]), [5, 6, 7, 15, 16, 17]);
        assert_eq!(offsets(5, &[], &[]), [5]);
        assert!(offsets(5, &[2, 0], &[10, 1]).is_empty());
    }

    #[test]
    fn broadcasting_repeats_along_missing_dims() {
        let row = Grid {
            dims: vec![1],
            extents: vec![2],
            data: Data::integers(vec![7, 8]),
        };
        assert_eq!(*row.broadcast(&[0, 1], &[2, 2]), Data::integers(vec![7, 8, 7, 8]));
        let column = Grid {
            dims: vec![0],
            extents: vec![2],
            data: Data::integers(vec![7, 8]),
        };
        assert_eq!(
            *column.broadcast(&[0, 1], &[2, 2]),
            Data::integers(vec![7, 7, 8, 8])
        );
    }

    #[test]
    fn major_dims_vary_slowest() {
        let grid = Grid {
            dims: vec![0, 1],
            extents: vec![2, 3],
            data: Data::integers((0..6).collect()),
        };
        assert_eq!(grid.with_major(&[1]), Data::integers(vec![0, 3, 1, 4, 2, 5]));
    }
}
