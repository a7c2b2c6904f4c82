//! A verification as a table for people.

use std::fmt;

use crate::verify::Verification;

impl fmt::Display for Verification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match (self.passed, self.compared()) {
            (false, _) => "WRONG",
            (true, 0) => "no value compared",
            (true, _) => "right",
        };
        writeln!(f, "verify  {verdict}")?;
        if self.outputs.is_empty() {
            writeln!(
                f,
                "  nothing says what the function computes, so that its results are neither right nor wrong"
            )?;
        } else {
            let names = self.outputs.iter().map(|output| output.tensor.len());
            let width = names.max().unwrap_or(0).max(6);
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
                    None => writeln!(f, "-")?,
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
        for output in self.outputs.iter().filter(|output| output.undefined > 0) {
            writeln!(
                f,
                "  {} elements of '{}' are undefined by the definition and were not compared",
                output.undefined, output.tensor
            )?;
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
        for fault in &self.of_devices {
            writeln!(f, "  {fault}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{OutputCheck, Worst};

    #[test]
    fn the_table_says_where_it_went_wrong() {
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
            exact: 0,
            undefined: 2,
            wrong: 1,
            worst: Some(worst),
        };
        let found = Verification {
            outputs: vec![output],
            deterministic: true,
            stray_writes: vec!["x".into()],
            ..Verification::default()
        };
        let text = found.to_string();
        assert!(text.contains("verify  WRONG"), "{text}");
        assert!(
            text.contains("128.00 ulp (6400% of the tolerance) at [3, 7]: expected 1e0, got 2e0"),
            "{text}"
        );
        assert!(text.contains("'x' was written where it must not be"), "{text}");
        assert!(text.contains("2 elements of 'y' are undefined"), "{text}");
    }

    #[test]
    fn a_run_without_a_value_to_compare_is_not_called_right() {
        let found = Verification {
            passed: true,
            ..Verification::default()
        };
        let text = found.to_string();
        assert!(text.starts_with("verify  no value compared"), "{text}");
        assert!(!text.contains("verify  right"), "{text}");
    }
}
