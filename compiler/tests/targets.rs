//! Whatever schedule is chosen for a target can be applied and fits its memory.
//!
//! Rings, groups of consumers and kernels for few rows are chosen by what memory and how many multiprocessors a target has, so that each
//! target has schedules that no other one gets.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use norma_compiler::compile::{Input, Outcome, lower};
use norma_compiler::preset::{Preset, find_op, parse_shape};
use norma_compiler::target::TARGETS;
use norma_compiler::{CompileOptions, Level};

/// Lowers an op for every target to what code is generated from; returns the diagnostics of failures.
fn failures(op: &str, shape: &str, by_size: bool) -> Vec<String> {
    let preset = Preset::new(find_op(op).unwrap(), parse_shape(shape).unwrap());
    let text = preset.source().unwrap();
    let lowered = TARGETS.iter().map(|target| {
        let options = CompileOptions {
            by_size,
            ..CompileOptions::new(target)
        };
        let mut outcome = Outcome::default();
        let input = Input {
            name: "<preset>",
            text: &text,
        };
        let result = lower(input, Level::Nvvm, &options, &mut outcome);
        let wrong = result.is_err().then_some(outcome.diagnostics);
        wrong.map(|wrong| format!("{op} {shape} for {}: {wrong}", target.name))
    });
    lowered.flatten().collect()
}

#[test]
fn gradients_fit_the_memory_of_every_target() {
    for shape in ["4096,520", "4096,1000", "8192,4096"] {
        assert_eq!(failures("layer_norm_grad", shape, false), [""; 0]);
    }
    assert_eq!(failures("rms_norm_grad", "4096,1000", false), [""; 0]);
}

#[test]
fn kernels_for_few_rows_can_be_scheduled_for_every_target() {
    for shape in ["m,2048", "m,4096"] {
        assert_eq!(failures("layer_norm_grad", shape, true), [""; 0]);
    }
}
