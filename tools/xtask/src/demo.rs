//! `cargo xtask demo`: compiles an example from source text to a bundle, and shows the result.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::child;
use crate::failure::Failure;
use crate::{setup, workspace};

const INPUT: &str = "examples/rms_norm.mlir";
const TARGET: &str = "sm_90a";
const OUTPUT: &str = "target/demo";

/// Sets up, builds normac, compiles the example and prints its kernels.
///
/// # Errors
/// If one of these steps fails, or the bundle is not as expected.
pub fn run(options: &setup::Options) -> Result<(), Failure> {
    let setup = setup::run(options)?;
    eprintln!("demo: building normac and norma-run (the first time, a few minutes)");
    child::run(
        setup
            .cargo()
            .args(["build", "--package", "normac", "--package", "norma-run"]),
    )?;

    let root = workspace::root();
    let built = workspace::built_programs()?;
    let mut compile = Command::new(built.join("normac"));
    compile
        .current_dir(&root)
        .args([INPUT, "--target", TARGET, "-o", OUTPUT]);
    setup.prepare(&mut compile);
    eprintln!("demo: normac {INPUT} --target {TARGET} -o {OUTPUT}");
    child::run(&mut compile)?;

    let bundle = root.join(OUTPUT);
    let path = bundle.join("manifest.json");
    let text = fs::read_to_string(&path).map_err(Failure::file("read", &path))?;
    let manifest: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Check(format!("{} is not JSON: {error}", path.display())))?;
    print!("{}", describe(&manifest, &bundle));
    print!("{}", next_steps(built.strip_prefix(&root).unwrap_or(&built)));
    Ok(())
}

/// Suggests what a newcomer may do with the demo's output.
fn next_steps(built: &Path) -> String {
    let built = built.display();
    format!(
        "\nnext, from the repository's root:\n\
         \u{20} {built}/normac {INPUT} --emit=kernel\n\
         \u{20}     shows the kernel before any schedule; other levels are gl, nvvm and ptx\n\
         \u{20} {built}/norma-run {OUTPUT} --size m=16384 --verify --time\n\
         \u{20}     checks and times it, on a machine with a GPU\n\
         \n\
         {OUTPUT}/manifest.json says how to launch the kernel; README.md, \"A kernel of your own\", how to write one\n"
    )
}

/// Describes each kernel. A field that is absent shows as `?`: the manifest's format is normac's concern.
fn describe(manifest: &Value, bundle: &Path) -> String {
    let mut text = String::new();
    for function in list(&manifest["functions"]) {
        for kernel in list(&function["kernels"]) {
            let field = |name: &str| plain(&kernel[name]);
            let shape = |name: &str| {
                list(&kernel[name])
                    .iter()
                    .map(plain)
                    .collect::<Vec<_>>()
                    .join(" x ")
            };
            let cubin = bundle.join(field("cubin"));
            let size = fs::metadata(&cubin)
                .map_or_else(|error| error.to_string(), |data| format!("{} bytes", data.len()));
            let rows = [
                ("schedule", field("schedule")),
                (
                    "launch",
                    format!(
                        "grid {}, block {}, cluster {}",
                        shape("grid"),
                        shape("block"),
                        shape("cluster")
                    ),
                ),
                (
                    "registers",
                    format!(
                        "{} a thread, {} bytes spilled",
                        field("registers"),
                        field("spill_bytes")
                    ),
                ),
                (
                    "shared",
                    format!(
                        "{} bytes static, {} dynamic",
                        field("static_shared_bytes"),
                        field("shared_bytes")
                    ),
                ),
                (
                    "bytes",
                    format!("reads {}, writes {}", field("bytes_read"), field("bytes_written")),
                ),
                ("cubin", format!("{} ({size})", cubin.display())),
            ];
            let _ = writeln!(text, "\n{} for {}", field("symbol"), field("target"));
            for (name, value) in rows {
                let _ = writeln!(text, "  {name:<10} {value}");
            }
        }
    }
    text
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "?".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kernel_shows_schedule_registers_spills_bytes_and_cubin() {
        let bundle = tempfile::tempdir().unwrap();
        fs::write(bundle.path().join("k.cubin"), "1234").unwrap();
        let kernel = json!({"symbol": "k", "target": "sm_90a", "cubin": "k.cubin", "schedule": "#norm.schedule<spread = [[grid], [lane(32)]]>",
            "grid": ["ceildiv(m, 2)", 1, 1], "block": [256, 1, 1], "cluster": [1, 1, 1], "registers": 40,
            "spill_bytes": 0, "static_shared_bytes": 32, "shared_bytes": 0, "bytes_read": "m*8192 + 8192",
            "bytes_written": "m*8192"});
        let text = describe(&json!({"functions": [{"kernels": [kernel]}]}), bundle.path());
        for expected in [
            "k for sm_90a",
            "#norm.schedule<spread = [[grid], [lane(32)]]>",
            "grid ceildiv(m, 2) x 1 x 1, block 256 x 1 x 1",
            "40 a thread, 0 bytes spilled",
            "reads m*8192 + 8192, writes m*8192",
            "k.cubin (4 bytes)",
        ] {
            assert!(text.contains(expected), "{expected} in {text}");
        }
    }
}
