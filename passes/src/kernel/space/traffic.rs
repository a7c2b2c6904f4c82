//! The bytes that a kernel has to move to and from memory.

use melior::{
    Error,
    ir::{AffineExpr, AffineMap, ValueLike},
};

use super::{super::guards, Access, DimSet, Space};
use crate::mlir::{context, linear_form::LinearForm, types};

impl<'c, 'a> Space<'c, 'a> {
    /// The fewest bytes that the kernel must move, as expressions over its sizes. The region of each distinct access counts once, because a
    /// second access to the same elements hits a cache or a register. Tiling does not change the result. A product of several sizes is
    /// semi-affine.
    ///
    /// # Errors
    ///
    /// See [`Self::access`].
    pub fn traffic(&self) -> Result<Traffic<'c>, Error> {
        let zero = AffineExpr::constant(context::of(self.location()), 0);
        let mut traffic = Traffic {
            read: zero,
            written: zero,
        };
        let mut counted: Vec<Access<'c, 'a>> = Vec::new();
        for access in self.accesses()? {
            let is_same = |other: &Access<'c, 'a>| {
                (other.is_write, other.buffer) == (access.is_write, access.buffer)
                    && other.coordinates == access.coordinates
            };
            if counted.iter().any(is_same) {
                continue;
            }
            let direction = if access.is_write {
                &mut traffic.written
            } else {
                &mut traffic.read
            };
            *direction = *direction + self.bytes_reached(&access);
            counted.push(access);
        }
        Ok(traffic)
    }

    /// The bytes of the region of a buffer that an access covers, from its least to its greatest coordinate along each axis.
    fn bytes_reached(&self, access: &Access<'c, 'a>) -> AffineExpr<'c> {
        let context = context::of(self.location());
        let last = self
            .extents
            .iter()
            .map(|extent| *extent + AffineExpr::constant(context, -1))
            .collect::<Vec<_>>();
        let zero = AffineExpr::constant(context, 0);
        let bytes = AffineExpr::constant(context, access.element_bytes());
        // A scalar only shifts the region and does not change its size.
        let coordinates = access.coordinates_from_zero();
        coordinates
            .iter()
            .enumerate()
            .fold(bytes, |bytes, (axis, coordinate)| {
                if let Some(reached) = self.reached_indirectly(access, axis) {
                    return bytes * reached;
                }
                // The last point of the dims says nothing of a remainder, which is taken to have any value.
                if coordinate.is_mod() && coordinate.rhs().is_constant() {
                    return bytes * coordinate.rhs();
                }
                let corners = LinearForm::extreme_corners(*coordinate, &last, self.sizes.len(), zero);
                let [first, last] =
                    corners.map(|corner| AffineMap::new(context, 0, self.sizes.len(), &corner));
                // A guard on the coordinate gives its end; without one it extends to the last point of the dims.
                let guard = self.guards.iter().find(|[lhs, _]| lhs == coordinate);
                let end = guard.map_or_else(
                    || coordinate.compose(last) + AffineExpr::constant(context, 1),
                    |[_, limit]| *limit,
                );
                let negated = |expression: AffineExpr<'c>| expression * AffineExpr::constant(context, -1);
                // A guard on its negation gives its start.
                let starts_at_0 = |[lhs, limit]: &[AffineExpr<'c>; 2]| {
                    *lhs == negated(*coordinate) && *limit == AffineExpr::constant(context, 1)
                };
                let start = match self.guards.iter().any(starts_at_0) {
                    true => zero,
                    false => coordinate.compose(first),
                };
                bytes * (end + negated(start))
            })
    }

    /// How many coordinates computed values reach along an axis; `None` for an axis without any. A computed value reaches at most one
    /// coordinate for each point that it varies over. Points that another axis counts already add none: in `x[%m, label(%m)]` axis 0 counts
    /// the rows. Runs that begin at computed places are assumed to cover the whole axis.
    fn reached_indirectly(&self, access: &Access<'c, 'a>, axis: usize) -> Option<AffineExpr<'c>> {
        let context = context::of(self.location());
        access.indirect_in(axis).next()?;
        let is_run = (0..self.dims.len()).any(|dim| access.is_along(axis, dim));
        let of_dims = || {
            let varies = access.indirect_in(axis).flat_map(|(_, dims)| dims);
            let is_counted = |dim: &usize| is_counted_elsewhere(access, axis, *dim);
            let dims = varies.copied().filter(|dim| !is_counted(dim)).collect::<DimSet>();
            // A guard of the parts of a split dim says how many points they have together.
            if let Some([_, limit]) = self.guards.iter().find(|guard| guards::dims_of(guard) == dims) {
                return *limit;
            }
            let extents = dims.into_iter().map(|dim| self.extents[dim]);
            extents.fold(AffineExpr::constant(context, 1), |product, extent| {
                product * extent
            })
        };
        let size = match types::shape(self.buffers[access.buffer].r#type())?.get(axis)? {
            Some(size) => Some(AffineExpr::constant(context, *size)),
            None => {
                let symbol = self.sizes.iter().position(|size| *size == (access.buffer, axis));
                symbol.map(|symbol| AffineExpr::symbol(context, symbol))
            }
        };
        Some(size.filter(|_| is_run).unwrap_or_else(of_dims))
    }
}

/// Whether the points of a dim are counted along an axis other than the given one, which computed values reach: by a coordinate that is
/// linear in the dims, or by computed values of an axis further left.
fn is_counted_elsewhere(access: &Access, axis: usize, dim: usize) -> bool {
    let counts = |other: usize| match access.indirect_in(other).next() {
        Some(_) => other < axis && access.indirect_in(other).any(|(_, dims)| dims.contains(&dim)),
        None => access.is_along(other, dim) && access.is_linear(other),
    };
    (0..access.coordinates.len()).any(|other| other != axis && counts(other))
}

/// See [`Space::traffic`]; in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Traffic<'c> {
    /// Bytes that reads move.
    pub read: AffineExpr<'c>,
    /// Bytes that writes move.
    pub written: AffineExpr<'c>,
}

#[cfg(test)]
mod tests {
    use crate::kernel::first_kernel::in_first_kernel;

    /// The bytes read and written by the first kernel in `text`, as expressions.
    fn traffic(text: &str) -> Option<(String, String)> {
        in_first_kernel(text, |space| {
            let traffic = space.traffic().ok()?;
            Some((traffic.read.to_string(), traffic.written.to_string()))
        })
    }

    #[test]
    fn remainders_cover_whole_tiles() {
        let tiles = traffic(
            "norm.kernel @k(%x: memref<?xf32>, %y: memref<?x8xf32>) space(%m = dim(%x, 0)) {
               %0 = norm.read %x[%m] : memref<?xf32>
               norm.write %0, %y[%m floordiv 8, %m mod 8] {partial} : memref<?x8xf32>
             }",
        );
        let written = "((s0 - 1) floordiv 8 + 1) * 32".to_owned();
        assert_eq!(tiles, Some(("s0 * 4".to_owned(), written)));
    }

    #[test]
    fn tiling_changes_no_traffic() {
        let whole = traffic(
            "norm.kernel @k(%x: memref<?x11xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0), %n = 11) {
               %0 = norm.read %x[%m, %n] : memref<?x11xf32>
               %1 = norm.reduce add %0 over(%n) : f32
               norm.write %1, %y[%m] : memref<?xf32>
             }",
        );
        let tiled = traffic(
            "norm.kernel @k(%x: memref<?x11xf32>, %y: memref<?xf32>)
                 space(%b = dim(%x, 0) ceildiv 8 : grid, %r = 8 : register, %t = 16 : thread)
                 where(%b * 8 + %r < dim(%x, 0), %t < 11) {
               %0 = norm.read %x[%b * 8 + %r, %t] : memref<?x11xf32>
               %1 = norm.reduce add %0 over(%t) : f32
               norm.write %1, %y[%b * 8 + %r] : memref<?xf32>
             }",
        );
        assert_eq!(whole, Some(("s0 * 44".to_owned(), "s0 * 4".to_owned())));
        assert_eq!(tiled, whole);
    }

    #[test]
    fn the_same_elements_are_moved_once() {
        let moved = traffic(
            "norm.kernel @k(%x: memref<8x4xf32>, %y: memref<8x4xf32>) space(%m = 8, %n = 4) {
               %0 = norm.read %x[%m, %n] : memref<8x4xf32>
               %1 = norm.read %x[%m, %n] : memref<8x4xf32>
               %2 = norm.read %x[%m, 0] : memref<8x4xf32>
               norm.write %0, %y[%m, %n] : memref<8x4xf32>
             }",
        );
        assert_eq!(moved, Some(("160".to_owned(), "128".to_owned())));
    }

    #[test]
    fn a_row_that_is_walked_backwards_moves_as_much_as_forwards() {
        let reversed = traffic(
            "norm.kernel @k(%x: memref<64xf32>, %y: memref<64xf32>) space(%n = 64) {
               %0 = norm.read %x[63 - %n] : memref<64xf32>
               norm.write %0, %y[%n] : memref<64xf32>
             }",
        );
        assert_eq!(reversed, Some(("256".to_owned(), "256".to_owned())));
    }

    #[test]
    fn an_access_moves_nothing_before_its_first_element() {
        let halves = traffic(
            "norm.kernel @k(%x: memref<8x4xf32>, %y: memref<8x4xf32>) space(%m = 8, %j = 2) {
               %0 = norm.read %x[%m, %j] : memref<8x4xf32>
               %1 = norm.read %x[%m, %j + 2] : memref<8x4xf32>
               norm.write %0, %y[%m, %j] : memref<8x4xf32>
               norm.write %1, %y[%m, %j + 2] : memref<8x4xf32>
             }",
        );
        assert_eq!(halves, Some(("128".to_owned(), "128".to_owned())));
    }

    #[test]
    fn rows_at_ids_are_read_once_for_each_and_runs_are_parts_of_a_whole() {
        let selected = traffic(
            "norm.kernel @k(%i: memref<?xi32>, %x: memref<?x16xf32>, %u: memref<80xf32>, %y: memref<?x16xf32>)
                 space(%m = dim(%i, 0), %n = 16) {
               %0 = norm.read %i[%m] : memref<?xi32>
               %1 = arith.index_cast %0 : i32 to index
               %2, %3 = norm.gather %x[%1, %n] : memref<?x16xf32>
               %4, %5 = norm.gather %u[%1 + %n] : memref<80xf32>
               %6 = arith.addf %2, %4 : f32
               norm.write %6, %y[%m, %n] : memref<?x16xf32>
             }",
        );
        assert_eq!(selected, Some(("s0 * 68 + 320".to_owned(), "s0 * 64".to_owned())));
    }

    #[test]
    fn an_element_at_an_id_in_each_row_is_one_of_each_row() {
        let labelled = |space: &str, row: &str| {
            let text = format!(
                "norm.kernel @k(%i: memref<?xi32>, %x: memref<?x16xf32>, %y: memref<?xf32>) {space} {{
                   %0 = norm.read %i[{row}] : memref<?xi32>
                   %1 = arith.index_cast %0 : i32 to index
                   %2, %3 = norm.gather %x[{row}, %1] : memref<?x16xf32>
                   %4, %5 = norm.gather %x[%1, %1] : memref<?x16xf32>
                   %6 = arith.addf %2, %4 : f32
                   norm.write %6, %y[{row}] : memref<?xf32>
                 }}"
            );
            traffic(&text)
        };
        let expected = Some(("s0 * 12".to_owned(), "s0 * 4".to_owned()));
        assert_eq!(labelled("space(%m = dim(%i, 0))", "%m"), expected);
        let tiles =
            "space(%b = dim(%i, 0) ceildiv 8 : grid, %r = 8 : register) where(%b * 8 + %r < dim(%i, 0))";
        assert_eq!(labelled(tiles, "%b * 8 + %r"), expected);
    }
}
