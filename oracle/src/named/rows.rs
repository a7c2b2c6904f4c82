//! Rows of a tensor: an op names the axes that a row lies along, and the other axes number the rows. Also the operands of an
//! op, as broadcast to these rows.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::program::grid::{Data, offsets};
use crate::scaled::{Scaled, sum};
use crate::tensor::Tensor;
use crate::tolerance::{Order, arithmetic_ulps};

/// The axes of a tensor, divided into those along rows and those that number them.
#[derive(Clone, Debug)]
pub struct Rows {
    shape: Vec<i64>,
    /// The axes that number rows, ascending.
    outer: Vec<usize>,
    /// The axes that a row lies along, ascending.
    along: Vec<usize>,
}

/// An operand of an op, broadcast to the tensor whose rows are walked.
#[derive(Clone, Debug)]
pub struct Operand<'a> {
    tensor: Tensor<'a>,
    /// The operand's stride along each axis of that tensor; 0 along axes that it does not vary over.
    strides: Vec<i64>,
}

impl Rows {
    /// Rows along `axes` of a tensor of that shape; a negative axis counts from the end.
    pub fn along(axes: &[i64], shape: &[i64]) -> Result<Rows, String> {
        let mut along = Vec::new();
        for axis in axes {
            let position = position(*axis, shape)?;
            if along.contains(&position) {
                return Err(format!("expected distinct axes, got {axes:?}"));
            }
            along.push(position);
        }
        along.sort_unstable();
        Ok(Rows {
            shape: shape.to_vec(),
            outer: (0..shape.len()).filter(|axis| !along.contains(axis)).collect(),
            along,
        })
    }

    /// The shape of the tensor.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The extents of the axes that number rows.
    pub fn outer_shape(&self) -> Vec<i64> {
        self.outer.iter().map(|axis| self.shape[*axis]).collect()
    }

    /// The extents of the axes of a row.
    pub fn row_shape(&self) -> Vec<i64> {
        self.along.iter().map(|axis| self.shape[*axis]).collect()
    }

    /// The number of elements of a row.
    pub fn length(&self) -> i64 {
        self.row_shape().iter().product()
    }

    /// Whether a row lies along an axis.
    pub fn is_along(&self, axis: usize) -> bool {
        self.along.contains(&axis)
    }

    /// How many leading dims of the tensor number rows.
    pub fn leading(&self) -> usize {
        self.outer
            .iter()
            .enumerate()
            .take_while(|(position, axis)| position == *axis)
            .count()
    }

    /// How many ulp a kernel may be off after a sum over a row. A sum that keeps the innermost axis runs sequentially down
    /// columns.
    pub fn ulps(&self) -> f64 {
        let is_innermost = self.along.last() == self.shape.len().checked_sub(1).as_ref();
        let order = if is_innermost {
            Order::Tree
        } else {
            Order::Sequential
        };
        arithmetic_ulps(self.length(), order)
    }

    /// An operand that varies over `axes` of the tensor and has exactly their extents, in order.
    fn operand<'a>(
        &self,
        name: &str,
        tensor: Tensor<'a>,
        axes: impl Iterator<Item = usize>,
    ) -> Result<Operand<'a>, String> {
        let axes: Vec<usize> = axes.collect();
        let expected: Vec<i64> = axes.iter().map(|axis| self.shape[*axis]).collect();
        if tensor.layout.shape != expected {
            return Err(format!(
                "expected '{name}' of shape {expected:?}, got {:?}",
                tensor.layout.shape
            ));
        }
        let mut strides = vec![0; self.shape.len()];
        for (axis, stride) in axes.iter().zip(&tensor.layout.strides) {
            strides[*axis] = *stride;
        }
        Ok(Operand { tensor, strides })
    }

    /// An operand of the tensor's own shape.
    pub fn whole<'a>(&self, name: &str, tensor: Tensor<'a>) -> Result<Operand<'a>, String> {
        self.operand(name, tensor, 0..self.shape.len())
    }

    /// An operand of the shape of a row, shared by all rows.
    pub fn of_row<'a>(&self, name: &str, tensor: Tensor<'a>) -> Result<Operand<'a>, String> {
        self.operand(name, tensor, self.along.iter().copied())
    }

    /// An operand with one element per row.
    pub fn of_rows<'a>(&self, name: &str, tensor: Tensor<'a>) -> Result<Operand<'a>, String> {
        self.operand(name, tensor, self.outer.iter().copied())
    }

    /// An operand with one element per row, or a single one for all rows.
    pub fn of_rows_or_all<'a>(&self, name: &str, tensor: Tensor<'a>) -> Result<Operand<'a>, String> {
        let axes: &[usize] = match tensor.layout.shape.is_empty() {
            true => &[],
            false => &self.outer,
        };
        self.operand(name, tensor, axes.iter().copied())
    }

    /// An operand that broadcasts to the tensor by NumPy's rules.
    pub fn broadcast<'a>(&self, name: &str, tensor: Tensor<'a>) -> Result<Operand<'a>, String> {
        let (shape, strides) = (&tensor.layout.shape, &tensor.layout.strides);
        let refused = || {
            format!(
                "expected '{name}' to broadcast to {:?}, got {shape:?}",
                self.shape
            )
        };
        let first = self.shape.len().checked_sub(shape.len()).ok_or_else(refused)?;
        let mut found = vec![0; self.shape.len()];
        for (axis, (extent, stride)) in shape.iter().zip(strides).enumerate() {
            if *extent == self.shape[first + axis] {
                found[first + axis] = *stride;
            } else if *extent != 1 {
                return Err(refused());
            }
        }
        Ok(Operand {
            tensor: tensor.clone(),
            strides: found,
        })
    }

    /// A weight or bias: of the shape of a row, or else broadcast.
    pub fn of_row_or_broadcast<'a>(&self, name: &str, tensor: Tensor<'a>) -> Result<Operand<'a>, String> {
        match tensor.layout.shape == self.row_shape() {
            true => self.of_row(name, tensor),
            false => self.broadcast(name, tensor),
        }
    }

    /// An operand with one element per index along one axis.
    pub fn of_axis<'a>(&self, name: &str, tensor: Tensor<'a>, axis: usize) -> Result<Operand<'a>, String> {
        self.operand(name, tensor, std::iter::once(axis))
    }

    /// The indices, in the tensor, of the elements of the row at `index`.
    pub fn elements(&self, index: &[i64]) -> Vec<Vec<i64>> {
        let mut region = vec![0..0; self.shape.len()];
        for (axis, index) in self.outer.iter().zip(index) {
            region[*axis] = *index..index + 1;
        }
        for axis in &self.along {
            region[*axis] = 0..self.shape[*axis];
        }
        indices(&region)
    }

    /// The results of `row` for the rows within `region`, a box of the outer axes, row-major.
    pub fn per_row<T>(&self, region: &[Range<i64>], row: impl FnMut(&[i64]) -> T) -> Vec<T> {
        indices(region).iter().map(Vec::as_slice).map(row).collect()
    }

    /// Sums over all rows. `row` gives the terms of one row, row-major over its axes; `region` is the box of a row's places to
    /// sum at.
    pub fn sums_over_rows(
        &self,
        region: &[Range<i64>],
        row: impl FnMut(&[i64]) -> Vec<Scaled>,
    ) -> Vec<Scaled> {
        let all: Vec<Range<i64>> = self.outer_shape().into_iter().map(|extent| 0..extent).collect();
        let extents = self.row_shape();
        let place = |index: Vec<i64>| {
            let place = index.iter().zip(&extents);
            place.fold(0, |place, (index, extent)| place * extent + index) as usize
        };
        let places: Vec<usize> = indices(region).into_iter().map(place).collect();
        let rows = self.per_row(&all, row);
        let terms = |place: &usize| rows.iter().map(|row| row[*place]).collect::<Vec<_>>();
        places.iter().map(|place| sum(&terms(place))).collect()
    }

    /// The elements within `region`, a box of all axes, row-major. `row` gives all elements of one row, row-major over its
    /// axes.
    pub fn per_element<T: Copy>(
        &self,
        region: &[Range<i64>],
        mut row: impl FnMut(&[i64]) -> Vec<T>,
    ) -> Vec<T> {
        let mut rows: BTreeMap<Vec<i64>, Vec<T>> = BTreeMap::new();
        let element = |index: Vec<i64>| {
            let outer: Vec<i64> = self.outer.iter().map(|axis| index[*axis]).collect();
            let place = self
                .along
                .iter()
                .fold(0, |place, axis| place * self.shape[*axis] + index[*axis]);
            rows.entry(outer).or_insert_with_key(|outer| row(outer))[place as usize]
        };
        indices(region).into_iter().map(element).collect()
    }
}

impl<'a> Operand<'a> {
    /// How many ulp of the arithmetic its elements may be off.
    pub fn ulps(&self) -> f64 {
        self.tensor.ulps
    }

    /// The operand's elements for the row at `index`. Binding made sure that they lie in its memory.
    pub fn elements(&self, rows: &Rows, index: &[i64]) -> Data {
        let base = self.offset(rows, index);
        let extents: Vec<usize> = rows.along.iter().map(|axis| rows.shape[*axis] as usize).collect();
        let strides: Vec<i64> = rows.along.iter().map(|axis| self.strides[*axis]).collect();
        let places = offsets(base, &extents, &strides);
        self.tensor.at(&places).unwrap_or_else(|| Data::exact(Vec::new()))
    }

    /// The operand's floats for the row at `index`.
    pub fn row(&self, rows: &Rows, index: &[i64]) -> Vec<Scaled> {
        self.elements(rows, index).floats().collect()
    }

    /// The operand's integers for the row at `index`.
    pub fn integers(&self, rows: &Rows, index: &[i64]) -> Vec<i64> {
        match self.elements(rows, index) {
            Data::Integer { values, .. } => values,
            Data::Float { .. } => Vec::new(),
        }
    }

    /// The float for the row at `index`, of an operand with one element per row.
    pub fn number_at(&self, rows: &Rows, index: &[i64]) -> Scaled {
        let found = self.tensor.at(&[self.offset(rows, index)]);
        let number = found.and_then(|data| data.floats().next());
        number.unwrap_or(Scaled::exact(f64::NAN))
    }

    /// The integer for the row at `index`, of an operand with one element per row.
    pub fn integer_at(&self, rows: &Rows, index: &[i64]) -> i64 {
        match self.tensor.at(&[self.offset(rows, index)]) {
            Some(Data::Integer { values, .. }) => values.first().copied().unwrap_or_default(),
            _ => 0,
        }
    }

    /// The offset of the operand's first element for the row at `index`.
    fn offset(&self, rows: &Rows, index: &[i64]) -> i64 {
        let along = index.iter().zip(&rows.outer);
        along.map(|(index, axis)| index * self.strides[*axis]).sum()
    }
}

/// The position of an axis of a tensor of that shape; a negative one counts from the end.
pub fn position(axis: i64, shape: &[i64]) -> Result<usize, String> {
    let from_start = if axis < 0 { axis + shape.len() as i64 } else { axis };
    match usize::try_from(from_start) {
        Ok(position) if position < shape.len() => Ok(position),
        _ => Err(format!("expected an axis of {shape:?}, got {axis}")),
    }
}

/// Every index within `region`, row-major.
pub fn indices(region: &[Range<i64>]) -> Vec<Vec<i64>> {
    region.iter().fold(vec![Vec::new()], |indices, range| {
        let extended = |index: Vec<i64>| range.clone().map(move |last| [&index[..], &[last]].concat());
        indices.into_iter().flat_map(extended).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_along_any_axes() {
        let rows = Rows::along(&[-1, 0], &[4, 3, 5]).unwrap();
        assert_eq!((rows.outer_shape(), rows.row_shape()), (vec![3], vec![4, 5]));
        assert_eq!((rows.length(), rows.leading()), (20, 0));
        assert_eq!(Rows::along(&[1, 2], &[4, 3, 5]).unwrap().leading(), 1);
    }

    #[test]
    fn axes_are_there_once() {
        for axes in [&[3][..], &[-4], &[2, -1]] {
            assert!(Rows::along(axes, &[4, 3, 5]).is_err(), "{axes:?}");
        }
    }

    #[test]
    fn elements_of_rows_come_in_the_order_of_the_tensor() {
        let rows = Rows::along(&[0], &[2, 3]).unwrap();
        let numbered = |index: &[i64]| vec![10 * index[0], 10 * index[0] + 1];
        assert_eq!(rows.per_element(&[0..2, 1..3], numbered), [10, 20, 11, 21]);
        assert_eq!(
            rows.per_row(std::slice::from_ref(&(1..3)), |index| index[0]),
            [1, 2]
        );
        let ones = |index: &[i64]| vec![Scaled::exact(index[0] as f64); 2];
        let sums = rows.sums_over_rows(std::slice::from_ref(&(1..2)), ones);
        assert_eq!(sums.iter().map(|sum| sum.value).collect::<Vec<_>>(), [3.0]);
        assert_eq!(indices(&[]), [Vec::<i64>::new()]);
        assert!(indices(&[0..2, 3..3]).is_empty());
    }
}
