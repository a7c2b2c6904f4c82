//! `cargo xtask test`: runs all tests, and prints their totals in the last line.
//!
//! **Invariant:** a part that could not run, for example because the workspace does not build, counts as a failure.

use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::AddAssign;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::failure::Failure;
use crate::setup::{self, Setup};
use crate::{docs, lit, python, workspace};

/// What `cargo xtask test` takes.
#[derive(clap::Args)]
pub struct Options {
    /// Run only tests whose name or path contains this; leaves out the check of the generated docs
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Run the numerics suite's longer rows and more drawn cases too
    #[arg(long)]
    long: bool,
    /// Run the tests of norma.torch too, for which torch is installed into .toolchain/ (5 GB)
    #[arg(long)]
    torch: bool,
    #[command(flatten)]
    setup: setup::Options,
}

/// The number of tests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

const ONE_FAILURE: Tally = Tally {
    passed: 0,
    failed: 1,
    skipped: 0,
};

/// Sets up, runs all tests and prints `N passed, N failed` as the last line.
///
/// # Errors
/// If set-up or a test fails.
pub fn run(options: &Options) -> Result<(), Failure> {
    let setup = setup::run_for_tests(&options.setup)?;
    let filter = options.filter.as_deref();

    let mut tally = run_cargo_tests(&setup, filter)?;
    if lit::build_tools(&setup)? {
        tally += run_lit(&setup, filter)?;
        tally += run_numerics(&setup, options)?;
        tally += run_python(&setup, options)?;
    } else {
        tally += ONE_FAILURE;
    }
    if filter.is_none() {
        tally += check_docs(&setup);
    }

    if tally.skipped > 0 {
        println!(
            "{} not run: this machine lacks what they require, such as a GPU",
            tally.skipped
        );
    }
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.failed == 0 {
        Ok(())
    } else {
        Err(Failure::Reported)
    }
}

/// Runs cargo's tests.
fn run_cargo_tests(setup: &Setup, filter: Option<&str>) -> Result<Tally, Failure> {
    eprintln!("test: cargo test");
    let mut cargo = setup.cargo();
    cargo.args(["test", "--workspace", "--no-fail-fast"]).args(filter);
    run_and_add_up(&mut cargo, |line| result_line(line, "test result: "))
}

/// Runs the numerics suite: kernels compiled, simulated, and compared with the oracle.
fn run_numerics(setup: &Setup, options: &Options) -> Result<Tally, Failure> {
    eprintln!("test: numerics");
    let mut numerics = Command::new(workspace::built_programs()?.join("norma-numerics"));
    setup.prepare(&mut numerics);
    numerics.current_dir(workspace::root());
    if options.long {
        numerics.arg("--long");
    }
    if let Some(filter) = &options.filter {
        numerics.args(["--filter", filter]);
    }
    run_and_add_up(&mut numerics, |line| result_line(line, "numerics: "))
}

/// Runs the tests of the Python package.
fn run_python(setup: &Setup, options: &Options) -> Result<Tally, Failure> {
    eprintln!("test: python");
    let mut pytest = python::tests(setup, options.torch, options.filter.as_deref())?;
    run_and_add_up(&mut pytest, pytest_line)
}

/// Runs a child, passes its output through, and adds up the lines that `result` recognizes.
fn run_and_add_up(command: &mut Command, result: impl Fn(&str) -> Option<Tally>) -> Result<Tally, Failure> {
    command.stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| Failure::start(command, &error))?;
    let mut tally = Tally::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            println!("{line}");
            tally += result(&line).unwrap_or_default();
        }
    }
    let status = child.wait().map_err(|error| Failure::start(command, &error))?;
    if !status.success() && tally.failed == 0 {
        tally += ONE_FAILURE;
    }
    Ok(tally)
}

/// Parses libtest's `test result: ok. 12 passed; 0 failed; 1 ignored; ...`, and the numerics suite's `numerics: 12 passed, 0
/// failed`.
fn result_line(line: &str, prefix: &str) -> Option<Tally> {
    let counts = line.strip_prefix(prefix)?;
    let count = |what: &str| {
        let before = counts
            .split([';', ','])
            .find_map(|part| part.trim().strip_suffix(what))?;
        before.split_whitespace().last()?.parse().ok()
    };
    Some(Tally {
        passed: count(" passed")?,
        failed: count(" failed")?,
        skipped: count(" ignored").unwrap_or_default(),
    })
}

/// Parses pytest's last line, `2 failed, 12 passed, 1 skipped in 0.52s`.
fn pytest_line(line: &str) -> Option<Tally> {
    let (counts, took) = line.trim_matches(['=', ' ']).split_once(" in ")?;
    took.split_whitespace()
        .next()?
        .strip_suffix('s')?
        .parse::<f64>()
        .ok()?;
    let mut tally = Tally::default();
    for part in counts.split(", ") {
        let (count, what) = part.split_once(' ')?;
        let count: u64 = count.parse().ok()?;
        match what {
            "passed" | "xfailed" => tally.passed += count,
            "skipped" => tally.skipped += count,
            "failed" | "error" | "errors" | "xpassed" => tally.failed += count,
            _ => {}
        }
    }
    Some(tally)
}

/// Runs lit on test/, starting with tests that failed in the last run.
fn run_lit(setup: &Setup, filter: Option<&str>) -> Result<Tally, Failure> {
    eprintln!("test: lit");
    let scratch = lit::scratch()?;
    let report = scratch.join("report.json");
    if report.exists() {
        fs::remove_file(&report).map_err(Failure::file("remove", &report))?;
    }
    let mut lit = lit::command(setup)?;
    lit.args(["--order=smart", "--print-result-after=failed"]);
    if let Some(filter) = filter {
        lit.args(["--allow-empty-runs", "--filter", &regex_lite::escape(filter)]);
    }
    lit.arg("--output").arg(&report).arg("test");
    let status = lit.status().map_err(|error| Failure::start(&lit, &error))?;
    Ok(read_report(&report, status.success()))
}

/// Adds up lit's report. The report is missing if the filter matched no test, or if lit itself failed, which counts as a
/// failure.
fn read_report(report: &Path, succeeded: bool) -> Tally {
    let text = fs::read_to_string(report).unwrap_or_default();
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut tally = Tally::default();
    for test in report["tests"].as_array().into_iter().flatten() {
        match test["code"].as_str() {
            Some("PASS" | "XFAIL" | "FLAKYPASS") => tally.passed += 1,
            Some("UNSUPPORTED") => tally.skipped += 1,
            _ => tally.failed += 1,
        }
    }
    if !succeeded && tally.failed == 0 {
        tally += ONE_FAILURE;
    }
    tally
}

fn check_docs(setup: &Setup) -> Tally {
    eprintln!("test: generated docs");
    match docs::check(setup) {
        Ok(()) => Tally {
            passed: 1,
            ..Tally::default()
        },
        Err(failure) => {
            println!("{failure}");
            ONE_FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_counted_and_others_are_not() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 5 filtered out; finished in 0.02s";
        assert_eq!(
            result_line(line, "test result: "),
            Some(Tally {
                passed: 12,
                failed: 3,
                skipped: 1
            })
        );
        assert_eq!(result_line("test passes::rule ... ok", "test result: "), None);
        let line = "numerics: 400 passed, 2 failed";
        assert_eq!(
            result_line(line, "numerics: "),
            Some(Tally {
                passed: 400,
                failed: 2,
                skipped: 0
            })
        );
    }

    #[test]
    fn pytests_last_line_is_counted() {
        let tally = |passed, failed, skipped| {
            Some(Tally {
                passed,
                failed,
                skipped,
            })
        };
        assert_eq!(pytest_line("17 passed in 3.41s"), tally(17, 0, 0));
        assert_eq!(
            pytest_line("= 2 failed, 12 passed, 1 skipped, 3 warnings, 1 error in 71.52s (0:01:11) ="),
            tally(12, 3, 1)
        );
        assert_eq!(pytest_line("5 deselected in 0.02s"), tally(0, 0, 0));
        assert_eq!(pytest_line("what is in 3.0s"), None);
    }

    #[test]
    fn unresolved_and_unexpectedly_passing_lit_tests_are_failures() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("report.json");
        let tests = ["PASS", "FAIL", "UNRESOLVED", "XPASS", "TIMEOUT", "UNSUPPORTED"];
        let tests = tests.map(|code| format!(r#"{{"code": "{code}"}}"#)).join(",");
        fs::write(&report, format!(r#"{{"tests": [{tests}]}}"#)).unwrap();
        assert_eq!(
            read_report(&report, false),
            Tally {
                passed: 1,
                failed: 4,
                skipped: 1
            }
        );
    }

    #[test]
    fn lit_that_breaks_down_is_a_failure_and_a_filter_that_matches_nothing_is_not() {
        let none = Path::new("/nonexistent/report.json");
        assert_eq!(read_report(none, false), ONE_FAILURE);
        assert_eq!(read_report(none, true), Tally::default());
    }
}
