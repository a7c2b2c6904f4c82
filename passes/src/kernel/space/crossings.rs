//! Reads whose elements are needed again after a reduction that they contribute to: a schedule has to keep them or read them twice.
//!
//! A use comes after every reduction that it waits for. It also comes after a reduction that is complete in the phase of the use, or
//! earlier, if a value computed from the use is combined with that reduction's result: in `(rstd * dy) - s * x`, where `s` is a sum over
//! `dy`, the product `rstd * dy` waits for `rstd` alone, but cannot be used before `s` is complete.

use std::collections::{BTreeSet, HashSet};

use melior::ir::{Value, operation::OperationLike};

use super::{
    super::positions::{Positions, join},
    Space,
};
use crate::mlir::values::key;

/// A read that is needed again after a reduction that it contributes to, both as positions of ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// The read.
    pub read: usize,
    /// The reduction.
    pub reduction: usize,
}

impl<'c, 'a> Space<'c, 'a> {
    /// Whether the use of `operand` by the op at position `user` needs reads across a phase: the use comes after a reduction that they
    /// contribute to, and `operand` itself is from an earlier phase. Only reads that vary over a reduced dim count, because a value per row
    /// is simply kept.
    pub fn carries_reads(&self, user: usize, operand: Value<'c, 'a>) -> bool {
        self.crossings_of(user, operand).next().is_some()
    }

    /// The reads that the op at position `user` needs through `operand`, each with a reduction that it contributes to and that the use
    /// comes after.
    fn crossings_of<'s>(
        &'s self,
        user: usize,
        operand: Value<'c, 'a>,
    ) -> impl Iterator<Item = Crossing> + 's {
        let phase = self.phase_of_op(self.ops[user]);
        let facts = self.facts.get(&key(operand));
        let facts = facts.filter(|facts| !facts.leaves.is_empty() && facts.phase < phase);
        facts.into_iter().flat_map(move |facts| {
            let met = self.met_by(user).iter();
            let complete = met.filter(move |reduction| self.reduced[reduction].phase <= phase);
            complete.flat_map(move |reduction| {
                let reduced = &self.reduced[&reduction];
                let varies = |leaf: &usize| {
                    let mut results = self.ops[*leaf].results();
                    results.any(|result| {
                        let dims = self.facts.get(&key(result.into())).map(|facts| &facts.dims);
                        dims.is_some_and(|dims| !dims.is_disjoint(&reduced.dims))
                    })
                };
                let leaves = facts.leaves.shared(&reduced.contributors).filter(varies);
                leaves.map(move |read| Crossing { read, reduction })
            })
        })
    }

    /// Positions of the reductions that the op at a position meets: those that it waits for, and those that any op waits for that is
    /// computed from its results without a reduction in between.
    fn met_by(&self, position: usize) -> &Positions {
        let met = self.met.get_or_init(|| {
            let mut met = Vec::with_capacity(self.ops.len());
            met.extend(self.ops.iter().map(|op| self.joined(op.operands()).reductions));
            for user in (0..self.ops.len()).rev() {
                for operand in self.ops[user].operands() {
                    let made = self.definition(operand);
                    if let Some(made) = made.filter(|made| !self.reduced.contains_key(made)) {
                        let of_user = met[user].clone();
                        join(&mut met[made], &of_user);
                    }
                }
            }
            met
        });
        &met[position]
    }

    /// All crossings, computed on first use.
    pub fn crossings(&self) -> &BTreeSet<Crossing> {
        self.crossings.get_or_init(|| self.find_crossings())
    }

    fn find_crossings(&self) -> BTreeSet<Crossing> {
        let mut crossings = BTreeSet::new();
        // Uses of values that depend on the same reads, in the same phase and meeting the same reductions, are equivalent.
        let mut seen = HashSet::new();
        for (position, user) in self.ops.iter().enumerate() {
            let phase = self.phase_of_op(*user);
            for operand in user.operands().filter(|operand| self.phase_of(*operand) < phase) {
                if seen.insert((self.leaves(operand), phase, self.met_by(position))) {
                    crossings.extend(self.crossings_of(position, operand));
                }
            }
        }
        crossings
    }

    /// Positions of all reads that are needed again after a reduction that they contribute to.
    pub fn reused_reads(&self) -> BTreeSet<usize> {
        self.crossings().iter().map(|crossing| crossing.read).collect()
    }
}
