//! Order between accesses by other means than barriers: fences, releases and acquires, and waiting for kernels ahead in
//! the stream.
//!
//! A relaxed operation orders nothing by itself. But it passes on what a fence before it released, and the next fence
//! acquires what it has observed (PTX ISA, "Release and Acquire Patterns").

use std::collections::HashMap;

use super::Machine;
use super::access::{Spot, Target};
use super::cluster::AgentKey;
use super::step::{Flow, Step};
use super::thread::{ByScope, Knowledge};
use super::warp::{LANES, Wait};
use crate::finding::FindingKind;
use crate::program::{Fence, MemoryOrder};
use crate::race::Event;

/// What strong operations have released at a location.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// The last thread that released something, by its cluster and its index there.
    by: (u32, u32),
    /// Released to all threads.
    far: Knowledge,
    /// Released to the threads of a CTA, by its cluster and rank.
    near: HashMap<(u32, usize), Knowledge>,
}

impl Machine<'_> {
    pub(super) fn fence(&mut self, step: Step, fence: Fence) -> Flow {
        let indices = self.threads_of(step);
        let cluster = &mut self.clusters[step.at.cluster];
        for index in indices {
            let thread = &mut cluster.threads[index];
            match fence {
                Fence::AcquireRelease { cta } => {
                    let far = if cta { None } else { thread.met.gpu.take() };
                    for met in thread.met.cta.take().into_iter().chain(far) {
                        thread.knowledge.join(&met);
                    }
                    let told = ByScope::of(thread.tell(), cta);
                    thread.released = ByScope {
                        cta: told.cta,
                        gpu: told.gpu.or_else(|| thread.released.gpu.take()),
                    };
                }
                Fence::ProxyAsync { shared, global } => {
                    let told = thread.tell();
                    if shared {
                        thread.knowledge.fenced_shared.join(&told.seen);
                    }
                    if global {
                        thread.knowledge.fenced_global.join(&told.seen);
                    }
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

    /// Begins a thread's next strong operation and returns its event, which the thread's own later accesses come after.
    pub(super) fn strong_event(&mut self, step: Step, lane: usize) -> Event {
        let index = self.thread_index(step.at, lane);
        let cluster = &mut self.clusters[step.at.cluster];
        cluster.threads[index].strong += 1;
        let time = cluster.threads[index].strong;
        let event = cluster.event(AgentKey::Strong(index as u32), time);
        cluster.threads[index].knowledge.seen.record(event);
        event
    }

    /// Adds to a location what a thread's strong operation releases there, itself included. A plain store ends what
    /// other threads released there; a read-modify-write continues it (PTX ISA, "Release and Acquire Patterns",
    /// "Observation Order").
    pub(super) fn pass_on(
        &mut self,
        step: Step,
        lane: usize,
        spot: Spot,
        order: MemoryOrder,
        event: Event,
        is_store: bool,
    ) {
        let index = self.thread_index(step.at, lane);
        let key = self.location(step, spot);
        let cluster = &mut self.clusters[step.at.cluster];
        let (tag, thread) = (cluster.tag, &mut cluster.threads[index]);
        let told = match order.release {
            true => ByScope::of(thread.tell(), order.cta),
            false => thread.released.clone(),
        };
        let by = (tag, index as u32);
        if is_store && self.locations.get(&key).is_some_and(|passed| passed.by != by) {
            self.locations.remove(&key);
        }
        if told.cta.is_none() {
            return;
        }
        let passed = self.locations.entry(key).or_insert_with(|| Passed {
            by,
            far: Knowledge::new(tag),
            near: HashMap::new(),
        });
        passed.by = by;
        if let Some(mut told) = told.cta {
            told.seen.record(event);
            let near = passed.near.entry((tag, step.at.cta));
            near.or_insert_with(|| Knowledge::new(tag)).join(&told);
        }
        if let Some(mut told) = told.gpu.filter(|_| !order.cta) {
            told.seen.record(event);
            passed.far.join(&told);
        }
    }

    /// Lets a thread's strong operation acquire what was released at a location; a relaxed one keeps it for the next
    /// fence.
    pub(super) fn take_in(&mut self, step: Step, lane: usize, spot: Spot, order: MemoryOrder) {
        let index = self.thread_index(step.at, lane);
        let Some(passed) = self.locations.get(&self.location(step, spot)) else {
            return;
        };
        let cluster = &mut self.clusters[step.at.cluster];
        let (tag, thread) = (cluster.tag, &mut cluster.threads[index]);
        let near = passed.near.get(&(tag, step.at.cta));
        let far = (!order.cta).then_some(&passed.far);
        if order.acquire {
            for passed in near.into_iter().chain(far) {
                thread.knowledge.join(passed);
            }
            return;
        }
        for (met, passed) in [(&mut thread.met.cta, near), (&mut thread.met.gpu, far)] {
            if let Some(passed) = passed {
                met.get_or_insert_with(|| Knowledge::new(tag)).join(passed);
            }
        }
    }

    fn location(&self, step: Step, spot: Spot) -> (u64, u64) {
        let memory = match spot.target {
            Target::Buffer(buffer) => buffer as u64,
            // Different from the number of any buffer, and for each CTA of the grid.
            Target::Shared(rank) => 1 << 32 | self.clusters[step.at.cluster].id << 8 | rank as u64,
        };
        (memory, spot.offset as u64)
    }

    pub(super) fn grid_dependency_wait(&mut self, step: Step) -> Flow {
        let indices = self.threads_of(step);
        let cluster = &mut self.clusters[step.at.cluster];
        let event = cluster.event(AgentKey::Predecessors, 1);
        for index in indices {
            cluster.threads[index].knowledge.seen.record(event);
        }
        Flow::Next
    }

    pub(super) fn set_max_registers(&mut self, step: Step, registers: u32, increase: bool) -> Flow {
        let warp = self.warp(step.at);
        let (held, live) = (warp.register_count, warp.live());
        if live & !step.mask != 0 {
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
            self.find(FindingKind::Registers, step, None, message, Vec::new());
            return Flow::Next;
        }
        let site = self.site(step);
        let more = (i64::from(registers) - i64::from(held)) * LANES as i64;
        let cta = &mut self.clusters[step.at.cluster].ctas[step.at.cta];
        if more > cta.free_registers.max(0) {
            return Flow::Wait(Wait::Registers);
        }
        cta.free_registers -= more;
        let warp = &mut cta.warps[step.at.warp];
        warp.register_count = registers;
        warp.register_changes.push(site);
        for warp in &mut cta.warps {
            warp.wake(|wait| *wait == Wait::Registers);
        }
        Flow::Next
    }
}
