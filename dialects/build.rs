//! Builds the dialects: runs mlir-tblgen on each folder's ODS, writes the Rust views, and compiles the C++.
//!
//! README.md says what a dialect folder holds and which files come of it.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

/// The dialects' folders; `norm` holds `NormOps.td`.
const DIALECTS: &[&str] = &["norm", "gl"];

/// The folder of hand-written C++ that C or Rust calls.
const CAPI: &str = "capi";

/// Where Debian's and Ubuntu's packages install LLVM 22.
const DEFAULT_PREFIX: &str = "/usr/lib/llvm-22";

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Where things are.
struct Paths {
    /// This crate.
    source: PathBuf,
    /// Cargo's build directory for it.
    out: PathBuf,
    /// LLVM's prefix.
    llvm: PathBuf,
}

fn main() -> Result<()> {
    let paths = Paths {
        source: PathBuf::from(env::var("CARGO_MANIFEST_DIR")?),
        out: PathBuf::from(env::var("OUT_DIR")?),
        llvm: PathBuf::from(env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| DEFAULT_PREFIX.to_owned())),
    };
    println!("cargo:rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    // Only sources are watched: a generated file is newer than the run that wrote it, so each build would be a rebuild.
    for folder in DIALECTS.iter().chain(&[CAPI]) {
        println!("cargo:rerun-if-changed={}", paths.source.join(folder).display());
    }

    let generated = thread::scope(|scope| {
        let threads: Vec<_> = DIALECTS
            .iter()
            .map(|name| scope.spawn(|| generate(&paths, name)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a code generator panicked")?)
            .collect::<Result<Vec<_>>>()
    })?;

    let mut cpp = generated;
    for folder in DIALECTS.iter().chain(&[CAPI]) {
        cpp.extend(files(&paths.source.join(folder), "cpp")?);
    }
    if !is_clippy() {
        compile(&paths, &cpp);
    }
    Ok(())
}

/// Whether this is a build for clippy, whose outputs Cargo keeps apart. It links nothing, so the C++ would be
/// compiled for nothing.
fn is_clippy() -> bool {
    env::var_os("RUSTC_WORKSPACE_WRAPPER").is_some_and(|wrapper| wrapper.to_string_lossy().contains("clippy"))
}

/// Runs every generator for the dialect `name`; returns the C++ file of its C API.
fn generate(paths: &Paths, name: &str) -> Result<PathBuf> {
    let class = pascal(name);
    let folder = paths.source.join(name);
    let out = paths.out.join(name);
    fs::create_dir_all(&out)?;

    let ops = folder.join(format!("{class}Ops.td"));
    let of_dialect = format!("-dialect={name}");
    let of_attrs = format!("-attrdefs-dialect={name}");
    let of_types = format!("-typedefs-dialect={name}");
    let mut jobs = vec![
        ("Dialect", "dialect", vec![of_dialect.as_str()], &ops),
        ("Enums", "enum", vec![], &ops),
        ("Attrs", "attrdef", vec![of_attrs.as_str()], &ops),
        ("Types", "typedef", vec![of_types.as_str()], &ops),
        ("Ops", "op", vec![of_dialect.as_str()], &ops),
    ];
    let interfaces = folder.join(format!("{class}Interfaces.td"));
    if interfaces.exists() {
        jobs.push(("AttrInterfaces", "attr-interface", vec![], &interfaces));
        jobs.push(("TypeInterfaces", "type-interface", vec![], &interfaces));
        jobs.push(("OpInterfaces", "op-interface", vec![], &interfaces));
    }
    for (file, generator, options, input) in jobs {
        for (side, extension) in [("decls", "h"), ("defs", "cpp")] {
            let output = out.join(format!("{class}{file}.{extension}.inc"));
            let mut command = tool(paths, "mlir-tblgen", input);
            // --write-if-changed keeps the times of unchanged files, so that only what changed is compiled again.
            command
                .arg(format!("-gen-{generator}-{side}"))
                .args(&options)
                .arg("--write-if-changed")
                .arg("-o")
                .arg(output);
            run(command)?;
        }
    }

    let mut dump = tool(paths, "llvm-tblgen", &ops);
    dump.arg("--dump-json");
    let records = serde_json::from_slice(&run(dump)?)?;
    let declarations = fs::read_to_string(out.join(format!("{class}Ops.h.inc")))?;
    let generated = norma_dialects_codegen::generate(name, &records, &declarations)?;
    fs::write(paths.out.join(format!("{name}.rs")), generated.rust)?;
    let cpp = out.join(format!("{class}CAPI.cpp"));
    fs::write(&cpp, generated.cpp)?;
    Ok(cpp)
}

/// A TableGen tool on `input`, finding ODS from this crate and from LLVM's headers.
fn tool(paths: &Paths, name: &str, input: &Path) -> Command {
    let mut command = Command::new(paths.llvm.join("bin").join(name));
    command
        .arg("-I")
        .arg(&paths.source)
        .arg("-I")
        .arg(paths.llvm.join("include"))
        .arg(input);
    command
}

/// Runs a command to its end; its standard output, or an error with what it said.
fn run(mut command: Command) -> Result<Vec<u8>> {
    let output = command
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    if !output.status.success() {
        return Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(output.stdout)
}

/// Compiles the C++ into a static library, which Cargo links before mlir-sys's archives.
fn compile(paths: &Paths, sources: &[PathBuf]) {
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-fno-exceptions")
        // Debug information of MLIR's headers is half of the time and most of the objects; CXXFLAGS=-g asks for it.
        .debug(false)
        .include(&paths.source)
        .include(&paths.out)
        .flag("-isystem")
        .flag(paths.llvm.join("include").display().to_string())
        .warnings(true)
        .flag_if_supported("-Wno-unused-parameter")
        .files(sources)
        .compile("norma_dialects");
}

/// The files in `folder` with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// `norm` as `Norm`.
fn pascal(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase())
        .into_iter()
        .chain(letters)
        .collect()
}
