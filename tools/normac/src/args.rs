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

    /// The folder of the bundle; with --emit, the file to write in place of standard output.
    #[arg(short, long, value_name = "DIR", required_unless_present_any = ["emit", "explain", "json"])]
    pub output: Option<PathBuf>,

    /// Stop at a level and print it.
    #[arg(long, value_name = "LEVEL", value_parser = parse_level)]
    pub emit: Option<Level>,

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
        let Some(level) = self.emit else { return Ok(()) };
        let (inputs, targets) = (self.inputs.len(), self.target.len());
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

fn parse_level(name: &str) -> Result<Level, String> {
    name.parse()
        .map_err(|error: norma_compiler::Error| error.to_string())
}

fn after_help() -> String {
    let levels = Level::ALL
        .map(|level| format!("  {:12}{}\n", level.name(), level.summary()))
        .concat();
    format!(
        "Levels:\n{levels}\nTargets: {}\n\nExit status: 0 done, 1 the input or the machine is at fault, 2 the command line is \
         wrong, 70 the compiler is at fault",
        Target::names()
    )
}
