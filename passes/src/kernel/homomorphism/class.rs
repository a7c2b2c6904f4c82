//! Classes of values by how they depend on a reduction's reference, and the classes of their sums and products.

use super::Dependence;

/// The term of a sum that depends neither on the reference nor on the reduced operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rest {
    /// There is none.
    Zero,
    /// One value for all points that are reduced together.
    Uniform,
    /// A value for each point.
    PerPoint,
}

/// How a value depends on the reference `v` and on the reduced operand `u`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Class {
    /// `of_u * u + of_v * v`, plus the rest.
    Linear { of_u: f64, of_v: f64, rest: Rest },
    /// A nonlinear dependence, see [`Dependence`].
    Of(Dependence),
}

impl Class {
    /// A value that depends neither on the reference nor, as far as is known, linearly on `u`.
    pub(super) fn free(rest: Rest) -> Self {
        Self::Linear {
            of_u: 0.0,
            of_v: 0.0,
            rest,
        }
    }

    pub(super) fn is_free(self) -> bool {
        matches!(self, Self::Linear { of_v: 0.0, .. })
    }

    /// The `k` of a value of the form `k (u - v)` with `k` other than 0, plus a rest of at most `up_to`; `None` for other values.
    pub(super) fn difference(self, up_to: Rest) -> Option<f64> {
        match self {
            Self::Linear { of_u, of_v, rest } if of_u == -of_v && of_v != 0.0 && rest <= up_to => Some(of_u),
            _ => None,
        }
    }

    pub(super) fn scaled(self, by: f64) -> Self {
        match self {
            Self::Linear { of_u, of_v, rest } => Self::Linear {
                of_u: of_u * by,
                of_v: of_v * by,
                rest,
            },
            Self::Of(Dependence::Squares { factor }) => Self::Of(Dependence::Squares { factor: factor * by }),
            Self::Of(exponential) => Self::Of(exponential),
        }
    }
}

/// Whether a value is an exponential of the distance to the reference.
pub(super) fn is_exponential(class: Class) -> bool {
    matches!(class, Class::Of(Dependence::Exponential { .. }))
}

/// The class of the sum of two values; `None` if it is of no known class.
pub(super) fn sum(one: Class, other: Class) -> Option<Class> {
    match (one, other) {
        (
            Class::Linear { of_u, of_v, rest },
            Class::Linear {
                of_u: other_u,
                of_v: other_v,
                rest: other_rest,
            },
        ) => Some(Class::Linear {
            of_u: of_u + other_u,
            of_v: of_v + other_v,
            rest: rest.max(other_rest),
        }),
        (one, other) => (one == other && is_exponential(one)).then_some(one),
    }
}

/// The class of the product of two values, which are the same value if `is_square`; `None` if it is of no known class.
pub(super) fn product(one: Class, other: Class, is_square: bool) -> Option<Class> {
    match (one, other) {
        (Class::Of(Dependence::Exponential { .. }), free) if free.is_free() => Some(one),
        (free, Class::Of(Dependence::Exponential { .. })) if free.is_free() => Some(other),
        (
            Class::Of(Dependence::Exponential { base, rate }),
            Class::Of(Dependence::Exponential {
                base: other_base,
                rate: other_rate,
            }),
        ) if base == other_base => Some(Class::Of(Dependence::Exponential {
            base,
            rate: rate + other_rate,
        })),
        (one, other) if one.is_free() && other.is_free() => Some(Class::free(Rest::PerPoint)),
        (one, _) if is_square => {
            let difference = one.difference(Rest::Zero)?;
            let factor = difference * difference;
            Some(Class::Of(Dependence::Squares { factor }))
        }
        _ => None,
    }
}
