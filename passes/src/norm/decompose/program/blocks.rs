//! Tensors in blocks: an axis whose neighbours share something in runs is two dims, of the runs and of the elements of one.

use melior::ir::{OperationRef, Value};

use super::{Coordinate, Extent, Program, Split};
use crate::mlir::pass::PassError;

/// A program over such a tensor.
pub(in crate::norm::decompose) struct Blocks<'c, 'a> {
    /// The program.
    pub(in crate::norm::decompose) program: Program<'c, 'a>,
    /// Reduced are the dims within a block.
    pub(in crate::norm::decompose) split: Split<'c, 'a>,
    /// Where an element of the tensor lies.
    pub(in crate::norm::decompose) element: Vec<Coordinate<'c, 'a>>,
}

impl<'c: 'a, 'a> Blocks<'c, 'a> {
    /// Begins the definition of `named`, whose first operand has blocks of `block` elements: for each axis so many neighbours, or with
    /// 0 all along it; without numbers the whole tensor is one.
    pub(in crate::norm::decompose) fn begin(
        named: OperationRef<'c, 'a>,
        block: &[i64],
    ) -> Result<Self, PassError<'c>> {
        let of_axes = Program::axes(named)?;
        let size = |axis: usize| block.get(axis).copied().unwrap_or(0);
        let mut extents = Vec::new();
        let mut is_within = Vec::new();
        for (axis, extent) in of_axes.iter().enumerate() {
            match (*extent, size(axis)) {
                (Extent::Static(extent), size) if size > 1 => {
                    extents.extend([Extent::Static(extent / size), Extent::Static(size)]);
                    is_within.extend([false, true]);
                }
                (extent, size) => {
                    extents.push(extent);
                    is_within.push(size == 0);
                }
            }
        }
        let program = Program::begin_over(named, extents)?;
        let mut dims = program.dims().iter().copied();
        let element = (0..of_axes.len()).map_while(|axis| match size(axis) {
            size if size > 1 => Some(Coordinate::Joined {
                outer: dims.next()?,
                size,
                inner: dims.next()?,
            }),
            _ => dims.next().map(Coordinate::Dim),
        });
        Ok(Self {
            element: element.collect(),
            split: program.split_by(|dim| is_within.get(dim).copied().unwrap_or_default()),
            program,
        })
    }

    /// The dims that number blocks: where what a block has one of lies.
    pub(in crate::norm::decompose) fn of_block(&self) -> &[Value<'c, 'a>] {
        &self.split.kept
    }
}
