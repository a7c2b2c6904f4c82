//! The pipeline: the passes that lead to each level. It is written only here.
//!
//! [`steps`] returns it for the pass manager, and [`register`] registers every prefix under a name, so that `norma-opt
//! --norma-to-<level>` does what `normac --emit=<level>` does.

use norma_passes::mlir::driver::register_pipeline;
use norma_passes::schedule::given;

use crate::level::Level;
use crate::options::CompileOptions;
use crate::target::SM_90A;

/// The passes that lead to a level from the one before it. `$target`, `$shared`, `$schedule`, `$explain` and the like are
/// placeholders for the options' values.
struct Step {
    to: Level,
    passes: &'static [&'static str],
}

/// The pass that notes the names of sizes. It runs first, while programs are as the user wrote them. It, [`DIFFERENTIATE`] and [`SHARD`]
/// run before anything is read off the functions, and do nothing when they run a second time.
pub const NAME_SIZES: &str = "norm-name-sizes";
/// The pass that adds gradient functions to the user's functions. It runs before [`SHARD`], so that a gradient is sharded as its function
/// is.
pub const DIFFERENTIATE: &str = "norm-differentiate{batch-invariant=$batch-invariant}";
/// The pass that replaces a sharded function by the functions that each device runs.
pub const SHARD: &str = "norm-shard{batch-invariant=$batch-invariant}";

const STEPS: &[Step] = &[
    Step {
        to: Level::Kernel,
        passes: &[
            NAME_SIZES,
            DIFFERENTIATE,
            SHARD,
            "norm-decompose",
            "norm-form-computes",
            "norm-fuse-computes{batch-invariant=$batch-invariant explain=$explain}",
            "norm-form-kernels",
            "norm-relax-divisions",
            // A constant or dead value must not keep a dim in a kernel.
            "canonicalize",
            "cse",
            "norm-split-outputs{batch-invariant=$batch-invariant}",
            "norm-normalize-space",
            // Runs behind the merging of dims, which leaves alone those whose positions are values.
            "norm-gather-one-hots",
            "norm-narrow-comparisons",
            "norm-round-products",
        ],
    },
    Step {
        to: Level::Scheduled,
        // An input of this level may have outputs to split off too; for others the pass finds nothing left to split.
        passes: &[
            "norm-split-outputs{batch-invariant=$batch-invariant}",
            "norm-stage-reductions{target=$target given=$schedule batch-invariant=$batch-invariant portable-clusters=$portable-clusters explain=$explain}",
            "norm-normalize-space",
            "norm-select-schedule{target=$target schedule=$schedule absent=true by-size=$by-size batch-invariant=$batch-invariant portable-clusters=$portable-clusters assembled=$assembled explain=$explain}",
            "norm-dispatch-schedules",
            "norm-split-reductions",
            // Moving a reduction into one of two kernels leaves dims in the other over which nothing is reduced.
            "norm-split-outputs{batch-invariant=$batch-invariant}",
            // The kernels that combine partial results have no schedule yet, and are not split again. Only now does the
            // module contain all kernels that a schedule may name.
            "norm-select-schedule{target=$target schedule=$named batch-invariant=$batch-invariant portable-clusters=$portable-clusters assembled=$assembled explain=$explain splits=false}",
            // All kernels and their launches are there.
            "norm-dependent-launch{target=$target}",
        ],
    },
    Step {
        to: Level::Tiled,
        passes: &[
            "norm-tile",
            "norm-persistent-reduction",
            // Loops of one step are gone by now, so that reductions of resident rows are left as they are.
            "norm-merge-reductions",
            // Merging matches exponentials as they are written; what is cached is decided by what is computed from it.
            "norm-scale-exponents",
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
            // Loads still have the layouts in which they were created.
            "gl-optimize-layouts",
            // Runs before `gl-pipeline`: whether a kernel copies to shared memory tells which of the two passes its
            // `gl.stages` are for.
            "gl-prefetch-loads",
            "gl-pipeline",
            // Handles only loops without a ring; `gl-pipeline` draws the tiles of a ring.
            "gl-draw-tiles",
            // Runs before anything depends on which threads meet: each partition has its own barriers and exchanges.
            "gl-specialize-warps",
            "gl-expand-reductions",
            "gl-expand-conversions",
            "gl-allocate-shared{limit=$shared}",
            "gl-insert-barriers",
            "gl-vectorize-access",
            // Runs behind all that expands exchanges between threads: it unrolls the loops that are left without any.
            "gl-unroll-loops",
            // The loops that are left run each step by itself.
            "gl-sink-extensions",
            "gl-dependent-launch",
        ],
    },
    Step {
        to: Level::Nvvm,
        passes: &[
            "gpu.module(convert-gl-to-nvvm{target=$target})",
            "gpu.module(nvvm-contract-sums{fp-contract=$fp-contract})",
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

/// Gives each function the debug scope without which LLVM drops locations. `DebugDirectivesOnly` means `.loc` in PTX and no
/// other debug information, with which the assembler would not optimise.
const LINE_INFO: &str = "ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly}";

/// The levels on the way from one level to another, each with the passes that lead to it from the one before, as the contents
/// of `builtin.module(...)`.
pub fn steps(from: Level, to: Level, options: &CompileOptions) -> Vec<(Level, String)> {
    let filled_in = |step: &Step| {
        let passes: Vec<_> = step.passes.iter().map(|pass| fill_in(pass, options)).collect();
        (step.to, passes.join(","))
    };
    let steps = STEPS.iter().filter(|step| from < step.to && step.to <= to);
    let mut steps: Vec<_> = steps.map(filled_in).collect();
    if options.line_info && from <= Level::Nvvm && to >= Level::Nvvm {
        steps.push((Level::Nvvm, LINE_INFO.to_owned()));
    }
    steps
}

/// The passes of [`steps`] as one pipeline; empty if there are none to run.
pub fn textual(from: Level, to: Level, options: &CompileOptions) -> String {
    let passes: Vec<_> = steps(from, to, options)
        .into_iter()
        .map(|(_, passes)| passes)
        .collect();
    passes.join(",")
}

/// Registers `norma-to-<level>`, for the default target; call it once per process. The passes must already be registered.
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

/// Fills in the placeholders of a pass. Schedules are put in braces, which the pipeline's syntax strips: their own commas and
/// blanks would end the option.
pub fn fill_in(pass: &str, options: &CompileOptions) -> String {
    let joined = |schedules: Vec<&str>| match schedules.is_empty() {
        false => Some(format!("{{{}}}", schedules.join("; "))),
        true => None,
    };
    let all = options.schedules.iter().map(String::as_str);
    let pass = match joined(all.clone().collect()) {
        Some(all) => pass.replace("$schedule", &all),
        None => pass
            .replace(" schedule=$schedule absent=true", "")
            .replace(" given=$schedule", ""),
    };
    let named = all.filter(|entry| given::Entry::parse(entry).kernel.is_some());
    let pass = match joined(named.collect()) {
        Some(named) => pass.replace("$named", &named),
        None => pass.replace(" schedule=$named", ""),
    };
    let assembled = options.assembled.iter().map(|assembled| {
        let registers = match assembled.registers {
            Some(registers) => registers.to_string(),
            None => "spilled".to_owned(),
        };
        format!("{}@{registers}={}", assembled.kernel, assembled.schedule)
    });
    let assembled = assembled.collect::<Vec<_>>();
    let pass = match assembled.is_empty() {
        false => pass.replace("$assembled", &format!("{{{}}}", assembled.join(";"))),
        true => pass.replace(" assembled=$assembled", ""),
    };
    let pass = match options.by_size {
        true => pass.replace("$by-size", "true"),
        false => pass.replace(" by-size=$by-size", ""),
    };
    let pass = match options.batch_invariant {
        true => pass.replace("$batch-invariant", "true"),
        false => without(&pass, "batch-invariant=$batch-invariant"),
    };
    let pass = match options.portable_clusters {
        true => pass.replace("$portable-clusters", "true"),
        false => without(&pass, "portable-clusters=$portable-clusters"),
    };
    let pass = match options.explain {
        true => pass.replace("$explain", "true"),
        false => without(&pass, "explain=$explain"),
    };
    pass.replace("$target", options.target.name)
        .replace("$fp-contract", options.fp_contract.name())
        .replace("$shared", &options.target.shared_per_cta.to_string())
}

/// A pass without one of its options, and without braces if it has no other.
fn without(pass: &str, option: &str) -> String {
    pass.replace(&format!("{{{option}}}"), "")
        .replace(&format!("{{{option} "), "{")
        .replace(&format!(" {option}"), "")
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
    fn all_passes_that_count_on_clusters_know_whether_these_must_be_portable() {
        let mut options = CompileOptions::new(&SM_90A);
        options.portable_clusters = true;
        let pipeline = textual(Level::Kernel, Level::Scheduled, &options);
        for pass in ["norm-stage-reductions{", "norm-select-schedule{"] {
            for options in pipeline.split(pass).skip(1) {
                let (options, _) = options.split_once('}').unwrap();
                assert!(options.contains("portable-clusters=true"), "{pass}{options}");
            }
        }
    }

    #[test]
    fn schedules_are_one_option_in_braces_and_later_kernels_get_those_by_name() {
        let mut options = CompileOptions::new(&SM_90A);
        assert_eq!(
            textual(Level::Kernel, Level::Scheduled, &options),
            "norm-split-outputs,norm-stage-reductions{target=sm_90a},norm-normalize-space,\
             norm-select-schedule{target=sm_90a},norm-dispatch-schedules,norm-split-reductions,\
             norm-split-outputs,norm-select-schedule{target=sm_90a splits=false},\
             norm-dependent-launch{target=sm_90a}"
        );
        options.schedules = vec![
            "#norm.schedule<spread = [[grid], [lane(8), vector(8)]]>".to_owned(),
            "f_0_finish=#norm.schedule<spread = [[grid]]>".to_owned(),
        ];
        assert_eq!(
            textual(Level::Kernel, Level::Scheduled, &options),
            "norm-split-outputs,norm-stage-reductions{target=sm_90a \
             given={#norm.schedule<spread = [[grid], [lane(8), vector(8)]]>; f_0_finish=#norm.schedule<spread = [[grid]]>}},\
             norm-normalize-space,norm-select-schedule{target=sm_90a \
             schedule={#norm.schedule<spread = [[grid], [lane(8), vector(8)]]>; f_0_finish=#norm.schedule<spread = [[grid]]>} \
             absent=true},norm-dispatch-schedules,norm-split-reductions,norm-split-outputs,norm-select-schedule{target=sm_90a \
             schedule={f_0_finish=#norm.schedule<spread = [[grid]]>} splits=false},norm-dependent-launch{target=sm_90a}"
        );
    }
}
