//! `cargo xtask tidy`: checks that facts which are stated in two places agree.
//!
//! A check is a function from the repository's text to its findings, so that its tests can use made-up repositories. The
//! checks also run as a test of this crate, so that `cargo test` detects drift.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::workspace;

mod book;
mod constraints;
mod cuda_release;
mod examples;
mod figures;
mod formulas;
mod passes;
mod readme;
mod rust_files;
mod sections;
mod skipped_tests;

/// The text files of the repository by their paths from its root. A file that is not UTF-8 is left out.
#[derive(Default)]
struct Tree(BTreeMap<String, String>);

/// A finding: the place, and what to do about it.
#[derive(Debug, PartialEq)]
struct Finding {
    path: String,
    line: Option<usize>,
    text: String,
}

type Check = fn(&Tree) -> Vec<Finding>;

/// All checks.
const CHECKS: &[Check] = &[
    passes::every_pass_has_its_files,
    passes::every_pass_says_what_it_requires_and_guarantees,
    constraints::every_constraint_has_its_negative_test,
    formulas::every_decomposition_has_its_formula,
    examples::every_example_is_listed_and_run,
    rust_files::every_file_says_what_it_is,
    rust_files::no_grab_bags,
    cuda_release::every_mention_is_of_the_pinned_release,
    readme::every_named_path_exists,
    readme::every_named_variable_is_read,
    readme::the_picture_has_the_pipelines_passes,
    readme::every_listing_is_of_an_example,
    book::every_page_is_in_the_summary,
    book::every_included_file_exists,
    sections::every_section_in_a_message_exists,
    sections::every_linked_section_exists,
    figures::every_speed_was_measured,
    skipped_tests::no_test_is_skipped_without_a_reason,
];

/// Folders that contain nothing of the project's.
const NOT_OURS: &[&str] = &[".git", ".toolchain", "target", "__pycache__"];

/// Runs all checks on the repository and prints their findings.
///
/// # Errors
/// If a check has findings or a file cannot be read.
pub fn run() -> Result<(), Failure> {
    let tree = Tree::read(&workspace::root())?;
    let findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(Failure::Check(format!("tidy: {count} to put right"))),
    }
}

impl Tree {
    fn read(root: &Path) -> Result<Self, Failure> {
        let mut tree = Self::default();
        tree.add(root, root)?;
        Ok(tree)
    }

    fn add(&mut self, root: &Path, folder: &Path) -> Result<(), Failure> {
        for entry in fs::read_dir(folder).map_err(Failure::file("list", folder))? {
            let entry = entry.map_err(Failure::file("list", folder))?;
            let path = entry.path();
            if NOT_OURS.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            if path.is_dir() {
                self.add(root, &path)?;
            } else if let Ok(text) = fs::read_to_string(&path) {
                let name = path
                    .strip_prefix(root)
                    .unwrap_or(&path)
                    .to_string_lossy()
                    .into_owned();
                self.0.insert(name, text);
            }
        }
        Ok(())
    }

    fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Whether a path is a file, or a folder that contains a file.
    fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.0.contains_key(path) || self.0.keys().any(|file| file.starts_with(&folder))
    }

    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        )
    }
}

impl Finding {
    fn in_file(path: &str, text: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            text: text.into(),
        }
    }

    /// A finding at `offset`, a byte offset in `content`, the text of the file.
    fn at(path: &str, content: &str, offset: usize, text: impl Into<String>) -> Self {
        let line = content[..offset].matches('\n').count() + 1;
        Self {
            path: path.to_owned(),
            line: Some(line),
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.text),
            None => write!(f, "{}: {}", self.path, self.text),
        }
    }
}

/// Compiles a pattern that is written in this crate.
#[expect(
    clippy::expect_used,
    reason = "patterns are literals, and each is used by a test"
)]
pub fn pattern(text: &str) -> regex_lite::Regex {
    regex_lite::Regex::new(text).expect("valid pattern")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let tree = Tree::read(&workspace::root()).unwrap();
        let findings: Vec<String> = CHECKS
            .iter()
            .flat_map(|check| check(&tree))
            .map(|finding| finding.to_string())
            .collect();
        assert!(findings.is_empty(), "{}", findings.join("\n"));
    }

    #[test]
    fn a_finding_names_its_line() {
        assert_eq!(
            Finding::at("a.rs", "x\ny\nz", 4, "bad").to_string(),
            "a.rs:3: bad"
        );
    }
}
