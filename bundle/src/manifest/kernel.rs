//! A kernel of a function: its launch, and its parameters.

use serde::{Deserialize, Serialize};

use crate::condition::Condition;
use crate::element::Element;
use crate::expression::Expression;
use crate::program::Number;

/// The symbol of the device's number of multiprocessors.
pub const NUM_SMS: &str = "num_sms";
/// The symbol of the number of CTAs of the kernel that a multiprocessor holds ([`Kernel::counts_ctas`]).
pub const CTAS_PER_SM: &str = "ctas_per_sm";
/// The symbols that every launcher binds, in the order in which the compiler numbers them.
pub const DEVICE_SYMBOLS: [&str; 2] = [NUM_SMS, CTAS_PER_SM];

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

/// The most dims of a tensor map (CUDA driver API, `cuTensorMapEncodeTiled`).
pub const MAX_TENSOR_MAP_RANK: usize = 5;

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

fn no_cluster() -> [u32; 3] {
    [1, 1, 1]
}

fn zero() -> Expression {
    Expression::Integer(0)
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
