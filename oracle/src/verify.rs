//! Whether a function computed what its definition says, and wrote nowhere else.

use std::collections::BTreeMap;

use norma_bundle::manifest::Tensor;
use serde::Serialize;

use crate::compare::{OutputCheck, compare};
use crate::error::OracleError;
use crate::evaluation::Evaluation;
use crate::fill::Random;
use crate::memory::{Images, elements_of, has_unwritten, holes_are_intact};
use crate::problem::Problem;
use crate::scattered::Reached;
use crate::tensor::Tensor as Bound;

/// The memory before and after a run. Outputs start out poisoned, see [`crate::memory`].
#[derive(Clone, Copy, Debug)]
pub struct Run<'r> {
    /// The inputs before the run; images of other tensors are not looked at.
    pub before: &'r Images,
    /// Every tensor after it.
    pub after: &'r Images,
    /// The outputs after a further run on the same inputs and workspaces, where there was one.
    pub again: Option<&'r Images>,
    /// The workspaces that kernels must find zero and leave zero, as they are after the last run, by name.
    pub workspaces: &'r BTreeMap<String, Vec<u8>>,
}

/// How much of a large result is compared.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// The most rows of a result with more than 2^20 points; 0 for all.
    pub rows: usize,
    /// Chooses the rows.
    pub seed: u64,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verification {
    /// Whether nothing wrong was found. If [`Self::compared`] is 0, no value was checked.
    pub passed: bool,
    /// The checks of the outputs, one for each part in which an output is defined; empty if the function has no definition.
    pub outputs: Vec<OutputCheck>,
    /// Whether two runs gave the same bits; true if there was only one.
    pub deterministic: bool,
    /// Tensors that were written outside of their elements or in their padding, and inputs that were written at all.
    pub stray_writes: Vec<String>,
    /// Outputs of which some element still holds the poison.
    pub unwritten: Vec<String>,
    /// Workspaces that the kernels did not leave zero.
    pub dirty_workspaces: Vec<String>,
    /// Faults of devices that the tensors of the whole function do not show, if several devices share it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub of_devices: Vec<String>,
}

impl Verification {
    /// How many elements were compared.
    pub fn compared(&self) -> u64 {
        self.outputs.iter().map(|output| output.checked).sum()
    }
}

/// Compares what `run` left behind with what `problem` must compute from the inputs it started with.
///
/// # Errors
/// A reference that cannot be evaluated, or memory that is missing or too short.
pub fn verify(problem: &Problem<'_>, run: Run<'_>, sampling: Sampling) -> Result<Verification, OracleError> {
    let unbound = |tensor: &Tensor| OracleError::Unbound(tensor.name.clone());
    let dirty = run
        .workspaces
        .iter()
        .filter(|(_, bytes)| bytes.iter().any(|byte| *byte != 0));
    let mut found = Verification {
        deterministic: true,
        dirty_workspaces: dirty.map(|(name, _)| name.clone()).collect(),
        ..Verification::default()
    };
    let mut inputs = BTreeMap::new();
    for input in &problem.function.inputs {
        let before = run.before.get(&input.name).ok_or_else(|| unbound(input))?;
        let after = run.after.get(&input.name).ok_or_else(|| unbound(input))?;
        if after != before {
            found.stray_writes.push(input.name.clone());
        }
        let layout = problem.layouts[&input.name].clone();
        inputs.insert(
            input.name.as_str(),
            Bound::stored(input.dtype, layout, before.body()),
        );
    }
    for output in &problem.function.outputs {
        let image = run.after.get(&output.name).ok_or_else(|| unbound(output))?;
        let body = image.body();
        if body.len() < problem.span_bytes(output) {
            return Err(unbound(output));
        }
        let inside = elements_of(problem, output);
        if !image.guards_are_intact() || !holes_are_intact(body, output.dtype, inside.as_deref()) {
            found.stray_writes.push(output.name.clone());
        }
        let has_padding = problem.function.definition.as_ref().is_some_and(|definition| {
            let mut statements = definition.statements.iter();
            statements.any(|statement| statement.leaves_padding(&output.name))
        });
        if !has_padding && has_unwritten(body, output.dtype, inside.as_deref()) {
            found.unwritten.push(output.name.clone());
        }
        if run
            .again
            .is_some_and(|again| again.get(&output.name) != Some(image))
        {
            found.deterministic = false;
        }
    }
    if let Some(definition) = &problem.function.definition {
        let evaluation = Evaluation::new(problem, definition, inputs)?;
        let mut random = Random::new(sampling.seed);
        for part in &evaluation.parts {
            let image = run
                .after
                .get(part.tensor)
                .ok_or_else(|| OracleError::Unbound(part.tensor.to_owned()))?;
            let layout = &problem.layouts[part.tensor];
            let parts = evaluation
                .parts
                .iter()
                .filter(|other| other.tensor == part.tensor);
            let reached = Reached::by(&parts.collect::<Vec<_>>(), layout)?;
            let element = problem.element(part.tensor)?;
            if reached
                .as_ref()
                .is_some_and(|reached| !reached.leaves_others(image, element, layout))
            {
                found.stray_writes.push(part.tensor.to_owned());
            }
            let (check, is_stray) =
                compare(problem, part, image, reached.as_ref(), sampling.rows, &mut random)?;
            if is_stray {
                found.stray_writes.push(check.tensor.clone());
            }
            found.outputs.push(check);
        }
    }
    found.passed = found.deterministic
        && found.stray_writes.is_empty()
        && found.unwritten.is_empty()
        && found.dirty_workspaces.is_empty()
        && found.outputs.iter().all(|output| output.wrong == 0);
    Ok(found)
}
