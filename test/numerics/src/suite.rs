//! Runs all cases on all cores and reports each failure once.

use indicatif::{ParallelProgressIterator, ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::Options;
use crate::check::{self, Failure, Stage};
use crate::trial::Trial;
use crate::{command, random, reduce, space, table};

/// The number of drawn cases over rows, in an ordinary run and in a long one.
const DRAWN_ROWS: [u64; 2] = [300, 4000];
/// The number of drawn cases over spaces: as many as fit into about ten seconds, and in a long run.
const DRAWN_SPACES: [u64; 2] = [60, 2000];
/// The share of the drawn mappings that must compile, in per cent: a draw of unsupported mappings tests nothing.
const SUPPORTED: usize = 60;
/// How many mappings must be drawn for that share to be checked.
const ENOUGH: usize = 20;

/// The cases of one program, which is compiled once; there is at least one.
struct Group {
    cases: Vec<Trial>,
    is_drawn: bool,
}

/// How a case ended.
enum Verdict {
    Passed,
    /// The compiler does not support the drawn program.
    Unsupported,
    Failed(Failure),
}

/// Runs the suite; returns whether all cases passed.
pub fn run(options: &Options) -> bool {
    let groups = groups(options);
    if options.list {
        for case in groups.iter().flat_map(|group| &group.cases) {
            println!("{case}");
        }
        return true;
    }
    let verdicts: Vec<(&Trial, Verdict)> = groups
        .par_iter()
        .progress_with(bar(groups.len()))
        .flat_map_iter(judge)
        .collect();

    let (mut passed, mut unsupported, mut failed) = (0, 0, 0);
    // Counts of the cases whose mapping was drawn.
    let (mut mapped, mut supported) = (0, 0);
    for (case, verdict) in &verdicts {
        if matches!(case, Trial::Space(case) if case.mapping.is_some()) {
            mapped += 1;
            supported += usize::from(!matches!(verdict, Verdict::Unsupported));
        }
        match verdict {
            Verdict::Passed => passed += 1,
            Verdict::Unsupported => unsupported += 1,
            Verdict::Failed(failure) => {
                failed += 1;
                println!("failed: {case}");
                if failed <= options.max_told {
                    println!("{}", failure.why.trim_end());
                    tell(options, failed, &smallest(case, failure));
                } else {
                    println!("{}", failure.why.lines().next().unwrap_or_default());
                    tell(options, failed, case);
                }
            }
        }
    }
    if mapped >= ENOUGH && supported * 100 < mapped * SUPPORTED {
        failed += 1;
        println!(
            "failed: of {mapped} mappings drawn {supported} are supported, expected {SUPPORTED}% of them"
        );
    }
    let [rows, spaces] = drawn(options);
    println!(
        "numerics: {rows} cases over rows and {spaces} over spaces drawn from seed {}, {unsupported} of them unsupported; \
         {supported} of {mapped} mappings supported",
        options.seed
    );
    println!("numerics: {passed} passed, {failed} failed");
    failed == 0
}

/// Every case that the options select, always in the same order.
pub fn cases(options: &Options) -> Vec<Trial> {
    let groups = groups(options).into_iter();
    groups.flat_map(|group| group.cases).collect()
}

/// How many cases are drawn over rows, and how many over spaces.
fn drawn(options: &Options) -> [u64; 2] {
    let long = usize::from(options.long);
    [DRAWN_ROWS[long], DRAWN_SPACES[long]].map(|usual| options.drawn.unwrap_or(usual))
}

fn groups(options: &Options) -> Vec<Group> {
    let wanted = |case: &Trial| {
        let filter = options.filter.as_ref();
        filter.is_none_or(|filter| case.to_string().contains(filter.as_str()))
    };
    let mut groups: Vec<Group> = Vec::new();
    let rows = table::cases(options.long).into_iter().map(Trial::from);
    let spaces = space::table::cases(options.long).into_iter();
    for case in rows.chain(spaces.map(Trial::Space)).filter(wanted) {
        match groups
            .iter_mut()
            .find(|group| group.cases[0].is_same_program(&case))
        {
            Some(group) => group.cases.push(case),
            None => groups.push(Group {
                cases: vec![case],
                is_drawn: false,
            }),
        }
    }
    let [rows, spaces] = drawn(options);
    let seed = |number: u64| options.seed.wrapping_add(number);
    let rows = (0..rows)
        .into_par_iter()
        .map(|number| Trial::from(random::case(seed(number))));
    let spaces = (0..spaces)
        .into_par_iter()
        .map(|number| Trial::Space(space::draw::case(seed(number))));
    let all: Vec<Trial> = rows.chain(spaces).filter(wanted).collect();
    groups.extend(all.into_iter().map(|case| Group {
        cases: vec![case],
        is_drawn: true,
    }));
    groups
}

fn judge(group: &Group) -> Vec<(&Trial, Verdict)> {
    let each =
        |verdict: &dyn Fn(&Trial) -> Verdict| group.cases.iter().map(|case| (case, verdict(case))).collect();
    match check::compile(&group.cases[0]) {
        Err(failure) if failure.stage == Stage::Unsupported && group.is_drawn => {
            each(&|_| Verdict::Unsupported)
        }
        Err(failure) => each(&|_| Verdict::Failed(failure.clone())),
        Ok(bundle) => each(&|case| match check::run(&bundle, case) {
            Ok(_) => Verdict::Passed,
            Err(failure) => Verdict::Failed(failure),
        }),
    }
}

/// Prints and returns the smallest case found that fails too.
fn smallest(case: &Trial, failure: &Failure) -> Trial {
    // A smaller case that fails at another stage is another failure.
    let smallest = reduce::reduce(case.clone(), |case| {
        check::check(case).is_err_and(|smaller| smaller.stage == failure.stage)
    });
    println!("smallest: {smallest}");
    if let Err(smaller) = check::check(&smallest) {
        println!("{}", smaller.why.trim_end());
    }
    smallest
}

/// Writes a failing case's program, and prints how to run it.
fn tell(options: &Options, number: usize, case: &Trial) {
    let bindings = check::compile(case)
        .ok()
        .and_then(|bundle| Some(case.bindings(bundle.manifest.function(Some(&case.function())).ok()?)))
        .unwrap_or_default();
    match command::write(case, &bindings, &options.output, &format!("failure-{number}")) {
        Ok(command) => println!("run it by: {command}\n"),
        Err(error) => println!("cannot write to '{}': {error}\n", options.output.display()),
    }
}

/// A progress bar on a terminal; nothing elsewhere.
fn bar(groups: usize) -> ProgressBar {
    let bar = ProgressBar::new(groups as u64);
    match ProgressStyle::with_template("{wide_bar} {pos}/{len} programs {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
