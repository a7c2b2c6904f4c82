//! The tool's messages and exit codes, as far as they need no GPU.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use std::fs;
use std::process::Command;

const MANIFEST: &str = include_str!("../../../bundle/testdata/rms_norm.json");

/// The exit code and the error output of a run on a bundle with this manifest. It asks for a device that no machine has.
fn run(manifest: &str, arguments: &[&str]) -> (i32, String) {
    let bundle = tempfile::tempdir().unwrap();
    fs::write(bundle.path().join("manifest.json"), manifest).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_norma-run"))
        .arg(bundle.path())
        .args(["--device", "4096"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.stdout.is_empty());
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn without_a_gpu_it_says_so_and_exits_3() {
    let (code, error) = run(MANIFEST, &["--size", "m=4"]);
    assert_eq!(code, 3, "{error}");
    assert!(error.starts_with("error: no "), "{error}");
}

#[test]
fn a_bad_command_line_exits_2() {
    for (arguments, part) in [
        (&["--sise", "m=4"][..], "unexpected argument '--sise'"),
        (&["--size", "m"][..], "expected NAME=VALUE, got 'm'"),
        (
            &["--size", "m=four"][..],
            "expected a whole number after 'm=', got 'four'",
        ),
        (&[][..], "leaves size 'm' open: pass --size m=N"),
        (
            &["--size", "m=4", "--size", "m=5"][..],
            "--size m=... is given twice",
        ),
        (
            &["--size", "m=4", "--stride", "x_stride=4097"][..],
            "is a multiple of 8, got 4097",
        ),
        (
            &["--size", "m=4", "--scalar", "epsilon=1"][..],
            "'rms_norm' has scalar eps, got 'epsilon'",
        ),
        (
            &["--size", "m=1000000000000"][..],
            "expected the tensors of 'rms_norm', with the copies that a run makes, to fit in the memory of this machine, got \
             32776000000032768 bytes, for 'x' of 8192000000000000 bytes, ",
        ),
        (
            &["--size", "m=1000000000000", "--time"][..],
            "in the memory of this machine, got 16384000000016384 bytes, for 'x'",
        ),
        (
            &["--size", "m=4", "--report", "/nowhere/page.html"][..],
            "cannot write '/nowhere/page.html': No such file or directory",
        ),
        (
            &["--size", "m=4", "--function", "softmax"][..],
            "no function 'softmax', only rms_norm",
        ),
    ] {
        let (code, error) = run(MANIFEST, arguments);
        assert_eq!(code, 2, "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[test]
fn a_bad_bundle_exits_2() {
    for (manifest, part) in [
        (
            MANIFEST.replace("ceildiv(m, 2)", "ceildiv(m, )"),
            "column 12: expected a number, a name or '('",
        ),
        (
            MANIFEST.replace("\"dtype\": \"bf16\"", "\"dtype\": \"bf17\""),
            "unknown variant `bf17`",
        ),
        (
            MANIFEST.replace("\"manifest_version\": 1", "\"manifest_version\": 3"),
            "is of manifest version 3, and this program reads 1 and 2",
        ),
        (MANIFEST[..400].to_owned(), "is no manifest: EOF"),
    ] {
        let (code, error) = run(&manifest, &["--size", "m=4"]);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(part), "{error}");
    }
}
