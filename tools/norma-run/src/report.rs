//! The results of a run, as a table for people or one JSON object for machines.

use std::collections::BTreeMap;
use std::fmt;

use norma_bundle::manifest::Kernel;
use norma_oracle::Verification;
use serde::{Deserialize, Serialize};

use crate::timing::Timing;

/// All results of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The function that ran.
    pub function: String,
    /// The number of devices that share its tensors, if it is sharded; they ran one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices: Option<usize>,
    /// The architecture of its kernels.
    pub target: String,
    /// The device it ran on.
    pub device: String,
    /// The sizes it ran with.
    pub sizes: BTreeMap<String, i64>,
    /// The kernels of the function, in order.
    pub kernels: Vec<KernelSummary>,
    /// How the results compare with the oracle's, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The time, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// A kernel and its resource usage, from the manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KernelSummary {
    /// Its name.
    pub symbol: String,
    /// Threads per CTA.
    pub threads: u32,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes per thread that were spilled.
    pub spill_bytes: Option<u32>,
    /// Static shared memory per CTA, in bytes.
    pub static_shared_bytes: Option<u32>,
    /// Dynamic shared memory per CTA, in bytes: an expression over sizes.
    pub shared_bytes: String,
    /// Its schedule.
    pub schedule: Option<String>,
}

impl KernelSummary {
    /// Reads the summary from the manifest.
    pub fn of(kernel: &Kernel) -> Self {
        Self {
            symbol: kernel.symbol.clone(),
            threads: kernel.block.iter().product(),
            registers: kernel.registers,
            spill_bytes: kernel.spill_bytes,
            static_shared_bytes: kernel.static_shared_bytes,
            shared_bytes: kernel.shared_bytes.to_string(),
            schedule: kernel.schedule.clone(),
        }
    }
}

impl Report {
    /// Whether everything that was compared is right.
    pub fn passed(&self) -> bool {
        self.verification.as_ref().is_none_or(|found| found.passed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self
            .sizes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        write!(f, "{} ({}) on {}", self.function, self.target, self.device)?;
        match self.devices {
            Some(devices) => writeln!(f, ", which ran as {devices} devices one after the other")?,
            None => writeln!(f)?,
        }
        if !sizes.is_empty() {
            writeln!(f, "sizes   {}", sizes.join(" "))?;
        }
        if let Some(found) = &self.verification {
            write!(f, "{found}")?;
        }
        if let Some(timing) = &self.timing {
            let (time, rate) = (timing.microseconds, timing.gigabytes_per_second);
            writeln!(
                f,
                "time    {time:.2} us, {rate:.0} GB/s ({} bytes moved, cold L2)",
                timing.bytes
            )?;
            if let Some(copy) = timing.copy_microseconds {
                writeln!(
                    f,
                    "copy    {copy:.2} us, {:.1}% of its speed reached",
                    100.0 * copy / time
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(passed: bool) -> Report {
        let timing = Timing {
            microseconds: 60.0,
            bytes: 268_435_456,
            gigabytes_per_second: 4473.9,
            calls: 400,
            copy_microseconds: Some(57.0),
        };
        Report {
            function: "rms_norm".into(),
            devices: None,
            target: "sm_90a".into(),
            device: "a GPU".into(),
            sizes: BTreeMap::from([("m".into(), 16384)]),
            kernels: Vec::new(),
            verification: Some(Verification {
                passed,
                ..Verification::default()
            }),
            timing: Some(timing),
        }
    }

    #[test]
    fn the_table_has_the_verdict_and_the_time() {
        let text = report(false).to_string();
        assert!(text.contains("verify  WRONG"), "{text}");
        assert!(
            text.contains("time    60.00 us, 4474 GB/s (268435456 bytes moved, cold L2)"),
            "{text}"
        );
        assert!(
            text.ends_with("copy    57.00 us, 95.0% of its speed reached\n"),
            "{text}"
        );
    }

    #[test]
    fn a_report_without_verification_passes() {
        assert!(!report(false).passed());
        assert!(
            Report {
                verification: None,
                ..report(false)
            }
            .passed()
        );
    }
}
