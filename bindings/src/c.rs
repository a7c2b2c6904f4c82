//! Generates C: a source that contains the bundles, and its header.

use std::fmt::Write;

use norma_bundle::content;

use crate::signature::Signature;
use crate::{GENERATED, Package, PackagedFunction, RUNTIME_HEADER, Visibility, tvm_ffi};

/// The number of bytes on one line of a literal.
const LINE: usize = 64;

/// The C source of a package's functions, each also with the calling convention of TVM-FFI. It contains the runtime's header, so
/// that it compiles on its own, as C11 with attributes of GCC and Clang. The functions are of this visibility, and those of TVM-FFI's
/// convention always of the default one, because they are looked up by their names in a loaded shared object.
pub fn source(package: &Package, visibility: Visibility) -> String {
    let mut text = RUNTIME_HEADER.to_owned();
    text.push_str(tvm_ffi::PRELUDE);
    for function in &package.functions {
        add_function(&mut text, function, visibility);
        tvm_ffi::add_entry(&mut text, &function.signature);
    }
    text
}

/// The header of a package's functions.
pub fn header(package: &Package) -> String {
    let mut text = "#include <norma/runtime.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n".to_owned();
    for function in &package.functions {
        let signature = &function.signature;
        text.push_str("\n/* Launches on `stream`, a CUstream or cudaStream_t; see norma_function_launch.\n");
        for line in signature.descriptions() {
            let _ = writeln!(text, "     {line}");
        }
        let _ = writeln!(
            text,
            "*/\n{};\n\n/* Loads it on a device, so that its first launch there need not. */\n{};",
            launch_prototype(signature),
            load_prototype(signature)
        );
        if function.has_ptx() {
            let _ = writeln!(
                text,
                "\n/* Lets it run on devices that no cubin fits, by PTX that the driver compiles; call this before the others. */\n{};",
                allow_ptx_prototype(signature)
            );
        }
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n");
    format!(
        "/* {GENERATED}: do not edit. Tensors are the inputs, then the outputs. */\n\n{}",
        guarded(&text, "H")
    )
}

/// The text of a header within an include guard. The guard contains a hash of the text and not the name of the file, so that headers
/// of different functions whose files are named alike, in different folders, do not exclude each other.
pub(crate) fn guarded(text: &str, extension: &str) -> String {
    let hash = content::hash(text.as_bytes()).to_ascii_uppercase();
    let guard = format!("NORMA_KERNELS_{hash}_{extension}");
    format!("#ifndef {guard}\n#define {guard}\n\n{text}\n#endif\n")
}

fn launch_prototype(signature: &Signature) -> String {
    let tensors = signature.tensors.iter();
    let tensors = tensors.map(|tensor| format!("const norma_tensor *{}", tensor.name));
    let scalars = signature.scalars.iter().map(|scalar| {
        let kind = if scalar.is_float { "double" } else { "int64_t" };
        format!("{kind} {}", scalar.name)
    });
    let parameters: Vec<String> = tensors
        .chain(scalars)
        .chain(["void *stream".to_owned()])
        .collect();
    format!("norma_status {}({})", signature.name, parameters.join(", "))
}

fn load_prototype(signature: &Signature) -> String {
    format!("norma_status {}(int32_t device)", signature.load_name())
}

fn allow_ptx_prototype(signature: &Signature) -> String {
    format!("norma_status {}(void)", signature.allow_ptx_name())
}

/// The attribute of a declaration that gives it a visibility, whatever the compiler's options say of others.
pub(crate) fn attribute(visibility: Visibility) -> String {
    format!("__attribute__((visibility(\"{}\"))) ", visibility.name())
}

/// The name of a function's `norma_embedded`.
pub(crate) fn embedded_name(signature: &Signature) -> String {
    format!("norma_embedded_of_{}", signature.name)
}

fn add_function(text: &mut String, function: &PackagedFunction, visibility: Visibility) {
    let signature = &function.signature;
    let attribute = attribute(visibility);
    let (name, embedded) = (&signature.name, embedded_name(signature));
    let mut entries = String::new();
    for (index, (path, bytes)) in function.files.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\nstatic const unsigned char norma_file_{index}_of_{name}[] __attribute__((aligned(16))) ="
        );
        add_literal(text, bytes);
        let _ = writeln!(
            entries,
            "  {{\"{path}\", norma_file_{index}_of_{name}, {}}},",
            bytes.len()
        );
    }
    let tensors: Vec<&str> = signature
        .tensors
        .iter()
        .map(|tensor| tensor.name.as_str())
        .collect();
    let _ = write!(
        text,
        "\nstatic const norma_file norma_files_of_{name}[] = {{\n{entries}}};\n\
         static norma_embedded {embedded} = {{1, {}, norma_files_of_{name}, \"{name}\", 0}};\n\n\
         {attribute}{};\n{} {{\n  const norma_tensor *const norma_tensors[] = {{{}}};\n",
        function.files.len(),
        launch_prototype(signature),
        launch_prototype(signature),
        tensors.join(", ")
    );
    let scalars = match signature.scalars.is_empty() {
        true => "0",
        false => "norma_scalars",
    };
    if !signature.scalars.is_empty() {
        let values = signature.scalars.iter().map(|scalar| match scalar.is_float {
            true => format!("{{NORMA_SCALAR_KIND_FLOAT, {{.number = {}}}}}", scalar.name),
            false => format!("{{NORMA_SCALAR_KIND_INTEGER, {{.integer = {}}}}}", scalar.name),
        });
        let values: Vec<String> = values.collect();
        let _ = writeln!(
            text,
            "  const norma_scalar norma_scalars[] = {{{}}};",
            values.join(", ")
        );
    }
    let _ = writeln!(
        text,
        "  return norma_embedded_launch(&{embedded}, norma_tensors, {}, {scalars}, {}, stream);\n}}\n\n\
         {attribute}{};\n{} {{ return norma_embedded_load(&{embedded}, device); }}",
        signature.tensors.len(),
        signature.scalars.len(),
        load_prototype(signature),
        load_prototype(signature)
    );
    if function.has_ptx() {
        let prototype = allow_ptx_prototype(signature);
        let _ = writeln!(
            text,
            "\n{attribute}{prototype};\n{prototype} {{ return norma_embedded_allow_ptx(&{embedded}); }}"
        );
    }
}

/// Adds bytes as a string literal, which compilers read many times faster than a list of numbers.
fn add_literal(text: &mut String, bytes: &[u8]) {
    for line in bytes.chunks(LINE) {
        text.push_str("\n  \"");
        for byte in line {
            match byte {
                b'"' | b'\\' => {
                    text.push('\\');
                    text.push(char::from(*byte));
                }
                // A question mark could begin a trigraph.
                b' '..=b'~' if *byte != b'?' => text.push(char::from(*byte)),
                // Three digits, so that a following digit is not taken as part of the number.
                byte => {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
        }
        text.push('"');
    }
    text.push_str(";\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;
    use crate::tests::{scale, scale_with_ptx};

    #[test]
    fn a_literal_is_its_bytes() {
        let mut text = String::new();
        add_literal(&mut text, b"a\"\\?\x001\xff");
        assert_eq!(text, "\n  \"a\\\"\\\\\\077\\0001\\377\";\n");
    }

    #[test]
    fn the_header_says_what_a_function_takes() {
        let package = Package::new(&[scale("sm_90a", |_| ())], Language::C).unwrap();
        let header = header(&package);
        for part in [
            "     x: f32 [m, 64], read\n     y: f32 [m], written\n     s: a float, 2.0 in the source\n",
            "norma_status scale(const norma_tensor *x, const norma_tensor *y, double s, void *stream);\n",
            "norma_status scale_load(int32_t device);\n",
        ] {
            assert!(header.contains(part), "{header}");
        }
    }

    #[test]
    fn headers_of_different_functions_have_different_guards() {
        let guard = |name: &str| {
            let bundle = scale("sm_90a", |manifest| manifest.functions[0].name = name.to_owned());
            let header = header(&Package::new(&[bundle], Language::C).unwrap());
            let guard = header
                .lines()
                .find_map(|line| line.strip_prefix("#ifndef NORMA_KERNELS_"));
            guard.map(str::to_owned).unwrap()
        };
        assert_eq!(guard("scale"), guard("scale"));
        assert_ne!(guard("scale"), guard("rows"));
    }

    #[test]
    fn ptx_is_allowed_by_a_function_of_its_own() {
        let texts = |bundle| {
            let package = Package::new(&[bundle], Language::C).unwrap();
            (header(&package), source(&package, Visibility::Hidden))
        };
        let (header, source) = texts(scale_with_ptx("sm_80"));
        assert!(
            header.contains("norma_status scale_allow_ptx(void);\n"),
            "{header}"
        );
        let body = "__attribute__((visibility(\"hidden\"))) norma_status scale_allow_ptx(void);\n\
                    norma_status scale_allow_ptx(void) { return norma_embedded_allow_ptx(&norma_embedded_of_scale); }\n";
        assert!(source.contains(body), "{source}");
        let (header, source) = texts(scale("sm_80", |_| ()));
        assert!(!header.contains("allow_ptx") && !source.contains("scale_allow_ptx"));
    }

    #[test]
    fn functions_have_the_visibility_that_is_asked_for_and_those_of_tvm_ffi_the_default_one() {
        let package = Package::new(&[scale("sm_90a", |_| ())], Language::C).unwrap();
        for visibility in Visibility::ALL {
            let source = source(&package, visibility);
            let name = visibility.name();
            for declared in [
                format!("__attribute__((visibility(\"{name}\"))) norma_status scale("),
                format!("__attribute__((visibility(\"{name}\"))) norma_status scale_load("),
                "__attribute__((visibility(\"default\"))) int __tvm_ffi_scale(".to_owned(),
            ] {
                assert!(source.contains(&declared), "{source}");
            }
        }
    }

    #[test]
    fn the_source_passes_tensors_and_scalars_on() {
        let package = Package::new(&[scale("sm_90a", |_| ())], Language::C).unwrap();
        let source = source(&package, Visibility::Hidden);
        for part in [
            "  const norma_tensor *const norma_tensors[] = {x, y};\n",
            "  const norma_scalar norma_scalars[] = {{NORMA_SCALAR_KIND_FLOAT, {.number = s}}};\n",
            "norma_embedded_launch(&norma_embedded_of_scale, norma_tensors, 2, norma_scalars, 1, stream)",
            "  {\"sm_90a/scale_0.sm_90a.7c5bc70020c4bfcd.cubin\", norma_file_1_of_scale, 7},\n",
            "norma_tvm_call(&norma_embedded_of_scale, arguments, count, tensors, 2, scalars, 1,\n",
            "\"expected scale(x, y, s)\");\n",
        ] {
            assert!(source.contains(part), "{source}");
        }
    }
}
