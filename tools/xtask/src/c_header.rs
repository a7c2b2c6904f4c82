//! Generates the runtime's C header from its source by cbindgen.

use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, RenameRule, Style};

use crate::failure::Failure;

/// The header's path.
pub const OUTPUT: &str = "runtime/include/norma/runtime.h";
/// The sources of the header: the types shared with C, and the functions.
const SOURCES: [&str; 4] = [
    "runtime/src/tensor.rs",
    "runtime/src/capi/status.rs",
    "runtime/src/capi/function.rs",
    "runtime/src/capi/embedded.rs",
];
/// Maps the Rust names of types to their C names.
const NAMES: [(&str, &str); 10] = [
    ("DataType", "norma_dtype"),
    ("DeviceKey", "norma_device"),
    ("NormaBundle", "norma_bundle"),
    ("NormaEmbedded", "norma_embedded"),
    ("NormaFile", "norma_file"),
    ("NormaFunction", "norma_function"),
    ("NormaNumber", "norma_number"),
    ("NormaScalar", "norma_scalar"),
    ("NormaStatus", "norma_status"),
    ("Tensor", "norma_tensor"),
];
const SCALAR_KIND: (&str, &str) = ("NormaScalarKind", "norma_scalar_kind");

/// Generates the header's text.
///
/// # Errors
/// If the source does not parse.
pub fn generate(root: &Path) -> Result<String, Failure> {
    let names = NAMES.into_iter().chain([SCALAR_KIND]);
    let config = Config {
        language: Language::C,
        header: Some(
            "/* The runtime's C interface. Generated from runtime/src/capi by `cargo xtask docs`: do not edit. */".to_owned(),
        ),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).into(),
        include_guard: Some("NORMA_RUNTIME_H".to_owned()),
        cpp_compat: true,
        documentation_style: DocumentationStyle::C99,
        style: Style::Both,
        line_length: 110,
        usize_is_size_t: true,
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        export: ExportConfig {
            include: vec![SCALAR_KIND.0.to_owned()],
            rename: names
                .map(|(rust, c)| (rust.to_owned(), c.to_owned()))
                .collect(),
            ..ExportConfig::default()
        },
        ..Config::default()
    };
    let sources = SOURCES.map(|source| root.join(source));
    let builder = sources
        .into_iter()
        .fold(Builder::new().with_config(config), |builder, source: PathBuf| {
            builder.with_src(source)
        });
    let bindings = builder
        .generate()
        .map_err(|error| Failure::Check(format!("cannot generate {OUTPUT}: {error}")))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text)
        .map_err(|error| Failure::Check(format!("cannot generate {OUTPUT}: {error}")))?;
    // The heading of a Rust doc section becomes a sentence in C.
    Ok(text.replace("// # Safety\n", "// The caller makes sure of this:\n"))
}
