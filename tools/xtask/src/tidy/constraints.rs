//! Checks that every numbered check of a verifier has a negative test with the same name.
//!
//! The comment `// rms_norm_c3` beside a check in `dialects/norm/` (text may follow the number) corresponds to a function
//! `@rms_norm_c3` in `test/dialects/norm/invalid.mlir`. A second case is called `@rms_norm_c3_rank`; in generic form the name
//! is a `sym_name`. Several checks may belong to one constraint, and one check to several: `// read_c1, read_c2`.

use std::collections::BTreeMap;

use super::{Finding, Tree, pattern};

/// The path and offset of a name's first occurrence. Names are keyed by dialect, because two dialects may both have a
/// `reduce`.
type Places<'a> = BTreeMap<(&'a str, &'a str), (&'a str, usize)>;

/// Reports constraints without a test, and tests of constraints that no longer exist.
pub fn every_constraint_has_its_negative_test(tree: &Tree) -> Vec<Finding> {
    let is_source = |path: &str| path.ends_with(".cpp") || path.ends_with(".rs");
    let checked = places(
        tree,
        "dialects/",
        r"//[/!]?\s*(\w+_c\d+(?:,\s*\w+_c\d+)*)",
        is_source,
    );
    let tested = places(
        tree,
        "test/dialects/",
        r#"(?:@|sym_name = ")(\w+?_c\d+)(?:_\w+)?\b"#,
        |path| path.ends_with("/invalid.mlir"),
    );
    let mut findings = Vec::new();
    let mut find = |(path, offset): (&str, usize), text: String| {
        findings.push(Finding::at(
            path,
            tree.text(path).unwrap_or_default(),
            offset,
            text,
        ));
    };
    for ((dialect, name), place) in checked.iter().filter(|(key, _)| !tested.contains_key(*key)) {
        find(
            *place,
            format!("{name} has no @{name} in test/dialects/{dialect}/invalid.mlir"),
        );
    }
    for ((dialect, name), place) in tested.iter().filter(|(key, _)| !checked.contains_key(*key)) {
        find(
            *place,
            format!("@{name} tests a constraint that no verifier in dialects/{dialect} has"),
        );
    }
    findings
}

/// The first occurrence of each name that `text_pattern` captures, in the files below `root/<dialect>/`.
fn places<'a>(tree: &'a Tree, root: &str, text_pattern: &str, is_wanted: fn(&str) -> bool) -> Places<'a> {
    let named = pattern(text_pattern);
    let mut places = Places::new();
    for (path, text) in tree.files().filter(|(path, _)| is_wanted(path)) {
        let Some((dialect, _)) = path.strip_prefix(root).and_then(|rest| rest.split_once('/')) else {
            continue;
        };
        for names in named.captures_iter(text).filter_map(|capture| capture.get(1)) {
            for name in names.as_str().split(',').map(str::trim) {
                places.entry((dialect, name)).or_insert((path, names.start()));
            }
        }
    }
    places
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
        let source =
            "  // rms_norm_c1\n  // rms_norm_c2: the weight has the normalised shape\n  // rms_norm_c2\n";
        assert!(
            findings(
                source,
                "func.func @rms_norm_c1()\nfunc.func @rms_norm_c2_rank()\n"
            )
            .is_empty()
        );
    }

    #[test]
    fn a_constraint_without_test_is_found_once() {
        let expected =
            "dialects/norm/NormOps.cpp:2: reduce_c1 has no @reduce_c1 in test/dialects/norm/invalid.mlir";
        assert_eq!(findings("\n// reduce_c1\n// reduce_c1\n", ""), [expected]);
    }

    #[test]
    fn a_test_of_a_constraint_that_is_gone_is_found() {
        let expected = "test/dialects/norm/invalid.mlir:1: @reduce_c2 tests a constraint that no verifier in dialects/norm has";
        assert_eq!(
            findings("// reduce_c1\n", "@reduce_c2()\n@reduce_c1()\n"),
            [expected]
        );
    }

    #[test]
    fn another_dialects_test_does_not_count() {
        let files = [
            ("dialects/gl/GlOps.cpp", "// reduce_c1\n"),
            ("test/dialects/norm/invalid.mlir", "@reduce_c1\n"),
        ];
        assert_eq!(every_constraint_has_its_negative_test(&Tree::of(&files)).len(), 2);
    }
}
