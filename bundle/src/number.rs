//! Numbers in JSON.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A number in JSON; infinities and NaN, which JSON lacks, are the strings `inf`, `-inf` and `nan`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
}

impl Number {
    /// The number as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(value) => value as f64,
            Number::Float(value) => value,
        }
    }

    /// The number as an integer; floats are truncated and saturated.
    pub fn as_i64(self) -> i64 {
        match self {
            Number::Integer(value) => value,
            Number::Float(value) => value as i64,
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Number::Integer(value) => serializer.serialize_i64(value),
            Number::Float(value) if value.is_nan() => serializer.serialize_str("nan"),
            Number::Float(value) if value.is_infinite() => {
                serializer.serialize_str(if value > 0.0 { "inf" } else { "-inf" })
            }
            Number::Float(value) => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FromJson;
        impl Visitor<'_> for FromJson {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, \"inf\", \"-inf\" or \"nan\"")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number::Integer(value))
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Number, E> {
                i64::try_from(value).map(Number::Integer).map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number::Float(value))
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Number, E> {
                match value {
                    "inf" => Ok(Number::Float(f64::INFINITY)),
                    "-inf" => Ok(Number::Float(f64::NEG_INFINITY)),
                    "nan" => Ok(Number::Float(f64::NAN)),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(FromJson)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_strings() {
        for (number, json) in [
            (Number::Float(f64::NEG_INFINITY), "\"-inf\""),
            (Number::Float(1e-6), "1e-6"),
            (Number::Integer(i64::MIN), "-9223372036854775808"),
        ] {
            assert_eq!(serde_json::to_string(&number).unwrap(), json);
            assert_eq!(serde_json::from_str::<Number>(json).unwrap(), number);
        }
        assert!(serde_json::from_str::<Number>("\"infinite\"").is_err());
    }
}
