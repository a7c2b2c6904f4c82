//! Renders a report as one self-contained page of HTML: the measurements as figures and tables.
//!
//! It is made from reports, or from the JSON that runs write, so a page can be made later and on another machine.

mod chart;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use norma_oracle::Verification;
use serde::Deserialize;

use crate::failure::Failure;
use crate::report::{KernelSummary, Report};
use crate::timing::Timing;
use chart::{Chart, Scale, Series};

/// A run, from its report or as read from its JSON. Fields that the page does not need may be absent.
#[derive(Clone, Debug, Deserialize)]
pub struct Measurement {
    function: String,
    target: String,
    device: String,
    #[serde(default)]
    sizes: BTreeMap<String, i64>,
    #[serde(default)]
    kernels: Vec<KernelSummary>,
    verification: Option<Verdict>,
    timing: Option<Timing>,
}

#[derive(Clone, Debug, Deserialize)]
struct Verdict {
    passed: bool,
}

impl From<&Report> for Measurement {
    fn from(report: &Report) -> Self {
        let verdict = |verification: &Verification| Verdict {
            passed: verification.passed,
        };
        Measurement {
            function: report.function.clone(),
            target: report.target.clone(),
            device: report.device.clone(),
            sizes: report.sizes.clone(),
            kernels: report.kernels.clone(),
            verification: report.verification.as_ref().map(verdict),
            timing: report.timing.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "it is neither a report nor a list of them")]
enum Saved {
    Several(Vec<Measurement>),
    One(Box<Measurement>),
}

/// Reads what `--json` wrote: a run, or a list of runs.
///
/// # Errors
/// The file cannot be read, or is something else.
pub fn read(path: &Path) -> Result<Vec<Measurement>, Failure> {
    let saved = |why: String| Failure::Saved {
        path: path.to_owned(),
        why,
    };
    let text = fs::read_to_string(path).map_err(|error| saved(error.to_string()))?;
    let runs = serde_json::from_str(&text).map_err(|error| saved(error.to_string()))?;
    Ok(match runs {
        Saved::Several(all) => all,
        Saved::One(one) => vec![*one],
    })
}

const STYLE: &str = include_str!("page/style.css");

/// Renders runs in their order, grouped by function, target and device.
pub fn html(measurements: &[Measurement]) -> String {
    let mut groups: Vec<Vec<&Measurement>> = Vec::new();
    let key = |of: &Measurement| (of.function.clone(), of.target.clone(), of.device.clone());
    for measurement in measurements {
        match groups.iter_mut().find(|group| key(group[0]) == key(measurement)) {
            Some(group) => group.push(measurement),
            None => groups.push(vec![measurement]),
        }
    }
    let sections: String = groups.iter().map(|group| section(group)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Measurements by norma-run</title><style>\n{STYLE}</style></head><body>\n<h1>Measurements</h1>\n\
         <p>Times of one call with a cold L2 cache, medians; bytes are the fewest that a call must move. A copy is the driver's, of as \
         many bytes from device memory to device memory.</p>\n{sections}</body></html>\n"
    )
}

/// Renders the runs of one function on one device.
fn section(runs: &[&Measurement]) -> String {
    let mut text = String::new();
    let Some(first) = runs.first() else { return text };
    // Writing to a string does not fail.
    let _ = writeln!(
        text,
        "<h2>{} ({}) on {}</h2>",
        escaped(&first.function),
        escaped(&first.target),
        escaped(&first.device)
    );
    let timed: Vec<&Timing> = runs.iter().filter_map(|run| run.timing.as_ref()).collect();
    if !timed.is_empty() {
        text += &figures(&first.function, &timed);
    }
    text += &table_of_runs(runs);
    text += &table_of_kernels(&first.kernels);
    text
}

/// The bandwidth and the time over the bytes moved.
fn figures(function: &str, timed: &[&Timing]) -> String {
    let by_bytes = |of: &dyn Fn(&Timing) -> Option<f64>| {
        let points = timed
            .iter()
            .filter_map(|timing| Some((timing.bytes as f64, of(timing)?)));
        let mut points: Vec<(f64, f64)> = points.filter(|(x, y)| *x > 0.0 && *y > 0.0).collect();
        points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        points
    };
    let rate = |bytes: i64, microseconds: f64| bytes as f64 / microseconds / 1e3;
    let copied = |timing: &Timing| timing.copy_microseconds;
    let of_copy = by_bytes(&|timing| Some(rate(timing.bytes, copied(timing)?)));
    let roof = of_copy.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let series = |name: &str, class, points| Series {
        name: name.to_owned(),
        class,
        points,
        is_measured: true,
    };
    let bandwidth = Chart {
        title: "Bandwidth",
        x: "bytes moved",
        y: "GB/s",
        y_scale: Scale::Linear,
        series: vec![
            series(
                function,
                "own",
                by_bytes(&|timing| Some(timing.gigabytes_per_second)),
            ),
            series("copy", "copy", of_copy.clone()),
        ],
    };
    let mut lines = vec![
        series(function, "own", by_bytes(&|timing| Some(timing.microseconds))),
        series("copy", "copy", by_bytes(&copied)),
    ];
    // Of a single size, the roof is the copy.
    if of_copy.len() > 1 {
        let line = by_bytes(&|timing| Some(timing.bytes as f64 / roof / 1e3));
        lines.push(Series {
            is_measured: false,
            ..series("roof: the copy's best rate", "roof", line)
        });
    }
    let roofline = Chart {
        title: "Memory roofline",
        x: "bytes moved",
        y: "microseconds",
        y_scale: Scale::Logarithmic,
        series: lines,
    };
    format!(
        "<div class=\"figures\">\n{}\n{}\n</div>\n",
        bandwidth.figure(),
        roofline.figure()
    )
}

fn table_of_runs(runs: &[&Measurement]) -> String {
    let mut text = String::from(
        "<div class=\"scroll\"><table><tr><th>sizes</th><th>bytes moved</th><th>microseconds</th><th>GB/s</th>\
         <th>of a copy's speed</th><th>results</th></tr>\n",
    );
    for run in runs {
        let sizes = run.sizes.iter().map(|(name, value)| format!("{name}={value}"));
        let sizes = sizes.collect::<Vec<_>>().join(" ");
        let (bytes, time, rate, share) = match &run.timing {
            None => Default::default(),
            Some(timing) => (
                grouped(timing.bytes),
                format!("{:.2}", timing.microseconds),
                format!("{:.0}", timing.gigabytes_per_second),
                timing.copy_microseconds.map_or(String::new(), |copy| {
                    format!("{:.1}%", 100.0 * copy / timing.microseconds)
                }),
            ),
        };
        let verdict = match &run.verification {
            None => "not compared",
            Some(Verdict { passed: true }) => "right",
            Some(Verdict { passed: false }) => "<span class=\"wrong\">wrong</span>",
        };
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{bytes}</td><td>{time}</td><td>{rate}</td><td>{share}</td><td>{verdict}</td></tr>",
            escaped(&sizes)
        );
    }
    text + "</table></div>\n"
}

fn table_of_kernels(kernels: &[KernelSummary]) -> String {
    if kernels.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "<div class=\"scroll\"><table><tr><th>kernel</th><th>threads</th><th>registers</th><th>spilled bytes</th>\
         <th>shared bytes</th><th class=\"schedule\">schedule</th></tr>\n",
    );
    let number = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
    for kernel in kernels {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"schedule\"><code>{}</code></td></tr>",
            escaped(&kernel.symbol),
            kernel.threads,
            number(kernel.registers),
            number(kernel.spill_bytes),
            shared_bytes(kernel),
            escaped(kernel.schedule.as_deref().unwrap_or("?"))
        );
    }
    text + "</table></div>\n"
}

/// The bytes of shared memory that a CTA has, as a sum if some are known only when it is launched.
fn shared_bytes(kernel: &KernelSummary) -> String {
    let fixed = kernel.static_shared_bytes;
    match (fixed, kernel.shared_bytes.as_str()) {
        (None, "0") => "?".to_owned(),
        (Some(fixed), "0") => fixed.to_string(),
        (Some(0), dynamic) => escaped(dynamic),
        (None, dynamic) => format!("? + {}", escaped(dynamic)),
        (Some(fixed), dynamic) => format!("{fixed} + {}", escaped(dynamic)),
    }
}

/// Writes a number with a comma before every group of three digits.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Escapes a text for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWEEP: &str = include_str!("../testdata/sweep.json");

    fn measurements() -> Vec<Measurement> {
        serde_json::from_str(SWEEP).unwrap()
    }

    #[test]
    fn a_page_shows_every_run_beside_its_copy() {
        let page = html(&measurements());
        for part in [
            "<h2>rms_norm (sm_90a) on a GPU</h2>",
            "<td>m=1024</td><td>16,785,408</td><td>6.10</td><td>2752</td><td>95.1%</td><td>right</td>",
            "<span class=\"wrong\">wrong</span>",
            "<code>#norm.schedule&lt;spread = [[grid], [lane(32)]]&gt;</code>",
            "Memory roofline",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert_eq!(page.matches("<svg").count(), 2);
        // One point for each run and its copy, in both figures.
        assert_eq!(page.matches("<circle").count(), 3 * 4);
        assert!(!page.contains("http"), "nothing is loaded from elsewhere");
    }

    #[test]
    fn numbers_are_grouped_and_shared_bytes_a_sum_only_if_both_are_there() {
        let all = [0, 999, 1000, 1_073_750_016, -1234];
        assert_eq!(all.map(grouped), ["0", "999", "1,000", "1,073,750,016", "-1,234"]);
        let bytes = |fixed, dynamic: &str| {
            shared_bytes(&KernelSummary {
                static_shared_bytes: fixed,
                shared_bytes: dynamic.to_owned(),
                ..measurements()[0].kernels[0].clone()
            })
        };
        assert_eq!(bytes(Some(32), "0"), "32");
        assert_eq!(bytes(Some(0), "4 * n"), "4 * n");
        assert_eq!(bytes(Some(32), "4 * n"), "32 + 4 * n");
        assert_eq!(bytes(None, "0"), "?");
    }

    /// JSON has no infinity, so a report with one cannot be read back from its JSON.
    #[test]
    fn a_report_has_its_page_whatever_its_numbers() {
        let report = Report {
            function: "rms_norm".to_owned(),
            devices: None,
            target: "sm_90a".to_owned(),
            device: "a GPU".to_owned(),
            sizes: [("m".to_owned(), 0)].into(),
            kernels: Vec::new(),
            verification: Some(Verification {
                passed: true,
                ..Verification::default()
            }),
            timing: Some(Timing {
                microseconds: 0.0,
                bytes: 1,
                gigabytes_per_second: f64::INFINITY,
                calls: 1,
                copy_microseconds: None,
            }),
        };
        let page = html(&[Measurement::from(&report)]);
        for part in [
            "<h2>rms_norm (sm_90a) on a GPU</h2>",
            "<td>m=0</td>",
            "<td>right</td>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }

    #[test]
    fn functions_have_a_section_each_and_runs_without_times_no_figure() {
        let mut runs = measurements();
        runs.push(Measurement {
            function: "a<b".to_owned(),
            timing: None,
            ..runs[0].clone()
        });
        let page = html(&runs);
        assert_eq!(page.matches("<h2>").count(), 2);
        assert!(page.contains("<h2>a&lt;b"));
        assert_eq!(page.matches("<svg").count(), 2);
    }
}
