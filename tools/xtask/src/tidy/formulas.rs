//! Checks that every named op is defined twice, independently: by its decomposition, and by the oracle's formula.

use super::{Finding, Tree};

const DECOMPOSITIONS: &str = "passes/src/norm/decompose/";
/// The module that decompositions are built with: a file and a folder.
const BUILDER: &str = "program";

/// The prefix of files for ops of `linalg` that are equivalent to the named op of the remaining name.
const OF_LINALG: &str = "linalg_";

/// Each `passes/src/norm/decompose/<op>.rs` has its `oracle/src/named/<op>.rs`; otherwise nothing would judge the op's
/// results.
pub fn every_decomposition_has_its_formula(tree: &Tree) -> Vec<Finding> {
    let ops = tree.files().filter_map(|(path, _)| {
        let op = path.strip_prefix(DECOMPOSITIONS)?.strip_suffix(".rs")?;
        let is_op = op != BUILDER && !op.contains('/');
        is_op.then_some((path, op))
    });
    let missing = ops.filter_map(|(path, op)| {
        let op = op.strip_prefix(OF_LINALG).unwrap_or(op);
        let formula = format!("oracle/src/named/{op}.rs");
        (!tree.has(&formula)).then(|| Finding::in_file(path, format!("the oracle has no {formula}")))
    });
    missing.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decomposition_without_formula_is_found() {
        let files = [
            ("passes/src/norm/decompose/program.rs", ""),
            ("passes/src/norm/decompose/program/access.rs", ""),
            ("passes/src/norm/decompose/rms_norm.rs", ""),
            ("passes/src/norm/decompose/linalg_rms_norm.rs", ""),
            ("passes/src/norm/decompose/softmax.rs", ""),
            ("oracle/src/named/rms_norm.rs", ""),
        ];
        let findings = every_decomposition_has_its_formula(&Tree::of(&files));
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].path, "passes/src/norm/decompose/softmax.rs");
    }
}
