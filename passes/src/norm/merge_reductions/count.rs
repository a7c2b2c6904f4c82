//! Counts the elements of a partial result, where their number is known at compile time.

use melior::ir::Value;

use crate::{
    kernel::space::{DimSet, Space},
    mlir::linear_form::LinearForm,
};

/// The number of points of the dims `over` that are reduced to each result, where `source` is reduced over them, if it is the same for
/// all results. `None` for a program that is not tiled: it may leave states of parts that differ in length.
///
/// A guard masks points by a sum of dims. The larger the other dims are, the fewer points of `over` pass it. So where the numbers are
/// equal at the other dims' two ends, they are equal everywhere.
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
        // A guard masks only values that vary over all of its dims. The numbers that pass two guards multiply only if these share no dim.
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

/// The guard `form < room`, where `form` is a sum of dims whose factors are not negative.
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

    /// The most that a dim adds to the sum.
    fn reach_along(&self, space: &Space<'_, '_>, dim: usize) -> Option<i64> {
        (extent(space, dim)? - 1).max(0).checked_mul(self.form.dims[dim])
    }
}

/// The guards that use one of `dims`; `None` for one of another form.
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

/// The number of points of a space, given by (factor, extent) of each dim, at which the sum of factors times coordinates is below
/// `room`.
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
    // At all but a few coordinates along the dim of the largest factor, all or none of the other dims' points are below `room`. Only those
    // few are counted one by one.
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

    /// The reference: counts the points one by one.
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
