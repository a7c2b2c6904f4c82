//! The order in which functions launch their kernels.

use std::collections::{BTreeSet, HashMap, HashSet};

use melior::{
    Error,
    ir::{OperationRef, Value, ValueLike, operation::OperationLike},
};
use norma_dialects::norm::{KernelOp, LaunchOp};

use super::space::Space;
use crate::mlir::{
    types,
    values::{definition, key},
    walk,
};

/// Which kernels functions launch behind or ahead of others.
#[derive(Debug, Default)]
pub struct LaunchOrder<'c> {
    /// The kernels that are launched directly in front of a kernel; `None` in front of a launch that may be a function's first.
    ahead: HashMap<&'c str, HashSet<Option<&'c str>>>,
    /// The kernels that may run behind a kernel.
    behind: HashMap<&'c str, HashSet<&'c str>>,
}

impl<'c> LaunchOrder<'c> {
    /// Reads the launches of a module.
    pub fn of(module: OperationRef<'c, '_>) -> Self {
        let mut order = Self::default();
        for launch in walk::all(module, LaunchOp::from_op) {
            let Some(kernel) = callee(launch) else {
                continue;
            };
            let [ahead, behind] = beside(launch);
            let ahead = ahead.into_iter().next().and_then(callee);
            order.ahead.entry(kernel).or_default().insert(ahead);
            let behind = behind.into_iter().filter_map(callee);
            order.behind.entry(kernel).or_default().extend(behind);
        }
        order
    }

    /// The kernels that functions launch directly in front of a kernel; none if one may launch it first.
    pub fn ahead(&self, kernel: &str) -> Vec<&'c str> {
        let ahead = self.ahead.get(kernel).into_iter().flatten().copied();
        ahead.collect::<Option<_>>().unwrap_or_default()
    }

    /// The kernels that functions launch behind a kernel.
    pub fn behind(&self, kernel: &str) -> impl Iterator<Item = &'c str> {
        self.behind.get(kernel).into_iter().flatten().copied()
    }
}

/// For each kernel, its buffers that a kernel which a function launches later reads.
///
/// # Errors
///
/// A kernel is not one that its verifier accepts.
pub fn read_later<'c: 'a, 'a>(
    module: OperationRef<'c, 'a>,
) -> Result<HashMap<&'c str, BTreeSet<usize>>, Error> {
    let mut read_by = HashMap::new();
    for kernel in walk::all(module, KernelOp::from_op) {
        let accesses = Space::of(kernel)?.accesses()?.into_iter();
        let read = accesses.filter(|access| !access.is_write);
        read_by.insert(
            kernel.sym_name()?,
            read.map(|access| access.buffer).collect::<BTreeSet<_>>(),
        );
    }
    let mut read_later = HashMap::<_, BTreeSet<_>>::new();
    for function in walk::named(module, "func.func") {
        let mut read = HashSet::<usize>::new();
        for launch in walk::all(function, LaunchOp::from_op).into_iter().rev() {
            let Some(kernel) = callee(launch) else {
                continue;
            };
            let arguments = launch.arguments();
            let roots = arguments.iter().map(|argument| key(root(*argument)));
            let roots = roots.collect::<Vec<_>>();
            let later = (0..roots.len()).filter(|buffer| read.contains(&roots[*buffer]));
            read_later.entry(kernel).or_default().extend(later);
            let of_kernel = read_by.get(kernel).into_iter().flatten();
            read.extend(of_kernel.filter_map(|buffer| roots.get(*buffer).copied()));
        }
    }
    Ok(read_later)
}

/// The name of the kernel that a launch runs.
pub(crate) fn callee<'c>(launch: LaunchOp<'c, '_>) -> Option<&'c str> {
    let path = norma_dialects::symbol_path(launch.callee().ok()?).ok()?;
    path.last().copied()
}

/// The launches that a function makes behind a launch, nearest first. Of the branches of a choice only one runs.
pub(crate) fn behind<'c: 'a, 'a>(launch: LaunchOp<'c, 'a>) -> Vec<LaunchOp<'c, 'a>> {
    let [_, behind] = beside(launch);
    behind
}

/// The launches in front of a launch and those behind it, nearest first: among the ops that stand before and after it, or an op that
/// contains it, within the function.
fn beside<'c: 'a, 'a>(launch: LaunchOp<'c, 'a>) -> [Vec<LaunchOp<'c, 'a>>; 2] {
    let is_in_function = |op: &OperationRef<'c, 'a>| !walk::has_name(*op, "func.func");
    let around = std::iter::successors(Some(launch.op()), |op| op.parent_operation());
    let mut beside = [Vec::new(), Vec::new()];
    for op in around.take_while(is_in_function) {
        let ops = op.block().map(walk::in_block).unwrap_or_default();
        let launches = |ops: &[OperationRef<'c, 'a>]| {
            let launches = ops.iter().flat_map(|op| walk::all(*op, LaunchOp::from_op));
            launches.collect::<Vec<_>>()
        };
        let mut sides = ops.split(|other| *other == op).map(launches);
        beside[0].extend(sides.next().into_iter().flatten().rev());
        beside[1].extend(sides.next().into_iter().flatten());
    }
    beside
}

/// The buffer that a value is a view of.
pub(crate) fn root<'c: 'a, 'a>(value: Value<'c, 'a>) -> Value<'c, 'a> {
    views(value)
        .last()
        .and_then(|view| view.operand(0).ok())
        .unwrap_or(value)
}

/// The ops that make a value of another buffer, the last one first; none if it is no view.
pub(crate) fn views<'c: 'a, 'a>(value: Value<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let view = |value: Value<'c, 'a>| {
        let op = definition(value)?;
        op.operand(0)
            .ok()
            .filter(|source| types::is_memref(source.r#type()))?;
        Some(op)
    };
    let next = |op: &OperationRef<'c, 'a>| view(op.operand(0).ok()?);
    std::iter::successors(view(value), next).collect()
}
