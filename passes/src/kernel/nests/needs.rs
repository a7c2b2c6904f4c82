//! What each op of a kernel needs: the loops that enclose it, and the roots that have to come before it.

use std::{cell::Cell, rc::Rc};

use melior::ir::operation::OperationLike;
use norma_dialects::norm::{GatherOp, ReduceOp, ScanOp};

use super::super::{
    positions::{self, Positions},
    space::{DimSet, Space, is_write},
};

/// Properties of each op, by position.
pub(super) struct Facts {
    pub(super) is_root: Vec<bool>,
    /// Loop dims that the op runs over.
    pub(super) domain: Vec<DimSet>,
    /// The loop dims that a reduction ranges over.
    pub(super) reduced: Vec<DimSet>,
    /// The loop dims that a scan is along, and the loop dim that counts a reduction's results.
    pub(super) scanned: Vec<DimSet>,
    /// Whether the op is a reverse scan.
    pub(super) is_reversed: Vec<bool>,
    /// Positions of the ops that define its operands.
    operands: Vec<Vec<usize>>,
    /// Positions of the roots that it needs directly, without another root in between.
    roots: Vec<Rc<Positions>>,
    /// How many more ops the nests may hold.
    pub(super) left: Cell<usize>,
}

impl Facts {
    pub(super) fn of(space: &Space<'_, '_>, is_loop: &dyn Fn(usize) -> bool, most: usize) -> Self {
        let is_loop = |dim: &usize| is_loop(*dim);
        let mut facts = Self {
            is_root: Vec::new(),
            domain: Vec::new(),
            reduced: Vec::new(),
            scanned: Vec::new(),
            is_reversed: Vec::new(),
            operands: Vec::new(),
            roots: Vec::new(),
            left: Cell::new(most),
        };
        for op in &space.ops {
            let mut dims = DimSet::new();
            let mut operands = Vec::new();
            for operand in op.operands() {
                dims.extend(space.dims_of(operand));
                operands.extend(space.definition(operand));
            }
            let reduce = ReduceOp::from_op(*op);
            let reduced = reduce
                .map(|reduce| space.dims_reduced_by(reduce))
                .unwrap_or_default()
                .into_iter()
                .filter(is_loop)
                .collect::<DimSet>();
            let mut scanned = ScanOp::from_op(*op)
                .map(|scan| space.dims_scanned_by(scan))
                .unwrap_or_default();
            scanned.extend(reduce.and_then(|reduce| space.dim_of_nth(reduce)));
            let mut roots = Rc::<Positions>::default();
            for operand in &operands {
                match facts.is_root[*operand] {
                    true => Rc::make_mut(&mut roots).insert(*operand),
                    false => positions::join(&mut roots, &facts.roots[*operand]),
                }
            }
            let domain = dims.into_iter().filter(is_loop).collect::<DimSet>();
            let is_early = GatherOp::from_op(*op).is_some() && domain.is_empty();
            facts
                .is_root
                .push(is_write(*op) || !reduced.is_empty() || is_early);
            facts.domain.push(domain);
            facts.reduced.push(reduced);
            facts.scanned.push(scanned.into_iter().filter(is_loop).collect());
            facts
                .is_reversed
                .push(ScanOp::from_op(*op).is_some_and(|scan| scan.reverse()));
            facts.operands.push(operands);
            facts.roots.push(roots);
        }
        facts.hold_back_writes(space);
        facts
    }

    /// A write to memory that is also read has to come after the last read. So it waits for every root that any other root which depends on
    /// a read of that memory waits for, which puts it into the last loop that reads.
    fn hold_back_writes(&mut self, space: &Space<'_, '_>) {
        for (output, input) in space.aliases() {
            let is_of = |position: &usize, buffer: usize, is_write: bool| {
                let access = space.access(space.ops[*position]).ok().flatten();
                access.is_some_and(|access| access.buffer == buffer && access.is_write == is_write)
            };
            let positions = 0..space.ops.len();
            let writes = positions.clone().filter(|position| is_of(position, output, true));
            let writes = writes.collect::<Vec<_>>();
            // An op that depends on a read without a root in between is computed in the nest that reads the element.
            let mut reads = Positions::default();
            let mut awaited = Rc::<Positions>::default();
            for position in positions {
                let takes = |operand: &usize| reads.contains(*operand) && !self.is_root[*operand];
                if is_of(&position, input, false) || self.operands[position].iter().any(takes) {
                    reads.insert(position);
                    if self.is_root[position] && !writes.contains(&position) {
                        positions::join(&mut awaited, &self.roots[position]);
                    }
                }
            }
            for write in writes {
                positions::join(&mut self.roots[write], &awaited);
            }
        }
    }

    /// The loops outside of `open` that a root's result varies over; for a write, all of its loops.
    pub(super) fn kept(&self, root: usize, open: &DimSet) -> DimSet {
        &(&self.domain[root] - &self.reduced[root]) - open
    }

    /// The roots that an op needs directly and that are not `available`. An available root has all that it needs itself.
    pub(super) fn roots_of<'s>(
        &'s self,
        op: usize,
        available: &'s Positions,
    ) -> impl Iterator<Item = usize> + 's {
        self.roots[op].without(available)
    }

    /// Whether the roots that an op needs are all `available`.
    pub(super) fn is_ready(&self, op: usize, available: &Positions) -> bool {
        self.roots[op].is_subset(available)
    }

    /// The ops that `roots` depend on that are neither roots nor `available`, restricted to those that `may` be computed here.
    pub(super) fn others_of(
        &self,
        roots: &[usize],
        available: &Positions,
        may: impl Fn(usize) -> bool,
    ) -> Positions {
        let (mut seen, mut others) = (Positions::default(), Positions::default());
        let mut open = Vec::new();
        for root in roots {
            open.extend(&self.operands[*root]);
            while let Some(position) = open.pop() {
                if self.is_root[position] || available.contains(position) || seen.contains(position) {
                    continue;
                }
                seen.insert(position);
                if may(position) {
                    others.insert(position);
                }
                open.extend(&self.operands[position]);
            }
        }
        others
    }

    /// Returns `roots` and all roots that they need that are not available: also those that a loop has computed for its own use only.
    pub(super) fn with_needs(&self, roots: Vec<usize>, available: &Positions) -> Vec<usize> {
        let mut all = roots.iter().copied().collect::<Positions>();
        let mut open = roots;
        while let Some(root) = open.pop() {
            for needed in self.roots_of(root, available) {
                if !all.contains(needed) {
                    all.insert(needed);
                    open.push(needed);
                }
            }
        }
        all.iter().collect()
    }
}
