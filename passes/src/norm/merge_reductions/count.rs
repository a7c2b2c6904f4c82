//! How many elements a partial result has, where that is known before the run.

use melior::ir::Value;

use crate::{
    kernel::space::{DimSet, Space},
    mlir::linear_form::LinearForm,
};

/// How many points of the dims `over` each result of reducing `source` over them is of, if all are of as many. Of a program that
/// is not tiled nothing is known: what it leaves are states of parts that may be of several lengths.
///
/// A guard keeps points out along a sum of dims. The further the other dims are from 0, the fewer points of `over` it leaves, so that
/// numbers at the other dims' ends that are equal are the number everywhere.
pub(super) fn of_each<'c, 'a>(
    space: &Space<'c, 'a>,
    source: Value<'c, 'a>,
    over: &[Value<'c, 'a>],
) -> Option<i64> {
    space.roles.as_ref()?;
    let over = over.iter().map(|dim| space.dim_position(*dim));
    let over = over.collect::<Option<DimSet>>()?;
    let mut unguarded = over.clone();
    let mut count = 1_i64;
    for guard in guards(space, &over) {
        let guard = guard?;
        let used = guard.dims();
        // A guard concerns what uses all of its dims. Of two that share a dim the points are no product.
        let concerns = &(&used - &over) - &space.dims_of(source);
        let ranged = &used & &over;
        if !concerns.is_empty() || !ranged.is_subset(&unguarded) {
            return None;
        }
        let most = (&used - &over).iter().try_fold(0_i64, |most, dim| {
            most.checked_add(guard.reach_along(space, *dim)?)
        })?;
        let within = ranged
            .iter()
            .map(|dim| Some((guard.form.dims[*dim], extent(space, *dim)?)))
            .collect::<Option<Vec<_>>>()?;
        let [least_room, room] = [guard.room.checked_sub(most)?, guard.room];
        let points = points_below(&within, room);
        if points_below(&within, least_room) != points {
            return None;
        }
        count = count.checked_mul(points)?;
        unguarded = &unguarded - &ranged;
    }
    unguarded
        .iter()
        .try_fold(count, |count, dim| count.checked_mul(extent(space, *dim)?))
}

/// `form < room`, of a sum that no dim makes smaller.
struct Guard {
    form: LinearForm,
    room: i64,
}

impl Guard {
    fn dims(&self) -> DimSet {
        let used = self.form.dims.iter().enumerate();
        used.filter(|(_, factor)| **factor != 0)
            .map(|(dim, _)| dim)
            .collect()
    }

    /// What a dim adds at most.
    fn reach_along(&self, space: &Space<'_, '_>, dim: usize) -> Option<i64> {
        (extent(space, dim)? - 1).max(0).checked_mul(self.form.dims[dim])
    }
}

/// The guards that use one of `dims`; `None` for one that is of no known form.
fn guards(space: &Space<'_, '_>, dims: &DimSet) -> Vec<Option<Guard>> {
    let uses = |sides: &&[melior::ir::AffineExpr<'_>; 2]| {
        let mut dims = dims.iter();
        dims.any(|dim| sides.iter().any(|side| side.is_function_of_dim(*dim)))
    };
    let guard = |[lhs, limit]: &[melior::ir::AffineExpr<'_>; 2]| {
        let mut form = LinearForm::of(*lhs, space.dims.len(), space.sizes.len())?;
        let is_sum_of_dims =
            form.symbols.iter().all(|factor| *factor == 0) && form.dims.iter().all(|factor| *factor >= 0);
        let room = limit.is_constant().then(|| limit.constant_value())?;
        let room = room.checked_sub(std::mem::take(&mut form.constant))?;
        is_sum_of_dims.then_some(Guard { form, room })
    };
    space.guards.iter().filter(uses).map(guard).collect()
}

/// The extent of a dim, if it is known.
fn extent(space: &Space<'_, '_>, dim: usize) -> Option<i64> {
    let extent = space.extents[dim];
    extent.is_constant().then(|| extent.constant_value())
}

/// How many points there are of dims with factors and extents whose sum is below `room`.
fn points_below(dims: &[(i64, i64)], room: i64) -> i64 {
    let reach = |dims: &[(i64, i64)]| {
        let of = |(factor, extent): &(i64, i64)| factor.saturating_mul((extent - 1).max(0));
        dims.iter().map(of).fold(0, i64::saturating_add)
    };
    let all = |dims: &[(i64, i64)]| {
        dims.iter()
            .map(|(_, extent)| *extent)
            .fold(1, i64::saturating_mul)
    };
    if room <= 0 {
        return 0;
    }
    if reach(dims) < room {
        return all(dims);
    }
    // Only few places along the dim of the largest factor have some of the other dims' points and not all.
    let Some(largest) = (0..dims.len()).max_by_key(|dim| dims[*dim].0) else {
        return 1;
    };
    let (factor, extent) = dims[largest];
    let mut others = dims.to_vec();
    others.remove(largest);
    let whole = room
        .saturating_sub(reach(&others))
        .max(0)
        .unsigned_abs()
        .div_ceil(factor.unsigned_abs());
    let whole = (whole as i64).min(extent);
    let partial = (whole..extent).map_while(|place| {
        let left = room.saturating_sub(factor.saturating_mul(place));
        (left > 0).then(|| points_below(&others, left))
    });
    whole
        .saturating_mul(all(&others))
        .saturating_add(partial.fold(0, i64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::points_below;

    /// The same count, by enumeration.
    fn counted(dims: &[(i64, i64)], room: i64) -> i64 {
        match dims {
            [] => i64::from(room > 0),
            [(factor, extent), others @ ..] => (0..*extent)
                .map(|place| counted(others, room - factor * place))
                .sum(),
        }
    }

    #[test]
    fn points_below_a_bound_are_counted() {
        let mixed_radix: &[_] = &[(512, 4), (64, 8), (8, 8), (1, 8)];
        let overlapping: &[_] = &[(3, 5), (2, 7), (0, 3)];
        for dims in [mixed_radix, overlapping, &[]] {
            for room in [
                -1, 0, 1, 2, 5, 7, 8, 63, 64, 65, 500, 511, 512, 513, 2000, 2048, 3000,
            ] {
                assert_eq!(points_below(dims, room), counted(dims, room), "{dims:?} {room}");
            }
        }
    }
}
