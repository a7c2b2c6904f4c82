//! Asynchronous copies: issued by threads, landing later, piece by piece.
//!
//! Once a copy is issued, an access that writes what it reads, or touches what it writes, must be ordered after its
//! completion. So race detection records the whole copy at its issue, as an access of its own agent, and when its
//! pieces land affects only values. Bulk copies use the async proxy; `cp.async` and `st.async` the generic one.

mod bulk;
mod groups;
mod issue;
mod small;
mod store;

use super::Machine;
use super::access::Target;
use super::mbarriers::MbarrierPlace;
use super::warp::Wait;
use crate::mbarrier::{MbarrierFault, PhaseChange};
use crate::memory::atomic;
use crate::program::{AtomicFormat, AtomicOp, SiteId};
use crate::race::Time;
pub(crate) use groups::CopyGroups;

/// A copy under way.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    /// The thread that issued it, by its index in the cluster.
    pub thread: u32,
    pub site: SiteId,
    /// The pieces that have not landed yet.
    pub moves: Vec<Move>,
    pub done: Done,
    pub reduce: Option<(AtomicOp, AtomicFormat)>,
}

/// What counts the completion of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// The transaction count of the mbarrier at that offset, in the CTA that a piece lands in.
    Mbarrier { offset: u32 },
    /// The groups of the thread's bulk copies; the time is the copy's.
    Bulk(Time),
    /// The groups of the thread's `cp.async` copies; the time is the copy's.
    Small(Time),
}

/// One piece of a copy.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub from: Source,
    /// The destination; absent for bytes that cannot be written there, which count nevertheless.
    pub to: Option<(Target, usize)>,
    pub bytes: usize,
    /// The CTA whose mbarrier counts it.
    pub cta: usize,
}

/// The bytes of a piece.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// They are still to be read from there.
    Memory(Target, usize),
    /// They have been read.
    Bytes(Vec<u8>),
}

impl Copy {
    /// The bytes that have not landed yet and that the mbarrier at `place` counts.
    pub fn bytes_for(&self, place: MbarrierPlace) -> usize {
        match self.done {
            Done::Mbarrier { offset } if offset == place.offset => {
                let moves = self.moves.iter().filter(|moved| moved.cta == place.cta);
                moves.map(|moved| moved.bytes).sum()
            }
            _ => 0,
        }
    }
}

impl Machine<'_> {
    /// Lands a piece of some copy, if any is under way.
    pub(super) fn land_any(&mut self) -> bool {
        let count: usize = self.clusters.iter().map(|cluster| cluster.copies.len()).sum();
        if count == 0 {
            return false;
        }
        let mut chosen = self.schedule.choices.below(count as u64) as usize;
        for cluster in 0..self.clusters.len() {
            let copies = self.clusters[cluster].copies.len();
            if chosen < copies {
                self.land_piece(cluster, chosen);
                return true;
            }
            chosen -= copies;
        }
        false
    }

    /// Lands all copies of a cluster.
    pub(super) fn land_all(&mut self, cluster: usize) {
        while let Some(last) = self.clusters[cluster].copies.len().checked_sub(1) {
            self.land_piece(cluster, last);
        }
    }

    /// Moves one piece of a copy, chosen among those left. A piece of a bulk group is read in one call and written in
    /// another.
    fn land_piece(&mut self, cluster: usize, index: usize) {
        let pieces = self.clusters[cluster].copies[index].moves.len();
        let piece = self.schedule.choices.below(pieces as u64) as usize;
        let copy = &mut self.clusters[cluster].copies[index];
        let (thread, site, done, reduce) = (copy.thread, copy.site, copy.done, copy.reduce);
        if copy.moves.is_empty() {
            self.clusters[cluster].copies.swap_remove(index);
            return;
        }
        let mut moved = copy.moves.swap_remove(piece);
        if let Source::Memory(target, offset) = moved.from {
            let bytes = self.read(cluster, target, offset, moved.bytes);
            moved.from = Source::Bytes(bytes);
            if let Done::Bulk(time) = done {
                // Threads can wait for the sources to be read alone, so reading and writing are separate steps.
                self.count_piece(cluster, thread, |thread| &mut thread.bulk, time, true);
                self.clusters[cluster].copies[index].moves.push(moved);
                return;
            }
        }
        if self.clusters[cluster].copies[index].moves.is_empty() {
            self.clusters[cluster].copies.swap_remove(index);
        }
        if let (Some((target, offset)), Source::Bytes(bytes)) = (moved.to, &moved.from) {
            self.write(cluster, target, offset, bytes, reduce);
        }
        match done {
            Done::Bulk(time) => self.count_piece(cluster, thread, |thread| &mut thread.bulk, time, false),
            Done::Small(time) => {
                self.count_piece(cluster, thread, |thread| &mut thread.small, time, true);
                self.count_piece(cluster, thread, |thread| &mut thread.small, time, false);
                self.arrive_for_small_copies(cluster, thread);
            }
            Done::Mbarrier { offset } => {
                let place = MbarrierPlace {
                    cta: moved.cta,
                    offset,
                };
                let mbarriers = &mut self.clusters[cluster].ctas[moved.cta].mbarriers;
                let changed = mbarriers
                    .get(u64::from(offset))
                    .and_then(|(state, _)| state.complete_transaction(moved.bytes as u64));
                self.after_landing(changed, site, (cluster, thread), place);
            }
        }
    }

    fn read(&self, cluster: usize, target: Target, offset: usize, bytes: usize) -> Vec<u8> {
        let region = match target {
            Target::Buffer(buffer) => self.memory.region(buffer),
            Target::Shared(rank) => self.clusters[cluster].ctas[rank].shared.region(),
        };
        let mut read = region.bytes().get(offset..).unwrap_or_default().to_vec();
        read.resize(bytes, 0);
        read
    }

    fn write(
        &mut self,
        cluster: usize,
        target: Target,
        offset: usize,
        bytes: &[u8],
        reduce: Option<(AtomicOp, AtomicFormat)>,
    ) {
        let region = match target {
            Target::Buffer(buffer) => self.memory.region_mut(buffer),
            Target::Shared(rank) => self.clusters[cluster].ctas[rank].shared.region_mut(),
        };
        let Some((op, format)) = reduce else {
            region.place(offset, bytes);
            return;
        };
        let size = atomic::bytes(format);
        for (index, chunk) in bytes.chunks_exact(size).enumerate() {
            let operand = chunk
                .iter()
                .rev()
                .fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            let place = offset + index * size;
            if let Some(old) = region.peek(place, size) {
                let new = atomic::combine(op, format, false, old as u64, operand, 0);
                debug_assert!(new.is_some(), "decoding has let {op:?} on {format:?} pass");
                region.poke(place, size, u128::from(new.unwrap_or(old as u64)));
            }
        }
    }

    /// Counts a piece of the copies of a time as read or written, and wakes the thread if it waits for copies.
    fn count_piece(
        &mut self,
        cluster: usize,
        thread: u32,
        groups: fn(&mut super::thread::Thread) -> &mut CopyGroups,
        time: Time,
        read: bool,
    ) {
        let per_cta = self.block_threads() as usize;
        let cluster = &mut self.clusters[cluster];
        if let Some(batch) = groups(&mut cluster.threads[thread as usize]).batch(time) {
            let left = if read {
                &mut batch.unread
            } else {
                &mut batch.unwritten
            };
            *left = left.saturating_sub(1);
        }
        let (cta, thread) = (thread as usize / per_cta, thread as usize % per_cta);
        cluster.ctas[cta].warps[thread / super::warp::LANES].wake(|wait| *wait == Wait::Copies);
    }

    /// Ends the phase that a landing completed, or reports its fault at the copy's instruction.
    pub(super) fn after_landing(
        &mut self,
        changed: Result<PhaseChange, MbarrierFault>,
        site: SiteId,
        (cluster, thread): (usize, u32),
        place: MbarrierPlace,
    ) {
        match changed {
            Ok(PhaseChange::Completed(phase)) => self.end_phase(cluster, place, phase),
            Ok(PhaseChange::Pending) => {}
            Err(fault) => self.mbarrier_fault_of_copy(site, (cluster, thread as usize), place, &fault),
        }
    }
}
