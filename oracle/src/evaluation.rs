//! Binds a definition to its inputs and runs its statements in order; the outputs are kept as parts that can be evaluated.
//!
//! A tensor that a later statement reads is computed whole and rounded to its element type, as the memory between two kernels
//! would hold it. An output that no later statement reads is evaluated only where it is compared, so that comparing some rows
//! of a large tensor costs those rows alone.

use std::collections::BTreeMap;
use std::rc::Rc;

use norma_bundle::Expression;
use norma_bundle::definition::{Definition, Intermediate, Statement};

use crate::error::OracleError;
use crate::layout::Layout;
use crate::named;
use crate::part::{Part, Source};
use crate::problem::Problem;
use crate::program::Evaluator;
use crate::program::evaluate::Write;
use crate::program::grid::Data;
use crate::stored::Stored;
use crate::tensor::Tensor;

/// The outputs of a function, in parts that can be evaluated.
pub struct Evaluation<'a> {
    problem: &'a Problem<'a>,
    /// Each output is one part, or one per store of the program that writes it.
    pub parts: Vec<Part<'a>>,
}

/// The tensors that statements have computed so far.
struct State<'a> {
    problem: &'a Problem<'a>,
    definition: &'a Definition,
    sizes: BTreeMap<String, i64>,
    tensors: BTreeMap<&'a str, Tensor<'a>>,
}

impl<'a> Evaluation<'a> {
    /// Runs the statements of `definition`, which must be valid, on `inputs`, by tensor name.
    ///
    /// # Errors
    /// See [`OracleError`].
    pub fn new(
        problem: &'a Problem<'a>,
        definition: &'a Definition,
        inputs: BTreeMap<&'a str, Tensor<'a>>,
    ) -> Result<Self, OracleError> {
        if let Some((name, _)) = inputs.iter().find(|(_, tensor)| !tensor.is_whole()) {
            return Err(OracleError::Unbound((*name).to_owned()));
        }
        let mut state = State {
            problem,
            definition,
            sizes: problem.sizes_and_numbers(),
            tensors: inputs,
        };
        let mut last = Vec::new();
        for (index, statement) in definition.statements.iter().enumerate() {
            let later = &definition.statements[index + 1..];
            let parts = state.parts(statement)?;
            for result in statement.results() {
                let is_read = later
                    .iter()
                    .any(|statement| statement.operands().contains(&result));
                let is_only = definition
                    .statements
                    .iter()
                    .filter(|statement| statement.results().contains(&result))
                    .count()
                    == 1;
                let of_result = parts.iter().filter(|part| part.tensor == result);
                if is_read || !is_only {
                    state.store(result, of_result)?;
                } else if let Some(intermediate) = state.intermediate(result) {
                    // A later statement may be as large as a tensor that it does not read.
                    state.made_shape(intermediate, of_result)?;
                }
                if is_only {
                    last.extend(parts.iter().filter(|part| part.tensor == result).cloned());
                }
            }
        }
        let mut found = Vec::new();
        for output in &problem.function.outputs {
            let mut parts = last
                .iter()
                .filter(|part| part.tensor == output.name)
                .cloned()
                .peekable();
            match state.tensors.get(output.name.as_str()) {
                Some(tensor) if parts.peek().is_none() => found.push(Part {
                    tensor: &output.name,
                    source: Source::Memory(tensor.clone()),
                }),
                _ => found.extend(parts),
            }
        }
        Ok(Evaluation {
            problem,
            parts: found,
        })
    }
}

impl Evaluation<'_> {
    /// All values of an output before they are rounded to its type, row-major; integers as floats.
    ///
    /// # Errors
    /// See [`OracleError`]; also a tensor that is no output.
    pub fn values(&self, output: &str) -> Result<Vec<f64>, OracleError> {
        let unbound = || OracleError::Unbound(output.to_owned());
        let shape = &self.problem.layouts.get(output).ok_or_else(unbound)?.shape;
        let dense = Layout::contiguous(shape).ok_or_else(unbound)?;
        let count = dense.span().and_then(|span| usize::try_from(span).ok());
        let mut values = vec![f64::NAN; count.ok_or_else(unbound)?];
        for part in self.parts.iter().filter(|part| part.tensor == output) {
            for region in part.boxes(&part.whole()) {
                let elements = part.evaluate(&dense, &region)?;
                let found: Vec<f64> = match elements.data {
                    Data::Float { values, .. } => values,
                    Data::Integer { values, .. } => values.iter().map(|value| *value as f64).collect(),
                };
                for (place, value) in elements.places.iter().zip(found) {
                    values[*place as usize] = value;
                }
            }
        }
        Ok(values)
    }
}

impl<'a> State<'a> {
    /// The parts that a statement writes; its operands have been computed.
    fn parts(&self, statement: &'a Statement) -> Result<Vec<Part<'a>>, OracleError> {
        match statement {
            Statement::Named(named) => {
                let element = |name: &str| match self.intermediate(name) {
                    Some(intermediate) => Ok(intermediate.dtype),
                    None => self.problem.element(name),
                };
                let formula = Rc::from(named::bind(named, |tensor| self.tensor(tensor), element)?);
                let part = |(result, tensor): (&'a String, &'a String)| Part {
                    tensor,
                    source: Source::Named {
                        formula: Rc::clone(&formula),
                        result,
                    },
                };
                let parts: Vec<Part<'a>> = named.results.iter().map(part).collect();
                for part in &parts {
                    self.check_shape(part.tensor, &part.extents())?;
                }
                Ok(parts)
            }
            Statement::Program(program) => {
                let inputs = program
                    .read()
                    .into_iter()
                    .map(|tensor| Ok((tensor.to_owned(), self.tensor(tensor)?)))
                    .collect::<Result<_, OracleError>>()?;
                let evaluator = Rc::new(Evaluator::new(
                    program,
                    self.sizes.clone(),
                    &self.problem.scalars,
                    inputs,
                )?);
                let writes = evaluator.writes().into_iter();
                let part = |write: Write<'a>| Part {
                    tensor: write.tensor,
                    source: Source::Program {
                        evaluator: Rc::clone(&evaluator),
                        write,
                    },
                };
                Ok(writes.map(part).collect())
            }
        }
    }

    fn tensor(&self, name: &str) -> Result<Tensor<'a>, OracleError> {
        let found = self.tensors.get(name).cloned();
        found.ok_or_else(|| OracleError::Unbound(name.to_owned()))
    }

    fn intermediate(&self, name: &str) -> Option<&'a Intermediate> {
        self.definition
            .intermediates
            .iter()
            .find(|intermediate| intermediate.name == name)
    }

    /// Checks the shape of a result that is an output, whose shape is known beforehand.
    fn check_shape(&self, tensor: &str, got: &[i64]) -> Result<(), OracleError> {
        match self.problem.layouts.get(tensor) {
            Some(layout) if layout.shape != got => Err(OracleError::Shape {
                tensor: tensor.to_owned(),
                expected: layout.shape.clone(),
                got: got.to_vec(),
            }),
            _ => Ok(()),
        }
    }

    /// Computes a tensor whole and keeps it for later statements. Elements that no part writes keep their former contents.
    fn store<'p>(
        &mut self,
        name: &'a str,
        parts: impl Iterator<Item = &'p Part<'a>> + Clone,
    ) -> Result<(), OracleError>
    where
        'a: 'p,
    {
        let (element, shape) = match self.intermediate(name) {
            None => (
                self.problem.element(name)?,
                self.problem.layouts[name].shape.clone(),
            ),
            Some(intermediate) => (intermediate.dtype, self.made_shape(intermediate, parts.clone())?),
        };
        let layout = Layout::contiguous(&shape).ok_or_else(|| OracleError::Unbound(name.to_owned()))?;
        let mut stored = Stored::new(element, layout, self.tensors.get(name));
        for part in parts {
            stored.write(part)?;
        }
        self.tensors.insert(name, stored.into_tensor());
        Ok(())
    }

    /// The shape of an intermediate as its statement computes it; binds the size symbols of its declared shape.
    fn made_shape<'p>(
        &mut self,
        intermediate: &Intermediate,
        parts: impl Iterator<Item = &'p Part<'a>>,
    ) -> Result<Vec<i64>, OracleError>
    where
        'a: 'p,
    {
        let mut shape = vec![0; intermediate.shape.len()];
        for part in parts {
            for (extent, reached) in shape.iter_mut().zip(part.reached()?) {
                *extent = reached.max(*extent);
            }
        }
        for (declared, extent) in intermediate.shape.iter().zip(&mut shape) {
            match declared {
                Expression::Symbol(name) => {
                    self.sizes.insert(name.clone(), *extent);
                }
                declared => {
                    let expected = declared.evaluate(&|_| None)?;
                    if *extent != 0 && *extent != expected {
                        return Err(OracleError::Shape {
                            tensor: intermediate.name.clone(),
                            expected: vec![expected],
                            got: vec![*extent],
                        });
                    }
                    *extent = expected;
                }
            }
        }
        Ok(shape)
    }
}
