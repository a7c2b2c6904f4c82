//! The command line.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Parser;
use clap_complete::Shell;
use norma_bindings::Visibility;
use norma_command_line::{OneOf, stated, whole_number};
use norma_compiler::{CompileOptions, FpContract, Level, Target};

/// Compiles norm functions ahead of time into a bundle: a manifest and one cubin per kernel module.
///
/// With --emit it prints one level of the compilation instead. An op by its name as the first word, such as `normac rms_norm --shape
/// m,4096`, stands for a file that holds this op alone; a file of such a name is `./rms_norm`.
#[derive(Debug, Parser)]
#[command(
    name = "normac",
    disable_version_flag = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    subcommand_value_name = "OP",
    subcommand_help_heading = "Ops (normac OP --help says more)",
    after_help = after_help()
)]
pub struct Args {
    /// Files to compile; `-` is standard input.
    #[arg(required_unless_present = "catalog", value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// The level of the inputs.
    #[arg(long, value_name = "LEVEL", value_parser = OneOf::new(parse_source, source_names), default_value = "tensor",
          hide_possible_values = true)]
    pub from: Level,

    /// Compile a table of ops, types, shapes and targets, each to a bundle of its own below DIR, but for those that are there
    /// already as they would be now.
    #[arg(long, value_name = "FILE.toml", conflicts_with_all = ["inputs", "from", "emit", "schedule", "candidates", "json", "explain"])]
    pub catalog: Option<PathBuf>,

    /// How many bundles of a catalog are compiled at a time; as many as there are processors unless told.
    #[arg(long, value_name = "N", value_parser = whole_number(1_u16..=u16::MAX), allow_negative_numbers = true)]
    pub jobs: Option<u16>,

    /// List the named ops.
    #[arg(long, exclusive = true)]
    pub list_ops: bool,

    /// Print completions for a shell.
    #[arg(long, value_name = "SHELL", exclusive = true)]
    pub completions: Option<Shell>,

    /// Print the versions of normac, LLVM and the assembler.
    #[arg(short = 'V', long, exclusive = true)]
    pub version: bool,

    /// What it is compiled for, and to what.
    #[command(flatten)]
    pub compile: CompileArgs,
}

/// What is said of every compilation, of files and of ops by name.
#[derive(Debug, clap::Args)]
pub struct CompileArgs {
    /// What to compile for; several, separated by commas, each give a folder of its own below DIR.
    #[arg(long, value_name = "TARGET", value_delimiter = ',', value_parser = norma_command_line::target(), default_value = "sm_90a",
          hide_possible_values = true)]
    pub target: Vec<&'static Target>,

    /// The folder of the bundle; with --emit, the file to write in place of standard output, and with --emit=object the object,
    /// whose headers are written beside it.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Stop at a level and print it, `mlir` being the source of an op by its name; or write an object file with a function for each
    /// of the input's, to link into a program.
    #[arg(long, value_name = "LEVEL|object", value_parser = OneOf::new(parse_emit, emit_names), hide_possible_values = true)]
    pub emit: Option<Emit>,

    /// Which modules of a process find an object's functions: `hidden`, unless told, is for the one alone that it is linked into, and
    /// `default` for all, as a shared object needs that exports them.
    #[arg(long, value_name = "hidden|default", value_parser = OneOf::new(parse_visibility, visibility_names), hide_possible_values = true)]
    pub visibility: Option<Visibility>,

    /// A schedule in place of the compiler's choice: `KERNEL=#norm.schedule<...>` for one kernel, `#norm.schedule<...>` for
    /// all that have none of their own, `KERNEL if m < 264=#norm.schedule<...>` for some sizes. Can be given several times.
    #[arg(long, value_name = "[KERNEL=]ATTRIBUTE", value_parser = stated)]
    pub schedule: Vec<String>,

    /// Give a function whose sizes only the run knows kernels for few points and for short rows beside the one for many and long ones,
    /// where they gain more than 7%; the launcher picks by size.
    #[arg(long)]
    pub by_size: bool,

    /// Promise that the bits of a row's results do not depend on the number of rows: neither that number nor where a row begins decides
    /// on the order in which it is reduced.
    #[arg(long, conflicts_with = "by_size")]
    pub batch_invariant: bool,

    /// Choose no clusters of more than 8 CTAs, for which GPUs with fewer multiprocessors than the target's part may have no room.
    #[arg(long)]
    pub portable_clusters: bool,

    /// Compile a function with up to N schedules for each of its kernels, the best of several kinds first by the cost model, and with
    /// the compiler's choice, each into a folder of DIR: norma-run --regret times them.
    #[arg(long, value_name = "N", value_parser = whole_number(1_u16..=u16::MAX), allow_negative_numbers = true,
          conflicts_with_all = ["emit", "json", "explain", "by_size"], requires = "output")]
    pub candidates: Option<u16>,

    /// Keep the modules of level nvvm in the bundle, for norma-sim.
    #[arg(long, conflicts_with = "emit")]
    pub keep_nvvm: bool,

    /// Keep the PTX of targets without a suffix in the bundle or object, for runtimes that are asked to have it compiled on devices
    /// that no cubin fits.
    #[arg(long)]
    pub ptx_fallback: bool,

    /// Which sums of a product are one fma, which rounds once: `fast` for all, `on` for those whose addition has the flag `contract`.
    #[arg(long, value_name = "fast|on", default_value_t, value_parser = OneOf::new(str::parse::<FpContract>, contract_names),
          hide_possible_values = true)]
    pub fp_contract: FpContract,

    /// Say in the machine code which line of the input each instruction is of, for profilers and debuggers.
    #[arg(long)]
    pub line_info: bool,

    /// Tell of each kernel what was chosen, what it uses, and what it should reach.
    #[arg(long)]
    pub explain: bool,

    /// Print how long each stage took.
    #[arg(long)]
    pub timing: bool,

    /// Print the manifests, and with --timing the times, as JSON on standard output.
    #[arg(long, conflicts_with = "emit")]
    pub json: bool,

    /// Say what assembles, and what is written.
    #[arg(short, long)]
    pub verbose: bool,

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
    /// Checks combinations of options.
    ///
    /// # Errors
    /// Standard input is to be read twice, there are jobs without a catalog, or there is no one place for what --emit prints.
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
        if let (Some(jobs), None) = (self.jobs, &self.catalog) {
            return Err(format!(
                "--jobs {jobs} is how many bundles of a catalog are compiled at a time: expected --catalog <FILE.toml> with it"
            ));
        }
        if self.catalog.is_some() && self.compile.output.is_none() {
            return Err("a catalog's bundles go nowhere: expected --output <DIR>".to_owned());
        }
        self.compile.check(self.inputs.len())
    }
}

impl CompileArgs {
    /// Whether passes explain their choices on standard output, beside what is told of each kernel there; with --json, or where
    /// --emit prints a level, that output is for machines.
    pub fn explains_on_stdout(&self) -> bool {
        self.explain && !self.json && !matches!(self.emit, Some(Emit::Level(_)))
    }

    /// The file that a level is written to; none for standard output, which is `-` too.
    pub fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| !is_standard(path))
    }

    /// Checks combinations of options for this many inputs.
    ///
    /// # Errors
    /// There is no place for what is compiled, or no one place for what --emit prints.
    pub fn check(&self, inputs: usize) -> Result<(), String> {
        let targets = self.target.len();
        if self.output.is_none() && self.emit.is_none() && !self.explain && !self.json {
            return Err(
                "what is compiled goes nowhere: expected --output <DIR>, or one of --emit, --explain and --json"
                    .to_owned(),
            );
        }
        if self.candidates.is_some() && inputs * targets > 1 {
            return Err(format!(
                "--candidates compares schedules of one function: expected one input and one target, got {inputs} and {targets}"
            ));
        }
        if self.ptx_fallback && !self.target.iter().any(|target| target.has_portable_ptx()) {
            let names: Vec<_> = self.target.iter().map(|target| target.name).collect();
            return Err(format!(
                "--ptx-fallback keeps PTX that later devices run: expected a target without a suffix, such as sm_80, got {}",
                names.join(", ")
            ));
        }
        if self.ptx_fallback && matches!(self.emit, Some(Emit::Level(_))) {
            return Err("--ptx-fallback is for bundles and for --emit=object".to_owned());
        }
        if self.visibility.is_some() && self.emit != Some(Emit::Object) {
            return Err("--visibility is for --emit=object".to_owned());
        }
        let level = match self.emit {
            None if self.output.as_deref().is_some_and(is_standard) => {
                return Err("a bundle is a folder: expected its name by --output, got '-'".to_owned());
            }
            None => return Ok(()),
            Some(Emit::Level(level)) => level,
            Some(Emit::Object) if inputs > 1 => {
                return Err(format!(
                    "--emit=object writes one object: expected one input, got {inputs}"
                ));
            }
            Some(Emit::Object) if self.file().is_none() => {
                return Err("--emit=object writes files: give the object's by --output".to_owned());
            }
            Some(Emit::Object) => return Ok(()),
        };
        if inputs * targets > 1 {
            return Err(format!(
                "--emit prints one module: expected one input and one target, got {inputs} and {targets}"
            ));
        }
        if level == Level::Cubin && self.file().is_none() && io::stdout().is_terminal() {
            return Err("a cubin is no text for a terminal: give its file by --output".to_owned());
        }
        Ok(())
    }

    /// The options of a compilation for a target, for inputs of level `tensor`.
    pub fn options(&self, target: &'static Target) -> CompileOptions {
        CompileOptions {
            by_size: self.by_size,
            batch_invariant: self.batch_invariant,
            portable_clusters: self.portable_clusters,
            fp_contract: self.fp_contract,
            schedules: self.schedule.clone(),
            keep_nvvm: self.keep_nvvm,
            keep_ptx: self.ptx_fallback && target.has_portable_ptx(),
            line_info: self.line_info,
            explain: self.explain,
            ptxas: self.ptxas.clone(),
            ..CompileOptions::new(target)
        }
    }

    /// Keeps the first occurrence of each target.
    pub fn drop_repeated_targets(&mut self) {
        drop_repeated(&mut self.target);
    }
}

/// Keeps the first occurrence of each target.
pub fn drop_repeated(targets: &mut Vec<&'static Target>) {
    let mut seen = Vec::new();
    targets.retain(|target| {
        let is_new = !seen.contains(target);
        seen.push(*target);
        is_new
    });
}

/// Whether a path stands for standard input or output.
fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

fn parse_visibility(name: &str) -> Result<Visibility, String> {
    let visibility = Visibility::ALL
        .into_iter()
        .find(|visibility| visibility.name() == name);
    visibility.ok_or_else(|| format!("expected 'hidden' or 'default', got '{name}'"))
}

fn visibility_names() -> Vec<&'static str> {
    Visibility::ALL.map(Visibility::name).to_vec()
}

fn contract_names() -> Vec<&'static str> {
    [FpContract::Fast, FpContract::On].map(FpContract::name).to_vec()
}

/// What `--emit` takes besides the names of levels.
const EMIT_OTHERS: [&str; 2] = ["mlir", "object"];

fn emit_names() -> Vec<&'static str> {
    let levels = Level::ALL.iter().map(|level| level.name());
    levels.chain(EMIT_OTHERS).collect()
}

fn parse_emit(name: &str) -> Result<Emit, String> {
    match name {
        "object" => Ok(Emit::Object),
        "mlir" => Ok(Emit::Level(Level::Tensor)),
        _ => match name.parse() {
            Ok(level) => Ok(Emit::Level(level)),
            Err(_) => Err(unknown(name, &emit_names())),
        },
    }
}

/// The level of an input, which is any but the last.
fn parse_source(name: &str) -> Result<Level, String> {
    let level = sources().iter().find(|level| level.name() == name);
    level.copied().ok_or_else(|| unknown(name, &source_names()))
}

fn source_names() -> Vec<&'static str> {
    sources().iter().map(|level| level.name()).collect()
}

fn sources() -> &'static [Level] {
    &Level::ALL[..Level::ALL.len() - 1]
}

fn unknown(name: &str, known: &[&str]) -> String {
    format!("unknown level '{name}', expected one of {}", known.join(", "))
}

fn after_help() -> String {
    let levels = Level::ALL
        .map(|level| format!("  {:12}{}\n", level.name(), level.summary()))
        .concat();
    format!(
        "Levels:\n{levels}\nAn object is compiled by the C compiler that CC names, which may have arguments behind it, cc unless told.\n\nTargets: {}\n\nExit status: 0 done, 1 the input or the machine is at fault, 2 the command line is \
         wrong, 70 the compiler is at fault",
        Target::names()
    )
}
