//! Functions whose tensors are sharded over devices, against the oracle of the whole function. The runs of all devices are
//! simulated one after another; between them, a stand-in for the collective concatenates the states of all devices.

mod cases;

use std::collections::BTreeMap;

use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::target::SM_90A;
use norma_compiler::{CompileOptions, Level};
use norma_oracle::memory::{self, Image, Images};
use norma_oracle::sharded::ShardedProblem;
use norma_oracle::verify::{Sampling, Verification};
use norma_oracle::{Fill, Problem};
use norma_sim::bundle::Bundle;
use norma_sim::run::run;
use norma_simulator::Options;

use cases::{ALL, ARGMAX, CROSS_ENTROPY, Case, OPEN_CROSS_ENTROPY};

/// The number of rows of all cases.
const ROWS: i64 = 5;

/// A fault planted between the runs, which must make results wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Every device claims that its shard is the first.
    Offset,
    /// The last device's states replace those of the first.
    Told,
}

impl Case {
    fn source(&self, devices: i64) -> String {
        self.text.replace('$', &devices.to_string())
    }

    fn compiled(&self, devices: i64) -> Bundle {
        compiled(&self.source(devices), Level::Tensor)
    }
}

fn compiled(text: &str, from: Level) -> Bundle {
    let mut outcome = Outcome::default();
    let input = Input {
        name: "sharded.mlir",
        text,
    };
    let options = CompileOptions {
        from,
        ..CompileOptions::new(&SM_90A)
    };
    Bundle::compile(input, &options, &mut outcome)
        .unwrap_or_else(|error| unreachable!("{}{error}\n{text}", outcome.diagnostics))
}

/// The inputs of a case; labels lie at both ends of the row and in between.
fn inputs(case: &Case, whole: &Problem) -> Images {
    let mut inputs = memory::inputs(whole, Fill::Normal, 7);
    let labels = whole.function.inputs.iter();
    for labels in labels.filter(|input| !input.dtype.is_float()) {
        let mut bytes = Vec::new();
        for row in 0..ROWS {
            let label = row * (case.columns - 1) / (ROWS - 1);
            labels.dtype.store(label as u64, &mut bytes);
        }
        inputs.insert(labels.name.clone(), Image::holding(&bytes));
    }
    inputs
}

/// Simulates the runs of `bundle` on all devices of a case and compares with the whole function, as `source` defines it.
fn judged(case: &Case, source: &Bundle, bundle: &Bundle, fault: Fault) -> Verification {
    let sharded = &source.manifest.sharded[0];
    let rows = sharded.whole.inputs[0].shape[0].symbols();
    let sizes = sharded.whole.size_symbols().into_iter().map(|name| {
        let is_rows = rows.contains(&name);
        (name.to_owned(), if is_rows { ROWS } else { case.columns })
    });
    let whole = Problem::new(&sharded.whole, sizes.collect(), BTreeMap::new(), BTreeMap::new()).unwrap();
    let inputs = inputs(case, &whole);
    let problem = ShardedProblem::new(&bundle.manifest, sharded, whole).unwrap();
    let left = problem.run(&inputs, |own, given, _| -> Result<Images, norma_sim::Error> {
        let mut before = given.clone();
        let mut scalars = own.scalars.clone();
        match fault {
            Fault::None => {}
            Fault::Offset => scalars.values_mut().for_each(|offset| *offset = 0.0),
            Fault::Told => {
                let is_told = |name: &str| !sharded.whole.inputs.iter().any(|input| input.name == name);
                for (_, states) in before.iter_mut().filter(|(name, _)| is_told(name)) {
                    let of_one = states.body().len() / sharded.devices;
                    let of_last = states.body().len() - of_one;
                    states.body_mut().copy_within(of_last.., 0);
                }
            }
        }
        let own = Problem::new(own.function, own.sizes.clone(), BTreeMap::new(), scalars)?;
        let ran = run(bundle, &own, &before, &Options::default(), &mut |_| ())?;
        assert!(
            ran.findings.is_empty(),
            "{}: {:?}",
            own.function.name,
            ran.findings
        );
        // The simulator reports kernels that write inputs; the states changed above must not be reported as such.
        let mut images = ran.images;
        images.extend(given.clone());
        Ok(images)
    });
    let sampling = Sampling { rows: 0, seed: 7 };
    problem.verify(&inputs, &left.unwrap(), None, sampling).unwrap()
}

#[test]
fn shards_have_what_the_whole_has() {
    for case in ALL {
        for devices in [2, 4, 8] {
            let bundle = case.compiled(devices);
            assert_eq!(bundle.manifest.functions.len(), case.rounds + 1, "{}", case.text);
            let found = judged(case, &bundle, &bundle, Fault::None);
            assert!(found.passed, "{devices} devices: {found}\n{}", case.text);
            assert!(found.compared() > 0, "nothing was compared\n{}", case.text);
        }
    }
}

#[test]
fn the_manifest_says_which_axes_are_sharded() {
    for case in ALL {
        let bundle = case.compiled(2);
        let expected = case.sharded.iter();
        let expected = expected.map(|(name, axis)| ((*name).to_owned(), *axis)).collect();
        let [sharded] = bundle.manifest.sharded.as_slice() else {
            unreachable!("expected one sharded function\n{}", case.text);
        };
        assert_eq!(sharded.axes, expected, "{}", case.text);
    }
}

#[test]
fn a_device_that_tells_what_another_has_told_is_caught() {
    for case in ALL {
        let bundle = case.compiled(2);
        let found = judged(case, &bundle, &bundle, Fault::Told);
        assert!(!found.passed, "{}", case.text);
    }
}

#[test]
fn coordinates_are_those_of_the_whole() {
    for case in [&CROSS_ENTROPY, &OPEN_CROSS_ENTROPY, &ARGMAX] {
        let bundle = case.compiled(2);
        let found = judged(case, &bundle, &bundle, Fault::Offset);
        assert!(!found.passed, "{}", case.text);
    }
}

/// A kernel that reads the first device's states in place of the second's.
#[test]
fn states_of_the_wrong_device_are_caught() {
    for case in ALL {
        let text = case.source(2);
        let input = Input {
            name: "sharded.mlir",
            text: &text,
        };
        let lowered = compile::lower(
            input,
            Level::Kernel,
            &CompileOptions::new(&SM_90A),
            &mut Outcome::default(),
        );
        let text = String::from_utf8(lowered.unwrap()).unwrap();
        let planted = text.replace("[1, 0, ", "[0, 0, ");
        assert!(planted != text, "nothing was planted in\n{text}");
        let source = case.compiled(2);
        let of_kernels = |text: &str| judged(case, &source, &compiled(text, Level::Kernel), Fault::None);
        assert!(of_kernels(&text).passed);
        assert!(!of_kernels(&planted).passed, "nothing caught it in\n{planted}");
    }
}
