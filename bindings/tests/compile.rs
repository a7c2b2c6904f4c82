//! What is generated compiles, whatever the names in a bundle.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

use std::fs;
use std::path::Path;
use std::process::Command;

use norma_bindings::{Package, TargetBundle, cpp_header, header, source};
use norma_bundle::Manifest;
use norma_bundle::manifest::{Argument, Function};

/// The functions of a bundle: variations of `scale`, named as given, whose tensors x and y and scalar s are renamed.
fn package(functions: &[(&str, [&str; 3])]) -> Package {
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
    Package::new(&[bundle]).unwrap()
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

fn compile(compiler: &str, standard: &str, file: &Path) {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runtime/include");
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I"])
        .arg(runtime)
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
    compile("cc", "-std=c11", &write("kernels.c", &source(package)));
    write("kernels.h", &header(package));
    let hpp = cpp_header(package, "kernels.h");
    write("kernels.hpp", &hpp);
    compile(
        "c++",
        "-std=c++17",
        &write("main.cpp", "#include \"kernels.hpp\"\n"),
    );
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
