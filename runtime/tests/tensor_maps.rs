//! Tensor maps among the parameters of a launch: encoded from the sizes of a call, and refused if these are no sizes.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod fixture;

use std::borrow::Cow;

use fixture::{X, device, launch, launches, stream};
use norma_runtime::{Bundle, Files, Function};
use serde_json::json;

/// PTX of a kernel that takes a tensor map.
const PTX: &str = "\
//
.visible .entry scale_0(
\t.param .align 64 .b8 scale_0_param_0[128]
)
{
\tret;
}
";

/// `scale` with a tensor map of x as its only parameter; it runs by PTX.
fn mapped(rows: &str, stride: &str) -> Function {
    let text = include_str!("../../bundle/testdata/scale.json").replace("sm_90a", "sm_80");
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let kernel = &mut manifest["functions"][0]["kernels"][0];
    kernel["ptx"] = "scale_0.sm_80.ptx".into();
    kernel["args"] = json!([{
        "kind": "tensor_map",
        "tensor": "x",
        "type": "f32",
        "dims": [64, rows],
        "strides_bytes": [stride],
        "box": [64, 1],
    }]);
    let files = [
        ("manifest.json", Cow::Owned(manifest.to_string().into_bytes())),
        ("scale_0.sm_80.ptx", Cow::Borrowed(PTX.as_bytes())),
    ];
    let files: Files = files.map(|(name, bytes)| (name.to_owned(), bytes)).into();
    let mut bundle = Bundle::from_files(files).unwrap();
    bundle.allow_ptx(true);
    Function::load(&bundle, &device(0), "scale").unwrap()
}

#[test]
fn a_map_has_the_sizes_of_the_call() {
    let stream = stream();
    launch(&mapped("m - 8", "m*256"), 20, stream.handle()).unwrap();
    let launched = launches(&stream);
    let words: Vec<u64> = launched[0].parameters[0]
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    // The stand-in stores the address, then a word of small numbers, then the extents, and the strides from word 7 on.
    assert_eq!((words[0], &words[2..4], words[7]), (X, &[64, 12][..], 20 * 256));
}

#[test]
fn negative_extents_and_strides_are_refused() {
    for (function, expected) in [
        (
            mapped("m - 8", "m*256"),
            "expected the extents of a tensor map of 'x' to be at least 0, got -5",
        ),
        (
            mapped("m", "(m - 8)*256"),
            "expected the strides of a tensor map of 'x' to be at least 0, got -1280",
        ),
    ] {
        let stream = stream();
        let error = launch(&function, 3, stream.handle()).unwrap_err().to_string();
        assert_eq!(error, format!("cannot launch 'scale': {expected}"));
        assert!(launches(&stream).is_empty());
    }
}
