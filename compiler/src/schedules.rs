//! Checks the schedules that a caller gives, and resolves the sizes that their conditions name.

use melior::ir::Module;
use norma_bundle::Expression;
use norma_passes::schedule::given::{self, Entry};

use crate::bundle::{KernelSizes, kernel_sizes};
use crate::error::{Error, Result};
use crate::level::Level;
use crate::options::CompileOptions;

/// Refuses a schedule that cannot be passed on as an option, or that no pass would read.
///
/// # Errors
///
/// There is such a schedule.
pub fn check(options: &CompileOptions) -> Result<()> {
    if options.schedules.is_empty() {
        return Ok(());
    }
    if options.from >= Level::Scheduled {
        return Err(Error::user(format!(
            "a schedule is given to kernels of levels before '{}', and the input is of level '{}'",
            Level::Scheduled,
            options.from
        )));
    }
    // Braces delimit the option that carries the schedules to their pass, and semicolons separate the schedules in it.
    let broken = |schedule: &&String| schedule.contains(['{', '}', ';']);
    match options.schedules.iter().find(broken) {
        Some(schedule) => Err(Error::user(format!(
            "expected a schedule without braces and semicolons, got '{schedule}'"
        ))),
        None => Ok(()),
    }
}

/// Whether a given schedule has a condition on sizes.
pub fn have_conditions(options: &CompileOptions) -> bool {
    let mut entries = options.schedules.iter().map(|entry| Entry::parse(entry));
    entries.any(|entry| entry.condition.is_some())
}

/// The schedules, with the manifest's names of sizes replaced by those that `norm-select-schedule` takes. A schedule with a
/// condition and without a kernel's name is repeated for each kernel that has no schedule of its own.
///
/// # Errors
///
/// A condition that does not parse, or that names something that is not a size of the kernel.
pub fn resolved(module: &Module, options: &CompileOptions) -> Result<Vec<String>> {
    let kernels = kernel_sizes(module)?;
    let entries = options.schedules.iter().map(|entry| Entry::parse(entry));
    let entries: Vec<_> = entries.collect();
    let mut resolved = Vec::new();
    for entry in &entries {
        let Some(condition) = entry.condition else {
            resolved.push(entry.to_string());
            continue;
        };
        let is_meant = |kernel: &&KernelSizes| match entry.kernel {
            Some(name) => kernel.kernel == name,
            None => !entries.iter().any(|other| other.kernel == Some(&kernel.kernel)),
        };
        let meant: Vec<_> = kernels.iter().filter(is_meant).collect();
        if let (Some(name), []) = (entry.kernel, meant.as_slice()) {
            let known: Vec<_> = kernels.iter().map(|kernel| kernel.kernel.as_str()).collect();
            return Err(Error::user(format!(
                "expected a condition on sizes for one of {}, got one for '{name}'",
                known.join(", ")
            )));
        }
        for kernel in meant {
            let [left, right] = given::condition(condition)
                .map_err(Error::user)?
                .map(|side| over_buffers(&side, kernel));
            resolved.push(
                Entry {
                    kernel: Some(&kernel.kernel),
                    condition: Some(&format!("{} < {}", left?, right?)),
                    schedule: entry.schedule,
                }
                .to_string(),
            );
        }
        // A kernel with alternatives has a named schedule now, so the schedule without a name has to be repeated for it too.
        if entry.kernel.is_none() {
            let rest = entries
                .iter()
                .find(|other| other.kernel.is_none() && other.condition.is_none());
            for (kernel, rest) in kernels.iter().filter(is_meant).zip(rest.into_iter().cycle()) {
                let whole = Entry {
                    kernel: Some(&kernel.kernel),
                    ..*rest
                };
                if !resolved.contains(&whole.to_string()) {
                    resolved.push(whole.to_string());
                }
            }
        }
    }
    Ok(resolved)
}

fn over_buffers(side: &Expression, kernel: &KernelSizes) -> Result<Expression> {
    let names = side.symbols();
    if let Some(name) = names.into_iter().find(|name| !kernel.names.contains_key(*name)) {
        let known: Vec<_> = kernel.names.keys().map(String::as_str).collect();
        let known = match known.as_slice() {
            [] => "no size, for none is dynamic".to_owned(),
            known => format!("sizes {}", known.join(", ")),
        };
        return Err(Error::user(format!(
            "expected a condition on kernel '{}' to name {known}, got '{name}'",
            kernel.kernel
        )));
    }
    Ok(crate::bundle::renamed(side, &kernel.names))
}
