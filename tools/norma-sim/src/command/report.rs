//! Formats the results as text for people or as one JSON object for machines.

use std::fmt::Write;

use norma_command_line::output;
use norma_compiler::Kind;
use norma_simulator::Finding;
use norma_simulator::program::Site;
use norma_simulator::traffic::Sectors;
use serde_json::{Value, json};

use super::options::Options;
use super::session::Session;
use crate::Error;
use crate::traffic::KernelTraffic;

/// Prints an error, unless diagnostics have already reported it.
pub fn error(error: &Error) {
    if let Error::Compile(error) = error {
        if !error.is_diagnosed() {
            output::error(error);
        }
        output::notes(error.notes(), error.kind() == Kind::Internal);
        return;
    }
    output::error(error);
    if let Some(remedy) = error.remedy() {
        output::note(remedy);
    }
}

/// Formats findings as a compiler prints diagnostics, followed by a summary.
pub fn text(session: &Session, options: &Options) -> String {
    let mut text = String::new();
    let judgement = &session.judgement;
    for (seed, finding) in &judgement.findings {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{finding}\n  note: under seed {seed}");
    }
    if let Some(difference) = &judgement.difference {
        let _ = writeln!(text, "error: non-determinism: {difference}");
    }
    for traffic in &judgement.traffic {
        text += &traffic.to_string();
    }
    let sizes: String = session
        .sizes
        .iter()
        .map(|(name, value)| format!(", {name}={value}"))
        .collect();
    let _ = writeln!(
        text,
        "{} ({}){}{sizes}: {} under {}",
        session.function,
        session.target,
        match session.devices {
            Some(devices) => format!(" on {devices} devices"),
            None => String::new(),
        },
        match judgement.findings.len() + usize::from(judgement.difference.is_some()) {
            0 => "nothing found".to_owned(),
            1 => "1 error".to_owned(),
            count => format!("{count} errors"),
        },
        match judgement.seeds {
            1 => format!("seed {}", options.run.seed),
            count => format!("{count} seeds from {}", options.run.seed),
        }
    );
    if let Some(verification) = &judgement.verification {
        text += &verification.to_string();
    }
    for agreement in session.agreements.iter().flatten() {
        let _ = writeln!(text, "compare {agreement}");
    }
    text
}

/// Formats everything as one JSON object, indented, with a final newline.
pub fn json(session: &Session) -> String {
    let judgement = &session.judgement;
    let findings: Vec<Value> = judgement
        .findings
        .iter()
        .map(|(seed, found)| finding(*seed, found))
        .collect();
    let traffic: Vec<Value> = judgement.traffic.iter().map(traffic).collect();
    let value = json!({
        "function": session.function,
        "devices": session.devices.unwrap_or(1),
        "target": session.target,
        "sizes": session.sizes,
        "passed": session.passed(),
        "seeds": judgement.seeds,
        "findings": findings,
        "difference": judgement.difference.as_ref().map(ToString::to_string),
        "verification": judgement.verification,
        "agreements": session.agreements,
        "thread_instructions": judgement.thread_instructions,
        "traffic": traffic,
    });
    // Serializing strings, numbers and lists cannot fail.
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

/// Formats a finding as JSON.
pub fn finding(seed: u64, finding: &Finding) -> Value {
    let notes: Vec<Value> = finding
        .notes
        .iter()
        .map(|note| json!({"message": note.message, "site": note.site.as_ref().map(site)}))
        .collect();
    json!({
        "kind": finding.kind.name(),
        "message": finding.message,
        "site": site(&finding.site),
        "cta": finding.thread.cta,
        "thread": finding.thread.thread,
        "memory": finding.memory.as_ref().map(|memory| json!({
            "name": memory.name,
            "offset": memory.offset,
            "bytes": memory.bytes,
        })),
        "repeats": finding.repeats,
        "notes": notes,
        "seed": seed,
    })
}

/// Formats a site as JSON.
pub fn site(site: &Site) -> Value {
    json!({
        "op": site.op,
        "location": site.location.as_ref().map(ToString::to_string),
        "in_module": site.in_module.as_ref().map(ToString::to_string),
    })
}

fn sectors(sectors: Sectors) -> Value {
    json!({"requested": sectors.requested, "distinct": sectors.distinct})
}

fn traffic(traffic: &KernelTraffic) -> Value {
    let global = traffic.global.iter().map(|(place, counts)| {
        json!({
            "site": site(place),
            "accesses": counts.accesses,
            "lines": counts.lines,
            "sectors": counts.sectors,
            "ideal_sectors": counts.ideal_sectors,
            "distinct_sectors": counts.of_sectors().distinct,
            "writes": counts.writes,
        })
    });
    let shared = traffic.shared.iter().map(|(place, counts)| {
        json!({
            "site": site(place),
            "accesses": counts.accesses,
            "wavefronts": counts.wavefronts,
            "ideal_wavefronts": counts.ideal_wavefronts,
        })
    });
    json!({
        "kernel": traffic.kernel,
        "global": global.collect::<Vec<_>>(),
        "shared": shared.collect::<Vec<_>>(),
        "read": sectors(traffic.totals.read),
        "written": sectors(traffic.totals.written),
    })
}
