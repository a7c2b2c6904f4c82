//! Which registers an instruction reads. Undefined values flow through these, and code whose results nobody reads is
//! dead.

use super::{BarrierKind, Completion, Guard, Instruction, Register};

impl Instruction {
    /// The registers it reads, with those that its outgoing edges hand over; a register may occur twice.
    pub fn reads(&self) -> Vec<Register> {
        let mut read = Vec::new();
        match self {
            Self::Constant { .. }
            | Self::Undefined { .. }
            | Self::Special { .. }
            | Self::ClusterArrive { .. }
            | Self::ClusterWait { .. }
            | Self::CopyAsyncCommit
            | Self::CopyAsyncWait { .. }
            | Self::BulkCommit
            | Self::BulkWait { .. }
            | Self::Fence(_)
            | Self::GridDependencyWait
            | Self::GridDependencyLaunch
            | Self::SetMaxRegisters { .. }
            | Self::Return
            | Self::Trap => {}
            Self::Copy { from, .. } | Self::Convert { from, .. } => read.push(*from),
            Self::Select {
                condition, yes, no, ..
            } => read.extend([condition, yes, no]),
            Self::Integer { a, b, .. }
            | Self::Address { a, b, .. }
            | Self::CompareInteger { a, b, .. }
            | Self::Float { a, b, .. }
            | Self::CompareFloat { a, b, .. }
            | Self::Approximate { a, b, .. } => read.extend([a, b]),
            Self::FusedMultiplyAdd { a, b, c, .. } => read.extend([a, b, c]),
            Self::Repack { from, .. } => read.extend(from),
            Self::PermuteBytes { a, b, selector, .. } => read.extend([a, b, selector]),
            Self::Load {
                to, address, guard, ..
            } => {
                read.push(*address);
                // Lanes that do not take part keep the old values, so that these count as read.
                read.extend(guard.iter().flat_map(|_| to));
                read.extend(predicate(guard));
            }
            Self::Store {
                from, address, guard, ..
            } => {
                read.push(*address);
                read.extend(from);
                read.extend(predicate(guard));
            }
            Self::Atomic {
                to,
                address,
                operand,
                expected,
                guard,
                ..
            } => {
                read.extend([address, operand]);
                read.extend(expected);
                read.extend(guard.iter().flat_map(|_| to));
                read.extend(predicate(guard));
            }
            Self::Shuffle {
                mask,
                value,
                offset,
                clamp,
                ..
            } => read.extend([mask, value, offset, clamp]),
            Self::Vote { mask, value, .. } | Self::WarpReduce { mask, value, .. } => {
                read.extend([mask, value])
            }
            Self::Elect { mask, .. } => read.extend(mask),
            Self::WarpBarrier { mask } => read.push(*mask),
            Self::Barrier {
                kind, id, threads, ..
            } => {
                read.extend(id);
                read.extend(threads);
                if let BarrierKind::Reduce { predicate, .. } = kind {
                    read.push(*predicate);
                }
            }
            Self::Mbarrier {
                address,
                count,
                transaction,
                guard,
                ..
            } => {
                read.push(*address);
                read.extend(count);
                read.extend(transaction);
                read.extend(predicate(guard));
            }
            Self::MbarrierWait { address, phase, .. } => read.extend([address, phase]),
            Self::CopyAsync {
                to,
                from,
                source_bytes,
                guard,
                ..
            } => {
                read.extend([to, from]);
                read.extend(source_bytes);
                read.extend(predicate(guard));
            }
            Self::CopyAsyncArrive { address, .. } | Self::Prefetch { address, .. } => read.push(*address),
            Self::BulkCopy {
                destination,
                source,
                bytes,
                completion,
                multicast,
                guard,
                ..
            } => {
                read.extend([destination.address, source.address, *bytes]);
                read.extend(mbarrier(completion));
                read.extend(multicast);
                read.extend(predicate(guard));
            }
            Self::TensorCopy {
                map,
                coordinates,
                shared,
                completion,
                multicast,
                guard,
                ..
            } => {
                read.extend([*map, shared.address]);
                read.extend(coordinates);
                read.extend(mbarrier(completion));
                read.extend(multicast);
                read.extend(predicate(guard));
            }
            Self::StoreAsync {
                address,
                from,
                mbarrier,
                guard,
                ..
            } => {
                read.extend([address, mbarrier]);
                read.extend(from);
                read.extend(predicate(guard));
            }
            Self::MapToCta { address, rank, .. } => read.extend([address, rank]),
            Self::Branch(_) => {}
            Self::ConditionalBranch { condition, .. } => read.push(*condition),
            Self::Switch { value, .. } => read.push(*value),
        }
        for edge in self.edges() {
            read.extend(edge.moves.iter().map(|(_, from)| *from));
        }
        read
    }
}

fn predicate(guard: &Option<Guard>) -> Option<Register> {
    guard.map(|guard| guard.register)
}

fn mbarrier(completion: &Completion) -> Option<Register> {
    match completion {
        Completion::Mbarrier(address) => Some(*address),
        Completion::Group => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Edge, Space};

    #[test]
    fn a_branch_reads_what_it_hands_over() {
        let edge = |from| Edge {
            target: 0,
            moves: vec![(9, from)],
        };
        let branch = Instruction::ConditionalBranch {
            condition: 1,
            yes: edge(2),
            no: edge(3),
        };
        assert_eq!(branch.reads(), [1, 2, 3]);
    }

    #[test]
    fn a_guarded_load_reads_what_it_may_keep() {
        let load = |guard| Instruction::Load {
            space: Space::Global,
            order: Default::default(),
            invariant: false,
            to: vec![4, 5],
            bytes: 4,
            address: 1,
            align: 8,
            guard,
        };
        assert_eq!(load(None).reads(), [1]);
        let guard = Guard {
            register: 2,
            negated: false,
        };
        assert_eq!(load(Some(guard)).reads(), [1, 4, 5, 2]);
    }
}
