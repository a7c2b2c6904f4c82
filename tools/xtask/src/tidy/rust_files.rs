//! Checks that every Rust file begins by saying what it is, and is named for it.

use super::{Finding, Tree};

/// Every `.rs` file begins with `//!`.
pub fn every_file_says_what_it_is(tree: &Tree) -> Vec<Finding> {
    let silent = rust_files(tree).filter(|(_, text)| !text.starts_with("//!"));
    silent
        .map(|(path, _)| Finding::in_file(path, "does not open with a `//!` comment that says what it is"))
        .collect()
}

/// No file has a name for unrelated contents, such as `utils`.
pub fn no_grab_bags(tree: &Tree) -> Vec<Finding> {
    let named_for_nothing = |path: &str| {
        let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        ["utils", "util", "helpers", "common", "misc"].contains(&stem)
    };
    let bags = rust_files(tree).filter(|(path, _)| named_for_nothing(path));
    bags.map(|(path, _)| Finding::in_file(path, "name the file for the one thing it does"))
        .collect()
}

fn rust_files(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.files().filter(|(path, _)| path.ends_with(".rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_its_opening_comment_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "//! What it is.\n"),
            ("b.rs", "use std::fs;\n"),
            ("c.py", "import os\n"),
        ]);
        let findings = every_file_says_what_it_is(&tree);
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.path.as_str())
                .collect::<Vec<_>>(),
            ["b.rs"]
        );
    }

    #[test]
    fn a_grab_bag_is_found() {
        let tree = Tree::of(&[("passes/src/utils.rs", ""), ("passes/src/util_rate.rs", "")]);
        let findings = no_grab_bags(&tree);
        assert_eq!(
            findings
                .iter()
                .map(|finding| finding.path.as_str())
                .collect::<Vec<_>>(),
            ["passes/src/utils.rs"]
        );
    }
}
