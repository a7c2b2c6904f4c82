//! Reads a kernel's resource usage from the assembler's verbose log.
//!
//! ptxas and libnvptxcompiler print the same figures, on lines with different prefixes; the only other way to get them is to
//! load the cubin in a driver.

/// The resources of one kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// The kernel's symbol.
    pub symbol: String,
    /// Registers per thread.
    pub registers: u32,
    /// Named barriers per CTA.
    pub barriers: u32,
    /// Static shared memory per CTA, in bytes.
    pub static_shared_bytes: u32,
    /// Local memory per thread for its stack frame, in bytes.
    pub stack_bytes: u32,
    /// Bytes of spill stores and spill loads in the code.
    pub spill_bytes: u32,
}

/// Parses the usage of every kernel in a verbose log, in the log's order.
pub(super) fn parse_log(log: &str) -> Vec<ResourceUsage> {
    let mut kernels: Vec<ResourceUsage> = Vec::new();
    for line in log.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let symbol = rest.split('\'').next().unwrap_or_default().to_owned();
            kernels.push(ResourceUsage {
                symbol,
                ..ResourceUsage::default()
            });
        } else if let Some(kernel) = kernels.last_mut() {
            for figure in line.split([',', ':']) {
                let mut words = figure
                    .split_whitespace()
                    .skip_while(|word| *word == "Used" || *word == "used");
                let Some(count) = words.next().and_then(|word| word.parse::<u32>().ok()) else {
                    continue;
                };
                let words: Vec<_> = words.collect();
                match words.as_slice() {
                    ["registers"] => kernel.registers = count,
                    ["barriers"] => kernel.barriers = count,
                    ["bytes", "smem"] => kernel.static_shared_bytes = count,
                    ["bytes", "stack", "frame"] => kernel.stack_bytes = count,
                    ["bytes", "spill", "stores" | "loads"] => kernel.spill_bytes += count,
                    _ => {}
                }
            }
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_read_for_its_own_kernel() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_90a'
ptxas info    : Function properties for first
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 32 bytes smem
ptxas info    : Compiling entry function 'second' for 'sm_90a'
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 18 registers, used 0 barriers
";
        let first = ResourceUsage {
            symbol: "first".to_owned(),
            registers: 40,
            barriers: 1,
            static_shared_bytes: 32,
            stack_bytes: 16,
            spill_bytes: 12,
        };
        let second = ResourceUsage {
            symbol: "second".to_owned(),
            registers: 18,
            spill_bytes: 8,
            ..ResourceUsage::default()
        };
        assert_eq!(parse_log(log), [first, second]);
    }
}
