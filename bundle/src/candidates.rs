//! `candidates.json`: lists the bundles of one function compiled with different schedules, which a sweep times one after the
//! other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The name of the list within its folder.
pub const FILE_NAME: &str = "candidates.json";

/// A function compiled with several schedules, each a bundle in a folder of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidates {
    /// The folder of the bundle with the compiler's choice.
    pub chosen: String,
    /// The bundles with other schedules.
    pub candidates: Vec<Candidate>,
}

/// A bundle in which one kernel has a schedule other than the compiler's choice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The bundle's folder, beside the list.
    pub folder: String,
    /// The kernel.
    pub kernel: String,
    /// Its `#norm.schedule<...>`.
    pub schedule: String,
    /// The fraction of a copy's bandwidth that the cost model expects of the kernel.
    pub expected_share: f64,
}

/// Why a list cannot be used.
#[derive(Debug, Error)]
pub enum CandidatesError {
    /// The file cannot be read.
    #[error("cannot read '{path}', which `normac --candidates N -o DIR` writes: {error}")]
    Read {
        /// The list.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file does not hold such a list.
    #[error("'{path}' is no list of candidates: {error}")]
    Parse {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        error: serde_json::Error,
    },
}

impl Candidates {
    /// Reads the list in `folder`.
    ///
    /// # Errors
    /// The file does not exist, or is not such a list.
    pub fn load(folder: &Path) -> Result<Self, CandidatesError> {
        let path = folder.join(FILE_NAME);
        let text = fs::read_to_string(&path).map_err(|error| CandidatesError::Read {
            path: path.clone(),
            error,
        })?;
        serde_json::from_str(&text).map_err(|error| CandidatesError::Parse { path, error })
    }

    /// Formats the list as JSON.
    ///
    /// # Errors
    /// JSON cannot express a share that is NaN or infinite.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_none_says_which() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Candidates::load(folder.path()).unwrap_err().to_string();
        assert!(
            missing.contains("cannot read") && missing.contains(FILE_NAME),
            "{missing}"
        );
        fs::write(folder.path().join(FILE_NAME), "{}").unwrap();
        let wrong = Candidates::load(folder.path()).unwrap_err().to_string();
        assert!(wrong.contains("missing field `chosen`"), "{wrong}");
    }
}
