//! A case as a `norma-sim` command line, with the program that it runs as a file.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use norma_oracle::Fill;

use crate::check::Bindings;
use crate::source::FUNCTION;
use crate::trial::Trial;

/// Writes a case's program into a folder and returns the command line that runs it.
///
/// # Errors
/// The folder cannot be made or written.
pub fn write(case: &Trial, bindings: &Bindings, folder: &Path, name: &str) -> io::Result<String> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{name}.mlir"));
    fs::write(&path, format!("// {case}\n{}", case.text()))?;
    let mut command = format!("norma-sim {}{}", path.display(), arguments(case, bindings));
    for schedule in case.schedules() {
        // Writing to a string does not fail.
        let _ = write!(command, " --schedule '{schedule}'");
    }
    let _ = write!(command, " --seeds {}", case.seeds().1);
    Ok(command)
}

/// The arguments that bind sizes and inputs of a compiled case, the same for `norma-sim` and `norma-run`; they begin with a
/// blank.
pub fn arguments(case: &Trial, bindings: &Bindings) -> String {
    let mut command = match case.function() {
        name if name == FUNCTION => String::new(),
        name => format!(" --function {name}"),
    };
    for (name, size) in &bindings.sizes {
        let _ = write!(command, " --size {name}={size}");
    }
    for (name, stride) in &bindings.strides {
        let _ = write!(command, " --stride {name}={stride}");
    }
    if case.fill() != Fill::Normal {
        let _ = write!(command, " --fill {}", format!("{:?}", case.fill()).to_lowercase());
    }
    let _ = write!(command, " --seed {}", case.seeds().0);
    command
}
