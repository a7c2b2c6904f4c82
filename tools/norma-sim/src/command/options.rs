//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use norma_command_line::{OneOf, RunOptions, stated, whole_number};
use norma_compiler::{FpContract, Level, Target};
use norma_simulator::Approximation;
use norma_simulator::mutation::Concern;

/// Runs kernels on the CPU as adversely as the GPU's memory model allows, and says what they do wrong.
///
/// INPUT is a bundle that `normac --keep-nvvm` wrote, or a module of any level, which is compiled first. A function's
/// kernels run on generated inputs under one seed after the other: races, wrong waits, stray accesses and deadlocks are
/// reported where they happen, and the results are compared with each other and with the function's definition.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_STATUS)]
pub struct Options {
    /// A bundle's folder, or a .mlir file; `-` is standard input
    pub input: PathBuf,
    /// Which function is run, and on what
    #[command(flatten)]
    pub run: RunOptions,
    /// The level of the module; found out by its ops where not given
    #[arg(long, value_name = "LEVEL", value_parser = OneOf::new(parse_level, level_names), hide_possible_values = true)]
    pub from: Option<Level>,
    /// A schedule in place of the compiler's choice, as normac takes it; can be given several times
    #[arg(long, value_name = "[KERNEL=]ATTRIBUTE", value_parser = stated)]
    pub schedule: Vec<String>,
    /// As normac takes it: kernels for few points beside those for many
    #[arg(long)]
    pub by_size: bool,
    /// As normac takes it: a row's results do not depend on the number of rows
    #[arg(long, conflicts_with = "by_size")]
    pub batch_invariant: bool,
    /// As normac takes it: no clusters of more than 8 CTAs
    #[arg(long)]
    pub portable_clusters: bool,
    /// As normac takes it: which sums of a product are one fma
    #[arg(long, value_name = "fast|on", default_value_t, value_parser = OneOf::new(str::parse::<FpContract>, contract_names),
          hide_possible_values = true)]
    pub fp_contract: FpContract,
    /// What to compile for, and which bundle to run in a folder that has one for each of several targets
    #[arg(long, value_name = "TARGET", value_parser = norma_command_line::target(), default_value = "sm_90a",
          hide_possible_values = true)]
    pub target: &'static Target,
    /// How many runs, under --seed and the following seeds
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole_number(1_u64..), allow_negative_numbers = true)]
    pub seeds: u64,
    /// How approximate instructions err
    #[arg(long, value_enum, default_value_t = Errors::Adverse)]
    pub errors: Errors,
    /// Fail where there is no definition to compare the results with
    #[arg(long)]
    pub verify: bool,
    /// The source of a module that has lost its definition: what its function must compute
    #[arg(long, value_name = "FILE")]
    pub oracle: Option<PathBuf>,
    /// Write each input and output of the first run, byte for byte, to a file of this folder, such as rms_norm.x.bin
    #[arg(long, value_name = "DIR", conflicts_with = "mutants")]
    pub write_tensors: Option<PathBuf>,
    /// Compare the results, bit for bit, with those that --write-tensors left in this folder, here or of norma-run
    #[arg(long, value_name = "DIR")]
    pub compare_outputs: Option<PathBuf>,
    /// How many bytes the tensors and workspaces may take
    #[arg(long, value_name = "N", default_value_t = norma_simulator::Options::default().byte_limit,
          value_parser = whole_number(0_u64..), allow_negative_numbers = true)]
    pub max_bytes: u64,
    /// How many CTAs a kernel's grid may have
    #[arg(long, value_name = "N", default_value_t = norma_simulator::Options::default().cta_limit,
          value_parser = whole_number(0_u64..), allow_negative_numbers = true)]
    pub max_ctas: u64,
    /// Report bank conflicts and coalescing of each access
    #[arg(long)]
    pub traffic: bool,
    /// Put mistakes into the kernels, one at a time, and report which are not caught; fails if there is one
    #[arg(long, value_name = "CONCERN", value_enum, num_args = 0.., require_equals = true, value_delimiter = ',',
          default_missing_value = "all", conflicts_with_all = ["traffic", "compare_outputs"])]
    pub mutants: Option<Vec<Mutants>>,
}

const EXIT_STATUS: &str = "Exit status: 0 right, 1 something was found, the input is at fault or the report \
                           cannot be written, 2 the command line is wrong, \
                           70 Norma is at fault";

/// How approximate instructions err.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Errors {
    /// By close to what the PTX ISA allows
    Adverse,
    /// Not at all
    None,
}

/// Which mistakes are put into kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mutants {
    /// Every one
    All,
    /// Barriers, waits, fences and arrivals that are missing or weaker, counts that are wrong
    Sync,
    /// Shuffles, votes and reductions of a warp over the wrong lanes
    Exchange,
    /// Accesses beside their place, and alignment that is not there
    Addresses,
    /// Guards, bounds and branches
    Control,
    /// Operations, operands, constants and rounding
    Arithmetic,
}

impl Mutants {
    /// The concerns of the mutations.
    pub fn concerns(self) -> &'static [Concern] {
        match self {
            Self::All => &Concern::ALL,
            Self::Sync => &[Concern::Synchronization],
            Self::Exchange => &[Concern::Exchange],
            Self::Addresses => &[Concern::Addresses],
            Self::Control => &[Concern::Control],
            Self::Arithmetic => &[Concern::Arithmetic],
        }
    }
}

impl From<Errors> for Approximation {
    fn from(errors: Errors) -> Self {
        match errors {
            Errors::Adverse => Self::Adversarial,
            Errors::None => Self::Exact,
        }
    }
}

fn contract_names() -> Vec<&'static str> {
    [FpContract::Fast, FpContract::On].map(FpContract::name).to_vec()
}

/// The levels of modules that can be simulated.
fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| level.is_mlir())
}

fn level_names() -> Vec<&'static str> {
    levels().map(Level::name).collect()
}

fn parse_level(name: &str) -> Result<Level, String> {
    levels().find(|level| level.name() == name).ok_or_else(|| {
        format!(
            "expected a level with ops to simulate, one of {}, got '{name}'",
            level_names().join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Options::command().debug_assert();
    }

    #[test]
    fn levels_below_nvvm_are_refused() {
        assert_eq!(parse_level("nvvm"), Ok(Level::Nvvm));
        assert_eq!(
            parse_level("ptx").unwrap_err(),
            "expected a level with ops to simulate, one of tensor, kernel, scheduled, tiled, gl, gl-lowered, nvvm, got 'ptx'"
        );
    }
}
