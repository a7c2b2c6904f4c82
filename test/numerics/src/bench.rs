//! How fast the simulator is, by the measure that keeps the suite quick.

use std::time::{Duration, Instant};

use norma_bundle::Element::BF16;
use norma_oracle::Fill;

use crate::case::{Layout, Op, Program, Run, Schedule};
use crate::check::{Failure, compile, run};

/// How often the kernel is run.
const RUNS: u32 = 10;
/// What 4 rows of 4096 columns may take on two cores.
const LIMIT: Duration = Duration::from_millis(200);

/// Runs 4 rows of an RMSNorm of 4096 columns by 256 threads each, and gives the lines to print.
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
            streaming: true,
            early_reads: true,
            ..Schedule::default()
        }),
    };
    let start = Instant::now();
    let bundle = compile(&program)?;
    let compiling = start.elapsed();
    let mut times = Vec::new();
    let mut instructions = 0;
    for number in 0..RUNS {
        let one = Run {
            rows: 4,
            fill: Fill::Normal,
            seed: u64::from(number),
            seeds: 1,
        };
        let start = Instant::now();
        let judgement = run(&bundle, &program, &one)?;
        times.push(start.elapsed());
        instructions = judgement.thread_instructions;
    }
    times.sort();
    let median = times[times.len() / 2];
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    Ok(format!(
        "RMSNorm of 4 rows of 4096 columns in bf16, 256 threads a row\n\
         compile    {:8.1} ms\n\
         run        {:8.1} ms, median of {RUNS}, filling and comparing included ({} of {} ms)\n\
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
