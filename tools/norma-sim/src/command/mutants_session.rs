//! One run of the tool with `--mutants`: judges all mutants of a function's kernels, and formats the result as a table or as
//! JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use norma_simulator::mutation::Concern;
use serde_json::{Value, json};

use super::input;
use super::options::Options;
use super::progress;
use super::report::{finding, site};
use crate::Error;
use crate::mutants::{Caught, Mutant, Verdict, mutants};

/// The mutants of a function and their verdicts.
pub struct MutantsSession {
    /// The function.
    function: String,
    /// The target of its kernels.
    target: String,
    /// The sizes it ran with.
    sizes: BTreeMap<String, i64>,
    mutants: Vec<Mutant>,
}

/// Compiles or loads the input, and runs all mutants that the options ask for.
///
/// # Errors
/// See [`Error`]; a function that is wrong without mutation has no mutants to judge.
pub fn run(options: &Options, diagnostics: &mut String) -> Result<MutantsSession, Error> {
    let bundle = input::bundle(options, diagnostics)?;
    let function = options.run.function(&bundle.manifest)?;
    let problem = input::problem(options, function)?;
    let request = input::request(options);
    let chosen = options.mutants.iter().flatten();
    let concerns: Vec<Concern> = chosen.flat_map(|mutants| mutants.concerns()).copied().collect();
    let bar = progress::mutants();
    let mutants = mutants(&bundle, &problem, &request, &concerns, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })?;
    bar.finish_and_clear();
    Ok(MutantsSession {
        function: function.name.clone(),
        target: bundle.manifest.target_name().to_owned(),
        sizes: problem.sizes.clone(),
        mutants,
    })
}

impl MutantsSession {
    /// Whether every mutant was caught.
    pub fn passed(&self) -> bool {
        self.mutants.iter().all(Mutant::is_caught)
    }

    fn caught(&self) -> usize {
        self.mutants.iter().filter(|mutant| mutant.is_caught()).count()
    }

    /// One line for each mutant, then a summary.
    pub fn text(&self) -> String {
        let places: Vec<String> = self.mutants.iter().map(place).collect();
        let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
        let first = width(&mut places.iter().map(String::len));
        let second = width(&mut self.mutants.iter().map(|mutant| mutant.mutation.what.len()));
        let mut text = String::new();
        for (mutant, place) in self.mutants.iter().zip(places) {
            let what = mutant.mutation.what;
            // Writing to a string does not fail.
            let _ = writeln!(text, "{place:first$}  {what:second$}  {}", mutant.verdict);
        }
        let sizes = self.sizes.iter().map(|(name, value)| format!(", {name}={value}"));
        let _ = writeln!(
            text,
            "{} ({}){}: {} of {} mutants caught",
            self.function,
            self.target,
            sizes.collect::<String>(),
            self.caught(),
            self.mutants.len()
        );
        text
    }

    /// Formats everything as one JSON object, indented, with a final newline.
    pub fn json(&self) -> String {
        let value = json!({
            "function": self.function,
            "target": self.target,
            "sizes": self.sizes,
            "passed": self.passed(),
            "caught": self.caught(),
            "mutants": self.mutants.iter().map(mutant).collect::<Vec<_>>(),
        });
        // Serializing strings, numbers and lists cannot fail.
        serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
    }
}

/// The location of a mutation.
fn place(mutant: &Mutant) -> String {
    let site = &mutant.mutation.site;
    match &site.location {
        Some(location) => format!("{location}: {site}"),
        None => site.to_string(),
    }
}

fn mutant(mutant: &Mutant) -> Value {
    let mutation = &mutant.mutation;
    let verdict = match &mutant.verdict {
        Verdict::Survived { same_bits } => json!({"caught": false, "same_results": same_bits}),
        Verdict::Caught { seed, how } => match how {
            Caught::Finding(found) => json!({"caught": true, "seed": seed, "finding": finding(*seed, found)}),
            Caught::WrongResult(what) => json!({"caught": true, "seed": seed, "wrong": what}),
            Caught::Difference(difference) => {
                json!({"caught": true, "seed": seed, "difference": difference.to_string()})
            }
        },
    };
    json!({
        "kernel": mutant.kernel,
        "instruction": mutation.pc,
        "site": site(&mutation.site),
        "concern": mutation.concern.name(),
        "what": mutation.what,
        "verdict": verdict,
    })
}
