//! `cargo xtask docs`: generates files that are committed beside their sources: the reference of dialects and passes, from
//! ODS, and the runtime's C header.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c_header;
use crate::child;
use crate::failure::Failure;
use crate::setup::{self, Setup};
use crate::workspace;

mod named_ops;

/// What `cargo xtask docs` takes.
#[derive(clap::Args)]
pub struct Options {
    /// Write nothing; fail if a committed page differs from what would be written
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    setup: setup::Options,
}

/// A page to generate: its generator, its source and its output.
struct Page {
    generator: Generator,
    source: PathBuf,
    output: PathBuf,
}

/// A generated file and its text.
struct Generated {
    output: PathBuf,
    text: String,
}

/// A generator of pages from ODS.
enum Generator {
    /// mlir-tblgen, with these arguments.
    Tblgen(Vec<String>),
    /// The table of named ops, from llvm-tblgen's records.
    NamedOps,
}

/// Writes every page, or checks that it is current.
///
/// # Errors
/// If mlir-tblgen fails, a file cannot be written, or with `--check` a page is stale.
pub fn run(options: &Options) -> Result<(), Failure> {
    let setup = setup::run(&options.setup)?;
    if options.check {
        return check(&setup);
    }
    let root = workspace::root();
    for Generated { output, text } in all(&root, &setup)? {
        let path = root.join(&output);
        // Pages lie among sources that the build watches: writing an up-to-date page would make C++ compile again.
        if fs::read_to_string(&path).is_ok_and(|committed| committed == text) {
            println!("current {}", output.display());
            continue;
        }
        fs::write(&path, text).map_err(Failure::file("write", &path))?;
        println!("wrote   {}", output.display());
    }
    Ok(())
}

/// Checks that every page matches what ODS generates now.
///
/// # Errors
/// If mlir-tblgen fails or a page is stale.
pub fn check(setup: &Setup) -> Result<(), Failure> {
    let root = workspace::root();
    let mut stale = Vec::new();
    for Generated { output, text } in all(&root, setup)? {
        // A missing page counts as stale.
        let committed = fs::read_to_string(root.join(&output)).unwrap_or_default();
        if text != committed {
            stale.push(output.display().to_string());
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(Failure::Check(format!(
        "{} not current; run `cargo xtask docs` and commit it",
        stale.join(", ")
    )))
}

/// All generated files.
fn all(root: &Path, setup: &Setup) -> Result<Vec<Generated>, Failure> {
    let mut generated = Vec::new();
    for page in pages(root)? {
        let text = generate(&page, root, setup)?;
        let output = page.output;
        generated.push(Generated { output, text });
    }
    generated.push(Generated {
        output: c_header::OUTPUT.into(),
        text: c_header::generate(root)?,
    });
    Ok(generated)
}

/// The pages: one for each folder of `dialects/` that holds a `<Name>Ops.td`, one for the passes, and the table of named ops.
fn pages(root: &Path) -> Result<Vec<Page>, Failure> {
    let dialects = root.join("dialects");
    let entries = fs::read_dir(&dialects).map_err(Failure::file("list", &dialects))?;
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    let mut pages: Vec<Page> = names.iter().map(|name| dialect_page(name)).collect();
    pages.push(Page {
        generator: Generator::Tblgen(vec!["-gen-pass-doc".to_owned()]),
        source: "passes/Passes.td".into(),
        output: "passes/Passes.md".into(),
    });
    pages.push(Page {
        generator: Generator::NamedOps,
        source: "dialects/norm/NormOps.td".into(),
        output: "docs/named-ops.md".into(),
    });
    pages.retain(|page| root.join(&page.source).is_file());
    Ok(pages)
}

/// The page of a dialect: that of `norm` is generated from `dialects/norm/NormOps.td`, which includes the dialect's other
/// files.
fn dialect_page(name: &str) -> Page {
    let (initial, rest) = name.split_at(name.chars().next().map_or(0, char::len_utf8));
    let source = format!("dialects/{name}/{}{rest}Ops.td", initial.to_uppercase());
    Page {
        generator: Generator::Tblgen(vec!["-gen-dialect-doc".to_owned(), format!("-dialect={name}")]),
        source: source.into(),
        output: format!("dialects/{name}/{name}.md").into(),
    }
}

fn generate(page: &Page, root: &Path, setup: &Setup) -> Result<String, Failure> {
    let (program, arguments) = match &page.generator {
        Generator::Tblgen(arguments) => ("mlir-tblgen", arguments.as_slice()),
        Generator::NamedOps => ("llvm-tblgen", &["--dump-json".to_owned()][..]),
    };
    let mut tblgen = Command::new(setup.llvm.program(program));
    tblgen.current_dir(root).args(arguments).arg(&page.source);
    tblgen
        .arg("-Idialects")
        .arg("-I")
        .arg(setup.llvm.prefix.join("include"));
    let mut text = child::ask(&mut tblgen)?;
    if matches!(page.generator, Generator::NamedOps) {
        let wrong = |error: String| Failure::Check(format!("{}: {error}", page.source.display()));
        let records = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let ops = norma_dialects_codegen::named_ops::read("norm", &records);
        return Ok(named_ops::page(&ops.map_err(|error| wrong(error.to_string()))?));
    }
    if page.output.ends_with(SCALAR_OPS) {
        text += &scalar_ops();
    }
    Ok(text)
}

/// The page that lists the ops of other dialects that a kernel may contain.
const SCALAR_OPS: &str = "norm/norm.md";

/// The table of scalar ops, as a section.
fn scalar_ops() -> String {
    format!(
        "\n## Scalar ops\n\n\
         What a kernel may hold beside the ops above: `arith.constant`, and the ops of this table, which \
         `bundle/src/scalar_op.rs` holds.\n\
         Everything else is refused by `norm-form-kernels`. `index` counts as i64.\n\n\
         Errors are in ulp of f32 for types up to f32, before the result is rounded to its type, and in ulp of f64 for \
         f64. An op that is\n\
         rounded once gives the same bits in every kernel. One that errs may take operands and results below the \
         smallest normal f32,\n\
         1.2e-38, for zero; the others keep them. The error of `math.exp` and `math.expm1` grows by 1.2 ulp for each 1 of \
         the operand's\n\
         magnitude. Poison, as of a conversion out of range, a shift by the width or a division by zero, is some value: \
         results that depend\n\
         on it are counted as undefined and not compared.\n\n{}",
        norma_bundle::scalar_op::markdown()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialects_page_lies_beside_its_ops() {
        let page = dialect_page("norm");
        assert_eq!(page.source, Path::new("dialects/norm/NormOps.td"));
        assert_eq!(page.output, Path::new("dialects/norm/norm.md"));
        let Generator::Tblgen(arguments) = page.generator else {
            unreachable!("a dialect's page is mlir-tblgen's")
        };
        assert_eq!(arguments, ["-gen-dialect-doc", "-dialect=norm"]);
    }
}
