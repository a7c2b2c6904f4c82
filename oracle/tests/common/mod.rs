//! Functions that consist of a definition alone, and their evaluation by the oracle.

use std::collections::BTreeMap;

use norma_bundle::manifest::{Function, Tensor as Declared};
use norma_bundle::{Element, Expression};
use norma_oracle::OracleError;
use norma_oracle::Problem;
use norma_oracle::evaluation::Evaluation;
use norma_oracle::tensor::Tensor;

/// Deterministic numbers in (-1, 1), without structure that could hide a fault of a reduction.
pub fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A tensor of a function, with the values an input holds.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub element: Element,
    pub shape: Vec<i64>,
    /// The stride of the outermost dim, in elements; 0 for dense.
    pub row_stride: i64,
    pub values: Vec<f64>,
}

impl Case {
    /// An input. `values` are rounded to a type of floats, and whole for a type of integers.
    pub fn input(name: &'static str, element: Element, shape: &[i64], values: Vec<f64>) -> Case {
        assert_eq!(values.len() as i64, shape.iter().product::<i64>());
        Case {
            name,
            element,
            shape: shape.to_vec(),
            row_stride: 0,
            values: match element.is_float() {
                true => values.into_iter().map(|value| element.round(value)).collect(),
                false => values,
            },
        }
    }

    pub fn output(name: &'static str, element: Element, shape: &[i64]) -> Case {
        Case {
            name,
            element,
            shape: shape.to_vec(),
            row_stride: 0,
            values: vec![],
        }
    }

    fn declared(&self) -> Declared {
        let mut strides = vec![1; self.shape.len()];
        for dim in (1..strides.len()).rev() {
            strides[dim - 1] = strides[dim] * self.shape[dim];
        }
        if self.row_stride > 0 {
            strides[0] = self.row_stride;
        }
        Declared {
            name: self.name.into(),
            dtype: self.element,
            shape: self
                .shape
                .iter()
                .map(|extent| Expression::Integer(*extent))
                .collect(),
            strides: strides.into_iter().map(Expression::Integer).collect(),
            align: 1,
            shape_multiples: vec![],
            stride_multiples: vec![],
            index_bits: None,
            shape_minimums: Vec::new(),
            may_alias: None,
        }
    }

    /// The memory; every byte that belongs to no element is 0xff.
    fn bytes(&self) -> Vec<u8> {
        let row: i64 = self.shape.iter().skip(1).product();
        let stride = if self.row_stride > 0 { self.row_stride } else { row };
        let rows = self.shape.first().copied().unwrap_or(1);
        let mut bytes = vec![0xff; ((rows * stride.max(row)).max(row) as usize) * self.element.bytes()];
        for (index, value) in self.values.iter().enumerate() {
            let (row_index, column) = (index as i64 / row.max(1), index as i64 % row.max(1));
            let pattern = match self.element.is_float() {
                true => self.element.encode_float(*value),
                false => *value as i64 as u64,
            };
            let pattern = pattern.to_le_bytes();
            let at = (row_index * stride + column) as usize * self.element.bytes();
            bytes[at..at + self.element.bytes()].copy_from_slice(&pattern[..self.element.bytes()]);
        }
        bytes
    }
}

/// Evaluates a definition in JSON: the values of every output before they are rounded, row-major.
pub fn evaluate(
    definition: &str,
    inputs: &[Case],
    outputs: &[Case],
) -> Result<BTreeMap<String, Vec<f64>>, OracleError> {
    let function = Function {
        provenance: None,
        name: "f".into(),
        inputs: inputs.iter().map(Case::declared).collect(),
        outputs: outputs.iter().map(Case::declared).collect(),
        conditions: vec![],
        kernels: vec![],
        definition: Some(serde_json::from_str(definition).unwrap()),
    };
    let definition = function.definition.as_ref().unwrap();
    definition.validate(&function).unwrap();
    let problem = Problem::new(&function, BTreeMap::new(), BTreeMap::new(), BTreeMap::new()).unwrap();
    let bytes: Vec<Vec<u8>> = inputs.iter().map(Case::bytes).collect();
    let bound = inputs.iter().zip(&bytes).map(|(case, bytes)| {
        let layout = problem.layouts[case.name].clone();
        (case.name, Tensor::stored(case.element, layout, bytes))
    });
    let evaluation = Evaluation::new(&problem, definition, bound.collect())?;
    let mut found = BTreeMap::new();
    for output in outputs {
        found.insert(output.name.to_owned(), evaluation.values(output.name)?);
    }
    Ok(found)
}

/// Asserts that floats agree to f64's accuracy; NaN matches NaN.
pub fn assert_close(actual: &[f64], expected: &[f64]) {
    assert_eq!(actual.len(), expected.len());
    for (index, (a, e)) in actual.iter().zip(expected).enumerate() {
        let same = a == e || (a.is_nan() && e.is_nan()) || (a - e).abs() <= 1e-12 * e.abs().max(1.0);
        assert!(same, "at {index}: expected {e}, got {a}");
    }
}
