//! Operations on mbarriers. [`crate::mbarrier`] counts arrivals and bytes; this module checks who may use an mbarrier,
//! and orders what happens before a phase completes ahead of what follows a wait for it.
//!
//! Race detection takes an initialization for a write of the mbarrier's eight bytes, and every other use for a strong
//! read. So a use that is not ordered after the initialization is a race, and so is reinitializing an mbarrier that
//! others still use.

mod operation;
mod wait;

use super::Machine;
use super::access::{Spot, Target};
use super::cluster::Phases;
use super::report::Problem;
use super::step::Step;
use crate::finding::FindingKind;
use crate::mbarrier::{MBARRIER_BYTES, Mbarrier, MbarrierFault};
use crate::memory::Fault;
use crate::program::{SiteId, Space};
use crate::race::{Accessor, Conflict, ConflictKind, Event, Proxy};

/// Identifies an mbarrier: the CTA's rank and the offset in its shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MbarrierPlace {
    pub cta: usize,
    pub offset: u32,
}

impl MbarrierPlace {
    fn spot(self) -> Spot {
        Spot {
            target: Target::Shared(self.cta),
            offset: i64::from(self.offset),
        }
    }
}

impl Machine<'_> {
    /// The mbarrier at an address; reports a finding unless it lies in shared memory and is aligned.
    pub(super) fn find_mbarrier(&mut self, step: Step, space: Space, address: u64) -> Option<MbarrierPlace> {
        let spot = match self.locate_address(step.at, space, address) {
            Ok(spot) => spot,
            Err(message) => {
                self.find(FindingKind::OutOfBounds, step, None, message, Vec::new());
                return None;
            }
        };
        let Spot {
            target: Target::Shared(cta),
            offset,
        } = spot
        else {
            let message = "expects an mbarrier in shared memory".to_owned();
            self.find_at(
                FindingKind::Mbarrier,
                step,
                spot,
                MBARRIER_BYTES,
                message,
                Vec::new(),
            );
            return None;
        };
        if offset % MBARRIER_BYTES as i64 != 0 {
            let message = format!("needs an address that is a multiple of {MBARRIER_BYTES} bytes");
            self.find_at(
                FindingKind::Misaligned,
                step,
                spot,
                MBARRIER_BYTES,
                message,
                Vec::new(),
            );
            return None;
        }
        let offset = offset as u32;
        Some(MbarrierPlace { cta, offset })
    }

    /// Records an access to an mbarrier's bytes; returns false if the operation cannot go on.
    pub(super) fn note_mbarrier(&mut self, step: Step, place: MbarrierPlace, writes: bool) -> bool {
        let (spot, site) = (place.spot(), self.site(step));
        let index = self.thread_index(step.at, step.mask.trailing_zeros() as usize);
        if let Some(problem) = self.precheck_place(step, index, spot, MBARRIER_BYTES, false) {
            self.report(step, spot, MBARRIER_BYTES, problem);
            return false;
        }
        let cluster = &mut self.clusters[step.at.cluster];
        let thread = &cluster.threads[index];
        let by = Accessor {
            event: thread.event(),
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: Proxy::Generic,
            site,
            strong: !writes,
            cta: (step.at.cta as u8, false),
            invariant: false,
        };
        let region = cluster.ctas[place.cta].shared.region_mut();
        let range = place.offset as usize..place.offset as usize + MBARRIER_BYTES;
        let fault = match writes {
            true => region.note_write(range, &by),
            false => region.note_read(range, &by),
        };
        match fault {
            // `fence.mbarrier_init` and a relaxed barrier of the cluster order initializations alone.
            Some(Fault::Conflict(Conflict {
                kind: ConflictKind::Race,
                other,
                ..
            })) if !writes && thread.knowledge.initialized.knows(other.event) => true,
            Some(Fault::Uninitialized { .. }) => {
                let message = "uses an mbarrier that was not initialized".to_owned();
                self.find_at(
                    FindingKind::Mbarrier,
                    step,
                    spot,
                    MBARRIER_BYTES,
                    message,
                    Vec::new(),
                );
                false
            }
            Some(fault) => {
                self.report(step, spot, MBARRIER_BYTES, Problem::Fault(fault));
                !matches!(fault, Fault::OutOfBounds)
            }
            None => true,
        }
    }

    /// As [`Self::note_mbarrier`], for a copy that completes there: the async proxy must see the initialization, too.
    pub(super) fn note_mbarrier_of_copy(
        &mut self,
        step: Step,
        lane: usize,
        place: MbarrierPlace,
        is_async: bool,
    ) -> bool {
        if !self.note_mbarrier(step, place, false) {
            return false;
        }
        if !is_async {
            return true;
        }
        let (index, site) = (self.thread_index(step.at, lane), self.site(step));
        let cluster = &mut self.clusters[step.at.cluster];
        let tag = cluster.tag;
        let thread = &cluster.threads[index];
        let mut visible = thread.knowledge.fenced_shared.clone();
        visible.join(&thread.knowledge.initialized);
        let cta = &mut cluster.ctas[place.cta];
        let Ok((state, phases)) = cta.mbarriers.get(u64::from(place.offset)) else {
            return true;
        };
        let by = Accessor {
            event: Event {
                cluster: tag,
                agent: phases.agent,
                time: phases.copy_time(state),
            },
            issuer: thread.agent,
            clock: &thread.knowledge.seen,
            proxy: Proxy::Async { fenced: &visible },
            site,
            strong: true,
            cta: (step.at.cta as u8, false),
            invariant: false,
        };
        let region = cta.shared.region_mut();
        let fault = region.note_read(place.offset as usize..place.offset as usize + MBARRIER_BYTES, &by);
        if let Some(Fault::Conflict(Conflict {
            kind: ConflictKind::MissingProxyFence,
            other,
            ..
        })) = fault
        {
            let message =
                "completes on an mbarrier whose initialization no fence has shown to the async proxy"
                    .to_owned();
            let notes = vec![self.note(other.site, "initialized it")];
            let spot = place.spot();
            self.find_at(
                FindingKind::MissingProxyFence,
                step,
                spot,
                MBARRIER_BYTES,
                message,
                notes,
            );
        }
        true
    }

    pub(super) fn mbarrier_fault(&mut self, step: Step, place: MbarrierPlace, fault: &MbarrierFault) {
        self.find_at(
            FindingKind::Mbarrier,
            step,
            place.spot(),
            MBARRIER_BYTES,
            fault.to_string(),
            Vec::new(),
        );
    }

    /// Reports that a phase has completed while a copy still has bytes to bring for it: fewer were expected than are
    /// copied.
    fn unfinished_copy(
        &mut self,
        site: SiteId,
        (cluster, thread): (usize, usize),
        place: MbarrierPlace,
        phase: u64,
        bytes: usize,
    ) {
        let memory = self.memory_place(cluster, place.spot(), MBARRIER_BYTES);
        let message = format!(
            "still has {bytes} bytes to bring when phase {phase} of its mbarrier completes: fewer were expected than \
             are copied"
        );
        self.find_of(
            FindingKind::UnfinishedCopy,
            site,
            (cluster, thread),
            Some(memory),
            message,
            Vec::new(),
        );
    }

    /// Reports a fault that occurs when a copy lands, at the copy's instruction.
    pub(super) fn mbarrier_fault_of_copy(
        &mut self,
        site: SiteId,
        (cluster, thread): (usize, usize),
        place: MbarrierPlace,
        fault: &MbarrierFault,
    ) {
        let memory = self.memory_place(cluster, place.spot(), MBARRIER_BYTES);
        self.find_of(
            FindingKind::Mbarrier,
            site,
            (cluster, thread),
            Some(memory),
            fault.to_string(),
            Vec::new(),
        );
    }
}

impl Phases {
    /// The time of copies that complete on the current phase; it keeps growing when the mbarrier is invalidated and
    /// initialized again.
    pub fn copy_time(&self, state: &Mbarrier) -> u32 {
        self.earlier + state.phase() as u32 + 1
    }
}
