//! A function: its tensors, its kernels, and what it computes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::kernel::{Argument, Kernel, ScalarType, ScalarValue};
use crate::condition::Condition;
use crate::definition::Definition;
use crate::element::Element;
use crate::expression::Expression;

/// One compiled function: tensors in, tensors out, and the kernels that run in order on one stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Function {
    /// The function's name in the source.
    pub name: String,
    /// The tensors that are read.
    pub inputs: Vec<Tensor>,
    /// The tensors that are written.
    pub outputs: Vec<Tensor>,
    /// Conditions on the sizes, beyond the tensors' shapes, and on the numbers that a caller sets; a launcher refuses calls
    /// that violate one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The kernels, in launch order.
    pub kernels: Vec<Kernel>,
    /// What the function was compiled from, and how; absent in bundles of older compilers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// What the function computes, as its author wrote it; absent if the compiler's input was of too low a level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Definition>,
}

/// What a function was compiled from, and how. Equal provenance implies equal kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Provenance {
    /// The compiler, with a hash of its own sources, and its LLVM.
    pub compiler: String,
    /// The CUDA release of the assembler, such as `13.0`; absent if there is no machine code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assembler: Option<String>,
    /// The SHA-256 of the source text, in hexadecimal.
    pub source: String,
    /// The options that influence the compiled code, as `normac` takes them.
    pub options: Vec<String>,
}

/// A tensor, and the kernels' assumptions about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Tensor {
    /// The name that kernels' arguments refer to.
    pub name: String,
    /// The element type.
    pub dtype: Element,
    /// The extent of each dim: a constant, or an expression over the function's size symbols.
    pub shape: Vec<Expression>,
    /// The stride of each dim, in elements: a constant, a size expression, or a symbol for a stride that the
    /// caller chooses.
    pub strides: Vec<Expression>,
    /// The alignment of the first element's address, in bytes; a power of two.
    pub align: u64,
    /// A divisor of each extent; all 1 if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape_multiples: Vec<u64>,
    /// A lower bound of each extent, over the function's size symbols; all 0 if absent. It states how far kernels access the
    /// tensor where the shapes alone do not imply it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shape_minimums: Vec<Expression>,
    /// A divisor of each stride, in elements; all 1 if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stride_multiples: Vec<u64>,
    /// 32 if the kernels compute offsets into this tensor in 32-bit signed integers, so that no offset may reach 2^31
    /// elements; 64 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bits: Option<u32>,
    /// For an output: the input whose memory it may share, from the same address on. It shares no element with any other
    /// tensor of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_alias: Option<String>,
}

impl Function {
    /// All tensors, inputs first.
    pub fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.inputs.iter().chain(&self.outputs)
    }

    /// The tensor with this name, if any.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors().find(|tensor| tensor.name == name)
    }

    /// The symbols in the tensors' shapes: sizes that a caller must choose.
    pub fn size_symbols(&self) -> BTreeSet<&str> {
        self.tensors()
            .flat_map(|tensor| &tensor.shape)
            .flat_map(Expression::symbols)
            .collect()
    }

    /// The sizes that occur only in outputs and are not `known`, with the lower bound that the kernels' accesses imply. The
    /// kernels write so many elements, and leave the rest of a larger output unchanged. A size without a lower bound in the
    /// manifest is left out.
    pub fn least_sizes(&self, known: &impl Fn(&str) -> Option<i64>) -> BTreeMap<&str, i64> {
        let mut least = BTreeMap::new();
        for output in &self.outputs {
            for (extent, minimum) in output.shape.iter().zip(&output.shape_minimums) {
                let Expression::Symbol(name) = extent else {
                    continue;
                };
                if let (None, Ok(minimum)) = (known(name), minimum.evaluate(known)) {
                    let size = least.entry(name.as_str()).or_insert(0);
                    *size = minimum.max(*size);
                }
            }
        }
        least
    }

    /// The symbols that occur only in strides: strides that a caller may choose.
    pub fn stride_symbols(&self) -> BTreeSet<&str> {
        let sizes = self.size_symbols();
        let all = self
            .tensors()
            .flat_map(|tensor| &tensor.strides)
            .flat_map(Expression::symbols);
        all.filter(|name| !sizes.contains(name)).collect()
    }

    /// The scalars among [`Self::named_scalars`] that may occur in conditions and in accesses of programs, with their
    /// defaults: the 64-bit integers.
    pub fn numbers(&self) -> Vec<(&str, i64)> {
        let scalars = self.named_scalars().into_iter();
        let numbers = scalars.filter_map(|(name, scalar, default)| match (scalar, default) {
            (ScalarType::I64, ScalarValue::Expression(default)) => Some((name, default.as_integer()?)),
            _ => None,
        });
        numbers.collect()
    }

    /// The size symbols and the names of [`Self::numbers`].
    pub fn size_and_number_symbols(&self) -> BTreeSet<&str> {
        let numbers = self.numbers().into_iter().map(|(name, _)| name);
        self.size_symbols().into_iter().chain(numbers).collect()
    }

    /// The scalars that a caller may set, with their defaults, in order of first use.
    pub fn named_scalars(&self) -> Vec<(&str, ScalarType, &ScalarValue)> {
        let mut found: Vec<(&str, ScalarType, &ScalarValue)> = Vec::new();
        for argument in self.kernels.iter().flat_map(|kernel| &kernel.args) {
            if let Argument::Scalar {
                name: Some(name),
                scalar,
                value,
            } = argument
                && !found.iter().any(|(known, ..)| known == name)
            {
                found.push((name, *scalar, value));
            }
        }
        found
    }
}

impl Tensor {
    /// A divisor of the extent of `dim`.
    pub fn shape_multiple(&self, dim: usize) -> u64 {
        self.shape_multiples.get(dim).copied().unwrap_or(1)
    }

    /// A divisor of the stride of `dim`, in elements.
    pub fn stride_multiple(&self, dim: usize) -> u64 {
        self.stride_multiples.get(dim).copied().unwrap_or(1)
    }
}
