//! The ahead-of-time bundle: manifest, size expressions, and the scalar program's reference evaluator.
