//! Checks that sections named in links and messages exist: renaming a heading does not show what refers to it.

use std::collections::BTreeSet;
use std::path::Path;

use super::readme::joined;
use super::{Finding, Tree, pattern};

/// Every section that a program names, such as `docs/install.md, "LLVM 22 elsewhere"`, is a heading of that page.
pub fn every_section_in_a_message_exists(tree: &Tree) -> Vec<Finding> {
    let named = pattern(r#"\b((?:README|docs/[\w/.-]+)\.md), \\?"([^"\\]+)\\?""#);
    let is_program = |path: &str| path.ends_with(".rs") || path.ends_with(".py");
    let mut findings = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_program(path)) {
        for capture in named.captures_iter(text) {
            let (Some(page), Some(section)) = (capture.get(1), capture.get(2)) else {
                continue;
            };
            if !headings(tree, page.as_str()).contains(section.as_str()) {
                let what = format!("{} has no section \"{}\"", page.as_str(), section.as_str());
                findings.push(Finding::at(path, text, section.start(), what));
            }
        }
    }
    findings
}

/// Every link to a section of a page, `page.md#section` or `#section` of the page itself, leads to a heading.
pub fn every_linked_section_exists(tree: &Tree) -> Vec<Finding> {
    let link = pattern(r"\]\(([\w./-]*)#([^)\s]+)\)");
    let is_page = |path: &str| path.ends_with("README.md") || path.starts_with("docs/");
    let mut findings = Vec::new();
    for (page, text) in tree.files().filter(|(path, _)| is_page(path)) {
        let folder = Path::new(page).parent().unwrap_or(Path::new(""));
        for capture in link.captures_iter(text) {
            let (Some(path), Some(section)) = (capture.get(1), capture.get(2)) else {
                continue;
            };
            let linked = match path.as_str() {
                "" => page.to_owned(),
                path => joined(folder, path),
            };
            let is_there = headings(tree, &linked)
                .iter()
                .any(|heading| anchor(heading) == section.as_str());
            if !is_there {
                let what = format!("{linked} has no section #{}", section.as_str());
                findings.push(Finding::at(page, text, section.start(), what));
            }
        }
    }
    findings
}

/// The headings of a page and of the files that it includes.
fn headings(tree: &Tree, page: &str) -> BTreeSet<String> {
    let text = tree.text(page).unwrap_or_default();
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let include = pattern(r"\{\{#include ([^}:]+)\}\}");
    let included = include.captures_iter(text).filter_map(|capture| {
        let path = capture.get(1)?;
        tree.text(&joined(folder, path.as_str()))
    });
    let heading = pattern(r"(?m)^#+ +(.+)$");
    let mut headings = BTreeSet::new();
    for text in included.chain([text]) {
        let found = heading.captures_iter(text).filter_map(|capture| capture.get(1));
        headings.extend(found.map(|heading| heading.as_str().to_owned()));
    }
    headings
}

/// The anchor that mdbook and GitHub generate for a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | ' '));
    kept.map(|letter| match letter {
        ' ' => '-',
        letter => letter.to_ascii_lowercase(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_message_that_names_a_section_that_is_gone_is_found() {
        // Written in parts, because this file is checked too.
        let (there, gone) = ("\\\"Set-up, on Debian\\\"", "\\\"Gone\\\"");
        let program = format!("\"docs/a.md, {there}\"\n\"docs/a.md, {gone}\"\n");
        let tree = Tree::of(&[("a.rs", &program), ("docs/a.md", "# A\n\n## Set-up, on Debian\n")]);
        assert_eq!(
            texts(&every_section_in_a_message_exists(&tree)),
            ["a.rs:2: docs/a.md has no section \"Gone\""]
        );
    }

    #[test]
    fn a_link_to_a_section_that_is_gone_is_found() {
        let page =
            "# A\n\n## Set-up, on `Debian`\n[a](#set-up-on-debian) [b](b/c.md#-pass) [c](b/c.md#gone)\n";
        let tree = Tree::of(&[
            ("docs/a.md", page),
            ("docs/b/c.md", "{{#include ../../passes/Passes.md}}\n"),
            ("passes/Passes.md", "### `-pass`\n"),
        ]);
        assert_eq!(
            texts(&every_linked_section_exists(&tree)),
            ["docs/a.md:4: docs/b/c.md has no section #gone"]
        );
    }
}
