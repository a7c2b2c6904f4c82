//! The command line.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Parser;
use norma_command_line::stated;
use norma_compiler::{Level, Target};

/// Compiles norm functions ahead of time into a bundle: a manifest and one cubin per kernel module.
///
/// With --emit it prints one level of the compilation instead.
#[derive(Debug, Parser)]
#[command(version, after_help = after_help())]
pub struct Args {
    /// Files to compile; `-` is standard input.
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// What to compile for; several, separated by commas, each give a folder of its own below DIR.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = parse_target, default_value = "sm_90a")]
    pub target: Vec<&'static Target>,

    /// The folder of the bundle; with --emit, the file to write in place of standard output, and with --emit=object the object,
    /// whose headers are written beside it.
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["emit", "explain", "json"])]
    pub output: Option<PathBuf>,

    /// Stop at a level and print it; or write an object file with a function for each of the input's, to link into a program.
    #[arg(long, value_name = "LEVEL|object", value_parser = parse_emit)]
    pub emit: Option<Emit>,

    /// Give an object functions by TVM-FFI's calling convention too, `__tvm_ffi_NAME`; it then needs TVM-FFI to be linked.
    #[arg(long, requires = "emit")]
    pub tvm_ffi: bool,

    /// The level of the inputs.
    #[arg(long, value_name = "LEVEL", value_parser = parse_level, default_value = "tensor")]
    pub from: Level,

    /// A schedule in place of the compiler's choice: `KERNEL=#norm.schedule<...>` for one kernel, `#norm.schedule<...>` for
    /// all that have none of their own, `KERNEL if m < 264=#norm.schedule<...>` for some sizes. Can be given several times.
    #[arg(long, value_name = "[KERNEL=]ATTRIBUTE", value_parser = stated)]
    pub schedule: Vec<String>,

    /// Give a function whose sizes only the run knows a kernel for few points beside the one for many, where that gains more
    /// than a tenth; the launcher picks by size.
    #[arg(long)]
    pub by_size: bool,

    /// Compile a function with up to N schedules for each of its kernels, the best of several kinds first by the cost model, and with
    /// the compiler's choice, each into a folder of DIR: norma-run --regret times them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["emit", "json", "explain", "by_size"], requires = "output")]
    pub candidates: Option<u64>,

    /// Keep the modules of level nvvm in the bundle, for norma-sim.
    #[arg(long, conflicts_with = "emit")]
    pub keep_nvvm: bool,

    /// Tell of each kernel what was chosen, what it uses, and what it should reach.
    #[arg(long)]
    pub explain: bool,

    /// Print how long each stage took.
    #[arg(long)]
    pub timing: bool,

    /// Print the manifests, and with --timing the times, as JSON on standard output.
    #[arg(long, conflicts_with = "emit")]
    pub json: bool,

    /// The ptxas to assemble with, in place of the linked library.
    #[arg(long, value_name = "PATH")]
    pub ptxas: Option<PathBuf>,
}

/// What `--emit` asks for in place of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emit {
    /// The text of a level.
    Level(Level),
    /// An object file and its headers.
    Object,
}

impl Args {
    /// Checks what options say together.
    ///
    /// # Errors
    /// Standard input is to be read twice, or there is no one place for what --emit prints.
    pub fn check(&self) -> Result<(), String> {
        if self
            .inputs
            .iter()
            .filter(|input| *input == Path::new("-"))
            .count()
            > 1
        {
            return Err("standard input can be read once: '-' is given twice".to_owned());
        }
        let (inputs, targets) = (self.inputs.len(), self.target.len());
        if self.candidates.is_some() && inputs * targets > 1 {
            return Err(format!(
                "--candidates compares schedules of one function: expected one input and one target, got {inputs} and {targets}"
            ));
        }
        if self.tvm_ffi && self.emit != Some(Emit::Object) {
            return Err("--tvm-ffi is for --emit=object".to_owned());
        }
        let level = match self.emit {
            None => return Ok(()),
            Some(Emit::Level(level)) => level,
            Some(Emit::Object) if inputs > 1 => {
                return Err(format!(
                    "--emit=object writes one object: expected one input, got {inputs}"
                ));
            }
            Some(Emit::Object) if self.output.is_none() => {
                return Err("--emit=object writes files: give the object's by --output".to_owned());
            }
            Some(Emit::Object) => return Ok(()),
        };
        if inputs * targets > 1 {
            return Err(format!(
                "--emit prints one module: expected one input and one target, got {inputs} and {targets}"
            ));
        }
        if level == Level::Cubin && self.output.is_none() && io::stdout().is_terminal() {
            return Err("a cubin is no text for a terminal: give its file by --output".to_owned());
        }
        Ok(())
    }

    /// Leaves each target once, where it first stands.
    pub fn drop_repeated_targets(&mut self) {
        let mut seen = Vec::new();
        self.target.retain(|target| {
            let is_new = !seen.contains(target);
            seen.push(*target);
            is_new
        });
    }
}

fn parse_target(name: &str) -> Result<&'static Target, String> {
    Target::parse(name).map_err(|error| {
        let hint = error.hint().map(|hint| format!("\n  {hint}"));
        error.to_string() + &hint.unwrap_or_default()
    })
}

fn parse_emit(name: &str) -> Result<Emit, String> {
    match name {
        "object" => Ok(Emit::Object),
        _ => parse_level(name).map(Emit::Level),
    }
}

fn parse_level(name: &str) -> Result<Level, String> {
    name.parse()
        .map_err(|error: norma_compiler::Error| error.to_string())
}

fn after_help() -> String {
    let levels = Level::ALL
        .map(|level| format!("  {:12}{}\n", level.name(), level.summary()))
        .concat();
    format!(
        "Levels:\n{levels}\nAn object is compiled by the C compiler that CC names, cc unless told.\n\nTargets: {}\n\nExit status: 0 done, 1 the input or the machine is at fault, 2 the command line is \
         wrong, 70 the compiler is at fault",
        Target::names()
    )
}
