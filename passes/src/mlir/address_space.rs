//! The address spaces of LLVM pointers on NVIDIA GPUs (LLVM, "User Guide for NVPTX Back-end"; MLIR's `NVVMMemorySpace`).

/// Any memory; which one is found from the address.
pub const GENERIC: u32 = 0;
/// The device's memory.
pub const GLOBAL: u32 = 1;
/// The CTA's shared memory.
pub const SHARED: u32 = 3;
/// The shared memory of all CTAs of a cluster.
pub const CLUSTER_SHARED: u32 = 7;
