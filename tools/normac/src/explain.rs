//! `--explain`: describes for each kernel of a bundle its schedule, its resource usage, and the time it should reach.

use std::fmt::Write;

use norma_bundle::Expression;
use norma_bundle::manifest::Kernel;
use norma_compiler::Target;
use norma_compiler::bundle::Bundle;

/// Describes all kernels of a bundle.
pub fn explain(bundle: &Bundle, target: &Target) -> String {
    let mut text = String::new();
    for function in &bundle.manifest.functions {
        for kernel in &function.kernels {
            let expected = bundle.expected_registers.get(&kernel.symbol).copied();
            let mut line = |what: &str, value: String| {
                // Writing to a string does not fail.
                let _ = writeln!(text, "  {what:12}{value}");
            };
            line(
                "kernel",
                format!("{} of {}, for {}", kernel.symbol, function.name, target.name),
            );
            line(
                "schedule",
                kernel
                    .schedule
                    .clone()
                    .unwrap_or_else(|| "none recorded".to_owned()),
            );
            if !kernel.when.is_empty() {
                let conditions = kernel.when.iter().map(|condition| condition.text.as_str());
                line("when", conditions.collect::<Vec<_>>().join(" and "));
            }
            line("launch", launch(kernel));
            line("registers", registers(kernel, expected));
            line("shared", shared(kernel, target));
            line("occupancy", occupancy(kernel, target));
            line(
                "traffic",
                format!(
                    "reads {} bytes, writes {}",
                    kernel.bytes_read, kernel.bytes_written
                ),
            );
            line("roof", roof(kernel, target));
            text.push('\n');
        }
    }
    text
}

fn launch(kernel: &Kernel) -> String {
    let [x, y, z] = &kernel.grid;
    let [bx, by, bz] = kernel.block;
    let [cx, cy, cz] = kernel.cluster;
    format!("grid {x} x {y} x {z}, block {bx} x {by} x {bz}, cluster {cx} x {cy} x {cz}")
}

/// The registers of the cubin, and those that the choice of the schedule expected.
fn registers(kernel: &Kernel, expected: Option<u64>) -> String {
    let Some(registers) = kernel.registers else {
        return "unknown".to_owned();
    };
    let expected = expected.map_or_else(String::new, |expected| format!(" where {expected} were expected"));
    format!(
        "{registers} a thread{expected}, {} bytes spilled",
        kernel.spill_bytes.unwrap_or(0)
    )
}

/// The number of CTAs that are resident on an SM, and the fraction of its threads that they occupy.
fn occupancy(kernel: &Kernel, target: &Target) -> String {
    let Some(registers) = kernel.registers.map(u64::from) else {
        return "unknown".to_owned();
    };
    let threads = u64::from(kernel.block.iter().product::<u32>());
    let of_sm = format!("of an SM's {} threads", target.threads_per_sm);
    let share = |resident: u64| 100 * resident * threads / u64::from(target.threads_per_sm);
    // Dynamic shared memory may be an expression over sizes.
    match kernel.shared_bytes.as_integer().map(u64::try_from) {
        Some(Ok(dynamic)) => {
            let shared = dynamic + u64::from(kernel.static_shared_bytes.unwrap_or(0));
            let resident = target.occupancy(threads, Some(registers), shared);
            format!("{resident} CTAs on an SM, {}% {of_sm}", share(resident))
        }
        _ => {
            let resident = target.resident_ctas(threads, registers);
            format!(
                "at most {resident} CTAs on an SM, {}% {of_sm}, as shared memory allows",
                share(resident)
            )
        }
    }
}

fn shared(kernel: &Kernel, target: &Target) -> String {
    format!(
        "{} bytes static, {} dynamic, of {}",
        kernel.static_shared_bytes.unwrap_or(0),
        kernel.shared_bytes,
        target.shared_per_cta
    )
}

/// A size large enough that traffic grows linearly with it: rounding up to blocks of several points averages out.
const MANY: i64 = 1 << 20;

/// The time to move the bytes at the bandwidth of a copy.
fn roof(kernel: &Kernel, target: &Target) -> String {
    let rate = target.part.bandwidth * target.part.copy_efficiency;
    let on = format!(
        "at the {:.0} GB/s that a copy reaches on {}",
        rate / 1e9,
        target.part.name
    );
    let bytes = |size: i64| -> Option<f64> {
        let total = |expression: &Expression| expression.evaluate(&|_| Some(size)).ok();
        Some((total(&kernel.bytes_read)? + total(&kernel.bytes_written)?) as f64)
    };
    let (read, written) = (kernel.bytes_read.symbols(), kernel.bytes_written.symbols());
    let names: Vec<_> = read.union(&written).copied().collect();
    match names.as_slice() {
        [] => bytes(0).map(|bytes| format!("{:.2} us {on}", bytes / rate * 1e6)),
        [name] => bytes(2 * MANY).zip(bytes(MANY)).map(|(two, one)| {
            let row = (two - one) / MANY as f64;
            let row = (row * 1e3).round() / 1e3;
            format!(
                "{row} bytes and {:.3} ns for each of {name}, {on}",
                row / rate * 1e9
            )
        }),
        _ => None,
    }
    .unwrap_or_else(|| format!("bytes / {:.0} GB/s, {on}", rate / 1e9))
}
