//! Generates typed functions for the functions of bundles: a program links or includes them, with the bundle inside, and
//! calls them by name.
//!
//! This crate generates text and uses neither MLIR nor a compiler. The functions call the runtime.

mod c;
mod c_library;
mod cpp;
mod identifier;
mod rust;
mod signature;
mod tvm_ffi;

use std::collections::BTreeMap;

use norma_bundle::manifest::FILE_NAME;
use norma_bundle::{Manifest, content};
use thiserror::Error;

pub use c::{header, source};
pub use cpp::header as cpp_header;
pub use rust::module as rust_module;
use signature::Signature;

/// The text of the runtime's C header.
pub const RUNTIME_HEADER: &str = include_str!("../../runtime/include/norma/runtime.h");

/// A bundle for one target.
#[derive(Clone, Debug)]
pub struct TargetBundle {
    /// The manifest.
    pub manifest: Manifest,
    /// The contents of the cubins that the manifest names.
    pub cubins: BTreeMap<String, Vec<u8>>,
    /// The texts of the PTX to package, of what the manifest names; none if a program should not contain it.
    pub ptx: BTreeMap<String, String>,
}

/// Functions with their bundles, for one or several targets.
#[derive(Debug)]
pub struct Package {
    functions: Vec<PackagedFunction>,
}

/// A function, and a bundle that contains it alone.
#[derive(Debug)]
struct PackagedFunction {
    signature: Signature,
    /// The files by their paths in the bundle's folder, which has a folder for each target.
    files: BTreeMap<String, Vec<u8>>,
}

/// Why no typed functions can be generated for a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PackageError {
    /// A function's name is not valid in the languages.
    #[error("function '{name}' has no name that C takes: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A function's name is that of a namespace in C++.
    #[error("function '{name}' has the name of a namespace of C++")]
    Namespace {
        /// The name.
        name: String,
    },
    /// A function's name is one of the C++ runtime's or of C's library.
    #[error("function '{name}' has a name that {header} declares")]
    Declared {
        /// The name.
        name: String,
        /// The header.
        header: &'static str,
    },
    /// A function has the name of one that is generated beside another.
    #[error("function '{name}' has the name of a function that is generated beside '{other}'")]
    Generated {
        /// The name.
        name: String,
        /// The other function.
        other: String,
    },
    /// A function differs between targets.
    #[error("function '{name}' for {target} does not take what it does for {first}")]
    Different {
        /// The function.
        name: String,
        /// The target for which it differs.
        target: String,
        /// The first target.
        first: String,
    },
    /// A cubin is missing.
    #[error("the bundle for {target} has no file '{file}'")]
    File {
        /// The target.
        target: String,
        /// The file.
        file: String,
    },
    /// The manifest cannot be written.
    #[error("cannot write a manifest: {0}")]
    Manifest(String),
}

impl Package {
    /// Packages all functions of bundles, one bundle for each target.
    ///
    /// # Errors
    /// See [`PackageError`].
    pub fn new(bundles: &[TargetBundle]) -> Result<Package, PackageError> {
        let mut functions = Vec::<PackagedFunction>::new();
        for bundle in bundles {
            for function in &bundle.manifest.functions {
                let signature = Signature::of(function)?;
                let files = files(bundle, &function.name)?;
                match functions
                    .iter_mut()
                    .find(|known| known.signature.name == signature.name)
                {
                    None => functions.push(PackagedFunction { signature, files }),
                    Some(known) if known.signature.accepts_like(&signature) => known.files.extend(files),
                    Some(_) => {
                        return Err(PackageError::Different {
                            name: function.name.clone(),
                            target: bundle.manifest.target_name().to_owned(),
                            first: bundles[0].manifest.target_name().to_owned(),
                        });
                    }
                }
            }
        }
        for PackagedFunction { signature, .. } in &functions {
            for name in [signature.load_name(), signature.allow_ptx_name()] {
                if functions.iter().any(|other| other.signature.name == name) {
                    let other = signature.name.clone();
                    return Err(PackageError::Generated { name, other });
                }
            }
        }
        Ok(Package { functions })
    }
}

impl PackagedFunction {
    /// Whether a target has PTX of the function.
    fn has_ptx(&self) -> bool {
        self.files.keys().any(|path| path.ends_with(".ptx"))
    }
}

impl Package {
    /// The files of all bundles: for each, its function and its path in that function's bundle.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str, &[u8])> {
        self.functions.iter().flat_map(|function| {
            let name = function.signature.name.as_str();
            let files = function.files.iter();
            files.map(move |(path, bytes)| (name, path.as_str(), bytes.as_slice()))
        })
    }
}

/// The files of a bundle with one function for one target, without the parts that only people and tests read. The names of code
/// contain a hash of the content, as in a bundle's folder, so that the runtime finds damage.
fn files(bundle: &TargetBundle, function: &str) -> Result<BTreeMap<String, Vec<u8>>, PackageError> {
    let target = bundle.manifest.target_name();
    let mut manifest = bundle.manifest.clone();
    manifest.functions.retain(|other| other.name == function);
    manifest.manifest_version = Manifest::version_of(&manifest.functions);
    let mut files = BTreeMap::new();
    for function in &mut manifest.functions {
        function.definition = None;
        for kernel in &mut function.kernels {
            kernel.module = None;
            let text = kernel
                .ptx
                .as_ref()
                .and_then(|file| bundle.ptx.get_key_value(file));
            kernel.ptx = text.map(|(file, text)| content::hashed_name(file, text.as_bytes()));
            if let Some((file, (_, text))) = kernel.ptx.as_ref().zip(text) {
                files.insert(format!("{target}/{file}"), text.clone().into_bytes());
            }
            let bytes = bundle
                .cubins
                .get(&kernel.cubin)
                .ok_or_else(|| PackageError::File {
                    target: target.to_owned(),
                    file: kernel.cubin.clone(),
                })?;
            kernel.cubin = content::hashed_name(&kernel.cubin, bytes);
            files.insert(format!("{target}/{}", kernel.cubin), bytes.clone());
        }
    }
    let text = manifest
        .to_json()
        .map_err(|error| PackageError::Manifest(error.to_string()))?;
    files.insert(format!("{target}/{FILE_NAME}"), text.into_bytes());
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bundle of `scale` for a target, with a changed manifest.
    pub(crate) fn scale(target: &str, change: impl FnOnce(&mut Manifest)) -> TargetBundle {
        let text = include_str!("../../bundle/testdata/scale.json").replace("sm_90a", target);
        let mut manifest: Manifest = serde_json::from_str(&text).unwrap();
        let cubin = manifest.functions[0].kernels[0].cubin.clone();
        change(&mut manifest);
        TargetBundle {
            manifest,
            cubins: [(cubin, b"\x7fELF\0\"1".to_vec())].into(),
            ptx: BTreeMap::new(),
        }
    }

    /// The same with PTX.
    pub(crate) fn scale_with_ptx(target: &str) -> TargetBundle {
        let name = "scale_0.ptx".to_owned();
        let mut bundle = scale(target, |manifest| {
            manifest.functions[0].kernels[0].ptx = Some(name.clone());
        });
        bundle.ptx.insert(name, ".version 8.0".to_owned());
        bundle
    }

    #[test]
    fn ptx_is_packaged_where_its_text_is_given() {
        let ptx_of = |bundle: TargetBundle| {
            let package = Package::new(&[bundle]).unwrap();
            let function = &package.functions[0];
            let manifest = str::from_utf8(&function.files["sm_80/manifest.json"]).unwrap();
            assert_eq!(
                manifest.contains("scale_0.876d2ef92bb02035.ptx"),
                function.has_ptx()
            );
            function.files.get("sm_80/scale_0.876d2ef92bb02035.ptx").cloned()
        };
        assert_eq!(ptx_of(scale_with_ptx("sm_80")), Some(b".version 8.0".to_vec()));
        let mut without = scale_with_ptx("sm_80");
        without.ptx.clear();
        assert_eq!(ptx_of(without), None);
    }

    #[test]
    fn a_function_has_its_files_for_all_targets() {
        let package = Package::new(&[scale("sm_80", |_| ()), scale("sm_90a", |_| ())]).unwrap();
        assert_eq!(package.functions.len(), 1);
        let files: Vec<&str> = package.functions[0].files.keys().map(String::as_str).collect();
        let expected = [
            "sm_80/manifest.json",
            "sm_80/scale_0.sm_80.7c5bc70020c4bfcd.cubin",
            "sm_90a/manifest.json",
            "sm_90a/scale_0.sm_90a.7c5bc70020c4bfcd.cubin",
        ];
        assert_eq!(files, expected);
        let manifest = str::from_utf8(&package.functions[0].files["sm_80/manifest.json"]).unwrap();
        assert!(
            manifest.contains("\"scale_0.sm_80.7c5bc70020c4bfcd.cubin\""),
            "{manifest}"
        );
    }

    #[test]
    fn functions_that_differ_by_target_are_refused() {
        let other = scale("sm_90a", |manifest| {
            manifest.functions[0].inputs[0].dtype = norma_bundle::Element::BF16;
        });
        let error = Package::new(&[scale("sm_80", |_| ()), other]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "function 'scale' for sm_90a does not take what it does for sm_80"
        );
    }

    #[test]
    fn a_function_named_like_one_that_is_generated_beside_another_is_refused() {
        for name in ["scale_load", "scale_allow_ptx"] {
            let bundle = scale("sm_90a", |manifest| {
                let mut other = manifest.functions[0].clone();
                other.name = name.to_owned();
                manifest.functions.insert(0, other);
            });
            assert_eq!(
                Package::new(&[bundle]).unwrap_err().to_string(),
                format!("function '{name}' has the name of a function that is generated beside 'scale'")
            );
        }
    }

    #[test]
    fn a_cubin_that_is_missing_is_told() {
        let mut bundle = scale("sm_90a", |_| ());
        bundle.cubins.clear();
        let error = Package::new(&[bundle]).unwrap_err().to_string();
        assert_eq!(error, "the bundle for sm_90a has no file 'scale_0.sm_90a.cubin'");
    }
}
