//! Determines which devices can run an architecture's cubins.

/// An architecture as `ptxas` names it, such as `sm_90a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Architecture {
    major: u32,
    minor: u32,
    features: Features,
}

/// The set of features that its cubins may use, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Features {
    /// The features that all later versions have too.
    Baseline,
    /// The features of a family of devices: suffix `f`.
    Family,
    /// The features of this version only: suffix `a`.
    Specific,
}

impl Architecture {
    /// Reads a name.
    fn parse(name: &str) -> Option<Self> {
        let version = name.strip_prefix("sm_")?;
        let (digits, features) = match version.strip_suffix(['a', 'f']) {
            Some(digits) if version.ends_with('a') => (digits, Features::Specific),
            Some(digits) => (digits, Features::Family),
            None => (version, Features::Baseline),
        };
        let number: u32 = digits.parse().ok()?;
        Some(Architecture {
            major: number / 10,
            minor: number % 10,
            features,
        })
    }

    /// Whether its cubins run on a device of this compute capability. Suffix `a` requires the same version; otherwise the
    /// major version must be equal, and the device's minor version at least as large.
    fn runs_on(self, (major, minor): (u32, u32)) -> bool {
        let is_minor = match self.features {
            Features::Specific => self.minor == minor,
            Features::Family | Features::Baseline => self.minor <= minor,
        };
        self.major == major && is_minor
    }
}

/// Returns the target that is closest to a device of this compute capability; `None` if the device runs the cubins of none of
/// them.
pub fn closest_target<'t>(
    targets: impl IntoIterator<Item = &'t str>,
    capability: (u32, u32),
) -> Option<&'t str> {
    let parsed = targets
        .into_iter()
        .filter_map(|name| Some((Architecture::parse(name)?, name)));
    let fitting = parsed.filter(|(architecture, _)| architecture.runs_on(capability));
    fitting
        .max_by_key(|(architecture, _)| *architecture)
        .map(|(_, name)| name)
}

/// Returns the newest target whose PTX a driver can compile for a device of this compute capability: a target without a
/// suffix that is not newer than the device (PTX ISA, `.target`).
pub(crate) fn closest_ptx<'t>(
    targets: impl IntoIterator<Item = &'t str>,
    (major, minor): (u32, u32),
) -> Option<&'t str> {
    let parsed = targets
        .into_iter()
        .filter_map(|name| Some((Architecture::parse(name)?, name)));
    let fitting = parsed.filter(|(architecture, _)| {
        architecture.features == Features::Baseline
            && (architecture.major, architecture.minor) <= (major, minor)
    });
    fitting
        .max_by_key(|(architecture, _)| *architecture)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_without_a_suffix_runs_on_all_that_is_newer() {
        let targets = ["sm_80", "sm_89", "sm_90a"];
        assert_eq!(closest_ptx(targets, (10, 0)), Some("sm_89"));
        assert_eq!(closest_ptx(targets, (8, 6)), Some("sm_80"));
        assert_eq!(closest_ptx(targets, (7, 5)), None);
        assert_eq!(closest_ptx(["sm_90a", "sm_100f"], (10, 3)), None);
    }

    fn runs_on(name: &str, capability: (u32, u32)) -> bool {
        Architecture::parse(name).is_some_and(|architecture| architecture.runs_on(capability))
    }

    #[test]
    fn suffixed_targets_are_for_one_version_or_family() {
        assert!(runs_on("sm_90a", (9, 0)));
        assert!(!runs_on("sm_90a", (9, 1)));
        assert!(!runs_on("sm_100a", (10, 3)));
        assert!(runs_on("sm_100f", (10, 3)));
        assert!(runs_on("sm_80", (8, 9)));
        assert!(!runs_on("sm_89", (8, 0)));
        assert!(!runs_on("sm_80", (9, 0)));
        assert!(!runs_on("gfx90a", (9, 0)));
    }

    #[test]
    fn what_is_closer_to_the_device_is_greater() {
        let order = [
            "sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a",
        ];
        let parsed = order.map(|name| Architecture::parse(name).unwrap());
        assert!(parsed.is_sorted());
    }
}
