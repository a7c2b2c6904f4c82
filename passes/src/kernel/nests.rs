//! The loop nests of a tiled kernel: which loops its flat program becomes, what each computes, and what each carries.
//!
//! The kernel form has no control flow. A value is a function of the dims it varies over, so a value that varies over a loop
//! dim exists within a step of that loop alone, and the result of a reduction over it exists once the loop has ended. From
//! this the nests follow:
//!
//! - What must happen are *roots*: writes, and reductions over loops. Everything else is computed where a root needs it: in
//!   the outermost scope that its own loops allow, and again in each nest that needs it, for a value is not kept from one
//!   nest to the next unless it outlives both.
//! - A reduction's loops that its result varies over are outside of those that it ranges over, so that what it carries from
//!   step to step is one tile.
//! - Roots share a loop unless one needs the result of another that the loop computes. A reduction whose result varies over
//!   the loop stays with those that need it: outside of the loop there is no such result.
//! - A scan is computed in the loops that it is along as everything else is, and carries what the steps before have come to. No
//!   other loop may stand within these. Scans in the opposite order have the loop take its steps so.
//! - A reduction with several results, which a dim counts, is one in each step of the loop over that dim, and the loop carries the last
//!   result that it has come to.
//! - A write over memory that is read is in the last loop that reads it.
//!
//! Two reductions that cross, each over a loop that the other keeps, thus become two nests. What needs the results of both at
//! each point of the two loops has no nest: one of the loops would have to go around the other and within it.

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

/// One part of a scope, in the order of execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The op at a position of the body. A reduction that ranges over a loop around it takes another step here.
    Op(usize),
    /// A loop.
    Loop(Nest),
}

/// A loop over one dim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nest {
    /// The dim.
    pub dim: usize,
    /// Positions of the reductions that range over the dim, of the scans along it, and of the reductions whose results it counts: what
    /// the loop carries from step to step.
    pub carried: Vec<usize>,
    /// What a step does.
    pub body: Vec<Item>,
}

/// Why a kernel has no nests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Loops would have to go around each other.
    Crossing,
    /// A loop would have to take its steps in both orders.
    Directions,
    /// An element would be read behind the loop that writes it over.
    Overwritten,
    /// The nests would hold more ops than they may, as what each needs is computed in it again.
    TooMany,
}

impl Refused {
    /// What is wrong, and what is supported.
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

/// The nests of a kernel; for one without loops, its ops as they are.
///
/// # Errors
///
/// Loops would have to go around each other.
pub fn of(space: &Space<'_, '_>) -> Result<Vec<Item>, Refused> {
    let is_loop = |dim: usize| {
        let roles = space.roles.as_ref();
        roles.is_some_and(|roles| roles.get(dim) == Some(&DimRole::Loop))
    };
    over(space, &is_loop, usize::MAX)
}

/// How many ops the nests of a kernel some of whose dims are loops hold together, if these are at most `most`, which is the same for
/// all questions of one space.
///
/// # Errors
///
/// See [`Refused`].
pub fn count(space: &Space<'_, '_>, loops: &DimSet, most: usize) -> Result<usize, Refused> {
    if let Some(known) = space.nested.borrow().get(loops) {
        return *known;
    }
    let items = over(space, &|dim| loops.contains(&dim), most);
    let count = items.map(|items| occurrences(&items, space.ops.len()).iter().sum());
    space.nested.borrow_mut().insert(loops.clone(), count);
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

/// Whether something is read, in the order of the nests, behind a write to what may be the same memory.
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
