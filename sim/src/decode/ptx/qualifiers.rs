//! The qualifiers of a mnemonic, taken one by one; one that is left over is not modelled.

use super::super::error::{Result, invalid, unsupported};
use crate::program::{Format, MemoryOrder, Space};

/// The qualifiers that have not been taken yet.
pub(super) struct Qualifiers<'m> {
    root: &'m str,
    left: Vec<&'m str>,
}

/// A type of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float(Format),
    /// Two floats of 16 bits.
    Pair(Format),
    Predicate,
}

/// A type of PTX with its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub kind: Kind,
    pub bits: u8,
}

impl<'m> Qualifiers<'m> {
    pub fn of(mnemonic: &'m str) -> Self {
        let mut parts = mnemonic.split('.');
        Self {
            root: parts.next().unwrap_or_default(),
            left: parts.collect(),
        }
    }

    /// The first part of the mnemonic.
    pub fn root(&self) -> &'m str {
        self.root
    }

    /// Takes a qualifier, and says whether it was there.
    pub fn take(&mut self, qualifier: &str) -> bool {
        let found = self.left.iter().position(|left| *left == qualifier);
        if let Some(index) = found {
            self.left.remove(index);
        }
        found.is_some()
    }

    /// Takes all qualifiers that `hint` holds for; they change nothing that can be observed.
    pub fn ignore(&mut self, hint: impl Fn(&str) -> bool) {
        self.left.retain(|qualifier| !hint(qualifier));
    }

    /// Takes the first qualifier of a list that is there.
    pub fn one_of<T: Copy>(&mut self, choices: &[(&str, T)]) -> Option<T> {
        choices
            .iter()
            .find(|(qualifier, _)| self.take(qualifier))
            .map(|(_, value)| *value)
    }

    /// Takes the first qualifier that is a type, if there is one.
    pub fn maybe_type(&mut self) -> Option<Type> {
        let index = self.left.iter().position(|qualifier| ty(qualifier).is_some())?;
        ty(self.left.remove(index))
    }

    /// Takes the first type.
    pub fn ty(&mut self) -> Result<Type> {
        self.maybe_type()
            .ok_or_else(|| unsupported("has no type that is modelled"))
    }

    /// Takes the number of components of a vector.
    pub fn vector(&mut self) -> usize {
        self.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
    }

    /// Takes the state space.
    pub fn space(&mut self) -> Space {
        self.one_of(&[
            ("global", Space::Global),
            ("shared::cluster", Space::Cluster),
            ("shared::cta", Space::Shared),
            ("shared", Space::Shared),
            ("const", Space::Constant),
            ("local", Space::Local),
            ("param", Space::Parameter),
        ])
        .unwrap_or(Space::Generic)
    }

    /// Takes the scope and says whether it is the CTA; `None` if none is stated.
    pub fn scope(&mut self) -> Option<bool> {
        self.one_of(&[("cta", true), ("cluster", false), ("gpu", false), ("sys", false)])
    }

    /// Takes `.ftz`.
    pub fn flush(&mut self) -> bool {
        self.take("ftz")
    }

    /// Takes hints of caches.
    pub fn cache_hints(&mut self) {
        self.ignore(|qualifier| {
            qualifier.starts_with("L1::")
                || qualifier.starts_with("L2::")
                || matches!(qualifier, "ca" | "cg" | "cs" | "cv" | "lu" | "wb" | "wt")
        });
    }

    /// Takes the order of a memory operation and its scope; weak if none is stated.
    pub fn order(&mut self) -> Result<MemoryOrder> {
        let weak = MemoryOrder::default();
        let strong = MemoryOrder { strong: true, ..weak };
        let order = self
            .one_of(&[
                ("weak", weak),
                ("volatile", strong),
                ("relaxed", strong),
                (
                    "acquire",
                    MemoryOrder {
                        acquire: true,
                        ..strong
                    },
                ),
                (
                    "release",
                    MemoryOrder {
                        release: true,
                        ..strong
                    },
                ),
                (
                    "acq_rel",
                    MemoryOrder {
                        acquire: true,
                        release: true,
                        ..strong
                    },
                ),
            ])
            .unwrap_or(weak);
        let cta = self.scope();
        if cta.is_some() && !order.strong {
            return Err(invalid("has a scope without an order"));
        }
        Ok(MemoryOrder {
            cta: cta.unwrap_or(false),
            ..order
        })
    }

    /// Fails if a qualifier is left.
    pub fn done(&self) -> Result<()> {
        match self.left[..] {
            [] => Ok(()),
            [qualifier, ..] => Err(unsupported(format!(
                "has qualifier '.{qualifier}', which is not modelled"
            ))),
        }
    }
}

fn ty(qualifier: &str) -> Option<Type> {
    let (kind, bits) = match qualifier {
        "pred" => (Kind::Predicate, 1),
        "b8" => (Kind::Bits, 8),
        "b16" => (Kind::Bits, 16),
        "b32" => (Kind::Bits, 32),
        "b64" => (Kind::Bits, 64),
        "u8" => (Kind::Unsigned, 8),
        "u16" => (Kind::Unsigned, 16),
        "u32" => (Kind::Unsigned, 32),
        "u64" => (Kind::Unsigned, 64),
        "s8" => (Kind::Signed, 8),
        "s16" => (Kind::Signed, 16),
        "s32" => (Kind::Signed, 32),
        "s64" => (Kind::Signed, 64),
        "f16" => (Kind::Float(Format::F16), 16),
        "bf16" => (Kind::Float(Format::BF16), 16),
        "f32" => (Kind::Float(Format::F32), 32),
        "f64" => (Kind::Float(Format::F64), 64),
        "f16x2" => (Kind::Pair(Format::F16), 32),
        "bf16x2" => (Kind::Pair(Format::BF16), 32),
        "e4m3x2" => (Kind::Pair(Format::F8E4M3FN), 16),
        "e5m2x2" => (Kind::Pair(Format::F8E5M2), 16),
        _ => return None,
    };
    Some(Type { kind, bits })
}
