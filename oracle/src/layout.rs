//! The layout of a tensor in memory.

/// A tensor's extents and its strides in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The extent of each dim.
    pub shape: Vec<i64>,
    /// The stride of each dim, in elements.
    pub strides: Vec<i64>,
}

impl Layout {
    /// The row-major layout without padding; `None` if its size does not fit in 64 bits.
    pub fn contiguous(shape: &[i64]) -> Option<Layout> {
        let mut strides = vec![1i64; shape.len()];
        for dim in (1..shape.len()).rev() {
            strides[dim - 1] = strides[dim].checked_mul(shape[dim].max(1))?;
        }
        Some(Layout {
            shape: shape.to_vec(),
            strides,
        })
    }

    /// The coordinates of the element at an offset, in elements, of a layout whose elements do not overlap.
    pub fn coordinates(&self, offset: i64) -> Vec<i64> {
        let mut axes: Vec<usize> = (0..self.shape.len())
            .filter(|axis| self.shape[*axis] > 1)
            .collect();
        axes.sort_by_key(|axis| std::cmp::Reverse(self.strides[*axis]));
        let mut coordinates = vec![0; self.shape.len()];
        let mut rest = offset;
        for axis in axes {
            let stride = self.strides[axis].max(1);
            (coordinates[axis], rest) = (rest / stride, rest % stride);
        }
        coordinates
    }

    /// How many elements lie from the first to the last, holes between them included; 0 for an empty tensor, `None`
    /// if that does not fit in 64 bits or a stride is negative.
    pub fn span(&self) -> Option<i64> {
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape
            .iter()
            .zip(&self.strides)
            .try_fold(1i64, |span, (extent, stride)| {
                if *stride < 0 {
                    None
                } else {
                    span.checked_add((extent - 1).checked_mul(*stride)?)
                }
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_has_the_coordinates_of_its_element() {
        let transposed = Layout {
            shape: vec![3, 1, 4],
            strides: vec![1, 7, 5],
        };
        assert_eq!(transposed.coordinates(2 + 3 * 5), [2, 0, 3]);
        assert_eq!(transposed.coordinates(0), [0, 0, 0]);
    }

    #[test]
    fn a_span_includes_holes() {
        let strided = Layout {
            shape: vec![3, 4],
            strides: vec![10, 1],
        };
        assert_eq!(strided.span(), Some(24));
        assert_eq!(
            Layout {
                shape: vec![3, 0],
                strides: vec![10, 1]
            }
            .span(),
            Some(0)
        );
        assert_eq!(
            Layout {
                shape: vec![3],
                strides: vec![i64::MAX]
            }
            .span(),
            None
        );
        assert_eq!(
            Layout {
                shape: vec![3, 4],
                strides: vec![0, 1]
            }
            .span(),
            Some(4)
        );
    }
}
