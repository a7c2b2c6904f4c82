//! The command-line syntax of sizes, strides and scalars: `NAME=VALUE`.

use std::collections::BTreeMap;
use std::str::FromStr;

/// A type of values, with the words that messages have for it.
pub trait SettingValue: FromStr {
    /// What is expected behind the equals sign.
    const EXPECTED: &'static str;
}

impl SettingValue for i64 {
    const EXPECTED: &'static str = "a whole number";
}

impl SettingValue for f64 {
    const EXPECTED: &'static str = "a number";
}

impl SettingValue for String {
    const EXPECTED: &'static str = "a value";
}

/// `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting<T> {
    /// The part before the first `=`.
    pub name: String,
    /// The part after it.
    pub value: T,
}

impl<T: SettingValue> FromStr for Setting<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("expected NAME=VALUE, got '{text}'"))?;
        let number = value
            .parse()
            .map_err(|_| format!("expected {} after '{name}=', got '{value}'", T::EXPECTED))?;
        Ok(Setting {
            name: name.to_owned(),
            value: number,
        })
    }
}

/// Collects settings by name.
///
/// # Errors
/// The name of a setting that is given twice.
pub(crate) fn by_name<T: Clone>(settings: &[Setting<T>]) -> Result<BTreeMap<String, T>, String> {
    let mut named = BTreeMap::new();
    for Setting { name, value } in settings {
        if named.insert(name.clone(), value.clone()).is_some() {
            return Err(name.clone());
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_split_at_the_equals_sign() {
        assert_eq!(
            "m=16".parse::<Setting<i64>>().unwrap(),
            Setting {
                name: "m".into(),
                value: 16
            }
        );
        assert_eq!("eps=1e-5".parse::<Setting<f64>>().unwrap().value, 1e-5);
        assert!(
            "m".parse::<Setting<i64>>()
                .unwrap_err()
                .contains("expected NAME=VALUE")
        );
        assert_eq!(
            "m=1.5".parse::<Setting<i64>>().unwrap_err(),
            "expected a whole number after 'm=', got '1.5'"
        );
        assert_eq!(
            "eps=x".parse::<Setting<f64>>().unwrap_err(),
            "expected a number after 'eps=', got 'x'"
        );
    }

    #[test]
    fn a_name_stands_for_one_value() {
        let settings = |texts: &[&str]| -> Vec<Setting<i64>> {
            texts.iter().map(|text| text.parse().unwrap()).collect()
        };
        let named = by_name(&settings(&["m=1", "n=2"])).unwrap();
        assert_eq!(named, BTreeMap::from([("m".into(), 1), ("n".into(), 2)]));
        assert_eq!(by_name(&settings(&["m=1", "n=2", "m=1"])), Err("m".to_owned()));
    }
}
