//! The pipeline, written once: which passes lead to each level.
//!
//! [`textual`] gives it to the pass manager, and [`register`] gives every prefix a name, so that
//! `norma-opt --norma-to-<level>` does what `normac --emit=<level>` does.

use norma_passes::mlir::driver::register_pipeline;

use crate::level::Level;
use crate::options::CompileOptions;
use crate::target::SM_90A;

/// The passes that lead to a level from the one before it. `$target`, `$shared`, `$schedule` and `$explain`
/// stand for the options' values.
struct Step {
    to: Level,
    passes: &'static [&'static str],
}

const STEPS: &[Step] = &[
    Step {
        to: Level::Kernel,
        passes: &[
            "norm-decompose",
            "norm-form-kernels",
            "norm-split-outputs",
            "norm-normalize-space",
            "norm-hoist-divisions",
            "canonicalize",
            "cse",
        ],
    },
    Step {
        to: Level::Scheduled,
        // Kernels that begin at this level may have outputs to split off too; of others nothing is left to split.
        passes: &[
            "norm-split-outputs",
            "norm-select-schedule{target=$target schedule=$schedule rejected=$rejected explain=$explain}",
            "norm-split-reductions",
            // The kernels that combine partial results have no schedule yet.
            "norm-select-schedule{target=$target rejected=$rejected explain=$explain}",
        ],
    },
    Step {
        to: Level::Tiled,
        passes: &[
            "norm-tile",
            "norm-persistent-reduction",
            // Loops of one step are gone, so that what is resident is left as it is.
            "norm-merge-reductions",
            "norm-cache-inputs",
            "norm-hoist-reads",
        ],
    },
    Step {
        to: Level::Gl,
        passes: &["convert-norm-to-gl", "canonicalize", "cse"],
    },
    Step {
        to: Level::GlLowered,
        passes: &[
            "gl-optimize-layouts",
            "gl-expand-reductions",
            "gl-expand-conversions",
            "gl-allocate-shared{limit=$shared}",
            "gl-insert-barriers",
            "gl-vectorize-access",
        ],
    },
    Step {
        to: Level::Nvvm,
        passes: &[
            "gpu.module(convert-gl-to-nvvm)",
            "gpu.module(nvvm-contract-sums)",
            "gpu.module(convert-math-to-nvvm-approx)",
            "canonicalize",
            "cse",
            "gpu.module(convert-scf-to-cf)",
            "gpu.module(convert-vector-to-llvm)",
            "gpu.module(convert-arith-to-llvm)",
            "convert-cf-to-llvm",
            "gpu.module(convert-nvvm-to-llvm)",
            "reconcile-unrealized-casts",
            "canonicalize",
            "cse",
        ],
    },
];

/// The passes from one level to another, as the inside of `builtin.module(...)`; empty where nothing is to be
/// done.
pub fn textual(from: Level, to: Level, options: &CompileOptions) -> String {
    let steps = STEPS.iter().filter(|step| from < step.to && step.to <= to);
    let passes: Vec<_> = steps
        .flat_map(|step| step.passes)
        .map(|pass| fill_in(pass, options))
        .collect();
    passes.join(",")
}

/// Registers `norma-to-<level>`, for the default target, once for a process. The passes must be registered
/// already.
pub fn register() {
    let options = CompileOptions::new(&SM_90A);
    for level in STEPS.iter().map(|step| step.to) {
        register_pipeline(
            &format!("norma-to-{level}"),
            &format!("Lower named ops to level '{level}': {}", level.summary()),
            &textual(Level::Tensor, level, &options),
        );
    }
}

/// The schedule is in braces, which the pipeline's syntax strips: its own commas and blanks would end the
/// option.
fn fill_in(pass: &str, options: &CompileOptions) -> String {
    let schedule = options
        .schedule
        .as_ref()
        .map(|schedule| format!("{{{schedule}}}"));
    let pass = match schedule {
        Some(schedule) => pass.replace("$schedule", &schedule),
        None => pass.replace(" schedule=$schedule", ""),
    };
    let rejected = options
        .rejected
        .iter()
        .map(|(kernel, schedule)| format!("{kernel}={schedule}"))
        .collect::<Vec<_>>();
    let pass = match rejected.is_empty() {
        false => pass.replace("$rejected", &format!("{{{}}}", rejected.join(";"))),
        true => pass.replace(" rejected=$rejected", ""),
    };
    let pass = match options.explain {
        true => pass.replace("$explain", "true"),
        false => pass.replace(" explain=$explain", ""),
    };
    pass.replace("$target", options.target.name)
        .replace("$shared", &options.target.shared_per_cta.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_a_level_is_the_way_to_the_one_before_and_on_from_there() {
        let options = CompileOptions::new(&SM_90A);
        let whole = textual(Level::Tensor, Level::Nvvm, &options);
        let parts = [
            textual(Level::Tensor, Level::Gl, &options),
            textual(Level::Gl, Level::Nvvm, &options),
        ];
        assert_eq!(whole, parts.join(","));
    }

    #[test]
    fn a_schedule_is_one_option_in_braces() {
        let mut options = CompileOptions::new(&SM_90A);
        assert_eq!(
            textual(Level::Kernel, Level::Scheduled, &options),
            "norm-split-outputs,norm-select-schedule{target=sm_90a},norm-split-reductions,\
             norm-select-schedule{target=sm_90a}"
        );
        options.schedule = Some("#norm.schedule<spread = [[grid], [lane(8), vector(8)]]>".to_owned());
        assert_eq!(
            textual(Level::Kernel, Level::Scheduled, &options),
            "norm-split-outputs,norm-select-schedule{target=sm_90a schedule={#norm.schedule<spread = [[grid], [lane(8), vector(8)]]>}},\
             norm-split-reductions,norm-select-schedule{target=sm_90a}"
        );
    }
}
