//! `st.async`: a store to a CTA of the cluster that completes on an mbarrier there.

use super::issue::Effect;
use super::{Done, Move, Source};
use crate::finding::FindingKind;
use crate::machine::Machine;
use crate::machine::access::Target;
use crate::machine::step::Step;
use crate::program::{Register, Space};

impl Machine<'_> {
    pub(super) fn issue_store(
        &mut self,
        step: Step,
        lane: usize,
        address: Register,
        from: &[Register],
        bytes: usize,
        mbarrier: Register,
    ) {
        let (address, mbarrier) = (self.lane(step, lane, address), self.lane(step, lane, mbarrier));
        let warp = self.warp(step.at);
        let data: Vec<u8> = from
            .iter()
            .flat_map(|register| warp.lane(*register, lane).to_le_bytes()[..bytes].to_vec())
            .collect();
        if address % data.len() as u64 != 0 {
            let message = format!("needs an address that is a multiple of {} bytes", data.len());
            self.find(FindingKind::Misaligned, step, None, message, Vec::new());
        }
        let Some(to) = self.spot(step, Space::Cluster, address) else {
            return;
        };
        let Some(place) = self.find_mbarrier(step, Space::Cluster, mbarrier) else {
            return;
        };
        if to.target != Target::Shared(place.cta) {
            let message = "expects the mbarrier in the CTA that it stores to".to_owned();
            self.find(FindingKind::BadCopy, step, None, message, Vec::new());
            return;
        }
        let Some(event) = self.use_mbarrier(step, lane, place, false) else {
            return;
        };
        let Some(to) = self.note_access(step, lane, to, data.len(), event, Effect::Write, false) else {
            return;
        };
        let index = self.thread_index(step.at, lane);
        let moves = vec![Move {
            bytes: data.len(),
            from: Source::Bytes(data),
            to: Some(to),
            cta: place.cta,
        }];
        self.begin(step, index, moves, Done::Mbarrier { offset: place.offset }, None);
    }
}
