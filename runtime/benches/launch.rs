//! Measures the host's cost of a launch without the driver's: nanoseconds with a stand-in driver whose functions return at
//! once.
//!
//! Run `cargo bench --package norma-runtime`. The result is the minimum over many short rounds, since other load on the
//! machine only adds time.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::time::Instant;

use fixture::{Rows, X, call, function, stream, views_of_rows, with_workspace};
use norma_runtime::{Element, Function, Tensor};

const ROUNDS: usize = 1000;
const CALLS: u32 = 500;

/// The time of one call, in nanoseconds.
fn nanoseconds(function: &Function, [x, y]: [&Tensor<'_>; 2]) -> f64 {
    let stream = stream();
    let round = || {
        let start = Instant::now();
        for _ in 0..CALLS {
            call(function, &[x, y], &[], stream.handle()).unwrap();
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() {
    norma_stub_driver::record(false);
    let rows = Rows::new(4096);
    let [x, y] = rows.on(0);
    let part = |offset: u64| Tensor::new(0, X + 4 * offset, Element::F32, &[4096, 64], &[192, 1]);
    let scratch = function(|function| with_workspace(function, "m*4", "zero"));
    for (what, function, tensors) in [
        ("one kernel", function(|_| ()), [&x, &y]),
        ("two kernels, workspace", scratch, [&x, &y]),
        (
            "parts of one tensor",
            function(views_of_rows),
            [&part(64), &part(128)],
        ),
    ] {
        println!("{what:<22}  {:6.0} ns", nanoseconds(&function, tensors));
    }
}
