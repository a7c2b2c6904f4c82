//! The command line: what can be asked for.

use std::path::PathBuf;

use clap::Parser;
use norma_oracle::Fill;
use norma_oracle::setting::Setting;

/// Runs, verifies and times a bundle on a GPU.
///
/// Loads BUNDLE/manifest.json and its cubins through the CUDA driver, runs a function on generated inputs, compares what it
/// wrote with what the oracle computes in f64, and times it with inputs that are not in the L2 cache.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub struct Options {
    /// The bundle's directory; one with a directory per target serves the device's
    pub bundle: PathBuf,
    /// The function to run; the first where not given
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// A size that the manifest leaves open, such as m=16384
    #[arg(long = "size", value_name = "NAME=N")]
    pub sizes: Vec<Setting<i64>>,
    /// A stride that the manifest leaves open, in elements; dense where not given
    #[arg(long = "stride", value_name = "NAME=N")]
    pub strides: Vec<Setting<i64>>,
    /// A scalar argument, such as eps=1e-5
    #[arg(long = "scalar", value_name = "NAME=X")]
    pub scalars: Vec<Setting<f64>>,
    /// Compare the results with the oracle's (what happens where nothing else is asked for)
    #[arg(long)]
    pub verify: bool,
    /// Measure the time of one call, with a cold L2 cache
    #[arg(long)]
    pub time: bool,
    /// What the inputs hold
    #[arg(long, value_enum, default_value_t = Fill::Normal)]
    pub fill: Fill,
    /// The seed of the inputs and of the sampled rows
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// How many rows to compare where there are many; 0 for all
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub rows_checked: usize,
    /// Write each output, byte for byte, to a file of this folder, for norma-sim --compare-outputs
    #[arg(long, value_name = "DIR")]
    pub write_outputs: Option<PathBuf>,
    /// Write one JSON object instead of a table
    #[arg(long)]
    pub json: bool,
    /// Which GPU
    #[arg(long, value_name = "ORDINAL", default_value_t = 0)]
    pub device: u32,
}

const EXIT_CODES: &str = "Exit codes: 0 right, 1 wrong results or a failed launch, 2 a bad command line or bundle, \
                          3 no CUDA driver or no GPU for this bundle";

impl Options {
    /// Whether to verify: when asked to, when outputs are wanted, and when nothing else is asked for.
    pub fn verifies(&self) -> bool {
        self.verify || self.write_outputs.is_some() || !self.time
    }
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
    fn verifying_is_the_default() {
        let options = |arguments: &[&str]| Options::parse_from([&["norma-run", "DIR"], arguments].concat());
        assert!(options(&[]).verifies());
        assert!(!options(&["--time"]).verifies());
        assert!(options(&["--time", "--verify"]).verifies());
    }
}
