//! Shows progress: a spinner on a terminal, one plain line per step otherwise.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A step in progress. Dropping it without [`Step::done`] erases the spinner, so that an error message stands alone.
pub struct Step {
    bar: ProgressBar,
}

impl Step {
    /// Announces a step that is about to start.
    pub fn start(what: &str) -> Self {
        let bar = ProgressBar::new_spinner();
        if bar.is_hidden() {
            eprintln!("{what}");
        } else {
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.set_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(120));
        }
        Self { bar }
    }

    /// Replaces the spinner by a line that reports the result.
    pub fn done(self, what: &str) {
        self.bar.finish_and_clear();
        eprintln!("{what}");
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
