//! Checks of what an archive or a wheel contains, by the bytes of its files: LLVM once, NVIDIA's assembler and what Python compiled on this
//! machine not at all, and nothing that systems with the promised glibc may lack.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::failure::Failure;
use crate::setup::Setup;

/// What is in a file that contains LLVM with its code generator for NVPTX: the name of a pass of it.
const OF_LLVM: &[u8] = b"NVPTX DAG->DAG Pattern Instruction Selection";
/// The first bytes of programs and shared objects.
const ELF: &[u8] = b"\x7fELF";
/// NVIDIA's assembler as a program, which its licence does not let others distribute.
const ASSEMBLER: &str = "ptxas";
/// The folders of what Python compiled, for its version.
const COMPILED_PYTHON: &str = "__pycache__";
/// The libraries, up to their versions, that every system has for which a wheel is tagged manylinux (PEP 600).
const PROMISED: [&str; 7] = [
    "ld-linux-x86-64.so",
    "libc.so",
    "libdl.so",
    "libgcc_s.so",
    "libm.so",
    "libstdc++.so",
    "libz.so",
];

/// A release of glibc.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc {
    major: u32,
    minor: u32,
}

impl Glibc {
    /// The tag of a wheel whose programs need this release.
    pub fn tag(self) -> String {
        format!("manylinux_{}_{}", self.major, self.minor)
    }
}

/// Checks that one file below a folder contains LLVM, and none is NVIDIA's assembler or what Python compiled. Links are not followed.
///
/// # Errors
/// If it is otherwise, or a file cannot be read.
pub fn check(folder: &Path) -> Result<(), Failure> {
    let mut of_llvm = Vec::new();
    for file in files(folder)? {
        if file.file_name().is_some_and(|name| name == ASSEMBLER) {
            let text = format!("expected no assembler of NVIDIA's, got {}", file.display());
            return Err(Failure::Check(text));
        }
        let below = file.strip_prefix(folder).unwrap_or(&file);
        if below.components().any(|part| part.as_os_str() == COMPILED_PYTHON) {
            let text = format!("expected nothing that Python compiled, got {}", file.display());
            return Err(Failure::Check(text));
        }
        let bytes = fs::read(&file).map_err(Failure::file("read", &file))?;
        if bytes.windows(OF_LLVM.len()).any(|window| window == OF_LLVM) {
            of_llvm.push(file);
        }
    }
    match of_llvm.as_slice() {
        [_] => Ok(()),
        files => Err(Failure::Check(format!(
            "expected LLVM in one file below {}, got it in {files:?}",
            folder.display()
        ))),
    }
}

/// The oldest glibc that has all symbols which programs and shared objects need, among files and the files of folders.
///
/// # Errors
/// If one needs a library that is not [`PROMISED`], or cannot be read.
pub fn glibc_needed(setup: &Setup, places: &[&Path]) -> Result<Glibc, Failure> {
    let mut needed = Glibc { major: 2, minor: 0 };
    for place in places {
        for file in files(place)? {
            let bytes = fs::read(&file).map_err(Failure::file("read", &file))?;
            if !bytes.starts_with(ELF) {
                continue;
            }
            let mut readelf = Command::new(setup.llvm.program("llvm-readelf"));
            let said = child::ask(readelf.args(["--version-info", "--needed-libs"]).arg(&file))?;
            if let Some(library) = unpromised(&said) {
                let text = format!(
                    "expected libraries that manylinux promises, got {library} in {}",
                    file.display()
                );
                return Err(Failure::Check(text));
            }
            needed = releases(&said).fold(needed, Glibc::max);
        }
    }
    Ok(needed)
}

/// The releases of glibc in what readelf says about versions, in which symbols got their present meaning.
fn releases(said: &str) -> impl Iterator<Item = Glibc> {
    said.split_whitespace().filter_map(|word| {
        let (major, minor) = word.strip_prefix("GLIBC_")?.split_once('.')?;
        // A third number is that of a correction.
        let minor = minor.split('.').next()?;
        Some(Glibc {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    })
}

/// A library in what readelf says about needed ones that is not promised.
fn unpromised(said: &str) -> Option<&str> {
    let (_, list) = said.split_once("NeededLibraries [")?;
    let (list, _) = list.split_once(']')?;
    list.split_whitespace()
        .find(|library| !PROMISED.iter().any(|promised| library.starts_with(promised)))
}

/// The files below a path, or itself if it is a file; links are left out.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let kind = fs::symlink_metadata(path)
        .map_err(Failure::file("read", path))?
        .file_type();
    if !kind.is_dir() {
        return Ok(kind.is_file().then(|| path.to_owned()).into_iter().collect());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(Failure::file("read", path))? {
        found.extend(files(&entry.map_err(Failure::file("read", path))?.path())?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn llvm_is_there_once_and_links_to_it_are_no_copies() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        assert!(
            check(folder.path())
                .unwrap_err()
                .to_string()
                .ends_with("got it in []")
        );
        let program = [b"code ", OF_LLVM, b" code"].concat();
        fs::write(bin.join("normac"), &program).unwrap();
        symlink("normac", bin.join("norma-opt")).unwrap();
        check(folder.path()).unwrap();
        fs::write(bin.join("norma-sim"), &program).unwrap();
        check(folder.path()).unwrap_err();
    }

    #[test]
    fn nvidias_assembler_is_not_distributed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("normac"), OF_LLVM).unwrap();
        fs::write(folder.path().join("ptxas"), "").unwrap();
        let error = check(folder.path()).unwrap_err().to_string();
        assert!(error.starts_with("expected no assembler of NVIDIA's"), "{error}");
    }

    #[test]
    fn what_python_compiled_is_not_distributed() {
        let folder = tempfile::tempdir().unwrap();
        let compiled = folder.path().join("norma/__pycache__");
        fs::create_dir_all(&compiled).unwrap();
        fs::write(folder.path().join("normac"), OF_LLVM).unwrap();
        check(folder.path()).unwrap();
        fs::write(compiled.join("cache.cpython-311.pyc"), "").unwrap();
        let error = check(folder.path()).unwrap_err().to_string();
        assert!(
            error.starts_with("expected nothing that Python compiled"),
            "{error}"
        );
    }

    #[test]
    fn the_newest_symbol_says_which_glibc_is_needed() {
        let said = "  0x0010: Name: GLIBC_2.2.5  Flags: none\n  0x0020: Name: GLIBC_2.36  Flags: none\n \
                    0x0030: Name: GLIBC_2.4\n  0x0040: Name: GLIBCXX_3.4.30\n";
        let newest = releases(said).max().unwrap();
        assert_eq!(newest.tag(), "manylinux_2_36");
        assert_eq!(releases("GLIBCXX_3.4.30 CXXABI_1.3").count(), 0);
    }

    #[test]
    fn libraries_beyond_those_of_every_system_are_found() {
        let said = |libraries: &str| format!("NeededLibraries [\n  {libraries}\n]\nVersion needs section");
        assert_eq!(unpromised(&said("libc.so.6\n  libz.so.1")), None);
        assert_eq!(unpromised(&said("libc.so.6\n  libffi.so.8")), Some("libffi.so.8"));
    }
}
