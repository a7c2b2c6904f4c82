//! The shapes of a function's outputs, computed from those of its inputs.

use std::collections::HashMap;

use norma_bundle::Expression;
use norma_bundle::manifest;
use norma_runtime::Tensor;

/// The values of a function's sizes: those read from its inputs, and the minimal values of sizes that only outputs have.
pub struct Sizes<'f>(HashMap<&'f str, i64>);

impl<'f> Sizes<'f> {
    /// Reads the sizes from the inputs of a call.
    ///
    /// # Errors
    /// An input does not have the expected rank.
    ///
    /// # Safety
    /// The tensors' shapes are as long as their ranks.
    pub unsafe fn read<'t>(
        function: &'f manifest::Function,
        inputs: impl Iterator<Item = &'t Tensor<'t>>,
    ) -> Result<Self, String> {
        let mut sizes = HashMap::new();
        for (described, tensor) in function.inputs.iter().zip(inputs) {
            let rank = described.shape.len();
            if usize::try_from(tensor.rank) != Ok(rank) {
                let (name, got) = (&described.name, tensor.rank);
                return Err(format!("expected '{name}' to have {rank} dims, got {got}"));
            }
            for (dim, extent) in described.shape.iter().enumerate() {
                if let Expression::Symbol(name) = extent {
                    // SAFETY: passed on to the caller; the rank was compared.
                    sizes
                        .entry(name.as_str())
                        .or_insert(unsafe { *tensor.shape.add(dim) });
                }
            }
        }
        let least = function.least_sizes(&|name| sizes.get(name).copied());
        sizes.extend(least);
        Ok(Sizes(sizes))
    }

    /// The shape of an output.
    ///
    /// # Errors
    /// The shape does not follow from the inputs.
    pub fn shape(&self, output: &manifest::Tensor) -> Result<Vec<i64>, String> {
        let size = |name: &str| self.0.get(name).copied();
        let extents = output.shape.iter().map(|extent| extent.evaluate(&size));
        extents.collect::<Result<_, _>>().map_err(|error| {
            let name = &output.name;
            format!("expected out=, as the shape of '{name}' does not follow from the inputs: {error}")
        })
    }
}
