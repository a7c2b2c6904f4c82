//! The norm and gl dialects: ODS, the little C++ MLIR needs, and typed Rust views.
