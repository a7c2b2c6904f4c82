//! Cases over iteration spaces of any rank: tensors that vary over any of their dims, in any order and with any strides,
//! reductions over some of the dims, and mappings of the space onto the machine.

pub mod draw;
mod mapping;
mod program;
mod smaller;
pub mod table;
mod tensor;
mod text;

use std::fmt;

use norma_bundle::expression::Expression;
use norma_bundle::manifest::{Function, Tensor as Bound};
use norma_oracle::Fill;

pub use mapping::Mapping;
pub use program::Program;
pub use smaller::smaller;
pub use text::text;

use crate::check::Bindings;

/// A case: the program that is compiled, and how it is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The program, which also holds the values of dynamic extents and strides in the run.
    pub program: Program,
    /// The mapping of its single kernel, unless the compiler chooses it.
    pub mapping: Option<Mapping>,
    /// The values of the inputs.
    pub fill: Fill,
    /// The seed of the inputs and of the first of the runs.
    pub seed: u64,
    /// How many runs there are, each with an execution order of its own.
    pub seeds: u64,
}

impl Case {
    /// The sizes and strides that a run binds.
    pub fn bindings(&self, function: &Function) -> Bindings {
        let mut bindings = Bindings::default();
        let sizes = function.size_symbols();
        let tensors = self.program.tensors();
        for (name, tensor) in &tensors {
            let Some(Bound { shape, strides, .. }) = function.tensor(name) else {
                continue;
            };
            let extents = tensor.shape(&self.program.dims);
            let known = tensor.strides(&self.program.dims);
            for axis in 0..extents.len() {
                if let Some(Expression::Symbol(name)) = shape.get(axis) {
                    bindings.sizes.insert(name.clone(), extents[axis]);
                }
                if let Some(Expression::Symbol(name)) = strides.get(axis)
                    && !sizes.contains(name.as_str())
                {
                    bindings.strides.insert(name.clone(), known[axis]);
                }
            }
        }
        bindings
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "space {}", self.program)?;
        if let Some(mapping) = &self.mapping {
            write!(f, " {mapping}")?;
        }
        if self.fill != Fill::Normal {
            write!(f, " {:?}", self.fill)?;
        }
        write!(f, " seed {}", self.seed)
    }
}
