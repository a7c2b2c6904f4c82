//! Which of a bundle's functions is meant.

use thiserror::Error;

use super::{Function, Manifest};

/// Why no function is meant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FunctionError {
    /// The bundle has none.
    #[error("there is no function to run")]
    Empty,
    /// It has none of that name.
    #[error("there is no function '{name}', only {}", known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// It has several, and none is named.
    #[error("there are {} functions, name one by --function: {}", known.len(), known.join(", "))]
    Several {
        /// Those that it has.
        known: Vec<String>,
    },
}

impl Manifest {
    /// The function of that name, or the only one.
    ///
    /// # Errors
    /// There is none of that name, or none is named where there are several.
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
    fn an_empty_bundle_has_nothing_to_run() {
        assert_eq!(manifest(&[]).function(None), Err(FunctionError::Empty));
    }
}
