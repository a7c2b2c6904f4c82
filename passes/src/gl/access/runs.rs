//! Runs: elements that are neighbours in memory and in each thread's registers.
//!
//! The layout says how long runs are along the axis whose stride is one element. A run that covers all of its axis continues
//! along the axis whose stride equals the run's length.

use norma_layout::LinearLayout;
use norma_targets::ACCESS_BYTES;

use crate::gl::quotient_form::{Quotient, QuotientForm};

use super::address::Address;

/// Elements that are neighbours in memory and in each thread's registers.
pub struct Run {
    /// The outermost dim of a vector, which the vector need not cover.
    pub along: usize,
    /// The dims that each vector covers completely, the contiguous one first.
    within: Vec<usize>,
    /// The number of elements that the dims of `within` span.
    pub of_within: i64,
    /// The number of elements of the longest vector.
    pub elements: i64,
}

impl Run {
    /// The dims of a vector, which are axes of the tile.
    pub fn dims(&self) -> impl Iterator<Item = usize> {
        self.within.iter().copied().chain([self.along])
    }

    /// Returns a divisor of each dim of an access at the start of a vector of `vector` elements. `indices` are divisors of the
    /// dims before the tile's `rank` axes. A divisor of 0 says that the dim is 0.
    pub fn divisors(&self, vector: i64, indices: &[i64], rank: usize) -> Vec<i64> {
        let mut divisors = indices.to_vec();
        divisors.resize(indices.len() + rank, 1);
        for dim in &self.within {
            divisors[*dim] = 0;
        }
        divisors[self.along] = vector / self.of_within;
        divisors
    }
}

/// The tile of an access.
pub struct Tile<'l> {
    /// The layout that assigns its elements to registers.
    pub layout: &'l LinearLayout,
    /// The dim of the access map that is the tile's first axis; the dims before it are indices.
    pub first_axis: usize,
    /// Bytes of an element.
    pub bytes: i64,
}

impl Tile<'_> {
    /// The runs along single axes.
    pub fn runs(&self, address: &Address) -> impl Iterator<Item = Run> {
        let is_contiguous = |along: &usize| address.stride(*along) == Some(self.bytes);
        self.axes().filter(is_contiguous).map(|along| Run {
            along,
            within: Vec::new(),
            of_within: 1,
            elements: self.elements(&[along]),
        })
    }

    /// Returns the run that continues `run`, where that covers all of its axis, along further axes whose strides equal the
    /// bytes covered so far; `None` if there is none. Neither guards nor quotients may depend on the position within the
    /// shorter run.
    pub fn joined(&self, run: &Run, address: &Address, guards: &[QuotientForm]) -> Option<Run> {
        let extent = |dim: usize| self.layout.shape()[dim - self.first_axis];
        let decides = |dim: usize| {
            let in_quotient = |quotient: &Quotient| quotient.numerator.uses_dim(dim);
            guards.iter().any(|guard| guard.uses_dim(dim)) || address.quotients().any(in_quotient)
        };
        let mut joined = Run {
            along: run.along,
            within: Vec::new(),
            of_within: 1,
            elements: run.elements,
        };
        while !decides(joined.along) {
            let reached = joined.of_within * extent(joined.along);
            let is_next = |dim: &usize| {
                address.stride(*dim) == Some(reached * self.bytes)
                    && extent(*dim) > 1
                    && !joined.within.contains(dim)
            };
            let Some(next) = self.axes().find(is_next) else {
                break;
            };
            let dims = [&joined.within[..], &[joined.along, next]].concat();
            let elements = self.elements(&dims);
            if elements <= reached {
                break;
            }
            joined.within.push(joined.along);
            joined.of_within = reached;
            joined.along = next;
            joined.elements = elements;
        }
        (!joined.within.is_empty()).then_some(joined)
    }

    /// The tile's axes, as dims of the access map.
    fn axes(&self) -> std::ops::Range<usize> {
        self.first_axis..self.first_axis + self.layout.rank()
    }

    /// The number of elements that one instruction may access along `dims`, the fastest first, as far as layout and
    /// [`ACCESS_BYTES`] decide.
    fn elements(&self, dims: &[usize]) -> i64 {
        let axes: Vec<_> = dims.iter().map(|dim| dim - self.first_axis).collect();
        let run = self.layout.contiguous_elements(&axes) as i64;
        run.min(ACCESS_BYTES / self.bytes).max(1)
    }
}
