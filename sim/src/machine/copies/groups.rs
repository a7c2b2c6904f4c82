//! A thread's groups of asynchronous copies, and how far each is.

use std::collections::VecDeque;

use crate::program::SiteId;
use crate::race::Time;

/// A thread's groups of copies of one kind. A commit ends a group; a wait for all committed groups but the last few is
/// first asked ([`Self::are_done`]) and then made ([`Self::finish`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct CopyGroups {
    /// The batches that are under way or that nobody has waited for, oldest first.
    batches: VecDeque<Batch>,
    /// The number of groups that have been committed, some of them maybe empty.
    committed: u32,
    /// The number of batches that have ended, some of them maybe empty.
    ended: Time,
    /// The time of the last batch that has left `batches`.
    left: Time,
}

/// The copies between two points up to which completion can be waited for: a commit, or a `cp.async.mbarrier.arrive`,
/// which divides the open group.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// The time of the events of its copies, from 1.
    time: Time,
    /// The number of its group in the thread, from 0.
    group: u32,
    /// Pieces whose source has not been read yet.
    pub unread: u32,
    /// Pieces that have not been written yet.
    pub unwritten: u32,
    /// Whether it has been waited for, at least until its sources were read.
    waited: bool,
    /// Where its first copy was issued.
    site: SiteId,
}

impl CopyGroups {
    /// Adds a copy to the open group; returns the copy's time, which is the same for all copies of a batch.
    pub fn add(&mut self, site: SiteId) -> Time {
        let time = self.ended + 1;
        if self.batches.back().is_none_or(|last| last.time != time) {
            self.batches.push_back(Batch {
                time,
                group: self.committed,
                unread: 0,
                unwritten: 0,
                waited: false,
                site,
            });
        }
        time
    }

    /// Closes the open group, which is empty if nothing was copied since the last commit.
    pub fn commit(&mut self) {
        self.committed += 1;
        self.ended += 1;
    }

    /// Ends the open batch; returns the time that covers all copies so far. Later copies get a later one.
    pub fn cut(&mut self) -> Time {
        self.ended += 1;
        self.ended
    }

    /// The batch of that time, unless it is done and was waited for.
    pub fn batch(&mut self, time: Time) -> Option<&mut Batch> {
        self.batches.iter_mut().find(|batch| batch.time == time)
    }

    /// The first copy that nobody has waited for.
    pub fn unwaited(&self) -> Option<SiteId> {
        let first = self.batches.iter().find(|batch| !batch.waited)?;
        Some(first.site)
    }

    /// Whether some copy up to that time has not landed.
    pub fn is_pending(&self, time: Time) -> bool {
        let mut before = self.batches.iter().take_while(|batch| batch.time <= time);
        before.any(|batch| batch.unwritten > 0)
    }

    /// Whether all committed groups but the last `pending` are done or, if `read`, their sources have been read; with
    /// `None`, whether all copies are.
    pub fn are_done(&self, pending: Option<u32>, read: bool) -> bool {
        let due = self.due(pending);
        self.batches
            .iter()
            .take_while(|batch| batch.group < due)
            .all(|batch| batch.unread == 0 && (read || batch.unwritten == 0))
    }

    /// Records that the thread has waited for all committed groups but the last `pending`, or with `None` for all
    /// copies; returns the time of the last of these copies, or 0 if there are none.
    pub fn finish(&mut self, pending: Option<u32>) -> Time {
        let due = self.due(pending);
        let mut last = self.left;
        for batch in self.batches.iter_mut().take_while(|batch| batch.group < due) {
            batch.waited = true;
            last = batch.time;
        }
        while let Some(first) = self
            .batches
            .front()
            .filter(|batch| batch.waited && batch.unwritten == 0)
        {
            self.left = first.time;
            self.batches.pop_front();
        }
        last
    }

    /// The number of the first group that is not waited for.
    fn due(&self, pending: Option<u32>) -> u32 {
        match pending {
            Some(pending) => self.committed.saturating_sub(pending),
            None => self.committed + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a copy of one piece.
    fn copy(groups: &mut CopyGroups) -> Time {
        let time = groups.add(0);
        let batch = groups.batch(time).unwrap();
        batch.unread += 1;
        batch.unwritten += 1;
        time
    }

    /// Lands a piece of the copies of that time.
    fn land(groups: &mut CopyGroups, time: Time) {
        let batch = groups.batch(time).unwrap();
        batch.unread -= 1;
        batch.unwritten -= 1;
    }

    #[test]
    fn a_wait_covers_all_groups_but_the_last() {
        let mut groups = CopyGroups::default();
        for site in 0..3 {
            let time = groups.add(site);
            let batch = groups.batch(time).unwrap();
            (batch.unread, batch.unwritten) = (1, 1);
            groups.commit();
        }
        assert!(groups.are_done(Some(3), false));
        assert_eq!(groups.finish(Some(3)), 0);
        assert!(!groups.are_done(Some(2), true));
        groups.batch(1).unwrap().unread = 0;
        assert!(groups.are_done(Some(2), true) && !groups.are_done(Some(2), false));
        assert_eq!(groups.finish(Some(2)), 1);
        assert!(!groups.are_done(Some(2), false));
        groups.batch(1).unwrap().unwritten = 0;
        assert!(groups.are_done(Some(2), false));
        assert_eq!(groups.finish(Some(2)), 1);
        assert!(groups.batch(1).is_none());
        assert_eq!(groups.finish(Some(2)), 1);
        assert_eq!(groups.unwaited(), Some(1));
    }

    #[test]
    fn asking_changes_nothing() {
        let mut groups = CopyGroups::default();
        let time = copy(&mut groups);
        groups.commit();
        land(&mut groups, time);
        assert!(groups.are_done(Some(0), false));
        assert_eq!(groups.unwaited(), Some(0));
        assert_eq!(groups.finish(Some(0)), time);
        assert_eq!(groups.unwaited(), None);
    }

    #[test]
    fn copies_after_a_cut_are_not_part_of_what_was_before() {
        let mut groups = CopyGroups::default();
        let before = copy(&mut groups);
        assert_eq!(groups.cut(), before);
        let after = copy(&mut groups);
        assert!(after > before);
        land(&mut groups, after);
        assert!(groups.is_pending(before), "the copy after the cut landed first");
        land(&mut groups, before);
        assert!(!groups.is_pending(before));
    }

    #[test]
    fn a_cut_does_not_end_a_group() {
        let mut groups = CopyGroups::default();
        let before = copy(&mut groups);
        groups.cut();
        let after = copy(&mut groups);
        groups.commit();
        copy(&mut groups);
        groups.commit();
        land(&mut groups, before);
        assert!(!groups.are_done(Some(1), false));
        land(&mut groups, after);
        assert!(groups.are_done(Some(1), false));
        assert_eq!(groups.finish(Some(1)), after);
    }

    #[test]
    fn an_empty_group_counts_and_hides_no_copy() {
        let mut groups = CopyGroups::default();
        groups.commit();
        assert_eq!(groups.unwaited(), None);
        let time = groups.add(7);
        groups.batch(time).unwrap().unwritten = 1;
        assert_eq!(groups.unwaited(), Some(7));
        groups.commit();
        groups.commit();
        assert!(groups.are_done(Some(2), false) && !groups.are_done(Some(1), false));
    }

    #[test]
    fn a_wait_for_all_copies_includes_those_of_the_open_group() {
        let mut groups = CopyGroups::default();
        let time = copy(&mut groups);
        assert!(groups.are_done(Some(0), false) && !groups.are_done(None, false));
        land(&mut groups, time);
        assert!(groups.are_done(None, false));
        assert_eq!(groups.finish(None), time);
    }
}
