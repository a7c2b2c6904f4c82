//! The control-flow edges of an instruction, other than falling through to the next one.

use super::{Edge, Instruction};

impl Instruction {
    /// The edges to other blocks.
    pub fn edges(&self) -> Vec<&Edge> {
        match self {
            Self::Branch(edge) => vec![edge],
            Self::ConditionalBranch { yes, no, .. } => vec![yes, no],
            Self::Switch { cases, default, .. } => {
                let cases = cases.iter().map(|(_, edge)| edge);
                cases.chain([default]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The edges to other blocks, mutable.
    pub fn edges_mut(&mut self) -> Vec<&mut Edge> {
        match self {
            Self::Branch(edge) => vec![edge],
            Self::ConditionalBranch { yes, no, .. } => vec![yes, no],
            Self::Switch { cases, default, .. } => {
                let cases = cases.iter_mut().map(|(_, edge)| edge);
                cases.chain([default]).collect()
            }
            _ => Vec::new(),
        }
    }
}
