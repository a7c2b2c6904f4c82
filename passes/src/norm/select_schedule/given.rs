//! The schedules that the user gives, by kernel.

use melior::ir::{Attribute, Location};
use norma_bundle::Expression;
use norma_dialects::norm::{CopyMechanism, KernelOp, ScheduleAttr};
use norma_targets::{Feature, Target};

use crate::{
    mlir::{
        attribute_text,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError},
    },
    schedule::{given, mapping::Mapping},
    table::NormSelectSchedule,
};

/// A condition on sizes, `left < right`, and the schedule for the sizes that satisfy it.
pub(super) type Alternative<'c> = ([Expression; 2], Attribute<'c>);

/// All that the user gives.
pub(super) struct Given<'c> {
    /// By the kernel's name; `None` stands for all kernels that are not named.
    of_kernels: Vec<(Option<String>, OfKernel<'c>)>,
}

/// What the user gives for a kernel.
#[derive(Clone, Default)]
pub(super) struct OfKernel<'c> {
    /// The schedules for some sizes, in the order in which their conditions are tested.
    pub(super) alternatives: Vec<Alternative<'c>>,
    /// The schedule for all others.
    pub(super) schedule: Option<Attribute<'c>>,
}

impl<'c> Given<'c> {
    /// Reads the option.
    pub(super) fn read(
        kernels: &[KernelOp<'c, '_>],
        cx: &PassContext<'c, NormSelectSchedule>,
    ) -> Result<Self, PassError<'c>> {
        let location = place(cx, 0);
        let mut of_kernels = Vec::<(Option<String>, OfKernel<'c>)>::new();
        for entry in given::entries(&cx.options().schedule) {
            let schedule = parse(entry.schedule, cx)?;
            let kernel = entry.kernel.map(str::to_owned);
            let position = of_kernels.iter().position(|(other, _)| *other == kernel);
            let position = position.unwrap_or_else(|| {
                of_kernels.push((kernel.clone(), OfKernel::default()));
                of_kernels.len() - 1
            });
            let of_kernel = &mut of_kernels[position].1;
            if let Some(condition) = entry.condition {
                let condition =
                    given::condition(condition).map_err(|error| Diagnostic::user(location, error))?;
                of_kernel.alternatives.push((condition, schedule));
            } else if of_kernel.schedule.replace(schedule).is_some() {
                let of = kernel.map_or("kernels without a name".to_owned(), |name| {
                    format!("kernel '{name}'")
                });
                let message = format!("expected one schedule for {of}, got several");
                return Err(Diagnostic::user(location, message).into());
            }
        }
        let names = kernels
            .iter()
            .filter_map(|kernel| kernel.sym_name().ok())
            .collect::<Vec<_>>();
        let is_absent = |name: &&String| !names.contains(&name.as_str());
        let mut named = of_kernels.iter().filter_map(|(name, _)| name.as_ref());
        if !cx.options().absent
            && let Some(name) = named.find(is_absent)
        {
            let message = format!(
                "expected a schedule for one of {}, got one for '{name}'",
                names.join(", ")
            );
            return Err(Diagnostic::user(location, message).into());
        }
        Ok(Self { of_kernels })
    }

    /// What is given for a kernel.
    pub(super) fn of(&self, kernel: KernelOp<'c, '_>) -> OfKernel<'c> {
        let name = kernel.sym_name().ok();
        let of = |name: Option<&str>| {
            let mut all = self.of_kernels.iter();
            all.find(|(kernel, _)| kernel.as_deref() == name)
                .map(|(_, given)| given.clone())
        };
        of(name).or_else(|| of(None)).unwrap_or_default()
    }
}

/// Checks that the target has clusters as large as a schedule asks for, and the copy mechanism of its `bring`.
///
/// # Errors
///
/// Unsupported, at the kernel, if the target lacks either.
pub(super) fn check<'c>(
    schedule: Attribute<'c>,
    target: &Target,
    location: Location<'c>,
) -> Result<(), PassError<'c>> {
    let Some(schedule) = ScheduleAttr::from_attribute(schedule) else {
        return Ok(());
    };
    let mapping = Mapping::of(schedule)?;
    let feature = match mapping.bring {
        CopyMechanism::Load => None,
        CopyMechanism::CpAsync => Some(Feature::CpAsync),
        CopyMechanism::Bulk => Some(Feature::BulkCopy),
        CopyMechanism::Tensor => Some(Feature::Tma),
    };
    if let Some(feature) = feature.filter(|feature| !target.has(*feature)) {
        let message = format!(
            "bring = {} on {}; supported: on {}",
            mapping.bring.keyword(),
            target.name,
            Target::names_with(feature)
        );
        return Err(Diagnostic::unsupported(location, message).into());
    }
    let ctas = mapping.ctas_per_cluster();
    let most = target.cluster_size_non_portable;
    if ctas <= i64::from(most) {
        return Ok(());
    }
    let supported = match target.has(Feature::Clusters) {
        true => format!("at most {most} CTAs"),
        false => format!("clusters on {}", Target::names_with(Feature::Clusters)),
    };
    let message = format!(
        "clusters of {ctas} CTAs on {}; supported: {supported}",
        target.name
    );
    Err(Diagnostic::unsupported(location, message).into())
}

/// Reads one schedule: the attribute, or the parameters inside its brackets.
fn parse<'c>(text: &str, cx: &PassContext<'c, NormSelectSchedule>) -> Result<Attribute<'c>, Diagnostic<'c>> {
    let (head, tail) = match text.starts_with('#') {
        true => ("", ""),
        false => ("#norm.schedule<", ">"),
    };
    let parsed = attribute_text::parse(cx.context(), &format!("{head}{text}{tail}"));
    let (offset, why) = match parsed {
        Ok(attribute) if ScheduleAttr::from_attribute(attribute).is_some() => return Ok(attribute),
        Ok(_) => (0, "this is another attribute".to_owned()),
        Err(error) => (error.offset.saturating_sub(head.len()), error.message),
    };
    let message = format!(
        "expected a schedule like 'spread = [[grid], [register(2), warp(8), lane(32), vector(8)]]', got '{text}': {why}"
    );
    Err(Diagnostic::user(place(cx, offset.min(text.len())), message))
}

/// A place in a schedule that was given, after this many bytes. It is in no file, so it has a name in angle brackets, as standard input
/// does.
fn place<'c>(cx: &PassContext<'c, NormSelectSchedule>, offset: usize) -> Location<'c> {
    Location::new(cx.context(), "<schedule>", 1, offset + 1)
}
