//! The rows of a kernel: the dims outside of all that reductions range over, such as the batch and the positions of a softmax.
//!
//! A point of these dims selects a row, the part of the space that its results depend on. A program that walks over rows to sum them
//! up, as the gradient of a weight does, has the same rows as one that does not.

use melior::{
    Error,
    ir::{OperationRef, Value},
};
use norma_dialects::norm::{ReduceOp, ScanOp};

use super::space::{DimSet, Space};

/// A reduction or a scan, as dims relative to what it ranges over.
struct Combined<'c, 'a> {
    op: OperationRef<'c, 'a>,
    over: DimSet,
    /// Dims that some read which contributes to it has only in axes to the left of the first axis that it ranges over.
    outside: DimSet,
    /// Dims, other than those that it ranges over, that such a read has in that axis or to the right of it.
    inside: DimSet,
}

/// The dims that count rows, in the kernel's order. A dim counts rows if some reduction or scan keeps it, and if each one either has it
/// only in axes of its inputs to the left of the first axis that it ranges over (or not at all), or ranges over it and over the outermost
/// axes, so that it adds up whole rows. This relies on buffers whose axes are in the order of their strides. Dims that count results
/// (`nth`) are left out. There are no such dims in a kernel without reductions, nor in one that only adds up rows.
///
/// # Errors
///
/// The kernel is not one that its verifier accepts.
pub fn rows(space: &Space<'_, '_>) -> Result<Vec<usize>, Error> {
    let combined = combined(space)?;
    let counting = space.dims_of_nth();
    let is_row = |dim: &usize| {
        let fits = |combined: &Combined<'_, '_>| match combined.over.contains(dim) {
            true => combined.outside.is_empty(),
            false => !combined.inside.contains(dim),
        };
        let is_kept = combined.iter().any(|combined| !combined.over.contains(dim));
        is_kept && !counting.contains(dim) && combined.iter().all(fits)
    };
    Ok((0..space.dims.len()).filter(is_row).collect())
}

/// The first op that combines several rows, and the dims that it ranges over: a sum over `rows`, or over the outermost axes of a kernel
/// without rows.
///
/// # Errors
///
/// As [`rows`].
pub fn combines_rows<'c, 'a>(
    space: &Space<'c, 'a>,
    rows: &[usize],
) -> Result<Option<(OperationRef<'c, 'a>, DimSet)>, Error> {
    let is_over_rows = |combined: &Combined<'_, '_>| match rows {
        [] => combined.outside.is_empty(),
        rows => rows.iter().any(|row| combined.over.contains(row)),
    };
    let found = combined(space)?.into_iter().find(is_over_rows);
    Ok(found.map(|combined| (combined.op, combined.over)))
}

fn combined<'c, 'a>(space: &Space<'c, 'a>) -> Result<Vec<Combined<'c, 'a>>, Error> {
    let mut all = Vec::new();
    for op in &space.ops {
        if let Some(reduce) = ReduceOp::from_op(*op) {
            all.push(read(space, *op, space.dims_reduced_by(reduce), &reduce.values())?);
        } else if let Some(scan) = ScanOp::from_op(*op) {
            all.push(read(space, *op, space.dims_scanned_by(scan), &[scan.value()?])?);
        }
    }
    Ok(all)
}

fn read<'c, 'a>(
    space: &Space<'c, 'a>,
    op: OperationRef<'c, 'a>,
    over: DimSet,
    values: &[Value<'c, 'a>],
) -> Result<Combined<'c, 'a>, Error> {
    let (mut outside, mut inside) = (DimSet::new(), DimSet::new());
    for value in values {
        for read in space.reads(*value).iter() {
            let Some(access) = space.access(space.ops[read])? else {
                continue;
            };
            let ranges = |axis: &usize| over.iter().any(|dim| access.is_along(*axis, *dim));
            let Some(first) = (0..access.coordinates.len()).find(ranges) else {
                continue;
            };
            for dim in &access.dims() - &over {
                match (first..access.coordinates.len()).any(|axis| access.is_along(axis, dim)) {
                    true => inside.insert(dim),
                    false => outside.insert(dim),
                };
            }
        }
    }
    Ok(Combined {
        op,
        over,
        outside,
        inside,
    })
}

#[cfg(test)]
mod tests {
    use super::{combines_rows, rows};
    use crate::kernel::first_kernel::in_first_kernel;

    /// The rows of a kernel over `x[%a, %b, %c]` with some body, and what is combined over rows.
    fn of(body: &str) -> (Vec<usize>, Option<Vec<usize>>) {
        let text = format!(
            "norm.kernel @k(%x: memref<3x5x8xf32>, %y: memref<3xf32>, %z: memref<3x5xf32>, %u: memref<8xf32>, %v: memref<5x8xf32>)
               space(%a = 3, %b = 5, %c = 8) align(16, 16, 16, 16, 16) {{
             %0 = norm.read %x[%a, %b, %c] : memref<3x5x8xf32>
             {body}
           }}"
        );
        let found = in_first_kernel(&text, |space| {
            let rows = rows(space).ok()?;
            let over = combines_rows(space, &rows).ok()?;
            let over = over.map(|(_, over)| over.into_iter().collect());
            Some((rows, over))
        });
        found.unwrap()
    }

    #[test]
    fn rows_are_outside_of_what_is_reduced() {
        let body = "%1 = norm.reduce add %0 over(%c) : f32
                    norm.write %1, %z[%a, %b] : memref<3x5xf32>";
        assert_eq!(of(body), (vec![0, 1], None));
        let body = "%1 = norm.reduce add %0 over(%b, %c) : f32
                    norm.write %1, %y[%a] : memref<3xf32>";
        assert_eq!(of(body), (vec![0], None));
    }

    #[test]
    fn a_kernel_that_sums_rows_up_has_none_of_its_own() {
        let body = "%1 = norm.reduce add %0 over(%a) : f32
                    norm.write %1, %v[%b, %c] : memref<5x8xf32>";
        assert_eq!(of(body), (vec![], Some(vec![0])));
    }

    #[test]
    fn a_walk_over_rows_has_them_although_it_sums_them_up() {
        let body = "%1 = norm.reduce add %0 over(%b, %c) : f32
                    norm.write %1, %y[%a] : memref<3xf32>
                    %2 = arith.mulf %0, %1 : f32
                    %3 = norm.reduce add %2 over(%a, %b) : f32
                    norm.write %3, %u[%c] : memref<8xf32>";
        assert_eq!(of(body), (vec![0], Some(vec![0, 1])));
    }

    #[test]
    fn a_dim_that_is_summed_within_another_belongs_to_its_row() {
        let body = "%1 = norm.reduce add %0 over(%c) : f32
                    %2 = norm.reduce add %1 over(%b) : f32
                    norm.write %2, %y[%a] : memref<3xf32>";
        assert_eq!(of(body), (vec![0], None));
    }
}
