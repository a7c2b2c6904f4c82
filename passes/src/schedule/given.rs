//! Schedules that a user gives in place of the compiler's choice, as text: `KERNEL = #norm.schedule<...>` for one kernel,
//! `#norm.schedule<...>` or the parameters in its brackets for all kernels that have no entry of their own.

/// Separates entries; no schedule has one.
const SEPARATOR: char = ';';

/// One schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The kernel that it is for; `None` for all that have no entry of their own.
    pub kernel: Option<&'t str>,
    /// The attribute, or the parameters inside its brackets.
    pub schedule: &'t str,
}

impl<'t> Entry<'t> {
    /// Reads one entry. A kernel's name stands before a whole attribute only, because parameters have equal signs too.
    pub fn parse(text: &'t str) -> Self {
        let text = text.trim();
        let named = text.find('#').and_then(|start| {
            let (head, schedule) = text.split_at(start);
            let kernel = head.trim_end().strip_suffix('=')?.trim();
            Some(Self {
                kernel: Some(kernel),
                schedule,
            })
        });
        named.unwrap_or(Self {
            kernel: None,
            schedule: text,
        })
    }
}

/// The entries of a list.
pub fn entries(text: &str) -> Vec<Entry<'_>> {
    text.split(SEPARATOR)
        .filter(|entry| !entry.trim().is_empty())
        .map(Entry::parse)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Entry, entries};

    fn entry<'t>(kernel: Option<&'t str>, schedule: &'t str) -> Entry<'t> {
        Entry { kernel, schedule }
    }

    #[test]
    fn a_name_stands_before_an_attribute() {
        assert_eq!(
            entries("f_0 = #norm.schedule<spread = [[grid]]>; #norm.schedule<spread = []>"),
            [
                entry(Some("f_0"), "#norm.schedule<spread = [[grid]]>"),
                entry(None, "#norm.schedule<spread = []>")
            ]
        );
    }

    #[test]
    fn parameters_are_no_names() {
        assert_eq!(
            entries(" spread = [[grid]], keep = [l2]"),
            [entry(None, "spread = [[grid]], keep = [l2]")]
        );
    }

    #[test]
    fn nothing_is_no_entry() {
        assert_eq!(entries(" ; "), []);
    }
}
