//! Lists alternative schedules of a kernel. A sweep on a GPU compiles them one by one to find out how good the model's choice
//! is.

use std::collections::HashSet;

use melior::ir::Attribute;
use melior::ir::operation::OperationLike;
use norma_dialects::norm::{KernelOp, ScheduleAttr};
use norma_passes::mlir::{context, walk};
use norma_passes::schedule::basis::Basis;
use norma_passes::schedule::cost::{Assembled, ranked};
use norma_passes::schedule::kind::by_kind;
use norma_passes::schedule::mapping::Mapping;

use crate::compile::{self, Input, Outcome};
use crate::error::{Error, Result};
use crate::level::Level;
use crate::options::CompileOptions;

/// A schedule of one kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The kernel's name.
    pub kernel: String,
    /// The `#norm.schedule<...>`.
    pub schedule: String,
    /// The fraction of a plain copy's bandwidth that the cost model expects, at the sizes it assumes for dynamic dims.
    pub expected_share: f64,
}

/// For each kernel of the input without a schedule of its own, returns up to `count` schedules that the passes can apply,
/// ranked by the cost model and [`CompileOptions::assembled`], the best of each kind first.
///
/// # Errors
///
/// As [`compile::lower`]; also an input that already has its schedules.
pub fn of_each_kernel(
    input: Input,
    count: usize,
    options: &CompileOptions,
    outcome: &mut Outcome,
) -> Result<Vec<Candidate>> {
    if options.from >= Level::Scheduled {
        let level = options.from;
        return Err(Error::user(format!(
            "expected kernels without schedules, got an input of level '{level}'"
        )));
    }
    compile::at_level(input, Level::Kernel, options, outcome, |module| {
        let kernels = walk::named(module.as_operation(), KernelOp::NAME);
        let mut found = Vec::new();
        for kernel in kernels.into_iter().filter_map(KernelOp::from_op) {
            if kernel.schedule().is_none() {
                found.extend(of_kernel(kernel, count, options)?);
            }
        }
        Ok(found)
    })
}

fn of_kernel(kernel: KernelOp, count: usize, options: &CompileOptions) -> Result<Vec<Candidate>> {
    let broken = |error: melior::Error| Error::internal(error.to_string());
    let name = kernel
        .sym_name()
        .map_err(|_| Error::internal("a kernel has no name"))?;
    let basis = Basis::of(kernel, options.batch_invariant).map_err(broken)?;
    let target = &*options.target.with_clusters(options.portable_clusters);
    let assembled = assembled(kernel, name, options);
    let mut ranked = ranked(&basis.facts, basis.candidates(target), target, &assembled);
    // Mappings that differ only in their bound on registers count as one schedule.
    let unbounded = |mapping: &Mapping| Mapping {
        min_ctas_per_sm: 0,
        ..mapping.clone()
    };
    let mut seen = HashSet::new();
    ranked.retain(|(mapping, _)| seen.insert(unbounded(mapping)));
    let legal = by_kind(ranked, |(mapping, cost)| (mapping, cost.total()))
        .into_iter()
        .filter(|(mapping, _)| basis.is_legal(mapping, target))
        .filter_map(|(mapping, cost)| Some((basis.fitted(kernel, &mapping).ok()?, cost)))
        .take(count);
    let described = legal.map(|(mapping, cost)| {
        let schedule = mapping.attribute(kernel.op().location());
        let schedule = schedule.ok_or_else(|| Error::internal("a candidate is no valid schedule"))?;
        Ok(Candidate {
            kernel: name.to_owned(),
            schedule: schedule.to_string(),
            expected_share: cost.roof_share(),
        })
    });
    described.collect()
}

/// What the options say about how schedules of a kernel assembled.
fn assembled(kernel: KernelOp, name: &str, options: &CompileOptions) -> Assembled {
    let of_kernel = options.assembled.iter().filter(|found| found.kernel == name);
    let location = kernel.op().location();
    let context = context::of(location);
    let read = of_kernel.filter_map(|found| {
        let schedule = Attribute::parse(context, &found.schedule)?;
        let schedule = ScheduleAttr::from_attribute(schedule)?;
        Some((Mapping::of(schedule).ok()?, found.registers))
    });
    read.collect()
}
