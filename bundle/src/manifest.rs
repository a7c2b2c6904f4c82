//! `manifest.json`: everything a launcher needs to know about a bundle.
//!
//! The types are the format: the compiler fills them in and serializes them, a launcher loads them. Loading checks
//! all that can be checked without a device, so that a launcher may rely on names, ranks and expressions. Fields
//! that a newer producer adds are ignored; a field never changes its meaning under the same version.

mod alternatives;
mod choose;
pub mod sharded;
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

/// The version of a manifest whose kernels are all launched.
pub const MANIFEST_VERSION: u32 = 1;
/// The version of a manifest with kernels that are launched for some sizes only ([`Kernel::when`]): whoever does not know
/// that must not read it.
pub const CONDITIONAL_VERSION: u32 = 2;
/// All versions that this crate reads.
pub(crate) const VERSIONS: [u32; 2] = [MANIFEST_VERSION, CONDITIONAL_VERSION];
/// The manifest's name within its directory.
pub const FILE_NAME: &str = "manifest.json";
/// The symbols that every launcher binds: the device's multiprocessors, and how many CTAs of the kernel one holds.
pub const DEVICE_SYMBOLS: [&str; 2] = ["num_sms", "ctas_per_sm"];

/// Whether functions, tensors and scalars may have a name: one that is an identifier in C.
pub fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a size may have a name: an identifier that stands for nothing else in a manifest's expressions, such as a device's
/// number, a dim `d0` of a program, a stride `x_stride0` or a size of an intermediate.
pub fn is_size_name(name: &str) -> bool {
    let is_symbol = matches!(Expression::parse(name), Ok(Expression::Symbol(symbol)) if symbol == name);
    let is_dim = name
        .strip_prefix('d')
        .is_some_and(|number| number.bytes().all(|digit| digit.is_ascii_digit()) && !number.is_empty());
    let is_made = name.contains("_stride") || name.starts_with("intermediate");
    is_symbol && !is_dim && !is_made && !DEVICE_SYMBOLS.contains(&name)
}

/// A bundle for one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format's version, [`MANIFEST_VERSION`] or [`CONDITIONAL_VERSION`].
    pub manifest_version: u32,
    /// Which compiler wrote the bundle.
    pub producer: String,
    /// The architecture the cubins are for, such as `sm_90a`.
    pub target: String,
    /// What can be launched.
    pub functions: Vec<Function>,
    /// The functions that devices run together, each by several of [`Self::functions`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sharded: Vec<Sharded>,
}

/// One compiled function: tensors in, tensors out, and the kernels that run in order on one stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// The function's name in the source.
    pub name: String,
    /// The tensors that are read.
    pub inputs: Vec<Tensor>,
    /// The tensors that are written.
    pub outputs: Vec<Tensor>,
    /// What the sizes must satisfy beyond the tensors' shapes, and the numbers that a caller sets; a launcher refuses others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The kernels, in launch order.
    pub kernels: Vec<Kernel>,
    /// What the function was compiled from, and how; absent in bundles of compilers that did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What the function computes, as its author wrote it; absent where the compiler's input no longer said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
}

/// What every version of a manifest has.
#[derive(Deserialize)]
struct Header {
    manifest_version: u64,
}

/// What a function was compiled from, and how. Equal provenances give equal kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The compiler, with a hash of its own sources, and its LLVM.
    pub compiler: String,
    /// The CUDA release of the assembler, such as `13.0`; absent where there is no machine code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assembler: Option<String>,
    /// The SHA-256 of the source text, in hexadecimal.
    pub source: String,
    /// The options that decide what is compiled, as `normac` takes them.
    pub options: Vec<String>,
}

/// A tensor, and what the kernels assume of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// What each extent must be a multiple of; all 1 where absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape_multiples: Vec<u64>,
    /// What each extent must at least be, over the function's size symbols; all 0 where absent. It is what the kernels
    /// reach that the shapes alone do not say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape_minimums: Vec<Expression>,
    /// What each stride must be a multiple of, in elements; all 1 where absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stride_multiples: Vec<u64>,
    /// 32 where the kernels compute offsets into this tensor in 32-bit signed integers, so that no offset may
    /// reach 2^31 elements; 64 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bits: Option<u32>,
    /// Of an output: the input that it may be the same memory as, from the same address on. No other two tensors of a call
    /// may overlap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_alias: Option<String>,
}

/// One kernel and its launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// The entry's name in the cubin.
    pub symbol: String,
    /// The cubin's file name, in the manifest's directory.
    pub cubin: String,
    /// The file name, in the manifest's directory, of the module of level `nvvm` that the cubin was made of, for a
    /// simulator. Absent where it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The file name, in the manifest's directory, of the PTX that the cubin was assembled from, for a driver to compile where
    /// no cubin fits the device. Absent where it was not kept, and for targets whose PTX runs on no other device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<String>,
    /// The architecture of the cubin; the manifest's own.
    pub target: String,
    /// What the launcher reads off the tensors before it evaluates this kernel's expressions.
    #[serde(default)]
    pub symbols: Vec<Symbol>,
    /// The sizes that the kernel is launched for: those that satisfy all of these, over the kernel's symbols and `num_sms`;
    /// all sizes where there are none. Of kernels that are alternatives, exactly one is launched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Condition>,
    /// CTAs along x, y and z. A zero extent means that there is nothing to do.
    pub grid: [Expression; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    /// CTAs of a cluster along x, y and z.
    #[serde(default = "no_cluster")]
    pub cluster: [u32; 3],
    /// Dynamic shared memory, in bytes.
    #[serde(default = "zero")]
    pub shared_bytes: Expression,
    /// The preferred share of L1 given to shared memory, in per cent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_carveout: Option<u32>,
    /// Whether the kernel may start before the one ahead of it in the stream has ended.
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

/// A symbol of a kernel's expressions, read off a tensor at launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// The name used in expressions.
    pub name: String,
    /// The tensor it is read from.
    pub tensor: String,
    /// Which dim of the tensor.
    pub dim: usize,
    /// The dim's size or its stride.
    #[serde(default)]
    pub of: SymbolOf,
}

/// What of a dim a symbol means.
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
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Argument {
    /// The address of a tensor's first element.
    Pointer {
        /// The tensor's name.
        tensor: String,
    },
    /// A number passed by value.
    Scalar {
        /// The name by which the caller may set it; without one it is always `value`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Its type in the kernel's signature.
        #[serde(rename = "type")]
        scalar: ScalarType,
        /// The value, or the default of a named scalar.
        value: ScalarValue,
    },
    /// Memory of the launcher's, whose address is a multiple of 256 and which overlaps no tensor.
    Workspace {
        /// The same name in two kernels of a function is the same memory.
        name: String,
        /// Its size in bytes.
        bytes: Expression,
        /// What it holds before the function's first kernel.
        #[serde(default, skip_serializing_if = "WorkspaceInit::is_zero")]
        init: WorkspaceInit,
    },
    /// A tensor map, passed by value.
    TensorMap(TensorMap),
}

/// What a workspace holds before the first kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceInit {
    /// Zeros before its first use ever; the kernels leave it zero.
    #[default]
    Zero,
    /// Anything: the kernels write what they read, and leave in it what they like.
    None,
}

/// What `cuTensorMapEncodeTiled` takes; dims from the innermost out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// The value of a scalar parameter: a size expression (which a plain integer is too) or a float.
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
        /// What the system said.
        source: io::Error,
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
        "'{}' is of manifest version {found}, and this program reads {MANIFEST_VERSION} and {CONDITIONAL_VERSION}: it takes a newer \
         release, or a bundle compiled by this one",
        path.display()
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

fn no_cluster() -> [u32; 3] {
    [1, 1, 1]
}

fn zero() -> Expression {
    Expression::Integer(0)
}

/// Where the bundle for `target` lies: `root` itself when a call compiles one target, `root/<target>` when several.
pub fn directory_for(root: &Path, target: &str, target_count: usize) -> PathBuf {
    if target_count == 1 {
        root.to_owned()
    } else {
        root.join(target)
    }
}

impl Manifest {
    /// Loads and checks `directory/manifest.json`.
    ///
    /// # Errors
    /// The file cannot be read, is no manifest, or contradicts itself.
    pub fn load(directory: &Path) -> Result<Manifest, ManifestError> {
        let path = directory.join(FILE_NAME);
        let text = fs::read_to_string(&path).map_err(|source| ManifestError::Read {
            path: path.clone(),
            source,
        })?;
        Manifest::parse(&text, &path)
    }

    /// Reads and checks the text of a manifest; `path` is what errors call it.
    ///
    /// # Errors
    /// The text is no manifest, or contradicts itself.
    pub fn parse(text: &str, path: &Path) -> Result<Manifest, ManifestError> {
        let wrong = |source| ManifestError::Parse {
            path: path.to_owned(),
            source,
        };
        // The version comes first: nothing else need be what this reader expects.
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
    /// The version that functions need.
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

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors().find(|tensor| tensor.name == name)
    }

    /// The symbols that appear in the tensors' shapes: what a caller must choose.
    pub fn size_symbols(&self) -> BTreeSet<&str> {
        self.tensors()
            .flat_map(|tensor| &tensor.shape)
            .flat_map(Expression::symbols)
            .collect()
    }

    /// The sizes that only outputs have and that are not `known`, each with the least value that the kernels take: they write so many elements,
    /// and a larger output keeps what was behind these. A size of which the manifest says no least is not among them.
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

    /// The symbols that appear only in strides: what a caller may choose.
    pub fn stride_symbols(&self) -> BTreeSet<&str> {
        let sizes = self.size_symbols();
        let all = self
            .tensors()
            .flat_map(|tensor| &tensor.strides)
            .flat_map(Expression::symbols);
        all.filter(|name| !sizes.contains(name)).collect()
    }

    /// The numbers among [`Self::named_scalars`] that conditions may be over and programs may read at, with their defaults: those of 64
    /// bits.
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
    /// What extent `dim` must be a multiple of.
    pub fn shape_multiple(&self, dim: usize) -> u64 {
        self.shape_multiples.get(dim).copied().unwrap_or(1)
    }

    /// What stride `dim` must be a multiple of, in elements.
    pub fn stride_multiple(&self, dim: usize) -> u64 {
        self.stride_multiples.get(dim).copied().unwrap_or(1)
    }
}

impl Kernel {
    /// The size of a cluster, in CTAs.
    pub fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }
}

impl WorkspaceInit {
    /// Whether it is zero.
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
            Err(ManifestError::Read { .. })
        ));
        fs::write(directory.path().join(FILE_NAME), &RMS_NORM[..RMS_NORM.len() / 2]).unwrap();
        assert!(matches!(
            Manifest::load(directory.path()),
            Err(ManifestError::Parse { .. })
        ));
    }

    #[test]
    fn several_targets_get_a_directory_each() {
        let root = Path::new("out");
        assert_eq!(directory_for(root, "sm_90a", 1), Path::new("out"));
        assert_eq!(directory_for(root, "sm_90a", 2), Path::new("out/sm_90a"));
    }
}
