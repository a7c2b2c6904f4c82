//! Compiles kernels in the build script of a crate, to functions that the crate includes.
//!
//! In `build.rs`, [`Kernels::compile`] runs `normac` on a file and writes `OUT_DIR/<stem>.rs`, which the crate includes; the
//! crate depends on `norma-runtime`. See `examples/rust`.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use norma_bindings::{Language, Package, PackageError, TargetBundle, rust_module};
use norma_bundle::Manifest;
use norma_bundle::manifest::{ManifestError, directory_for};
use thiserror::Error;

/// The variable that holds the path of `normac`.
const NORMAC: &str = "NORMA_NORMAC";

/// The variable that holds the path of an assembler for `normac`.
const PTXAS: &str = "NORMA_PTXAS";

/// Options of `normac` that say what this crate says, and what to do in their place.
const SAID: [(&str, &str); 6] = [
    ("--target", "name targets by `target`"),
    ("--output", "what is compiled goes to OUT_DIR"),
    ("--emit", "what is compiled becomes functions to include"),
    ("--candidates", "run normac for a comparison of schedules"),
    ("--catalog", "call `compile` for each file"),
    ("--json", "cargo reads what a build script prints"),
];

/// The short form of `--output`, which its value may follow in the same word.
const SHORT_OUTPUT: &str = "-o";

/// Why kernels could not be compiled. It is shown as its message in either format, because Rust prints by `Debug` what the `main` of a build
/// script returns.
#[derive(Error)]
pub enum Error {
    /// A variable that cargo sets for build scripts is missing.
    #[error("expected the variable {0}, which cargo sets for build scripts")]
    Environment(&'static str),
    /// An option says what is not for a build script to say.
    #[error("expected an option of the compilation alone, got '{option}': {instead}")]
    Option {
        /// The option.
        option: String,
        /// What to do in its place.
        instead: &'static str,
    },
    /// The compiler cannot be run.
    #[error("cannot run '{}': {source}; set NORMA_NORMAC to the path of normac", program.display())]
    Start {
        /// The program that could not be run.
        program: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The compiler refused the kernels and has printed why.
    #[error("normac failed on '{}'", .0.display())]
    Compile(PathBuf),
    /// A file cannot be read or written.
    #[error("cannot use '{}': {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The compiler's output cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The functions cannot be expressed in Rust.
    #[error("'{}': {why}", path.display())]
    Package {
        /// The file that has them.
        path: PathBuf,
        /// Which one, and why.
        why: PackageError,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")
    }
}

/// The settings with which kernels are compiled.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    targets: Vec<String>,
    options: Vec<OsString>,
}

impl Kernels {
    /// The defaults of `normac`.
    pub fn new() -> Self {
        Kernels::default()
    }

    /// Adds a target, such as `sm_90a`, unless it is there already.
    #[must_use]
    pub fn target(mut self, target: &str) -> Self {
        if !self.targets.iter().any(|known| known == target) {
            self.targets.push(target.to_owned());
        }
        self
    }

    /// Passes an option to `normac`. Those are refused that say for what, to where or to what it compiles, as this crate says.
    #[must_use]
    pub fn option(mut self, option: impl Into<OsString>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Compiles the functions of a file, whose path is relative to the crate's folder, and writes them to
    /// `OUT_DIR/<stem>.rs`. `normac` is the program that `NORMA_NORMAC` names, in which a relative path begins in the crate's folder too,
    /// or else, where it is empty or not set, the one on PATH. Cargo runs the build script again when the file, the program or a variable
    /// that decides on it changes.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn compile(&self, source: impl AsRef<Path>) -> Result<(), Error> {
        let source = source.as_ref();
        println!("cargo::rerun-if-changed={}", source.display());
        println!("cargo::rerun-if-env-changed={NORMAC}");
        println!("cargo::rerun-if-env-changed={PTXAS}");
        let out = env::var_os("OUT_DIR").map(PathBuf::from);
        let out = out.ok_or(Error::Environment("OUT_DIR"))?;
        let normac = program(env::var_os(NORMAC));
        let searched = env::var_os("PATH").unwrap_or_default();
        if let Some(program) = found(&normac, env::split_paths(&searched)) {
            println!("cargo::rerun-if-changed={}", program.display());
        }
        self.compile_to(source, &out, &normac)
    }

    /// Refuses options that say what this crate says.
    fn check_options(&self) -> Result<(), Error> {
        let said = self.options.iter().find_map(|option| {
            let option = option.to_string_lossy();
            let instead = already_said(&option)?;
            Some(Error::Option {
                option: option.into_owned(),
                instead,
            })
        });
        said.map_or(Ok(()), Err)
    }

    fn compile_to(&self, source: &Path, out: &Path, normac: &Path) -> Result<(), Error> {
        self.check_options()?;
        let stem = source.file_stem().unwrap_or_default();
        let folder = out.join(stem);
        let bundle = folder.join("bundle");
        fs::create_dir_all(&folder).map_err(at(&folder))?;
        let mut command = Command::new(normac);
        command.arg(source).args(&self.options).arg("-o").arg(&bundle);
        if !self.targets.is_empty() {
            command.arg("--target").arg(self.targets.join(","));
        }
        let status = command.status().map_err(|source| Error::Start {
            program: normac.to_owned(),
            source,
        })?;
        if !status.success() {
            return Err(Error::Compile(source.to_owned()));
        }
        let count = self.targets.len().max(1);
        let folders = match self.targets.as_slice() {
            [] => vec![bundle],
            targets => targets
                .iter()
                .map(|target| directory_for(&bundle, target, count))
                .collect(),
        };
        let bundles = folders.iter().map(|folder| read(folder));
        let bundles = bundles.collect::<Result<Vec<_>, _>>()?;
        let package = Package::new(&bundles, Language::Rust).map_err(|why| Error::Package {
            path: source.to_owned(),
            why,
        })?;
        let files = folder.join("files");
        for (function, path, bytes) in package.files() {
            let file = files.join(function).join(path);
            let parent = file.parent().unwrap_or(&files);
            fs::create_dir_all(parent).map_err(at(parent))?;
            fs::write(&file, bytes).map_err(at(&file))?;
        }
        let text = out.join(stem).with_added_extension("rs");
        fs::write(&text, rust_module(&package, &files)).map_err(at(&text))
    }
}

/// What to do in the place of an option that says what this crate says.
fn already_said(option: &str) -> Option<&'static str> {
    let name = match option.starts_with(SHORT_OUTPUT) {
        true => "--output",
        false => option.split('=').next().unwrap_or_default(),
    };
    let said = SAID.iter().find(|(said, _)| *said == name);
    said.map(|(_, instead)| *instead)
}

/// The compiler that the value of [`NORMAC`] names. A relative path becomes absolute, so that a message says where it was looked for.
fn program(named: Option<OsString>) -> PathBuf {
    let named = named.filter(|named| !named.is_empty());
    let named = PathBuf::from(named.unwrap_or_else(|| OsStr::new("normac").to_owned()));
    match named.components().count() {
        1 => named,
        _ => path::absolute(&named).unwrap_or(named),
    }
}

/// The file of a program, which is searched in these folders if its name has no slash.
fn found(program: &Path, mut folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    match program.components().count() {
        1 => folders.find_map(|folder| Some(folder.join(program)).filter(|path| path.is_file())),
        _ => Some(program.to_owned()),
    }
}

/// Reads the bundle in a folder.
fn read(folder: &Path) -> Result<TargetBundle, Error> {
    let manifest = Manifest::load(folder)?;
    let (mut cubins, mut ptx) = (BTreeMap::new(), BTreeMap::new());
    for kernel in manifest.functions.iter().flat_map(|function| &function.kernels) {
        let path = folder.join(&kernel.cubin);
        let bytes = fs::read(&path).map_err(at(&path))?;
        cubins.insert(kernel.cubin.clone(), bytes);
        if let Some(file) = &kernel.ptx {
            let path = folder.join(file);
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            ptx.insert(file.clone(), text);
        }
    }
    Ok(TargetBundle {
        manifest,
        cubins,
        ptx,
    })
}

/// Creates an error for this path.
fn at(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: &str = include_str!("../../../bundle/testdata/scale.json");

    /// A stand-in for normac that runs a script; the scripts copy the bundle of `scale` for one target, or fail.
    fn normac(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("normac");
        fs::write(folder.join("scale.json"), SCALE).unwrap();
        // A child process writes it: a process that another test starts in the meantime would inherit a file descriptor that
        // this process holds open, and a file that is open for writing cannot be executed.
        let text = format!("#!/bin/sh\nhere='{}'\n{script}\n", folder.display());
        let write = "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh", &text]).arg(&path);
        assert!(shell.status().unwrap().success());
        path
    }

    #[test]
    fn a_file_becomes_functions_to_include() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo \"$@\" > $here/arguments; mkdir -p \"$4\"; cp $here/scale.json \"$4/manifest.json\"; \
                      echo cubin > \"$4/scale_0.sm_90a.cubin\"";
        let normac = normac(folder.path(), script);
        let kernels = Kernels::new().option("--by-size").target("sm_90a");
        kernels
            .compile_to(Path::new("kernels/scale.mlir"), folder.path(), &normac)
            .unwrap();
        let read = |path: &str| fs::read_to_string(folder.path().join(path)).unwrap();
        let arguments = read("arguments");
        let out = folder.path().join("scale/bundle");
        let expected = format!(
            "kernels/scale.mlir --by-size -o {} --target sm_90a\n",
            out.display()
        );
        assert_eq!(arguments, expected);
        assert!(read("scale.rs").contains("pub unsafe fn scale("));
        assert_eq!(
            read("scale/files/scale/sm_90a/scale_0.sm_90a.4769edf79ff0dde6.cubin"),
            "cubin\n"
        );
    }

    #[test]
    fn a_program_without_a_path_is_the_first_of_its_name() {
        let [one, two] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let folders = || [one.path(), two.path()].map(Path::to_owned).into_iter();
        fs::write(two.path().join("normac"), "").unwrap();
        assert_eq!(
            found(Path::new("normac"), folders()),
            Some(two.path().join("normac"))
        );
        assert_eq!(found(Path::new("other"), folders()), None);
        assert_eq!(
            found(Path::new("/opt/normac"), folders()),
            Some("/opt/normac".into())
        );
    }

    #[test]
    fn a_relative_path_of_the_compiler_is_told_whole_and_an_empty_one_is_none() {
        assert_eq!(program(None), Path::new("normac"));
        assert_eq!(program(Some("".into())), Path::new("normac"));
        assert_eq!(program(Some("other".into())), Path::new("other"));
        let here = env::current_dir().unwrap();
        assert_eq!(program(Some("built/normac".into())), here.join("built/normac"));
    }

    #[test]
    fn options_that_the_crate_gives_itself_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for (option, instead) in [
            ("--target=sm_80", "name targets by `target`"),
            ("--target", "name targets by `target`"),
            ("-o", "what is compiled goes to OUT_DIR"),
            ("-oelsewhere", "what is compiled goes to OUT_DIR"),
            ("--output=elsewhere", "what is compiled goes to OUT_DIR"),
            ("--emit=object", "what is compiled becomes functions to include"),
        ] {
            let kernels = Kernels::new().option("--by-size").option(option);
            let compiled = kernels.compile_to(Path::new("scale.mlir"), folder.path(), Path::new("none"));
            assert_eq!(
                compiled.unwrap_err().to_string(),
                format!("expected an option of the compilation alone, got '{option}': {instead}")
            );
        }
    }

    #[test]
    fn a_name_that_rust_does_not_take_is_told_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let compile = |name: &str| {
            let script = format!(
                "mkdir -p \"$3\"; sed 's/\"name\": \"scale\"/\"name\": \"{name}\"/' $here/scale.json > \"$3/manifest.json\"; \
                 echo cubin > \"$3/scale_0.sm_90a.cubin\""
            );
            let normac = normac(folder.path(), &script);
            Kernels::new().compile_to(Path::new("kernels/a.mlir"), folder.path(), &normac)
        };
        compile("union").unwrap();
        compile("fn").unwrap();
        let text = fs::read_to_string(folder.path().join("a.rs")).unwrap();
        assert!(text.contains("pub unsafe fn r#fn("), "{text}");
        assert_eq!(
            compile("crate").unwrap_err().to_string(),
            "'kernels/a.mlir': function 'crate' has no name that Rust takes: it is a keyword of Rust that can name nothing"
        );
    }

    #[test]
    fn what_went_wrong_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new("scale.mlir");
        let compile = |normac: &Path| {
            let compiled = Kernels::new().compile_to(source, folder.path(), normac);
            format!("{:?}", compiled.unwrap_err())
        };
        assert_eq!(
            compile(&normac(folder.path(), "exit 1")),
            "normac failed on 'scale.mlir'"
        );
        let error = compile(&folder.path().join("none"));
        assert!(
            error.ends_with("set NORMA_NORMAC to the path of normac"),
            "{error}"
        );
    }
}
