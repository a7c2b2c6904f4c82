//! Schedules that a user gives in place of the compiler's choice, as text: `KERNEL = #norm.schedule<...>` for one kernel,
//! `#norm.schedule<...>` or the parameters in its brackets for all kernels that have no entry of their own. Before the equal
//! sign may stand the sizes that a schedule is for: `KERNEL if SIZE < 264 = #norm.schedule<...>`.

use norma_bundle::Expression;

/// Separates entries; no schedule has one.
const SEPARATOR: char = ';';

/// One schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'t> {
    /// The kernel that it is for; `None` for all that have no entry of their own.
    pub kernel: Option<&'t str>,
    /// The sizes that it is for, as [`condition`] reads it; `None` for all.
    pub condition: Option<&'t str>,
    /// The attribute, or the parameters inside its brackets.
    pub schedule: &'t str,
}

impl<'t> Entry<'t> {
    /// Reads one entry. A kernel's name stands before a whole attribute only, because parameters have equal signs too.
    pub fn parse(text: &'t str) -> Self {
        let text = text.trim();
        let named = text.find('#').and_then(|start| {
            let (head, schedule) = text.split_at(start);
            let words = head.trim_end().strip_suffix('=')?.trim();
            let (kernel, condition) = match words.strip_prefix("if ") {
                Some(condition) => ("", Some(condition.trim())),
                None => match words.split_once(" if ") {
                    Some((kernel, condition)) => (kernel.trim(), Some(condition.trim())),
                    None => (words, None),
                },
            };
            Some(Self {
                kernel: (!kernel.is_empty()).then_some(kernel),
                condition,
                schedule,
            })
        });
        named.unwrap_or(Self {
            kernel: None,
            condition: None,
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

impl std::fmt::Display for Entry<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(kernel) = self.kernel {
            write!(formatter, "{kernel} ")?;
        }
        if let Some(condition) = self.condition {
            write!(formatter, "if {condition} ")?;
        }
        if self.kernel.is_some() || self.condition.is_some() {
            formatter.write_str("= ")?;
        }
        formatter.write_str(self.schedule)
    }
}

/// Reads a comparison of two size expressions. Returns two expressions of which the first is less than the second exactly where the
/// comparison holds.
///
/// # Errors
/// There is no comparison, or a side is no expression.
pub fn condition(text: &str) -> Result<[Expression; 2], String> {
    let operators = ["<=", ">=", "<", ">"];
    let found = operators
        .into_iter()
        .find_map(|operator| Some((operator, text.split_once(operator)?)));
    let Some((operator, (left, right))) = found else {
        return Err(format!("expected a comparison by <, <=, > or >=, got '{text}'"));
    };
    let side = |text: &str| Expression::parse(text.trim()).map_err(|error| error.to_string());
    let (left, right) = (side(left)?, side(right)?);
    Ok(match operator {
        "<" => [left, right],
        "<=" => [left, right + 1],
        ">" => [right, left],
        _ => [right, left + 1],
    })
}

#[cfg(test)]
mod tests {
    use super::{Entry, condition, entries};

    fn entry<'t>(kernel: Option<&'t str>, schedule: &'t str) -> Entry<'t> {
        Entry {
            kernel,
            condition: None,
            schedule,
        }
    }

    #[test]
    fn a_condition_stands_behind_the_name() {
        let all = entries("f_0 if m <= 4 = #a; if n < 8*m = #b");
        let words = |entry: &Entry<'_>| {
            (
                entry.kernel.map(str::to_owned),
                entry.condition.map(str::to_owned),
            )
        };
        assert_eq!(words(&all[0]), (Some("f_0".into()), Some("m <= 4".into())));
        assert_eq!(words(&all[1]), (None, Some("n < 8*m".into())));
        assert_eq!(all[0].to_string(), "f_0 if m <= 4 = #a");
        assert_eq!(all[1].to_string(), "if n < 8*m = #b");
    }

    #[test]
    fn comparisons_are_one_of_less() {
        let sides = |text| condition(text).map(|[left, right]| format!("{left} < {right}"));
        assert_eq!(sides("m < 264").as_deref(), Ok("m < 264"));
        assert_eq!(sides("m <= 264").as_deref(), Ok("m < 265"));
        assert_eq!(sides("m > 264").as_deref(), Ok("264 < m"));
        assert_eq!(sides("m >= 264").as_deref(), Ok("264 < m + 1"));
        assert!(sides("m == 264").is_err() && sides("m < (").is_err());
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
