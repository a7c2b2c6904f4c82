//! A run is judged from its memory: the steps of a caller that runs kernels, with plain loops in place of the kernels.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use std::collections::BTreeMap;

use norma_bundle::{Element, Manifest};
use norma_oracle::memory::{self, GUARD, Image, Images};
use norma_oracle::verify::{Run, Sampling};
use norma_oracle::{Fill, Problem, Verification, verify};

const ALL: Sampling = Sampling { rows: 0, seed: 0 };
const N: usize = 4096;

fn manifest() -> Manifest {
    serde_json::from_str(include_str!("../../bundle/testdata/rms_norm.json")).unwrap()
}

fn problem(manifest: &Manifest, x_stride: i64) -> Problem<'_> {
    let sizes = BTreeMap::from([("m".to_owned(), 3)]);
    let strides = BTreeMap::from([("x_stride".to_owned(), x_stride)]);
    Problem::new(&manifest.functions[0], sizes, strides, BTreeMap::new()).unwrap()
}

/// The manifest with its definition as a named op.
fn named() -> Manifest {
    let mut manifest = manifest();
    let definition = r#"{"statements": [{"kind": "named", "op": "rms_norm", "operands": {"x": "x", "weight": "w"},
        "results": {"y": "y", "rstd": "rstd"}, "attributes": {"axes": [-1], "eps": 1e-6, "weight_offset": 0.0}}]}"#;
    manifest.functions[0].definition = Some(serde_json::from_str(definition).unwrap());
    manifest
}

/// The constants of RMSNorm that a wrong decomposition would get wrong.
#[derive(Clone, Copy)]
struct Constants {
    /// The divisor of the sum of squares.
    count: f32,
    eps: f32,
    weight_offset: f32,
}

const RIGHT: Constants = Constants {
    count: N as f32,
    eps: 1e-6,
    weight_offset: 0.0,
};

/// RMSNorm in f32, as a kernel would: rows of `x` lie `x_stride` apart.
fn run_kernel(problem: &Problem<'_>, memory: &mut Images, constants: Constants) {
    let stride = problem.layouts["x"].strides[0] as usize;
    let load = |memory: &Images, tensor: &str, element: Element, at: usize| {
        element.decode_float(element.load(memory[tensor].body(), at).unwrap()) as f32
    };
    for row in 0..3 {
        let x: Vec<f32> = (0..N)
            .map(|column| load(memory, "x", Element::BF16, row * stride + column))
            .collect();
        let squares: Vec<f32> = x.iter().map(|x| x * x).collect();
        let mean_square = tree_sum(&squares) / constants.count;
        let rstd = 1.0 / (mean_square + constants.eps).sqrt();
        store(memory, "rstd", Element::F32, row, f64::from(rstd));
        for (column, x) in x.into_iter().enumerate() {
            let w = load(memory, "w", Element::F32, column);
            store(
                memory,
                "y",
                Element::BF16,
                row * N + column,
                f64::from(x * rstd * (w + constants.weight_offset)),
            );
        }
    }
}

/// Sums 16 terms sequentially, as a thread does, and these sums as a tree: a wholly sequential sum of a row is beyond the
/// tolerance.
fn tree_sum(terms: &[f32]) -> f32 {
    if terms.len() <= 16 {
        return terms.iter().sum();
    }
    let (low, high) = terms.split_at(terms.len() / 2);
    tree_sum(low) + tree_sum(high)
}

fn store(memory: &mut Images, tensor: &str, element: Element, at: usize, value: f64) {
    let pattern = element.encode_float(value).to_le_bytes();
    let size = element.bytes();
    memory.get_mut(tensor).unwrap().body_mut()[at * size..][..size].copy_from_slice(&pattern[..size]);
}

/// Judges a right run after `spoil` has changed its memory.
fn judge(x_stride: i64, fill: Fill, spoil: impl FnOnce(&mut Images)) -> Verification {
    let manifest = manifest();
    let problem = problem(&manifest, x_stride);
    let before = memory::inputs(&problem, fill, 1);
    let mut after = before.clone();
    after.extend(memory::outputs(&problem));
    run_kernel(&problem, &mut after, RIGHT);
    spoil(&mut after);
    let run = Run {
        before: &before,
        after: &after,
        again: None,
        workspaces: &BTreeMap::new(),
    };
    verify(&problem, run, ALL).unwrap()
}

fn written_at(image: &Image, at: usize) -> Image {
    let mut bytes = image.bytes().to_vec();
    bytes[at] = 0;
    Image::from_bytes(bytes).unwrap()
}

#[test]
fn right_results_pass() {
    for fill in Fill::GENERAL {
        for x_stride in [4096, 5000] {
            let found = judge(x_stride, fill, |_| {});
            assert!(found.passed, "{fill:?} {x_stride}: {found}");
            assert_eq!(
                found.outputs.iter().map(|output| output.checked).sum::<u64>(),
                3 * 4097
            );
        }
    }
}

/// How many elements of y and rstd are wrong by the named op's definition.
fn wrong(constants: Constants, fill: Fill) -> [u64; 2] {
    let manifest = named();
    let problem = problem(&manifest, 4096);
    let before = memory::inputs(&problem, fill, 2);
    let mut after = before.clone();
    after.extend(memory::outputs(&problem));
    run_kernel(&problem, &mut after, constants);
    let run = Run {
        before: &before,
        after: &after,
        again: None,
        workspaces: &BTreeMap::new(),
    };
    let found = verify(&problem, run, ALL).unwrap();
    ["y", "rstd"].map(|name| {
        let output = found.outputs.iter().find(|output| output.tensor == name);
        output.unwrap().wrong
    })
}

#[test]
fn faults_of_a_decomposition_are_found_even_in_bf16() {
    for fill in Fill::GENERAL {
        assert_eq!(wrong(RIGHT, fill), [0, 0], "{fill:?}");
    }
    let off_by_one = Constants {
        count: (N - 1) as f32,
        ..RIGHT
    };
    let other_eps = Constants { eps: 1.1e-6, ..RIGHT };
    let offset = Constants {
        weight_offset: 1e-3,
        ..RIGHT
    };
    for (fault, fill) in [
        (off_by_one, Fill::Normal),
        (other_eps, Fill::Small),
        (offset, Fill::Normal),
    ] {
        assert!(wrong(fault, fill)[0] > 0);
    }
    assert_eq!(wrong(off_by_one, Fill::Normal)[1], 3);
    assert_eq!(wrong(other_eps, Fill::Small)[1], 3);
}

#[test]
fn a_wrong_element_is_found_and_named() {
    let found = judge(4096, Fill::Normal, |memory| {
        store(memory, "y", Element::BF16, 2 * N + 17, 100.0);
    });
    let wrong = found.outputs.iter().find(|output| output.tensor == "y").unwrap();
    assert!(!found.passed);
    assert_eq!(
        (wrong.wrong, wrong.worst.as_ref().unwrap().at.as_slice()),
        (1, &[2, 17][..])
    );
}

#[test]
fn writes_astray_and_missing_are_told_apart() {
    let found = judge(5000, Fill::Normal, |memory| {
        let guard = written_at(&memory["y"], GUARD - 1);
        let hole = written_at(&memory["x"], GUARD + 2 * 4099);
        memory.insert("y".into(), guard);
        memory.insert("x".into(), hole);
        memory.insert("rstd".into(), Image::poisoned(12));
    });
    assert_eq!(found.stray_writes, ["x", "y"]);
    assert_eq!(found.unwritten, ["rstd"]);
    assert!(!found.passed);
}

/// A function that quantizes 4 rows of 2 blocks, whose scales are in a tile of 128 by 4 with padding.
fn tiled() -> Manifest {
    let mut manifest = manifest();
    let function = &mut manifest.functions[0];
    let tensor = |name: &str, dtype: &str, shape: &[i64]| {
        let strides = (0..shape.len()).map(|axis| shape[axis + 1..].iter().product::<i64>());
        let strides = strides.collect::<Vec<_>>();
        let text = format!(
            "{{\"name\": \"{name}\", \"dtype\": \"{dtype}\", \"shape\": {shape:?}, \"strides\": {strides:?}, \"align\": 16}}"
        );
        serde_json::from_str(&text).unwrap()
    };
    function.inputs = vec![tensor("x", "f32", &[4, 64])];
    function.outputs = vec![
        tensor("q", "i8", &[4, 64]),
        tensor("scale", "i8", &[1, 1, 32, 4, 4]),
    ];
    function.kernels.clear();
    let definition = r#"{"statements": [{"kind": "named", "op": "quantize", "operands": {"x": "x"},
        "results": {"q": "q", "scale": "scale"},
        "attributes": {"block": [1, 32], "scale_layout": "swizzled_128x4"}}]}"#;
    function.definition = Some(serde_json::from_str(definition).unwrap());
    manifest
}

#[test]
fn padding_that_is_written_is_astray() {
    let manifest = tiled();
    let problem = Problem::new(
        &manifest.functions[0],
        BTreeMap::new(),
        BTreeMap::new(),
        BTreeMap::new(),
    )
    .unwrap();
    let before = memory::inputs(&problem, Fill::Ones, 1);
    let judge = |spoil: &dyn Fn(&mut [u8])| {
        let mut after = before.clone();
        after.extend(memory::outputs(&problem));
        after.get_mut("q").unwrap().body_mut().fill(64);
        let scales = after.get_mut("scale").unwrap().body_mut();
        for row in 0..4 {
            // 2^-6 is the least power of two that brings 1 within 127.
            scales[row * 16..][..2].fill(127 - 6);
        }
        spoil(scales);
        let run = Run {
            before: &before,
            after: &after,
            again: None,
            workspaces: &BTreeMap::new(),
        };
        verify(&problem, run, ALL).unwrap()
    };
    let right = judge(&|_| {});
    assert!(right.passed, "{right}");
    assert_eq!(right.compared(), 4 * 64 + 8);
    // A row, and a column, that no block has.
    for place in [4 * 16, 2] {
        let found = judge(&|scales| scales[place] = 0);
        assert_eq!(found.stray_writes, ["scale"]);
        assert!(!found.passed);
    }
    let found = judge(&|scales| scales[16] = 0);
    assert!(found.stray_writes.is_empty() && !found.passed);
}

#[test]
fn runs_that_differ_and_workspaces_left_dirty_are_found() {
    let manifest = manifest();
    let problem = problem(&manifest, 4096);
    let before = memory::inputs(&problem, Fill::Normal, 1);
    let mut after = before.clone();
    after.extend(memory::outputs(&problem));
    run_kernel(&problem, &mut after, RIGHT);
    let mut again = after.clone();
    store(&mut again, "y", Element::BF16, 0, -7.0);
    let workspaces = BTreeMap::from([
        ("counter".to_owned(), vec![0, 1]),
        ("partials".to_owned(), vec![0]),
    ]);
    let run = Run {
        before: &before,
        after: &after,
        again: Some(&again),
        workspaces: &workspaces,
    };
    let found = verify(&problem, run, ALL).unwrap();
    assert!(!found.deterministic && !found.passed);
    assert_eq!(found.dirty_workspaces, ["counter"]);
}

#[test]
fn memory_that_is_missing_is_named() {
    let manifest = manifest();
    let problem = problem(&manifest, 4096);
    let before = memory::inputs(&problem, Fill::Ones, 1);
    let run = Run {
        before: &before,
        after: &before,
        again: None,
        workspaces: &BTreeMap::new(),
    };
    let error = verify(&problem, run, ALL).unwrap_err();
    assert!(error.to_string().contains("'y'"), "{error}");
}
