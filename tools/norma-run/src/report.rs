//! What a run found, as a table for people or one JSON object for machines.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::check::Check;
use crate::timing::Timing;

/// Everything a run found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The function that ran.
    pub function: String,
    /// The architecture of its kernels.
    pub target: String,
    /// The device it ran on.
    pub device: String,
    /// The sizes it ran with.
    pub sizes: BTreeMap<String, i64>,
    /// The check, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Check>,
    /// The time, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

impl Report {
    /// Whether nothing that was checked is wrong.
    pub fn passed(&self) -> bool {
        self.check.as_ref().is_none_or(|check| check.passed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self
            .sizes
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        writeln!(f, "{} ({}) on {}", self.function, self.target, self.device)?;
        if !sizes.is_empty() {
            writeln!(f, "sizes   {}", sizes.join(" "))?;
        }
        if let Some(check) = &self.check {
            write!(f, "{check}")?;
        }
        if let Some(timing) = &self.timing {
            let (time, rate) = (timing.microseconds, timing.gigabytes_per_second);
            writeln!(
                f,
                "time    {time:.2} us, {rate:.0} GB/s ({} bytes moved, cold L2)",
                timing.bytes
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "check   {}", if self.passed { "right" } else { "WRONG" })?;
        if self.outputs.is_empty() {
            writeln!(
                f,
                "  the bundle has no reference program: values were not compared"
            )?;
        } else {
            let width = self
                .outputs
                .iter()
                .map(|output| output.tensor.len())
                .max()
                .unwrap_or(0)
                .max(6);
            writeln!(
                f,
                "  {:width$}  {:>10}  {:>8}  worst",
                "output", "checked", "wrong"
            )?;
            for output in &self.outputs {
                write!(
                    f,
                    "  {:width$}  {:>10}  {:>8}  ",
                    output.tensor, output.checked, output.wrong
                )?;
                match &output.worst {
                    None => writeln!(f, "nothing to compare")?,
                    Some(worst) => writeln!(
                        f,
                        "{:.2} ulp ({:.0}% of the tolerance) at {:?}: expected {:e}, got {:e}",
                        worst.ulps,
                        worst.part_of_tolerance * 100.0,
                        worst.at,
                        worst.expected,
                        worst.actual
                    )?,
                }
            }
        }
        if !self.deterministic {
            writeln!(f, "  two calls gave different bits")?;
        }
        for tensor in &self.stray_writes {
            writeln!(f, "  '{tensor}' was written where it must not be")?;
        }
        for tensor in &self.unwritten {
            writeln!(f, "  '{tensor}' was not written everywhere")?;
        }
        for workspace in &self.dirty_workspaces {
            writeln!(f, "  workspace '{workspace}' was not left zero")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{OutputCheck, Worst};

    fn report(passed: bool) -> Report {
        let worst = Worst {
            at: vec![3, 7],
            expected: 1.0,
            actual: 2.0,
            ulps: 128.0,
            part_of_tolerance: 64.0,
        };
        let output = OutputCheck {
            tensor: "y".into(),
            checked: 10,
            wrong: 1,
            worst: Some(worst),
        };
        let check = Check {
            passed,
            outputs: vec![output],
            deterministic: true,
            stray_writes: vec!["x".into()],
            unwritten: vec![],
            dirty_workspaces: vec![],
        };
        let timing = Timing {
            microseconds: 60.0,
            bytes: 268_435_456,
            gigabytes_per_second: 4473.9,
            calls: 400,
        };
        Report {
            function: "rms_norm".into(),
            target: "sm_90a".into(),
            device: "a GPU".into(),
            sizes: BTreeMap::from([("m".into(), 16384)]),
            check: Some(check),
            timing: Some(timing),
        }
    }

    #[test]
    fn the_table_says_where_it_went_wrong() {
        let text = report(false).to_string();
        assert!(text.contains("check   WRONG"), "{text}");
        assert!(
            text.contains("128.00 ulp (6400% of the tolerance) at [3, 7]: expected 1e0, got 2e0"),
            "{text}"
        );
        assert!(text.contains("'x' was written where it must not be"), "{text}");
        assert!(
            text.contains("time    60.00 us, 4474 GB/s (268435456 bytes moved, cold L2)"),
            "{text}"
        );
    }

    #[test]
    fn a_report_without_check_passes() {
        assert!(!report(false).passed());
        assert!(
            Report {
                check: None,
                ..report(false)
            }
            .passed()
        );
    }
}
