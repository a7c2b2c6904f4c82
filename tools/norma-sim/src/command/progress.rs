//! Shows a progress bar for long runs on a terminal; elsewhere nothing.

use indicatif::{ProgressBar, ProgressStyle};
use norma_simulator::Progress;

/// A bar is shown only for runs with at least this many CTAs in total.
const FEW: u64 = 64;

/// A bar that counts mutants.
pub fn mutants() -> ProgressBar {
    styled(ProgressBar::new(0), "{wide_bar} {pos}/{len} mutants {eta}")
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The progress bar of all runs together.
pub struct Bar {
    bar: Option<ProgressBar>,
    seeds: u64,
}

impl Bar {
    /// Creates a bar for this many runs.
    pub fn new(seeds: u64) -> Self {
        Self { bar: None, seeds }
    }

    /// Shows the progress of the run of a seed.
    pub fn tell(&mut self, number: u64, at: Progress) {
        if at.total * self.seeds < FEW {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(at.total * self.seeds);
            styled(bar, "{wide_bar} {pos}/{len} CTAs {eta}")
        });
        bar.set_position(number * at.total + at.done);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
