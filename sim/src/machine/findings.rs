//! Collects findings: one for each kind at each site, with a count of the rest, causes first.

use std::collections::HashMap;

use crate::finding::{Finding, FindingKind, Note};
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

    /// Counts a repetition if the kind is known at the site; returns whether it is.
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

    /// The findings, with causes ahead of their consequences, otherwise in the order of the run. An uninitialized read
    /// by an access that races with a write of the same memory becomes a note of that race.
    pub fn into_vec(self) -> Vec<Finding> {
        let (early, mut found): (Vec<Finding>, Vec<Finding>) = self
            .found
            .into_iter()
            .partition(|finding| finding.kind == FindingKind::Uninitialized);
        for read in early {
            match found.iter_mut().find(|race| explains(race, &read)) {
                Some(race) => race.notes.push(Note {
                    site: Some(read.site),
                    message: "reads memory there that nobody has written yet".to_owned(),
                }),
                None => found.push(read),
            }
        }
        found.sort_by_key(|finding| finding.kind.rank());
        found
    }
}

/// Whether a race explains why a read came ahead of the write.
fn explains(race: &Finding, read: &Finding) -> bool {
    let name = |finding: &Finding| finding.memory.as_ref().map(|memory| memory.name.clone());
    let takes_part = race.site == read.site
        || race
            .notes
            .iter()
            .any(|note| note.site.as_ref() == Some(&read.site));
    race.kind == FindingKind::DataRace && takes_part && name(race).is_some() && name(race) == name(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{MemoryPlace, ThreadPlace};
    use crate::program::{Site, Space};

    fn finding(kind: FindingKind, op: &str, memory: &str) -> Finding {
        Finding {
            kind,
            site: Site {
                op: op.to_owned(),
                location: None,
                in_module: None,
            },
            thread: ThreadPlace::default(),
            memory: Some(MemoryPlace {
                space: Space::Shared,
                name: memory.to_owned(),
                offset: 0,
                bytes: 4,
            }),
            message: String::new(),
            notes: Vec::new(),
            repeats: 0,
        }
    }

    fn collected(all: impl IntoIterator<Item = Finding>) -> Vec<Finding> {
        let mut findings = Findings::new(16);
        for (site, finding) in all.into_iter().enumerate() {
            findings.add(site as SiteId, finding);
        }
        findings.into_vec()
    }

    #[test]
    fn a_cause_comes_ahead_of_what_follows_from_it() {
        let found = collected([
            finding(FindingKind::Deadlock, "wait", "s"),
            finding(FindingKind::Uninitialized, "load", "s"),
            finding(FindingKind::Mbarrier, "arrive", "s"),
        ]);
        let kinds: Vec<FindingKind> = found.iter().map(|finding| finding.kind).collect();
        assert_eq!(
            kinds,
            [
                FindingKind::Mbarrier,
                FindingKind::Uninitialized,
                FindingKind::Deadlock
            ]
        );
    }

    #[test]
    fn a_read_ahead_of_a_racing_write_is_part_of_the_race() {
        let mut race = finding(FindingKind::DataRace, "store", "s");
        let read = finding(FindingKind::Uninitialized, "load", "s");
        race.notes.push(Note {
            site: Some(read.site.clone()),
            message: String::new(),
        });
        let found = collected([read.clone(), race.clone()]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].notes.len(), 2);

        let elsewhere = finding(FindingKind::Uninitialized, "load", "other");
        assert_eq!(collected([elsewhere, race]).len(), 2);
    }
}
