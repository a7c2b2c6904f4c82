//! A verifier's check is numbered, and the number names its negative test.
//!
//! `// rms_norm_c3` beside the check in `dialects/norm/` or `dialects/src/` (the comment may go on after the number)
//! answers to a function `@rms_norm_c3` in `test/dialects/norm/invalid.mlir`; a second case is `@rms_norm_c3_rank`.

use std::collections::BTreeSet;

use super::{Finding, Tree, pattern};

/// Both directions: a constraint without its test, and a test of a constraint that is gone.
pub fn every_constraint_has_its_negative_test(tree: &Tree) -> Vec<Finding> {
    let comment = pattern(r"(?m)//[/!]?\s*(\w+_c\d+)\b");
    let function = pattern(r"@(\w+?_c\d+)(?:_\w+)?\b");
    let mut findings = Vec::new();
    let mut checked = BTreeSet::new();
    let mut tested = Vec::new();
    for (path, text) in tree.files() {
        let is_test = path.starts_with("test/dialects/") && path.ends_with("/invalid.mlir");
        let is_source = path.starts_with("dialects/") && (path.ends_with(".cpp") || path.ends_with(".rs"));
        for capture in function.captures_iter(text).filter(|_| is_test) {
            tested.extend(
                capture
                    .get(1)
                    .map(|name| (path, text, name.start(), name.as_str())),
            );
        }
        for name in comment
            .captures_iter(text)
            .filter(|_| is_source)
            .filter_map(|capture| capture.get(1))
        {
            checked.insert((path, name.start(), name.as_str()));
        }
    }
    for (path, offset, name) in &checked {
        if !tested.iter().any(|(_, _, _, test)| test == name) {
            let text = tree.text(path).unwrap_or_default();
            let missing = format!("{name} has no @{name} in test/dialects/*/invalid.mlir");
            findings.push(Finding::at(path, text, *offset, missing));
        }
    }
    for (path, text, offset, name) in tested {
        if !checked.iter().any(|(_, _, check)| *check == name) {
            findings.push(Finding::at(
                path,
                text,
                offset,
                format!("@{name} tests a constraint that no verifier has"),
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(source: &str, test: &str) -> Vec<String> {
        let files = [
            ("dialects/norm/NormOps.cpp", source),
            ("test/dialects/norm/invalid.mlir", test),
        ];
        every_constraint_has_its_negative_test(&Tree::of(&files))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn constraints_and_tests_that_agree_are_fine() {
        let source = "  // rms_norm_c1\n  // rms_norm_c2: the weight has the normalised shape\n";
        assert!(
            findings(
                source,
                "func.func @rms_norm_c1()\nfunc.func @rms_norm_c2_rank()\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn a_constraint_without_test_is_found() {
        let expected =
            "dialects/norm/NormOps.cpp:2: reduce_c1 has no @reduce_c1 in test/dialects/*/invalid.mlir";
        assert_eq!(findings("\n// reduce_c1\n", ""), [expected]);
    }

    #[test]
    fn a_test_of_a_constraint_that_is_gone_is_found() {
        let expected =
            "test/dialects/norm/invalid.mlir:1: @reduce_c2 tests a constraint that no verifier has";
        assert_eq!(
            findings("// reduce_c1\n", "@reduce_c2()\n@reduce_c1()\n"),
            [expected]
        );
    }
}
