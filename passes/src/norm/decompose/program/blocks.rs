//! Tensors in blocks whose elements share a scale: a blocked axis is two dims, one over the blocks and one over the elements of a block.
//! The last block of an axis may be shorter; then, or where that is known only at run time, a guard says which of its elements there are.
//! Where one element of memory packs two neighbours along the last axis, the latter is two dims again, one over the pairs and one over the
//! two numbers of a pair.

use melior::ir::{OperationRef, Value, operation::OperationLike};

use super::{Coordinate, Extent, Limit, Program, Split};
use crate::mlir::{diagnostic::Diagnostic, pass::PassError};

/// Which tensor of a named op packs two numbers, neighbours along the last axis, into each element.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::norm::decompose) enum Pairs {
    /// None.
    Nowhere,
    /// The first operand.
    InOperand,
    /// A result, not the first operand.
    InResult,
}

/// A program over a tensor of numbers in blocks.
pub(in crate::norm::decompose) struct Blocks<'c, 'a> {
    /// The program.
    pub(in crate::norm::decompose) program: Program<'c, 'a>,
    /// The dims; those within a block are reduced.
    pub(in crate::norm::decompose) split: Split<'c, 'a>,
    /// The coordinates of a number in a tensor of numbers.
    pub(in crate::norm::decompose) element: Vec<Coordinate<'c, 'a>>,
    /// The coordinates of a number in a tensor of pairs.
    pub(in crate::norm::decompose) pair: Vec<Coordinate<'c, 'a>>,
    /// The dim over the two numbers of a pair, the innermost one, if there are pairs.
    pub(in crate::norm::decompose) of_pair: Option<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Blocks<'c, 'a> {
    /// Begins the definition of `named`. `block` holds the size of a block along each axis, or 0 for all of the axis; if it is empty, the
    /// whole tensor is one block. The axes are those of the first operand, the last one twice as long if that operand holds pairs. If there
    /// are pairs, the last axis and its blocks must have even, static extents.
    pub(in crate::norm::decompose) fn begin(
        named: OperationRef<'c, 'a>,
        block: &[i64],
        pairs: Pairs,
    ) -> Result<Self, PassError<'c>> {
        let mut of_axes = Program::axes(named)?;
        if let (Pairs::InOperand, Some(Extent::Static(last))) = (pairs, of_axes.last_mut()) {
            *last *= 2;
        }
        let axes = of_axes.iter().enumerate().map(|(axis, extent)| {
            let is_paired = pairs != Pairs::Nowhere && axis + 1 == of_axes.len();
            Axis::new(*extent, block.get(axis).copied().unwrap_or(0), is_paired)
        });
        let axes = axes.collect::<Option<Vec<_>>>().ok_or_else(|| {
            Diagnostic::internal(named.location(), "expected blocks of even, static extents")
        })?;
        let dims = || axes.iter().flat_map(|axis| axis.dims.iter());
        let mut first = 0;
        let limits = axes.iter().filter_map(|axis| {
            let limit = axis.limit(first);
            first += axis.dims.len();
            limit
        });
        let limits = limits.collect::<Vec<_>>();
        let program = Program::begin_over(named, dims().map(|dim| dim.extent).collect(), &limits)?;
        let is_within: Vec<bool> = dims().map(|dim| dim.is_within).collect();

        let (mut element, mut pair) = (Vec::new(), Vec::new());
        let mut values = program.dims().iter().copied();
        for axis in &axes {
            let of_axis: Vec<_> = values.by_ref().take(axis.dims.len()).collect();
            element.push(axis.coordinate(&of_axis, 1));
            pair.push(axis.coordinate(&of_axis, if axis.is_paired { 2 } else { 1 }));
        }
        let of_pair = match pairs {
            Pairs::Nowhere => None,
            Pairs::InOperand | Pairs::InResult => program.dims().last().copied(),
        };
        Ok(Self {
            split: program.split_by(|dim| is_within.get(dim).copied().unwrap_or_default()),
            program,
            element,
            pair,
            of_pair,
        })
    }

    /// The dims over blocks: the coordinates of a value that exists once for each block.
    pub(in crate::norm::decompose) fn of_block(&self) -> &[Value<'c, 'a>] {
        &self.split.kept
    }
}

/// An axis, divided into dims.
struct Axis {
    /// Its dims, outermost first.
    dims: Vec<Dim>,
    /// Whether the innermost of them is over the two numbers of a pair.
    is_paired: bool,
    /// The numbers along the axis, if the last of its blocks is or may be shorter.
    ends_at: Option<Extent>,
}

/// A dim of an axis.
struct Dim {
    extent: Extent,
    /// The distance between neighbouring points of the dim, in numbers along the axis.
    stride: i64,
    /// Whether the dim is within a block.
    is_within: bool,
}

impl Axis {
    /// Divides an axis into blocks of `size` numbers, or into one block if `size` is 0; `None` if a pair would not lie within one block.
    fn new(extent: Extent, size: i64, is_paired: bool) -> Option<Self> {
        // One block that is shorter than the size is as long as the axis.
        let size = match extent {
            Extent::Static(extent @ 1..) => size.min(extent),
            _ => size,
        };
        let ends_at = match (extent, size) {
            (_, ..2) => None,
            (Extent::Static(extent), size) if extent % size == 0 => None,
            _ => Some(extent),
        };
        let dim = |extent, stride, is_within| Dim {
            extent,
            stride,
            is_within,
        };
        let mut dims = match (extent, size) {
            (extent, size @ 2..) => {
                let runs = match extent {
                    Extent::Static(extent) => {
                        Extent::Static(extent.unsigned_abs().div_ceil(size.unsigned_abs()) as i64)
                    }
                    Extent::Size(axis) => Extent::Runs { axis, length: size },
                    Extent::Runs { .. } => return None,
                };
                vec![dim(runs, size, false), dim(Extent::Static(size), 1, true)]
            }
            (extent, size) => vec![dim(extent, 1, size == 0)],
        };
        if is_paired {
            let innermost = dims.last_mut()?;
            match innermost.extent {
                Extent::Static(numbers) if numbers % 2 == 0 && innermost.is_within => {
                    innermost.extent = Extent::Static(numbers / 2);
                    innermost.stride = 2;
                }
                _ => return None,
            }
            dims.push(dim(Extent::Static(2), 1, true));
        }
        Some(Self {
            dims,
            is_paired,
            ends_at,
        })
    }

    /// The limit of the points of the axis's dims, the first of which is the dim `first`; `None` if all of its blocks are whole. Pairs are
    /// whole: the extent and the size of a block are even.
    fn limit(&self, first: usize) -> Option<Limit> {
        let numbers = if self.is_paired { 2 } else { 1 };
        let terms = self.dims.iter().enumerate();
        let terms = terms.map(|(dim, of_axis)| (first + dim, of_axis.stride / numbers));
        Some(Limit {
            sum: terms.filter(|(_, factor)| *factor > 0).collect(),
            below: match self.ends_at? {
                Extent::Static(extent) => Extent::Static(extent / numbers),
                extent => extent,
            },
        })
    }

    /// The coordinate of a number along the axis, in memory that packs `numbers` numbers into each element. The stride of every dim is a
    /// multiple of `numbers`, except for dims within an element.
    fn coordinate<'c, 'a>(&self, values: &[Value<'c, 'a>], numbers: i64) -> Coordinate<'c, 'a> {
        let terms = values.iter().zip(&self.dims);
        let terms = terms.map(|(value, dim)| (*value, dim.stride / numbers));
        let terms: Vec<_> = terms.filter(|(_, factor)| *factor > 0).collect();
        match terms.as_slice() {
            [(value, 1)] => Coordinate::Dim(*value),
            _ => Coordinate::Joined(terms),
        }
    }
}
