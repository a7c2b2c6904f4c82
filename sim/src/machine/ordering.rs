//! What orders accesses besides barriers: fences, releases and acquires, and waiting for kernels ahead in the stream.
//!
//! Relaxed operations order nothing by themselves, but pass on what a fence before them released, and what they meet is
//! taken in by the next fence (PTX ISA, "Release and Acquire Patterns").

use super::Machine;
use super::access::{Spot, Target};
use super::cluster::AgentKey;
use super::step::{Flow, Turn};
use super::thread::Knowledge;
use super::warp::{LANES, Wait, lanes};
use crate::finding::FindingKind;
use crate::program::{Fence, MemoryOrder};
use crate::race::Event;

impl Machine<'_> {
    pub(super) fn fence(&mut self, turn: Turn, fence: Fence) -> Flow {
        let indices: Vec<usize> = lanes(turn.mask)
            .map(|lane| self.thread_index(turn.at, lane))
            .collect();
        let cluster = &mut self.clusters[turn.at.cluster];
        for index in indices {
            let thread = &mut cluster.threads[index];
            match fence {
                Fence::AcquireRelease { .. } => {
                    if let Some(met) = thread.met.take() {
                        thread.knowledge.join(&met);
                    }
                    thread.released = Some(thread.tell());
                }
                Fence::ProxyAsync { .. } => {
                    let told = thread.tell();
                    thread.knowledge.fenced.join(&told.seen);
                }
                Fence::MbarrierInit => {
                    let told = thread.tell();
                    thread.knowledge.initialized.join(&told.seen);
                }
                Fence::OtherProxy => {}
            }
        }
        Flow::Next
    }

    /// The event of a thread's next strong operation, which its own later accesses come after.
    pub(super) fn strong_event(&mut self, turn: Turn, lane: usize) -> Event {
        let index = self.thread_index(turn.at, lane);
        let cluster = &mut self.clusters[turn.at.cluster];
        cluster.threads[index].strong += 1;
        let time = cluster.threads[index].strong;
        let event = cluster.event(AgentKey::Strong(index as u32), time);
        cluster.threads[index].knowledge.seen.record(event);
        event
    }

    /// What a thread's strong operation on a location passes on, itself included.
    pub(super) fn pass_on(&mut self, turn: Turn, lane: usize, spot: Spot, order: MemoryOrder, event: Event) {
        let index = self.thread_index(turn.at, lane);
        let key = self.location(turn, spot);
        let cluster = &mut self.clusters[turn.at.cluster];
        let thread = &mut cluster.threads[index];
        let mut told = match (order.release, &thread.released) {
            (true, _) => thread.tell(),
            (false, Some(released)) => released.clone(),
            (false, None) => return,
        };
        told.seen.record(event);
        let tag = cluster.tag;
        self.locations
            .entry(key)
            .or_insert_with(|| Knowledge::new(tag))
            .join(&told);
    }

    /// What a thread's strong operation on a location takes in.
    pub(super) fn take_in(&mut self, turn: Turn, lane: usize, spot: Spot, order: MemoryOrder) {
        let index = self.thread_index(turn.at, lane);
        let Some(passed) = self.locations.get(&self.location(turn, spot)) else {
            return;
        };
        let cluster = &mut self.clusters[turn.at.cluster];
        let thread = &mut cluster.threads[index];
        match order.acquire {
            true => thread.knowledge.join(passed),
            false => thread
                .met
                .get_or_insert_with(|| Knowledge::new(cluster.tag))
                .join(passed),
        }
    }

    fn location(&self, turn: Turn, spot: Spot) -> (u64, u64) {
        let memory = match spot.target {
            Target::Buffer(buffer) => buffer as u64,
            // Above any number of buffers, and apart for each CTA of the grid.
            Target::Shared(rank) => 1 << 32 | self.clusters[turn.at.cluster].id << 8 | rank as u64,
        };
        (memory, spot.offset as u64)
    }

    pub(super) fn grid_dependency_wait(&mut self, turn: Turn) -> Flow {
        let indices: Vec<usize> = lanes(turn.mask)
            .map(|lane| self.thread_index(turn.at, lane))
            .collect();
        let cluster = &mut self.clusters[turn.at.cluster];
        let event = cluster.event(AgentKey::Predecessors, 1);
        for index in indices {
            cluster.threads[index].knowledge.seen.record(event);
        }
        Flow::Next
    }

    pub(super) fn set_max_registers(&mut self, turn: Turn, registers: u32, increase: bool) -> Flow {
        let warp = self.warp(turn.at);
        let (held, live) = (warp.register_count, warp.live());
        if live & !turn.mask != 0 {
            return Flow::Wait(Wait::Lanes(live));
        }
        // PTX ISA, "setmaxnreg".
        let fault = if !(24..=256).contains(&registers) || !registers.is_multiple_of(8) {
            Some(format!(
                "asks for {registers} registers, expected a multiple of 8 from 24 to 256"
            ))
        } else if increase && registers < held {
            Some(format!(
                "increases to {registers} registers where the warp holds {held}"
            ))
        } else if !increase && registers > held {
            Some(format!(
                "decreases to {registers} registers where the warp holds {held}"
            ))
        } else {
            None
        };
        if let Some(message) = fault {
            self.find(FindingKind::Registers, turn, None, message, Vec::new());
            return Flow::Next;
        }
        let site = self.site(turn);
        let more = (i64::from(registers) - i64::from(held)) * LANES as i64;
        let cta = &mut self.clusters[turn.at.cluster].ctas[turn.at.cta];
        if more > cta.free_registers.max(0) {
            return Flow::Wait(Wait::Registers);
        }
        cta.free_registers -= more;
        let warp = &mut cta.warps[turn.at.warp];
        warp.register_count = registers;
        warp.register_changes.push(site);
        for warp in &mut cta.warps {
            warp.wake(|wait| *wait == Wait::Registers);
        }
        Flow::Next
    }
}
