//! What a launch is: the kernel, its shape, its arguments, and the global memory it runs on.

use norma_bundle::Element;

/// One kernel launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launch {
    /// The kernel's symbol.
    pub kernel: String,
    /// CTAs along x, y and z.
    pub grid: [u32; 3],
    /// Threads along x, y and z.
    pub block: [u32; 3],
    /// CTAs of a cluster along x, y and z.
    pub cluster: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
    /// Whether it is a programmatic dependent launch, which may start before the launch ahead of it has ended: inputs
    /// that [`crate::Buffer::pending`] marks are not there before `griddepcontrol.wait`.
    pub programmatic: bool,
    /// The arguments, in order.
    pub arguments: Vec<Argument>,
}

/// A kernel argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The address of the buffer of that index.
    Buffer(usize),
    /// The bits of a number.
    Scalar(u64),
    /// A tensor map.
    TensorMap(TensorMap),
}

/// A tensor map (`CUtensorMap`) with all sizes known; dims are listed innermost first.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMap {
    /// The index of the buffer it maps.
    pub buffer: usize,
    /// The element type.
    pub element: Element,
    /// Extents in elements.
    pub dims: Vec<u64>,
    /// Strides in bytes of all dims but the innermost.
    pub strides: Vec<u64>,
    /// The box's extents in elements.
    pub box_dims: Vec<u32>,
    /// `CUtensorMapSwizzle`: 0 none, 1 32 B, 2 64 B, 3 128 B.
    pub swizzle: u32,
}
