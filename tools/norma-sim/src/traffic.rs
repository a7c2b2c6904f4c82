//! How well each access of a kernel uses the memories, by where it stands.

use std::fmt;

use norma_simulator::program::{Program, Site, SiteId};
use norma_simulator::traffic::{GlobalTraffic, SharedTraffic, Traffic};

/// The counts of a kernel, worst first.
#[derive(Clone, Debug, Default)]
pub struct KernelTraffic {
    /// The kernel.
    pub kernel: String,
    /// Accesses to global memory.
    pub global: Vec<(Site, GlobalTraffic)>,
    /// Accesses to shared memory.
    pub shared: Vec<(Site, SharedTraffic)>,
}

impl KernelTraffic {
    /// Names the sites of `traffic`, which are of `program`.
    pub fn new(kernel: &str, program: &Program, traffic: &Traffic) -> Self {
        let site = |id: SiteId| program.sites.get(id as usize).cloned().unwrap_or_default();
        let mut named = Self {
            kernel: kernel.to_owned(),
            global: traffic
                .global
                .iter()
                .map(|(id, counts)| (site(*id), *counts))
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
                "  {}: global, {} warp accesses, {} lines, {} sectors of 32 bytes where {} would do",
                place(site),
                counts.accesses,
                counts.lines,
                counts.sectors,
                counts.ideal_sectors
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
        Ok(())
    }
}
