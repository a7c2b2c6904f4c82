//! A bundle on disk: one manifest, or one per target, and the cubins beside them.

use std::fs;
use std::path::{Path, PathBuf};

use norma_bundle::Cubin;
use norma_bundle::manifest::{FILE_NAME, Kernel, Manifest};

use crate::failure::Failure;

/// A bundle for one target.
#[derive(Debug)]
pub struct Bundle {
    /// Where the manifest and its cubins lie.
    pub directory: PathBuf,
    /// What the manifest says.
    pub manifest: Manifest,
}

impl Bundle {
    /// Loads the bundle in `directory`, or those in its subdirectories, one per target, in order of their names.
    ///
    /// # Errors
    /// There is no manifest, or one of them cannot be used.
    pub fn open_all(directory: &Path) -> Result<Vec<Bundle>, Failure> {
        let open = |directory: PathBuf| {
            let manifest = Manifest::load(&directory)?;
            Ok(Bundle { directory, manifest })
        };
        let mut nested: Vec<PathBuf> = match fs::read_dir(directory) {
            Ok(entries) => entries
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .collect(),
            Err(_) => Vec::new(),
        };
        nested.retain(|path| path.join(FILE_NAME).is_file());
        nested.sort_unstable();
        if directory.join(FILE_NAME).exists() || nested.is_empty() {
            return Ok(vec![open(directory.to_owned())?]);
        }
        nested.into_iter().map(open).collect()
    }

    /// The bytes of a kernel's cubin.
    ///
    /// # Errors
    /// The file cannot be read or is no whole cubin, which the driver would read past the end of; or its kernel takes
    /// other parameters than the manifest passes, which the driver would read all the same.
    pub fn cubin(&self, kernel: &Kernel) -> Result<Vec<u8>, Failure> {
        let path = self.directory.join(&kernel.cubin);
        let bytes = fs::read(&path)
            .map_err(|error| Failure::Request(format!("cannot read '{}': {error}", path.display())))?;
        let checked = Cubin::parse(&bytes).and_then(|cubin| cubin.check(kernel));
        match checked {
            Ok(()) => Ok(bytes),
            Err(error) => Err(Failure::Request(format!(
                "cannot use '{}': {error}",
                path.display()
            ))),
        }
    }

    /// The bundle for a device of that compute capability.
    ///
    /// # Errors
    /// None of them is; says which targets there are.
    pub fn select(bundles: &[Bundle], capability: (u32, u32)) -> Result<&Bundle, Failure> {
        let runs = |bundle: &&Bundle| runs_on(&bundle.manifest.target, capability);
        // A target with a suffix is for this very device, and so the faster one.
        let best = bundles
            .iter()
            .filter(runs)
            .max_by_key(|bundle| bundle.manifest.target.as_str());
        best.ok_or_else(|| {
            let targets: Vec<&str> = bundles
                .iter()
                .map(|bundle| bundle.manifest.target.as_str())
                .collect();
            let (major, minor) = capability;
            Failure::Target(format!(
                "the bundle is for {}, the GPU is sm_{major}{minor}",
                targets.join(", ")
            ))
        })
    }
}

/// Whether a cubin for `target` runs on a device: within the major version from the target's minor version on, with
/// the suffix `f` too (family), and only on that very version with the suffix `a` (architecture).
fn runs_on(target: &str, (major, minor): (u32, u32)) -> bool {
    let Some(version) = target.strip_prefix("sm_") else {
        return false;
    };
    let digits = version.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let Ok(number) = digits.parse::<u32>() else {
        return false;
    };
    let same_major = number / 10 == major;
    if version.ends_with('a') {
        same_major && number % 10 == minor
    } else {
        same_major && number % 10 <= minor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RMS_NORM: &str = include_str!("../../../bundle/testdata/rms_norm.json");

    #[test]
    fn suffixed_targets_are_for_one_version() {
        assert!(runs_on("sm_90a", (9, 0)));
        assert!(!runs_on("sm_90a", (9, 1)));
        assert!(!runs_on("sm_100a", (10, 3)));
        assert!(runs_on("sm_80", (8, 9)));
        assert!(!runs_on("sm_89", (8, 0)));
        assert!(!runs_on("sm_80", (9, 0)));
        assert!(!runs_on("gfx90a", (9, 0)));
    }

    #[test]
    fn a_directory_per_target_is_searched() {
        let root = tempfile::tempdir().unwrap();
        for target in ["sm_80", "sm_90a"] {
            let directory = root.path().join(target);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join(FILE_NAME), RMS_NORM.replace("sm_90a", target)).unwrap();
        }
        let bundles = Bundle::open_all(root.path()).unwrap();
        assert_eq!(bundles.len(), 2);
        assert_eq!(
            Bundle::select(&bundles, (9, 0)).unwrap().manifest.target,
            "sm_90a"
        );
        assert_eq!(Bundle::select(&bundles, (8, 6)).unwrap().manifest.target, "sm_80");
        let error = Bundle::select(&bundles, (10, 0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the bundle is for sm_80, sm_90a, the GPU is sm_100"
        );
        assert_eq!(error.exit_code(), 3);
    }

    #[test]
    fn a_directory_without_manifest_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let error = Bundle::open_all(root.path()).unwrap_err();
        assert!(error.to_string().contains("manifest.json"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn cubins_of_another_manifest_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let text = include_str!("../../../bundle/testdata/scale.json");
        let image = include_bytes!("../../../bundle/testdata/scale.sm_90a.cubin");
        let manifest: Manifest = serde_json::from_str(text).unwrap();
        let mut kernel = manifest.functions[0].kernels[0].clone();
        let bundle = Bundle {
            directory: root.path().to_owned(),
            manifest,
        };
        fs::write(root.path().join(&kernel.cubin), image).unwrap();
        assert_eq!(bundle.cubin(&kernel).unwrap(), image);
        kernel.args.pop();
        let error = bundle.cubin(&kernel).unwrap_err().to_string();
        assert!(
            error.contains("takes parameters of [8, 8, 4, 8] bytes"),
            "{error}"
        );
        fs::write(root.path().join(&kernel.cubin), &image[..100]).unwrap();
        let error = bundle.cubin(&kernel).unwrap_err().to_string();
        assert!(error.contains("truncated"), "{error}");
    }
}
