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
//!
//! Two reductions that cross, each over a loop that the other keeps, thus become two nests. What needs the results of both at
//! each point of the two loops has no nest: one of the loops would have to go around the other and within it.

use std::{cell::Cell, collections::HashMap, rc::Rc};

use melior::ir::operation::OperationLike;
use norma_dialects::norm::{DimRole, ReduceOp, WriteOp};

use super::{
    positions::{self, Positions},
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
    /// Positions of the reductions that range over the dim: what the loop carries from step to step.
    pub carried: Vec<usize>,
    /// What a step does.
    pub body: Vec<Item>,
}

/// Why a kernel has no nests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Loops would have to go around each other.
    Crossing,
    /// The nests would hold more ops than they may, as what each needs is computed in it again.
    TooMany,
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
    facts.scope(&DimSet::new(), roots, Positions::default())
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

/// What is known of each op, by position.
struct Facts {
    is_root: Vec<bool>,
    /// Loop dims that the op runs over.
    domain: Vec<DimSet>,
    /// Of a reduction, the loop dims that it ranges over.
    reduced: Vec<DimSet>,
    /// Positions of the ops that make its operands.
    operands: Vec<Vec<usize>>,
    /// Positions of the roots that it needs without another root in between.
    roots: Vec<Rc<Positions>>,
    /// How many more ops the nests may hold.
    left: Cell<usize>,
}

impl Facts {
    fn of(space: &Space<'_, '_>, is_loop: &dyn Fn(usize) -> bool, most: usize) -> Self {
        let is_loop = |dim: &usize| is_loop(*dim);
        let mut facts = Self {
            is_root: Vec::new(),
            domain: Vec::new(),
            reduced: Vec::new(),
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
            let reduced = ReduceOp::from_op(*op)
                .map(|reduce| space.dims_reduced_by(reduce))
                .unwrap_or_default()
                .into_iter()
                .filter(is_loop)
                .collect::<DimSet>();
            let mut roots = Rc::<Positions>::default();
            for operand in &operands {
                match facts.is_root[*operand] {
                    true => Rc::make_mut(&mut roots).insert(*operand),
                    false => positions::join(&mut roots, &facts.roots[*operand]),
                }
            }
            facts
                .is_root
                .push(WriteOp::from_op(*op).is_some() || !reduced.is_empty());
            facts.domain.push(dims.into_iter().filter(is_loop).collect());
            facts.reduced.push(reduced);
            facts.operands.push(operands);
            facts.roots.push(roots);
        }
        facts
    }

    /// The loops that a reduction's result varies over, or all of a write's.
    fn kept(&self, root: usize, open: &DimSet) -> DimSet {
        &(&self.domain[root] - &self.reduced[root]) - open
    }

    /// The roots that an op needs and that are not `available`. What else is available has all that it needs.
    fn roots_of<'s>(&'s self, op: usize, available: &'s Positions) -> impl Iterator<Item = usize> + 's {
        self.roots[op].without(available)
    }

    /// Whether the roots that an op needs are all `available`.
    fn is_ready(&self, op: usize, available: &Positions) -> bool {
        self.roots[op].is_subset(available)
    }

    /// What `roots` need that is neither a root nor `available`, as far as all of it `may` be computed here.
    fn others_of(&self, roots: &[usize], available: &Positions, may: impl Fn(usize) -> bool) -> Positions {
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

    /// The items of a scope within the loops `open` that has to do `remaining`.
    fn scope(
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
                // A reduction's result is there only when its loops have ended.
                available.join(&ops.iter().filter(|op| self.reduced[*op].is_empty()).collect());
                remaining = rest;
                continue;
            }
            let nest = self.nest(open, &remaining, &available);
            let (dim, group) = nest.ok_or(Refused::Crossing)?;
            // What does not vary over the loops inside is computed once for all of their steps.
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
                .filter(|root| self.reduced[*root].contains(&dim))
                .collect();
            let body = self.scope(&inside, group.clone(), available.clone())?;
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

    /// Adds ops to a scope.
    fn add(&self, items: &mut Vec<Item>, ops: &Positions) -> Result<(), Refused> {
        for op in ops.iter() {
            let left = self.left.get().checked_sub(1).ok_or(Refused::TooMany)?;
            self.left.set(left);
            items.push(Item::Op(op));
        }
        Ok(())
    }

    /// Roots, and the roots that they need and that are not there: also those that a loop has computed for itself alone.
    fn with_needs(&self, roots: Vec<usize>, available: &Positions) -> Vec<usize> {
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

    /// The next loop of a scope, and the roots that share it: of those that could begin, the first whose loop completes
    /// something.
    fn nest(&self, open: &DimSet, remaining: &[usize], available: &Positions) -> Option<(usize, Vec<usize>)> {
        let firsts = remaining.iter().copied();
        let mut firsts = firsts.filter(|root| self.is_ready(*root, available));
        // A loop over the same dim would have the same roots.
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
        // Those whose results are there within a step.
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

    /// Takes out of a loop over `dim` what varies over it and is needed outside of it alone: it is computed there.
    fn drop_misplaced(
        &self,
        group: &mut Positions,
        dim: usize,
        open: &DimSet,
        remaining: &[usize],
        available: &Positions,
    ) {
        // For each root of the group that varies over the loop, how many need it within the loop.
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

#[cfg(test)]
mod tests {
    use melior::{
        Context,
        dialect::{DialectHandle, DialectRegistry},
        ir::Module,
    };
    use norma_dialects::{norm::KernelOp, op_name};

    use super::{Item, of};
    use crate::{kernel::space::Space, mlir::walk};

    /// The nests of the first kernel in `text`: loops as `d{...}` and the ops by name, without arithmetic.
    fn nests(text: &str) -> Option<String> {
        let registry = DialectRegistry::new();
        norma_dialects::register(&registry);
        DialectHandle::arith().insert_dialect(&registry);
        let context = Context::new();
        context.append_dialect_registry(&registry);
        context.load_all_available_dialects();
        let module = Module::parse(&context, text)?;
        let kernel = *walk::named(module.as_operation(), KernelOp::NAME).first()?;
        let space = Space::of(KernelOp::from_op(kernel)?).ok()?;
        Some(of(&space).map_or_else(|_| "none".to_owned(), |items| print(&space, &items)))
    }

    fn print(space: &Space<'_, '_>, items: &[Item]) -> String {
        let texts = items.iter().filter_map(|item| match item {
            Item::Op(position) => op_name(space.ops[*position])
                .strip_prefix("norm.")
                .map(str::to_owned),
            Item::Loop(nest) => Some(format!(
                "{}[{}]{{{}}}",
                nest.dim,
                nest.carried.len(),
                print(space, &nest.body)
            )),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_kernel_without_loops_is_its_ops() {
        let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?xf32>)
               space(%b = dim(%x, 0) : grid, %t = 64 : thread) {
             %0 = norm.read %x[%b, %t] : memref<?x64xf32>
             %1 = norm.reduce add %0 over(%t) : f32
             norm.write %1, %y[%b] : memref<?xf32>
           }";
        assert_eq!(nests(text).as_deref(), Some("read reduce write"));
    }

    #[test]
    fn what_waits_for_a_loop_is_another_nest_and_reads_again() {
        let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
               space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) {
             %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
             %1 = norm.reduce max %0 over(%c, %t) : f32
             %2 = arith.subf %0, %1 : f32
             %3 = norm.reduce add %2 over(%c, %t) : f32
             %4 = arith.divf %2, %3 : f32
             norm.write %4, %y[%b, %c * 32 + %t] : memref<?x64xf32>
           }";
        assert_eq!(
            nests(text).as_deref(),
            Some("1[1]{read reduce} 1[1]{read reduce} 1[0]{read write}")
        );
    }

    #[test]
    fn independent_reductions_share_a_loop() {
        let text = "norm.kernel @k(%x: memref<?x64xf32>, %y: memref<?xf32>, %z: memref<?xf32>)
               space(%b = dim(%x, 0) : grid, %c = 2 : loop, %t = 32 : thread) {
             %0 = norm.read %x[%b, %c * 32 + %t] : memref<?x64xf32>
             %1 = norm.reduce max %0 over(%c, %t) : f32
             norm.write %1, %y[%b] : memref<?xf32>
             %3 = norm.reduce add %0 over(%c, %t) : f32
             norm.write %3, %z[%b] : memref<?xf32>
           }";
        assert_eq!(
            nests(text).as_deref(),
            Some("1[2]{read reduce reduce} write write")
        );
    }

    #[test]
    fn a_walk_over_rows_keeps_what_does_not_vary_and_accumulates_over_itself() {
        // The gradient of a norm: one reduction within each step, one over all steps.
        let text = "norm.kernel @k(%x: memref<?x32xf32>, %w: memref<32xf32>, %dx: memref<?x32xf32>, %dw: memref<4x32xf32>)
               space(%s = dim(%x, 0) ceildiv 4 : loop, %p = 4 : grid, %t = 32 : thread)
               where(%s * 4 + %p < dim(%x, 0)) {
             %0 = norm.read %x[%s * 4 + %p, %t] : memref<?x32xf32>
             %1 = norm.read %w[%t] : memref<32xf32>
             %2 = arith.mulf %0, %1 : f32
             %3 = norm.reduce add %2 over(%t) : f32
             %4 = arith.mulf %3, %0 : f32
             norm.write %4, %dx[%s * 4 + %p, %t] : memref<?x32xf32>
             %5 = norm.reduce add %4 over(%s) : f32
             norm.write %5, %dw[%p, %t] : memref<4x32xf32>
           }";
        assert_eq!(
            nests(text).as_deref(),
            Some("read 0[1]{read reduce write reduce} write")
        );
    }

    #[test]
    fn the_loop_that_a_result_keeps_is_outside() {
        let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<8xf32>)
               space(%c = 64 : loop, %m = 8 : loop) {
             %0 = norm.read %x[%c, %m] : memref<64x8xf32>
             %1 = norm.reduce add %0 over(%c) : f32
             norm.write %1, %y[%m] : memref<8xf32>
           }";
        assert_eq!(nests(text).as_deref(), Some("1[0]{0[1]{read reduce} write}"));
    }

    #[test]
    fn reductions_that_cross_are_two_nests() {
        let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<8xf32>, %z: memref<64xf32>)
               space(%c = 64 : loop, %m = 8 : loop) {
             %0 = norm.read %x[%c, %m] : memref<64x8xf32>
             %1 = norm.reduce add %0 over(%c) : f32
             norm.write %1, %y[%m] : memref<8xf32>
             %2 = norm.reduce add %0 over(%m) : f32
             norm.write %2, %z[%c] : memref<64xf32>
           }";
        assert_eq!(
            nests(text).as_deref(),
            Some("1[0]{0[1]{read reduce} write} 0[0]{1[1]{read reduce} write}")
        );
    }

    #[test]
    fn what_varies_over_a_loop_is_computed_where_it_is_needed() {
        // The second reduction is over the loop that the first one's result varies over: the write waits for it.
        let text = "norm.kernel @k(%x: memref<64x8xf32>, %w: memref<8xf32>, %y: memref<64x8xf32>)
               space(%c = 64 : loop, %m = 8 : loop) {
             %0 = norm.read %x[%c, %m] : memref<64x8xf32>
             %1 = norm.read %w[%m] : memref<8xf32>
             %2 = norm.reduce max %0 over(%c) : f32
             %3 = norm.reduce add %1 over(%m) : f32
             %4 = arith.mulf %2, %3 : f32
             norm.write %4, %y[%c, %m] : memref<64x8xf32>
           }";
        assert_eq!(
            nests(text).as_deref(),
            Some("1[1]{read reduce} 1[0]{0[1]{read reduce} 0[0]{write}}")
        );
    }

    #[test]
    fn loops_do_not_go_around_each_other() {
        let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<64x8xf32>)
               space(%c = 64 : loop, %m = 8 : loop) {
             %0 = norm.read %x[%c, %m] : memref<64x8xf32>
             %1 = norm.reduce add %0 over(%c) : f32
             %2 = norm.reduce add %0 over(%m) : f32
             %3 = arith.addf %1, %2 : f32
             norm.write %3, %y[%c, %m] : memref<64x8xf32>
           }";
        assert_eq!(nests(text).as_deref(), Some("none"));
    }

    #[test]
    fn one_carrier_goes_through_nested_loops() {
        let text = "norm.kernel @k(%x: memref<64x8xf32>, %y: memref<1xf32>)
               space(%g = 1 : grid, %c = 64 : loop, %m = 8 : loop) {
             %0 = norm.read %x[%c, %m] : memref<64x8xf32>
             %1 = norm.reduce add %0 over(%c, %m) : f32
             norm.write %1, %y[%g] : memref<1xf32>
           }";
        assert_eq!(nests(text).as_deref(), Some("1[1]{2[1]{read reduce}} write"));
    }
}
