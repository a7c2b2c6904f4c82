//! Runs all cases on all cores and tells of each failure once.

use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::Options;
use crate::case::{Case, Program, Run};
use crate::check::{self, Failure, Stage};
use crate::{command, random, reduce, table};

/// Drawn cases of an ordinary run, and of a long one.
const DRAWN: [u64; 2] = [300, 4000];

/// A program and what it is run on, so that it is compiled once.
struct Group {
    program: Program,
    runs: Vec<Run>,
    is_drawn: bool,
}

/// How a case ended.
enum Verdict {
    Passed,
    /// The compiler does not support what was drawn.
    Refused,
    Failed(Box<Case>, Failure),
}

/// Runs the suite; says whether all passed.
pub fn run(options: &Options) -> bool {
    let drawn = options.drawn.unwrap_or(DRAWN[usize::from(options.long)]);
    let groups = groups(options, drawn);
    if options.list {
        for group in &groups {
            for case in group.cases() {
                println!("{case}");
            }
        }
        return true;
    }
    let verdicts: Vec<Verdict> = groups
        .par_iter()
        .progress_with(bar(groups.len()))
        .flat_map_iter(judge)
        .collect();

    let (mut passed, mut refused, mut failed) = (0, 0, 0);
    for verdict in verdicts {
        match verdict {
            Verdict::Passed => passed += 1,
            Verdict::Refused => refused += 1,
            Verdict::Failed(case, failure) => {
                failed += 1;
                match failed <= options.max_told {
                    true => tell(options, failed, &case, &failure),
                    false => println!("failed: {case}"),
                }
            }
        }
    }
    println!(
        "numerics: {drawn} cases drawn from seed {}, {refused} of them unsupported",
        options.seed
    );
    println!("numerics: {passed} passed, {failed} failed");
    failed == 0
}

/// Every case that the options ask for, in one order always.
pub fn cases(options: &Options) -> Vec<Case> {
    let drawn = options.drawn.unwrap_or(DRAWN[usize::from(options.long)]);
    groups(options, drawn).iter().flat_map(Group::cases).collect()
}

fn groups(options: &Options, drawn: u64) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let table = table::cases(options.long).into_iter().map(|case| (case, false));
    let drawn = (0..drawn).map(|number| (random::case(options.seed.wrapping_add(number)), true));
    for (case, is_drawn) in table.chain(drawn) {
        let wanted = |filter: &String| case.to_string().contains(filter.as_str());
        if !options.filter.as_ref().is_none_or(wanted) {
            continue;
        }
        match groups.iter_mut().find(|group| group.program == case.program) {
            Some(group) => group.runs.push(case.run),
            None => groups.push(Group {
                program: case.program,
                runs: vec![case.run],
                is_drawn,
            }),
        }
    }
    groups
}

impl Group {
    fn cases(&self) -> impl Iterator<Item = Case> {
        self.runs.iter().map(|run| Case {
            program: self.program.clone(),
            run: run.clone(),
        })
    }
}

fn judge(group: &Group) -> Vec<Verdict> {
    let failed = |case: Case, failure: Failure| Verdict::Failed(Box::new(case), failure);
    match check::compile(&group.program) {
        Err(failure) if failure.stage == Stage::Unsupported && group.is_drawn => {
            group.cases().map(|_| Verdict::Refused).collect()
        }
        Err(failure) => group.cases().map(|case| failed(case, failure.clone())).collect(),
        Ok(bundle) => group
            .cases()
            .map(|case| match check::run(&bundle, &case.program, &case.run) {
                Ok(_) => Verdict::Passed,
                Err(failure) => failed(case, failure),
            })
            .collect(),
    }
}

/// Prints a failure: the case, the smallest one that fails too, and how to run that.
fn tell(options: &Options, number: usize, case: &Case, failure: &Failure) {
    println!("failed: {case}\n{}", failure.why.trim_end());
    // A smaller case that fails at another stage is another failure.
    let smallest = reduce::reduce(case.clone(), |case| {
        check::check(case).is_err_and(|smaller| smaller.stage == failure.stage)
    });
    let bindings = check::compile(&smallest.program)
        .ok()
        .and_then(|bundle| {
            let function = bundle.manifest.function(None).ok()?;
            Some(check::bindings(function, &smallest.program, &smallest.run))
        })
        .unwrap_or_default();
    println!("smallest: {smallest}");
    match command::write(
        &smallest,
        &bindings,
        &options.output,
        &format!("failure-{number}"),
    ) {
        Ok(command) => println!("run it by: {command}\n"),
        Err(error) => println!("cannot write to '{}': {error}\n", options.output.display()),
    }
}

/// A bar on a terminal; nothing elsewhere.
fn bar(groups: usize) -> ProgressBar {
    let bar = ProgressBar::new(groups as u64);
    match ProgressStyle::with_template("{wide_bar} {pos}/{len} programs {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
