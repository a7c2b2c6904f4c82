//! The text that explains a choice: the schedule that was taken, the best of other kinds, and what those lose by.

use norma_dialects::norm::{CachePlace, CopyMechanism, Level};
use norma_targets::Target;

use crate::schedule::{cost::Cost, mapping::Mapping};

/// How many schedules of other kinds the text mentions.
const RIVALS: usize = 3;
/// A loss of at most so many microseconds is left out.
const NEGLIGIBLE_US: f64 = 0.05;

/// The kind of a schedule: schedules of one kind differ only in their numbers.
#[derive(PartialEq)]
struct Kind<'m> {
    /// Whether rows are looped over, split over kernels, spread over the CTAs of a cluster, or over the warps of a CTA.
    levels: [bool; 4],
    keep: &'m [CachePlace],
    bring: CopyMechanism,
}

impl<'m> Kind<'m> {
    fn of(mapping: &'m Mapping) -> Self {
        let has = |level: Level| {
            let mut factors = mapping.spread.iter().flatten();
            factors.any(|factor| factor.level == level)
        };
        Self {
            levels: [Level::Loop, Level::Split, Level::Cluster, Level::Warp].map(has),
            keep: &mapping.keep,
            bring: mapping.bring,
        }
    }
}

/// The explanation of a choice among `count` candidates; `others` are those that could have been chosen, cheapest first.
pub(super) fn explanation<'m>(
    (mapping, cost): (&'m Mapping, &Cost),
    others: impl Iterator<Item = &'m (Mapping, Cost)>,
    count: usize,
    target: &Target,
) -> String {
    let mut text = of_one(mapping, cost, target);
    let mut kinds = vec![Kind::of(mapping)];
    for (other, of_other) in others {
        let kind = Kind::of(other);
        if kinds.contains(&kind) {
            continue;
        }
        text += &format!(
            "\n  {} of {count} of another kind, {other}: {}; {}",
            if kinds.len() == 1 { "next" } else { "then" },
            figures(other, of_other, target),
            why_not(cost, of_other)
        );
        kinds.push(kind);
        if kinds.len() > RIVALS {
            break;
        }
    }
    text
}

/// The explanation of a schedule that the user gave.
pub(super) fn of_given(mapping: &Mapping, cost: &Cost, target: &Target) -> String {
    format!("given, {}", of_one(mapping, cost, target))
}

/// The explanation of a schedule that the user gave, and of which an SM is expected to hold no CTA.
pub(super) fn too_large(mapping: &Mapping, target: &Target) -> String {
    format!(
        "given, on an {}, {mapping}: an SM is expected to hold no CTA: registers or shared memory do not suffice",
        target.part.name
    )
}

/// What the model expects of a schedule, and where its time goes.
fn of_one(mapping: &Mapping, cost: &Cost, target: &Target) -> String {
    let losses: Vec<String> = losses(cost)
        .map(|(name, loss)| format!("{name} {loss:.1}"))
        .collect();
    format!(
        "on an {}, {mapping}: {}: {:.1} for the bytes, {}; its warps ask for {:.0} bytes of sectors to read and {:.0} to write",
        target.part.name,
        figures(mapping, cost, target),
        cost.ideal,
        losses.join(", "),
        cost.requested.0,
        cost.requested.1
    )
}

/// What the model expects of a schedule.
fn figures(mapping: &Mapping, cost: &Cost, target: &Target) -> String {
    let threads = mapping.threads().unsigned_abs() * cost.resident;
    format!(
        "{} CTAs per SM at {} registers and {} bytes of shared memory for tiles, {:.0}% of its threads, expected to take {:.1} us, \
         {:.0}% of a copy's speed",
        cost.resident,
        cost.registers,
        cost.shared_bytes,
        100.0 * threads as f64 / f64::from(target.threads_per_sm),
        cost.total(),
        100.0 * cost.roof_share()
    )
}

/// The losses that are not negligible.
fn losses(cost: &Cost) -> impl Iterator<Item = &(&'static str, f64)> {
    cost.losses.iter().filter(|(_, loss)| *loss > NEGLIGIBLE_US)
}

/// Why a candidate was not chosen: by what it loses against the one that was, the greatest difference first.
fn why_not(chosen: &Cost, other: &Cost) -> String {
    let of_chosen = |name: &str| {
        let found = chosen.losses.iter().find(|(known, _)| *known == name);
        found.map_or(0.0, |(_, loss)| *loss)
    };
    let more = losses(other).map(|(name, loss)| (*name, loss - of_chosen(name)));
    let mut more: Vec<_> = more.filter(|(_, more)| *more > NEGLIGIBLE_US).collect();
    more.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    if more.is_empty() {
        return "it is as good".to_owned();
    }
    let more: Vec<String> = more
        .into_iter()
        .map(|(name, more)| format!("{name} {more:.1} us more"))
        .collect();
    format!("it loses by {}", more.join(", "))
}

#[cfg(test)]
mod tests {
    use norma_targets::SM_90A;

    use super::*;
    use crate::schedule::mapping::Factor;

    fn cost(losses: &[(&'static str, f64)]) -> Cost {
        Cost {
            ideal: 10.0,
            losses: losses.to_vec(),
            registers: 32,
            resident: 4,
            shared_bytes: 0,
            requested: (0.0, 0.0),
        }
    }

    fn mapping(levels: &[(Level, i64)]) -> Mapping {
        let factors = levels.iter().map(|(level, size)| Factor::new(*level, *size));
        Mapping::new(vec![factors.collect()])
    }

    #[test]
    fn schedules_that_differ_in_numbers_alone_are_of_one_kind() {
        let chosen = mapping(&[(Level::Warp, 4), (Level::Lane, 32)]);
        let others = [
            (
                mapping(&[(Level::Warp, 8), (Level::Lane, 32)]),
                cost(&[("waves", 1.0)]),
            ),
            (
                mapping(&[(Level::Loop, 2), (Level::Warp, 4), (Level::Lane, 32)]),
                cost(&[("waves", 1.0), ("barriers", 2.5)]),
            ),
        ];
        let text = explanation((&chosen, &cost(&[("waves", 0.8)])), others.iter(), 7, &SM_90A);
        let (_, next) = text.split_once('\n').unwrap();
        assert!(
            next.starts_with("  next of 7 of another kind, [[loop(2)"),
            "{next}"
        );
        assert!(
            next.ends_with("it loses by barriers 2.5 us more, waves 0.2 us more"),
            "{next}"
        );
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn three_rivals_of_different_kinds_are_told() {
        let chosen = mapping(&[(Level::Lane, 32)]);
        let kinds = [Level::Warp, Level::Loop, Level::Cluster, Level::Split];
        let others = kinds.map(|level| {
            let mapping = mapping(&[(level, 2), (Level::Lane, 32)]);
            (mapping, cost(&[("waves", 1.0)]))
        });
        let text = explanation((&chosen, &cost(&[])), others.iter(), 5, &SM_90A);
        let heads = text.lines().map(|line| line.trim_start().split(' ').next());
        assert_eq!(
            heads.flatten().collect::<Vec<_>>(),
            ["on", "next", "then", "then"]
        );
    }
}
