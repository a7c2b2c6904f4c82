//! NVIDIA's assembler as a program and as a library, unpacked from pinned wheels into `.toolchain/`.
//!
//! Pip fetches the wheels and checks the hashes of `wheels.txt`. A ptxas or nvdisasm on the machine is used if it is new
//! enough. The library is always the pinned one, because the tools link it and its version determines their output.

use std::env;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};
use std::process::Command;

use super::version::Version;
use super::{apt, toolchain};
use crate::child;
use crate::failure::Failure;
use crate::progress::Step;

/// The pinned release of the assembler; it also names the folder in `.toolchain/`.
pub const RELEASE: &str = "13.0.88";

/// The oldest ptxas that supports all of Norma's targets: sm_103 and `.version 9.0` came with it.
const OLDEST: Version = Version {
    major: 13,
    minor: 0,
    patch: 0,
};

/// Names, versions and hashes, in the form that `pip --require-hashes` takes: one requirement a line.
const REQUIREMENTS: &str = include_str!("../../wheels.txt");

/// A wheel and the files taken from it. It counts as installed if all of them are there.
struct Wheel {
    requirement: &'static str,
    what: &'static str,
    files: &'static [Unpacked],
}

/// A file's path in the wheel, its path in the target folder, and its mode.
struct Unpacked {
    from: &'static str,
    to: &'static str,
    mode: u32,
}

/// The place of the library's licence.
const LIBRARY_LICENCE: &str = "lib/libnvptxcompiler-licence.txt";

const PTXAS: Wheel = Wheel {
    requirement: "nvidia-cuda-nvcc",
    what: "ptxas (37 MB)",
    files: &[Unpacked {
        from: "nvidia/cu13/bin/ptxas",
        to: "bin/ptxas",
        mode: 0o755,
    }],
};

const LIBRARY: Wheel = Wheel {
    requirement: "nvidia-nvptxcompiler",
    what: "libnvptxcompiler (22 MB)",
    files: &[
        Unpacked {
            from: "nvidia/cu13/include/nvPTXCompiler.h",
            to: "include/nvPTXCompiler.h",
            mode: 0o644,
        },
        Unpacked {
            from: "nvidia/cu13/lib/libnvptxcompiler_static.a",
            to: "lib/libnvptxcompiler_static.a",
            mode: 0o644,
        },
        Unpacked {
            from: "nvidia_nvptxcompiler-13.0.88.dist-info/licenses/License.txt",
            to: LIBRARY_LICENCE,
            mode: 0o644,
        },
    ],
};

/// Disassembles SASS, for tests of it. This is the oldest wheel available; it reads the output of older assemblers.
const NVDISASM: Wheel = Wheel {
    requirement: "nvidia-cuda-nvdisasm",
    what: "nvdisasm (4 MB)",
    files: &[Unpacked {
        from: "nvidia/cu13/bin/nvdisasm",
        to: "bin/nvdisasm",
        mode: 0o755,
    }],
};

/// NVIDIA's files on this machine.
pub struct Cuda {
    /// The folder with `lib/libnvptxcompiler_static.a` and its header.
    pub folder: PathBuf,
    /// A ptxas, which the tests may start.
    pub ptxas: PathBuf,
    /// Whether the user named it; then it is used even if the library is linked.
    pub is_named: bool,
    /// That assembler's version.
    pub version: Version,
}

impl Cuda {
    /// The licence of the library.
    pub fn library_licence(&self) -> PathBuf {
        self.folder.join(LIBRARY_LICENCE)
    }
}

/// Finds NVIDIA's files or installs them; also returns whether it installed something. `None` where there are no wheels.
///
/// # Errors
/// If the ptxas that the user named is unsuitable, or a wheel cannot be fetched.
pub fn ensure(named_ptxas: Option<&Path>) -> Result<(Option<Cuda>, bool), Failure> {
    let named = named_ptxas
        .map(PathBuf::from)
        .or_else(|| env::var_os("NORMA_PTXAS").map(PathBuf::from));
    let named = match named {
        Some(ptxas) => {
            refuse_unfit(&ptxas)?;
            Some(path::absolute(&ptxas).map_err(Failure::file("find", &ptxas))?)
        }
        None => None,
    };
    let Some(platform) = platform(env::consts::OS, env::consts::ARCH) else {
        return Ok((None, false));
    };
    let folder = toolchain().join(format!("cuda-{RELEASE}"));

    let on_machine = |program: &str| child::find(program).filter(|file| is_fit(file));
    let is_named = named.is_some();
    let ptxas = named.or_else(|| on_machine("ptxas"));
    let mut wanted = vec![&LIBRARY];
    if ptxas.is_none() {
        wanted.push(&PTXAS);
    }
    if on_machine("nvdisasm").is_none() {
        wanted.push(&NVDISASM);
    }
    wanted.retain(|wheel| !is_unpacked(wheel, &folder));
    if !wanted.is_empty() {
        install(&wanted, platform, &folder)?;
    }

    let ptxas = ptxas.unwrap_or_else(|| folder.join("bin/ptxas"));
    let version = version(&ptxas)?;
    Ok((
        Some(Cuda {
            folder,
            ptxas,
            is_named,
            version,
        }),
        !wanted.is_empty(),
    ))
}

/// Pip's name for a platform for which NVIDIA builds wheels.
fn platform(system: &str, processor: &str) -> Option<&'static str> {
    match (system, processor) {
        ("linux", "x86_64") => Some("manylinux2014_x86_64"),
        ("linux", "aarch64") => Some("manylinux2014_aarch64"),
        _ => None,
    }
}

fn is_unpacked(wheel: &Wheel, folder: &Path) -> bool {
    wheel.files.iter().all(|file| folder.join(file.to).is_file())
}

fn version(tool: &Path) -> Result<Version, Failure> {
    let mut command = Command::new(tool);
    let output = child::ask(command.arg("--version"))?;
    Version::parse_cuda_tool(&output).ok_or_else(|| {
        Failure::User(format!(
            "{} does not say which CUDA release it is of",
            tool.display()
        ))
    })
}

/// Whether a tool found on PATH runs and is new enough; otherwise the wheel's is used.
fn is_fit(tool: &Path) -> bool {
    version(tool).is_ok_and(|version| version >= OLDEST)
}

/// Refuses an unsuitable ptxas that the user named, rather than silently using another.
fn refuse_unfit(ptxas: &Path) -> Result<(), Failure> {
    let version = version(ptxas)?;
    if version >= OLDEST {
        return Ok(());
    }
    let (major, minor) = (OLDEST.major, OLDEST.minor);
    let path = ptxas.display();
    Err(Failure::User(format!(
        "{path} is of CUDA {version}, expected {major}.{minor} or newer"
    )))
}

/// Fetches wheels into a scratch folder beside the target and renames their files into place.
fn install(wheels: &[&Wheel], platform: &str, folder: &Path) -> Result<(), Failure> {
    remove_leftovers(&toolchain())?;
    ensure_pip()?;
    let scratch = tempfile::Builder::new()
        .prefix(INCOMING)
        .tempdir_in(toolchain())
        .map_err(Failure::file("create a folder in", &toolchain()))?;
    for wheel in wheels {
        let step = Step::start(&format!("set-up: fetching {}", wheel.what));
        let file = download(wheel, platform, scratch.path())?;
        unpack(wheel, &file, scratch.path(), folder)?;
        step.done(&format!(
            "set-up: installed {} into {}",
            wheel.what,
            folder.display()
        ));
    }
    Ok(())
}

/// The prefix of scratch folders, by which the next run recognizes what an interrupted run left.
const INCOMING: &str = "incoming-";

fn remove_leftovers(toolchain: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(toolchain).map_err(Failure::file("list", toolchain))?;
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with(INCOMING) {
            fs::remove_dir_all(entry.path()).map_err(Failure::file("remove", &entry.path()))?;
        }
    }
    Ok(())
}

fn ensure_pip() -> Result<(), Failure> {
    if child::ask(Command::new("python3").args(["-m", "pip", "--version"])).is_ok() {
        return Ok(());
    }
    if apt::is_available() {
        return apt::install(&["python3-pip"]);
    }
    Err(Failure::User(
        "fetching NVIDIA's wheels needs python3 with pip".to_owned(),
    ))
}

/// Fetches a wheel into a folder of its own and returns its path. Pip refuses a wheel whose hash is not the pinned one.
fn download(wheel: &Wheel, platform: &str, scratch: &Path) -> Result<PathBuf, Failure> {
    let requirements = scratch.join(format!("{}.txt", wheel.requirement));
    fs::write(&requirements, requirement(wheel.requirement))
        .map_err(Failure::file("write", &requirements))?;
    let folder = scratch.join(wheel.requirement);
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "download",
        "--no-deps",
        "--require-hashes",
    ]);
    pip.args(["--only-binary=:all:", "--platform", platform])
        .arg("--dest")
        .arg(&folder);
    child::ask(pip.arg("-r").arg(&requirements))?;
    let mut files = fs::read_dir(&folder)
        .map_err(Failure::file("list", &folder))?
        .filter_map(Result::ok);
    let file = files
        .next()
        .ok_or_else(|| Failure::User(format!("pip fetched no file for {}", wheel.requirement)))?;
    Ok(file.path())
}

/// The line of the requirements file that pins a project.
fn requirement(project: &str) -> &'static str {
    let pins = |line: &&str| line.split_once("==").is_some_and(|(name, _)| name == project);
    REQUIREMENTS.lines().find(pins).unwrap_or_default()
}

/// Extracts the wanted files from a wheel and renames each into place.
fn unpack(wheel: &Wheel, archive: &Path, scratch: &Path, folder: &Path) -> Result<(), Failure> {
    const EXTRACT: &str =
        "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(sys.argv[2], sys.argv[3:])";
    let mut python = Command::new("python3");
    python.args(["-c", EXTRACT]).arg(archive).arg(scratch);
    child::ask(python.args(wheel.files.iter().map(|file| file.from)))?;
    for file in wheel.files {
        let from = scratch.join(file.from);
        let to = folder.join(file.to);
        fs::set_permissions(&from, Permissions::from_mode(file.mode))
            .map_err(Failure::file("set the mode of", &from))?;
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(Failure::file("create", parent))?;
        }
        fs::rename(&from, &to).map_err(Failure::file("move a file to", &to))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wheel_is_pinned_with_a_hash_per_platform() {
        for wheel in [&PTXAS, &LIBRARY, &NVDISASM] {
            let line = requirement(wheel.requirement);
            assert_eq!(
                line.matches(" --hash=sha256:").count(),
                2,
                "{}",
                wheel.requirement
            );
        }
    }

    #[test]
    fn assembler_and_library_are_of_the_same_release() {
        for wheel in [&PTXAS, &LIBRARY] {
            assert!(
                requirement(wheel.requirement).contains(&format!("=={RELEASE} ")),
                "{}",
                wheel.requirement
            );
        }
    }

    #[test]
    fn a_wheel_with_one_file_gone_is_not_installed() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("include")).unwrap();
        fs::write(folder.path().join("include/nvPTXCompiler.h"), "").unwrap();
        assert!(!is_unpacked(&LIBRARY, folder.path()));
        fs::create_dir(folder.path().join("lib")).unwrap();
        fs::write(folder.path().join("lib/libnvptxcompiler_static.a"), "").unwrap();
        fs::write(folder.path().join(LIBRARY_LICENCE), "").unwrap();
        assert!(is_unpacked(&LIBRARY, folder.path()));
    }

    #[test]
    fn the_licence_is_that_of_the_pinned_release() {
        let mut files = LIBRARY.files.iter();
        let licence = files.find(|file| file.to == LIBRARY_LICENCE).unwrap();
        assert!(
            licence
                .from
                .starts_with(&format!("nvidia_nvptxcompiler-{RELEASE}.dist-info/"))
        );
    }

    #[test]
    fn leftovers_of_an_interrupted_run_go_and_the_rest_stays() {
        let toolchain = tempfile::tempdir().unwrap();
        fs::create_dir(toolchain.path().join("incoming-x1")).unwrap();
        fs::create_dir(toolchain.path().join("cuda-13.0.88")).unwrap();
        remove_leftovers(toolchain.path()).unwrap();
        assert!(!toolchain.path().join("incoming-x1").exists());
        assert!(toolchain.path().join("cuda-13.0.88").exists());
    }

    #[test]
    fn a_named_ptxas_that_is_too_old_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let ptxas = folder.path().join("ptxas");
        fs::write(
            &ptxas,
            "#!/bin/sh\necho 'Cuda compilation tools, release 12.4, V12.4.131'\n",
        )
        .unwrap();
        fs::set_permissions(&ptxas, Permissions::from_mode(0o755)).unwrap();
        let text = refuse_unfit(&ptxas).unwrap_err().to_string();
        assert!(
            text.ends_with("is of CUDA 12.4.131, expected 13.0 or newer"),
            "{text}"
        );
    }

    #[test]
    fn systems_without_wheels_stop_at_ptx() {
        assert!(platform("linux", "x86_64").is_some());
        assert!(platform("macos", "aarch64").is_none());
    }
}
