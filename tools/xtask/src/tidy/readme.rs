//! Checks that paths and environment variables named in READMEs and docs exist; these go stale most easily.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Finding, Tree, pattern};

const README: &str = "README.md";
const BOOK: &str = "docs/";
/// The page with the diagram of the levels.
const STRUCTURE: &str = "docs/structure.md";
const PIPELINE: &str = "compiler/src/pipeline.rs";
const TABLE: &str = "passes/Passes.td";

/// Prefixes of paths that are not in the tree: build products, installed files, a command's output folder, and the user's
/// current folder.
const GENERATED: &[&str] = &["target/", ".toolchain/", "DIR/", "./"];

/// Every path in backquotes and every link into the repository, in a README or a page of `docs/`, exists in the tree:
/// relative to the root, to the page's folder, or to one of its parents. A word in backquotes counts as a path if it has a
/// slash and no wildcard.
pub fn every_named_path_exists(tree: &Tree) -> Vec<Finding> {
    let quoted = pattern(r"`([\w.][\w.-]*/[\w./-]*)`|\]\(([\w./-]+)(?:#[^)]*)?\)");
    let is_page =
        |path: &str| path.ends_with("README.md") || path.starts_with("docs/") && path.ends_with(".md");
    let mut findings = Vec::new();
    for (page, text) in tree.files().filter(|(path, _)| is_page(path)) {
        let folders: Vec<&Path> = Path::new(page).ancestors().skip(1).collect();
        let is_there = |name: &str| {
            GENERATED.iter().any(|folder| name.starts_with(folder))
                || folders.iter().any(|folder| tree.has(&joined(folder, name)))
        };
        let named = quoted
            .captures_iter(text)
            .filter_map(|capture| capture.get(1).or(capture.get(2)));
        findings.extend(named.filter(|name| !is_there(name.as_str())).map(|name| {
            let what = format!("there is no {}", name.as_str());
            Finding::at(page, text, name.start(), what)
        }));
    }
    findings
}

/// A path below a folder of the tree, with `..` resolved.
pub(super) fn joined(folder: &Path, name: &str) -> String {
    let mut path = folder.to_path_buf();
    for part in name.split('/') {
        match part {
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    path.to_string_lossy().into_owned()
}

/// The diagram of the levels and the pipeline contain the same passes of Norma.
pub fn the_picture_has_the_pipelines_passes(tree: &Tree) -> Vec<Finding> {
    let text = tree.text(STRUCTURE).unwrap_or_default();
    let pipeline = tree.text(PIPELINE).unwrap_or_default();
    let table = tree.text(TABLE).unwrap_or_default();
    let pass = pattern(r"\b(?:norm|gl|convert)-[a-z0-9-]+");
    let mut run: BTreeMap<&str, usize> = BTreeMap::new();
    for name in pass.find_iter(pipeline) {
        run.entry(name.as_str()).or_insert(name.start());
    }
    let mut pictured = BTreeSet::new();
    let mut findings = Vec::new();
    // An arrow of the diagram, with the passes on it.
    for arrow in pattern(r"(?m)^ +\|.*$").find_iter(text) {
        for name in pass.find_iter(arrow.as_str()) {
            pictured.insert(name.as_str());
            if !run.contains_key(name.as_str()) {
                let what = format!("{PIPELINE} has no {}", name.as_str());
                findings.push(Finding::at(STRUCTURE, text, arrow.start() + name.start(), what));
            }
        }
    }
    let is_ours = |name: &str| table.contains(&format!("\"{name}\""));
    let missing = run
        .iter()
        .filter(|(name, _)| is_ours(name) && !pictured.contains(*name));
    findings.extend(missing.map(|(name, offset)| {
        let what = format!("the picture of the levels in {STRUCTURE} has no {name}");
        Finding::at(PIPELINE, pipeline, *offset, what)
    }));
    findings
}

/// A listing in a language of programs or build files. A listing with a file of its own (`file=NAME` after the language) does
/// not match; the page's tests check it.
const LISTING: &str = r"(?s)```(c|cmake|cpp|mlir|python|rust|toml)\n(.*?)```";

/// README and the pages of the book.
fn pages(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    let is_page = |path: &str| path == README || path.starts_with(BOOK) && path.ends_with(".md");
    tree.files().filter(move |(path, _)| is_page(path))
}

/// Every `NORMA_*` variable is read by some program, or used by a command line in one. Variables in listings are the
/// listing's own.
pub fn every_named_variable_is_read(tree: &Tree) -> Vec<Finding> {
    pages(tree)
        .flat_map(|(page, text)| unread_variables(tree, page, text))
        .collect()
}

fn unread_variables(tree: &Tree, page: &str, text: &str) -> Vec<Finding> {
    let variable = pattern(r"\bNORMA_[A-Z0-9_]+\b");
    let is_program = |path: &str| path.ends_with(".rs") || path.ends_with(".py") || path.ends_with(".cmake");
    let is_read = |name: &str| {
        let (quoted, expanded) = (format!("\"{name}\""), format!("${name}"));
        let is_in = |source: &str| source.contains(&quoted) || source.contains(&expanded);
        tree.files()
            .any(|(path, source)| is_program(path) && is_in(source))
    };
    let listing = pattern(LISTING);
    let is_listed = |offset: usize| {
        let mut listings = listing.find_iter(text);
        listings.any(|listing| listing.range().contains(&offset))
    };
    let named = variable.find_iter(text).filter(|name| !is_listed(name.start()));
    let unread = named.filter(|name| !is_read(name.as_str()));
    unread
        .map(|name| {
            let what = format!("nothing reads {}", name.as_str());
            Finding::at(page, text, name.start(), what)
        })
        .collect()
}

/// Every listing in a language of programs or build files occurs in a file of `examples/`, which the tests compile and run.
/// MLIR in the book is exempt, because `test/book` compiles it.
pub fn every_listing_is_of_an_example(tree: &Tree) -> Vec<Finding> {
    let is_example = |listing: &str| {
        tree.files()
            .any(|(path, source)| path.starts_with("examples/") && source.contains(listing))
    };
    let listings = pattern(LISTING);
    let mut findings = Vec::new();
    for (page, text) in pages(tree) {
        for capture in listings.captures_iter(text) {
            let (Some(language), Some(listing)) = (capture.get(1), capture.get(2)) else {
                continue;
            };
            let is_compiled = page.starts_with(BOOK) && language.as_str() == "mlir";
            if !is_compiled && !is_example(listing.as_str()) {
                let what = "no file of examples/ has this listing";
                findings.push(Finding::at(page, text, listing.start(), what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_gone_is_found_in_backquotes_and_in_links() {
        let readme = "`compiler/src/pipeline.rs`\n`dialects/norm/`\n[docs](docs/gone.md) `passes/gone.rs`\n";
        let tree = Tree::of(&[
            (README, readme),
            ("compiler/src/pipeline.rs", ""),
            ("dialects/norm/NormOps.td", ""),
        ]);
        let found: Vec<_> = every_named_path_exists(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "README.md:3: there is no docs/gone.md",
                "README.md:3: there is no passes/gone.rs"
            ]
        );
    }

    #[test]
    fn a_page_names_paths_from_the_root_or_from_folders_around_it() {
        let page = "`src/slice.rs` `gl/GlOps.td` `layout/src/linear.rs` [passes](../../passes/Passes.md) `src/gone.rs`\n";
        let tree = Tree::of(&[
            ("dialects/gl/README.md", page),
            ("dialects/gl/GlOps.td", ""),
            ("dialects/src/slice.rs", ""),
            ("layout/src/linear.rs", ""),
            ("passes/Passes.md", ""),
        ]);
        let found: Vec<_> = every_named_path_exists(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["dialects/gl/README.md:1: there is no src/gone.rs"]);
    }

    #[test]
    fn commands_types_and_what_a_build_makes_are_no_paths() {
        let readme = "`cargo xtask test` `norm.kernel` `--emit=ptx` `target/demo` `/usr/lib/llvm-22` `passes/src/<arg>.rs` `ops.mlir`\n";
        assert!(every_named_path_exists(&Tree::of(&[(README, readme)])).is_empty());
    }

    #[test]
    fn a_pass_that_picture_or_pipeline_lacks_is_found() {
        let picture = "kernel\n  |  norm-tile, norm-gone, and more\ngl\n";
        let tree = Tree::of(&[
            (STRUCTURE, picture),
            (
                PIPELINE,
                "&[\"norm-tile{rows=$rows}\",\n\"norm-hoist\", \"convert-of-mlir\"]",
            ),
            (TABLE, "RustPass<\"norm-tile\"> RustPass<\"norm-hoist\">"),
        ]);
        let found: Vec<_> = the_picture_has_the_pipelines_passes(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "docs/structure.md:2: compiler/src/pipeline.rs has no norm-gone",
                "compiler/src/pipeline.rs:2: the picture of the levels in docs/structure.md has no norm-hoist",
            ]
        );
    }

    #[test]
    fn a_listing_that_differs_from_its_example_is_found() {
        let readme = "```mlir\nfunc.func @a()\n```\n```c\nlaunch();\n```\n```sh\nmake\n```\n";
        let tree = Tree::of(&[(README, readme), ("examples/a.mlir", "// A.\n\nfunc.func @a()\n")]);
        let found: Vec<_> = every_listing_is_of_an_example(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["README.md:5: no file of examples/ has this listing"]);
    }

    #[test]
    fn a_page_of_the_book_shows_programs_of_examples_and_any_mlir() {
        let page = "```mlir\nfunc.func @b()\n```\n```rust\nb();\n```\n```toml file=b.toml\nop = 1\n```\n";
        let tree = Tree::of(&[("docs/b.md", page), ("examples/a.rs", "a();\n")]);
        let found: Vec<_> = every_listing_is_of_an_example(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["docs/b.md:5: no file of examples/ has this listing"]);
    }

    #[test]
    fn a_variable_that_no_program_reads_is_found() {
        let tree = Tree::of(&[
            (README, "NORMA_PTXAS\nNORMA_GHOST\n```c\nNORMA_STATUS_OK;\n```\n"),
            ("a.rs", "env::var_os(\"NORMA_PTXAS\")"),
        ]);
        let found: Vec<_> = every_named_variable_is_read(&tree)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, ["README.md:2: nothing reads NORMA_GHOST"]);
    }
}
