//! The end of threads and CTAs, and of a run in which nothing can go on.

use norma_targets::WARPGROUP_WARPS;

use super::access::{Spot, Target};
use super::step::Step;
use super::warp::{LANES, State, Wait, Warp, lanes};
use super::{At, Machine};
use crate::finding::{FindingKind, Note};
use crate::mbarrier::MBARRIER_BYTES;
use crate::program::SiteId;
use crate::race::Event;

const WARPGROUP: usize = WARPGROUP_WARPS as usize;

impl Machine<'_> {
    /// Handles the end of threads of a warp: checks what they leave behind, and wakes what waits for them.
    pub(super) fn end_threads(&mut self, at: At, mask: u32) {
        for lane in lanes(mask) {
            self.check_bulk_groups(at, lane);
        }
        let indices: Vec<usize> = lanes(mask).map(|lane| self.thread_index(at, lane)).collect();
        let cluster = &mut self.clusters[at.cluster];
        if cluster.ctas.len() > 1 {
            for index in indices {
                cluster.ctas[at.cta]
                    .ended
                    .join(&cluster.threads[index].knowledge.seen);
            }
        }
        let cta = &mut cluster.ctas[at.cta];
        let warp = &mut cta.warps[at.warp];
        // Lanes that wait for the ended ones need not any more.
        warp.wake(|wait| matches!(wait, Wait::Lanes(_)));
        if warp.live() == 0 {
            // The PTX ISA does not say that other warps can take the registers of one that ended: they are not added to the free ones.
            warp.registers = Vec::new();
        }
        if cta.has_exited() {
            self.check_copies_into(at);
            self.check_visits(at);
            self.check_register_changes(at);
        }
        self.end_barriers(at);
        self.end_cluster_barrier(at.cluster);
    }

    /// A thread must not end before its bulk copies have read the CTA's shared memory.
    fn check_bulk_groups(&mut self, at: At, lane: usize) {
        let index = self.thread_index(at, lane);
        let cluster = &self.clusters[at.cluster];
        let Some(site) = cluster.threads[index].bulk.unwaited() else {
            return;
        };
        let message =
            "may still read shared memory when its thread ends: nothing waits for its bulk group".to_owned();
        self.find_of(
            FindingKind::EarlyExit,
            site,
            (at.cluster, index),
            None,
            message,
            Vec::new(),
        );
    }

    /// A thread must wait for each copy into a CTA before the CTA ends.
    fn check_copies_into(&mut self, at: At) {
        let cta = &self.clusters[at.cluster].ctas[at.cta];
        let copies: Vec<(u32, SiteId, u32)> = cta
            .mbarriers
            .iter()
            .flat_map(|(offset, _, phases)| {
                phases
                    .copies
                    .iter()
                    .map(move |(_, site, thread)| (offset as u32, *site, *thread))
            })
            .collect();
        for (offset, site, thread) in copies {
            let spot = Spot {
                target: Target::Shared(at.cta),
                offset: i64::from(offset),
            };
            let memory = self.memory_place(at.cluster, spot, MBARRIER_BYTES);
            let message =
                "may land after its CTA has ended: nothing waits for its mbarrier's phase".to_owned();
            self.find_of(
                FindingKind::EarlyExit,
                site,
                (at.cluster, thread as usize),
                Some(memory),
                message,
                Vec::new(),
            );
        }
    }

    /// Records an access to a CTA's shared memory by another CTA, or by a copy that completes in another CTA.
    pub(super) fn note_visit(&mut self, step: Step, rank: usize, event: Event) {
        let site = self.site(step);
        let thread = self.thread_index(step.at, step.mask.trailing_zeros() as usize) as u32;
        let visits = &mut self.clusters[step.at.cluster].ctas[rank].visits;
        visits.insert(event.agent, (event.time, site, thread));
    }

    /// Accesses of other CTAs to a CTA's shared memory must happen before the end of one of its threads, as the memory
    /// ends with the last of them (PTX ISA, "Shared State Space": accesses by other CTAs need that the owner has not
    /// ended).
    fn check_visits(&mut self, at: At) {
        let cluster = &mut self.clusters[at.cluster];
        let tag = cluster.tag;
        let cta = &mut cluster.ctas[at.cta];
        let mut late: Vec<(u32, SiteId)> = std::mem::take(&mut cta.visits)
            .into_iter()
            .filter(|(agent, (time, ..))| {
                let event = Event {
                    cluster: tag,
                    agent: *agent,
                    time: *time,
                };
                !cta.ended.knows(event)
            })
            .map(|(_, (_, site, thread))| (thread, site))
            .collect();
        late.sort_unstable();
        for (thread, site) in late {
            let message = format!(
                "accesses shared memory of CTA {} of the cluster, which may have ended: none of its threads waits \
                 until that is done",
                at.cta
            );
            self.find_of(
                FindingKind::EarlyExit,
                site,
                (at.cluster, thread as usize),
                None,
                message,
                Vec::new(),
            );
        }
    }

    /// All warps of a warpgroup must have executed the same `setmaxnreg` (PTX ISA, "setmaxnreg").
    fn check_register_changes(&mut self, at: At) {
        let cta = &self.clusters[at.cluster].ctas[at.cta];
        let mut found = Vec::new();
        for (group, warps) in cta.warps.chunks(WARPGROUP).enumerate() {
            for (index, warp) in warps.iter().enumerate() {
                let differs = |other: &&Warp| other.register_changes != warp.register_changes;
                if let (Some(site), Some(_)) = (warp.register_changes.first(), warps.iter().find(differs)) {
                    found.push((*site, (group * WARPGROUP + index) * LANES));
                }
            }
        }
        for (site, thread) in found {
            let message = "is not executed by all warps of the warpgroup".to_owned();
            let thread = at.cta * self.block_threads() as usize + thread;
            let at = (at.cluster, thread);
            self.find_of(FindingKind::Registers, site, at, None, message, Vec::new());
        }
    }

    /// Reports what each group waits for when none can go on.
    pub(super) fn report_stuck(&mut self) {
        let mut stuck = Vec::new();
        for (c, cluster) in self.clusters.iter().enumerate() {
            for (k, cta) in cluster.ctas.iter().enumerate() {
                for (w, warp) in cta.warps.iter().enumerate() {
                    for group in &warp.groups {
                        let at = At {
                            cluster: c,
                            cta: k,
                            warp: w,
                        };
                        stuck.push((
                            Step {
                                at,
                                pc: group.pc,
                                mask: group.mask,
                            },
                            group.state.clone(),
                        ));
                    }
                }
            }
        }
        // A barrier that lacks threads which wait for something else is only a consequence.
        let is_barrier = |state: &State| {
            matches!(
                state,
                State::Waiting(Wait::Lanes(_) | Wait::Barrier(_) | Wait::Cluster(_))
            )
        };
        let deadlock = stuck.iter().any(|(_, state)| !is_barrier(state));
        for (mut step, state) in stuck {
            let State::Waiting(wait) = &state else { continue };
            // The pc of a group that has arrived is already behind its barrier.
            step.pc -= u32::from(matches!(wait, Wait::Barrier(_)));
            let (message, notes) = self.describe_wait(step, wait);
            let kind = match is_barrier(&state) && !deadlock {
                true => FindingKind::PartialBarrier,
                false => FindingKind::Deadlock,
            };
            self.find(kind, step, None, message, notes);
        }
    }

    fn describe_wait(&mut self, step: Step, wait: &Wait) -> (String, Vec<Note>) {
        let message = match wait {
            Wait::Lanes(needed) => {
                let missing = needed & !step.mask;
                format!("waits for lanes {missing:#010x} of its warp, which never come there")
            }
            Wait::Barrier(id) => {
                let cta = &self.clusters[step.at.cluster].ctas[step.at.cta];
                let (arrived, expected) = cta.barriers[*id as usize].count(cta);
                format!("waits at barrier {id}, where {arrived} of {expected} threads have arrived")
            }
            Wait::Cluster(_) => "waits for threads of the cluster that never arrive".to_owned(),
            Wait::Mbarrier => return (self.describe_mbarrier_wait(step), Vec::new()),
            Wait::Copies => "waits for copies that never land".to_owned(),
            Wait::Registers => "waits for registers that no warp gives back".to_owned(),
        };
        (message, Vec::new())
    }
}
