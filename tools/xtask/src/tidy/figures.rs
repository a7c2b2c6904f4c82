//! Checks that the speeds in README occur in the pages of measurements that it links.

use std::collections::BTreeSet;

use super::{Finding, Tree, pattern};

const README: &str = "README.md";

/// In a table of README, each row that links a page of `docs/measurements/` contains only dates and numbers of that page.
/// Numbers of one or two digits are ignored, because they are parts of names.
pub fn every_speed_was_measured(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(README).unwrap_or_default();
    let row = pattern(r"(?m)^\|.*\]\((docs/measurements/[\w.-]+)\).*$");
    let figure = pattern(r"\d{4}-\d\d-\d\d|\d{3,}");
    let mut findings = Vec::new();
    for capture in row.captures_iter(text) {
        let (Some(row), Some(page)) = (capture.get(0), capture.get(1)) else {
            continue;
        };
        let measured = tree.text(page.as_str()).unwrap_or_default();
        let measured: BTreeSet<&str> = figure.find_iter(measured).map(|figure| figure.as_str()).collect();
        for shown in figure.find_iter(row.as_str()) {
            let start = row.start() + shown.start();
            if !page.range().contains(&start) && !measured.contains(shown.as_str()) {
                let what = format!("{} has no {}", page.as_str(), shown.as_str());
                findings.push(Finding::at(README, text, start, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_that_its_page_lacks_is_found() {
        let readme = "| norm | 16384 x 4096 | 4097 | [2026-11-20](docs/measurements/a-h200.md) |\n\
                      | norm | 16384 x 4096 | 4097 | [2026-11-21](docs/measurements/a-h200.md) |\n\
                      | norm | 16384 x 4096 | 409 | [2026-11-20](docs/measurements/a-h200.md) |\n";
        let page = "2026-11-20\n\n| 16384x4096 | 4097 |\n";
        let tree = Tree::of(&[(README, readme), ("docs/measurements/a-h200.md", page)]);
        let found: Vec<_> = every_speed_was_measured(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "README.md:2: docs/measurements/a-h200.md has no 2026-11-21",
                "README.md:3: docs/measurements/a-h200.md has no 409"
            ]
        );
    }
}
