//! Runs programs of an archive in a root of their own, which has the archive, the libraries that `ldd` names, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child;
use crate::failure::Failure;

/// The place of the archive in the root.
const PLACE: &str = "/norma";

/// The ways to run a program in another root, of which some machines permit none. Each takes the root and the program next.
const WAYS: [&[&str]; 2] = [&["chroot"], &["unshare", "--map-root-user", "--root"]];

/// A root that programs run in.
pub struct BareRoot {
    root: PathBuf,
    enter: &'static [&'static str],
}

impl BareRoot {
    /// Makes a root of the archive that is unpacked at `tree`, for these programs of its folder `bin`; `None` if this machine
    /// permits no other roots.
    ///
    /// # Errors
    /// If a library cannot be copied.
    pub fn new(tree: &Path, root: &Path, programs: &[&str]) -> Result<Option<BareRoot>, Failure> {
        let is_permitted =
            |way: &&&[&str]| child::ask(&mut command(way, Path::new("/"), "/bin/true")).is_ok();
        let Some(enter) = WAYS.iter().find(is_permitted) else {
            return Ok(None);
        };
        let place = root.join(PLACE.trim_start_matches('/'));
        fs::create_dir_all(root.join("tmp")).map_err(Failure::file("make", root))?;
        child::run(Command::new("cp").arg("-r").arg(tree).arg(&place))?;
        for program in programs {
            let named = child::ask(Command::new("ldd").arg(tree.join("bin").join(program)))?;
            for library in libraries(&named) {
                let copy = root.join(library.trim_start_matches('/'));
                if let Some(folder) = copy.parent() {
                    fs::create_dir_all(folder).map_err(Failure::file("make", folder))?;
                }
                fs::copy(library, &copy).map_err(Failure::file("copy", Path::new(library)))?;
            }
        }
        let root = root.to_owned();
        Ok(Some(BareRoot { root, enter }))
    }

    /// A command that runs a program of the archive's `bin` in the root, without an environment.
    pub fn command(&self, program: &str) -> Command {
        let mut command = command(self.enter, &self.root, &format!("{PLACE}/bin/{program}"));
        command.env_clear().current_dir("/");
        command
    }

    /// The path in the root of a file of the archive.
    pub fn path(&self, file: &str) -> String {
        format!("{PLACE}/{file}")
    }

    /// The path outside of the root of a file in it.
    pub fn outside(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }
}

/// A command that runs a program in another root, one of [`WAYS`].
fn command(way: &[&str], root: &Path, program: &str) -> Command {
    // The path is that of this machine, where the command that enters the root is.
    let (enter, options) = way.split_first().unwrap_or((&"chroot", &[]));
    let mut command = Command::new(child::find(enter).unwrap_or_else(|| PathBuf::from(enter)));
    command.args(options).arg(root).arg(program);
    command
}

/// The paths of the libraries in the output of `ldd`.
fn libraries(named: &str) -> impl Iterator<Item = &str> {
    named
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_is_a_library_and_the_kernels_page_is_not() {
        let named = "\tlinux-vdso.so.1 (0x00007fe12c9dd000)\n\
                     \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fe12581e000)\n\
                     \t/lib64/ld-linux-x86-64.so.2 (0x00007fe12c9df000)\n";
        let found: Vec<&str> = libraries(named).collect();
        assert_eq!(
            found,
            ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
        );
    }
}
