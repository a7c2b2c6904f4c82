//! Refuses what no pass makes of specialised warps: numbers of producer warps, registers that cannot be handed over, and groups of
//! consumers that cannot take steps in turns.

use melior::ir::{OperationRef, operation::OperationLike};
use norma_dialects::norm::{CopyMechanism, HandOut, Level};
use norma_targets::{WARP_SIZE, WARPGROUP_WARPS};

use super::{
    super::{mapping::Mapping, reason::Reason},
    has_steps,
};
use crate::{gl::hand_over, kernel::space::Space};

/// Checks the numbers of a mapping that concern specialised warps.
pub(super) fn check(
    space: &Space<'_, '_>,
    mapping: &Mapping,
    before: &dyn Fn(usize) -> i64,
) -> Result<(), Reason> {
    if mapping.producer_registers != 0 {
        check_registers(mapping)?;
    }
    if mapping.consumer_groups > 1 {
        check_groups(mapping)?;
        check_turns(space, mapping, before)?;
    }
    Ok(())
}

/// Refuses registers that cannot be handed over: it takes whole warpgroups, and a number that the threads start with.
fn check_registers(mapping: &Mapping) -> Result<(), Reason> {
    let warps = mapping.extent(Level::Warp);
    if mapping.producer_warps != WARPGROUP_WARPS || warps % WARPGROUP_WARPS != 0 {
        return Err(Reason::wrong(format!(
            "expected a warpgroup of {WARPGROUP_WARPS} producer warps and whole warpgroups of consumers for producer_registers, got {} \
             and {warps} warps",
            mapping.producer_warps
        )));
    }
    if mapping.min_ctas_per_sm == 0 {
        return Err(Reason::wrong(
            "expected min_ctas_per_sm for producer_registers, which says how many registers there are to hand over, got 0",
        ));
    }
    let kept = mapping.producer_registers;
    let start = mapping.start_registers().unwrap_or(0);
    let taken = hand_over::of_consumer(start, mapping.consumer_warps(), mapping.producer_warps, kept);
    if kept >= start || taken <= start {
        return Err(Reason::wrong(format!(
            "expected producer_registers below the {start} registers that each of {} warps starts with where an SM holds {} CTAs, so \
             that consumers get more, got {kept}, with which consumers get {taken}",
            mapping.all_warps(),
            mapping.min_ctas_per_sm
        )));
    }
    Ok(())
}

/// Refuses groups of consumers without a ring, each of whose stages has one group.
fn check_groups(mapping: &Mapping) -> Result<(), Reason> {
    let groups = mapping.consumer_groups;
    if mapping.producer_warps == 0 || !matches!(mapping.bring, CopyMechanism::Bulk | CopyMechanism::Tensor) {
        return Err(Reason::wrong(format!(
            "expected producer_warps and bring = bulk or tensor for consumer_groups = {groups}, got {} and {}",
            mapping.producer_warps,
            mapping.bring.keyword()
        )));
    }
    // A wait for a parity is only right for a group that has waited for every earlier phase of the stage.
    if mapping.stages % groups != 0 {
        return Err(Reason::wrong(format!(
            "expected stages to be a multiple of consumer_groups = {groups}, so that each stage has one group, got {}",
            mapping.stages
        )));
    }
    if mapping.hand_out != HandOut::Static {
        return Err(Reason::unsupported(
            "tiles that consumer_groups draw; supported: hand_out = static",
        ));
    }
    if mapping.ctas_per_cluster() > 1 {
        return Err(Reason::unsupported(
            "consumer_groups in a cluster; supported: CTAs on their own",
        ));
    }
    if mapping.threads() == WARP_SIZE && mapping.extent(Level::Lane) == 1 {
        return Err(Reason::unsupported(
            "consumer_groups of single threads; supported: tiles over lanes or warps",
        ));
    }
    Ok(())
}

/// Refuses steps that groups cannot take in turns: each step has to stand on its own but for what the loop accumulates, and only the
/// first group has what comes of all steps.
fn check_turns(
    space: &Space<'_, '_>,
    mapping: &Mapping,
    before: &dyn Fn(usize) -> i64,
) -> Result<(), Reason> {
    let is_looped = |dim: &usize| has_steps(space, mapping, *dim, before(*dim));
    let Some(looped) = (0..space.dims.len()).find(is_looped) else {
        return Err(Reason::wrong(format!(
            "expected a dim that passes in a loop for consumer_groups = {}, got none",
            mapping.consumer_groups
        )));
    };
    let accesses = space.accesses().map_err(Reason::wrong)?;
    if let Some(sent) = accesses
        .iter()
        .find(|access| access.is_write && mapping.sends(access.buffer))
    {
        return Err(Reason::unsupported(format!(
            "the result of buffer {} in shared memory with consumer_groups; supported: results that threads write",
            sent.buffer
        )));
    }
    let is_scanned = |scan| space.dims_scanned_by(scan).contains(&looped);
    if space.scans().into_iter().any(is_scanned) || space.dims_of_nth().contains(&looped) {
        return Err(Reason::unsupported(format!(
            "consumer_groups where a step of the loop over dim {looped} needs the one before it; supported: steps on their own"
        )));
    }
    let accumulated = space.reductions_over(looped);
    let is_in_second_loop = |op: &OperationRef<'_, '_>| {
        let varies = op.operands().any(|value| space.dims_of(value).contains(&looped));
        let waits = op.operands().any(|value| {
            let reductions = space.waits_for(value);
            accumulated.iter().any(|position| reductions.contains(*position))
        });
        varies && waits
    };
    if space.ops.iter().any(is_in_second_loop) {
        return Err(Reason::unsupported(format!(
            "consumer_groups where a second loop over dim {looped} needs what the first one has reduced; supported: one loop"
        )));
    }
    Ok(())
}
