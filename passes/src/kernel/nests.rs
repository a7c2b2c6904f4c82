//! The loop nests of a tiled kernel: which loops its flat program becomes, what each loop computes, and what it carries.
//!
//! The kernel form has no control flow. A value is a function of the dims it varies over: one that varies over a loop dim exists only
//! within an iteration of that loop, and the result of a reduction over a loop dim exists only after the loop. The nests follow from this:
//!
//! - *Roots* are the ops that nests are built for: writes, reductions over loops, and gathers that vary over no loop. Such a gather is
//!   issued ahead of the loops, unless these compute its index, because it waits for memory twice, for its index and for its element, and
//!   the loops hide both waits. Every other op is computed where a root needs it, in the outermost scope that its own loops allow. It is
//!   computed again in each nest that needs it, for a value is not kept from one nest to the next unless it outlives both.
//! - The loops that a reduction's result varies over enclose those that it ranges over, so that its accumulator is one tile.
//! - Roots share a loop unless one needs a result of another that the loop completes. A reduction whose result varies over the loop shares
//!   it with the roots that need that result, which does not exist outside of the loop.
//! - A scan is computed, as any other op, within the loops over the dims that it is along, which carry its running value. No other loop
//!   around the scan may be inside of these. A loop with reverse scans runs backwards.
//! - A reduction with several results, which a dim counts, computes one of them in each iteration of the loop over that dim, and the loop
//!   carries the previous result.
//! - A write to memory that is also read stands in the last loop that reads it.
//!
//! Two reductions that cross, each over a loop that the other's result varies over, thus become two nests. An op that needs the results of
//! both at each point of the two loops has no nest: each loop would have to enclose the other.

mod needs;
mod scopes;
#[cfg(test)]
mod tests;

use needs::Facts;
use norma_dialects::norm::DimRole;

use super::{
    positions::Positions,
    space::{DimSet, Space},
};

/// An op or a loop of a scope, in the order of execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The op at a position of the body. For a reduction over an enclosing loop this is the update of its accumulator.
    Op(usize),
    /// A loop.
    Loop(Nest),
}

/// A loop over one dim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// The dim.
    pub dim: usize,
    /// Positions of the ops whose values are loop-carried: reductions over the dim, scans along it, and reductions whose results it counts.
    pub carried: Vec<usize>,
    /// The body of an iteration.
    pub body: Vec<Item>,
}

/// Why a kernel cannot be written as loop nests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Two loops would each have to enclose the other.
    Crossing,
    /// A loop would have to run in both directions.
    Directions,
    /// An element would be read after the loop that overwrites it.
    Overwritten,
    /// The nests would hold more ops than the limit, because each nest recomputes what it needs.
    TooMany,
}

impl Refused {
    /// The text of a diagnostic: what is wrong, and what is supported.
    pub fn explained(self) -> &'static str {
        match self {
            Self::Crossing => {
                "loops over dims of which each reduces what is needed, with the other's result, at every point of both; supported: \
                 one of these dims in a loop"
            }
            Self::Directions => {
                "a loop with scans in the order of its steps and in the opposite one; supported: scans in one order along each loop"
            }
            Self::Overwritten => {
                "a loop that reads what an earlier one may have written over; supported: results over the memory of what no later \
                 loop reads"
            }
            Self::TooMany => "loops that compute too many ops again; supported: fewer loops",
        }
    }
}

/// Returns the nests of a kernel; for a kernel without loops, its ops in order.
///
/// # Errors
///
/// See [`Refused`].
pub fn of(space: &Space<'_, '_>) -> Result<Vec<Item>, Refused> {
    let is_loop = |dim: usize| {
        let roles = space.roles.as_ref();
        roles.is_some_and(|roles| roles.get(dim) == Some(&DimRole::Loop))
    };
    over(space, &is_loop, usize::MAX)
}

/// Counts the ops of all nests of a kernel in which `loops` are loops, recomputed ops once for each nest. The count is at most `most`.
/// Counts are cached in the space.
///
/// # Errors
///
/// See [`Refused`].
pub fn count(space: &Space<'_, '_>, loops: &DimSet, most: usize) -> Result<usize, Refused> {
    let asked = (loops.clone(), most);
    if let Some(known) = space.nested.borrow().get(&asked) {
        return *known;
    }
    let items = over(space, &|dim| loops.contains(&dim), most);
    let count = items.map(|items| occurrences(&items, space.ops.len()).iter().sum());
    space.nested.borrow_mut().insert(asked, count);
    count
}

fn over(space: &Space<'_, '_>, is_loop: &dyn Fn(usize) -> bool, most: usize) -> Result<Vec<Item>, Refused> {
    let facts = Facts::of(space, is_loop, most);
    let roots = (0..space.ops.len())
        .filter(|position| facts.is_root[*position])
        .collect();
    let items = facts.scope(&DimSet::new(), roots, Positions::default())?;
    match reads_what_is_overwritten(space, &items) {
        true => Err(Refused::Overwritten),
        false => Ok(items),
    }
}

/// Whether an element is read, in the order of the nests, after a write to memory that may be the same.
fn reads_what_is_overwritten(space: &Space<'_, '_>, items: &[Item]) -> bool {
    fn flatten(items: &[Item], order: &mut Vec<usize>) {
        for item in items {
            match item {
                Item::Op(position) => order.push(*position),
                Item::Loop(nest) => flatten(&nest.body, order),
            }
        }
    }
    let aliases = space.aliases();
    if aliases.is_empty() {
        return false;
    }
    let mut order = Vec::new();
    flatten(items, &mut order);
    let accesses = order.iter().map(|position| space.access(space.ops[*position]));
    let accesses = accesses.map(|access| access.ok().flatten()).collect::<Vec<_>>();
    aliases.iter().any(|(output, input)| {
        let mut behind = accesses
            .iter()
            .flatten()
            .skip_while(|access| access.buffer != *output);
        behind.any(|access| access.buffer == *input && !access.is_write)
    })
}

/// How often each op of the body occurs in the nests, by position.
pub fn occurrences(items: &[Item], count: usize) -> Vec<usize> {
    fn add(items: &[Item], counts: &mut [usize]) {
        for item in items {
            match item {
                Item::Op(position) => counts[*position] += 1,
                Item::Loop(nest) => add(&nest.body, counts),
            }
        }
    }
    let mut counts = vec![0; count];
    add(items, &mut counts);
    counts
}
