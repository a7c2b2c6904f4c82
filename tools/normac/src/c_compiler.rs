//! The C compiler that the variable CC names.

use std::env;
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{self, Path, PathBuf};
use std::process::Command;

/// The compiler where CC is not set, or blank.
const USUAL: &str = "cc";

/// A C compiler, as CC names it.
pub struct CCompiler {
    /// What CC says.
    said: String,
    program: PathBuf,
    arguments: Vec<String>,
}

impl fmt::Display for CCompiler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.said)
    }
}

impl CCompiler {
    /// The one of this process's environment.
    pub fn of_environment() -> Self {
        let said = env::var_os("CC").unwrap_or_default();
        let searched = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&searched).collect();
        Self::new(&said.to_string_lossy(), &folders)
    }

    /// The one that a value of CC names, whose program is searched in these folders if its name has no slash. CC may hold arguments too,
    /// such as a compiler behind a cache, and its path may contain blanks: the program is as much of the value, up to a blank, as names
    /// one.
    fn new(said: &str, folders: &[PathBuf]) -> Self {
        let said = match said.trim() {
            "" => USUAL,
            said => said,
        };
        let ends = said.char_indices().filter(|(_, letter)| letter.is_whitespace());
        let ends = ends.map(|(at, _)| at).chain([said.len()]);
        let mut ends: Vec<usize> = ends.collect();
        let found = ends
            .iter()
            .rev()
            .find_map(|end| Some((*end, found(&said[..*end], folders)?)));
        // Running what is no program fails, with the system's reason.
        let (end, program) = found.unwrap_or_else(|| {
            let end = ends.swap_remove(0);
            (end, PathBuf::from(&said[..end]))
        });
        Self {
            said: said.to_owned(),
            program,
            arguments: said[end..].split_whitespace().map(str::to_owned).collect(),
        }
    }

    /// The compiler with the arguments that CC has for it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

/// The file of a program. It is absolute, because the compiler runs in another folder.
fn found(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    let path = match name.contains('/') {
        true => Some(Path::new(name).to_owned()).filter(|path| is_program(path)),
        false => folders
            .iter()
            .map(|folder| folder.join(name))
            .find(|path| is_program(path)),
    };
    path.and_then(|path| path::absolute(path).ok())
}

/// Whether a path is that of a file that someone may execute. A shell passes over other files as well.
fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.is_file() && there.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_as_much_as_names_one() {
        let folder = tempfile::tempdir().unwrap();
        let tools = folder.path().join("my tools");
        fs::create_dir(&tools).unwrap();
        for name in ["cc", "my cc", "cache"] {
            fs::write(tools.join(name), "").unwrap();
            fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        // What cannot be executed is passed over.
        let notes = folder.path().join("notes");
        fs::create_dir(&notes).unwrap();
        fs::write(notes.join("cc"), "").unwrap();
        let there = tools.display().to_string();
        for (said, program, arguments) in [
            (format!("{there}/cc"), "cc", &[][..]),
            (format!("{there}/my cc"), "my cc", &[]),
            (
                format!("{there}/my cc --target=x  -g"),
                "my cc",
                &["--target=x", "-g"],
            ),
            ("my cc".to_owned(), "my cc", &[]),
            ("cache cc".to_owned(), "cache", &["cc"]),
            (" ".to_owned(), "cc", &[]),
        ] {
            let compiler = CCompiler::new(&said, &[notes.clone(), tools.clone()]);
            assert_eq!(compiler.program, tools.join(program), "{said}");
            assert_eq!(compiler.arguments, arguments, "{said}");
        }
    }

    #[test]
    fn what_is_no_program_is_the_first_word() {
        let compiler = CCompiler::new("none -g", &[]);
        assert_eq!(compiler.program, Path::new("none"));
        assert_eq!(
            (compiler.to_string().as_str(), compiler.arguments),
            ("none -g", vec!["-g".to_owned()])
        );
    }
}
