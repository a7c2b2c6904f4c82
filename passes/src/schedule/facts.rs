//! The facts that the choice of a schedule depends on: extents, strides and bytes, without a kernel's ops and names.
//!
//! Two kernels with the same facts get the same schedule. A nominal extent stands for a dynamic one:
//! the choice may then be a poor one for other sizes, never a wrong one.

mod read;
mod vectors;

use std::collections::BTreeSet;

use melior::Error;

use crate::kernel::space::Space;

/// The shortest vector, in elements, for which reading the two aligned words around it is faster than reading element by element.
const SHORTEST_COVERED: u64 = 4;

/// How reductions use a dim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// No reduction ranges over the dim: its points are independent.
    Kept,
    /// A reduction ranges over the dim, and no result of a reduction varies over it.
    Reduced,
    /// A reduction ranges over the dim, and the result of another one varies over it.
    Both,
}

/// One dim.
#[derive(Clone, Debug, PartialEq)]
pub struct Dim {
    /// Its extent; a nominal one if it is dynamic.
    pub extent: u64,
    /// Whether the dim is never larger than `extent`, because it is static or bounded: a tile of so many points holds all of it.
    pub is_known: bool,
    /// Whether nothing is known of its extent, which stands for many points then.
    pub is_assumed: bool,
    /// How reductions use the dim; scans count as reductions.
    pub usage: Use,
    /// Whether a CTA has to visit all points of the dim: a scan is along it, or a reduction over it has several results.
    pub is_whole: bool,
    /// Whether the dim counts the results of a reduction, so that it is a loop.
    pub is_counting: bool,
    /// Whether a value that depends on a reduction over the dim varies over the dim again, so that a CTA has to hold its points or
    /// to pass over them twice.
    pub is_revisited: bool,
}

/// One access, in the order of the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// The buffer's position.
    pub buffer: usize,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether the kernel computes where the element lies, or whether it is accessed: only threads access it, each its own.
    pub is_indirect: bool,
    /// Bytes of an element.
    pub bytes: u64,
    /// By dim, whether the access uses it.
    pub uses: Vec<bool>,
    /// By dim, elements from one point to the next; `None` where that is not known, or no constant.
    pub strides: Vec<Option<i64>>,
    /// Elements from the buffer's base to the element at the dims' origin; `None` where that is not known.
    pub offset: Option<i64>,
    /// The most elements, a power of two, that one access along the contiguous dim may move. An access that is longer than this dim
    /// continues along the dims of [`Self::run`].
    pub vector: u64,
    /// The value of `vector` where tiles begin at aligned addresses, wherever rows begin: as many elements as 16 bytes hold,
    /// provided that the buffer is aligned to 16 bytes and that its strides and offset are static.
    pub vector_if_aligned: u64,
    /// Whether it contributes to a reduction.
    pub contributes: bool,
    /// Whether it is needed again behind a reduction that it contributes to.
    pub is_reused: bool,
    /// The writes and reductions that need the element itself, rather than a result that it was reduced to.
    pub needed_by: Vec<Need>,
}

/// Something that a loop may have to do: a write, or a reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Its position among the reductions, if it is one.
    pub reduction: Option<usize>,
    /// Positions of the reductions that it waits for directly, without those that it waits for only through others.
    pub waits_for: BTreeSet<usize>,
}

impl Access {
    /// The dim along which neighbouring points are neighbouring elements.
    pub fn contiguous(&self) -> Option<usize> {
        self.strides.iter().position(|stride| *stride == Some(1))
    }

    /// Elements that one pass over the whole space moves.
    pub fn total_elements(&self, dims: &[Dim]) -> f64 {
        dims.iter()
            .zip(&self.uses)
            .filter(|(_, uses)| **uses)
            .map(|(dim, _)| dim.extent as f64)
            .product()
    }

    /// Bytes that one pass over the whole space moves.
    pub fn total_bytes(&self, dims: &[Dim]) -> f64 {
        self.total_elements(dims) * self.bytes as f64
    }
}

/// One reduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// By dim, whether it ranges over it.
    pub over: Vec<bool>,
    /// By dim, whether its result varies over it.
    pub keeps: Vec<bool>,
    /// Bytes of one result, over all values that the reduction yields.
    pub bytes: u64,
    /// Positions of the reductions that have to be complete before it can start, without those that it waits for only through
    /// others.
    pub waits_for: BTreeSet<usize>,
    /// The reduction among `waits_for` with which a schedule may merge this one, which then need not wait for it.
    pub follows: Option<usize>,
    /// Whether its partial results are combined with those of the reduction that it follows by weights that numbers of points alone
    /// determine, as squares of distances to a mean are; weights of sums of exponentials depend on the maxima.
    pub weighs_by_count: bool,
}

/// One scan.
#[derive(Clone, Debug, PartialEq)]
pub struct Scan {
    /// By dim, whether it is along it.
    pub over: Vec<bool>,
    /// Bytes of one of its results.
    pub bytes: u64,
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
    /// The scans.
    pub scans: Vec<Scan>,
    /// How many buffers the kernel has.
    pub buffers: usize,
    /// Scalar ops that the kernel executes: the sum over all ops of the points at which each is computed.
    pub work: f64,
}

impl Facts {
    /// Reads the facts off a kernel that has not been tiled.
    ///
    /// # Errors
    ///
    /// The kernel is not one that its verifier accepts.
    pub fn of(space: &Space<'_, '_>) -> Result<Self, Error> {
        Self::read(space, None, &[])
    }

    /// Reads the facts off a kernel whose extents along `rows` have been forgotten, without what else depends on the number of rows: the
    /// strides of dims in axes outside of theirs.
    ///
    /// # Errors
    ///
    /// As [`Self::of`].
    pub fn of_any_rows(space: &Space<'_, '_>, rows: &[usize]) -> Result<Self, Error> {
        Self::read(space, None, rows)
    }

    /// Whether the value that an access reads is needed only behind the reductions.
    pub fn is_late(&self, access: &Access) -> bool {
        let is_behind = !access.is_write && !access.is_reused && !access.contributes;
        is_behind && !self.reductions.is_empty()
    }

    /// Whether any reduction is of elements at computed places. No step of a loop loads those of another.
    pub fn reduces_what_is_indirect(&self) -> bool {
        let mut accesses = self.accesses.iter();
        accesses.any(|access| access.is_indirect && access.contributes)
    }

    /// Whether a write needs an element that goes into a reduction, and no reduction: the loop that reads the element for the reduction
    /// writes between its loads.
    pub fn writes_between_reads(&self) -> bool {
        let is_free_write = |need: &Need| need.reduction.is_none() && need.waits_for.is_empty();
        let mut accesses = self.accesses.iter();
        accesses.any(|access| access.contributes && access.needed_by.iter().any(is_free_write))
    }

    /// Reads the facts with another extent for the first kept dim of dynamic extent, or, where there is none, for the
    /// reduced dim that may be the whole tensor ([`super::extents`]); if there is either.
    ///
    /// # Errors
    ///
    /// As [`Self::of`].
    pub fn with_open_extent(space: &Space<'_, '_>, extent: u64) -> Result<Self, Error> {
        Self::read(space, Some(extent), &[])
    }

    /// Returns the access that the tile is laid out for: the one that moves the most bytes; of several, the one whose elements are
    /// needed twice, then a read before a write, then the widest. Accesses that are contiguous along a counting dim are left out:
    /// their neighbours are accessed in other steps of a loop.
    pub fn lead(&self) -> Option<&Access> {
        self.lead_of(|access| access.contiguous().is_none_or(|dim| !self.dims[dim].is_counting))
    }

    /// Returns the leading one, by the same order as [`Self::lead`], of the accesses that are contiguous along `dim`.
    pub fn lead_along(&self, dim: usize) -> Option<&Access> {
        self.lead_of(|access| access.strides[dim] == Some(1))
    }

    fn lead_of(&self, is_one: impl Fn(&Access) -> bool) -> Option<&Access> {
        let accesses = || self.accesses.iter().filter(|access| is_one(access));
        let weight = |access: &Access| access.total_bytes(&self.dims);
        let most = accesses().map(weight).fold(0.0, f64::max);
        // Within a factor of 1.5 of the most, bytes do not decide: a residual and its sum are equals.
        let heaviest = accesses().filter(|access| 1.5 * weight(access) >= most);
        heaviest.max_by_key(|access| (access.is_reused, !access.is_write, access.vector))
    }

    /// Returns the most elements that one access may move. Tiles along `aligned_dim`, if there is one, begin where vectors of its
    /// leading access are aligned.
    pub fn vector(&self, access: &Access, aligned_dim: Option<usize>) -> u64 {
        let Some((dim, lead)) = aligned_dim.and_then(|dim| Some((dim, self.lead_along(dim)?))) else {
            return access.vector;
        };
        let vector = access.vector_if_aligned.min(lead.vector_if_aligned);
        match access.strides[dim] {
            Some(1) if begin_alike(access, lead) || self.is_only_read(access) => vector,
            // Rows of this access are aligned differently from the tile, so that its vectors may begin at any element.
            Some(1) => 1,
            _ => access.vector,
        }
    }

    /// Returns the most elements that may be copied from a buffer at once where tiles along `aligned_dim` begin where vectors of its
    /// leading access are aligned, with elements around them: as many as in a vector if `access` begins like the leading one.
    pub fn aligned_vector(&self, access: &Access, aligned_dim: usize) -> u64 {
        match self.covers(access, aligned_dim) {
            true => access.vector,
            false => self.vector(access, Some(aligned_dim)),
        }
    }

    /// Whether `access` is read as the aligned words around its vectors, because tiles along `aligned_dim` begin elsewhere than its
    /// vectors.
    pub fn covers(&self, access: &Access, aligned_dim: usize) -> bool {
        let lead = self.lead_along(aligned_dim);
        access.strides[aligned_dim] == Some(1)
            && lead.is_some_and(|lead| !begin_alike(access, lead))
            && self.is_only_read(access)
    }

    /// Whether the aligned words around vectors of `access` may be read (`gl-vectorize-access`): the kernel writes nothing of its
    /// buffer, and the vectors are long enough for it to pay.
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

/// Whether two accesses touch the same element at every point, modulo the vector of `lead`.
fn begin_alike(access: &Access, lead: &Access) -> bool {
    let vector = lead.vector_if_aligned as i64;
    let alike = |one: &Option<i64>, other: &Option<i64>| {
        one.zip(*other)
            .is_some_and(|(one, other)| (one - other) % vector == 0)
    };
    let mut strides = access.strides.iter().zip(&lead.strides);
    alike(&access.offset, &lead.offset) && strides.all(|(one, other)| alike(one, other))
}

#[cfg(test)]
mod tests {
    use super::Facts;
    use crate::kernel::first_kernel::in_first_kernel;

    /// Reads of 64, 88 and 124 bytes, of which a longer one has the shorter vectors: each moves less than 1.5 times the bytes of the one
    /// before it, but the last nearly twice those of the first.
    const STEPS: &str = "norm.kernel @k(%x: memref<16xf32>, %y: memref<22xf32>, %z: memref<31xf32>,
                                        %u: memref<16xf32>, %v: memref<22xf32>, %w: memref<31xf32>)
           space(%a = 16, %b = 22, %c = 31) align(16, 16, 16, 16, 16, 16) {
         %0 = norm.read %x[%a] : memref<16xf32>
         norm.write %0, %u[%a] : memref<16xf32>
         %1 = norm.read %y[%b] : memref<22xf32>
         norm.write %1, %v[%b] : memref<22xf32>
         %2 = norm.read %z[%c] : memref<31xf32>
         norm.write %2, %w[%c] : memref<31xf32>
       }";

    #[test]
    fn the_leading_access_does_not_depend_on_the_order_of_accesses() {
        let mut facts = in_first_kernel(STEPS, |space| Facts::of(space).ok()).unwrap();
        for _ in 0..2 {
            for _ in 0..facts.accesses.len() {
                assert_eq!(facts.lead().map(|lead| lead.buffer), Some(1));
                facts.accesses.rotate_left(1);
            }
            facts.accesses.reverse();
        }
    }

    /// A reduction of tuples does as much work as its combiner has ops, constants aside.
    #[test]
    fn the_ops_of_a_combiner_count() {
        let work = |reduce: &str| {
            let text = format!(
                "norm.kernel @k(%x: memref<16x8xf32>, %y: memref<8xf32>) space(%m = 16, %n = 8) {{
                   %0 = norm.read %x[%m, %n] : memref<16x8xf32>
                   {reduce}
                   norm.write %1, %y[%n] : memref<8xf32>
                 }}"
            );
            in_first_kernel(&text, |space| Some(Facts::of(space).ok()?.work)).unwrap()
        };
        let one = work("%1 = norm.reduce add %0 over(%m) : f32");
        let three = work(
            "%1, %2 = norm.reduce %0, %0 over(%m) identity [0.0 : f32, 0.0 : f32] : f32, f32 combine {
             ^bb0(%s0: f32, %c0: f32, %s1: f32, %c1: f32):
               %sum = arith.addf %s0, %s1 : f32
               %two = arith.constant 2.0 : f32
               %twice = arith.mulf %c0, %two : f32
               %count = arith.addf %twice, %c1 : f32
               norm.yield %sum, %count : f32, f32
             }",
        );
        assert_eq!(three - one, 2.0 * 16.0 * 8.0);
    }

    /// The elements that an access of the sum over `n` of a buffer of this type and size may move.
    fn vector_of_sum(buffer: &str, kept: &str, size: &str, at: &str) -> u64 {
        let text = format!(
            "norm.kernel @k(%x: memref<{buffer}xbf16>, %y: memref<{kept}f32>) space({size}) align(16, 16) {{
               %0 = norm.read %x[{at}%n] : memref<{buffer}xbf16>
               %1 = arith.extf %0 : bf16 to f32
               %2 = norm.reduce add %1 over(%n) : f32
               norm.write %2, %y[{at_kept}] : memref<{kept}f32>
             }}",
            at_kept = at.trim_end_matches(", ")
        );
        in_first_kernel(&text, |space| Some(Facts::of(space).ok()?.accesses[0].vector)).unwrap()
    }

    /// Loops read whole steps by vectors whatever the number of elements is, as long as these begin at multiples of a vector. What may be
    /// held is guarded as a whole.
    #[test]
    fn what_passes_in_loops_is_read_by_vectors() {
        assert_eq!(vector_of_sum("?", "", "%n = dim(%x, 0)", ""), 8);
        assert_eq!(vector_of_sum("268435457", "", "%n = 268435457", ""), 8);
        assert_eq!(vector_of_sum("50257", "", "%n = 50257", ""), 1);
        assert_eq!(
            vector_of_sum("?x?", "?x", "%m = dim(%x, 0), %n = dim(%x, 1)", "%m, "),
            1
        );
        assert_eq!(
            vector_of_sum("3x268435457", "3x", "%m = 3, %n = 268435457", "%m, "),
            1
        );
    }
}
