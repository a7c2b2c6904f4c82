//! The sizes of tensors that are known only at launch: their names, and the tensors described with them.

mod classes;
mod names;
mod tensors;

use norma_bundle::manifest::Symbol;
use norma_bundle::{Element, Expression};

use super::host::Buffer;

pub(super) use names::name_sizes;
pub(super) use tensors::tensors;

/// The sizes of a host function's tensors, and where a launcher reads them.
pub(super) struct Sizes {
    /// For each tensor and dim, its extent.
    pub shapes: Vec<Vec<Expression>>,
    /// For each tensor and dim, its stride in elements.
    pub strides: Vec<Vec<Expression>>,
    /// Where a launcher reads each symbol.
    pub symbols: Vec<Symbol>,
}

impl Sizes {
    /// The extent of an axis of a buffer.
    pub fn size(&self, buffer: &Buffer, axis: usize) -> Option<Expression> {
        let shape = self.shapes.get(buffer.tensor)?;
        let extents = buffer
            .groups
            .get(axis)?
            .iter()
            .map(|dim| shape.get(*dim).cloned());
        extents.reduce(|a, b| Some(a? * b?)).flatten()
    }

    /// The bytes of a tensor without gaps.
    pub fn bytes(&self, tensor: usize, element: Element) -> Option<Expression> {
        let shape = self.shapes.get(tensor)?.iter().cloned();
        Some(shape.fold(Expression::Integer(1), |product, extent| product * extent) * element.bytes() as i64)
    }

    /// The stride of an axis of a buffer, in elements: that of the innermost of its dims whose extent is not 1, which is the
    /// definition of `memref.collapse_shape`.
    pub fn stride(&self, buffer: &Buffer, axis: usize) -> Option<Expression> {
        let dims = buffer.groups.get(axis)?;
        let has_steps = |dim: &&usize| self.shapes[buffer.tensor][**dim].as_integer() != Some(1);
        let innermost = dims.iter().rev().find(has_steps).or(dims.first())?;
        self.strides.get(buffer.tensor)?.get(*innermost).cloned()
    }
}
