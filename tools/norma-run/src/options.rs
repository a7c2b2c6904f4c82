//! The command line.

use std::path::PathBuf;

use clap::Parser;
use norma_command_line::{RunOptions, Setting, whole_number};

/// Runs, verifies and times a bundle on a GPU.
///
/// Loads BUNDLE/manifest.json and its cubins through the CUDA driver, runs a function on generated inputs, compares what it
/// wrote with what the oracle computes in f64, and times it with inputs that are not in the L2 cache.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub struct Options {
    /// The bundle's directory; one with a directory per target serves the device's
    #[arg(required_unless_present = "measured")]
    pub bundle: Option<PathBuf>,
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
    #[arg(long, conflicts_with_all = ["verify", "time", "write_tensors", "sweep", "copy", "report", "measured"])]
    pub regret: bool,
    /// Run once for each of these values of a size, such as m=1024,4096,16384
    #[arg(long, value_name = "SIZE=N,...", value_parser = parse_sweep)]
    pub sweep: Option<(String, Vec<i64>)>,
    /// Measure a copy of as many bytes beside each call; it asks for --time too
    #[arg(long)]
    pub copy: bool,
    /// Write a page of HTML with figures and tables of what was measured; times and copies are measured for it
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// Make the report of what --json wrote in earlier runs, and run nothing
    #[arg(long, value_name = "FILE.json", requires = "report", conflicts_with_all = ["bundle", "sweep", "verify", "time", "write_tensors"])]
    pub measured: Vec<PathBuf>,
    /// Write each input and output, byte for byte, to a file of this folder, such as rms_norm.x.bin; those of a sweep to a folder in it
    /// for each size, such as m=1024
    #[arg(long, value_name = "DIR")]
    pub write_tensors: Option<PathBuf>,
    /// On a GPU that no cubin fits, run the PTX that normac --ptx-fallback stored, which the driver compiles first
    #[arg(long)]
    pub allow_ptx: bool,
    /// Which GPU
    #[arg(long, value_name = "ORDINAL", default_value_t = 0, value_parser = whole_number(0_u32..), allow_negative_numbers = true)]
    pub device: u32,
}

const EXIT_CODES: &str = "Exit codes: 0 right, 1 wrong results or a failed launch, 2 a bad command line or bundle, \
                          or a report that cannot be written, \
                          3 no CUDA driver or no GPU for this bundle";

impl Options {
    /// Whether to verify: if asked to, if tensors are to be written, and if nothing else is asked for.
    pub fn verifies(&self) -> bool {
        self.verify || self.write_tensors.is_some() || !self.times()
    }

    /// Whether to time: if asked to, and for a comparison with a copy or a report.
    pub fn times(&self) -> bool {
        self.time || self.copies()
    }

    /// Whether to time a copy as well.
    pub fn copies(&self) -> bool {
        self.copy || self.report.is_some()
    }

    /// The folder that the tensors of `run`, one of [`Options::runs`], are written to, if they are: for a sweep, one in
    /// [`Options::write_tensors`] for each size, so that no size overwrites the files of an earlier one.
    pub fn folder(&self, run: &RunOptions) -> Option<PathBuf> {
        let folder = self.write_tensors.as_ref()?;
        let swept = self.sweep.as_ref().and_then(|_| run.sizes.last());
        Some(match swept {
            Some(Setting { name, value }) => folder.join(format!("{name}={value}")),
            None => folder.clone(),
        })
    }

    /// The options of each run of a sweep; without a sweep, those of the only run.
    pub fn runs(&self) -> Vec<RunOptions> {
        let Some((name, values)) = &self.sweep else {
            return vec![self.run.clone()];
        };
        let with = |value: &i64| {
            let mut run = self.run.clone();
            run.sizes.push(Setting {
                name: name.clone(),
                value: *value,
            });
            run
        };
        values.iter().map(with).collect()
    }
}

/// Parses a sweep such as `m=1024,4096`.
fn parse_sweep(text: &str) -> Result<(String, Vec<i64>), String> {
    let Setting { name, value } = text.parse::<Setting<String>>()?;
    let number = |word: &str| {
        let number = word.trim().parse::<i64>();
        number.map_err(|_| format!("expected numbers with commas between them after '{name}=', got '{word}'"))
    };
    let values = value.split(',').map(number).collect::<Result<_, _>>()?;
    Ok((name, values))
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
    fn each_size_of_a_sweep_has_its_folder() {
        let folders = |arguments: &[&str]| {
            let options = Options::parse_from([&["norma-run", "DIR"], arguments].concat());
            let runs = options.runs();
            runs.iter().map(|run| options.folder(run)).collect::<Vec<_>>()
        };
        let written = ["--size", "k=3", "--write-tensors", "out"];
        let paths = |all: &[&str]| {
            all.iter()
                .map(|path| Some(PathBuf::from(path)))
                .collect::<Vec<_>>()
        };
        assert_eq!(folders(&written), paths(&["out"]));
        let swept = [&written[..], &["--sweep", "m=8,16"]].concat();
        assert_eq!(folders(&swept), paths(&["out/m=8", "out/m=16"]));
        assert_eq!(folders(&["--sweep", "m=8"]), [None]);
    }

    #[test]
    fn verifying_is_the_default() {
        let options = |arguments: &[&str]| Options::parse_from([&["norma-run", "DIR"], arguments].concat());
        assert!(options(&[]).verifies());
        assert!(!options(&["--time"]).verifies());
        assert!(options(&["--time", "--verify"]).verifies());
        assert!(!options(&["--report=page.html"]).verifies());
    }

    #[test]
    fn a_copy_is_measured_beside_the_time_of_a_call() {
        let options = Options::parse_from(["norma-run", "DIR", "--copy"]);
        assert!(options.times() && options.copies() && !options.verifies());
    }

    #[test]
    fn a_sweep_is_a_run_for_each_value() {
        let options =
            |arguments: &[&str]| Options::try_parse_from([&["norma-run", "DIR"], arguments].concat());
        let swept = options(&["--size=n=8", "--sweep=m=1,16"]).unwrap().runs();
        let sizes = swept
            .iter()
            .map(|run| run.sizes.iter().map(|size| size.value).collect());
        assert_eq!(sizes.collect::<Vec<Vec<i64>>>(), [[8, 1], [8, 16]]);
        assert_eq!(options(&[]).unwrap().runs().len(), 1);
        options(&["--sweep=m=1,"]).unwrap_err();
        options(&["--sweep=m"]).unwrap_err();
    }
}
