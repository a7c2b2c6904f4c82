//! Checks that the summary of the book in `docs/` lists every page, and that included files exist.

use std::path::Path;

use super::readme::joined;
use super::{Finding, Tree, pattern};

const SUMMARY: &str = "docs/SUMMARY.md";

/// Every page of `docs/` is listed in the summary; mdbook leaves out a page that is not. (The check of all links covers the
/// other direction.)
pub fn every_page_is_in_the_summary(tree: &Tree) -> Vec<Finding> {
    let summary = tree.text(SUMMARY).unwrap_or_default();
    let pages = tree.files().filter_map(|(path, _)| path.strip_prefix("docs/"));
    pages
        .filter(|page| page.ends_with(".md") && *page != "SUMMARY.md")
        .filter(|page| !summary.contains(&format!("]({page})")))
        .map(|page| Finding::in_file(SUMMARY, format!("docs/{page} is not in it")))
        .collect()
}

/// The file that `{{#include PATH}}` names exists, relative to the page's folder.
pub fn every_included_file_exists(tree: &Tree) -> Vec<Finding> {
    let include = pattern(r"\{\{#include ([^}:]+)[^}]*\}\}");
    let mut findings = Vec::new();
    for (page, text) in tree.files().filter(|(path, _)| path.starts_with("docs/")) {
        let folder = Path::new(page).parent().unwrap_or(Path::new(""));
        for path in include.captures_iter(text).filter_map(|capture| capture.get(1)) {
            if !tree.has(&joined(folder, path.as_str())) {
                let what = format!("there is no {}", path.as_str());
                findings.push(Finding::at(page, text, path.start(), what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_the_summary_lacks_is_found() {
        let tree = Tree::of(&[
            (SUMMARY, "- [A](a.md)\n- [B](b/c.md)\n"),
            ("docs/a.md", ""),
            ("docs/b/c.md", ""),
            ("docs/b/d.md", ""),
            ("docs/book.toml", ""),
        ]);
        let found: Vec<_> = every_page_is_in_the_summary(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["docs/SUMMARY.md: docs/b/d.md is not in it"]);
    }

    #[test]
    fn an_included_file_that_is_gone_is_found() {
        let page = "{{#include ../../norm/norm.md}}\n{{#include ../../norm/gone.md:part}}\n";
        let tree = Tree::of(&[("docs/reference/norm.md", page), ("norm/norm.md", "")]);
        let found: Vec<_> = every_included_file_exists(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            ["docs/reference/norm.md:2: there is no ../../norm/gone.md"]
        );
    }
}
