//! The search for the loops of a scope, and for the roots that share each.

use std::collections::HashMap;

use super::{
    super::{positions::Positions, space::DimSet},
    Item, Nest, Refused,
    needs::Facts,
};

impl Facts {
    /// Returns the items of a scope within the loops `open` that has to compute the roots `remaining`.
    pub(super) fn scope(
        &self,
        open: &DimSet,
        mut remaining: Vec<usize>,
        mut available: Positions,
    ) -> Result<Vec<Item>, Refused> {
        let mut items = Vec::new();
        while !remaining.is_empty() {
            let (direct, rest): (Vec<_>, Vec<_>) = remaining
                .iter()
                .partition(|root| self.is_ready(**root, &available) && self.domain[**root].is_subset(open));
            if !direct.is_empty() {
                let mut ops = self.others_of(&direct, &available, |_| true);
                ops.join(&direct.into_iter().collect());
                self.add(&mut items, &ops)?;
                // A reduction's result is available only after its loops.
                available.join(&ops.iter().filter(|op| self.reduced[*op].is_empty()).collect());
                remaining = rest;
                continue;
            }
            let nest = self.nest(open, &remaining, &available);
            let (dim, group) = nest.ok_or(Refused::Crossing)?;
            // Loop-invariant ops are computed once, before the loop.
            let hoisted = self.others_of(&group, &available, |op| {
                self.domain[op].is_subset(open) && self.is_ready(op, &available)
            });
            self.add(&mut items, &hoisted)?;
            available.join(&hoisted);
            let mut inside = open.clone();
            inside.insert(dim);
            let carried = group
                .iter()
                .copied()
                .filter(|root| self.reduced[*root].contains(&dim));
            let mut carried = carried.collect::<Vec<_>>();
            let body = self.scope(&inside, group.clone(), available.clone())?;
            carried.extend(self.scans_carried(dim, open, &body)?);
            items.push(Item::Loop(Nest { dim, carried, body }));
            let outlives = |root: &usize| {
                self.reduced[*root].is_disjoint(open) && !self.kept(*root, open).contains(&dim)
            };
            available.join(&group.iter().copied().filter(outlives).collect());
            let group = group.into_iter().collect::<Positions>();
            let left = remaining.into_iter().filter(|root| !group.contains(*root));
            remaining = self.with_needs(left.collect(), &available);
        }
        Ok(items)
    }

    /// The scans along `dim`, and the reductions whose results it counts, that a loop over `dim` within the loops `open` carries.
    fn scans_carried(&self, dim: usize, open: &DimSet, body: &[Item]) -> Result<Vec<usize>, Refused> {
        let mut carried = Vec::new();
        for scan in self.scans_of(body) {
            let along = &self.scanned[scan];
            // The loops that a reduction ranges over are within the loop that counts its results: each of its iterations is a full
            // reduction.
            if self.reduced[scan].contains(&dim) {
                continue;
            }
            // A scan has to pass over each point once: not in every iteration of another loop, nor in two loops of one iteration.
            let is_repeated = !along.is_disjoint(open) && !along.contains(&dim);
            if is_repeated || carried.contains(&scan) {
                return Err(Refused::Crossing);
            }
            if along.contains(&dim) {
                carried.push(scan);
            }
        }
        let mut directions = carried.iter().map(|scan| self.is_reversed[*scan]);
        let first = directions.next();
        match directions.all(|direction| Some(direction) == first) {
            true => Ok(carried),
            false => Err(Refused::Directions),
        }
    }

    /// Positions of the scans along loops in a loop's body, each as often as it occurs.
    fn scans_of(&self, body: &[Item]) -> Vec<usize> {
        let scans = body.iter().flat_map(|item| match item {
            Item::Op(op) if !self.scanned[*op].is_empty() => vec![*op],
            Item::Op(_) => Vec::new(),
            Item::Loop(nest) => self.scans_of(&nest.body),
        });
        scans.collect()
    }

    /// Adds ops to a scope and counts them against the limit.
    fn add(&self, items: &mut Vec<Item>, ops: &Positions) -> Result<(), Refused> {
        for op in ops.iter() {
            let left = self.left.get().checked_sub(1).ok_or(Refused::TooMany)?;
            self.left.set(left);
            items.push(Item::Op(op));
        }
        Ok(())
    }

    /// The next loop of a scope, and the roots that share it. Of the loops that could begin, it is the first one that completes some root.
    fn nest(&self, open: &DimSet, remaining: &[usize], available: &Positions) -> Option<(usize, Vec<usize>)> {
        let firsts = remaining.iter().copied();
        let mut firsts = firsts.filter(|root| self.is_ready(*root, available));
        // A loop over a dim that was tried would have the same roots.
        let mut tried = DimSet::new();
        firsts.find_map(|first| {
            let kept = self.kept(first, open);
            let dim = match kept.first() {
                Some(dim) => *dim,
                None => *(&self.domain[first] - open).first()?,
            };
            if !tried.insert(dim) {
                return None;
            }
            let group = self.group(dim, open, remaining, available);
            (!group.is_empty()).then_some((dim, group))
        })
    }

    /// The roots that share a loop over `dim`.
    fn group(&self, dim: usize, open: &DimSet, remaining: &[usize], available: &Positions) -> Vec<usize> {
        let mut group = Positions::default();
        // Roots whose results are available within an iteration.
        let mut in_step = available.clone();
        for root in remaining.iter().copied() {
            let kept = self.kept(root, open);
            let may_step = self.domain[root].contains(&dim) && (kept.is_empty() || kept.contains(&dim));
            if may_step && self.is_ready(root, &in_step) {
                group.insert(root);
                if !self.reduced[root].contains(&dim) {
                    in_step.insert(root);
                }
            }
        }
        self.drop_misplaced(&mut group, dim, open, remaining, available);
        group.iter().collect()
    }

    /// Removes from the group of a loop over `dim` the roots whose results vary over it but are needed outside of it only: they are
    /// computed there.
    fn drop_misplaced(
        &self,
        group: &mut Positions,
        dim: usize,
        open: &DimSet,
        remaining: &[usize],
        available: &Positions,
    ) {
        // For each root of the group that varies over the loop, the number of roots within the loop that need it.
        let mut uses = HashMap::<usize, usize>::new();
        for root in remaining {
            for needed in self
                .roots_of(*root, available)
                .filter(|needed| group.contains(*needed))
            {
                if self.kept(needed, open).contains(&dim) {
                    *uses.entry(needed).or_default() += usize::from(group.contains(*root));
                }
            }
        }
        let mut misplaced = uses
            .iter()
            .filter(|(_, uses)| **uses == 0)
            .map(|(root, _)| *root)
            .collect::<Vec<_>>();
        while let Some(root) = misplaced.pop() {
            group.remove(root);
            for needed in self.roots_of(root, available) {
                if let Some(left) = uses.get_mut(&needed) {
                    *left -= 1;
                    if *left == 0 {
                        misplaced.push(needed);
                    }
                }
            }
        }
    }
}
