//! Barriers of a CTA and of a cluster.
//!
//! A barrier of a CTA counts whole warps: a warp adds 32 threads, even if it has fewer, once all of its threads that
//! have not ended have arrived, at one instruction or, without `.aligned`, at several (PTX ISA, "barrier{.cta}": it
//! "causes executing thread to wait for all non-exited threads from its warp"). So if the lanes of a warp name different
//! barriers, which they may without `.aligned`, each barrier lacks the lanes that name the others.
//! Threads that end do not hold up a barrier of all threads (PTX ISA, "exit"). What a thread did before it arrives
//! happens before what another does after it has waited.

use super::cluster::{BARRIERS, Barrier, BarrierResult, ClusterBarrier, Cta};
use super::step::{Flow, Step};
use super::thread::Knowledge;
use super::warp::{LANES, Wait, lanes};
use super::{At, Machine};
use crate::finding::FindingKind;
use crate::program::{BarrierKind, BarrierReduceOp, Instruction, Register, SiteId};

impl ClusterBarrier {
    pub fn new(threads: usize) -> Self {
        Self {
            pending: vec![false; threads],
            arrival: vec![0; threads],
            ..Self::default()
        }
    }
}

impl Barrier {
    /// The number of threads that have arrived, counted in whole warps, and the number that must.
    pub fn count(&self, cta: &Cta) -> (u32, u32) {
        let (mut arrived, mut here) = (0, 0);
        for (warp, lanes) in cta.warps.iter().zip(&self.arrived) {
            arrived += u32::from(*lanes != 0 && warp.live() & !lanes == 0) * LANES as u32;
            here += u32::from(*lanes != 0 || warp.live() != 0) * LANES as u32;
        }
        (arrived, self.expected.unwrap_or(here))
    }
}

impl Machine<'_> {
    /// Waits for the rest of the warp if the instruction is `.aligned`: all live threads must execute it together.
    fn together(&mut self, step: Step, aligned: bool) -> Result<(), Flow> {
        let live = self.warp(step.at).live();
        if aligned && live & !step.mask != 0 {
            return Err(Flow::Wait(Wait::Lanes(live)));
        }
        Ok(())
    }

    /// The lanes of a step that execute their instruction at once: at a barrier of the CTA without `.aligned` those that
    /// name the same barrier and thread count as the first lane, elsewhere all.
    pub(super) fn lanes_at_once(&self, step: Step) -> u32 {
        match self.kernel.code[step.pc as usize] {
            Instruction::Barrier {
                id,
                threads,
                aligned: false,
                ..
            } => self.lanes_alike(step, id) & self.lanes_alike(step, threads),
            _ => step.mask,
        }
    }

    /// The lanes of a step that have the value of the first lane in the low 32 bits of an operand.
    fn lanes_alike(&self, step: Step, operand: Option<Register>) -> u32 {
        let Some(register) = operand else {
            return step.mask;
        };
        let first = step.mask.trailing_zeros() as usize;
        self.lanes_where(step, |warp, lane| {
            warp.lane(register, lane) as u32 == warp.lane(register, first) as u32
        })
    }

    /// Arrives at a barrier of the CTA, by default number 0 for all threads, and waits there unless `kind` is an arrival alone.
    pub(super) fn cta_barrier(
        &mut self,
        step: Step,
        kind: BarrierKind,
        id: Option<Register>,
        threads: Option<Register>,
        aligned: bool,
    ) -> Flow {
        if let Err(flow) = self.together(step, aligned) {
            return flow;
        }
        let bad = |machine: &mut Self, message: String, notes| {
            machine.find(FindingKind::BadBarrier, step, None, message, notes);
            Flow::Next
        };
        let (id, expected) = match self.barrier_operands(step, id, threads) {
            Ok(operands) => operands,
            Err(message) => return bad(self, message, Vec::new()),
        };
        if let Err((site, message)) = self.arrive_at_barrier(step, kind, id, expected) {
            let notes = vec![self.note(site, "arrived there first")];
            return bad(self, message, notes);
        }
        if self.end_barrier(step.at, id) || kind == BarrierKind::Arrive {
            return Flow::Next;
        }
        Flow::WaitBehind(Wait::Barrier(id))
    }

    /// The threads of the CTA, in whole warps, as barriers count them.
    fn threads_at_barriers(&self) -> u32 {
        self.block_threads().next_multiple_of(LANES as u32)
    }

    /// The number of a barrier, and how many threads it expects, if an operand says so. What is wrong with them is an error.
    fn barrier_operands(
        &mut self,
        step: Step,
        id: Option<Register>,
        threads: Option<Register>,
    ) -> Result<(u32, Option<u32>), String> {
        if self.lanes_alike(step, id) & self.lanes_alike(step, threads) != step.mask {
            return Err(
                "is .aligned, but not all lanes of the warp name the same barrier and thread count"
                    .to_owned(),
            );
        }
        let all = self.threads_at_barriers();
        let warp = self.warp(step.at);
        let first = step.mask.trailing_zeros() as usize;
        let uniform = |register: Option<Register>| register.map(|register| warp.lane(register, first) as u32);
        let (id, expected) = (uniform(id).unwrap_or(0), uniform(threads));
        if id >= BARRIERS {
            return Err(format!("names barrier {id}, expected 0 to {}", BARRIERS - 1));
        }
        match expected {
            Some(expected) if expected == 0 || expected % LANES as u32 != 0 || expected > all => Err(
                format!("expects {expected} threads, and a CTA of {all} needs a multiple of 32 up to that"),
            ),
            _ => Ok((id, expected)),
        }
    }

    /// Notes the arrival of a group of threads at a barrier, and what they have released. If it does not fit those that have arrived
    /// before, the error says where they did and why.
    fn arrive_at_barrier(
        &mut self,
        step: Step,
        kind: BarrierKind,
        id: u32,
        expected: Option<u32>,
    ) -> Result<(), (SiteId, String)> {
        let (all, site) = (self.threads_at_barriers(), self.site(step));
        let indices: Vec<u32> = lanes(step.mask)
            .map(|lane| self.thread_index(step.at, lane) as u32)
            .collect();
        let set = match kind {
            BarrierKind::Reduce { predicate, .. } => self
                .lanes_where(step, |warp, lane| warp.lane(predicate, lane) != 0)
                .count_ones(),
            _ => 0,
        };
        let cluster = &mut self.clusters[step.at.cluster];
        let cta = &mut cluster.ctas[step.at.cta];
        let barrier = &mut cta.barriers[id as usize];
        if barrier.arrived.is_empty() {
            (barrier.expected, barrier.site) = (expected, site);
            barrier.arrived = vec![0; cta.warps.len()];
        }
        let (first, other) = (barrier.expected.unwrap_or(all), expected.unwrap_or(all));
        if first != other {
            let message = format!("expects {other} threads at barrier {id}, which waits for {first}");
            return Err((barrier.site, message));
        }
        if barrier.arrived[step.at.warp] & step.mask != 0 {
            let message = format!("arrives again at barrier {id}, which still waits for other threads");
            return Err((barrier.site, message));
        }
        barrier.arrived[step.at.warp] |= step.mask;
        barrier.set += set;
        for index in &indices {
            let thread = &mut cluster.threads[*index as usize];
            barrier.told.push((thread.knowledge.clone(), thread.event()));
            thread.now += 1;
        }
        if kind != BarrierKind::Arrive {
            barrier.waiting.extend(&indices);
            barrier.results.push(BarrierResult {
                warp: step.at.warp,
                mask: step.mask,
                kind,
            });
        }
        Ok(())
    }

    /// Completes a barrier if all threads have arrived: the waiting threads take over what all have released, and go
    /// on. Returns whether it completed.
    fn end_barrier(&mut self, at: At, id: u32) -> bool {
        let cluster = &mut self.clusters[at.cluster];
        let cta = &mut cluster.ctas[at.cta];
        let (arrived, expected) = cta.barriers[id as usize].count(cta);
        if arrived == 0 || arrived < expected {
            return false;
        }
        let barrier = std::mem::take(&mut cta.barriers[id as usize]);
        let all = Knowledge::join_all(
            cluster.tag,
            barrier.told.iter().map(|(told, event)| (told, *event)),
        );
        for index in &barrier.waiting {
            cluster.threads[*index as usize].knowledge = all.clone();
        }
        for BarrierResult { warp, mask, kind } in barrier.results {
            let BarrierKind::Reduce { op, to, .. } = kind else {
                continue;
            };
            let value = match op {
                BarrierReduceOp::PopulationCount => barrier.set,
                BarrierReduceOp::And => u32::from(barrier.set as usize == barrier.waiting.len()),
                BarrierReduceOp::Or => u32::from(barrier.set != 0),
            };
            cta.warps[warp].set(to, mask, &[u64::from(value); LANES]);
        }
        for warp in &mut cta.warps {
            warp.wake(|wait| *wait == Wait::Barrier(id));
        }
        true
    }

    /// Completes the barriers of a CTA that only waited for threads which have now ended.
    pub(super) fn end_barriers(&mut self, at: At) {
        for id in 0..BARRIERS {
            self.end_barrier(at, id);
        }
    }

    pub(super) fn cluster_arrive(&mut self, step: Step, release: bool, aligned: bool) -> Flow {
        if let Err(flow) = self.together(step, aligned) {
            return flow;
        }
        let indices = self.threads_of(step);
        let cluster = &mut self.clusters[step.at.cluster];
        if indices.iter().any(|index| cluster.barrier.pending[*index]) {
            let message = "arrives again without having waited".to_owned();
            self.find(FindingKind::BadBarrier, step, None, message, Vec::new());
            return Flow::Next;
        }
        for index in indices {
            let thread = &mut cluster.threads[index];
            let told = match (release, &thread.released.gpu) {
                (true, _) => {
                    let event = thread.event();
                    thread.now += 1;
                    (thread.knowledge.clone(), Some(event))
                }
                // A relaxed arrival passes on what an earlier fence released. Of what precedes a `fence.mbarrier_init`,
                // it passes on the initializations of mbarriers alone.
                (false, released) => {
                    let mut told = released.clone().unwrap_or_else(|| Knowledge::new(cluster.tag));
                    told.initialized.join(&thread.knowledge.initialized);
                    (told, None)
                }
            };
            cluster.barrier.told.push(told);
            cluster.barrier.pending[index] = true;
            cluster.barrier.arrival[index] = cluster.barrier.generation;
        }
        self.end_cluster_barrier(step.at.cluster);
        Flow::Next
    }

    /// Completes the barrier of a cluster if all its threads have arrived; those that have ended count as arrived.
    pub(super) fn end_cluster_barrier(&mut self, cluster: usize) {
        let cluster = &mut self.clusters[cluster];
        let barrier = &mut cluster.barrier;
        let generation = barrier.generation;
        let mut arrived = 0;
        for (rank, cta) in cluster.ctas.iter().enumerate() {
            let first = rank * cluster.threads.len() / cluster.ctas.len();
            for (warp_index, warp) in cta.warps.iter().enumerate() {
                for lane in lanes(warp.live()) {
                    let index = first + warp_index * LANES + lane;
                    if !barrier.pending[index] || barrier.arrival[index] != generation {
                        return;
                    }
                    arrived += 1;
                }
            }
        }
        if arrived == 0 {
            return;
        }
        let mut all = Knowledge::new(cluster.tag);
        for (told, event) in std::mem::take(&mut barrier.told) {
            all.join(&told);
            if let Some(event) = event {
                all.seen.record(event);
            }
        }
        barrier.last = Some(all);
        barrier.generation += 1;
        for cta in &mut cluster.ctas {
            for warp in &mut cta.warps {
                warp.wake(|wait| matches!(wait, Wait::Cluster(_)));
            }
        }
    }

    pub(super) fn cluster_wait(&mut self, step: Step, acquire: bool, aligned: bool) -> Flow {
        if let Err(flow) = self.together(step, aligned) {
            return flow;
        }
        let indices = self.threads_of(step);
        let cluster = &mut self.clusters[step.at.cluster];
        if indices.iter().any(|index| !cluster.barrier.pending[*index]) {
            let message = "waits without having arrived".to_owned();
            self.find(FindingKind::BadBarrier, step, None, message, Vec::new());
            return Flow::Next;
        }
        let generation = cluster.barrier.generation;
        if indices
            .iter()
            .any(|index| cluster.barrier.arrival[*index] == generation)
        {
            return Flow::Wait(Wait::Cluster(generation));
        }
        for index in indices {
            cluster.barrier.pending[index] = false;
            let thread = &mut cluster.threads[index];
            thread.cluster_started = true;
            if let Some(last) = &cluster.barrier.last {
                match acquire {
                    true => thread.knowledge.join(last),
                    false => thread
                        .met
                        .gpu
                        .get_or_insert_with(|| Knowledge::new(cluster.tag))
                        .join(last),
                }
            }
        }
        Flow::Next
    }
}
