//! The command line: what can be asked for.

use std::path::PathBuf;

use clap::Parser;
use norma_command_line::RunOptions;

/// Runs, verifies and times a bundle on a GPU.
///
/// Loads BUNDLE/manifest.json and its cubins through the CUDA driver, runs a function on generated inputs, compares what it
/// wrote with what the oracle computes in f64, and times it with inputs that are not in the L2 cache.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub struct Options {
    /// The bundle's directory; one with a directory per target serves the device's
    pub bundle: PathBuf,
    /// Which function is run, and on what
    #[command(flatten)]
    pub run: RunOptions,
    /// Compare the results with the oracle's (what happens where nothing else is asked for)
    #[arg(long)]
    pub verify: bool,
    /// Measure the time of one call, with a cold L2 cache
    #[arg(long)]
    pub time: bool,
    /// Measure each bundle of a folder that normac --candidates wrote, and tell by how much the compiler's choice is slower than the
    /// best of them
    #[arg(long, conflicts_with_all = ["verify", "time", "write_outputs"])]
    pub regret: bool,
    /// Write each output, byte for byte, to a file of this folder, for norma-sim --compare-outputs
    #[arg(long, value_name = "DIR")]
    pub write_outputs: Option<PathBuf>,
    /// Which GPU
    #[arg(long, value_name = "ORDINAL", default_value_t = 0)]
    pub device: u32,
}

const EXIT_CODES: &str = "Exit codes: 0 right, 1 wrong results or a failed launch, 2 a bad command line or bundle, \
                          or a report that cannot be written, \
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
