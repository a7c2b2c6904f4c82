//! `manifest.json`: everything a launcher needs to know about a bundle.
//!
//! The types are the format: the compiler fills them in and serializes them, a launcher loads them. Loading checks all that
//! can be checked without a device, so a launcher may rely on names, ranks and expressions. Fields that a newer producer adds
//! are ignored; a field never changes its meaning within a version.

mod alternatives;
mod choose;
mod function;
mod kernel;
pub mod sharded;
mod size_name;
mod validate;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use choose::{Chosen, FunctionError};
pub use function::{Function, Provenance, Tensor};
pub use kernel::{
    Argument, CTAS_PER_SM, DEVICE_SYMBOLS, Kernel, MAX_TENSOR_MAP_RANK, NUM_SMS, ScalarType, ScalarValue,
    Symbol, SymbolOf, TensorMap, WorkspaceInit,
};
pub use sharded::Sharded;
pub use size_name::{SizeNameError, check_size_name, is_size_name};

/// The version of a manifest in which every kernel is launched for all sizes.
pub const MANIFEST_VERSION: u32 = 1;
/// The version of a manifest with kernels that are launched for some sizes only ([`Kernel::when`]): a reader that does not
/// know this field must not read it.
pub const CONDITIONAL_VERSION: u32 = 2;
/// All versions that this crate reads.
pub(crate) const VERSIONS: [u32; 2] = [MANIFEST_VERSION, CONDITIONAL_VERSION];
/// The manifest's name within its directory.
pub const FILE_NAME: &str = "manifest.json";

/// Whether a name is allowed for functions, tensors and scalars: it must be an identifier in C.
pub fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A bundle for one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Manifest {
    /// The format's version, [`MANIFEST_VERSION`] or [`CONDITIONAL_VERSION`].
    pub manifest_version: u32,
    /// The compiler that wrote the bundle.
    pub producer: String,
    /// The architecture the cubins are for, such as `sm_90a`.
    pub target: String,
    /// The part that the kernels were scheduled for; absent in bundles of older compilers. They run on every part of the architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The functions that can be launched.
    pub functions: Vec<Function>,
    /// The functions that several devices compute together; each consists of several of [`Self::functions`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sharded: Vec<Sharded>,
}

/// A part of an architecture, such as the H100 SXM, by which a launcher chooses among bundles for the same architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Part {
    /// Its name.
    pub name: String,
    /// The compiler's name for the architecture with this part, such as `sm_90a-h100`, which is also that of the bundle's folder.
    pub target: String,
    /// The bandwidth of its memory, in bytes a second.
    pub bandwidth: u64,
}

/// The part that every version of a manifest has.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Header {
    manifest_version: u64,
}

/// Why a manifest cannot be used.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read '{}': {source}", path.display())]
    Read {
        /// The manifest's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is a file where the folder of a bundle should be.
    #[error("expected the folder of a bundle, got the file '{}'{}", path.display(), instead(path))]
    File {
        /// The file.
        path: PathBuf,
    },
    /// There is a folder, but no manifest in it.
    #[error("expected the folder of a bundle, got '{}', which has no {FILE_NAME}; `normac FILE -o DIR` writes a bundle", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// The file is not JSON of the manifest's form.
    #[error("'{}' is no manifest: {source}", path.display())]
    Parse {
        /// The manifest's path.
        path: PathBuf,
        /// Where and why parsing stopped.
        source: serde_json::Error,
    },
    /// The file is a manifest of a version that this reader does not know.
    #[error(
        "'{}' is of manifest version {found}, and this program reads {MANIFEST_VERSION} and {CONDITIONAL_VERSION}: it takes {}a bundle \
         compiled by this release",
        path.display(),
        if *found > CONDITIONAL_VERSION.into() { "a newer release, or " } else { "" }
    )]
    Version {
        /// The manifest's path.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// The file is a manifest, but contradicts itself.
    #[error("the manifest is inconsistent: {at}: {message}")]
    Inconsistent {
        /// Which part, as a path such as `rms_norm.kernels[0].args[2]`.
        at: String,
        /// What was expected there.
        message: String,
    },
}

/// What to use in place of a file that is no folder of a bundle.
fn instead(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    if path.ends_with(FILE_NAME) {
        ", which is in one".to_owned()
    } else if extension == "mlir" {
        format!(", which `normac {} -o DIR` compiles to one", path.display())
    } else {
        String::new()
    }
}

/// The folder of the bundle for `target`: `root` itself if a call compiles for one target, `root/<target>` if for several.
pub fn directory_for(root: &Path, target: &str, target_count: usize) -> PathBuf {
    if target_count == 1 {
        root.to_owned()
    } else {
        root.join(target)
    }
}

impl Manifest {
    /// The name of the target as the compiler knows it: that of the part if there is one, else the architecture's.
    pub fn target_name(&self) -> &str {
        self.part.as_ref().map_or(&self.target, |part| &part.target)
    }

    /// Loads and checks `directory/manifest.json`.
    ///
    /// # Errors
    /// The file cannot be read, is not a manifest, or contradicts itself.
    pub fn load(directory: &Path) -> Result<Manifest, ManifestError> {
        let path = directory.join(FILE_NAME);
        let text = fs::read_to_string(&path).map_err(|source| {
            let path = directory.to_owned();
            if directory.exists() && !directory.is_dir() {
                ManifestError::File { path }
            } else if directory.is_dir() && source.kind() == io::ErrorKind::NotFound {
                ManifestError::Empty { path }
            } else {
                let path = path.join(FILE_NAME);
                ManifestError::Read { path, source }
            }
        })?;
        Manifest::parse(&text, &path)
    }

    /// Parses and checks the text of a manifest; `path` names it in errors.
    ///
    /// # Errors
    /// The text is not a manifest, or contradicts itself.
    pub fn parse(text: &str, path: &Path) -> Result<Manifest, ManifestError> {
        let wrong = |source| ManifestError::Parse {
            path: path.to_owned(),
            source,
        };
        // Only the version is parsed first: in another version all else may differ.
        let Header { manifest_version } = serde_json::from_str(text).map_err(wrong)?;
        if !VERSIONS.map(u64::from).contains(&manifest_version) {
            return Err(ManifestError::Version {
                path: path.to_owned(),
                found: manifest_version,
            });
        }
        let manifest: Manifest = serde_json::from_str(text).map_err(wrong)?;
        manifest.validate()?;
        Ok(manifest)
    }

    /// Whether a text is a manifest of any version, or the beginning of one that was cut off; other programs have files of its name too.
    pub fn is_one(text: &str) -> bool {
        const BEGINNING: &str = "{\"manifest_version\":";
        let dense: String = text
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .take(BEGINNING.len())
            .collect();
        BEGINNING.starts_with(&dense) || serde_json::from_str::<Header>(text).is_ok()
    }

    /// The manifest as JSON text, indented, with a final newline; equal manifests give equal bytes.
    ///
    /// # Errors
    /// Only if serialization itself fails.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// The lowest version that can express the functions.
    pub fn version_of(functions: &[Function]) -> u32 {
        let kernels = functions.iter().flat_map(|function| &function.kernels);
        match kernels.into_iter().all(|kernel| kernel.when.is_empty()) {
            true => MANIFEST_VERSION,
            false => CONDITIONAL_VERSION,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RMS_NORM: &str = include_str!("../testdata/rms_norm.json");

    fn rms_norm() -> Manifest {
        serde_json::from_str(RMS_NORM).unwrap()
    }

    #[test]
    fn the_documented_manifest_is_consistent() {
        let manifest = rms_norm();
        manifest.validate().unwrap();
        let function = &manifest.functions[0];
        assert_eq!(function.size_symbols().into_iter().collect::<Vec<_>>(), ["m"]);
        assert_eq!(
            function.stride_symbols().into_iter().collect::<Vec<_>>(),
            ["x_stride"]
        );
        assert_eq!(function.named_scalars()[0].0, "eps");
    }

    #[test]
    fn writing_and_reading_is_the_identity() {
        let manifest = rms_norm();
        let json = manifest.to_json().unwrap();
        let again: Manifest = serde_json::from_str(&json).unwrap();
        assert_eq!(again, manifest);
        assert_eq!(again.to_json().unwrap(), json);
    }

    #[test]
    fn unknown_fields_are_ignored() {
        let with_more = RMS_NORM.replacen('{', "{\"future\": [1, 2],", 1);
        serde_json::from_str::<Manifest>(&with_more)
            .unwrap()
            .validate()
            .unwrap();
    }

    #[test]
    fn a_missing_file_and_a_truncated_one_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(
            Manifest::load(directory.path()),
            Err(ManifestError::Empty { .. })
        ));
        assert!(matches!(
            Manifest::load(&directory.path().join("none")),
            Err(ManifestError::Read { .. })
        ));
        fs::write(directory.path().join(FILE_NAME), &RMS_NORM[..RMS_NORM.len() / 2]).unwrap();
        assert!(matches!(
            Manifest::load(directory.path()),
            Err(ManifestError::Parse { .. })
        ));
    }

    #[test]
    fn what_is_no_object_is_refused_in_the_words_of_json() {
        let refusal = |text: &str| {
            let error = Manifest::parse(text, Path::new("m")).unwrap_err();
            error.to_string()
        };
        for text in ["null", "7", "{\"manifest_version\": 1, \"functions\": [\"f\"]}"] {
            let error = refusal(text);
            assert!(error.contains(", expected an object at line 1"), "{error}");
        }
        assert!(refusal("[]").contains("expected an object"), "{}", refusal("[]"));
    }

    #[test]
    fn a_file_in_place_of_a_folder_is_told_what_to_do_with() {
        let directory = tempfile::tempdir().unwrap();
        let refusal = |name: &str| {
            let path = directory.path().join(name);
            fs::write(&path, RMS_NORM).unwrap();
            let error = Manifest::load(&path).unwrap_err().to_string();
            error.replace(&format!("{}/", directory.path().display()), "")
        };
        let expected = "expected the folder of a bundle, got the file";
        assert_eq!(
            refusal("f.mlir"),
            format!("{expected} 'f.mlir', which `normac f.mlir -o DIR` compiles to one")
        );
        assert_eq!(
            refusal(FILE_NAME),
            format!("{expected} 'manifest.json', which is in one")
        );
        assert_eq!(refusal("k.cubin"), format!("{expected} 'k.cubin'"));
    }

    #[test]
    fn several_targets_get_a_directory_each() {
        let root = Path::new("out");
        assert_eq!(directory_for(root, "sm_90a", 1), Path::new("out"));
        assert_eq!(directory_for(root, "sm_90a", 2), Path::new("out/sm_90a"));
    }
}
