//! `cp.async.bulk` and `cp.async.bulk.tensor`: copies of plain memory and of boxes of tensors, by the async proxy.

use super::Done;
use super::issue::Effect;
use crate::address::{self, Place};
use crate::copy::{self, CopyPlan};
use crate::finding::FindingKind;
use crate::launch::Argument;
use crate::machine::Machine;
use crate::machine::access::Target;
use crate::machine::cluster::AgentKey;
use crate::machine::mbarriers::MbarrierPlace;
use crate::machine::step::{Flow, Step};
use crate::machine::warp::Wait;
use crate::program::{AtomicFormat, AtomicOp, BulkPlace, Completion, Instruction, Register, Space};

impl Machine<'_> {
    #[allow(clippy::too_many_arguments, reason = "a bulk copy has as many operands")]
    pub(super) fn issue_bulk(
        &mut self,
        step: Step,
        lane: usize,
        [destination, source]: [BulkPlace; 2],
        bytes: Register,
        completion: Completion,
        multicast: Option<Register>,
        reduce: Option<(AtomicOp, AtomicFormat)>,
    ) {
        let (to, from) = (
            self.lane(step, lane, destination.address),
            self.lane(step, lane, source.address),
        );
        let bytes = u64::from(self.lane(step, lane, bytes) as u32);
        match copy::bulk(from, to, bytes) {
            Ok(plan) => {
                let spaces = [source.space, destination.space];
                self.issue(step, lane, &plan, spaces, to, completion, multicast, reduce);
            }
            Err(fault) => self.bad_copy(step, &fault),
        }
    }

    pub(super) fn issue_tensor(&mut self, step: Step, lane: usize, instruction: &Instruction) {
        let Instruction::TensorCopy {
            map,
            coordinates,
            shared,
            store,
            completion,
            multicast,
            reduce,
            ..
        } = instruction
        else {
            return;
        };
        let address = self.lane(step, lane, *map);
        let launch = self.launch;
        let map = match address::generic(address) {
            Place::Parameter { index, offset: 0 } => launch.arguments.get(index),
            _ => None,
        };
        let Some(Argument::TensorMap(map)) = map else {
            let message = "expects the address of a tensor map".to_owned();
            self.find(FindingKind::BadCopy, step, None, message, Vec::new());
            return;
        };
        let corner: Vec<i32> = coordinates
            .iter()
            .map(|register| self.lane(step, lane, *register) as i32)
            .collect();
        let address = self.lane(step, lane, shared.address);
        let plan = match copy::tensor(map, self.memory.address(map.buffer), &corner, address, *store) {
            Ok(plan) => plan,
            Err(fault) => return self.bad_copy(step, &fault),
        };
        let spaces = match store {
            true => [shared.space, Space::Global],
            false => [Space::Global, shared.space],
        };
        self.issue(
            step,
            lane,
            &plan,
            spaces,
            address,
            *completion,
            *multicast,
            *reduce,
        );
    }

    /// Begins a bulk copy from the first of `spaces` to the second. If the second is shared memory, `address` is the
    /// destination.
    #[allow(clippy::too_many_arguments, reason = "a bulk copy has as many operands")]
    fn issue(
        &mut self,
        step: Step,
        lane: usize,
        plan: &CopyPlan,
        spaces: [Space; 2],
        address: u64,
        completion: Completion,
        multicast: Option<Register>,
        reduce: Option<(AtomicOp, AtomicFormat)>,
    ) {
        let (index, site) = (self.thread_index(step.at, lane), self.site(step));
        let Some(receivers) = self.receivers(step, lane, spaces[1], address, multicast) else {
            return;
        };
        let (done, events) = match completion {
            Completion::Group => {
                let cluster = &mut self.clusters[step.at.cluster];
                let time = cluster.threads[index].bulk.add(site);
                let reads = cluster.event(AgentKey::BulkReads(index as u32), time);
                let writes = cluster.event(AgentKey::BulkWrites(index as u32), time);
                (Done::Bulk(time), vec![(reads, writes); receivers.len()])
            }
            Completion::Mbarrier(register) => {
                let address = self.lane(step, lane, register);
                let Some(place) = self.find_mbarrier(step, Space::Cluster, address) else {
                    return;
                };
                if !receivers.contains(&place.cta) && multicast.is_none() {
                    let message = "expects the mbarrier in the CTA that receives the copy".to_owned();
                    self.find(FindingKind::BadCopy, step, None, message, Vec::new());
                    return;
                }
                let mut events = Vec::new();
                for cta in &receivers {
                    let place = MbarrierPlace { cta: *cta, ..place };
                    let Some(event) = self.use_mbarrier(step, lane, place, true) else {
                        return;
                    };
                    events.push((event, event));
                }
                (Done::Mbarrier { offset: place.offset }, events)
            }
        };
        if self.options.traffic {
            let writes = spaces[1] == Space::Global;
            let pieces = plan.parts.iter().filter_map(|part| {
                let address = if writes {
                    Some(part.destination)
                } else {
                    part.source
                };
                address.map(|address| (address, u64::from(part.bytes)))
            });
            if spaces.contains(&Space::Global) {
                self.traffic.count_bulk(site, writes, pieces);
            }
        }
        let mut moves = Vec::new();
        for (cta, events) in receivers.into_iter().zip(events) {
            let effect = if reduce.is_some() {
                Effect::Update
            } else {
                Effect::Write
            };
            moves.extend(self.place(step, lane, plan, spaces, cta, events, effect, true));
        }
        self.count_moves(step, index, done, moves.len() as u32);
        self.begin(step, index, moves, done, reduce);
    }

    /// The ranks of the CTAs that receive a copy; for a copy to global memory, the issuer's own.
    fn receivers(
        &mut self,
        step: Step,
        lane: usize,
        space: Space,
        address: u64,
        multicast: Option<Register>,
    ) -> Option<Vec<usize>> {
        if let Some(mask) = multicast {
            let mask = self.lane(step, lane, mask) as u16;
            let ctas = self.clusters[step.at.cluster].ctas.len();
            if u32::from(mask) >> ctas != 0 {
                let message = format!("multicasts to CTAs {mask:#x} of a cluster of {ctas}");
                self.find(FindingKind::BadCopy, step, None, message, Vec::new());
            }
            return Some((0..ctas).filter(|rank| mask >> rank & 1 == 1).collect());
        }
        if space == Space::Global {
            return Some(vec![step.at.cta]);
        }
        match self.spot(step, space, address)?.target {
            Target::Buffer(_) => Some(vec![step.at.cta]),
            Target::Shared(rank) => Some(vec![rank]),
        }
    }

    pub(super) fn wait_for_bulk_copies(&mut self, step: Step, pending: u32, read: bool) -> Flow {
        let indices = self.threads_of(step);
        let cluster = &mut self.clusters[step.at.cluster];
        let is_done = |index: &usize| cluster.threads[*index].bulk.are_done(Some(pending), read);
        if !indices.iter().all(is_done) {
            return Flow::Wait(Wait::Copies);
        }
        for index in indices {
            let time = cluster.threads[index].bulk.finish(Some(pending));
            if time == 0 {
                continue;
            }
            let reads = cluster.event(AgentKey::BulkReads(index as u32), time);
            cluster.threads[index].knowledge.seen.record(reads);
            if !read {
                let writes = cluster.event(AgentKey::BulkWrites(index as u32), time);
                cluster.threads[index].knowledge.seen.record(writes);
            }
        }
        Flow::Next
    }
}
