//! The end of threads and CTAs, and of a run in which nothing can go on.

use super::access::{Spot, Target};
use super::warp::{LANES, State, Wait, lanes};
use super::{At, Machine};
use crate::finding::{FindingKind, Note};
use crate::program::SiteId;

impl Machine<'_> {
    /// What follows from threads of a warp having ended.
    pub(super) fn end_threads(&mut self, at: At, mask: u32) {
        for lane in lanes(mask) {
            self.check_bulk_groups(at, lane);
        }
        let cta = &mut self.clusters[at.cluster].ctas[at.cta];
        let warp = &mut cta.warps[at.warp];
        // Those that wait for them need not any more.
        warp.wake(|wait| matches!(wait, Wait::Lanes(_)));
        if warp.live() == 0 {
            cta.free_registers += i64::from(warp.register_count) * LANES as i64;
            warp.registers = Vec::new();
            for warp in &mut cta.warps {
                warp.wake(|wait| *wait == Wait::Registers);
            }
        }
        if cta.has_exited() {
            self.check_copies_into(at);
        }
        self.end_barriers(at);
        self.end_cluster_barrier(at.cluster);
    }

    /// A thread must not end before its bulk copies have read the CTA's shared memory.
    fn check_bulk_groups(&mut self, at: At, lane: usize) {
        let index = self.thread_index(at, lane);
        let cluster = &self.clusters[at.cluster];
        let Some(site) = cluster.threads[index]
            .bulk
            .unwaited()
            .and_then(|group| group.site)
        else {
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

    /// Somebody must wait for each copy into a CTA before the CTA ends.
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
            let memory = self.memory_place(at.cluster, spot, 8);
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

    /// Tells what each group waits for when none can go on.
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
                            super::step::Turn {
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
        // A barrier that is short of threads which wait for something else is a consequence.
        let is_barrier = |state: &State| {
            matches!(
                state,
                State::Waiting(Wait::Lanes(_) | Wait::Barrier(_) | Wait::Cluster(_))
            )
        };
        let deadlock = stuck.iter().any(|(_, state)| !is_barrier(state));
        for (mut turn, state) in stuck {
            let State::Waiting(wait) = &state else { continue };
            // Groups that have arrived stand behind their barrier.
            turn.pc -= u32::from(matches!(wait, Wait::Barrier(_)));
            let (message, notes) = self.describe_wait(turn, wait);
            let kind = match is_barrier(&state) && !deadlock {
                true => FindingKind::PartialBarrier,
                false => FindingKind::Deadlock,
            };
            self.find(kind, turn, None, message, notes);
        }
    }

    fn describe_wait(&mut self, turn: super::step::Turn, wait: &Wait) -> (String, Vec<Note>) {
        let message = match wait {
            Wait::Lanes(needed) => {
                let missing = needed & !turn.mask;
                format!("waits for lanes {missing:#010x} of its warp, which never come there")
            }
            Wait::Barrier(id) => {
                let cta = &self.clusters[turn.at.cluster].ctas[turn.at.cta];
                let (arrived, expected) = cta.barriers[*id as usize].count(cta);
                format!("waits at barrier {id}, where {arrived} of {expected} threads have arrived")
            }
            Wait::Cluster(_) => "waits for threads of the cluster that never arrive".to_owned(),
            Wait::Mbarrier => return (self.describe_mbarrier_wait(turn), Vec::new()),
            Wait::Copies => "waits for copies that never land".to_owned(),
            Wait::Registers => "waits for registers that no warp gives back".to_owned(),
        };
        (message, Vec::new())
    }
}
