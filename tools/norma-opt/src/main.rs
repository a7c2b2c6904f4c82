//! Runs passes and pipelines on a module, as mlir-opt does.

fn main() {}
