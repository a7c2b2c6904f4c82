//! `gl-allocate-shared`: every allocation of shared memory gets its place.
//!
//! An allocation is live from its op to its last use. A use inside a loop or a branch that does not contain the allocation
//! counts until the end of that op, because the next iteration may use it again. The partitions of `gl.warp_specialize` run
//! concurrently, so an allocation in one of them is live as long as the op. Mbarriers, and memory that asynchronous copies
//! touch, are live throughout the kernel: waits, not program order, tell when a copy has completed.
//!
//! Allocations are placed first fit, in program order. Two that are never live at once may share bytes, which costs a barrier
//! between them (`gl-insert-barriers`); small ones therefore share with none.

use std::collections::HashMap;

use melior::ir::{BlockLike, Location, OperationRef, RegionLike, ValueLike, operation::OperationLike};
use norma_dialects::{
    attributes::kernel,
    gl::{MBarrierType, WarpSpecializeOp},
};
use norma_targets::{ACCESS_BYTES, MBARRIER_BYTES};

use crate::{
    gl::{
        shared_memory::{self, Completion},
        swizzled,
    },
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{GlAllocateShared, GlAllocateSharedStatistic},
};

/// How many allocations an error about too little memory names.
const NOTES: usize = 4;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlAllocateShared>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        allocate(function, cx)?;
    }
    Ok(())
}

fn allocate<'c>(
    function: OperationRef<'c, '_>,
    cx: &PassContext<'c, GlAllocateShared>,
) -> Result<(), PassError<'c>> {
    let options = cx.options();
    let allocations = lifetimes(function, options.share_from)?;
    let requests = allocations
        .iter()
        .map(|allocation| allocation.request)
        .collect::<Vec<_>>();
    let offsets = first_fit(&requests);
    let total = requests
        .iter()
        .zip(&offsets)
        .map(|(request, offset)| offset + request.bytes)
        .max()
        .unwrap_or(0);
    if total > options.limit {
        return Err(too_large(function, &allocations, total, options.limit).into());
    }
    let b = Builder::before(function);
    for (allocation, &offset) in allocations.iter().zip(&offsets) {
        b.set_attribute(allocation.op, "offset", b.i64_attribute(offset));
    }
    let total = b.i64_attribute(total);
    b.set_attribute(function, kernel::SHARED_BYTES, total);
    cx.count(GlAllocateSharedStatistic::NumAllocated, allocations.len() as u64);
    Ok(())
}

/// An allocation op and its request.
struct Allocation<'c, 'a> {
    op: OperationRef<'c, 'a>,
    request: Request,
}

/// A request for bytes that are live in an interval of program positions, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Request {
    bytes: i64,
    alignment: i64,
    first: usize,
    last: usize,
}

/// The allocations of a function, in program order.
fn lifetimes<'c, 'a>(
    function: OperationRef<'c, 'a>,
    share_from: i64,
) -> Result<Vec<Allocation<'c, 'a>>, PassError<'c>> {
    let program = Program::of(function)?;
    let mut allocations: Vec<Allocation<'c, 'a>> = Vec::new();
    let mut number = HashMap::new();
    for (position, &op) in program.ops.iter().enumerate() {
        if shared_memory::is_allocation(op) {
            let memory = op.result(0)?.r#type();
            let is_barrier = MBarrierType::from_type(memory).is_some();
            let mut request = Request {
                bytes: shared_memory::bytes(memory, op.location())?,
                alignment: if is_barrier { MBARRIER_BYTES } else { ACCESS_BYTES },
                first: position,
                last: position,
            };
            if is_barrier || request.bytes < share_from {
                (request.first, request.last) = program.whole();
            } else if let Some(concurrent) = program.enclosing_specialization(op) {
                (request.first, request.last) = program.extent(concurrent);
            }
            number.insert(op.to_raw().ptr as usize, allocations.len());
            allocations.push(Allocation { op, request });
        }
        for memory in op
            .operands()
            .filter(|operand| shared_memory::is_memory(operand.r#type()))
        {
            let allocation = shared_memory::known_origin(memory, op)?;
            let Some(&index) = number.get(&(allocation.to_raw().ptr as usize)) else {
                continue;
            };
            let request: &mut Request = &mut allocations[index].request;
            request.last = request.last.max(program.end_of_use(op, allocation));
        }
        for access in shared_memory::accesses(op)? {
            let allocation = shared_memory::known_origin(access.memory, op)?;
            let Some(&index) = number.get(&(allocation.to_raw().ptr as usize)) else {
                continue;
            };
            let request: &mut Request = &mut allocations[index].request;
            if access.completion != Completion::Immediate {
                (request.first, request.last) = program.whole();
            }
            if access.completion.is_by_copy_engine() {
                request.alignment = request.alignment.max(swizzled::alignment_of(op));
            }
        }
    }
    Ok(allocations)
}

/// The ops of a function in program order, each before what it contains.
struct Program<'c, 'a> {
    ops: Vec<OperationRef<'c, 'a>>,
    position: HashMap<usize, usize>,
    /// The position of the last op within each op.
    end: Vec<usize>,
}

impl<'c, 'a> Program<'c, 'a> {
    fn of(function: OperationRef<'c, 'a>) -> Result<Self, Diagnostic<'c>> {
        let ops = walk::pre_order(function);
        let position: HashMap<usize, usize> = ops
            .iter()
            .enumerate()
            .map(|(position, op)| (op.to_raw().ptr as usize, position))
            .collect();
        let mut end = (0..ops.len()).collect::<Vec<_>>();
        for (index, &op) in ops.iter().enumerate().rev() {
            let branches = |region: melior::ir::RegionRef<'c, 'a>| {
                region
                    .first_block()
                    .is_some_and(|block| block.next_in_region().is_some())
            };
            if op.regions().any(branches) {
                return Err(Diagnostic::unsupported(
                    op.location(),
                    "expected structured control flow, got a region of several blocks",
                ));
            }
            let parent = op
                .parent_operation()
                .and_then(|parent| position.get(&(parent.to_raw().ptr as usize)));
            if let Some(&parent) = parent {
                end[parent] = end[parent].max(end[index]);
            }
        }
        Ok(Self { ops, position, end })
    }

    fn whole(&self) -> (usize, usize) {
        (0, self.ops.len())
    }

    fn extent(&self, op: OperationRef<'c, 'a>) -> (usize, usize) {
        match self.position.get(&(op.to_raw().ptr as usize)) {
            Some(&first) => (first, self.end[first]),
            None => self.whole(),
        }
    }

    /// The position up to which a use by `user` keeps the allocation live.
    fn end_of_use(&self, user: OperationRef<'c, 'a>, allocation: OperationRef<'c, 'a>) -> usize {
        let mut op = user;
        while op.block() != allocation.block() {
            match op.parent_operation() {
                Some(parent) => op = parent,
                None => return self.whole().1,
            }
        }
        self.extent(op).1
    }

    /// The outermost `gl.warp_specialize` around `op`.
    fn enclosing_specialization(&self, op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
        let mut outermost = None;
        let mut op = op;
        while let Some(parent) = op.parent_operation() {
            if WarpSpecializeOp::from_op(parent).is_some() {
                outermost = Some(parent);
            }
            op = parent;
        }
        outermost
    }
}

/// An offset for each request: the lowest aligned one that overlaps no earlier request alive at the same time.
fn first_fit(requests: &[Request]) -> Vec<i64> {
    let mut placed: Vec<(Request, i64)> = Vec::new();
    for &request in requests {
        let mut taken = placed
            .iter()
            .filter(|(other, _)| request.first <= other.last && other.first <= request.last)
            .map(|(other, offset)| (*offset, offset + other.bytes))
            .collect::<Vec<_>>();
        taken.sort_unstable();
        let mut offset = 0;
        for (start, end) in taken {
            if offset + request.bytes <= start {
                break;
            }
            offset = offset.max((end + request.alignment - 1) / request.alignment * request.alignment);
        }
        placed.push((request, offset));
    }
    placed.into_iter().map(|(_, offset)| offset).collect()
}

fn too_large<'c>(
    function: OperationRef<'c, '_>,
    allocations: &[Allocation<'c, '_>],
    total: i64,
    limit: i64,
) -> Diagnostic<'c> {
    let message = format!("expected at most {limit} bytes of shared memory, got {total}");
    let mut by_size = allocations.iter().collect::<Vec<_>>();
    by_size.sort_by_key(|allocation| std::cmp::Reverse(allocation.request.bytes));
    by_size
        .iter()
        .take(NOTES)
        .map(|allocation| -> (Location<'c>, String) {
            let bytes = allocation.request.bytes;
            (allocation.op.location(), format!("{bytes} bytes allocated here"))
        })
        .fold(
            Diagnostic::unsupported(function.location(), message),
            |diagnostic, (location, text)| diagnostic.note(location, text),
        )
}

#[cfg(test)]
mod tests {
    use super::{Request, first_fit};

    fn request(bytes: i64, alignment: i64, first: usize, last: usize) -> Request {
        Request {
            bytes,
            alignment,
            first,
            last,
        }
    }

    #[test]
    fn what_lives_at_once_lies_apart() {
        let requests = [request(20, 16, 0, 5), request(32, 16, 3, 8), request(8, 8, 5, 6)];
        assert_eq!(first_fit(&requests), [0, 32, 24]);
    }

    #[test]
    fn what_never_lives_at_once_shares() {
        let requests = [
            request(64, 16, 0, 3),
            request(128, 16, 4, 9),
            request(32, 16, 9, 10),
        ];
        assert_eq!(first_fit(&requests), [0, 0, 128]);
    }

    #[test]
    fn alignment_leaves_gaps_that_smaller_ones_fill() {
        let requests = [
            request(8, 8, 0, 9),
            request(256, 128, 0, 9),
            request(16, 16, 0, 9),
        ];
        assert_eq!(first_fit(&requests), [0, 128, 16]);
    }
}
