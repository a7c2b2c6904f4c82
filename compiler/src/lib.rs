//! The pipeline, targets, diagnostics, code emission and bundle writer.
