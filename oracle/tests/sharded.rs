//! A function sharded over devices: the shards, the exchange and the joined result. Plain loops stand in for kernels.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use std::collections::BTreeMap;

use norma_bundle::Manifest;
use norma_oracle::memory::{self, Image, Images};
use norma_oracle::problem::BindError;
use norma_oracle::sharded::{Left, ShardedProblem};
use norma_oracle::verify::Sampling;
use norma_oracle::{Fill, Problem};

/// `y = x - total`, where `total` is the sum of a row of x, which two devices share by columns.
fn manifest(multiple: u64) -> Manifest {
    let tensor = |name: &str, shape: &str, strides: &str| {
        format!(r#"{{"name": "{name}", "dtype": "f32", "shape": {shape}, "strides": {strides}, "align": 4}}"#)
    };
    let (x, y) = (
        tensor("x", r#"["m", "n"]"#, r#"["n", 1]"#),
        tensor("y", r#"["m", "n"]"#, r#"["n", 1]"#),
    );
    let x_of_run = x.replace(
        r#""align": 4"#,
        &format!(r#""align": 4, "shape_multiples": [1, {multiple}]"#),
    );
    let (total, one, all) = (
        tensor("total", r#"["m"]"#, "[1]"),
        tensor("states0", r#"[1, "m"]"#, r#"["m", 1]"#),
        tensor("states0", r#"[2, 1, "m"]"#, r#"["m", "m", 1]"#),
    );
    let text = format!(
        r#"{{"manifest_version": 1, "producer": "norma", "target": "sm_90a",
            "functions": [{{"name": "f_partial", "inputs": [{x_of_run}], "outputs": [{one}], "kernels": []}},
                          {{"name": "f_rest", "inputs": [{x}, {all}], "outputs": [{y}, {total}], "kernels": []}}],
            "sharded": [{{"whole": {{"name": "f", "inputs": [{x}], "outputs": [{y}, {total}], "kernels": []}},
                          "devices": 2, "runs": ["f_partial", "f_rest"], "axes": {{"x": 1, "y": 1}}}}]}}"#
    );
    let manifest: Manifest = serde_json::from_str(&text).unwrap();
    manifest.validate().unwrap();
    manifest
}

fn shared(manifest: &Manifest, m: i64, n: i64) -> Result<ShardedProblem<'_>, BindError> {
    let sharded = &manifest.sharded[0];
    let sizes = BTreeMap::from([("m".to_owned(), m), ("n".to_owned(), n)]);
    let whole = Problem::new(&sharded.whole, sizes, BTreeMap::new(), BTreeMap::new())?;
    ShardedProblem::new(manifest, sharded, whole)
}

fn numbers(image: &Image) -> Vec<f32> {
    let words = image.body().chunks_exact(4);
    words
        .map(|word| f32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

fn image(numbers: &[f32]) -> Image {
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Image::holding(&bytes)
}

/// One device's run.
fn device(problem: &Problem<'_>, before: &Images) -> Images {
    let (m, n) = (
        problem.layouts["x"].shape[0] as usize,
        problem.layouts["x"].shape[1] as usize,
    );
    let x = numbers(&before["x"]);
    let row = |row: usize| &x[row * n..(row + 1) * n];
    let mut after = before.clone();
    match before.get("states0") {
        None => {
            let sums: Vec<f32> = (0..m).map(|index| row(index).iter().sum()).collect();
            after.insert("states0".to_owned(), image(&sums));
        }
        Some(told) => {
            let told = numbers(told);
            let totals: Vec<f32> = (0..m).map(|index| told[index] + told[m + index]).collect();
            let y = (0..m).flat_map(|index| row(index).iter().map(|x| x - totals[index]).collect::<Vec<_>>());
            after.insert("y".to_owned(), image(&y.collect::<Vec<_>>()));
            after.insert("total".to_owned(), image(&totals));
        }
    }
    after
}

fn run(problem: &ShardedProblem<'_>, spoil: impl Fn(&Problem<'_>, usize, &mut Images)) -> (Images, Left) {
    let inputs = memory::inputs(&problem.whole, Fill::Normal, 3);
    let left = problem.run(&inputs, |own, before, number| {
        let mut after = device(own, before);
        spoil(own, number, &mut after);
        Ok::<_, BindError>(after)
    });
    (inputs, left.unwrap())
}

fn faults(spoil: impl Fn(&Problem<'_>, usize, &mut Images)) -> Vec<String> {
    let manifest = manifest(1);
    let problem = shared(&manifest, 2, 6).unwrap();
    let (inputs, left) = run(&problem, spoil);
    let found = problem.verify(&inputs, &left, None, Sampling { rows: 0, seed: 0 });
    let found = found.unwrap();
    assert_eq!(found.passed, found.of_devices.is_empty());
    found.of_devices
}

#[test]
fn devices_have_together_what_the_whole_has() {
    let manifest = manifest(1);
    // Of 5 columns the first device has 3; of 1 column the second has none.
    for (m, n) in [(3, 6), (3, 5), (2, 1), (0, 4)] {
        let problem = shared(&manifest, m, n).unwrap();
        let (inputs, left) = run(&problem, |_, _, _| ());
        assert_eq!(left.faults, Vec::<String>::new());
        let x = numbers(&inputs["x"]);
        let (y, totals) = (numbers(&left.images["y"]), numbers(&left.images["total"]));
        let columns = n as usize;
        for (index, (x, y)) in x.iter().zip(&y).enumerate() {
            assert_eq!(*y, x - totals[index / columns]);
        }
        assert_eq!((y.len(), totals.len()), (x.len(), m as usize));
        for (index, total) in totals.iter().enumerate() {
            let sum: f32 = x[index * columns..(index + 1) * columns].iter().sum();
            assert!((sum - total).abs() < 1e-5);
        }
    }
}

#[test]
fn what_is_not_sharded_is_the_same_on_all_devices() {
    let found = faults(|own, number, after| {
        if own.function.name == "f_rest" && number == 1 {
            after.insert("total".to_owned(), image(&[0.0, 1.0]));
        }
    });
    assert_eq!(
        found,
        ["'total' has other bits on device 1 than on those before it"]
    );
}

#[test]
fn writes_beside_a_device_s_tensors_are_told() {
    let found = faults(|own, number, after| {
        if own.function.name == "f_partial" && number == 0 {
            after.get_mut("x").unwrap().body_mut()[0] ^= 1;
        }
    });
    assert_eq!(
        found,
        ["'x' was written where it must not be by 'f_partial' on device 0"]
    );
}

#[test]
fn shards_keep_what_kernels_assume_of_their_extents() {
    let manifest = manifest(4);
    let problem = shared(&manifest, 1, 12).unwrap();
    let (_, left) = run(&problem, |own, number, _| {
        let columns = own.layouts["x"].shape[1];
        assert_eq!(columns, if number == 0 { 8 } else { 4 });
    });
    assert_eq!(left.faults, Vec::<String>::new());
    assert_eq!(
        shared(&manifest, 1, 6).unwrap_err().to_string(),
        "expected the extent that the devices of 'f' share to be a multiple of 4, as each shard is, got 6"
    );
}
