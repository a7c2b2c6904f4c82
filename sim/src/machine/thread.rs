//! What a thread has seen, and the copies it has under way.

use std::collections::VecDeque;

use super::mbarriers::MbarrierPlace;
use crate::program::SiteId;
use crate::race::{Agent, Clock, Event, Time};

/// The accesses that are ordered before what an agent does next.
#[derive(Clone, Debug)]
pub(crate) struct Knowledge {
    /// All accesses that happen before.
    pub seen: Clock,
    /// Those of them that a `fence.proxy.async` of shared memory follows.
    pub fenced_shared: Clock,
    /// Those of them that a `fence.proxy.async` of global memory follows.
    pub fenced_global: Clock,
    /// Those that a `fence.mbarrier_init` follows; it counts for initializations of mbarriers alone.
    pub initialized: Clock,
}

impl Knowledge {
    pub fn new(cluster: u32) -> Self {
        Self {
            seen: Clock::new(cluster),
            fenced_shared: Clock::new(cluster),
            fenced_global: Clock::new(cluster),
            initialized: Clock::new(cluster),
        }
    }

    pub fn join(&mut self, other: &Self) {
        self.seen.join(&other.seen);
        self.fenced_shared.join(&other.fenced_shared);
        self.fenced_global.join(&other.fenced_global);
        self.initialized.join(&other.initialized);
    }

    /// The joined knowledge of several agents, including the event of each at which it releases its own.
    pub fn join_all<'a>(cluster: u32, all: impl Iterator<Item = (&'a Self, Event)> + Clone) -> Self {
        let join = |part: fn(&'a Self) -> &'a Clock, tells: bool| {
            // An event at time 0 adds nothing.
            let event = |event: Event| match tells {
                true => event,
                false => Event { time: 0, ..event },
            };
            let parts = all.clone().map(|(knowledge, at)| (part(knowledge), event(at)));
            Clock::join_all(parts).unwrap_or_else(|| Clock::new(cluster))
        };
        Self {
            seen: join(|knowledge| &knowledge.seen, true),
            fenced_shared: join(|knowledge| &knowledge.fenced_shared, false),
            fenced_global: join(|knowledge| &knowledge.fenced_global, false),
            initialized: join(|knowledge| &knowledge.initialized, false),
        }
    }
}

/// Knowledge that is passed on, by the scope of the operation that passes it on.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByScope {
    /// To threads of the same CTA: by an operation of CTA scope or wider.
    pub cta: Option<Knowledge>,
    /// To all threads: by an operation of a wider scope than the CTA.
    pub gpu: Option<Knowledge>,
}

impl ByScope {
    /// Passes on `told` at CTA scope alone (`is_cta`) or at all scopes.
    pub fn of(told: Knowledge, is_cta: bool) -> Self {
        Self {
            gpu: (!is_cta).then(|| told.clone()),
            cta: Some(told),
        }
    }
}

/// A thread's state that matters to the order of accesses.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub cluster: u32,
    pub agent: Agent,
    /// The time of its accesses from now on; it grows with each release, so that later accesses are not part of it.
    pub now: Time,
    /// The number of its strong operations so far.
    pub strong: Time,
    pub knowledge: Knowledge,
    /// What it knew at its last fences, which relaxed operations after them pass on.
    pub released: ByScope,
    /// What relaxed reads have observed, which the next fence acquires.
    pub met: ByScope,
    /// Whether it has passed a barrier of the cluster, so that all CTAs of the cluster are known to run.
    pub cluster_started: bool,
    /// Bulk copies, and copies of 4 to 16 bytes.
    pub bulk: CopyGroups,
    pub small: CopyGroups,
    /// Arrivals that wait for copies of 4 to 16 bytes.
    pub arrivals: Vec<Arrival>,
}

/// An arrival at an mbarrier once copies of a thread have landed (`cp.async.mbarrier.arrive`).
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub place: MbarrierPlace,
    /// The time up to which it waits for copies.
    pub time: Time,
    pub told: Knowledge,
    pub site: SiteId,
}

impl Thread {
    pub fn new(cluster: u32, agent: Agent) -> Self {
        Self {
            cluster,
            agent,
            now: 1,
            strong: 0,
            knowledge: Knowledge::new(cluster),
            released: ByScope::default(),
            met: ByScope::default(),
            cluster_started: false,
            bulk: CopyGroups::default(),
            small: CopyGroups::default(),
            arrivals: Vec::new(),
        }
    }

    /// The event that its accesses belong to now.
    pub fn event(&self) -> Event {
        Event {
            cluster: self.cluster,
            agent: self.agent,
            time: self.now,
        }
    }

    /// Releases everything up to now: returns the thread's knowledge, its own accesses included. What it does later is
    /// not part of that.
    pub fn tell(&mut self) -> Knowledge {
        let mut told = self.knowledge.clone();
        told.seen.record(self.event());
        self.now += 1;
        told
    }
}

/// A thread's groups of asynchronous copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyGroups {
    /// The time of the events of copies from now on, from 1. It grows at each point up to which completion can be
    /// waited for: a commit, or a `cp.async.mbarrier.arrive`.
    epoch: Time,
    /// Groups that are under way or that nobody has waited for, oldest first; the last is the open one if `open`.
    groups: VecDeque<CopyGroup>,
    open: bool,
    /// Groups begun so far.
    begun: u32,
    /// The time of the last copy of all groups that have left `groups`.
    left: Time,
}

/// One group of copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyGroup {
    /// Its number in the thread.
    pub serial: u32,
    /// The time of its last copy.
    pub time: Time,
    /// Pieces whose source has not been read yet.
    pub unread: u32,
    /// Pieces that have not been written yet.
    pub unwritten: u32,
    /// Whether it has been waited for, at least until its sources were read.
    pub waited: bool,
    /// Where its first copy was issued; absent while it has none.
    pub site: Option<SiteId>,
}

impl CopyGroups {
    /// Adds a copy to the open group, which it opens if need be; returns the group's number and the copy's time.
    pub fn add(&mut self, site: SiteId) -> (u32, Time) {
        self.epoch = self.epoch.max(1);
        self.begin();
        if let Some(group) = self.groups.back_mut() {
            group.time = self.epoch;
            group.site.get_or_insert(site);
        }
        (self.begun, self.epoch)
    }

    fn begin(&mut self) {
        if !self.open {
            self.begun += 1;
            self.groups.push_back(CopyGroup {
                serial: self.begun,
                time: self.epoch,
                ..CopyGroup::default()
            });
            self.open = true;
        }
    }

    /// Closes the open group, or an empty one if nothing was copied since the last commit.
    pub fn commit(&mut self) {
        self.begin();
        self.open = false;
        self.epoch += 1;
    }

    /// Returns the time that covers all copies so far; later copies get a later one.
    pub fn cut(&mut self) -> Time {
        self.epoch += 1;
        self.epoch - 1
    }

    /// The group of that number, unless it is done and was waited for.
    pub fn group(&mut self, serial: u32) -> Option<&mut CopyGroup> {
        self.groups.iter_mut().find(|group| group.serial == serial)
    }

    /// The first group that nobody has waited for.
    pub fn unwaited(&self) -> Option<&CopyGroup> {
        self.groups.iter().find(|group| !group.waited)
    }

    /// Whether some copy up to that time has not landed.
    pub fn is_pending(&self, time: Time) -> bool {
        self.groups
            .iter()
            .take_while(|group| group.time <= time)
            .any(|group| group.unwritten > 0)
    }

    /// Waits for all committed groups but the last `pending`. Returns `None` if one of them is not done yet (its
    /// sources not read, if `read`), otherwise the time of their last copy, or 0 if there are none.
    pub fn wait(&mut self, pending: usize, read: bool) -> Option<Time> {
        let committed = self.groups.len() - usize::from(self.open);
        let due = committed.saturating_sub(pending);
        let is_done = |group: &CopyGroup| group.unread == 0 && (read || group.unwritten == 0);
        if !self.groups.iter().take(due).all(is_done) {
            return None;
        }
        self.groups
            .iter_mut()
            .take(due)
            .for_each(|group| group.waited = true);
        let last = due
            .checked_sub(1)
            .map_or(self.left, |last| self.groups[last].time);
        while let Some(first) = self
            .groups
            .front()
            .filter(|group| group.waited && group.unwritten == 0)
        {
            self.left = first.time;
            self.groups.pop_front();
        }
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_covers_all_groups_but_the_last() {
        let mut groups = CopyGroups::default();
        for _ in 0..3 {
            let (serial, _) = groups.add(0);
            let group = groups.group(serial).unwrap();
            (group.unread, group.unwritten) = (1, 1);
            groups.commit();
        }
        assert_eq!(groups.wait(3, false), Some(0));
        assert_eq!(groups.wait(2, true), None);
        groups.group(1).unwrap().unread = 0;
        assert_eq!(groups.wait(2, true), Some(1));
        assert_eq!(groups.wait(2, false), None);
        groups.group(1).unwrap().unwritten = 0;
        assert_eq!(groups.wait(2, false), Some(1));
        assert!(groups.group(1).is_none());
        assert_eq!(groups.wait(2, false), Some(1));
        assert_eq!(groups.unwaited().map(|group| group.serial), Some(2));
    }

    #[test]
    fn copies_after_a_cut_are_not_part_of_what_was_before() {
        let mut groups = CopyGroups::default();
        let (_, before) = groups.add(0);
        assert_eq!(groups.cut(), before);
        let (_, after) = groups.add(0);
        assert!(after > before);
    }
}
