//! `cargo xtask book`: renders `docs/` as a book of HTML, or updates the command output shown in its pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::lit;
use crate::progress::Step;
use crate::setup::{self, Setup};
use crate::workspace;

/// The release of mdbook. It is used as a program; as a dependency its crates would be compiled with every xtask.
const MDBOOK: &str = "0.5.4";
/// The tests of the book's pages.
const TESTS: &str = "test/book";

/// What `cargo xtask book` takes.
#[derive(clap::Args)]
pub struct Options {
    /// Build the tools and write into the pages what their commands print now, instead of making HTML
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    setup: setup::Options,
}

/// Renders the book into `target/book`, or updates its pages.
///
/// # Errors
/// If set-up or mdbook fails, or an example in a page does not compile.
pub fn run(options: &Options) -> Result<(), Failure> {
    let setup = setup::run(&options.setup)?;
    match options.update {
        true => update(&setup),
        false => make(&setup),
    }
}

fn update(setup: &Setup) -> Result<(), Failure> {
    if !lit::build_tools(setup)? {
        return Err(Failure::Check("the tools could not be built".to_owned()));
    }
    child::run(lit::command(setup)?.args(["-Dupdate=yes", TESTS]))
}

fn make(setup: &Setup) -> Result<(), Failure> {
    let root = workspace::root();
    let mdbook = installed(setup)?;
    child::run(Command::new(mdbook).arg("build").arg(root.join("docs")))?;
    println!("{}", root.join("target/book/index.html").display());
    Ok(())
}

/// Returns the pinned mdbook below `.toolchain/`, and installs it if necessary.
fn installed(setup: &Setup) -> Result<PathBuf, Failure> {
    let folder = setup::toolchain().join(format!("mdbook-{MDBOOK}"));
    let program = folder.join("bin/mdbook");
    if !program.is_file() {
        let step = Step::start(&format!("set-up: building mdbook {MDBOOK}"));
        child::ask(&mut install(setup, &folder))?;
        step.done(&format!("set-up: installed mdbook {MDBOOK}"));
    }
    Ok(program)
}

fn install(setup: &Setup, folder: &Path) -> Command {
    let mut cargo = setup.cargo();
    // The features that serve pages and watch them for changes are left out.
    cargo.args([
        "install",
        "mdbook",
        "--locked",
        "--no-default-features",
        "--features=search",
    ]);
    cargo
        .arg(format!("--version=={MDBOOK}"))
        .arg("--root")
        .arg(folder);
    cargo
}
