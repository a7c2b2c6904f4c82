//! The scalar program: kernel form as data, which needs no MLIR to evaluate.
//!
//! Steps are in SSA order and the values they define are numbered from 0 in the order of definition (a write defines
//! none, a reduction one per accumulator). A value is a function of the dims of the iteration space it varies over, so
//! broadcasting is implicit. Dims are named `d0`, `d1`, ... in accesses, as in MLIR's affine maps; every other symbol
//! there is a size of the definition that the program belongs to.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserializer, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::definition::{Declared, Scope};
use crate::element::Element;
use crate::expression::Expression;

/// The number of a value of a program or of a combiner region.
pub type Value = usize;

/// A scalar program over an iteration space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The extent of each dim: a constant or an expression over the function's size symbols.
    pub space: Vec<Expression>,
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
    /// Defines the coordinate along a dim, an `i64`.
    Index {
        /// Which dim of the space.
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
    /// Defines one value per accumulator, which varies over the operands' dims less those reduced.
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
    /// Stores a value into an output tensor; defines nothing.
    Write {
        /// The value, of the tensor's element type.
        value: Value,
        /// The tensor's name.
        tensor: String,
        /// One coordinate per dim of the tensor.
        access: Vec<Expression>,
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
    /// Whether a narrowing conversion saturates to the largest finite number instead of overflowing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub saturate: bool,
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
    /// A program of its own.
    Region(Region),
}

/// A combiner over n accumulators: values `0..n` are the left accumulator's, `n..2n` the right one's, and the steps
/// (operations and constants) define the values from `2n` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// The identity of each accumulator, which combining leaves as it is.
    pub identities: Vec<Number>,
    /// The region's operations.
    pub steps: Vec<Step>,
    /// The combined accumulator, n values.
    pub results: Vec<Value>,
}

/// A number in JSON; infinities and NaN, which JSON lacks, are the strings `inf`, `-inf` and `nan`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
}

/// What a program breaks, and in which step.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("step {step}: {message}")]
pub struct ProgramError {
    /// The step's index.
    pub step: usize,
    /// What was expected there.
    pub message: String,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Number {
    /// The number as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The number as an integer; floats are truncated and saturated.
    pub fn as_i64(self) -> i64 {
        match self {
            Number::Integer(value) => value,
            Number::Float(value) => value as i64,
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Number::Integer(value) => serializer.serialize_i64(value),
            Number::Float(value) if value.is_nan() => serializer.serialize_str("nan"),
            Number::Float(value) if value.is_infinite() => {
                serializer.serialize_str(if value > 0.0 { "inf" } else { "-inf" })
            }
            Number::Float(value) => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FromJson;
        impl Visitor<'_> for FromJson {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"inf\", \"-inf\" or \"nan\"")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Integer(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Number, E> {
                i64::try_from(value).map(Number::Integer).map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value))
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Number, E> {
                match value {
                    "inf" => Ok(Number::Float(f64::INFINITY)),
                    "-inf" => Ok(Number::Float(f64::NEG_INFINITY)),
                    "nan" => Ok(Number::Float(f64::NAN)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(FromJson)
    }
}

impl Step {
    /// How many values the step defines.
    pub fn result_count(&self) -> usize {
        match self {
            Step::Write { .. } => 0,
            Step::Reduce { types, .. } => types.len(),
            _ => 1,
        }
    }

    /// The type of the step's result `index`, or `None` if it has no such result.
    pub fn result_type(&self, index: usize) -> Option<Element> {
        match self {
            Step::Write { .. } => None,
            Step::Reduce { types, .. } => types.get(index).copied(),
            Step::Index { .. } | Step::Size { .. } => Some(Element::I64),
            Step::Read { element, .. } | Step::Scalar { element, .. } | Step::Constant { element, .. } => {
                Some(*element)
            }
            Step::Op(operation) => Some(operation.element),
        }
    }
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
    /// Appends a step and returns the numbers of the values it defines. A builder that keeps these needs no count
    /// of its own.
    pub fn push(&mut self, step: Step) -> Range<Value> {
        let start = self.value_count();
        let count = step.result_count();
        self.steps.push(step);
        start..start + count
    }

    /// How many values the steps define.
    pub fn value_count(&self) -> usize {
        self.steps.iter().map(Step::result_count).sum()
    }

    /// For each value, the step that defines it and which of its results it is.
    pub fn definitions(&self) -> Vec<(usize, usize)> {
        let results = |(index, step): (usize, &Step)| (0..step.result_count()).map(move |r| (index, r));
        self.steps.iter().enumerate().flat_map(results).collect()
    }

    /// The tensors that the program writes, each once.
    pub fn written(&self) -> Vec<&str> {
        let names = self.steps.iter().filter_map(|step| match step {
            Step::Write { tensor, .. } => Some(tensor.as_str()),
            _ => None,
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The tensors that the program reads, each once.
    pub fn read(&self) -> Vec<&str> {
        let names = self.steps.iter().filter_map(|step| match step {
            Step::Read { tensor, .. } => Some(tensor.as_str()),
            _ => None,
        });
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Checks the program against what it may use: values are defined before they are used, tensors exist with that
    /// rank and type, dims exist, and sizes are known.
    pub(crate) fn validate(&self, scope: &Scope<'_>) -> Result<(), ProgramError> {
        let sizes = &scope.sizes;
        let check_sizes = |step: usize, expression: &Expression| match expression
            .symbols()
            .into_iter()
            .find(|name| !sizes.contains(name))
        {
            None => Ok(()),
            Some(name) => Err(ProgramError {
                step,
                message: format!("'{name}' is no size of the function"),
            }),
        };
        if let Some(name) = sizes.iter().find(|name| dim_of_symbol(name).is_some()) {
            let message = format!("the size '{name}' has the name of a dim");
            return Err(ProgramError { step: 0, message });
        }
        self.space.iter().try_for_each(|extent| check_sizes(0, extent))?;

        let mut types: Vec<Element> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let error = |message: String| ProgramError { step: index, message };
            let fail = |message: String| Err(error(message));
            let known = types.len();
            let operands: &[Value] = match step {
                Step::Op(operation) => &operation.operands,
                Step::Reduce { operands, .. } => operands,
                Step::Write { value, .. } => std::slice::from_ref(value),
                _ => &[],
            };
            if let Some(operand) = operands.iter().find(|operand| **operand >= known) {
                return fail(format!("expected a value below {known}, got {operand}"));
            }
            match step {
                Step::Read {
                    tensor,
                    access,
                    element,
                } => {
                    let declared = scope.read(tensor).map_err(error)?;
                    self.check_access(index, declared, sizes, access, *element)?;
                }
                Step::Write {
                    value,
                    tensor,
                    access,
                } => {
                    let declared = scope.write(tensor).map_err(error)?;
                    self.check_access(index, declared, sizes, access, types[*value])?;
                }
                Step::Index { dim } if *dim >= self.space.len() => {
                    return fail(format!("expected a dim below {}, got {dim}", self.space.len()));
                }
                Step::Size { value } => check_sizes(index, value)?,
                Step::Reduce {
                    combiner,
                    operands,
                    over,
                    types,
                } => {
                    if operands.is_empty() || operands.len() != types.len() {
                        let message = format!(
                            "expected one type per operand, got {} and {}",
                            types.len(),
                            operands.len()
                        );
                        return fail(message);
                    }
                    if let Some(dim) = over.iter().find(|dim| **dim >= self.space.len()) {
                        return fail(format!("expected a dim below {}, got {dim}", self.space.len()));
                    }
                    check_combiner(combiner, operands.len()).or_else(fail)?;
                }
                _ => {}
            }
            types.extend((0..step.result_count()).filter_map(|result| step.result_type(result)));
        }
        Ok(())
    }

    fn check_access(
        &self,
        step: usize,
        declared: Declared,
        sizes: &BTreeSet<&str>,
        access: &[Expression],
        element: Element,
    ) -> Result<(), ProgramError> {
        let fail = |message: String| Err(ProgramError { step, message });
        if declared.rank != access.len() {
            return fail(format!(
                "expected {} coordinates, got {}",
                declared.rank,
                access.len()
            ));
        }
        if declared.element != element {
            return fail(format!("expected type {}, got {element}", declared.element));
        }
        for name in access.iter().flat_map(Expression::symbols) {
            match dim_of_symbol(name) {
                Some(dim) if dim < self.space.len() => {}
                None if sizes.contains(name) => {}
                _ => return fail(format!("'{name}' is neither a dim of the space nor a size")),
            }
        }
        Ok(())
    }
}

fn check_combiner(combiner: &Combiner, accumulators: usize) -> Result<(), String> {
    let Combiner::Region(region) = combiner else {
        return if accumulators == 1 {
            Ok(())
        } else {
            Err(format!(
                "expected one operand for a named combiner, got {accumulators}"
            ))
        };
    };
    if region.identities.len() != accumulators || region.results.len() != accumulators {
        return Err(format!(
            "expected {accumulators} identities and results, got {} and {}",
            region.identities.len(),
            region.results.len()
        ));
    }
    let mut known = 2 * accumulators;
    for step in &region.steps {
        match step {
            Step::Constant { .. } => {}
            Step::Op(operation) => {
                if let Some(operand) = operation.operands.iter().find(|operand| **operand >= known) {
                    return Err(format!(
                        "expected a value of the region below {known}, got {operand}"
                    ));
                }
            }
            _ => return Err("expected only operations and constants in a combiner".to_owned()),
        }
        known += 1;
    }
    match region.results.iter().find(|result| **result >= known) {
        Some(result) => Err(format!("expected a result below {known}, got {result}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::Statement;
    use crate::manifest::{Function, Manifest};

    fn rms_norm() -> Function {
        let text = include_str!("../testdata/rms_norm.json");
        serde_json::from_str::<Manifest>(text)
            .unwrap()
            .functions
            .remove(0)
    }

    fn complaint(change: impl FnOnce(&mut Program)) -> ProgramError {
        let function = rms_norm();
        let mut statements = function.definition.clone().unwrap().statements;
        let Statement::Program(program) = &mut statements[0] else {
            unreachable!("the test's manifest has a program")
        };
        change(program);
        program.validate(&Scope::of(&function)).unwrap_err()
    }

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
        };
        assert_eq!(program.push(write), 1..1);
        assert_eq!(program.push(constant), 1..2);
        assert_eq!(program.definitions(), [(0, 0), (2, 0)]);
    }

    #[test]
    fn values_are_defined_before_use() {
        let error = complaint(|program| {
            if let Step::Op(operation) = &mut program.steps[1] {
                operation.operands[0] = 1;
            }
        });
        assert_eq!(
            error,
            ProgramError {
                step: 1,
                message: "expected a value below 1, got 1".into()
            }
        );
    }

    #[test]
    fn accesses_match_the_tensor() {
        let set = |access: &'static [&str], element| {
            move |program: &mut Program| {
                let access = access
                    .iter()
                    .map(|source| Expression::parse(source).unwrap())
                    .collect();
                program.steps[0] = Step::Read {
                    tensor: "x".into(),
                    access,
                    element,
                };
            }
        };
        assert!(
            complaint(set(&["d0"], Element::BF16))
                .message
                .contains("expected 2 coordinates, got 1")
        );
        assert!(
            complaint(set(&["d0", "d1"], Element::F16))
                .message
                .contains("expected type bf16, got f16")
        );
        assert!(
            complaint(set(&["d0", "d2"], Element::BF16))
                .message
                .contains("'d2' is neither")
        );
        assert!(
            complaint(set(&["d0", "k"], Element::BF16))
                .message
                .contains("'k' is neither")
        );
    }

    #[test]
    fn inputs_are_not_written() {
        let error = complaint(|program| {
            program.steps.push(Step::Write {
                value: 10,
                tensor: "w".into(),
                access: vec![],
            });
        });
        assert_eq!(error.message, "no output or intermediate is named 'w'");
    }

    #[test]
    fn region_combiners_are_closed() {
        let region = Region {
            identities: vec![Number::Integer(0)],
            steps: vec![],
            results: vec![2],
        };
        let error = complaint(|program| {
            program.steps[3] = Step::Reduce {
                combiner: Combiner::Region(region),
                operands: vec![2],
                over: vec![1],
                types: vec![Element::F32],
            };
        });
        assert_eq!(error.message, "expected a result below 2, got 2");
    }

    #[test]
    fn numbers_that_json_lacks_are_strings() {
        for (number, json) in [
            (Number::Float(f64::NEG_INFINITY), "\"-inf\""),
            (Number::Float(1e-6), "1e-6"),
            (Number::Integer(i64::MIN), "-9223372036854775808"),
        ] {
            assert_eq!(serde_json::to_string(&number).unwrap(), json);
            assert_eq!(serde_json::from_str::<Number>(json).unwrap(), number);
        }
        assert!(serde_json::from_str::<Number>("\"infinite\"").is_err());
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
