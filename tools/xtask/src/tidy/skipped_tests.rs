//! Checks that a test which does not run gives its reason.

use super::{Finding, Tree, pattern};

/// There is no `#[ignore]`, and no `XFAIL:` or `UNSUPPORTED:` without a comment on the line above that gives the reason.
/// `REQUIRES:` is allowed: it names what the machine lacks, and the end of the test run counts such tests.
pub fn no_test_is_skipped_without_a_reason(tree: &Tree) -> Vec<Finding> {
    let ignored = pattern(r"#\[ignore\b");
    let mark = pattern(r"^\s*(//|#)\s*(XFAIL|UNSUPPORTED):");
    let reason = pattern(r"^\s*(//|#)\s*\w[^:]*$");
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        let is_test = path.ends_with(".mlir") || path.ends_with(".test");
        let mut above = "";
        for (index, line) in text.lines().enumerate() {
            let advice = if path.ends_with(".rs") && ignored.is_match(line.split("//").next().unwrap_or(line))
            {
                Some("a test that is ignored rots: repair it, or delete it")
            } else if is_test && mark.is_match(line) && !reason.is_match(above) {
                Some("say in a comment on the line above why this test does not run")
            } else {
                None
            };
            let found = advice.map(|text| Finding {
                path: path.to_owned(),
                line: Some(index + 1),
                text: text.to_owned(),
            });
            findings.extend(found);
            above = line;
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<Option<usize>> {
        no_test_is_skipped_without_a_reason(&Tree::of(&[(path, text)]))
            .iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn an_ignored_rust_test_is_found_whatever_its_reason() {
        let attribute = ["#[", "ignore"].concat();
        let text =
            format!("#[test]\n{attribute}]\nfn a() {{}}\n\n    {attribute} = \"slow\"]\nfn b() {{}}\n");
        assert_eq!(lines("a.rs", &text), [Some(2), Some(5)]);
    }

    #[test]
    fn an_expected_failure_needs_its_reason() {
        assert_eq!(
            lines("a.mlir", "// RUN: true\n// XFAIL: *\n// REQUIRES: gpu\n"),
            [Some(2)]
        );
        assert!(lines("a.mlir", "// ptxas 13.0 rejects its own output\n// XFAIL: *\n").is_empty());
    }
}
