//! Runs: elements that are neighbours in memory and in each thread's registers.
//!
//! Along an axis that moves the address by one element the layout says how long they are. A run that has all of its axis goes on along
//! the axis that moves the address by as much.

use norma_layout::LinearLayout;
use norma_targets::ACCESS_BYTES;

use crate::gl::quotient_form::{Quotient, QuotientForm};

use super::address::Address;

/// Elements that are neighbours in memory and in each thread's registers.
pub struct Run {
    /// The dim along which a vector of them ends.
    pub along: usize,
    /// The dims of which each vector has all, the contiguous one first.
    within: Vec<usize>,
    /// The elements of these.
    pub of_within: i64,
    /// The elements of the longest vector.
    pub elements: i64,
}

impl Run {
    /// What divides each dim of an access at the start of a vector, where `indices` divide the dims before the tile's axes, `rank` of
    /// them; 0 is what only 0 is a multiple of.
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
    /// The layout that gives its elements to registers.
    pub layout: &'l LinearLayout,
    /// The dim of the access that is its first axis; those before are indices.
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

    /// The run that goes on behind another one, where that has all of an axis, along axes each of which moves the address by what lies
    /// before it. Neither guards nor quotients may depend on where within the shorter run an element lies.
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

    /// Its axes, as dims of the access.
    fn axes(&self) -> std::ops::Range<usize> {
        self.first_axis..self.first_axis + self.layout.rank()
    }

    /// The elements of one access along axes, the fastest first, as far as the layout knows.
    fn elements(&self, dims: &[usize]) -> i64 {
        let axes: Vec<_> = dims.iter().map(|dim| dim - self.first_axis).collect();
        let run = self.layout.contiguous_elements(&axes) as i64;
        run.min(ACCESS_BYTES / self.bytes).max(1)
    }
}
