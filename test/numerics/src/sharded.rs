//! Functions whose tensors are sharded over devices, against the oracle of the whole function. The runs of all devices are simulated one
//! after another; between them stands what a collective does, which puts the states of all devices one behind the other.

use std::collections::BTreeMap;

use norma_bundle::Expression;
use norma_bundle::manifest::Function;
use norma_compiler::compile::{self, Input, Outcome};
use norma_compiler::target::SM_90A;
use norma_compiler::{CompileOptions, Level};
use norma_oracle::memory::{self, Image};
use norma_oracle::verify::{Run as Ran, Sampling, Verification, verify};
use norma_oracle::{Fill, Problem};
use norma_sim::bundle::Bundle;
use norma_sim::run::run;
use norma_simulator::Options;

/// The rows of all cases.
const ROWS: i64 = 5;

/// A function, and how its tensors lie on devices.
struct Case {
    /// The text, with `$` in the place of the devices of the axis that is sharded.
    text: &'static str,
    /// The tensors that are sharded, each with its axis, also those that the compiler has to find.
    sharded: &'static [(&'static str, usize)],
    /// The extent that devices share.
    columns: i64,
    /// How many rounds there are.
    rounds: usize,
}

const RMS_NORM: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x1024xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %w: tensor<1024xf32> {norm.name = "w"})
    -> (tensor<?x1024xbf16> {norm.name = "y"}, tensor<?xf32> {norm.name = "rstd"}) {
  %y, %rstd = norm.rms_norm %x weight(%w : tensor<1024xf32>) : tensor<?x1024xbf16> -> tensor<?x1024xbf16>, tensor<?xf32>
  return %y, %rstd : tensor<?x1024xbf16>, tensor<?xf32>
}
"#,
    sharded: &[("x", 1), ("w", 0), ("y", 1)],
    columns: 1024,
    rounds: 1,
};

const LAYER_NORM: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x328xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %w: tensor<328xf32> {norm.name = "w"},
             %b: tensor<328xf32> {norm.name = "b"}) -> (tensor<?x328xf32> {norm.name = "y"}) {
  %y = norm.layer_norm %x weight(%w : tensor<328xf32>) bias(%b : tensor<328xf32>) : tensor<?x328xf32> -> tensor<?x328xf32>
  return %y : tensor<?x328xf32>
}
"#,
    sharded: &[("x", 1), ("w", 0), ("b", 0), ("y", 1)],
    columns: 328,
    rounds: 1,
};

const SOFTMAX: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x512xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}) -> (tensor<?x512xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x512xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}
"#,
    sharded: &[("x", 1), ("y", 1)],
    columns: 512,
    rounds: 1,
};

const CROSS_ENTROPY: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x1000xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %labels: tensor<?xi64> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}) {
  %loss = norm.cross_entropy %x labels(%labels : tensor<?xi64>) : tensor<?x1000xbf16> -> tensor<?xf32>
  return %loss : tensor<?xf32>
}
"#,
    sharded: &[("x", 1)],
    columns: 1000,
    rounds: 1,
};

/// A vocabulary that no number of devices divides.
const OPEN_CROSS_ENTROPY: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x?xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %labels: tensor<?xi32> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}) {
  %loss = norm.cross_entropy %x labels(%labels : tensor<?xi32>) : tensor<?x?xf32> -> tensor<?xf32>
  return %loss : tensor<?xf32>
}
"#,
    sharded: &[("x", 1)],
    columns: 1003,
    rounds: 1,
};

/// Rows of any length, whose points are counted.
const OPEN_RMS_NORM: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x?xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %w: tensor<?xf32> {norm.name = "w"})
    -> (tensor<?x?xf32> {norm.name = "y"}) {
  %y = norm.rms_norm %x weight(%w : tensor<?xf32>) : tensor<?x?xf32> -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}
"#,
    sharded: &[("x", 1), ("w", 0), ("y", 1)],
    columns: 77,
    rounds: 1,
};

/// The gradient of the weight is a sum over rows, which every device has.
const RMS_NORM_GRAD: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x512xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %dy: tensor<?x512xbf16> {norm.name = "dy"},
             %w: tensor<512xbf16> {norm.name = "w"}, %rstd: tensor<?xf32> {norm.name = "rstd"})
    -> (tensor<?x512xbf16> {norm.name = "dx"}, tensor<512xf32> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x512xbf16>) weight(%w : tensor<512xbf16>) rstd(%rstd : tensor<?xf32>)
             : tensor<?x512xbf16> -> tensor<?x512xbf16> dweight(tensor<512xf32>)
  return %dx, %dw : tensor<?x512xbf16>, tensor<512xf32>
}
"#,
    sharded: &[("x", 1), ("dy", 1), ("w", 0), ("dx", 1), ("dw", 0)],
    columns: 512,
    rounds: 1,
};

/// The sums that the gradient needs wait for mean and variance, which are computed again.
const LAYER_NORM_GRAD: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x256xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}, %dy: tensor<?x256xf32> {norm.name = "dy"})
    -> (tensor<?x256xf32> {norm.name = "dx"}) {
  %dx = norm.layer_norm_grad %x dy(%dy : tensor<?x256xf32>) : tensor<?x256xf32> -> tensor<?x256xf32>
  return %dx : tensor<?x256xf32>
}
"#,
    sharded: &[("x", 1), ("dy", 1), ("dx", 1)],
    columns: 256,
    rounds: 2,
};

const SOFTMAX_GRAD: Case = Case {
    text: r#"
func.func @f(%y: tensor<?x512xf16> {norm.name = "y", norm.devices = array<i64: 1, $>}, %dy: tensor<?x512xf16> {norm.name = "dy"})
    -> (tensor<?x512xf16> {norm.name = "dx"}) {
  %dx = norm.softmax_grad %y dy(%dy : tensor<?x512xf16>) : tensor<?x512xf16> -> tensor<?x512xf16>
  return %dx : tensor<?x512xf16>
}
"#,
    sharded: &[("y", 1), ("dy", 1), ("dx", 1)],
    columns: 512,
    rounds: 1,
};

/// A tuple by a combiner that is written out, and an integer among its values: the place is that in the whole row.
const ARGMAX: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x640xf32> {norm.name = "x", norm.devices = array<i64: 1, $>}) -> (tensor<?xi64> {norm.name = "place"}) {
  %place = norm.reduce_axes argmax %x : tensor<?x640xf32> -> tensor<?xi64>
  return %place : tensor<?xi64>
}
"#,
    sharded: &[("x", 1)],
    columns: 640,
    rounds: 1,
};

/// Two programs: what the second one reads is sharded because the first one's result is.
const ADDED: Case = Case {
    text: r#"
func.func @f(%x: tensor<?x256xbf16> {norm.name = "x", norm.devices = array<i64: 1, $>}, %r: tensor<?x256xbf16> {norm.name = "r"})
    -> (tensor<?x256xbf16> {norm.name = "h"}, tensor<?x256xbf16> {norm.name = "y"}) {
  %h = arith.addf %x, %r : tensor<?x256xbf16>
  %y = norm.rms_norm %h : tensor<?x256xbf16> -> tensor<?x256xbf16>
  return %h, %y : tensor<?x256xbf16>, tensor<?x256xbf16>
}
"#,
    sharded: &[("x", 1), ("r", 1), ("h", 1), ("y", 1)],
    columns: 256,
    rounds: 1,
};

const CASES: &[&Case] = &[
    &RMS_NORM,
    &LAYER_NORM,
    &SOFTMAX,
    &CROSS_ENTROPY,
    &OPEN_CROSS_ENTROPY,
    &OPEN_RMS_NORM,
    &RMS_NORM_GRAD,
    &LAYER_NORM_GRAD,
    &SOFTMAX_GRAD,
    &ARGMAX,
    &ADDED,
];

/// What is changed between the runs, so that results have to be wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Every device says that its shard is the first.
    Offset,
    /// The last device's states stand in the place of the first one's.
    Told,
}

impl Case {
    fn compiled(&self, devices: i64) -> Bundle {
        compiled(&self.text.replace('$', &devices.to_string()), Level::Tensor)
    }

    /// The whole function on one device.
    fn whole(&self) -> Bundle {
        let text = self.text.replace(", norm.devices = array<i64: 1, $>", "");
        compiled(&text, Level::Tensor)
    }

    /// Where the devices' shards begin, and where the last one ends. Of an extent that the devices do not divide, the first ones have one
    /// more.
    fn borders(&self, devices: i64) -> Vec<i64> {
        let (least, more) = (self.columns / devices, self.columns % devices);
        (0..=devices)
            .map(|device| device * least + device.min(more))
            .collect()
    }

    fn axis(&self, tensor: &str) -> Option<usize> {
        let found = self.sharded.iter().find(|(name, _)| *name == tensor);
        found.map(|(_, axis)| *axis)
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

/// Row-major elements, and their extents.
#[derive(Clone)]
struct Elements {
    shape: Vec<i64>,
    bytes: Vec<u8>,
}

impl Elements {
    /// How many times an axis is passed over, and the bytes of one step along it.
    fn around(&self, axis: usize) -> (usize, usize) {
        let outer = self.shape[..axis].iter().product::<i64>() as usize;
        (outer, self.bytes.len() / (outer * self.shape[axis] as usize))
    }

    /// The part from one point of an axis to another.
    fn part(&self, axis: usize, from: i64, to: i64) -> Self {
        let (outer, step) = self.around(axis);
        let row = step * self.shape[axis] as usize;
        let rows = (0..outer).flat_map(|index| {
            self.bytes[index * row + from as usize * step..index * row + to as usize * step].to_vec()
        });
        let bytes = rows.collect();
        let mut shape = self.shape.clone();
        shape[axis] = to - from;
        Self { shape, bytes }
    }

    /// The parts one behind the other along an axis.
    fn joined(parts: &[Self], axis: usize) -> Self {
        let mut shape = parts[0].shape.clone();
        shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
        let outer = parts[0].around(axis).0;
        let mut bytes = Vec::new();
        for index in 0..outer {
            for part in parts {
                let row = part.bytes.len() / outer;
                bytes.extend(&part.bytes[index * row..(index + 1) * row]);
            }
        }
        Self { shape, bytes }
    }

    /// The parts one behind the other along a new first axis, as a collective gathers them.
    fn gathered(parts: &[Self]) -> Self {
        let of_one = |part: &Self| Self {
            shape: [&[1], &part.shape[..]].concat(),
            bytes: part.bytes.clone(),
        };
        Self::joined(&parts.iter().map(of_one).collect::<Vec<_>>(), 0)
    }
}

/// Runs a function of one device, and gives its results.
fn launched(
    bundle: &Bundle,
    function: &Function,
    inputs: &BTreeMap<&str, Elements>,
    offset: i64,
) -> BTreeMap<String, Elements> {
    let mut sizes = BTreeMap::new();
    for input in &function.inputs {
        for (extent, size) in input.shape.iter().zip(&inputs[input.name.as_str()].shape) {
            if let Expression::Symbol(name) = extent {
                sizes.insert(name.clone(), *size);
            }
        }
    }
    let scalars = function.named_scalars().into_iter();
    let scalars = scalars
        .map(|(name, ..)| (name.to_owned(), offset as f64))
        .collect();
    let problem = Problem::new(function, sizes, BTreeMap::new(), scalars).unwrap();
    let images = inputs.iter();
    let images = images.map(|(name, elements)| ((*name).to_owned(), Image::holding(&elements.bytes)));
    let ran = run(
        bundle,
        &problem,
        &images.collect(),
        &Options::default(),
        &mut |_| (),
    )
    .unwrap();
    assert!(ran.findings.is_empty(), "{}: {:?}", function.name, ran.findings);
    let outputs = function.outputs.iter().map(|output| {
        let elements = Elements {
            shape: problem.layouts[&output.name].shape.clone(),
            bytes: ran.images[&output.name].body().to_vec(),
        };
        (output.name.clone(), elements)
    });
    outputs.collect()
}

/// Runs a case on so many devices, and compares with the whole function.
fn judged(case: &Case, bundle: &Bundle, devices: i64, fault: Fault) -> Verification {
    let whole = case.whole();
    let function = whole.manifest.function(Some("f")).unwrap();
    let rows = function.inputs[0].shape[0].symbols();
    let sizes = function.size_symbols().into_iter().map(|name| {
        let is_rows = rows.contains(&name);
        (name.to_owned(), if is_rows { ROWS } else { case.columns })
    });
    let problem = Problem::new(function, sizes.collect(), BTreeMap::new(), BTreeMap::new()).unwrap();
    let mut before = memory::inputs(&problem, Fill::Normal, 7);
    for labels in function.inputs.iter().filter(|input| !input.dtype.is_float()) {
        // One in each shard, and both ends of the row.
        let mut bytes = Vec::new();
        for row in 0..ROWS {
            let label = row * (case.columns - 1) / (ROWS - 1);
            labels.dtype.store(label as u64, &mut bytes);
        }
        before.insert(labels.name.clone(), Image::holding(&bytes));
    }
    let borders = case.borders(devices);
    let shard = |name: &str, device: usize| {
        let elements = Elements {
            shape: problem.layouts[name].shape.clone(),
            bytes: before[name].body().to_vec(),
        };
        match case.axis(name) {
            Some(axis) => elements.part(axis, borders[device], borders[device + 1]),
            None => elements,
        }
    };
    let mut told = BTreeMap::<String, Elements>::new();
    let mut after = before.clone();
    for run in &bundle.manifest.functions {
        let results = (0..devices as usize).map(|device| {
            let inputs = run.inputs.iter().map(|input| {
                let elements = told.get(&input.name).cloned();
                (
                    input.name.as_str(),
                    elements.unwrap_or_else(|| shard(&input.name, device)),
                )
            });
            let offset = if fault == Fault::Offset {
                0
            } else {
                borders[device]
            };
            launched(bundle, run, &inputs.collect(), offset)
        });
        let results = results.collect::<Vec<_>>();
        for output in &run.outputs {
            let mut parts = results
                .iter()
                .map(|result| result[&output.name].clone())
                .collect::<Vec<_>>();
            if !problem.layouts.contains_key(&output.name) {
                if fault == Fault::Told {
                    parts[0] = parts[devices as usize - 1].clone();
                }
                told.insert(output.name.clone(), Elements::gathered(&parts));
                continue;
            }
            let elements = match case.axis(&output.name) {
                Some(axis) => Elements::joined(&parts, axis),
                None => {
                    let is_same = |part: &Elements| part.bytes == parts[0].bytes;
                    assert!(parts.iter().all(is_same), "devices differ in '{}'", output.name);
                    parts.swap_remove(0)
                }
            };
            after.insert(output.name.clone(), Image::holding(&elements.bytes));
        }
    }
    let ran = Ran {
        before: &before,
        after: &after,
        again: None,
        workspaces: &BTreeMap::new(),
    };
    verify(&problem, ran, Sampling { rows: 0, seed: 7 }).unwrap()
}

#[test]
fn shards_have_what_the_whole_has() {
    for case in CASES {
        for devices in [2, 4, 8] {
            let bundle = case.compiled(devices);
            assert_eq!(bundle.manifest.functions.len(), case.rounds + 1, "{}", case.text);
            let found = judged(case, &bundle, devices, Fault::None);
            assert!(found.passed, "{devices} devices: {found}\n{}", case.text);
        }
    }
}

#[test]
fn a_device_that_tells_what_another_has_told_is_caught() {
    for case in CASES {
        let found = judged(case, &case.compiled(2), 2, Fault::Told);
        assert!(!found.passed, "{}", case.text);
    }
}

#[test]
fn coordinates_are_those_of_the_whole() {
    for case in [&CROSS_ENTROPY, &OPEN_CROSS_ENTROPY, &ARGMAX] {
        let found = judged(case, &case.compiled(2), 2, Fault::Offset);
        assert!(!found.passed, "{}", case.text);
    }
}

/// A kernel that takes the first device's states for the second one's.
#[test]
fn states_of_the_wrong_device_are_caught() {
    for case in CASES {
        let text = case.text.replace('$', "2");
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
        assert!(judged(case, &compiled(&text, Level::Kernel), 2, Fault::None).passed);
        let found = judged(case, &compiled(&planted, Level::Kernel), 2, Fault::None);
        assert!(!found.passed, "nothing caught it in\n{planted}");
    }
}
