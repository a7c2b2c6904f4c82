//! The cost model's estimate of memory traffic, compared with the simulator's count.
//!
//! The remark that explains a choice says how many bytes of sectors the model expects warps to request. The model counts
//! accesses that move a considerable part of all bytes, at nominal sizes of dynamic dims; so the kernels here have static
//! extents, and read and write tensors that vary over nearly all dims.

#![cfg(test)]

use norma_compiler::CompileOptions;
use norma_compiler::compile::{Input, Outcome};
use norma_compiler::target::SM_90A;
use norma_oracle::Fill;
use norma_sim::{Bundle, traffic};

use crate::check;
use crate::space::Case;
use crate::space::draw;
use crate::trial::Trial;

/// The bytes of a sector.
const SECTOR: f64 = 32.0;
/// The factor by which the model may be off in any kernel. The model assumes that a request begins at a sector, considers a
/// single contiguous dim, assumes that the rows of a CTA are adjacent, and leaves out accesses of a tenth of all bytes or less:
/// isolated elements take a sector each.
const BOUND: f64 = 2.0;
/// The factor by which it may be off in nearly all kernels, and the per cent of kernels that this means.
const CLOSE: f64 = 1.15;
const CLOSE_IN: usize = 80;
/// How many kernels are drawn, and how many of them must be measured.
const KERNELS: u64 = 50;
const MEASURED: usize = 45;

/// The bytes of sectors, read and written together, in the remark on a kernel's only choice.
fn expected(remarks: &str) -> Option<f64> {
    let mut choices = remarks.split("its warps ask for ").skip(1);
    let choice = choices.next().filter(|_| choices.next().is_none())?;
    let (read, rest) = choice.split_once(" bytes of sectors to read and ")?;
    let (written, _) = rest.split_once(" to write")?;
    Some(read.parse::<f64>().ok()? + written.parse::<f64>().ok()?)
}

/// The model's estimate for a case's only kernel, and the simulator's count; `None` if there are several kernels or the
/// compiler does not support the case.
fn measured(case: Case) -> Option<[f64; 2]> {
    let trial = Trial::Space(case);
    let options = CompileOptions {
        explain: true,
        ..CompileOptions::new(&SM_90A)
    };
    let mut outcome = Outcome::default();
    let text = trial.text();
    let input = Input {
        name: "case.mlir",
        text: &text,
    };
    let bundle = Bundle::compile(input, &options, &mut outcome).ok()?;
    let expected = expected(&outcome.diagnostics)?;
    let problem = check::problem(&bundle, &trial).ok()?;
    let kernels = traffic::measure(&bundle, &problem).ok()?;
    let [kernel] = &kernels[..] else { return None };
    let totals = kernel.totals;
    let counted = (totals.read.requested + totals.written.requested) as f64 * SECTOR;
    Some([expected, counted])
}

#[test]
fn the_model_expects_the_sectors_that_warps_ask_for() {
    let (mut all, mut close) = (0, 0);
    for seed in 0..KERNELS {
        let case = draw::streaming(seed, Fill::Normal);
        let name = case.to_string();
        let Some([expected, counted]) = measured(case) else {
            continue;
        };
        let factor = (expected / counted).max(counted / expected);
        assert!(
            factor <= BOUND,
            "{name}: expected {expected} bytes, counted {counted}"
        );
        all += 1;
        close += usize::from(factor <= CLOSE);
    }
    assert!(all >= MEASURED, "of {KERNELS} kernels {all} have a count");
    assert!(close * 100 >= all * CLOSE_IN, "{close} of {all} within {CLOSE}");
}
