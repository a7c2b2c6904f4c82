//! A bundle: one manifest, or one per target, and the machine code beside them, in a folder or in memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use norma_bundle::manifest::{FILE_NAME, Kernel, Manifest};
use norma_bundle::{Cubin, content, ptx};

use crate::driver::Device;
use crate::error::Error;
use crate::target::{closest_ptx, closest_target};

/// The files of a bundle in memory, by their paths from its root, such as `manifest.json` or `sm_90a/manifest.json`.
pub type Files = BTreeMap<String, Cow<'static, [u8]>>;

/// A bundle for one or several targets.
#[derive(Clone, Debug)]
pub struct Bundle {
    targets: Vec<TargetBundle>,
    allows_ptx: bool,
}

/// The part of a bundle that was selected for a device.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'b> {
    /// The files for the target that is closest to the device.
    pub target: &'b TargetBundle,
    /// Whether the device runs the PTX, which the driver compiles first, rather than the cubin.
    pub is_ptx: bool,
}

/// The part of a bundle for one target.
#[derive(Clone, Debug)]
pub struct TargetBundle {
    /// The manifest.
    pub manifest: Manifest,
    place: Place,
}

/// The location of the files that a manifest names.
#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    Memory {
        files: Arc<Files>,
        /// The prefix of the manifest's file names: empty, or the target's folder and a slash.
        prefix: String,
    },
}

/// The folder.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Folder(folder) => folder.display().fmt(f),
            Place::Memory { prefix, .. } => f.write_str(prefix.trim_end_matches('/')),
        }
    }
}

impl Bundle {
    /// Loads the bundle in `folder`, or the bundles in its subfolders, one per target.
    ///
    /// # Errors
    /// There is no manifest, one of them cannot be used, or two are for the same target.
    pub fn open(folder: &Path) -> Result<Bundle, Error> {
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
        let mut targets = Vec::with_capacity(nested.len());
        for folder in nested {
            targets.push(TargetBundle {
                manifest: Manifest::load(&folder)?,
                place: Place::Folder(folder),
            });
        }
        Bundle::of(targets)
    }

    /// Takes a bundle from memory, laid out as in a folder.
    ///
    /// # Errors
    /// There is no manifest, one of them cannot be used, or two are for the same target.
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
            let place = Place::Memory {
                files: Arc::clone(&files),
                prefix,
            };
            targets.push(TargetBundle { manifest, place });
        }
        Bundle::of(targets)
    }

    /// A bundle of these parts.
    ///
    /// # Errors
    /// Two are for the same target.
    fn of(targets: Vec<TargetBundle>) -> Result<Bundle, Error> {
        for (index, bundle) in targets.iter().enumerate() {
            let target = bundle.manifest.target_name();
            let mut others = targets[..index].iter();
            if let Some(other) = others.find(|other| other.manifest.target_name() == target) {
                return Err(Error::Bundle(format!(
                    "expected the folder of one bundle, got one with several for {target}, '{}' and '{}'",
                    other.place, bundle.place
                )));
            }
        }
        Ok(Bundle {
            targets,
            allows_ptx: false,
        })
    }

    /// Sets whether functions may run by PTX on devices that no cubin fits; the driver then compiles the PTX when a function
    /// is loaded. The default is not to. `normac --ptx-fallback` writes bundles that have PTX.
    pub fn allow_ptx(&mut self, allows_ptx: bool) {
        self.allows_ptx = allows_ptx;
    }

    /// The parts for each target, in the order of the folders' names.
    pub fn targets(&self) -> &[TargetBundle] {
        &self.targets
    }

    /// Selects the files for a device: those of the closest architecture, scheduled for the part whose memory is nearest to the device's;
    /// or PTX if no cubin fits and [`Bundle::allow_ptx`] allows it.
    ///
    /// # Errors
    /// Nothing fits the device; the error lists the targets.
    pub fn select(&self, device: &Device) -> Result<Selected<'_>, Error> {
        let found = self.find(device.capability, device.bandwidth);
        found.ok_or_else(|| self.unfit(device.capability, &device.name))
    }

    fn find(&self, capability: (u32, u32), bandwidth: Option<u64>) -> Option<Selected<'_>> {
        let nearest = |name: &str, is_ptx: bool| {
            // Of an architecture's parts, some may have PTX and others not.
            let fits =
                |bundle: &&TargetBundle| bundle.manifest.target == name && (!is_ptx || bundle.has_ptx());
            let targets = self.targets.iter().filter(fits);
            let target = targets.min_by(|a, b| a.distance(bandwidth).total_cmp(&b.distance(bandwidth)))?;
            Some(Selected { target, is_ptx })
        };
        let names = self.targets.iter().map(|bundle| bundle.manifest.target.as_str());
        let by_cubin = closest_target(names, capability).and_then(|name| nearest(name, false));
        let by_ptx = || self.ptx_for(capability).and_then(|name| nearest(name, true));
        by_cubin.or_else(|| self.allows_ptx.then(by_ptx).flatten())
    }

    /// The target whose PTX can run on a device.
    fn ptx_for(&self, capability: (u32, u32)) -> Option<&str> {
        let with_ptx = self.targets.iter().filter(|bundle| bundle.has_ptx());
        closest_ptx(with_ptx.map(|bundle| bundle.manifest.target.as_str()), capability)
    }

    /// The error for a device that nothing in the bundle fits.
    fn unfit(&self, capability: (u32, u32), device: &str) -> Error {
        let targets = self.targets.iter().map(|bundle| bundle.manifest.target_name());
        let targets: Vec<_> = targets.collect();
        let (major, minor) = capability;
        let hint = self.ptx_for(capability).map(|target| {
            format!("; it has PTX of {target}, which runs there if whoever loads the bundle allows PTX")
        });
        Error::Target(format!(
            "the bundle is for {}, the GPU is sm_{major}{minor} ({device}){}",
            targets.join(", "),
            hint.unwrap_or_default()
        ))
    }
}

impl TargetBundle {
    /// How far the bandwidth of the part that it was scheduled for is from a device's: the logarithm of their ratio. A bundle that names
    /// no part is further away than all others; where the device's bandwidth is not known, all that name one are equally far.
    fn distance(&self, bandwidth: Option<u64>) -> f64 {
        match (&self.manifest.part, bandwidth) {
            (None, _) => f64::INFINITY,
            (Some(_), None) => 0.0,
            (Some(part), Some(bandwidth)) => (part.bandwidth as f64 / bandwidth as f64).ln().abs(),
        }
    }

    /// Whether all kernels have PTX.
    fn has_ptx(&self) -> bool {
        let mut kernels = self
            .manifest
            .functions
            .iter()
            .flat_map(|function| &function.kernels);
        kernels.all(|kernel| kernel.ptx.is_some())
    }

    /// The bytes of a kernel's cubin.
    ///
    /// # Errors
    /// The file cannot be read, was damaged, or is a truncated cubin, beyond whose end the driver would read; or its kernel has
    /// other parameters than the manifest passes, which the driver would not check.
    pub fn cubin(&self, kernel: &Kernel) -> Result<Cow<'_, [u8]>, Error> {
        let (path, bytes) = self.file(&kernel.cubin)?;
        match Cubin::parse(&bytes).and_then(|cubin| cubin.check(kernel)) {
            Ok(()) => Ok(bytes),
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    /// The text of a kernel's PTX, with the null byte that the driver expects at the end.
    ///
    /// # Errors
    /// There is no PTX, the file cannot be read, was damaged or is not text, or its kernel has other parameters than the
    /// manifest passes.
    pub fn ptx(&self, kernel: &Kernel) -> Result<Vec<u8>, Error> {
        let Some(file) = &kernel.ptx else {
            let symbol = &kernel.symbol;
            return Err(Error::Bundle(format!("the bundle has no PTX of '{symbol}'")));
        };
        let (path, bytes) = self.file(file)?;
        let text = str::from_utf8(&bytes).map_err(|error| unusable(&path, &error))?;
        ptx::check(text, kernel).map_err(|error| unusable(&path, &error))?;
        let mut text = bytes.into_owned();
        text.push(0);
        Ok(text)
    }

    /// The path and the content of a file that the manifest names. If the name contains a hash of the content, as in what
    /// `normac -o` writes, the two are compared: the driver would run damaged code.
    fn file(&self, name: &str) -> Result<(String, Cow<'_, [u8]>), Error> {
        let (path, bytes) = match &self.place {
            Place::Folder(folder) => {
                let path = folder.join(name);
                let bytes = fs::read(&path).map_err(|error| error.to_string());
                (path.display().to_string(), bytes.map(Cow::Owned))
            }
            Place::Memory { files, prefix } => {
                let path = format!("{prefix}{name}");
                let bytes = files
                    .get(&path)
                    .ok_or_else(|| "the bundle has no such file".to_owned());
                (path, bytes.map(|bytes| Cow::Borrowed(bytes.as_ref())))
            }
        };
        match bytes {
            Ok(bytes) => match content::hash_in(name).zip(Some(content::hash(&bytes))) {
                Some((expected, got)) if expected != got => {
                    let damage = format!("it is damaged: expected content with hash {expected}, got {got}");
                    Err(unusable(&path, &damage))
                }
                _ => Ok((path, bytes)),
            },
            Err(error) => Err(Error::Bundle(format!("cannot read '{path}': {error}"))),
        }
    }
}

fn unusable(path: &str, error: &dyn fmt::Display) -> Error {
    Error::Bundle(format!("cannot use '{path}': {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RMS_NORM: &str = include_str!("../../bundle/testdata/rms_norm.json");
    const SCALE: &str = include_str!("../../bundle/testdata/scale.json");
    const CUBIN: &[u8] = include_bytes!("../../bundle/testdata/scale.sm_90a.cubin");

    fn target_for(bundle: &Bundle, capability: (u32, u32)) -> String {
        bundle
            .find(capability, None)
            .unwrap()
            .target
            .manifest
            .target
            .clone()
    }

    #[test]
    fn the_part_with_the_nearest_memory_is_chosen() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, bandwidth: Option<u64>| {
            let mut manifest = Manifest::parse(RMS_NORM, Path::new("rms_norm.json")).unwrap();
            manifest.part = bandwidth.map(|bandwidth| norma_bundle::Part {
                name: name.to_owned(),
                target: name.to_owned(),
                bandwidth,
            });
            let directory = root.path().join(name);
            fs::create_dir(&directory).unwrap();
            fs::write(directory.join(FILE_NAME), manifest.to_json().unwrap()).unwrap();
        };
        write("sm_90a", Some(4_800_000_000_000));
        write("sm_90a-h100", Some(3_350_000_000_000));
        let bundle = Bundle::open(root.path()).unwrap();
        let chosen = |bandwidth: Option<u64>| {
            let found = bundle.find((9, 0), bandwidth).unwrap();
            found.target.manifest.target_name().to_owned()
        };
        assert_eq!(chosen(Some(3_352_000_000_000)), "sm_90a-h100");
        assert_eq!(chosen(Some(4_917_000_000_000)), "sm_90a");
        assert_eq!(chosen(Some(2_000_000_000_000)), "sm_90a-h100");
        assert_eq!(chosen(None), "sm_90a");
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
        assert!(bundle.find((10, 0), None).is_none());
        assert_eq!(
            bundle.unfit((10, 0), "B200").to_string(),
            "the bundle is for sm_80, sm_90a, the GPU is sm_100 (B200)"
        );
    }

    #[test]
    fn a_folder_of_other_bundles_is_none() {
        let root = tempfile::tempdir().unwrap();
        for name in ["one", "two"] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join(FILE_NAME), RMS_NORM).unwrap();
        }
        let error = Bundle::open(root.path()).unwrap_err().to_string();
        let root = root.path().display();
        assert_eq!(
            error,
            format!(
                "expected the folder of one bundle, got one with several for sm_90a, '{root}/one' and '{root}/two'"
            )
        );
    }

    #[test]
    fn files_of_other_bundles_are_none() {
        let files =
            ["one", "two"].map(|name| (format!("{name}/{FILE_NAME}"), Cow::Borrowed(RMS_NORM.as_bytes())));
        let error = Bundle::from_files(files.into()).unwrap_err().to_string();
        assert_eq!(
            error,
            "expected the folder of one bundle, got one with several for sm_90a, 'one' and 'two'"
        );
    }

    #[test]
    fn ptx_is_used_where_no_cubin_fits_and_only_if_allowed() {
        let with_ptx = SCALE.replace(
            "\"cubin\": \"scale_0.sm_90a.cubin\"",
            "\"cubin\": \"scale_0.sm_90a.cubin\", \"ptx\": \"scale_0.ptx\"",
        );
        assert_ne!(with_ptx, SCALE);
        let file = |target: &str, text: &str| {
            let text = text.replace("sm_90a", target).into_bytes();
            (format!("{target}/{FILE_NAME}"), Cow::Owned(text))
        };
        let files = [file("sm_80", &with_ptx), file("sm_90a", SCALE)];
        let mut bundle = Bundle::from_files(files.into()).unwrap();
        assert!(bundle.find((10, 0), None).is_none());
        assert_eq!(
            bundle.unfit((10, 0), "B200").to_string(),
            "the bundle is for sm_80, sm_90a, the GPU is sm_100 (B200); it has PTX of sm_80, which runs there if whoever \
             loads the bundle allows PTX"
        );
        bundle.allow_ptx(true);
        let fallback = bundle.find((10, 0), None).unwrap();
        assert_eq!(
            (fallback.target.manifest.target.as_str(), fallback.is_ptx),
            ("sm_80", true)
        );
        assert!(!bundle.find((9, 0), None).unwrap().is_ptx);
        assert!(bundle.find((7, 5), None).is_none());
    }

    #[test]
    fn ptx_runs_of_the_nearest_part_that_has_it() {
        let file = |part: &str, bandwidth: u64, ptx: Option<&str>| {
            let text = SCALE.replace("sm_90a", "sm_90");
            let mut manifest = Manifest::parse(&text, Path::new("scale.json")).unwrap();
            manifest.part = Some(norma_bundle::Part {
                name: part.to_owned(),
                target: part.to_owned(),
                bandwidth,
            });
            manifest.functions[0].kernels[0].ptx = ptx.map(str::to_owned);
            let text = manifest.to_json().unwrap().into_bytes();
            (format!("{part}/{FILE_NAME}"), Cow::Owned(text))
        };
        let files = [
            file("sm_90-far", 1_000_000_000_000, Some("scale_0.ptx")),
            file("sm_90-mid", 3_000_000_000_000, Some("scale_0.ptx")),
            file("sm_90-near", 8_000_000_000_000, None),
        ];
        let mut bundle = Bundle::from_files(files.into()).unwrap();
        bundle.allow_ptx(true);
        let chosen = |capability| {
            let found = bundle.find(capability, Some(8_000_000_000_000)).unwrap();
            (found.target.manifest.target_name().to_owned(), found.is_ptx)
        };
        assert_eq!(chosen((10, 0)), ("sm_90-mid".to_owned(), true));
        assert_eq!(chosen((9, 0)), ("sm_90-near".to_owned(), false));
    }

    #[test]
    fn ptx_of_another_manifest_is_refused() {
        let bundle = |ptx: &'static str| {
            let files = [(FILE_NAME, SCALE), ("scale_0.ptx", ptx)];
            let files = files.map(|(path, text)| (path.to_owned(), Cow::Borrowed(text.as_bytes())));
            Bundle::from_files(files.into()).unwrap()
        };
        let refusal = |ptx, kernel: &Kernel| bundle(ptx).targets()[0].ptx(kernel).unwrap_err().to_string();
        let other = bundle("");
        let mut kernel = other.targets()[0].manifest.functions[0].kernels[0].clone();
        assert_eq!(refusal("", &kernel), "the bundle has no PTX of 'scale_0'");
        kernel.ptx = Some("scale_0.ptx".to_owned());
        let text = ".visible .entry scale_0(.param .u64 a, .param .u64 b, .param .f32 s, .param .u64 m) {}";
        assert!(bundle(text).targets()[0].ptx(&kernel).unwrap().ends_with(b"{}\0"));
        assert_eq!(
            refusal(".visible .entry scale_0(.param .u64 a) {}", &kernel),
            "cannot use 'scale_0.ptx': kernel 'scale_0' takes parameters of [8] bytes, and the manifest passes [8, 8, 4, 8]"
        );
        assert!(refusal(".version 8.0", &kernel).contains("it has no kernel 'scale_0'"));
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

    #[test]
    fn a_cubin_that_is_damaged_is_refused() {
        let name = content::name("scale_0.sm_90a.cubin", CUBIN);
        let manifest = SCALE.replace("scale_0.sm_90a.cubin", &name);
        let cubin = |bytes: Vec<u8>| {
            let files = [(FILE_NAME, manifest.clone().into_bytes()), (&name, bytes)];
            let files = files.map(|(path, bytes)| (path.to_owned(), Cow::Owned(bytes)));
            let bundle = Bundle::from_files(files.into()).unwrap();
            let target = &bundle.targets()[0];
            let cubin = target.cubin(&target.manifest.functions[0].kernels[0]);
            cubin.map(Cow::into_owned).map_err(|error| error.to_string())
        };
        assert_eq!(cubin(CUBIN.to_vec()).unwrap(), CUBIN);
        // The sections' data: the image is still whole, and its parameters are still declared.
        let mut damaged = CUBIN.to_vec();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 1500].fill(0);
        let error = cubin(damaged).unwrap_err();
        let expected = format!("cannot use '{name}': it is damaged: expected content with hash ");
        assert!(error.starts_with(&expected), "{error}");
    }
}
