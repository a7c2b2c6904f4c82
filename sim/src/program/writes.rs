//! Which registers an instruction sets, and in which of its operands an undefined value is a fault.

use super::{BarrierKind, Guard, Instruction, Register};

impl Instruction {
    /// The registers it may set, other than block arguments, which its edges set.
    pub fn writes(&self) -> Vec<Register> {
        match self {
            Self::Constant { to, .. }
            | Self::Undefined { to }
            | Self::Copy { to, .. }
            | Self::Select { to, .. }
            | Self::Integer { to, .. }
            | Self::Address { to, .. }
            | Self::CompareInteger { to, .. }
            | Self::Float { to, .. }
            | Self::FusedMultiplyAdd { to, .. }
            | Self::CompareFloat { to, .. }
            | Self::Approximate { to, .. }
            | Self::Convert { to, .. }
            | Self::PermuteBytes { to, .. }
            | Self::Special { to, .. }
            | Self::Vote { to, .. }
            | Self::Elect { to, .. }
            | Self::WarpReduce { to, .. }
            | Self::MapToCta { to, .. } => vec![*to],
            Self::Repack { to, .. } | Self::Load { to, .. } => to.clone(),
            Self::Atomic { to, .. } | Self::MbarrierWait { to, .. } => to.iter().copied().collect(),
            Self::Mbarrier { state, .. } => state.iter().copied().collect(),
            Self::Shuffle { to, in_range, .. } => [*to].into_iter().chain(*in_range).collect(),
            Self::Barrier {
                kind: BarrierKind::Reduce { to, .. },
                ..
            } => vec![*to],
            _ => Vec::new(),
        }
    }

    /// The guard of a predicated instruction; lanes for which it is false keep their registers.
    pub fn guard(&self) -> Option<Guard> {
        match self {
            Self::Load { guard, .. }
            | Self::Store { guard, .. }
            | Self::Atomic { guard, .. }
            | Self::Mbarrier { guard, .. }
            | Self::CopyAsync { guard, .. }
            | Self::BulkCopy { guard, .. }
            | Self::TensorCopy { guard, .. }
            | Self::StoreAsync { guard, .. } => *guard,
            _ => None,
        }
    }

    /// The operands, except the guard, through which it affects memory, other threads or control flow. An operand that
    /// it only computes with, or passes on, is not among them.
    pub fn observes(&self) -> Vec<Register> {
        match self {
            Self::Constant { .. }
            | Self::Undefined { .. }
            | Self::Copy { .. }
            | Self::Select { .. }
            | Self::Integer { .. }
            | Self::Address { .. }
            | Self::CompareInteger { .. }
            | Self::Float { .. }
            | Self::FusedMultiplyAdd { .. }
            | Self::CompareFloat { .. }
            | Self::Approximate { .. }
            | Self::Convert { .. }
            | Self::Repack { .. }
            | Self::PermuteBytes { .. }
            | Self::Special { .. }
            | Self::MapToCta { .. }
            | Self::Branch(_) => Vec::new(),
            Self::Load { address, .. } => vec![*address],
            Self::Shuffle {
                mask, offset, clamp, ..
            } => vec![*mask, *offset, *clamp],
            Self::Vote { mask, .. } | Self::WarpReduce { mask, .. } => vec![*mask],
            Self::ConditionalBranch { condition, .. } => vec![*condition],
            Self::Switch { value, .. } => vec![*value],
            Self::Atomic {
                address,
                operand,
                expected,
                ..
            } => [*address, *operand].into_iter().chain(*expected).collect(),
            other => {
                let guard = other.guard().map(|guard| guard.register);
                let mut read = other.reads();
                read.retain(|register| Some(*register) != guard);
                read
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Edge, Space};

    #[test]
    fn a_guarded_store_observes_what_it_stores_and_where() {
        let store = Instruction::Store {
            space: Space::Global,
            order: Default::default(),
            from: vec![4, 5],
            bytes: 4,
            address: 1,
            align: 8,
            guard: Some(Guard {
                register: 2,
                negated: false,
            }),
        };
        assert_eq!(store.observes(), [1, 4, 5]);
        assert_eq!(store.guard().map(|guard| guard.register), Some(2));
        assert!(store.writes().is_empty());
    }

    #[test]
    fn a_branch_observes_its_condition_and_not_what_it_hands_over() {
        let edge = |from| Edge {
            target: 0,
            moves: vec![(9, from)],
        };
        let branch = Instruction::ConditionalBranch {
            condition: 1,
            yes: edge(2),
            no: edge(3),
        };
        assert_eq!(branch.observes(), [1]);
    }
}
