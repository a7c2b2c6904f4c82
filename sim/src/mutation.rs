//! Broken kernels, made from right ones: each leaves out, or weakens, one thing that orders threads or copies.
//!
//! A mutant that the simulator does not catch says that it is blind to that mistake, or that the kernel does not need
//! what was left out. So running all mutants of a kernel tests the simulator, and finds the barriers that a kernel
//! could do without.

use crate::program::{BarrierKind, Fence, Instruction, Kernel, MbarrierOp, MemoryOrder, Pc, Site};

/// One change to a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// Which instruction.
    pub pc: Pc,
    /// Where that comes from.
    pub site: Site,
    /// What is done to it, as a verb phrase.
    pub what: &'static str,
    /// What stands there instead.
    instruction: Instruction,
}

impl Mutation {
    /// The kernel with the change.
    pub fn apply(&self, kernel: &Kernel) -> Kernel {
        let mut mutant = kernel.clone();
        if let Some(place) = mutant.code.get_mut(self.pc as usize) {
            *place = self.instruction.clone();
        }
        mutant
    }
}

/// All mutations of a kernel, in the order of its code.
pub fn mutations(kernel: &Kernel, sites: &[Site]) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (pc, instruction) in kernel.code.iter().enumerate() {
        for (what, instruction) in variants(instruction) {
            let site = kernel.sites.get(pc).and_then(|site| sites.get(*site as usize));
            found.push(Mutation {
                pc: pc as Pc,
                site: site.cloned().unwrap_or_default(),
                what,
                instruction,
            });
        }
    }
    found
}

/// Does nothing: there is no register whose value it changes.
fn nothing() -> Instruction {
    Instruction::Fence(Fence::OtherProxy)
}

fn variants(instruction: &Instruction) -> Vec<(&'static str, Instruction)> {
    match instruction {
        Instruction::Barrier {
            kind: BarrierKind::Sync | BarrierKind::Arrive,
            ..
        } => vec![("drop the barrier", nothing())],
        Instruction::WarpBarrier { .. } => vec![("drop the warp's barrier", nothing())],
        // Either alone is an error by itself; what a missing barrier of the cluster does shows without its order.
        Instruction::ClusterArrive { .. } => vec![("drop the arrival", nothing())],
        Instruction::ClusterWait { .. } => vec![("drop the wait", nothing())],
        Instruction::Mbarrier {
            op: MbarrierOp::Arrive | MbarrierOp::ArriveDrop,
            transaction: Some(_),
            ..
        } => {
            let mut weaker = instruction.clone();
            if let Instruction::Mbarrier { transaction, .. } = &mut weaker {
                *transaction = None;
            }
            vec![
                ("drop the expected bytes", weaker),
                ("drop the arrival", nothing()),
            ]
        }
        Instruction::Mbarrier { op, order, .. } => match op {
            MbarrierOp::Init => vec![("drop the initialization", nothing())],
            MbarrierOp::Arrive | MbarrierOp::ArriveDrop if order.release => {
                let mut relaxed = instruction.clone();
                if let Instruction::Mbarrier { order, .. } = &mut relaxed {
                    *order = MemoryOrder {
                        release: false,
                        ..*order
                    };
                }
                vec![("drop the arrival", nothing()), ("relax the arrival", relaxed)]
            }
            MbarrierOp::Arrive | MbarrierOp::ArriveDrop => vec![("drop the arrival", nothing())],
            MbarrierOp::ExpectTransaction => vec![("drop the expected bytes", nothing())],
            MbarrierOp::CompleteTransaction => vec![("drop the completed bytes", nothing())],
            MbarrierOp::Invalidate => Vec::new(),
        },
        Instruction::MbarrierWait { to, .. } => {
            let through = match to {
                Some(to) => Instruction::Constant { to: *to, value: 1 },
                None => nothing(),
            };
            vec![("drop the wait", through)]
        }
        Instruction::CopyAsyncCommit | Instruction::BulkCommit => vec![("drop the commit", nothing())],
        Instruction::CopyAsyncWait { pending } => {
            let weaker = Instruction::CopyAsyncWait {
                pending: Some(pending.unwrap_or(0) + 1),
            };
            vec![
                ("drop the wait", nothing()),
                ("leave one more group pending", weaker),
            ]
        }
        Instruction::BulkWait { pending, read } => {
            let weaker = Instruction::BulkWait {
                pending: pending + 1,
                read: *read,
            };
            vec![
                ("drop the wait", nothing()),
                ("leave one more group pending", weaker),
            ]
        }
        Instruction::CopyAsyncArrive { .. } => vec![("drop the arrival", nothing())],
        Instruction::Fence(fence) if *fence != Fence::OtherProxy => vec![("drop the fence", nothing())],
        Instruction::GridDependencyWait => vec![("drop the wait", nothing())],
        _ => Vec::new(),
    }
}
