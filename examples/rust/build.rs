//! Compiles the kernel.

fn main() -> Result<(), norma_build::Error> {
    norma_build::Kernels::new()
        .target("sm_90a")
        .compile("../rms_norm.mlir")
}
