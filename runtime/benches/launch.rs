//! Measures the host's cost of a launch without the driver's: nanoseconds with a stand-in driver whose functions return at
//! once.
//!
//! Run `cargo bench --package norma-runtime`. The result is the minimum over many short rounds, since other load on the
//! machine only adds time.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::time::Instant;

use fixture::{Rows, call, function, stream, with_workspace};
use norma_runtime::Function;

const ROUNDS: usize = 1000;
const CALLS: u32 = 500;

/// The time of one call, in nanoseconds.
fn nanoseconds(function: &Function) -> f64 {
    let (stream, rows) = (stream(), Rows::new(4096));
    let [x, y] = rows.on(0);
    let round = || {
        let start = Instant::now();
        for _ in 0..CALLS {
            call(function, &[&x, &y], &[], stream.handle()).unwrap();
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    norma_stub_driver::record(false);
    println!(
        "one kernel              {:6.0} ns",
        nanoseconds(&function(|_| ()))
    );
    let scratch = function(|function| with_workspace(function, "m*4", "zero"));
    println!("two kernels, workspace  {:6.0} ns", nanoseconds(&scratch));
}
