//! `cp.async`: copies of 4, 8 or 16 bytes in groups of a thread, by the generic proxy.

use super::Done;
use super::issue::Effect;
use crate::copy;
use crate::machine::Machine;
use crate::machine::cluster::AgentKey;
use crate::machine::step::{Flow, Step};
use crate::machine::thread::Arrival;
use crate::machine::warp::Wait;
use crate::program::{Register, Space};

impl Machine<'_> {
    pub(super) fn issue_small(
        &mut self,
        step: Step,
        lane: usize,
        to: Register,
        from: Register,
        bytes: u64,
        source_bytes: Option<Register>,
    ) {
        let (to, from) = (self.lane(step, lane, to), self.lane(step, lane, from));
        let source_bytes = source_bytes.map(|register| u64::from(self.lane(step, lane, register) as u32));
        let plan = match copy::cp_async(from, to, bytes, source_bytes) {
            Ok(plan) => plan,
            Err(fault) => return self.bad_copy(step, &fault),
        };
        let (index, site) = (self.thread_index(step.at, lane), self.site(step));
        let cluster = &mut self.clusters[step.at.cluster];
        let time = cluster.threads[index].small.add(site);
        let event = cluster.event(AgentKey::SmallCopies(index as u32), time);
        let spaces = [Space::Global, Space::Shared];
        let moves = self.place(
            step,
            lane,
            &plan,
            spaces,
            step.at.cta,
            (event, event),
            Effect::Write,
            false,
        );
        self.count_moves(step, index, Done::Small(time), moves.len() as u32);
        self.begin(step, index, moves, Done::Small(time), None);
    }

    pub(super) fn wait_for_small_copies(&mut self, step: Step, pending: Option<u32>) -> Flow {
        let indices = self.threads_of(step);
        let cluster = &mut self.clusters[step.at.cluster];
        let is_done = |index: &usize| cluster.threads[*index].small.are_done(pending, false);
        if !indices.iter().all(is_done) {
            return Flow::Wait(Wait::Copies);
        }
        for index in indices {
            let groups = &mut cluster.threads[index].small;
            let time = groups.finish(pending);
            // `wait_all` commits what is open and waits for it (PTX ISA, "cp.async.wait_all").
            if pending.is_none() {
                groups.commit();
            }
            if time > 0 {
                let event = cluster.event(AgentKey::SmallCopies(index as u32), time);
                cluster.threads[index].knowledge.seen.record(event);
            }
        }
        Flow::Next
    }

    pub(super) fn arrive_behind(&mut self, step: Step, lane: usize, address: Register, counted: bool) {
        let address = self.lane(step, lane, address);
        let Some(place) = self.find_mbarrier(step, Space::Shared, address) else {
            return;
        };
        let index = self.thread_index(step.at, lane);
        let site = self.site(step);
        let cluster = &mut self.clusters[step.at.cluster];
        let mbarrier = cluster.ctas[place.cta].mbarriers.get(u64::from(place.offset));
        let expected = mbarrier.and_then(|(state, _)| match counted {
            true => Ok(()),
            false => state.expect_arrival(),
        });
        if let Err(fault) = expected {
            self.mbarrier_fault(step, place, &fault);
            return;
        }
        let time = cluster.threads[index].small.cut();
        let event = cluster.event(AgentKey::SmallCopies(index as u32), time);
        let thread = &mut cluster.threads[index];
        let mut told = thread.tell();
        told.seen.record(event);
        thread.arrivals.push(Arrival {
            place,
            time,
            told,
            site,
        });
        self.arrive_for_small_copies(step.at.cluster, index as u32);
    }

    /// Performs those arrivals of `cp.async.mbarrier.arrive` by a thread whose copies have all landed.
    pub(in crate::machine) fn arrive_for_small_copies(&mut self, cluster: usize, thread: u32) {
        let owner = &mut self.clusters[cluster].threads[thread as usize];
        let (due, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut owner.arrivals)
            .into_iter()
            .partition(|arrival| !owner.small.is_pending(arrival.time));
        owner.arrivals = rest;
        for arrival in due {
            let mbarriers = &mut self.clusters[cluster].ctas[arrival.place.cta].mbarriers;
            let changed = mbarriers
                .get(u64::from(arrival.place.offset))
                .and_then(|(state, phases)| {
                    phases.told.join(&arrival.told);
                    state.arrive(1)
                });
            self.after_landing(changed, arrival.site, (cluster, thread), arrival.place);
        }
    }
}
