//! The names of the program. The build script links the others to the first; `cmake/CMakeLists.txt` does so where it installs.

/// Compiles functions to bundles.
pub const COMPILER: &str = "normac";
/// Runs kernels on the CPU and reports what they do wrong.
pub const SIMULATOR: &str = "norma-sim";
/// Runs passes and pipelines on a module.
pub const OPTIMIZER: &str = "norma-opt";
/// Serves editors of modules in Norma's dialects.
pub const LANGUAGE_SERVER: &str = "norma-lsp-server";

/// All of them; the first is that of the file, and the others are links to it.
pub const ALL: [&str; 4] = [COMPILER, SIMULATOR, OPTIMIZER, LANGUAGE_SERVER];
