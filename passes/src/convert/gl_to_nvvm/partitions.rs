//! Lowers partitions of warps to branches on the warp's number, and ops that one thread executes to branches on the thread.
//!
//! This happens before the conversion, on `gl`: which thread executes a one-thread op depends on the partition that it stands
//! in. Neighbouring ops of one thread share a branch. A shuffle makes the warp's number uniform, so that ptxas knows that whole
//! warps branch. In a partition of one warp the thread is that of `elect.sync`, which costs no loop around a bulk copy, as a
//! comparison of thread ids does (seen in SASS of ptxas 13.0).
//!
//! In a partition, layouts and one-thread ops count threads from the partition's first one. The conversion knows only the CTA's
//! thread ids, so it leaves them to [`count_threads_from_partitions`], which subtracts the first thread.

use melior::ir::{
    Attribute, BlockLike, BlockRef, OperationRef, Region, RegionLike, Type, Value, ValueLike,
    attribute::IntegerAttribute, operation::OperationLike, r#type::IntegerType,
};
use mlir_sys::mlirOperationMoveBefore;
use norma_dialects::{
    attributes::kernel as kernel_attribute,
    gl::{
        AsyncCopyOp, BarrierOp, BulkCommitOp, BulkLoadOp, BulkStoreOp, BulkWaitOp, DrawTileOp,
        FenceMBarrierInitOp, MBarrierArriveOp, MBarrierExpectOp, MBarrierInitOp, MemDescIndexOp,
        MemDescReshapeOp, TailLoadOp, TensorLoadOp, TensorMapOp, TensorStoreOp, WarpSpecializeOp,
    },
    integer_of,
};
use norma_targets::WARP_SIZE;

use crate::mlir::{
    builder::Builder,
    comparison::{IntegerPredicate, compare_integers},
    control_flow,
    diagnostic::Diagnostic,
    pass::PassError,
    region, types,
    values::users,
    walk,
};

/// On the branch to a partition that does not begin with the CTA's first warp, the number of its first warp, an i64.
const FIRST_WARP: &str = "gl.first_warp";
const THREAD_ID: &str = "nvvm.read.ptx.sreg.tid.x";

/// The warps that run a block: the first one's number, and how many there are.
#[derive(Clone, Copy)]
struct Warps {
    first: i64,
    count: i64,
}

/// Rewrites the partitions and the one-thread ops of a kernel whose CTA has `warps` warps.
pub(super) fn lower<'c: 'a, 'a>(kernel: OperationRef<'c, 'a>, warps: i64) -> Result<(), PassError<'c>> {
    let whole = Warps {
        first: 0,
        count: warps,
    };
    block(walk::entry_block(kernel)?, whole)
}

/// Makes the thread ids in each partition of a converted kernel count from the partition's first thread.
pub(super) fn count_threads_from_partitions<'c: 'a, 'a>(
    kernel: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    for branch in walk::named(kernel, "scf.if") {
        let Some(first) = integer_of(branch, FIRST_WARP) else {
            continue;
        };
        let ops = walk::in_block(walk::entry_block(branch)?).into_iter();
        let ids = ops
            .flat_map(walk::pre_order)
            .filter(|op| walk::has_name(*op, THREAD_ID));
        for id in ids.collect::<Vec<_>>() {
            let of_cta: Value<'c, 'a> = id.result(0)?.into();
            let users = users(of_cta);
            let b = Builder::after(id);
            let narrow = of_cta.r#type();
            let of_partition = b.value(
                "arith.subi",
                &[of_cta, b.integer(narrow, first * WARP_SIZE)],
                narrow,
            );
            for user in users {
                let operands = user
                    .operands()
                    .map(|operand| if operand == of_cta { of_partition } else { operand })
                    .collect::<Vec<_>>();
                b.set_operands(user, &operands);
            }
        }
        Builder::before(branch).remove_attribute(branch, FIRST_WARP);
    }
    Ok(())
}

fn block<'c: 'a, 'a>(of: BlockRef<'c, 'a>, warps: Warps) -> Result<(), PassError<'c>> {
    for op in walk::in_block(of) {
        match WarpSpecializeOp::from_op(op) {
            Some(specialize) => partitions(specialize, warps)?,
            None => {
                for region in op.regions() {
                    if let Some(nested) = region.first_block() {
                        block(nested, warps)?;
                    }
                }
            }
        }
    }
    // Last, so that the loop above does not enter the branches that this makes.
    one_thread(of, warps)
}

/// Moves the ops that one thread executes into branches that it alone takes.
fn one_thread<'c: 'a, 'a>(of: BlockRef<'c, 'a>, warps: Warps) -> Result<(), PassError<'c>> {
    let mut branch: Option<(OperationRef<'c, 'a>, OperationRef<'c, 'a>)> = None;
    for op in walk::in_block(of) {
        let is_one_threads = MBarrierInitOp::from_op(op).is_some()
            || FenceMBarrierInitOp::from_op(op).is_some()
            || MBarrierExpectOp::from_op(op).is_some()
            || BulkLoadOp::from_op(op).is_some()
            || TailLoadOp::from_op(op).is_some()
            || TensorLoadOp::from_op(op).is_some()
            || TensorStoreOp::from_op(op).is_some()
            || BulkStoreOp::from_op(op).is_some()
            || BulkCommitOp::from_op(op).is_some()
            || BulkWaitOp::from_op(op).is_some()
            || DrawTileOp::from_op(op).is_some();
        if !is_one_threads {
            // Scalars may stand between ops of one branch; they do not depend on it.
            branch = branch.filter(|_| is_pure_scalar(op));
            continue;
        }
        let inside = match branch {
            // A scalar in between may be an operand of the op, so the branch moves down to it.
            Some((branch, end)) => {
                // SAFETY: both are alive and in one block.
                unsafe { mlirOperationMoveBefore(branch.to_raw(), op.to_raw()) };
                (branch, end)
            }
            None => {
                let b = Builder::before(op);
                let elected = elected(&b, warps)?;
                let opened = control_flow::when(&b, elected, |_| Ok(()))?;
                let end = walk::entry_block(opened)?.terminator();
                let end = end.ok_or_else(|| Diagnostic::internal(op.location(), "expected a branch"))?;
                (opened, end)
            }
        };
        // SAFETY: both are alive.
        unsafe { mlirOperationMoveBefore(op.to_raw(), inside.1.to_raw()) };
        branch = Some(inside);
    }
    Ok(())
}

fn is_pure_scalar(op: OperationRef<'_, '_>) -> bool {
    let name = norma_dialects::op_name(op);
    let is_known = name.starts_with("arith.")
        || name.starts_with("affine.")
        || [MemDescIndexOp::NAME, MemDescReshapeOp::NAME, TensorMapOp::NAME].contains(&name);
    is_known && op.results().all(|result| !types::is_tensor(result.r#type()))
}

/// Whether the thread is the one that executes the one-thread ops of its partition: its first, whose id there is 0.
fn elected<'c: 'a, 'a>(b: &Builder<'c, 'a>, warps: Warps) -> Result<Value<'c, 'a>, PassError<'c>> {
    if warps.count == 1 && warps.first > 0 {
        return Ok(b.value("nvvm.elect.sync", &[], integer(b, 1)));
    }
    let thread = b.value(THREAD_ID, &[], integer(b, 32));
    let first = b.integer(integer(b, 32), 0);
    Ok(compare_integers(b, IntegerPredicate::Equal, thread, first))
}

/// Replaces `specialize` by branches to the partition of each warp.
fn partitions<'c: 'a, 'a>(specialize: WarpSpecializeOp<'c, 'a>, around: Warps) -> Result<(), PassError<'c>> {
    let op = specialize.op();
    let location = op.location();
    let counts = specialize.warps()?.to_vec();
    let expected: i64 = counts.iter().sum();
    if expected != around.count || around.first != 0 {
        let message = format!(
            "expected partitions of {} warps in all, got {expected}",
            around.count
        );
        return Err(Diagnostic::user(location, message).into());
    }
    let changes = register_changes(specialize, &counts)?;
    let b = Builder::before(op);
    let warp = warp_number(&b)?;
    let mut first = 0;
    let mut inside = Builder::before(op);
    for (index, count) in counts.iter().enumerate() {
        let body = op.region(index)?;
        let body_block = body
            .first_block()
            .ok_or_else(|| Diagnostic::internal(location, "expected a partition with a body"))?;
        refuse_shared_copies(body_block)?;
        let change = changes.get(index).copied().flatten();
        let is_for_one = first > 0 && *count > 1 && is_for_one_warp(body_block);
        let running = if is_for_one { 1 } else { *count };
        block(
            body_block,
            Warps {
                first,
                count: running,
            },
        )?;
        Builder::at_end(body_block, location).op("scf.yield", &[], &[]);
        let is_here = compare_integers(
            &inside,
            IntegerPredicate::UnsignedLess,
            warp,
            inside.integer(integer(&inside, 32), first + count),
        );
        let body = region::taken_from(body);
        let (then, of_first) = match is_for_one {
            true => (region::of_block(&[]), Some(body)),
            false => (body, None),
        };
        let is_last = index + 1 == counts.len();
        let others = if is_last {
            Region::new()
        } else {
            region::of_block(&[])
        };
        let branch = inside.op_with("scf.if", &[is_here], &[], &[], vec![then, others]);
        let start = walk::entry_block(branch)?;
        if let Some(change) = change {
            change.build(&Builder::at_start(start, location))?;
        }
        if let Some(of_first) = of_first {
            let b = Builder::at_end(start, location);
            let behind = b.integer(integer(&b, 32), first + 1);
            let is_first = compare_integers(&b, IntegerPredicate::UnsignedLess, warp, behind);
            b.op_with("scf.if", &[is_first], &[], &[], vec![of_first, Region::new()]);
            b.op("scf.yield", &[], &[]);
        }
        if first > 0 {
            inside.set_attribute(branch, FIRST_WARP, inside.i64_attribute(first));
        }
        if !is_last {
            let others = branch
                .region(1)?
                .first_block()
                .ok_or_else(|| Diagnostic::internal(location, "expected a branch"))?;
            let end = Builder::at_end(others, location).op("scf.yield", &[], &[]);
            inside = Builder::before(end);
        }
        first += count;
    }
    b.erase(op);
    Ok(())
}

/// A change of the number of registers that the threads of a partition have.
#[derive(Clone, Copy)]
struct RegisterChange {
    registers: i64,
    is_more: bool,
}

impl RegisterChange {
    /// Builds the change, which all warps of a warpgroup execute.
    fn build<'c: 'a, 'a>(self, b: &Builder<'c, 'a>) -> Result<(), PassError<'c>> {
        let action = match self.is_more {
            true => "#nvvm<action increase>",
            false => "#nvvm<action decrease>",
        };
        let action = Attribute::parse(b.context(), action)
            .ok_or_else(|| Diagnostic::internal(b.location(), "no change of registers"))?;
        let count = IntegerAttribute::new(integer(b, 32), self.registers);
        let attributes = [("regCount", count.into()), ("action", action)];
        b.op_with("nvvm.setmaxregister", &[], &[], &attributes, Vec::new());
        Ok(())
    }
}

/// Returns by partition how its threads change the registers that they start with; none where the partitions share them evenly.
fn register_changes<'c>(
    specialize: WarpSpecializeOp<'c, '_>,
    warps: &[i64],
) -> Result<Vec<Option<RegisterChange>>, PassError<'c>> {
    let Some(registers) = specialize.registers() else {
        return Ok(Vec::new());
    };
    let op = specialize.op();
    let refused = |message: String| Err(Diagnostic::user(op.location(), message).into());
    let kernel = walk::enclosing(op, "gpu.func");
    let Some(start) = kernel.and_then(|kernel| integer_of(kernel, kernel_attribute::START_REGISTERS)) else {
        return refused(
            "expected a kernel with gl.start_registers where registers are handed over".to_owned(),
        );
    };
    let held: i64 = warps
        .iter()
        .zip(&registers)
        .map(|(warps, each)| warps * each)
        .sum();
    let all = start * warps.iter().sum::<i64>();
    if held > all {
        return refused(format!(
            "expected partitions that hold at most the {all} registers that the lanes of their warps start with, got {held}"
        ));
    }
    let change = |registers: i64| {
        (registers != start).then_some(RegisterChange {
            registers,
            is_more: registers > start,
        })
    };
    Ok(registers.iter().map(|registers| change(*registers)).collect())
}

/// Whether only one thread of a partition has anything to do but wait. Its first warp alone runs it then: the others of a warpgroup could
/// fall behind the thread that issues copies by a whole phase of an mbarrier, and wait for it forever.
fn is_for_one_warp(partition: BlockRef<'_, '_>) -> bool {
    let mut ops = walk::in_block(partition).into_iter().flat_map(walk::pre_order);
    ops.all(|op| {
        BarrierOp::from_op(op).is_none()
            && MBarrierArriveOp::from_op(op).is_none()
            && op.results().all(|result| !types::is_tensor(result.r#type()))
    })
}

/// Refuses `cp.async` in a partition: all warps of a kernel share such a copy.
fn refuse_shared_copies<'c>(partition: BlockRef<'c, '_>) -> Result<(), PassError<'c>> {
    let mut ops = walk::in_block(partition).into_iter().flat_map(walk::pre_order);
    match ops.find(|op| AsyncCopyOp::from_op(*op).is_some()) {
        None => Ok(()),
        Some(op) => {
            let message = "a copy by cp.async in a partition of warps; supported: where all warps take part";
            Err(Diagnostic::unsupported(op.location(), message).into())
        }
    }
}

/// The warp's number, as a value that ptxas knows to be uniform.
fn warp_number<'c: 'a, 'a>(b: &Builder<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
    let narrow = integer(b, 32);
    let thread = b.value(THREAD_ID, &[], narrow);
    let bits = b.integer(narrow, i64::from(WARP_SIZE.ilog2()));
    let warp = b.value("arith.shrui", &[thread, bits], narrow);
    let kind = Attribute::parse(b.context(), "#nvvm<shfl_kind idx>")
        .ok_or_else(|| Diagnostic::internal(b.location(), "no kind of shuffle"))?;
    let operands = [
        b.integer(narrow, -1),
        warp,
        b.integer(narrow, 0),
        b.integer(narrow, WARP_SIZE - 1),
    ];
    Ok(b.value_with("nvvm.shfl.sync", &operands, narrow, &[("kind", kind)]))
}

fn integer<'c>(b: &Builder<'c, '_>, bits: u32) -> Type<'c> {
    IntegerType::new(b.context(), bits).into()
}
