//! `norm-select-schedule`: each kernel gets a schedule, the user's or the cheapest by the cost model.
//!
//! Matches a `norm.kernel` without a schedule. [`crate::schedule`] extracts what a choice depends on, which is structure alone
//! (extents, strides, alignments, bytes), enumerates candidates, estimates their cost, and checks which of them the passes can apply.
//! Only attributes of kernels change, except where none can be applied because reductions cross ([`crossing`]).

mod alternatives;
mod any_rows;
mod better;
mod crossing;
mod explanation;
mod few;
mod given;
mod short_rows;

use std::collections::{HashSet, VecDeque};

use alternatives::{set_alternatives, size_name};
use better::Better;
use explanation::explanation;
use few::few;
use given::Given;
use melior::ir::{Attribute, AttributeLike, OperationRef, operation::OperationLike};
use norma_bundle::Expression;
use norma_dialects::{
    attributes,
    norm::{ChoiceAttr, KernelOp, Level, ScheduleAttr},
};
use norma_targets::Target;
use short_rows::short_rows;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    schedule::{
        basis::{Basis, reduce_alike},
        cost::{Assembled, Cost, cheapest, cost, ranked},
        mapping::Mapping,
        plan,
        reason::Reason,
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
    let kernels = walk::all(op, KernelOp::from_op);
    let given = Given::read(&kernels, cx)?;
    if options.batch_invariant && options.by_size {
        let message = "expected one of batch-invariant and by-size, got both: kernels for few points may reduce in another order";
        let location = kernels
            .first()
            .map_or(op.location(), |kernel| kernel.op().location());
        return Err(Diagnostic::user(location, message).into());
    }
    let mut open = VecDeque::from(kernels);
    while let Some(kernel) = open.pop_front() {
        let of_kernel = given.of(kernel);
        if options.batch_invariant {
            any_rows::check(kernel, &of_kernel)?;
        }
        if let Some(schedule) = kernel.schedule() {
            given::check(schedule.into(), target, kernel.op().location())?;
            // The second run finds the schedules of the first.
            if options.splits {
                explain_given(kernel, schedule, target, cx)?;
            }
            continue;
        }
        let of_sizes = of_kernel.alternatives.iter().map(|(_, schedule)| schedule);
        for schedule in of_sizes.chain(&of_kernel.schedule) {
            given::check(*schedule, target, kernel.op().location())?;
        }
        let has_alternatives = kernel.alternatives().is_some() || !of_kernel.alternatives.is_empty();
        if kernel.alternatives().is_none() {
            set_alternatives(kernel, &of_kernel.alternatives)?;
        }
        let schedule = match of_kernel.schedule {
            Some(schedule) => {
                if let Some(schedule) = ScheduleAttr::from_attribute(schedule) {
                    explain_given(kernel, schedule, target, cx)?;
                }
                schedule
            }
            None => match choose(kernel, target, cx.options().by_size && !has_alternatives, cx)? {
                Choice::Made(schedule) => schedule,
                Choice::Refused(reason) => {
                    let apart = match has_alternatives {
                        true => None,
                        false => crossing::take_apart(op, kernel)?,
                    };
                    let Some(apart) = apart else {
                        return Err(reason.at(kernel.op().location()).into());
                    };
                    open.extend([kernel, apart]);
                    continue;
                }
            },
        };
        // Kernels that combine the parts of a split get their schedules in a run without `splits`: it was the kernel
        // that was split that has been warned of.
        if options.batch_invariant && options.splits {
            any_rows::warn(kernel, cx)?;
        }
        Builder::before(kernel.op()).set_attribute(kernel.op(), "schedule", schedule);
        cx.count(NormSelectScheduleStatistic::NumScheduled, 1);
    }
    Ok(())
}

/// With `explain`, tells what is expected of a schedule that the user gave. It says nothing of a kernel that is tiled already, whose dims
/// are no longer those of the schedule.
fn explain_given<'c>(
    kernel: KernelOp<'c, '_>,
    schedule: ScheduleAttr<'c>,
    target: &Target,
    cx: &PassContext<'c, NormSelectSchedule>,
) -> PassResult<'c> {
    if !cx.options().explain || kernel.roles().is_some() {
        return Ok(());
    }
    let mapping = Mapping::of(schedule)?;
    let basis = Basis::of(kernel, cx.options().batch_invariant)?;
    let text = match cost(&basis.facts, &mapping, target) {
        Some(cost) => explanation::of_given(&mapping, &cost, target),
        None => explanation::too_large(&mapping, target),
    };
    cx.remark(kernel.op().location(), text);
    Ok(())
}

/// What comes of a choice: a schedule, or why none can be applied.
enum Choice<'c> {
    Made(Attribute<'c>),
    Refused(Reason),
}

/// The schedule with the lowest expected cost among those that the passes can apply. With `by_size` the kernel may get
/// others for short rows and for few points.
fn choose<'c>(
    kernel: KernelOp<'c, '_>,
    target: &Target,
    by_size: bool,
    cx: &PassContext<'c, NormSelectSchedule>,
) -> Result<Choice<'c>, PassError<'c>> {
    let location = kernel.op().location();
    let target = &*target.with_clusters(cx.options().portable_clusters);
    let basis = Basis::of(kernel, cx.options().batch_invariant)?;
    let (space, facts) = (&basis.space, &basis.facts);
    let assembled = assembled_of(kernel, cx)?;
    let mut offered = match cx.options().splits {
        true => basis.candidates(target),
        false => of_one_kernel(basis.candidates(target)),
    };
    let is_legal = |mapping: &Mapping| basis.is_legal(mapping, target);
    let mut best = None;
    // Registers depend on the number of rows, so that they must not decide on the order in which a row is reduced.
    if !basis.rows.is_empty() && assembled.iter().next().is_some() {
        best = cheapest(facts, offered.clone(), target, &Assembled::default(), is_legal);
        if let Some((mapping, _)) = &best {
            offered.retain(|other| reduce_alike(mapping, other));
        }
    }
    let mut best = cheapest(facts, offered.clone(), target, &assembled, is_legal).or(best);
    if best.is_none() {
        // Where all candidates are split and no split applies, a CTA reduces all parts.
        let whole = of_one_kernel(offered.clone());
        best = cheapest(facts, whole, target, &assembled, is_legal);
    }
    let all = || ranked(facts, offered.clone(), target, &assembled);
    let Some((mapping, cost)) = best else {
        // Why the kernel has no schedule as a whole says more than why it cannot be split.
        let mut all = all().into_iter().map(|(mapping, _)| mapping).collect::<Vec<_>>();
        all.sort_by_key(|mapping| mapping.extent(Level::Split) > 1);
        let refused = all.iter().find_map(|mapping| plan::check(space, mapping).err());
        let reason = refused.unwrap_or_else(|| {
            Reason::Unsupported("a kernel whose tiles no CTA has registers for".to_owned())
        });
        return Ok(Choice::Refused(reason));
    };
    if cx.options().explain {
        let all = all();
        let others = all
            .iter()
            .filter(|(other, _)| *other != mapping && is_legal(other));
        let text = explanation((&mapping, &cost), others, all.len(), target);
        cx.remark(location, text);
        for (mapping, registers) in assembled.iter().filter(|(other, _)| *other != mapping) {
            let why = match registers {
                Some(registers) => {
                    format!("the assembler takes {registers} registers, not what was expected")
                }
                None => "its registers spill".to_owned(),
            };
            cx.remark(location, format!("not {mapping}: {why}"));
        }
    }
    if by_size {
        let short = short_rows(kernel, facts, &mapping, target)?;
        let few = few(space, facts, &mapping, target)?;
        let short = short.into_iter().map(|better| (better, "elements in a row"));
        let few = few.into_iter().map(|better| (better, "points"));
        let mut alternatives = Vec::new();
        for (better, what) in short.chain(few) {
            let schedule = better.mapping.attribute(location).ok_or(PassError::Reported)?;
            // SAFETY: the attribute lives in the context of the location.
            let schedule = unsafe { Attribute::from_raw(schedule.to_raw()) };
            let size = Expression::symbol(size_name(better.size.0, better.size.1));
            let limit = Expression::Integer(i64::try_from(better.most + 1).unwrap_or(i64::MAX));
            alternatives.push(([size, limit], schedule));
            if cx.options().explain {
                let Better {
                    mapping,
                    extent,
                    most,
                    ..
                } = &better;
                let [us, rival_us] = [&better.cost, &better.cost_of_rival].map(Cost::total);
                cx.remark(
                    location,
                    format!(
                        "up to {most} {what} {mapping}: {us:.1} us with {extent} of them, not {rival_us:.1}"
                    ),
                );
            }
        }
        set_alternatives(kernel, &alternatives)?;
    }
    let schedule = mapping.attribute(location).ok_or(PassError::Reported)?;
    let choice = ChoiceAttr::get(
        cx.context(),
        schedule,
        cost.resident as i64,
        cost.registers as i64,
    );
    Builder::before(kernel.op()).set_attribute(kernel.op(), attributes::kernel::CHOICE, choice.into());
    let fitted = basis
        .fitted(kernel, &mapping)
        .map_err(|reason| reason.at(location))?;
    let schedule = fitted.attribute(location).ok_or(PassError::Reported)?;
    Ok(Choice::Made(schedule.into()))
}

/// The candidates without their `split` factors, each once: a CTA then reduces all parts, and no second kernel is needed.
fn of_one_kernel(candidates: Vec<Mapping>) -> Vec<Mapping> {
    let mut seen = HashSet::new();
    let whole = candidates.into_iter().map(|mut mapping| {
        for factors in &mut mapping.spread {
            factors.retain(|factor| factor.level != Level::Split);
        }
        mapping
    });
    whole.filter(|mapping| seen.insert(mapping.clone())).collect()
}

/// What the assembler made of schedules of a kernel: the registers that each takes, or `None` where they spill.
fn assembled_of<'c>(
    kernel: KernelOp<'c, '_>,
    cx: &PassContext<'c, NormSelectSchedule>,
) -> Result<Assembled, PassError<'c>> {
    let name = kernel.sym_name().unwrap_or_default();
    let read = |entry: &str| {
        let (head, schedule) = entry.split_once('=')?;
        let (of_kernel, registers) = head.trim().split_once('@')?;
        let schedule = ScheduleAttr::from_attribute(Attribute::parse(cx.context(), schedule)?)?;
        let registers = match registers {
            "spilled" => None,
            registers => Some(registers.parse().ok()?),
        };
        Some((of_kernel.to_owned(), (Mapping::of(schedule).ok()?, registers)))
    };
    let mut assembled = Assembled::default();
    for entry in cx
        .options()
        .assembled
        .split(';')
        .filter(|entry| !entry.trim().is_empty())
    {
        let Some((of_kernel, found)) = read(entry) else {
            let message =
                format!("expected KERNEL@REGISTERS=SCHEDULE or KERNEL@spilled=SCHEDULE, got '{entry}'");
            return Err(Diagnostic::user(kernel.op().location(), message).into());
        };
        assembled.extend((of_kernel == name).then_some(found));
    }
    Ok(assembled)
}
