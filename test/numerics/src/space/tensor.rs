//! A tensor of a drawn program: how its axes follow from dims, and its layout in memory.

use norma_bundle::Element;

use super::program::Dim;

/// A tensor and its layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The type of its elements.
    pub element: Element,
    /// How it is accessed: one coordinate per axis.
    pub axes: Vec<Axis>,
    /// The layout; `None` for row-major without gaps.
    pub layout: Option<Layout>,
    /// The alignment of its address in bytes; `None` for the default.
    pub align: Option<i64>,
}

/// A coordinate as a function of dims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The dim itself.
    Dim(usize),
    /// `outer * extent(inner) + inner`, of static dims.
    Pair {
        /// The slower dim.
        outer: usize,
        /// The faster dim.
        inner: usize,
    },
    /// `outer * extent(inner) + inner`, which a guard keeps below `end`.
    Blocks {
        /// The dim over blocks.
        outer: usize,
        /// The dim within a block.
        inner: usize,
        /// The extent of the axis.
        end: i64,
    },
    /// The dim plus a constant, which leaves that many elements before the first; of a static dim.
    Shifted(usize, i64),
    /// The sum of two static dims, as in a sliding window.
    Sum(usize, usize),
    /// The reversed coordinate of a static dim.
    Reversed(usize),
    /// A static dim divided by a constant, rounded down: neighbours share an element.
    Quotient(usize, i64),
    /// A constant coordinate, along an axis of that extent.
    Constant(i64, i64),
}

/// The layout of a tensor in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The axes from the largest stride to the smallest.
    pub order: Vec<usize>,
    /// For each axis, the gap that its stride adds to what the faster axes span, in elements.
    pub gaps: Vec<i64>,
    /// For each axis, whether it is broadcast with stride 0.
    pub is_broadcast: Vec<bool>,
    /// For each axis, whether its stride is dynamic; it is then a multiple of the alignment.
    pub is_open: Vec<bool>,
}

impl Axis {
    /// The dims that it uses.
    pub fn dims(self) -> Vec<usize> {
        match self {
            Self::Dim(dim) | Self::Shifted(dim, _) | Self::Reversed(dim) | Self::Quotient(dim, _) => {
                vec![dim]
            }
            Self::Pair { outer, inner } | Self::Blocks { outer, inner, .. } => vec![outer, inner],
            Self::Sum(one, other) => vec![one, other],
            Self::Constant(..) => vec![],
        }
    }

    /// The extent of the axis.
    pub fn extent(self, dims: &[Dim]) -> i64 {
        let extent = |dim: usize| dims[dim].extent;
        match self {
            Self::Dim(dim) | Self::Reversed(dim) => extent(dim),
            Self::Pair { outer, inner } => extent(outer) * extent(inner),
            Self::Blocks { end, .. } => end,
            Self::Shifted(dim, by) => extent(dim) + by,
            Self::Sum(one, other) => extent(one) + extent(other) - 1,
            Self::Quotient(dim, by) => (extent(dim) + by - 1) / by,
            Self::Constant(_, extent) => extent,
        }
    }

    /// Whether the extent is dynamic.
    pub fn is_dynamic(self, dims: &[Dim]) -> bool {
        matches!(self, Self::Dim(dim) if dims[dim].is_dynamic)
    }

    /// The coordinate as text in an access.
    pub fn text(self, dims: &[Dim]) -> String {
        match self {
            Self::Dim(dim) => format!("%d{dim}"),
            Self::Pair { outer, inner } | Self::Blocks { outer, inner, .. } => {
                format!("%d{outer} * {} + %d{inner}", dims[inner].extent)
            }
            Self::Shifted(dim, by) => format!("%d{dim} + {by}"),
            Self::Sum(one, other) => format!("%d{one} + %d{other}"),
            Self::Reversed(dim) => format!("-%d{dim} + {}", dims[dim].extent - 1),
            Self::Quotient(dim, by) => format!("%d{dim} floordiv {by}"),
            Self::Constant(at, _) => at.to_string(),
        }
    }

    /// The axis after `dim` is removed and later dims are renumbered; `None` if it used that dim alone.
    pub fn without(self, dim: usize) -> Option<Self> {
        let moved = |other: usize| if other > dim { other - 1 } else { other };
        if !self.dims().contains(&dim) {
            return Some(match self {
                Self::Dim(other) => Self::Dim(moved(other)),
                Self::Pair { outer, inner } => Self::Pair {
                    outer: moved(outer),
                    inner: moved(inner),
                },
                Self::Blocks { outer, inner, end } => Self::Blocks {
                    outer: moved(outer),
                    inner: moved(inner),
                    end,
                },
                Self::Shifted(other, by) => Self::Shifted(moved(other), by),
                Self::Sum(one, other) => Self::Sum(moved(one), moved(other)),
                Self::Reversed(other) => Self::Reversed(moved(other)),
                Self::Quotient(other, by) => Self::Quotient(moved(other), by),
                Self::Constant(at, extent) => Self::Constant(at, extent),
            });
        }
        let left: Vec<usize> = self.dims().into_iter().filter(|other| *other != dim).collect();
        left.first().map(|other| Self::Dim(moved(*other)))
    }
}

impl Tensor {
    /// The extents in the run.
    pub fn shape(&self, dims: &[Dim]) -> Vec<i64> {
        self.axes.iter().map(|axis| axis.extent(dims)).collect()
    }

    /// The strides in the run, in elements.
    pub fn strides(&self, dims: &[Dim]) -> Vec<i64> {
        let shape = self.shape(dims);
        let dense = Layout::dense(shape.len());
        let layout = self.layout.as_ref().unwrap_or(&dense);
        let unit = self
            .align
            .map_or(16, |align| align / self.element.bytes() as i64)
            .max(1);
        let mut strides = vec![0; shape.len()];
        let mut span = 1;
        for axis in layout.order.iter().rev().copied() {
            if layout.is_broadcast[axis] {
                continue;
            }
            strides[axis] = span + layout.gaps[axis];
            if layout.is_open[axis] {
                strides[axis] = (strides[axis] + unit - 1) / unit * unit;
            }
            // A static stride is computed as if a dynamic axis had at least two points.
            let fewest = if self.axes[axis].is_dynamic(dims) { 2 } else { 1 };
            span = strides[axis] * shape[axis].max(fewest);
        }
        strides
    }

    /// The tensor type, with the extents that are static.
    pub fn ty(&self, dims: &[Dim]) -> String {
        format!("tensor<{}{}>", self.extents(dims), self.element.name())
    }

    /// The memref type that describes its layout; `None` if it is row-major without gaps.
    pub fn buffer(&self, dims: &[Dim]) -> Option<String> {
        let layout = self.layout.as_ref()?;
        let strides: Vec<String> = self
            .strides(dims)
            .iter()
            .zip(&layout.is_open)
            .map(|(stride, is_open)| match is_open {
                true => "?".to_owned(),
                false => stride.to_string(),
            })
            .collect();
        Some(format!(
            "memref<{}{}, strided<[{}]>>",
            self.extents(dims),
            self.element.name(),
            strides.join(", ")
        ))
    }

    /// The coordinates as text in an access.
    pub fn access(&self, dims: &[Dim]) -> String {
        let coordinates: Vec<String> = self.axes.iter().map(|axis| axis.text(dims)).collect();
        coordinates.join(", ")
    }

    /// The dims that an access uses.
    pub fn dims(&self) -> Vec<usize> {
        self.axes.iter().flat_map(|axis| axis.dims()).collect()
    }

    /// The attribute with the known multiples of dynamic extents, if there are any.
    pub fn multiples(&self, dims: &[Dim]) -> Option<String> {
        let of = |axis: &Axis| match axis {
            Axis::Dim(dim) if dims[*dim].is_dynamic => dims[*dim].multiple,
            _ => 1,
        };
        let multiples: Vec<i64> = self.axes.iter().map(of).collect();
        let texts: Vec<String> = multiples.iter().map(i64::to_string).collect();
        let is_said = multiples.iter().any(|multiple| *multiple != 1);
        is_said.then(|| format!("array<i64: {}>", texts.join(", ")))
    }

    fn extents(&self, dims: &[Dim]) -> String {
        let extent = |axis: &Axis| match axis.is_dynamic(dims) {
            true => "?x".to_owned(),
            false => format!("{}x", axis.extent(dims)),
        };
        self.axes.iter().map(extent).collect()
    }
}

impl Layout {
    /// Row-major without gaps.
    pub fn dense(rank: usize) -> Self {
        Self {
            order: (0..rank).collect(),
            gaps: vec![0; rank],
            is_broadcast: vec![false; rank],
            is_open: vec![false; rank],
        }
    }
}
