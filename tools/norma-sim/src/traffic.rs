//! Memory traffic of each access of a kernel, by source location.

use std::fmt;

use norma_oracle::problem::Problem;
use norma_oracle::{Fill, memory};
use norma_simulator::Options;
use norma_simulator::program::{Program, Site, SiteId};
use norma_simulator::traffic::{GlobalTraffic, SharedTraffic, Totals, Traffic};

use crate::bundle::Bundle;
use crate::error::Error;
use crate::run::{fitting, run};

/// The counts of a kernel; the accesses with the most waste come first.
#[derive(Clone, Debug, Default)]
pub struct KernelTraffic {
    /// The kernel.
    pub kernel: String,
    /// Accesses to global memory.
    pub global: Vec<(Site, GlobalTraffic)>,
    /// Accesses to shared memory.
    pub shared: Vec<(Site, SharedTraffic)>,
    /// The totals of all accesses to global memory.
    pub totals: Totals,
}

/// Counts the traffic of each kernel of a problem, in a run without adverse scheduling. Values that control flow may depend
/// on are those of [`Fill::Normal`].
///
/// # Errors
/// As [`run`]; or the kernels have findings, so that the counts are not those of a complete run.
pub fn measure(bundle: &Bundle, problem: &Problem<'_>) -> Result<Vec<KernelTraffic>, Error> {
    let options = Options {
        traffic: true,
        ..Options::default()
    };
    fitting(problem, &options)?;
    let inputs = memory::inputs(problem, Fill::Normal, options.seed);
    let run = run(bundle, problem, &inputs, &options, &mut |_| ())?;
    match run.findings.first() {
        Some(finding) => Err(Error::Request(finding.to_string())),
        None => Ok(run.traffic),
    }
}

impl KernelTraffic {
    /// Resolves the site ids of `traffic` by `program`.
    pub fn new(kernel: &str, program: &Program, traffic: &Traffic) -> Self {
        let site = |id: SiteId| program.sites.get(id as usize).cloned().unwrap_or_default();
        let mut named = Self {
            kernel: kernel.to_owned(),
            totals: traffic.totals(),
            global: traffic
                .global
                .iter()
                .map(|(id, counts)| (site(*id), counts.clone()))
                .collect(),
            shared: traffic
                .shared
                .iter()
                .map(|(id, counts)| (site(*id), *counts))
                .collect(),
        };
        let waste = |counts: &GlobalTraffic| counts.sectors.saturating_sub(counts.ideal_sectors);
        named
            .global
            .sort_by_key(|(_, counts)| std::cmp::Reverse(waste(counts)));
        let conflicts = |counts: &SharedTraffic| counts.wavefronts.saturating_sub(counts.ideal_wavefronts);
        named
            .shared
            .sort_by_key(|(_, counts)| std::cmp::Reverse(conflicts(counts)));
        named
    }
}

impl fmt::Display for KernelTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "traffic of {}", self.kernel)?;
        let place = |site: &Site| match &site.location {
            Some(location) => format!("{location}: {site}"),
            None => site.to_string(),
        };
        for (site, counts) in &self.global {
            writeln!(
                f,
                "  {}: global, {} warp accesses, {} lines, {} sectors of 32 bytes where {} would do, {} of them distinct",
                place(site),
                counts.accesses,
                counts.lines,
                counts.sectors,
                counts.ideal_sectors,
                counts.of_sectors().distinct
            )?;
        }
        for (site, counts) in &self.shared {
            writeln!(
                f,
                "  {}: shared, {} warp accesses, {} wavefronts where {} would do",
                place(site),
                counts.accesses,
                counts.wavefronts,
                counts.ideal_wavefronts
            )?;
        }
        let Totals { read, written } = self.totals;
        writeln!(
            f,
            "  in all: {} sectors read, {} of them distinct, and {} written, {} of them distinct",
            read.requested, read.distinct, written.requested, written.distinct
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use norma_compiler::compile::{Input, Outcome};
    use norma_compiler::{CompileOptions, Target};

    use super::*;

    #[test]
    fn a_kernel_moves_at_least_what_its_manifest_says() {
        let input = Input {
            name: "rms_norm.mlir",
            text: include_str!("../../../examples/rms_norm.mlir"),
        };
        let options = CompileOptions::new(Target::parse("sm_90a").unwrap());
        let bundle = Bundle::compile(input, &options, &mut Outcome::default()).unwrap();
        let function = bundle.manifest.function(None).unwrap();
        let sizes = BTreeMap::from([("m".to_owned(), 3)]);
        let problem = Problem::new(function, sizes, BTreeMap::new(), BTreeMap::new()).unwrap();
        let traffic = measure(&bundle, &problem).unwrap();
        let Totals { read, written } = traffic[0].totals;
        // Three rows of 8192 bytes read and written, and the weights read.
        assert_eq!((read.distinct, written.distinct), (4 * 256, 3 * 256));
        assert!(read.requested >= read.distinct);
        assert_eq!(written.requested, written.distinct);
        let by_site: u64 = traffic[0].global.iter().map(|(_, counts)| counts.sectors).sum();
        assert_eq!(by_site, read.requested + written.requested);
    }
}
