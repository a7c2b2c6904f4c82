//! The scalar program: kernel form as data, which needs no MLIR to evaluate.
//!
//! Steps are in SSA order, and the values they define are numbered from 0 in the order of definition (a write defines none, a
//! reduction one per accumulator). A value is a function of the dims of the iteration space that it varies over, so
//! broadcasting is implicit. Dims are named `d0`, `d1`, ... in accesses, as in MLIR's affine maps; every other symbol there
//! is a size of the definition that the program belongs to, or a number that the function's caller may set.

mod validate;

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use self::validate::ProgramError;
use crate::element::Element;
use crate::expression::Expression;
pub use crate::number::Number;

/// The number of a value of a program or of a combiner region.
pub type Value = usize;

/// A scalar program over an iteration space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The extent of each dim: a constant or an expression over the function's size symbols.
    pub space: Vec<Expression>,
    /// Guards, each a pair of expressions over dims and size symbols. A guard concerns what uses all of its dims: there are only points at
    /// which its first side is less than the second, so that at others nothing is read or written, and no reduction ranges over them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<[Expression; 2]>,
    /// The steps, each using only values defined before it.
    pub steps: Vec<Step>,
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Step {
    /// Defines an element of an input tensor.
    Read {
        /// The tensor's name.
        tensor: String,
        /// One coordinate per dim of the tensor.
        access: Vec<Expression>,
        /// The tensor's element type.
        #[serde(rename = "type")]
        element: Element,
    },
    /// Defines an element of an input tensor at computed coordinates, and whether the condition holds and all coordinates lie within
    /// the tensor, an `i1`; the element is zero where that is not so.
    Gather {
        /// The tensor's name.
        tensor: String,
        /// One coordinate per dim of the tensor, an `i64`.
        coordinates: Vec<Value>,
        /// Whether the element is read, an `i1`; it is everywhere without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<Value>,
        /// The tensor's element type.
        #[serde(rename = "type")]
        element: Element,
    },
    /// Defines the coordinate along a dim, an `i64`.
    Index {
        /// The position of the dim in the space.
        dim: usize,
    },
    /// Defines a size, an `i64`.
    Size {
        /// The expression over the function's size symbols.
        value: Expression,
    },
    /// Defines a parameter that the caller may set at launch.
    Scalar {
        /// The name, as in the kernels' arguments.
        name: String,
        /// The default.
        value: Number,
        /// The type it is rounded to.
        #[serde(rename = "type")]
        element: Element,
    },
    /// Defines a constant.
    Constant {
        /// The value, rounded to the type.
        value: Number,
        /// The type.
        #[serde(rename = "type")]
        element: Element,
    },
    /// Defines the result of an `arith` or `math` operation.
    Op(Operation),
    /// Defines one value per accumulator, which varies over the operands' dims without the reduced ones.
    Reduce {
        /// How two accumulators are combined.
        combiner: Combiner,
        /// The values to reduce, one per accumulator.
        operands: Vec<Value>,
        /// The dims removed.
        over: Vec<usize>,
        /// The type of each accumulator.
        types: Vec<Element>,
    },
    /// Defines, at each point of the dim `nth`, the distinct value of the operand with that rank: at the first point the
    /// largest or the smallest, and past the last distinct value the combiner's identity. The result varies over that dim and
    /// over those of the operand without the reduced ones.
    Nth {
        /// Whether ranks count from the largest value (`max`) or from the smallest (`min`).
        combiner: Combiner,
        /// The value, an integer.
        operand: Value,
        /// The reduced dims.
        over: Vec<usize>,
        /// The dim whose points are the ranks; it is not reduced, and the operand does not vary over it.
        nth: usize,
        /// The type of the operand and of the result.
        #[serde(rename = "type")]
        element: Element,
    },
    /// Defines, at each point, the operand combined over all points from the first one of some dims up to it (a prefix
    /// reduction). The result varies over these dims and over those of the operand.
    Scan {
        /// How values are combined; it must be a named combiner.
        combiner: Combiner,
        /// Whether the point itself is excluded.
        #[serde(default, skip_serializing_if = "is_false")]
        exclusive: bool,
        /// Whether the order of points is reversed, so that it starts at the last one.
        #[serde(default, skip_serializing_if = "is_false")]
        reverse: bool,
        /// The value.
        operand: Value,
        /// The dims, of which the last varies fastest.
        along: Vec<usize>,
        /// The type of the operand and of the result.
        #[serde(rename = "type")]
        element: Element,
    },
    /// Stores a value into an output tensor; defines nothing.
    Write {
        /// The value, of the tensor's element type.
        value: Value,
        /// The tensor's name.
        tensor: String,
        /// One coordinate per dim of the tensor.
        access: Vec<Expression>,
        /// Whether the tensor may have padding, elements that no step writes.
        #[serde(default, skip_serializing_if = "is_false")]
        partial: bool,
    },
    /// Stores a value into an output tensor at computed coordinates, where the condition holds and all of them lie within the tensor;
    /// defines nothing. Elements that no point reaches are padding, and what several points reach holds the value of any of them.
    Scatter {
        /// The value, of the tensor's element type.
        value: Value,
        /// The tensor's name.
        tensor: String,
        /// One coordinate per dim of the tensor, an `i64`.
        coordinates: Vec<Value>,
        /// Whether the element is written, an `i1`; it is everywhere without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        condition: Option<Value>,
    },
}

/// An `arith` or `math` operation on scalars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// MLIR's full name, such as `arith.mulf`.
    pub name: String,
    /// The operands.
    pub operands: Vec<Value>,
    /// The predicate of a comparison, such as `olt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<String>,
    /// Whether fast-math flags leave the rounding of the result open.
    #[serde(default, skip_serializing_if = "is_false")]
    pub relaxed: bool,
    /// The type of the result.
    #[serde(rename = "type")]
    pub element: Element,
}

/// How a reduction combines two accumulators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Combiner {
    /// The sum; identity 0.
    Add,
    /// The product; identity 1.
    Mul,
    /// The maximum, NaN if any is NaN; identity minus infinity, or the smallest integer.
    Max,
    /// The minimum, NaN if any is NaN; identity infinity, or the largest integer.
    Min,
    /// The bitwise and of integers; identity all ones.
    And,
    /// The bitwise or of integers; identity 0.
    Or,
    /// A combiner given by a program.
    Region(Region),
}

/// A combiner over n accumulators: values `0..n` are the left accumulator's, `n..2n` the right one's, and the steps
/// (operations and constants) define the values from `2n` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// The identity of each accumulator; combining with it changes nothing.
    pub identities: Vec<Number>,
    /// The region's operations.
    pub steps: Vec<Step>,
    /// The combined accumulator, n values.
    pub results: Vec<Value>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Step {
    /// The number of values that the step defines.
    pub fn result_count(&self) -> usize {
        match self {
            Step::Write { .. } | Step::Scatter { .. } => 0,
            Step::Gather { .. } => 2,
            Step::Reduce { types, .. } => types.len(),
            _ => 1,
        }
    }

    /// The type of the step's result `index`, or `None` if it has no such result.
    pub fn result_type(&self, index: usize) -> Option<Element> {
        match self {
            Step::Write { .. } | Step::Scatter { .. } => None,
            Step::Reduce { types, .. } => types.get(index).copied(),
            Step::Gather { element, .. } => [*element, Element::I1].get(index).copied(),
            Step::Index { .. } | Step::Size { .. } => Some(Element::I64),
            Step::Read { element, .. }
            | Step::Scalar { element, .. }
            | Step::Constant { element, .. }
            | Step::Nth { element, .. }
            | Step::Scan { element, .. } => Some(*element),
            Step::Op(operation) => Some(operation.element),
        }
    }
}

impl Step {
    /// The values that the step uses.
    pub fn operands(&self) -> impl Iterator<Item = Value> {
        let (operands, others): (&[Value], [Option<Value>; 2]) = match self {
            Step::Op(operation) => (&operation.operands, [None; 2]),
            Step::Reduce { operands, .. } => (operands, [None; 2]),
            Step::Scan { operand, .. } | Step::Nth { operand, .. } => (&[], [Some(*operand), None]),
            Step::Write { value, .. } => (&[], [Some(*value), None]),
            Step::Gather {
                coordinates,
                condition,
                ..
            } => (coordinates, [None, *condition]),
            Step::Scatter {
                value,
                coordinates,
                condition,
                ..
            } => (coordinates, [Some(*value), *condition]),
            _ => (&[], [None; 2]),
        };
        operands.iter().copied().chain(others.into_iter().flatten())
    }

    /// The dims of the space that the step's results vary over, ascending; `of_values` are those of the values before it. A
    /// write has no results.
    pub fn dims(&self, of_values: &[Vec<usize>]) -> Vec<usize> {
        let of = |value: &Value| of_values[*value].iter().copied();
        let found: BTreeSet<usize> = match self {
            Step::Read { access, .. } => return dims_of_access(access),
            Step::Index { dim } => [*dim].into(),
            Step::Op(operation) => operation.operands.iter().flat_map(of).collect(),
            Step::Gather {
                coordinates,
                condition,
                ..
            } => coordinates.iter().chain(condition).flat_map(of).collect(),
            Step::Reduce { operands, over, .. } => {
                let all = operands.iter().flat_map(of);
                all.filter(|dim| !over.contains(dim)).collect()
            }
            Step::Nth {
                operand, over, nth, ..
            } => {
                let kept = of(operand).filter(|dim| !over.contains(dim));
                kept.chain([*nth]).collect()
            }
            Step::Scan { operand, along, .. } => of(operand).chain(along.iter().copied()).collect(),
            Step::Size { .. }
            | Step::Scalar { .. }
            | Step::Constant { .. }
            | Step::Write { .. }
            | Step::Scatter { .. } => {
                return Vec::new();
            }
        };
        found.into_iter().collect()
    }
}

/// The dims of the space that an access depends on, ascending.
pub fn dims_of_access(access: &[Expression]) -> Vec<usize> {
    let symbols = access.iter().flat_map(Expression::symbols);
    let dims: BTreeSet<usize> = symbols.filter_map(dim_of_symbol).collect();
    dims.into_iter().collect()
}

/// The dim that a symbol of an access names: `d3` is 3.
pub fn dim_of_symbol(name: &str) -> Option<usize> {
    let digits = name.strip_prefix('d')?;
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

impl Program {
    /// The guards that concern what uses `dims`.
    pub fn guards_over(&self, dims: &[usize]) -> impl Iterator<Item = &[Expression; 2]> {
        let dims = dims.to_vec();
        self.guards
            .iter()
            .filter(move |guard| dims_of_access(*guard).iter().all(|dim| dims.contains(dim)))
    }

    /// Appends a step and returns the numbers of the values it defines. A builder that keeps these needs no count
    /// of its own.
    pub fn push(&mut self, step: Step) -> Range<Value> {
        let start = self.value_count();
        let count = step.result_count();
        self.steps.push(step);
        start..start + count
    }

    /// The number of values that the steps define.
    pub fn value_count(&self) -> usize {
        self.steps.iter().map(Step::result_count).sum()
    }

    /// For each value, the index of the step that defines it and the position among that step's results.
    pub fn definitions(&self) -> Vec<(usize, usize)> {
        let results = |(index, step): (usize, &Step)| (0..step.result_count()).map(move |r| (index, r));
        self.steps.iter().enumerate().flat_map(results).collect()
    }

    /// The tensors that the program writes, each once.
    pub fn written(&self) -> Vec<&str> {
        let names = self.steps.iter().filter_map(|step| match step {
            Step::Write { tensor, .. } | Step::Scatter { tensor, .. } => Some(tensor.as_str()),
            _ => None,
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The tensors that the program reads, each once.
    pub fn read(&self) -> Vec<&str> {
        let names = self.steps.iter().filter_map(|step| match step {
            Step::Read { tensor, .. } | Step::Gather { tensor, .. } => Some(tensor.as_str()),
            _ => None,
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn values_are_numbered_in_order_of_definition() {
        let mut program = Program::default();
        let constant = Step::Constant {
            value: Number::Integer(1),
            element: Element::F32,
        };
        assert_eq!(program.push(constant.clone()), 0..1);
        let write = Step::Write {
            value: 0,
            tensor: "y".into(),
            access: vec![],
            partial: false,
        };
        assert_eq!(program.push(write), 1..1);
        assert_eq!(program.push(constant), 1..2);
        assert_eq!(program.definitions(), [(0, 0), (2, 0)]);
    }

    #[test]
    fn only_plain_decimals_name_dims() {
        assert_eq!(dim_of_symbol("d0"), Some(0));
        assert_eq!(dim_of_symbol("d12"), Some(12));
        for name in ["d", "d01", "dx", "m", "d-1"] {
            assert_eq!(dim_of_symbol(name), None, "{name}");
        }
    }
}
