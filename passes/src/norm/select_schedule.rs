//! `norm-select-schedule`: each kernel gets a schedule, the user's or the one that the cost model likes best.
//!
//! Matches a `norm.kernel` without a schedule. [`row`] reads off what a choice depends on, which is structure alone: extents,
//! strides, alignments, bytes; [`cost`] judges every schedule that holds whole rows in registers. Nothing but the attribute
//! changes.

mod cost;
mod row;

use melior::ir::{Attribute, AttributeLike, Location, OperationRef, operation::OperationLike};
use norma_dialects::norm::{
    CachePlace, CopyMechanism, Eviction, GridKind, KernelOp, ReductionStrategy, ScheduleAttr,
};
use norma_targets::Target;

use self::cost::{Candidate, Cost, longest, ranked};
use crate::{
    kernel::space::Space,
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{NormSelectSchedule, NormSelectScheduleStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormSelectSchedule>) -> PassResult<'c> {
    let options = cx.options();
    let target = Target::parse(&options.target).map_err(|error| {
        let diagnostic = Diagnostic::user(op.location(), &error);
        match error.hint() {
            Some(hint) => diagnostic.note(op.location(), hint),
            None => diagnostic,
        }
    })?;
    let given = match options.schedule.trim() {
        "" => None,
        text => Some(parse(text, op.location(), cx)?),
    };
    for kernel in walk::named(op, KernelOp::NAME)
        .into_iter()
        .filter_map(KernelOp::from_op)
    {
        if kernel.schedule().is_some() {
            continue;
        }
        let schedule = match given {
            Some(schedule) => schedule,
            None => choose(kernel, target, cx)?,
        };
        Builder::before(kernel.op()).set_attribute(kernel.op(), "schedule", schedule);
        cx.count(NormSelectScheduleStatistic::NumScheduled, 1);
    }
    Ok(())
}

/// Reads the user's schedule: the attribute, or the parameters inside its brackets.
fn parse<'c>(
    text: &str,
    location: Location<'c>,
    cx: &PassContext<'c, NormSelectSchedule>,
) -> Result<Attribute<'c>, Diagnostic<'c>> {
    let whole = if text.starts_with('#') {
        text.to_owned()
    } else {
        format!("#norm.schedule<{text}>")
    };
    Attribute::parse(cx.context(), &whole)
        .filter(|attribute| ScheduleAttr::from_attribute(*attribute).is_some())
        .ok_or_else(|| {
            let message =
                format!("expected a schedule like 'rows_per_cta = 1, threads_per_row = 256', got '{text}'");
            Diagnostic::user(location, message)
        })
}

/// The schedule with the lowest expected cost.
fn choose<'c>(
    kernel: KernelOp<'c, '_>,
    target: &Target,
    cx: &PassContext<'c, NormSelectSchedule>,
) -> Result<Attribute<'c>, PassError<'c>> {
    let location = kernel.op().location();
    let row = row::of(&Space::of(kernel)?)?;
    let ranked = ranked(&row, target);
    let Some((best, cost)) = ranked.first() else {
        let message = format!(
            "a row of {} elements in accesses of {} bytes, expected one that the registers of a CTA hold: at most {} \
             elements",
            row.extent,
            row.vector * row.element_bytes,
            longest(&row, target)
        );
        return Err(Diagnostic::unsupported(location, message).into());
    };
    if cx.options().explain {
        cx.remark(location, explanation(&row, &ranked, target));
    }
    let schedule = ScheduleAttr::get_checked(
        location,
        best.rows_per_cta as i64,
        best.threads_per_row as i64,
        best.vector as i64,
        best.chunk as i64,
        ReductionStrategy::Persistent,
        1,
        CachePlace::Register,
        CopyMechanism::Load,
        1,
        GridKind::Flat,
        0,
        false,
        1,
        if best.streaming {
            Eviction::Streaming
        } else {
            Eviction::Normal
        },
        best.early_reads,
        if cost::bounds_registers(&row, *best) {
            cost.resident as i64
        } else {
            0
        },
    );
    let schedule = schedule.ok_or(PassError::Reported)?;
    // SAFETY: the attribute lives in the context of the location.
    Ok(unsafe { Attribute::from_raw(schedule.to_raw()) })
}

/// What was chosen, what it is expected to lose, and what came next.
fn explanation(row: &cost::Row, ranked: &[(Candidate, Cost)], target: &Target) -> String {
    let shape = |candidate: &Candidate| {
        format!(
            "{} rows of {} threads with {} accesses of {} bytes each",
            candidate.rows_per_cta,
            candidate.threads_per_row,
            row.extent.div_ceil(candidate.threads_per_row * candidate.vector),
            candidate.vector * row.element_bytes
        )
    };
    let mut text = format!("for a row of {} elements on an {}", row.extent, target.part.name);
    if let Some((best, cost)) = ranked.first() {
        let losses = cost
            .losses
            .iter()
            .filter(|(_, loss)| *loss > 0.0)
            .map(|(name, loss)| format!("{name} {loss:.1}"))
            .collect::<Vec<_>>();
        text += &format!(
            ", {}: {} CTAs per SM at {} registers, expected to lose {:.1}% of a copy's speed ({})",
            shape(best),
            cost.resident,
            cost.registers,
            cost.total(),
            losses.join(", ")
        );
    }
    if let Some((next, cost)) = ranked.get(1) {
        text += &format!(
            "; next of {}: {}, {:.1}%",
            ranked.len(),
            shape(next),
            cost.total()
        );
    }
    text
}
