//! Checks that every pass is declared in Passes.td, implemented in its own file, tested under its own name, and documented.

use super::{Finding, Tree, pattern};

const TABLE: &str = "passes/Passes.td";

/// A declaration, as `def NormTile : Pass<"norm-tile", ...> { ... }`.
struct Declared<'a> {
    argument: &'a str,
    offset: usize,
    body: &'a str,
}

/// Every pass has `passes/src/<level>/<rest>.rs`, where the argument's first word is the level, and
/// `test/passes/<argument>.mlir`.
pub fn every_pass_has_its_files(tree: &Tree) -> Vec<Finding> {
    let table = tree.text(TABLE).unwrap_or_default();
    let mut findings = Vec::new();
    for pass in declared(table) {
        let module = pass.argument.replacen('-', "/", 1).replace('-', "_");
        let source = format!("passes/src/{module}.rs");
        if !tree.has(&source) {
            findings.push(Finding::at(
                TABLE,
                table,
                pass.offset,
                format!("{} has no {source}", pass.argument),
            ));
        }
        let test = format!("test/passes/{}.mlir", pass.argument);
        if !tree.has(&test) {
            findings.push(Finding::at(
                TABLE,
                table,
                pass.offset,
                format!("{} has no {test}", pass.argument),
            ));
        }
    }
    findings
}

/// Every pass has a summary, and a description with the words Requires and Guarantees.
pub fn every_pass_says_what_it_requires_and_guarantees(tree: &Tree) -> Vec<Finding> {
    let table = tree.text(TABLE).unwrap_or_default();
    let mut findings = Vec::new();
    for pass in declared(table) {
        for word in ["let summary", "let description", "Requires", "Guarantees"] {
            if !pass.body.contains(word) {
                findings.push(Finding::at(
                    TABLE,
                    table,
                    pass.offset,
                    format!("{} lacks `{word}`", pass.argument),
                ));
            }
        }
    }
    findings
}

fn declared(table: &str) -> Vec<Declared<'_>> {
    let declaration = pattern(r#"(?m)^def\s+\w+\s*:\s*\w*Pass<\s*"([^"]+)""#);
    let found: Vec<_> = declaration
        .captures_iter(table)
        .filter_map(|capture| Some((capture.get(0)?, capture.get(1)?)))
        .collect();
    let ends = found
        .iter()
        .skip(1)
        .map(|(whole, _)| whole.start())
        .chain([table.len()]);
    found
        .iter()
        .zip(ends)
        .map(|((whole, argument), end)| Declared {
            argument: argument.as_str(),
            offset: whole.start(),
            body: &table[whole.start()..end],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "def NormTile : Pass<\"norm-tile\"> {\n  let summary = \"tile\";\n  let description = [{\n\
                        Requires: a schedule.\n    Guarantees: a tile.\n  }];\n}\n";

    #[test]
    fn a_pass_with_file_and_test_is_fine() {
        let files = [
            (TABLE, GOOD),
            ("passes/src/norm/tile.rs", ""),
            ("test/passes/norm-tile.mlir", ""),
        ];
        assert!(every_pass_has_its_files(&Tree::of(&files)).is_empty());
        assert!(every_pass_says_what_it_requires_and_guarantees(&Tree::of(&files)).is_empty());
    }

    #[test]
    fn a_pass_without_file_or_test_is_found_at_its_line() {
        let table = format!("{GOOD}def NormPack : Pass<\"norm-pack\", \"ModuleOp\"> {{}}\n");
        let files = [
            (TABLE, table.as_str()),
            ("passes/src/norm/tile.rs", ""),
            ("test/passes/norm-tile.mlir", ""),
        ];
        let findings = every_pass_has_its_files(&Tree::of(&files));
        let findings: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                "passes/Passes.td:8: norm-pack has no passes/src/norm/pack.rs",
                "passes/Passes.td:8: norm-pack has no test/passes/norm-pack.mlir"
            ]
        );
    }

    #[test]
    fn a_neighbours_words_do_not_count() {
        let table = format!("def NormPack : Pass<\"norm-pack\"> {{ let summary = \"pack\"; }}\n{GOOD}");
        let findings = every_pass_says_what_it_requires_and_guarantees(&Tree::of(&[(TABLE, &table)]));
        let texts: Vec<_> = findings.iter().map(|finding| finding.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "norm-pack lacks `let description`",
                "norm-pack lacks `Requires`",
                "norm-pack lacks `Guarantees`"
            ]
        );
    }
}
