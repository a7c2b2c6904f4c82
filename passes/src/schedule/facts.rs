//! What a choice of schedule depends on: extents, strides and bytes, without a kernel's ops and names.
//!
//! Two kernels with the same facts get the same schedule. Where only the run knows an extent, a nominal one stands for it:
//! the choice may then be a poor one for other sizes, never a wrong one.

mod vectors;

use std::collections::{BTreeMap, BTreeSet};

use melior::{
    Error,
    ir::{AffineExpr, OperationRef, Value, operation::OperationLike},
};
use norma_dialects::norm::{ReduceOp, WriteOp};
use norma_targets::ACCESS_BYTES;
use vectors::widest;

use super::extents;
use crate::{
    kernel::{
        homomorphism,
        space::{DimSet, Space},
    },
    mlir::types,
};

/// The fewest elements of a vector that is better read as the two words around it than element by element.
const SHORTEST_COVERED: u64 = 4;

/// How reductions use a dim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// None ranges over it: its points are independent.
    Kept,
    /// Some range over it, and all results there are beside them are read off again within a point of it.
    Reduced,
    /// Some range over it, and what others that do not come to varies over it.
    Both,
}

/// One dim.
#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    /// Its extent; nominal where only the run knows it.
    pub extent: u64,
    /// Whether no extent of it is larger, because it is static or bounded: a tile of so many points holds all of it.
    pub is_known: bool,
    /// How reductions use it, and scans, which count as such.
    pub usage: Use,
    /// Whether a CTA has to come by all of its points: a scan is along it, or a reduction over it has several results.
    pub is_whole: bool,
    /// Whether it counts the results of a reduction, so that it passes in a loop.
    pub is_counting: bool,
    /// Whether something that a reduction over it contributed to varies over it again, so that a CTA has to hold its points
    /// or to pass over them twice.
    pub is_revisited: bool,
}

/// One access, in the order of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The buffer's position.
    pub buffer: usize,
    /// Whether it writes.
    pub is_write: bool,
    /// Bytes of an element.
    pub bytes: u64,
    /// By dim, whether the access uses it.
    pub uses: Vec<bool>,
    /// By dim, elements from one point to the next; `None` where that is not known, or no constant.
    pub strides: Vec<Option<i64>>,
    /// Elements from the buffer's base to the element at the dims' origin; `None` where that is not known.
    pub offset: Option<i64>,
    /// The most elements, a power of two, that one access along the contiguous dim may move, and on along the dims of its run.
    pub vector: u64,
    /// The same where tiles begin at aligned addresses, wherever rows begin: all that 16 bytes hold, if the buffer is aligned to
    /// them and the run does not decide where rows begin.
    pub vector_if_aligned: u64,
    /// Whether it contributes to a reduction.
    pub contributes: bool,
    /// Whether it is needed again behind a reduction that it contributes to.
    pub is_reused: bool,
    /// For each write and reduction that needs the element itself, and not what was reduced of it.
    pub needed_by: Vec<Need>,
}

/// Something that a loop may have to do: a write, or a reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Its position among the reductions, if it is one.
    pub reduction: Option<usize>,
    /// Positions of the reductions that it waits for, but for those that it needs through other ones alone.
    pub waits_for: BTreeSet<usize>,
}

impl Access {
    /// The dim along which neighbouring points are neighbouring elements.
    pub fn contiguous(&self) -> Option<usize> {
        self.strides.iter().position(|stride| *stride == Some(1))
    }

    /// Bytes that one pass over the whole space moves.
    pub fn total_bytes(&self, dims: &[Dim]) -> f64 {
        dims.iter()
            .zip(&self.uses)
            .filter(|(_, uses)| **uses)
            .map(|(dim, _)| dim.extent as f64)
            .product::<f64>()
            * self.bytes as f64
    }
}

/// One reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// By dim, whether it ranges over it.
    pub over: Vec<bool>,
    /// By dim, whether its result varies over it.
    pub keeps: Vec<bool>,
    /// Bytes of one result: of all values together.
    pub bytes: u64,
    /// Positions of the reductions that have to be complete before it can start, but for those that it needs through other
    /// ones alone.
    pub waits_for: BTreeSet<usize>,
    /// Of those the one that it need not wait for where the schedule merges reductions.
    pub follows: Option<usize>,
}

/// A kernel's facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The dims, in the kernel's order.
    pub dims: Vec<Dim>,
    /// The accesses.
    pub accesses: Vec<Access>,
    /// The reductions.
    pub reductions: Vec<Reduction>,
    /// How many buffers the kernel has.
    pub buffers: usize,
    /// Points at which ops are computed, of all ops together.
    pub work: f64,
}

impl Facts {
    /// Reads them off a kernel that has not been tiled.
    ///
    /// # Errors
    ///
    /// The kernel is not one that its verifier accepts.
    pub fn of(space: &Space<'_, '_>) -> Result<Self, Error> {
        Self::read(space, None)
    }

    /// Whether what an access reads is needed behind the reductions alone.
    pub fn is_late(&self, access: &Access) -> bool {
        let is_behind = !access.is_write && !access.is_reused && !access.contributes;
        is_behind && !self.reductions.is_empty()
    }

    /// The same for another extent of the first kept dim that only the run knows, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Self::of`].
    pub fn with_open_extent(space: &Space<'_, '_>, extent: u64) -> Result<Self, Error> {
        Self::read(space, Some(extent))
    }

    fn read(space: &Space<'_, '_>, open: Option<u64>) -> Result<Self, Error> {
        let count = space.dims.len();
        // By its position in the body, the position of each reduction among the reductions.
        let numbers = (0..space.ops.len())
            .filter(|position| ReduceOp::from_op(space.ops[*position]).is_some())
            .enumerate()
            .map(|(number, position)| (position, number))
            .collect::<BTreeMap<_, _>>();
        let waits_for = |values: &[Value<'_, '_>]| -> BTreeSet<usize> {
            let mut waits = Vec::new();
            for value in values {
                let positions = space.waits_for_last(*value);
                waits.extend(positions.iter().filter_map(|position| numbers.get(&position)));
            }
            waits.into_iter().collect()
        };
        let groups = homomorphism::groups(space);
        let lead_of = |reduction: usize| {
            let leads = |group: &&homomorphism::Group<'_, '_>| {
                let mut followers = group.followers.iter();
                followers.any(|follower| numbers.get(&follower.position) == Some(&reduction))
            };
            let group = groups.iter().find(leads)?;
            numbers.get(&group.lead).copied()
        };
        let reductions = space
            .reductions()
            .into_iter()
            .enumerate()
            .map(|(number, reduce)| {
                let over = space.dims_reduced_by(reduce);
                let kept = reduce
                    .results()
                    .first()
                    .map(|result| space.dims_of(*result))
                    .unwrap_or_default();
                let values = reduce.values();
                Reduction {
                    over: (0..count).map(|dim| over.contains(&dim)).collect(),
                    keeps: (0..count).map(|dim| kept.contains(&dim)).collect(),
                    bytes: values
                        .iter()
                        .map(|value| {
                            types::element_bytes(melior::ir::ValueLike::r#type(value)).unwrap_or(8) as u64
                        })
                        .sum(),
                    waits_for: waits_for(&values),
                    follows: lead_of(number),
                }
            })
            .collect::<Vec<_>>();
        let reused = space.reused_reads();
        let contributing = space.contributing_reads();
        let multiples = (0..count)
            .map(|dim| space.extent_multiple(dim))
            .collect::<Vec<_>>();
        let extents = space.extents.iter().map(static_extent).collect::<Vec<_>>();
        let roots = space
            .ops
            .iter()
            .enumerate()
            .filter(|(_, op)| ReduceOp::from_op(**op).is_some() || WriteOp::from_op(**op).is_some())
            .map(|(position, op)| (numbers.get(&position).copied(), op.operands().collect::<Vec<_>>()))
            .collect::<Vec<_>>();
        let needed_by = |read: usize| {
            let needs = |(_, operands): &&(Option<usize>, Vec<Value<'_, '_>>)| {
                operands
                    .iter()
                    .any(|operand| space.leaves(*operand).contains(read))
            };
            let need = |(reduction, operands): &(Option<usize>, Vec<Value<'_, '_>>)| Need {
                reduction: *reduction,
                waits_for: waits_for(operands),
            };
            roots.iter().filter(needs).map(need).collect()
        };
        let accesses = space
            .ops
            .iter()
            .enumerate()
            .filter_map(|(position, op)| space.access(*op).transpose().map(|access| (position, access)))
            .map(|(position, access)| {
                let access = access?;
                let used = access.dims();
                let strides = access.strides();
                let alignment = space
                    .alignment(access.buffer)
                    .unwrap_or_else(|| access.element_bytes());
                let bytes = access.element_bytes();
                let divisors = space.address_divisors(&access);
                let vector = match (&strides, divisors) {
                    (Some(strides), Some(divisors)) => {
                        widest(strides, &divisors, &extents, &multiples, alignment, bytes)
                    }
                    _ => 1,
                };
                let is_static = strides.as_ref().is_some_and(|strides| {
                    let is_contiguous = strides.dims.contains(&Some(1));
                    is_contiguous && strides.offset.is_some() && strides.dims.iter().all(Option::is_some)
                });
                let vector_if_aligned = match is_static && alignment % ACCESS_BYTES == 0 {
                    true => (ACCESS_BYTES / bytes).max(1),
                    false => vector,
                };
                Ok(Access {
                    buffer: access.buffer,
                    is_write: access.is_write,
                    bytes: bytes as u64,
                    uses: (0..count).map(|dim| used.contains(&dim)).collect(),
                    offset: strides.as_ref().and_then(|strides| strides.offset),
                    strides: match strides {
                        Some(strides) => strides.dims,
                        None => vec![None; count],
                    },
                    vector: vector as u64,
                    vector_if_aligned: vector_if_aligned as u64,
                    contributes: contributing.contains(position),
                    is_reused: reused.contains(&position),
                    needed_by: needed_by(position),
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let dims = extents::dims(space, &reductions, &accesses, open)?;
        let points = |op: &OperationRef<'_, '_>| {
            let operands = op
                .operands()
                .flat_map(|operand| space.dims_of(operand))
                .collect::<DimSet>();
            match operands.is_empty() {
                true => 0.0,
                false => operands.iter().map(|dim| dims[*dim].extent as f64).product(),
            }
        };
        let work = space.ops.iter().map(points).sum();
        Ok(Self {
            dims,
            accesses,
            reductions,
            buffers: space.buffers.len(),
            work,
        })
    }

    /// The access that the tile is laid out for: the one that moves the most bytes, of several the one whose elements are
    /// needed twice, of several the widest. None has its neighbours in other steps of a loop.
    pub fn lead(&self) -> Option<&Access> {
        self.lead_of(|access| access.contiguous().is_none_or(|dim| !self.dims[dim].is_counting))
    }

    /// The one of the accesses that are contiguous along `dim`.
    pub fn lead_along(&self, dim: usize) -> Option<&Access> {
        self.lead_of(|access| access.strides[dim] == Some(1))
    }

    fn lead_of(&self, is_one: impl Fn(&Access) -> bool) -> Option<&Access> {
        let accesses = self.accesses.iter().filter(|access| is_one(access));
        accesses.max_by(|a, b| {
            let weight = |access: &Access| access.total_bytes(&self.dims);
            let rank = |access: &Access| (access.is_reused, !access.is_write, access.vector);
            // What is a few per cent larger does not decide: a residual and its sum are equals.
            let (wa, wb) = (weight(a), weight(b));
            if (wa / wb.max(1.0)).max(wb / wa.max(1.0)) > 1.5 {
                wa.total_cmp(&wb)
            } else {
                rank(a).cmp(&rank(b))
            }
        })
    }

    /// The most elements that one access may move where tiles along `aligned_dim` begin where vectors of the leading access
    /// along it are aligned.
    pub fn vector(&self, access: &Access, aligned_dim: Option<usize>) -> u64 {
        let Some((dim, lead)) = aligned_dim.and_then(|dim| Some((dim, self.lead_along(dim)?))) else {
            return access.vector;
        };
        let vector = access.vector_if_aligned.min(lead.vector_if_aligned);
        match access.strides[dim] {
            Some(1) if begin_alike(access, lead) || self.is_only_read(access) => vector,
            // A vector of what begins at other places begins at any element.
            Some(1) => 1,
            _ => access.vector,
        }
    }

    /// Whether `access` is read as the aligned words around its vectors where tiles along `aligned_dim` begin at other places
    /// than its vectors.
    pub fn covers(&self, access: &Access, aligned_dim: usize) -> bool {
        let lead = self.lead_along(aligned_dim);
        access.strides[aligned_dim] == Some(1)
            && lead.is_some_and(|lead| !begin_alike(access, lead))
            && self.is_only_read(access)
    }

    /// Whether the aligned words around vectors of `access` may be read, as the kernel writes nothing of its buffer
    /// (`gl-vectorize-access`).
    fn is_only_read(&self, access: &Access) -> bool {
        let writes = |other: &Access| other.is_write && other.buffer == access.buffer;
        access.vector_if_aligned >= SHORTEST_COVERED && !self.accesses.iter().any(writes)
    }

    /// The fewest bytes that the kernel moves: (read, written).
    pub fn traffic(&self) -> (f64, f64) {
        let mut counted: Vec<&Access> = Vec::new();
        let (mut read, mut written) = (0.0, 0.0);
        for access in &self.accesses {
            let is_same = |other: &&Access| {
                (other.buffer, other.is_write, &other.strides)
                    == (access.buffer, access.is_write, &access.strides)
                    && !access.is_write
            };
            if counted.iter().any(is_same) {
                continue;
            }
            counted.push(access);
            let bytes = access.total_bytes(&self.dims);
            *(if access.is_write { &mut written } else { &mut read }) += bytes;
        }
        (read, written)
    }
}

/// Whether an access begins at the same elements as another one, but for multiples of that one's vector, at every point.
fn begin_alike(access: &Access, lead: &Access) -> bool {
    let vector = lead.vector_if_aligned as i64;
    let alike = |one: &Option<i64>, other: &Option<i64>| {
        one.zip(*other)
            .is_some_and(|(one, other)| (one - other) % vector == 0)
    };
    let mut strides = access.strides.iter().zip(&lead.strides);
    alike(&access.offset, &lead.offset) && strides.all(|(one, other)| alike(one, other))
}

/// The extent of a dim that is a number.
fn static_extent(extent: &AffineExpr<'_>) -> Option<i64> {
    extent.is_constant().then(|| extent.constant_value())
}
