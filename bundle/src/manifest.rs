//! `manifest.json`: everything a launcher needs to know about a bundle.
//!
//! The types are the format: the compiler fills them in and serializes them, a launcher loads them. Loading checks all that
//! can be checked without a device, so a launcher may rely on names, ranks and expressions. Fields that a newer producer adds
//! are ignored; a field never changes its meaning within a version.

mod alternatives;
mod choose;
pub mod sharded;
mod size_name;
mod validate;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::condition::Condition;
use crate::definition::Definition;
use crate::element::Element;
use crate::expression::Expression;
use crate::program::Number;

pub use choose::{Chosen, FunctionError};
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
/// The symbols that every launcher binds: the device's number of multiprocessors, and the number of CTAs of the kernel that
/// one holds ([`Kernel::counts_ctas`]).
pub const DEVICE_SYMBOLS: [&str; 2] = ["num_sms", "ctas_per_sm"];

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

/// One compiled function: tensors in, tensors out, and the kernels that run in order on one stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Function {
    /// The function's name in the source.
    pub name: String,
    /// The tensors that are read.
    pub inputs: Vec<Tensor>,
    /// The tensors that are written.
    pub outputs: Vec<Tensor>,
    /// Conditions on the sizes, beyond the tensors' shapes, and on the numbers that a caller sets; a launcher refuses calls
    /// that violate one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The kernels, in launch order.
    pub kernels: Vec<Kernel>,
    /// What the function was compiled from, and how; absent in bundles of older compilers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What the function computes, as its author wrote it; absent if the compiler's input was of too low a level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
}

/// The part that every version of a manifest has.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Header {
    manifest_version: u64,
}

/// What a function was compiled from, and how. Equal provenance implies equal kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Provenance {
    /// The compiler, with a hash of its own sources, and its LLVM.
    pub compiler: String,
    /// The CUDA release of the assembler, such as `13.0`; absent if there is no machine code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assembler: Option<String>,
    /// The SHA-256 of the source text, in hexadecimal.
    pub source: String,
    /// The options that influence the compiled code, as `normac` takes them.
    pub options: Vec<String>,
}

/// A tensor, and the kernels' assumptions about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Tensor {
    /// The name that kernels' arguments refer to.
    pub name: String,
    /// The element type.
    pub dtype: Element,
    /// The extent of each dim: a constant, or an expression over the function's size symbols.
    pub shape: Vec<Expression>,
    /// The stride of each dim, in elements: a constant, a size expression, or a symbol for a stride that the
    /// caller chooses.
    pub strides: Vec<Expression>,
    /// The alignment of the first element's address, in bytes; a power of two.
    pub align: u64,
    /// A divisor of each extent; all 1 if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape_multiples: Vec<u64>,
    /// A lower bound of each extent, over the function's size symbols; all 0 if absent. It states how far kernels access the
    /// tensor where the shapes alone do not imply it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape_minimums: Vec<Expression>,
    /// A divisor of each stride, in elements; all 1 if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stride_multiples: Vec<u64>,
    /// 32 if the kernels compute offsets into this tensor in 32-bit signed integers, so that no offset may reach 2^31
    /// elements; 64 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bits: Option<u32>,
    /// For an output: the input whose memory it may share, from the same address on. It shares no element with any other
    /// tensor of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_alias: Option<String>,
}

/// One kernel and its launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Kernel {
    /// The entry's name in the cubin.
    pub symbol: String,
    /// The cubin's file name, in the manifest's directory.
    pub cubin: String,
    /// The file name, in the manifest's directory, of the module of level `nvvm` from which the cubin was generated, for a
    /// simulator. Absent if it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The file name, in the manifest's directory, of the PTX from which the cubin was assembled, for the driver to compile
    /// if no cubin fits the device. Absent if it was not kept, and for targets whose PTX runs on no other device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<String>,
    /// The architecture of the cubin; the manifest's own.
    pub target: String,
    /// The symbols that the launcher reads from the tensors before it evaluates this kernel's expressions.
    #[serde(default)]
    pub symbols: Vec<Symbol>,
    /// The kernel is launched for the sizes that satisfy all of these conditions, over the kernel's symbols and `num_sms`;
    /// for all sizes if there are none. Of kernels that are alternatives, exactly one is launched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// CTAs along x, y and z. If an extent is zero, there is nothing to do.
    pub grid: [Expression; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    /// CTAs per cluster along x, y and z.
    #[serde(default = "no_cluster")]
    pub cluster: [u32; 3],
    /// Dynamic shared memory, in bytes.
    #[serde(default = "zero")]
    pub shared_bytes: Expression,
    /// The preferred share of L1 given to shared memory, in per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_carveout: Option<u32>,
    /// Whether the kernel may start before the previous one in the stream has ended.
    #[serde(default)]
    pub programmatic_dependent_launch: bool,
    /// The kernel's parameters, in order.
    pub args: Vec<Argument>,
    /// Registers per thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Static shared memory, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub static_shared_bytes: Option<u32>,
    /// Bytes per thread that the assembler spilled to local memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u32>,
    /// The schedule attribute, enough to rebuild the same kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<String>,
    /// The fewest bytes the kernel must read from memory.
    pub bytes_read: Expression,
    /// The fewest bytes the kernel must write to memory.
    pub bytes_written: Expression,
}

/// A symbol of a kernel's expressions, read from a tensor at launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Symbol {
    /// The name used in expressions.
    pub name: String,
    /// The tensor it is read from.
    pub tensor: String,
    /// The dim of the tensor.
    pub dim: usize,
    /// The dim's size or its stride.
    #[serde(default)]
    pub of: SymbolOf,
}

/// The property of a dim that a symbol stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SymbolOf {
    /// The dim's extent.
    #[default]
    Size,
    /// The dim's stride, in elements.
    Stride,
}

/// One kernel parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", expecting = "an object")]
pub enum Argument {
    /// The address of a tensor's first element.
    Pointer {
        /// The tensor's name.
        tensor: String,
    },
    /// A number passed by value.
    Scalar {
        /// The name under which the caller may set it; a scalar without a name always has `value`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its type in the kernel's signature.
        #[serde(rename = "type")]
        scalar: ScalarType,
        /// The value, or the default of a named scalar.
        value: ScalarValue,
    },
    /// Memory that the launcher provides, whose address is a multiple of 256 and which overlaps no tensor.
    Workspace {
        /// The name; two kernels of a function that use the same name share the memory.
        name: String,
        /// Its size in bytes.
        bytes: Expression,
        /// Its contents before the function's first kernel.
        #[serde(default, skip_serializing_if = "WorkspaceInit::is_zero")]
        init: WorkspaceInit,
    },
    /// A tensor map, passed by value.
    TensorMap(TensorMap),
}

/// The contents of a workspace before the first kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceInit {
    /// Zeros before its very first use; the kernels leave it zero.
    #[default]
    Zero,
    /// Unspecified: the kernels write what they read, and leave any contents.
    None,
}

/// The arguments of `cuTensorMapEncodeTiled`; dims are listed from the innermost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct TensorMap {
    /// The tensor it maps.
    pub tensor: String,
    /// The element type as the copy engine sees it.
    #[serde(rename = "type")]
    pub element: Element,
    /// Extents in elements, innermost first.
    pub dims: Vec<Expression>,
    /// Strides in bytes of all dims but the innermost.
    pub strides_bytes: Vec<Expression>,
    /// The box's extents in elements, innermost first.
    #[serde(rename = "box")]
    pub box_dims: Vec<u32>,
    /// `CUtensorMapSwizzle` as a number: 0 none, 1 32 B, 2 64 B, 3 128 B.
    #[serde(default)]
    pub swizzle: u32,
    /// `CUtensorMapL2promotion` as a number: 0 none, 1 64 B, 2 128 B, 3 256 B.
    #[serde(default)]
    pub l2_promotion: u32,
}

/// The type of a scalar parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScalarType {
    /// A 32-bit signed integer.
    I32,
    /// A 64-bit signed integer.
    I64,
    /// A 32-bit unsigned integer.
    U32,
    /// A 64-bit unsigned integer.
    U64,
    /// A 32-bit float.
    F32,
    /// A 64-bit float.
    F64,
}

/// The value of a scalar parameter: a size expression (a plain integer is one) or a float.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ScalarValue {
    /// An integer or an expression over the kernel's symbols.
    Expression(Expression),
    /// A float.
    Float(Number),
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

fn no_cluster() -> [u32; 3] {
    [1, 1, 1]
}

fn zero() -> Expression {
    Expression::Integer(0)
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

    /// The manifest as JSON text, indented, with a final newline; equal manifests give equal bytes.
    ///
    /// # Errors
    /// Only if serialization itself fails.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }
}

impl Manifest {
    /// The lowest version that can express the functions.
    pub fn version_of(functions: &[Function]) -> u32 {
        let kernels = functions.iter().flat_map(|function| &function.kernels);
        match kernels.into_iter().all(|kernel| kernel.when.is_empty()) {
            true => MANIFEST_VERSION,
            false => CONDITIONAL_VERSION,
        }
    }
}

impl Function {
    /// All tensors, inputs first.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.inputs.iter().chain(&self.outputs)
    }

    /// The tensor with this name, if any.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors().find(|tensor| tensor.name == name)
    }

    /// The symbols in the tensors' shapes: sizes that a caller must choose.
    pub fn size_symbols(&self) -> BTreeSet<&str> {
        self.tensors()
            .flat_map(|tensor| &tensor.shape)
            .flat_map(Expression::symbols)
            .collect()
    }

    /// The sizes that occur only in outputs and are not `known`, with the lower bound that the kernels' accesses imply. The
    /// kernels write so many elements, and leave the rest of a larger output unchanged. A size without a lower bound in the
    /// manifest is left out.
    pub fn least_sizes(&self, known: &impl Fn(&str) -> Option<i64>) -> BTreeMap<&str, i64> {
        let mut least = BTreeMap::new();
        for output in &self.outputs {
            for (extent, minimum) in output.shape.iter().zip(&output.shape_minimums) {
                let Expression::Symbol(name) = extent else {
                    continue;
                };
                if let (None, Ok(minimum)) = (known(name), minimum.evaluate(known)) {
                    let size = least.entry(name.as_str()).or_insert(0);
                    *size = minimum.max(*size);
                }
            }
        }
        least
    }

    /// The symbols that occur only in strides: strides that a caller may choose.
    pub fn stride_symbols(&self) -> BTreeSet<&str> {
        let sizes = self.size_symbols();
        let all = self
            .tensors()
            .flat_map(|tensor| &tensor.strides)
            .flat_map(Expression::symbols);
        all.filter(|name| !sizes.contains(name)).collect()
    }

    /// The scalars among [`Self::named_scalars`] that may occur in conditions and in accesses of programs, with their
    /// defaults: the 64-bit integers.
    pub fn numbers(&self) -> Vec<(&str, i64)> {
        let scalars = self.named_scalars().into_iter();
        let numbers = scalars.filter_map(|(name, scalar, default)| match (scalar, default) {
            (ScalarType::I64, ScalarValue::Expression(default)) => Some((name, default.as_integer()?)),
            _ => None,
        });
        numbers.collect()
    }

    /// The size symbols and the names of [`Self::numbers`].
    pub fn size_and_number_symbols(&self) -> BTreeSet<&str> {
        let numbers = self.numbers().into_iter().map(|(name, _)| name);
        self.size_symbols().into_iter().chain(numbers).collect()
    }

    /// The scalars that a caller may set, with their defaults, in order of first use.
    pub fn named_scalars(&self) -> Vec<(&str, ScalarType, &ScalarValue)> {
        let mut found: Vec<(&str, ScalarType, &ScalarValue)> = Vec::new();
        for argument in self.kernels.iter().flat_map(|kernel| &kernel.args) {
            if let Argument::Scalar {
                name: Some(name),
                scalar,
                value,
            } = argument
                && !found.iter().any(|(known, ..)| known == name)
            {
                found.push((name, *scalar, value));
            }
        }
        found
    }
}

impl Tensor {
    /// A divisor of the extent of `dim`.
    pub fn shape_multiple(&self, dim: usize) -> u64 {
        self.shape_multiples.get(dim).copied().unwrap_or(1)
    }

    /// A divisor of the stride of `dim`, in elements.
    pub fn stride_multiple(&self, dim: usize) -> u64 {
        self.stride_multiples.get(dim).copied().unwrap_or(1)
    }
}

impl Kernel {
    /// The size of a cluster, in CTAs.
    pub fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Whether launchers bind `ctas_per_sm` to the kernel's occupancy: the number of CTAs that fit a multiprocessor one by
    /// one. For clusters they bind it to 1, because occupancy does not determine how many whole clusters fit.
    pub fn counts_ctas(&self) -> bool {
        self.cluster_size() == 1
    }
}

impl WorkspaceInit {
    /// Whether the contents are zeros.
    pub fn is_zero(&self) -> bool {
        *self == WorkspaceInit::Zero
    }
}

impl ScalarType {
    /// Whether the type is a float.
    pub fn is_float(self) -> bool {
        matches!(self, ScalarType::F32 | ScalarType::F64)
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
