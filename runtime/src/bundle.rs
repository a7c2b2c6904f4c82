//! A bundle: one manifest, or one per target, and the cubins beside them, in a folder or in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use norma_bundle::Cubin;
use norma_bundle::manifest::{FILE_NAME, Kernel, Manifest};

use crate::error::Error;
use crate::target::closest_target;

/// The files of a bundle in memory, by their paths from its root, such as `manifest.json` or `sm_90a/manifest.json`.
pub type Files = BTreeMap<String, Cow<'static, [u8]>>;

/// A bundle for one or several targets.
#[derive(Clone, Debug)]
pub struct Bundle {
    targets: Vec<TargetBundle>,
}

/// What a bundle has for one target.
#[derive(Clone, Debug)]
pub struct TargetBundle {
    /// What the manifest says.
    pub manifest: Manifest,
    cubins: Cubins,
}

/// Where the cubins are.
#[derive(Clone, Debug)]
enum Cubins {
    Folder(PathBuf),
    Memory {
        files: Arc<Files>,
        /// What the names in the manifest follow: empty, or the target's folder and a slash.
        prefix: String,
    },
}

impl Bundle {
    /// Loads the bundle in `folder`, or those in its subfolders, one per target.
    ///
    /// # Errors
    /// There is no manifest, or one of them cannot be used.
    pub fn open(folder: &Path) -> Result<Bundle, Error> {
        let open = |folder: PathBuf| {
            let manifest = Manifest::load(&folder)?;
            let cubins = Cubins::Folder(folder);
            Ok(TargetBundle { manifest, cubins })
        };
        let mut nested: Vec<PathBuf> = match fs::read_dir(folder) {
            Ok(entries) => entries
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .collect(),
            Err(_) => Vec::new(),
        };
        nested.retain(|path| path.join(FILE_NAME).is_file());
        nested.sort_unstable();
        if folder.join(FILE_NAME).exists() || nested.is_empty() {
            nested = vec![folder.to_owned()];
        }
        let targets = nested.into_iter().map(open).collect::<Result<_, Error>>()?;
        Ok(Bundle { targets })
    }

    /// Takes a bundle from memory, laid out as in a folder.
    ///
    /// # Errors
    /// There is no manifest, or one of them cannot be used.
    pub fn from_files(files: Files) -> Result<Bundle, Error> {
        let is_nested = !files.contains_key(FILE_NAME);
        let prefixes = files.keys().filter_map(|path| {
            let prefix = path.strip_suffix(FILE_NAME)?;
            let is_folder = prefix.ends_with('/') && prefix.matches('/').count() == 1;
            (prefix.is_empty() || is_nested && is_folder).then(|| prefix.to_owned())
        });
        let prefixes: Vec<String> = prefixes.collect();
        if prefixes.is_empty() {
            return Err(Error::Bundle(format!("the bundle has no {FILE_NAME}")));
        }
        let files = Arc::new(files);
        let mut targets = Vec::new();
        for prefix in prefixes {
            let path = format!("{prefix}{FILE_NAME}");
            let text = str::from_utf8(&files[&path])
                .map_err(|error| Error::Bundle(format!("'{path}' is no manifest: {error}")))?;
            let manifest = Manifest::parse(text, Path::new(&path))?;
            let cubins = Cubins::Memory {
                files: Arc::clone(&files),
                prefix,
            };
            targets.push(TargetBundle { manifest, cubins });
        }
        Ok(Bundle { targets })
    }

    /// What there is for each target, in order of the folders' names.
    pub fn targets(&self) -> &[TargetBundle] {
        &self.targets
    }

    /// What there is for a device of that compute capability: of several, what was made for the closest architecture.
    ///
    /// # Errors
    /// Nothing is; says which targets there are.
    pub fn select(&self, capability: (u32, u32)) -> Result<&TargetBundle, Error> {
        let targets = || self.targets.iter().map(|bundle| bundle.manifest.target.as_str());
        let best = closest_target(targets(), capability);
        let mut bundles = self.targets.iter();
        let found = best.and_then(|best| bundles.find(|bundle| bundle.manifest.target == best));
        found.ok_or_else(|| {
            let (major, minor) = capability;
            Error::Target(format!(
                "the bundle is for {}, the GPU is sm_{major}{minor}",
                targets().collect::<Vec<_>>().join(", ")
            ))
        })
    }
}

impl TargetBundle {
    /// The bytes of a kernel's cubin.
    ///
    /// # Errors
    /// The file cannot be read or is no whole cubin, which the driver would read past the end of; or its kernel takes
    /// other parameters than the manifest passes, which the driver would read all the same.
    pub fn cubin(&self, kernel: &Kernel) -> Result<Cow<'_, [u8]>, Error> {
        let (path, bytes) = match &self.cubins {
            Cubins::Folder(folder) => {
                let path = folder.join(&kernel.cubin);
                let bytes = fs::read(&path).map_err(|error| error.to_string());
                (path.display().to_string(), bytes.map(Cow::Owned))
            }
            Cubins::Memory { files, prefix } => {
                let path = format!("{prefix}{}", kernel.cubin);
                let bytes = files
                    .get(&path)
                    .ok_or_else(|| "the bundle has no such file".to_owned());
                (path, bytes.map(|bytes| Cow::Borrowed(bytes.as_ref())))
            }
        };
        let bytes = bytes.map_err(|error| Error::Bundle(format!("cannot read '{path}': {error}")))?;
        match Cubin::parse(&bytes).and_then(|cubin| cubin.check(kernel)) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(Error::Bundle(format!("cannot use '{path}': {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RMS_NORM: &str = include_str!("../../bundle/testdata/rms_norm.json");
    const SCALE: &str = include_str!("../../bundle/testdata/scale.json");
    const CUBIN: &[u8] = include_bytes!("../../bundle/testdata/scale.sm_90a.cubin");

    fn target_for(bundle: &Bundle, capability: (u32, u32)) -> String {
        bundle.select(capability).unwrap().manifest.target.clone()
    }

    #[test]
    fn a_folder_per_target_is_searched() {
        let root = tempfile::tempdir().unwrap();
        for target in ["sm_80", "sm_90a"] {
            let directory = root.path().join(target);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join(FILE_NAME), RMS_NORM.replace("sm_90a", target)).unwrap();
        }
        let bundle = Bundle::open(root.path()).unwrap();
        assert_eq!(bundle.targets().len(), 2);
        assert_eq!(target_for(&bundle, (9, 0)), "sm_90a");
        assert_eq!(target_for(&bundle, (8, 6)), "sm_80");
        let error = bundle.select((10, 0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the bundle is for sm_80, sm_90a, the GPU is sm_100"
        );
    }

    #[test]
    fn a_bundle_in_memory_is_laid_out_as_in_a_folder() {
        let file = |target: &str| {
            let text = RMS_NORM.replace("sm_90a", target).into_bytes();
            (format!("{target}/{FILE_NAME}"), Cow::Owned(text))
        };
        let bundle = Bundle::from_files(["sm_80", "sm_86"].map(file).into()).unwrap();
        assert_eq!(target_for(&bundle, (8, 9)), "sm_86");
        assert_eq!(target_for(&bundle, (8, 0)), "sm_80");
        let error = Bundle::from_files(Files::new()).unwrap_err();
        assert_eq!(error.to_string(), "the bundle has no manifest.json");
    }

    #[test]
    fn a_folder_without_manifest_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let error = Bundle::open(root.path()).unwrap_err();
        assert!(error.to_string().contains("manifest.json"), "{error}");
    }

    #[test]
    fn cubins_of_another_manifest_are_refused() {
        let bundle = |cubin: &'static [u8]| {
            let files = [(FILE_NAME, SCALE.as_bytes()), ("scale_0.sm_90a.cubin", cubin)];
            let files = files.map(|(path, bytes)| (path.to_owned(), Cow::Borrowed(bytes)));
            Bundle::from_files(files.into()).unwrap()
        };
        let whole = bundle(CUBIN);
        let mut kernel = whole.targets()[0].manifest.functions[0].kernels[0].clone();
        assert_eq!(whole.targets()[0].cubin(&kernel).unwrap(), CUBIN);
        let cut = bundle(&CUBIN[..100]);
        let error = cut.targets()[0].cubin(&kernel).unwrap_err().to_string();
        assert!(error.contains("truncated"), "{error}");
        kernel.args.pop();
        let error = whole.targets()[0].cubin(&kernel).unwrap_err().to_string();
        assert!(
            error.contains("takes parameters of [8, 8, 4, 8] bytes"),
            "{error}"
        );
        kernel.cubin = "other.cubin".to_owned();
        let error = whole.targets()[0].cubin(&kernel).unwrap_err().to_string();
        assert_eq!(error, "cannot read 'other.cubin': the bundle has no such file");
    }
}
