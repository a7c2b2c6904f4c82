//! Functions whose tensors are sharded over devices; each is computed by several functions of the bundle, its runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::validate::inconsistent;
use super::{Function, ManifestError};

/// The name of the scalar that tells a run where its device's shard begins: the coordinate of the shard's first element along
/// the sharded axis.
pub const OFFSET: &str = "offset";

/// A function that several devices compute together. Each device executes [`Self::runs`] one after the other on its shards of
/// the tensors. In between, each output of a run that is not a tensor of the whole function is gathered from all devices, in
/// order along a new first axis, and is an input of later runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object")]
pub struct Sharded {
    /// The function on whole tensors, as it was written: the results of all devices are judged by it. It is never launched,
    /// and has no kernels.
    pub whole: Function,
    /// The number of devices.
    pub devices: usize,
    /// The names of the functions that each device executes, in order.
    pub runs: Vec<String>,
    /// The axis along which each tensor of the whole function is sharded, in the order of the devices. A tensor that is not
    /// listed is not sharded: each device has all of it.
    pub axes: BTreeMap<String, usize>,
}

impl Sharded {
    /// Checks that the runs exist, and that the axes are those of tensors.
    ///
    /// # Errors
    /// The first inconsistency, with its place.
    pub(super) fn validate(&self, functions: &[Function]) -> Result<(), ManifestError> {
        let at = &self.whole.name;
        if self.devices < 2 {
            let message = format!("expected at least 2 devices, got {}", self.devices);
            return Err(inconsistent(at, message));
        }
        if !self.whole.kernels.is_empty() {
            return Err(inconsistent(
                at,
                "expected no kernels of a function that is sharded",
            ));
        }
        let is_there = |run: &&String| functions.iter().any(|function| function.name == **run);
        if let Some(missing) = self.runs.iter().find(|run| !is_there(run)) {
            let message = format!("expected its run '{missing}' among the functions");
            return Err(inconsistent(at, message));
        }
        for (tensor, axis) in &self.axes {
            let rank = self.whole.tensor(tensor).map(|tensor| tensor.shape.len());
            if rank.is_none_or(|rank| *axis >= rank) {
                let message = format!("expected a tensor '{tensor}' with an axis {axis}");
                return Err(inconsistent(at, message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Manifest;

    /// A manifest whose only function is the run of a sharded function.
    fn manifest() -> Manifest {
        let text = include_str!("../../testdata/rms_norm.json");
        let mut manifest: Manifest = serde_json::from_str(text).unwrap();
        let whole = Function {
            name: "whole".to_owned(),
            kernels: Vec::new(),
            ..manifest.functions[0].clone()
        };
        manifest.sharded.push(Sharded {
            whole,
            devices: 2,
            runs: vec![manifest.functions[0].name.clone()],
            axes: BTreeMap::from([("x".to_owned(), 1)]),
        });
        manifest
    }

    fn refusal(change: impl FnOnce(&mut Sharded)) -> String {
        let mut manifest = manifest();
        change(&mut manifest.sharded[0]);
        manifest.validate().unwrap_err().to_string()
    }

    #[test]
    fn a_sharded_function_is_read_back() {
        let manifest = manifest();
        manifest.validate().unwrap();
        let text = manifest.to_json().unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
    }

    #[test]
    fn what_a_sharded_function_contradicts_is_refused() {
        let found = refusal(|sharded| sharded.runs.push("f_rest".to_owned()));
        assert!(
            found.contains("expected its run 'f_rest' among the functions"),
            "{found}"
        );
        let found = refusal(|sharded| sharded.devices = 1);
        assert!(found.contains("expected at least 2 devices, got 1"), "{found}");
        let found = refusal(|sharded| {
            sharded.axes.insert("x".to_owned(), 2);
        });
        assert!(found.contains("expected a tensor 'x' with an axis 2"), "{found}");
        let found = refusal(|sharded| sharded.whole.name = sharded.runs[0].clone());
        assert!(found.contains("two functions have this name"), "{found}");
    }
}
