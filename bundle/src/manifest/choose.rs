//! Chooses the function of a bundle that a caller means.

use thiserror::Error;

use super::{Function, Manifest, Sharded};

/// Why no function can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FunctionError {
    /// The bundle has no functions.
    #[error("there is no function to run")]
    Empty,
    /// The bundle has no function of that name.
    #[error("there is no function '{name}', only {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The functions that it has.
        known: Vec<String>,
    },
    /// The bundle has several functions, and the caller named none.
    #[error("there are {} functions, name one by --function: {}", known.len(), known.join(", "))]
    Several {
        /// The functions that it has.
        known: Vec<String>,
    },
}

/// The function that was chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Chosen<'m> {
    /// A function that runs on one device.
    Function(&'m Function),
    /// A function that several devices compute together.
    Sharded(&'m Sharded),
}

impl<'m> Chosen<'m> {
    /// The function on whole tensors.
    pub fn function(self) -> &'m Function {
        match self {
            Chosen::Function(function) => function,
            Chosen::Sharded(sharded) => &sharded.whole,
        }
    }
}

impl Manifest {
    /// Returns the function, sharded or not, with the given name; without a name the only function, where the runs of a
    /// sharded one do not count.
    ///
    /// # Errors
    /// There is no function of that name, or none is named and there are several.
    pub fn choose(&self, name: Option<&str>) -> Result<Chosen<'_>, FunctionError> {
        let sharded = match (name, self.sharded.as_slice()) {
            (Some(name), all) => all.iter().find(|sharded| sharded.whole.name == name),
            (None, [only]) => {
                let is_run = |function: &Function| only.runs.contains(&function.name);
                self.functions.iter().all(is_run).then_some(only)
            }
            (None, _) => None,
        };
        if let Some(sharded) = sharded {
            return Ok(Chosen::Sharded(sharded));
        }
        let function = self.function(name).map_err(|mut error| {
            if let FunctionError::Unknown { known, .. } | FunctionError::Several { known } = &mut error {
                known.extend(self.sharded.iter().map(|sharded| sharded.whole.name.clone()));
            }
            error
        });
        function.map(Chosen::Function)
    }

    /// Returns the function with the given name, or the only one; runs of sharded functions count as functions.
    ///
    /// # Errors
    /// There is no function of that name, or none is named and there are several.
    pub fn function(&self, name: Option<&str>) -> Result<&Function, FunctionError> {
        let known = || {
            self.functions
                .iter()
                .map(|function| function.name.clone())
                .collect()
        };
        match (name, self.functions.as_slice()) {
            (_, []) => Err(FunctionError::Empty),
            (None, [function]) => Ok(function),
            (None, _) => Err(FunctionError::Several { known: known() }),
            (Some(name), functions) => {
                let found = functions.iter().find(|function| function.name == name);
                found.ok_or_else(|| FunctionError::Unknown {
                    name: name.to_owned(),
                    known: known(),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn manifest(names: &[&str]) -> Manifest {
        let text = include_str!("../../testdata/rms_norm.json");
        let mut manifest: Manifest = serde_json::from_str(text).unwrap();
        let function = manifest.functions.remove(0);
        let named = |name: &&str| Function {
            provenance: None,
            name: (*name).to_owned(),
            ..function.clone()
        };
        manifest.functions = names.iter().map(named).collect();
        manifest
    }

    #[test]
    fn the_only_function_need_not_be_named() {
        let manifest = manifest(&["f"]);
        assert_eq!(manifest.function(None).unwrap().name, "f");
        assert_eq!(manifest.function(Some("f")).unwrap().name, "f");
    }

    #[test]
    fn one_of_several_functions_must_be_named() {
        let manifest = manifest(&["f", "g"]);
        assert_eq!(manifest.function(Some("g")).unwrap().name, "g");
        assert_eq!(
            manifest.function(None).unwrap_err().to_string(),
            "there are 2 functions, name one by --function: f, g"
        );
        assert_eq!(
            manifest.function(Some("h")).unwrap_err().to_string(),
            "there is no function 'h', only f, g"
        );
    }

    #[test]
    fn a_sharded_function_is_meant_where_all_others_are_its_runs() {
        let mut manifest = manifest(&["f_partial", "f_rest"]);
        let whole = Function {
            name: "f".to_owned(),
            ..manifest.functions[0].clone()
        };
        manifest.sharded.push(Sharded {
            whole,
            devices: 2,
            runs: vec!["f_partial".to_owned(), "f_rest".to_owned()],
            axes: BTreeMap::new(),
        });
        let chosen = |manifest: &Manifest, name| match manifest.choose(name).unwrap() {
            Chosen::Function(function) => function.name.clone(),
            Chosen::Sharded(sharded) => format!("sharded {}", sharded.whole.name),
        };
        assert_eq!(chosen(&manifest, None), "sharded f");
        assert_eq!(chosen(&manifest, Some("f")), "sharded f");
        assert_eq!(chosen(&manifest, Some("f_rest")), "f_rest");
        let other = Function {
            name: "g".to_owned(),
            ..manifest.functions[0].clone()
        };
        manifest.functions.push(other);
        assert_eq!(
            manifest.choose(None).unwrap_err().to_string(),
            "there are 4 functions, name one by --function: f_partial, f_rest, g, f"
        );
    }

    #[test]
    fn an_empty_bundle_has_nothing_to_run() {
        assert_eq!(manifest(&[]).function(None), Err(FunctionError::Empty));
    }
}
