//! The simulator's speed, as a measure that keeps the suite quick.

use std::time::{Duration, Instant};

use norma_bundle::Element::BF16;
use norma_oracle::{Fill, memory};
use norma_simulator::Options;

use crate::case::{Case, Layout, Op, Program, Run, Schedule};
use crate::check::{self, Failure};
use crate::trial::Trial;

/// How often the kernel is run.
const RUNS: u32 = 10;
/// The most time that 4 rows of 4096 columns may take on two cores.
const LIMIT: Duration = Duration::from_millis(200);

/// Runs 4 rows of an RMSNorm of 4096 columns, by 256 threads each, and returns the lines to print.
///
/// # Errors
/// The kernel does not compile, or is wrong.
pub fn report() -> Result<String, Failure> {
    let program = Program {
        op: Op::RmsNorm {
            weight: Some(BF16),
            offset: false,
            bias: None,
            rstd: false,
        },
        x: BF16,
        y: BF16,
        heads: 1,
        columns: vec![4096],
        layout: Layout::Dense,
        align: None,
        schedule: Some(Schedule {
            threads_per_row: 256,
            vector: 8,
            early_reads: true,
            ..Schedule::default()
        }),
    };
    let run = Run {
        rows: 4,
        fill: Fill::Normal,
        seed: 0,
        seeds: 1,
    };
    let (fill, seed) = (run.fill, run.seed);
    let one = Trial::from(Case { program, run });
    let start = Instant::now();
    let bundle = check::compile(&one)?;
    let compiling = start.elapsed();
    check::run(&bundle, &one)?;
    let problem = check::problem(&bundle, &one)?;
    let inputs = memory::inputs(&problem, fill, seed);
    let mut times = Vec::new();
    let mut instructions = 0;
    for seed in 0..RUNS {
        let options = Options {
            seed: u64::from(seed),
            ..Options::default()
        };
        let start = Instant::now();
        let ran =
            norma_sim::run::run(&bundle, &problem, &inputs, &options, &mut |_| ()).map_err(check::refused)?;
        times.push(start.elapsed());
        instructions = ran.thread_instructions;
    }
    times.sort();
    let median = times[times.len() / 2];
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(format!(
        "RMSNorm of 4 rows of 4096 columns in bf16, 256 threads a row\n\
         compile    {:8.1} ms\n\
         run        {:8.1} ms, median of {RUNS} ({} of {} ms)\n\
         speed      {:8.1} million threads x instructions a second\n",
        milliseconds(compiling),
        milliseconds(median),
        if median <= LIMIT {
            "within the limit"
        } else {
            "BEYOND the limit"
        },
        LIMIT.as_millis(),
        instructions as f64 / median.as_secs_f64() / 1e6,
    ))
}
