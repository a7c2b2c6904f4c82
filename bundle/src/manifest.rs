//! `manifest.json`: everything a launcher needs to know about a bundle.
//!
//! The types are the format: the compiler fills them in and serializes them, a launcher loads them. Loading checks
//! all that can be checked without a device, so that a launcher may rely on names, ranks and expressions. Fields
//! that a newer producer adds are ignored; a field never changes its meaning under the same version.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::definition::Definition;
use crate::element::Element;
use crate::expression::Expression;
use crate::program::Number;

/// The version of the format that this crate writes and reads.
pub const MANIFEST_VERSION: u32 = 1;
/// The manifest's name within its directory.
pub const FILE_NAME: &str = "manifest.json";
/// The symbols that every launcher binds: the device's multiprocessors, and how many CTAs of the kernel one holds.
pub const DEVICE_SYMBOLS: [&str; 2] = ["num_sms", "ctas_per_sm"];

/// A bundle for one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format's version, [`MANIFEST_VERSION`].
    pub manifest_version: u32,
    /// Which compiler wrote the bundle.
    pub producer: String,
    /// The architecture the cubins are for, such as `sm_90a`.
    pub target: String,
    /// What can be launched.
    pub functions: Vec<Function>,
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
    /// The kernels, in launch order.
    pub kernels: Vec<Kernel>,
    /// What the function computes, as its author wrote it; absent where the compiler's input no longer said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
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
    /// What each stride must be a multiple of, in elements; all 1 where absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stride_multiples: Vec<u64>,
    /// 32 where the kernels compute offsets into this tensor in 32-bit signed integers, so that no offset may
    /// reach 2^31 elements; 64 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bits: Option<u32>,
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
    /// The architecture of the cubin; the manifest's own.
    pub target: String,
    /// What the launcher reads off the tensors before it evaluates this kernel's expressions.
    #[serde(default)]
    pub symbols: Vec<Symbol>,
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
    /// Scratch memory, zero-filled before its first use and left zero by the kernels.
    Workspace {
        /// The same name in two kernels of a function is the same memory.
        name: String,
        /// Its size in bytes.
        bytes: Expression,
    },
    /// A tensor map, passed by value.
    TensorMap(TensorMap),
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
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|source| ManifestError::Parse { path, source })?;
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

    /// Checks what needs no device: the version, that every name refers to something, that ranks agree, that
    /// expressions use known symbols, and that files lie in the bundle's directory.
    ///
    /// # Errors
    /// The first inconsistency, with its place.
    pub fn validate(&self) -> Result<(), ManifestError> {
        if self.manifest_version != MANIFEST_VERSION {
            let message = format!("expected {MANIFEST_VERSION}, got {}", self.manifest_version);
            return Err(inconsistent("manifest_version", message));
        }
        let mut names = BTreeSet::new();
        for function in &self.functions {
            if !names.insert(&function.name) {
                return Err(inconsistent(&function.name, "two functions have this name"));
            }
            function.validate(&self.target)?;
        }
        Ok(())
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

    /// The symbols that appear only in strides: what a caller may choose.
    pub fn stride_symbols(&self) -> BTreeSet<&str> {
        let sizes = self.size_symbols();
        let all = self
            .tensors()
            .flat_map(|tensor| &tensor.strides)
            .flat_map(Expression::symbols);
        all.filter(|name| !sizes.contains(name)).collect()
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

    fn validate(&self, target: &str) -> Result<(), ManifestError> {
        let mut names = BTreeSet::new();
        for tensor in self.tensors() {
            let at = format!("{}.{}", self.name, tensor.name);
            if !names.insert(&tensor.name) {
                return Err(inconsistent(&at, "two tensors have this name"));
            }
            tensor.validate(&at)?;
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            kernel.validate(self, target, &format!("{}.kernels[{index}]", self.name))?;
        }
        if let Some(definition) = &self.definition {
            definition.validate(self).map_err(|error| {
                inconsistent(&format!("{}.definition.{}", self.name, error.at), error.message)
            })?;
        }
        Ok(())
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

    fn validate(&self, at: &str) -> Result<(), ManifestError> {
        let rank = self.shape.len();
        if self.strides.len() != rank {
            return Err(inconsistent(
                at,
                format!("expected {rank} strides, got {}", self.strides.len()),
            ));
        }
        for (field, multiples) in [
            ("shape_multiples", &self.shape_multiples),
            ("stride_multiples", &self.stride_multiples),
        ] {
            if !multiples.is_empty() && multiples.len() != rank {
                let message = format!("expected {rank} {field}, got {}", multiples.len());
                return Err(inconsistent(at, message));
            }
            if multiples.contains(&0) {
                return Err(inconsistent(at, format!("expected positive {field}, got 0")));
            }
        }
        if !self.align.is_power_of_two() {
            return Err(inconsistent(
                at,
                format!("expected align to be a power of two, got {}", self.align),
            ));
        }
        if let Some(bits) = self.index_bits
            && bits != 32
            && bits != 64
        {
            return Err(inconsistent(
                at,
                format!("expected index_bits to be 32 or 64, got {bits}"),
            ));
        }
        Ok(())
    }
}

impl Kernel {
    /// The size of a cluster, in CTAs.
    pub fn cluster_size(&self) -> u32 {
        self.cluster.iter().product()
    }

    fn validate(&self, function: &Function, target: &str, at: &str) -> Result<(), ManifestError> {
        if self.target != target {
            return Err(inconsistent(
                at,
                format!("expected target '{target}', got '{}'", self.target),
            ));
        }
        // A bundle may come from anywhere; the files that it names must not.
        let files = [("cubin", Some(&self.cubin)), ("module", self.module.as_ref())];
        for (what, file) in files.into_iter().filter_map(|(what, file)| Some((what, file?))) {
            if Path::new(file)
                .file_name()
                .is_none_or(|name| name != file.as_str())
            {
                let message = format!("expected {what} to be a file name, got '{file}'");
                return Err(inconsistent(at, message));
            }
        }
        let extents = self.block.iter().chain(&self.cluster);
        if extents.clone().any(|extent| *extent == 0 || *extent > 1024) {
            return Err(inconsistent(
                at,
                "expected block and cluster extents from 1 to 1024",
            ));
        }
        let tensor_of = |name: &str, at: &str| {
            function
                .tensor(name)
                .ok_or_else(|| inconsistent(at, format!("no tensor is named '{name}'")))
        };
        for symbol in &self.symbols {
            let at = format!("{at}.symbols.{}", symbol.name);
            let rank = tensor_of(&symbol.tensor, &at)?.shape.len();
            if symbol.dim >= rank {
                let message = format!(
                    "expected a dim below {rank} of '{}', got {}",
                    symbol.tensor, symbol.dim
                );
                return Err(inconsistent(&at, message));
            }
        }
        let check = |expression: &Expression, at: &str| self.check_symbols(expression, at);
        for extent in &self.grid {
            check(extent, &format!("{at}.grid"))?;
        }
        check(&self.shared_bytes, &format!("{at}.shared_bytes"))?;
        check(&self.bytes_read, &format!("{at}.bytes_read"))?;
        check(&self.bytes_written, &format!("{at}.bytes_written"))?;
        for (index, argument) in self.args.iter().enumerate() {
            let at = format!("{at}.args[{index}]");
            match argument {
                Argument::Pointer { tensor } => {
                    tensor_of(tensor, &at)?;
                }
                Argument::Scalar {
                    value: ScalarValue::Expression(value),
                    ..
                } => check(value, &at)?,
                Argument::Scalar {
                    value: ScalarValue::Float(_),
                    scalar,
                    ..
                } => {
                    if !matches!(scalar, ScalarType::F32 | ScalarType::F64) {
                        return Err(inconsistent(&at, "expected an integer value for an integer type"));
                    }
                }
                Argument::Workspace { bytes, .. } => check(bytes, &at)?,
                Argument::TensorMap(map) => {
                    tensor_of(&map.tensor, &at)?;
                    map.dims
                        .iter()
                        .chain(&map.strides_bytes)
                        .try_for_each(|size| check(size, &at))?;
                    let rank = map.dims.len();
                    if !(1..=5).contains(&rank)
                        || map.strides_bytes.len() + 1 != rank
                        || map.box_dims.len() != rank
                    {
                        let message = format!(
                            "expected 1 to 5 dims, as many box extents and one stride fewer, got {rank}, {} and {}",
                            map.box_dims.len(),
                            map.strides_bytes.len()
                        );
                        return Err(inconsistent(&at, message));
                    }
                }
            }
        }
        Ok(())
    }

    fn check_symbols(&self, expression: &Expression, at: &str) -> Result<(), ManifestError> {
        let known = |name: &str| {
            DEVICE_SYMBOLS.contains(&name) || self.symbols.iter().any(|symbol| symbol.name == name)
        };
        match expression.symbols().into_iter().find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => Err(inconsistent(
                at,
                format!("'{expression}' uses '{name}', which is no symbol"),
            )),
        }
    }
}

impl ScalarType {
    /// Whether the type is a float.
    pub fn is_float(self) -> bool {
        matches!(self, ScalarType::F32 | ScalarType::F64)
    }
}

fn inconsistent(at: &str, message: impl Into<String>) -> ManifestError {
    ManifestError::Inconsistent {
        at: at.to_owned(),
        message: message.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RMS_NORM: &str = include_str!("../testdata/rms_norm.json");

    fn rms_norm() -> Manifest {
        serde_json::from_str(RMS_NORM).unwrap()
    }

    fn complaint(change: impl FnOnce(&mut Manifest)) -> String {
        let mut manifest = rms_norm();
        change(&mut manifest);
        manifest.validate().unwrap_err().to_string()
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
    fn a_future_version_is_refused() {
        assert!(complaint(|m| m.manifest_version = 2).contains("expected 1, got 2"));
    }

    #[test]
    fn names_must_refer_to_something() {
        let pointer = |m: &mut Manifest| {
            m.functions[0].kernels[0].args[0] = Argument::Pointer { tensor: "z".into() };
        };
        assert_eq!(
            complaint(pointer),
            "the manifest is inconsistent: rms_norm.kernels[0].args[0]: no tensor is named 'z'"
        );
        let grid = |m: &mut Manifest| m.functions[0].kernels[0].grid[1] = Expression::symbol("k");
        assert!(complaint(grid).contains("'k' uses 'k', which is no symbol"));
        let dim = |m: &mut Manifest| m.functions[0].kernels[0].symbols[0].dim = 2;
        assert!(complaint(dim).contains("expected a dim below 2 of 'x', got 2"));
    }

    #[test]
    fn files_lie_in_the_bundle() {
        for path in ["../evil.cubin", "/tmp/evil.cubin", "a/b.cubin", ""] {
            let cubin = |m: &mut Manifest| m.functions[0].kernels[0].cubin = path.into();
            assert!(
                complaint(cubin).contains("expected cubin to be a file name"),
                "{path}"
            );
            let module = |m: &mut Manifest| m.functions[0].kernels[0].module = Some(path.into());
            assert!(
                complaint(module).contains("expected module to be a file name"),
                "{path}"
            );
        }
    }

    #[test]
    fn tensors_are_checked() {
        assert!(complaint(|m| m.functions[0].inputs[0].align = 12).contains("power of two"));
        let rank = |m: &mut Manifest| {
            m.functions[0].inputs[0].strides.pop();
        };
        assert!(complaint(rank).contains("expected 2 strides, got 1"));
        let twice = |m: &mut Manifest| m.functions[0].outputs[0].name = "x".into();
        assert!(complaint(twice).contains("two tensors have this name"));
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
