//! Collects findings: one for each kind at each site, with a count of the rest.

use std::collections::HashMap;

use crate::finding::{Finding, FindingKind};
use crate::program::SiteId;

#[derive(Debug)]
pub(crate) struct Findings {
    found: Vec<Finding>,
    index: HashMap<(FindingKind, SiteId), usize>,
    limit: usize,
    /// Whether the run cannot go on.
    fatal: bool,
}

impl Findings {
    pub fn new(limit: usize) -> Self {
        Self {
            found: Vec::new(),
            index: HashMap::new(),
            limit,
            fatal: false,
        }
    }

    /// Whether the kind is known at the site; if so it is counted.
    pub fn repeat(&mut self, kind: FindingKind, site: SiteId) -> bool {
        match self.index.get(&(kind, site)) {
            Some(index) => {
                self.found[*index].repeats += 1;
                true
            }
            None => false,
        }
    }

    pub fn add(&mut self, site: SiteId, finding: Finding) {
        self.index.insert((finding.kind, site), self.found.len());
        self.found.push(finding);
    }

    /// Ends the run.
    pub fn stop(&mut self) {
        self.fatal = true;
    }

    pub fn is_over(&self) -> bool {
        self.fatal || self.found.len() >= self.limit
    }

    pub fn into_vec(self) -> Vec<Finding> {
        self.found
    }
}
