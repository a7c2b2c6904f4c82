//! What is generated compiles, whatever the names in a bundle.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use std::fs;
use std::path::Path;
use std::process::Command;

use norma_bindings::{Language, Package, TargetBundle, Visibility, cpp_header, header, rust_module, source};
use norma_bundle::Manifest;
use norma_bundle::manifest::{Argument, Function};

/// The functions of a bundle: variations of `scale`, named as given, whose tensors x and y and scalar s are renamed.
fn package(functions: &[(&str, [&str; 3])]) -> Package {
    package_for(Language::C, functions)
}

fn package_for(language: Language, functions: &[(&str, [&str; 3])]) -> Package {
    let text = include_str!("../../bundle/testdata/scale.json");
    let mut manifest: Manifest = serde_json::from_str(text).unwrap();
    let mut scale = manifest.functions.remove(0);
    let ptx = "scale_0.ptx".to_owned();
    scale.kernels[0].ptx = Some(ptx.clone());
    let cubin = scale.kernels[0].cubin.clone();
    let renamed = functions.iter().map(|(name, names)| renamed(&scale, name, names));
    manifest.functions = renamed.collect();
    let cubins = [(cubin, b"\x7fELF".to_vec())].into();
    let ptx = [(ptx, ".version 8.0".to_owned())].into();
    let bundle = TargetBundle {
        manifest,
        cubins,
        ptx,
    };
    Package::new(&[bundle], language).unwrap()
}

fn renamed(scale: &Function, name: &str, [x, y, s]: &[&str; 3]) -> Function {
    let mut function = scale.clone();
    function.name = name.to_owned();
    function.inputs[0].name = (*x).to_owned();
    function.outputs[0].name = (*y).to_owned();
    for argument in &mut function.kernels[0].args {
        match argument {
            Argument::Pointer { tensor } if tensor == "x" => *tensor = (*x).to_owned(),
            Argument::Pointer { tensor } => *tensor = (*y).to_owned(),
            Argument::Scalar { name: Some(name), .. } => *name = (*s).to_owned(),
            _ => {}
        }
    }
    function
}

/// A compiler that finds the runtime's headers, and takes each warning for an error.
fn compiler(name: &str, standard: &str) -> Command {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/include");
    let mut command = Command::new(name);
    command
        .args([standard, "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(runtime);
    command
}

fn compile(name: &str, standard: &str, file: &Path) {
    let output = compiler(name, standard)
        .arg("-fsyntax-only")
        .arg(file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn assert_compiles(package: &Package) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    for visibility in Visibility::ALL {
        let text = source(package, visibility);
        compile("cc", "-std=c11", &write("kernels.c", &text));
    }
    write("kernels.h", &header(package));
    let hpp = cpp_header(package, "kernels.h");
    write("kernels.hpp", &hpp);
    compile(
        "c++",
        "-std=c++17",
        &write("main.cpp", "#include \"kernels.hpp\"\n"),
    );
}

/// What the generated Rust uses of the runtime.
const RUNTIME_IN_RUST: &str = "\
pub struct Tensor<'t>(pub &'t ());
pub struct StreamHandle;
pub struct Error;
pub enum Scalar { Float(f64), Integer(i64) }
pub struct Embedded;
pub struct Function;
impl Embedded {
    pub const fn new(_: &'static str, _: &'static [(&'static str, &'static [u8])]) -> Self { Embedded }
    pub unsafe fn launch(&self, _: &[&Tensor<'_>], _: &[Scalar], _: StreamHandle) -> Result<(), Error> { Ok(()) }
    pub fn function(&self) -> Result<Function, Error> { Ok(Function) }
    pub fn allow_ptx(&self) -> Result<(), Error> { Ok(()) }
}
impl Function {
    pub fn on(&self, _: u32) -> Result<(), Error> { Ok(()) }
}
";

#[test]
fn rust_has_nothing_to_warn_of_whatever_the_names() {
    let folder = tempfile::tempdir().unwrap();
    let package = package_for(
        Language::Rust,
        &[
            ("RMSNorm", ["X", "camelCase", "Eps"]),
            ("fn", ["x", "fn", "self"]),
            ("exp", ["x", "y", "s"]),
        ],
    );
    for (function, path, bytes) in package.files() {
        let file = folder.path().join(function).join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }
    let compile = |name: &str, text: &str, options: &[&str]| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let mut rustc = Command::new("rustc");
        rustc
            .args([
                "--edition=2024",
                "--crate-type=lib",
                "--emit=metadata",
                "-Dwarnings",
            ])
            .args(options)
            .arg(name)
            .current_dir(folder.path());
        let output = rustc.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    compile("norma_runtime.rs", RUNTIME_IN_RUST, &[]);
    let kernels = rust_module(&package, folder.path());
    compile("kernels.rs", &kernels, &["-L.", "--extern=norma_runtime"]);
}

#[test]
fn calls_are_not_ambiguous_where_the_namespace_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let package = package(&[("f", ["x", "y", "s"])]);
    let path = folder.path().join("main.cpp");
    let call = "using namespace norma;\n\
                void call(const norma_tensor &x, const norma_tensor &y) {\n  \
                load_f(0);\n  f(x, y, 1.0);\n  (void)f_load(0);\n  (void)f(&x, &y, 1.0, nullptr);\n}\n";
    fs::write(folder.path().join("kernels.h"), header(&package)).unwrap();
    let hpp = cpp_header(&package, "kernels.h");
    fs::write(&path, hpp + call).unwrap();
    compile("c++", "-std=c++17", &path);
}

#[test]
fn headers_of_the_same_name_in_different_folders_are_included_beside_each_other() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "two"] {
        let package = package(&[(name, ["x", "y", "s"])]);
        fs::create_dir(folder.path().join(name)).unwrap();
        let write = |file: &str, text: String| fs::write(folder.path().join(name).join(file), text).unwrap();
        write("kernels.h", header(&package));
        write("kernels.hpp", cpp_header(&package, "kernels.h"));
    }
    let path = folder.path().join("main.cpp");
    let call = "#include \"one/kernels.hpp\"\n#include \"two/kernels.hpp\"\n\
                void call() {\n  norma::load_one(0);\n  norma::load_two(0);\n}\n";
    fs::write(&path, call).unwrap();
    compile("c++", "-std=c++17", &path);
}

#[test]
fn modules_do_not_share_their_functions() {
    let folder = tempfile::tempdir().unwrap();
    let package = package(&[("f", ["x", "y", "s"])]);
    fs::write(folder.path().join("kernels.h"), header(&package)).unwrap();
    let call = "\nvoid call(const norma_tensor &x, const norma_tensor &y) { norma::f(x, y); }\n";
    let path = folder.path().join("main.cpp");
    fs::write(&path, cpp_header(&package, "kernels.h") + call).unwrap();
    let object = folder.path().join("main.o");
    let compiled = compiler("c++", "-std=c++17")
        .args(["-O0", "-fPIC", "-c"])
        .arg(&path)
        .arg("-o")
        .arg(&object)
        .status();
    assert!(compiled.unwrap().success());
    let printed = Command::new("readelf")
        .args(["--syms", "--wide"])
        .arg(&object)
        .output()
        .unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let mut functions = printed.lines().filter(|line| line.contains(" FUNC "));
    let inline = functions.find(|line| line.contains("5norma1f")).unwrap();
    assert!(inline.contains("HIDDEN"), "{inline}");
}

#[test]
fn parameters_may_have_the_names_of_what_the_code_uses() {
    for names in [
        ["tensors", "scalars", "arguments"],
        ["scalars", "tensors", "device"],
        ["check", "error", "dtype"],
        ["f_embedded", "f_files", "f_load"],
        ["int64_t", "std", "int32_t"],
        ["exp", "free", "size_t"],
        ["linux", "NULL", "INT32_MAX"],
        ["norma_tensor", "norma_embedded_launch", "norma_scalar"],
        ["void", "stream", "f"],
    ] {
        assert_compiles(&package(&[("f", names)]));
    }
}

#[test]
fn functions_may_have_the_names_of_each_others_data() {
    let plain = ["x", "y", "s"];
    assert_compiles(&package(&[
        ("f", plain),
        ("f_files", plain),
        ("f_file_0", plain),
        ("f_embedded", plain),
        ("launch", plain),
    ]));
}
