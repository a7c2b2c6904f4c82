//! Checks that each example is in the index of examples and is run.

use super::{Finding, Tree};

const EXAMPLES: &str = "examples/";
/// The index.
const INDEX: &str = "examples/README.md";
/// The test that runs all of them.
const TEST: &str = "test/pipeline/examples.mlir";

/// Each `examples/<name>.mlir` is named by the index and by the test.
pub fn every_example_is_listed_and_run(tree: &Tree) -> Vec<Finding> {
    let examples = tree.files().filter_map(|(path, _)| {
        let name = path.strip_prefix(EXAMPLES)?;
        (name.ends_with(".mlir") && !name.contains('/')).then_some((path, name))
    });
    let findings = examples.flat_map(|(path, name)| {
        let listed = format!("`{name}`");
        let run = format!("norma-sim %examples/{name} ");
        let places = [(INDEX, listed), (TEST, run)].into_iter();
        places.filter_map(move |(place, mention)| {
            let is_there = tree.text(place).is_some_and(|text| text.contains(&mention));
            (!is_there).then(|| Finding::in_file(path, format!("{place} does not name it")))
        })
    });
    findings.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_that_is_not_listed_or_not_run_is_found() {
        let files = [
            ("examples/README.md", "`rms_norm.mlir`, `softmax.mlir`"),
            (
                "test/pipeline/examples.mlir",
                "norma-sim %examples/rms_norm.mlir -s\nnorma-sim %examples/l2_norm.mlir -s",
            ),
            ("examples/l2_norm.mlir", ""),
            ("examples/rms_norm.mlir", ""),
            ("examples/softmax.mlir", ""),
        ];
        let findings = every_example_is_listed_and_run(&Tree::of(&files));
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        let expected = [
            "examples/l2_norm.mlir: examples/README.md does not name it",
            "examples/softmax.mlir: test/pipeline/examples.mlir does not name it",
        ];
        assert_eq!(findings, expected);
    }
}
