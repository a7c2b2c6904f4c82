//! Compiles the kernel.

fn main() -> Result<(), norma_build::Error> {
    norma_build::Kernels::new()
        .target("sm_80")
        .option("--ptx-fallback")
        .compile("../../../../examples/rms_norm.mlir")
}
