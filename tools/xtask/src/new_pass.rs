//! `cargo xtask new-pass <argument>`: creates a pass in the four places where a pass lives, so that it compiles and its test
//! passes.
//!
//! The scaffold changes no IR. Placeholder texts mark what is left to the author: the documentation first, then the code.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::tidy::pattern;
use crate::workspace;

/// What `cargo xtask new-pass` takes.
#[derive(clap::Args)]
pub struct Options {
    /// The pass's name on the command line, such as norm-tile or convert-norm-to-gl
    argument: String,
}

/// Writes the scaffold and prints the next steps.
///
/// # Errors
/// If the argument is not a valid name, or a pass with that name exists.
pub fn run(options: &Options) -> Result<(), Failure> {
    let root = workspace::root();
    let pass = Pass::named(&options.argument)?;
    scaffold(&pass, &root)?;
    let Pass {
        argument,
        level,
        module,
        ..
    } = &pass;
    println!(
        "wrote   passes/src/{level}/{module}.rs, test/passes/{argument}.mlir\n\
         changed passes/Passes.td, passes/src/{level}.rs\n\
         \n\
         next:   say in Passes.td what the pass requires and guarantees, with its options\n\
         \u{20}       write test/passes/{argument}.mlir before the code; cargo xtask test --filter {argument}\n\
         \u{20}       give it its place in compiler/src/pipeline.rs\n\
         \u{20}       cargo xtask docs"
    );
    Ok(())
}

/// The spellings of a pass's name.
struct Pass {
    /// On the command line: `norm-tile`.
    argument: String,
    /// The argument's first word, which names the folder: `norm`.
    level: String,
    /// The rest of the argument in Rust, which also names the file: `tile`.
    module: String,
    /// In Passes.td: `NormTile`.
    entry: String,
}

impl Pass {
    fn named(argument: &str) -> Result<Self, Failure> {
        let is_fit = pattern("^[a-z][a-z0-9]*(-[a-z0-9]+)+$").is_match(argument);
        let Some((level, rest)) = argument.split_once('-').filter(|_| is_fit) else {
            let fit = "expected a level and lower-case words, joined by hyphens, such as norm-tile";
            return Err(Failure::User(format!("{fit}, got `{argument}`")));
        };
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        Ok(Self {
            argument: argument.to_owned(),
            level: level.to_owned(),
            module: rest.replace('-', "_"),
            entry: argument.split('-').map(capital).collect(),
        })
    }

    fn table_entry(&self) -> String {
        let Self { argument, entry, .. } = self;
        format!(
            r#"
def {entry} : RustPass<"{argument}"> {{
  let summary = "A verb phrase: what {argument} does to the IR";
  let description = [{{
    Why the pass exists, in a sentence or two.

    **Requires** what holds before it.

    **Guarantees** what holds after it.

    ```mlir
    before
    ==>
    after
    ```
  }}];
}}
"#
        )
    }

    fn source(&self) -> String {
        let Self { argument, entry, .. } = self;
        format!(
            r#"//! `{argument}`: what it matches, why the result is right, what it leaves alone, what it costs.

use melior::ir::OperationRef;

use crate::{{
    mlir::pass::{{PassContext, PassResult}},
    table::{entry},
}};

pub(crate) fn run<'c>(_op: OperationRef<'c, '_>, _cx: &PassContext<'c, {entry}>) -> PassResult<'c> {{
    Ok(())
}}
"#
        )
    }

    fn test(&self) -> String {
        let argument = &self.argument;
        format!(
            "// What {argument} guarantees, one rule a function.\n\
             // RUN: norma-opt %s --pass-pipeline='builtin.module({argument})' | FileCheck %s\n\
             \n\
             // CHECK-LABEL: func.func @leaves_other_ops_alone\n\
             func.func @leaves_other_ops_alone(%arg0: f32) -> f32 {{\n\
             \u{20} // CHECK-NEXT: return %arg0 : f32\n\
             \u{20} return %arg0 : f32\n\
             }}\n"
        )
    }
}

/// Writes the scaffold; new files come first, so that a name that is taken leaves everything unchanged.
fn scaffold(pass: &Pass, root: &Path) -> Result<(), Failure> {
    let table = root.join("passes/Passes.td");
    let level = root.join(format!("passes/src/{}.rs", pass.level));
    let source = root.join(format!("passes/src/{}/{}.rs", pass.level, pass.module));
    let test = root.join(format!("test/passes/{}.mlir", pass.argument));
    let entries = fs::read_to_string(&table).map_err(Failure::file("read", &table))?;
    let modules = fs::read_to_string(&level).map_err(Failure::file("read", &level))?;
    if entries.contains(&format!("\"{}\"", pass.argument)) {
        return Err(Failure::User(format!(
            "passes/Passes.td already has {}",
            pass.argument
        )));
    }
    for (path, text) in [(&source, pass.source()), (&test, pass.test())] {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Failure::file("create", folder))?;
        }
        let mut file = fs::File::create_new(path).map_err(Failure::file("create", path))?;
        std::io::Write::write_all(&mut file, text.as_bytes()).map_err(Failure::file("write", path))?;
    }
    let modules = with_module(&modules, &pass.module);
    fs::write(&level, modules).map_err(Failure::file("write", &level))?;
    fs::write(&table, entries + &pass.table_entry()).map_err(Failure::file("write", &table))
}

/// Adds the module to its level's list, in alphabetical order.
fn with_module(library: &str, name: &str) -> String {
    let is_module = |line: &&str| line.starts_with("pub(crate) mod ") && line.ends_with(';');
    let added = format!("pub(crate) mod {name};");
    let before = library
        .lines()
        .filter(is_module)
        .find(|line| *line > added.as_str());
    let last = library.lines().rfind(is_module);
    match (before, last) {
        (Some(next), _) => library.replacen(&format!("{next}\n"), &format!("{added}\n{next}\n"), 1),
        (None, Some(last)) => library.replacen(&format!("{last}\n"), &format!("{last}\n{added}\n"), 1),
        (None, None) => format!("{library}\n{added}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("passes/src")).unwrap();
        fs::write(
            root.path().join("passes/Passes.td"),
            "def NormTile : RustPass<\"norm-tile\"> {}\n",
        )
        .unwrap();
        fs::write(
            root.path().join("passes/src/norm.rs"),
            "//! Passes.\n\npub(crate) mod pack;\npub(crate) mod tile;\n",
        )
        .unwrap();
        root
    }

    #[test]
    fn one_name_has_its_spellings() {
        let pass = Pass::named("convert-gl-to-nvvm").unwrap();
        assert_eq!(
            (pass.level.as_str(), pass.module.as_str(), pass.entry.as_str()),
            ("convert", "gl_to_nvvm", "ConvertGlToNvvm")
        );
    }

    #[test]
    fn a_name_that_is_no_pass_argument_is_refused() {
        for name in [
            "",
            "norm",
            "NormTile",
            "norm_tile",
            "-norm",
            "norm--tile",
            "../norm",
        ] {
            assert!(Pass::named(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_module_takes_its_alphabetical_place() {
        assert_eq!(
            with_module("pub(crate) mod a;\npub(crate) mod c;\n", "b"),
            "pub(crate) mod a;\npub(crate) mod b;\npub(crate) mod c;\n"
        );
        assert_eq!(
            with_module("pub(crate) mod a;\npub(crate) mod c;\n", "d"),
            "pub(crate) mod a;\npub(crate) mod c;\npub(crate) mod d;\n"
        );
        assert_eq!(
            with_module("//! Passes.\n", "a"),
            "//! Passes.\n\npub(crate) mod a;\n"
        );
    }

    #[test]
    fn all_four_places_are_filled() {
        let root = repository();
        scaffold(&Pass::named("norm-peel").unwrap(), root.path()).unwrap();
        let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        assert!(read("passes/Passes.td").contains("def NormPeel : RustPass<\"norm-peel\">"));
        assert!(
            read("passes/src/norm.rs")
                .contains("pub(crate) mod pack;\npub(crate) mod peel;\npub(crate) mod tile;\n")
        );
        assert!(read("passes/src/norm/peel.rs").starts_with("//! `norm-peel`"));
        assert!(read("test/passes/norm-peel.mlir").contains("builtin.module(norm-peel)"));
    }

    #[test]
    fn a_name_already_taken_changes_nothing() {
        let root = repository();
        let library = fs::read_to_string(root.path().join("passes/src/norm.rs")).unwrap();
        let text = scaffold(&Pass::named("norm-tile").unwrap(), root.path())
            .unwrap_err()
            .to_string();
        assert_eq!(text, "passes/Passes.td already has norm-tile");
        assert_eq!(
            fs::read_to_string(root.path().join("passes/src/norm.rs")).unwrap(),
            library
        );
        assert!(!root.path().join("passes/src/norm/tile.rs").exists());
    }
}
