//! Affine expressions, maps and integer sets, beyond what melior has.
//!
//! melior's accessors on [`AffineExpr`] (`lhs`, `dim_position`, ...) read garbage on an expression of another kind;
//! [`kind`] looks first. MLIR folds and canonicalises on construction, so that equal maps that were built alike are
//! equal as attributes.

use std::fmt;

use melior::{
    Context, StringRef,
    ir::{AffineExpr, AffineMap, Attribute, AttributeLike},
};
use mlir_sys::{
    MlirIntegerSet, MlirStringRef, mlirAffineMapAttrGet, mlirAffineMapAttrGetValue,
    mlirAttributeIsAAffineMap, mlirAttributeIsAIntegerSet, mlirIntegerSetAttrGet, mlirIntegerSetAttrGetValue,
    mlirIntegerSetEqual, mlirIntegerSetGet, mlirIntegerSetGetConstraint, mlirIntegerSetGetNumConstraints,
    mlirIntegerSetGetNumDims, mlirIntegerSetGetNumSymbols, mlirIntegerSetIsConstraintEq, mlirIntegerSetPrint,
    mlirSimplifyAffineExpr,
};

/// An expression taken apart by one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'c> {
    /// `d<n>`
    Dim(usize),
    /// `s<n>`
    Symbol(usize),
    /// A constant.
    Constant(i64),
    /// `a + b`
    Add(AffineExpr<'c>, AffineExpr<'c>),
    /// `a * b`
    Mul(AffineExpr<'c>, AffineExpr<'c>),
    /// `a mod b`, never negative.
    Mod(AffineExpr<'c>, AffineExpr<'c>),
    /// `a floordiv b`
    FloorDiv(AffineExpr<'c>, AffineExpr<'c>),
    /// `a ceildiv b`
    CeilDiv(AffineExpr<'c>, AffineExpr<'c>),
}

/// Takes an expression apart by one level.
pub fn kind(expr: AffineExpr<'_>) -> Kind<'_> {
    if expr.is_dim() {
        Kind::Dim(expr.dim_position())
    } else if expr.is_symbol() {
        Kind::Symbol(expr.symbol_position())
    } else if expr.is_constant() {
        Kind::Constant(expr.constant_value())
    } else {
        let (lhs, rhs) = (expr.lhs(), expr.rhs());
        if expr.is_add() {
            Kind::Add(lhs, rhs)
        } else if expr.is_mul() {
            Kind::Mul(lhs, rhs)
        } else if expr.is_mod() {
            Kind::Mod(lhs, rhs)
        } else if expr.is_floor_div() {
            Kind::FloorDiv(lhs, rhs)
        } else {
            Kind::CeilDiv(lhs, rhs)
        }
    }
}

/// `a - b`
pub fn subtract<'c>(context: &'c Context, a: AffineExpr<'c>, b: AffineExpr<'c>) -> AffineExpr<'c> {
    a + b * AffineExpr::constant(context, -1)
}

/// The value of an expression. `None` on overflow, on division by zero or less, and on a dim or symbol that is not
/// given.
pub fn evaluate(expr: AffineExpr<'_>, dims: &[i64], symbols: &[i64]) -> Option<i64> {
    let value = |expr| evaluate(expr, dims, symbols);
    let divisor = |expr| value(expr).filter(|value| *value > 0);
    match kind(expr) {
        Kind::Dim(position) => dims.get(position).copied(),
        Kind::Symbol(position) => symbols.get(position).copied(),
        Kind::Constant(constant) => Some(constant),
        Kind::Add(a, b) => value(a)?.checked_add(value(b)?),
        Kind::Mul(a, b) => value(a)?.checked_mul(value(b)?),
        Kind::Mod(a, b) => Some(value(a)?.rem_euclid(divisor(b)?)),
        Kind::FloorDiv(a, b) => Some(value(a)?.div_euclid(divisor(b)?)),
        Kind::CeilDiv(a, b) => {
            let (a, b) = (value(a)?, divisor(b)?);
            Some(a.div_euclid(b) + i64::from(a.rem_euclid(b) != 0))
        }
    }
}

/// The expression with each dim and symbol replaced. One that is not given stays.
pub fn substitute<'c>(
    expr: AffineExpr<'c>,
    dims: &[AffineExpr<'c>],
    symbols: &[AffineExpr<'c>],
) -> AffineExpr<'c> {
    let replaced = |expr| substitute(expr, dims, symbols);
    match kind(expr) {
        Kind::Dim(position) => dims.get(position).copied().unwrap_or(expr),
        Kind::Symbol(position) => symbols.get(position).copied().unwrap_or(expr),
        Kind::Constant(_) => expr,
        Kind::Add(a, b) => replaced(a) + replaced(b),
        Kind::Mul(a, b) => replaced(a) * replaced(b),
        Kind::Mod(a, b) => AffineExpr::modulo(replaced(a), replaced(b)),
        Kind::FloorDiv(a, b) => AffineExpr::floor_div(replaced(a), replaced(b)),
        Kind::CeilDiv(a, b) => AffineExpr::ceil_div(replaced(a), replaced(b)),
    }
}

/// The expression in MLIR's simplest form, over as many dims and symbols as it may name.
pub fn simplify(expr: AffineExpr<'_>, dims: usize, symbols: usize) -> AffineExpr<'_> {
    // SAFETY: the expression lives in its context, as the result does.
    unsafe { AffineExpr::from_raw(mlirSimplifyAffineExpr(expr.to_raw(), dims as u32, symbols as u32)) }
}

/// The positions of the dims that an expression varies over, ascending.
pub fn dims_of(expr: AffineExpr<'_>) -> Vec<usize> {
    fn collect(expr: AffineExpr<'_>, dims: &mut Vec<usize>) {
        match kind(expr) {
            Kind::Dim(position) => dims.push(position),
            Kind::Symbol(_) | Kind::Constant(_) => {}
            Kind::Add(a, b)
            | Kind::Mul(a, b)
            | Kind::Mod(a, b)
            | Kind::FloorDiv(a, b)
            | Kind::CeilDiv(a, b) => {
                collect(a, dims);
                collect(b, dims);
            }
        }
    }
    let mut dims = Vec::new();
    collect(expr, &mut dims);
    dims.sort_unstable();
    dims.dedup();
    dims
}

/// The results of a map.
pub fn results<'c>(map: AffineMap<'c>) -> Vec<AffineExpr<'c>> {
    (0..map.result_count())
        .filter_map(|index| map.result(index).ok())
        .collect()
}

/// `outer(inner(...))`. Its symbols are those of `outer`, then those of `inner`. `None` if `inner` has not one result
/// for each dim of `outer`.
pub fn compose<'c>(
    context: &'c Context,
    outer: AffineMap<'c>,
    inner: AffineMap<'c>,
) -> Option<AffineMap<'c>> {
    if outer.dim_count() != inner.result_count() {
        return None;
    }
    let shifted = (0..inner.symbol_count())
        .map(|position| AffineExpr::symbol(context, outer.symbol_count() + position))
        .collect::<Vec<_>>();
    let dims = results(inner)
        .into_iter()
        .map(|result| substitute(result, &[], &shifted))
        .collect::<Vec<_>>();
    let composed = results(outer)
        .into_iter()
        .map(|result| substitute(result, &dims, &[]))
        .collect::<Vec<_>>();
    let symbols = outer.symbol_count() + inner.symbol_count();
    Some(AffineMap::new(context, inner.dim_count(), symbols, &composed))
}

/// The values of all results of a map; see [`evaluate`].
pub fn evaluate_map(map: AffineMap<'_>, dims: &[i64], symbols: &[i64]) -> Option<Vec<i64>> {
    results(map)
        .into_iter()
        .map(|result| evaluate(result, dims, symbols))
        .collect()
}

/// A map as an attribute.
pub fn map_attribute<'c>(map: AffineMap<'c>) -> Attribute<'c> {
    // SAFETY: the map lives in its context for 'c, as the attribute does.
    unsafe { Attribute::from_raw(mlirAffineMapAttrGet(map.to_raw())) }
}

/// The map in an attribute, if it holds one.
pub fn map_of(attribute: Attribute<'_>) -> Option<AffineMap<'_>> {
    // SAFETY: the value is asked of a map attribute only.
    unsafe {
        mlirAttributeIsAAffineMap(attribute.to_raw())
            .then(|| AffineMap::from_raw(mlirAffineMapAttrGetValue(attribute.to_raw())))
    }
}

/// A set of integer points: constraints `expr >= 0` or `expr == 0` over dims and symbols.
#[derive(Clone, Copy)]
pub struct IntegerSet<'c> {
    raw: MlirIntegerSet,
    context: &'c Context,
}

/// One constraint of an [`IntegerSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraint<'c> {
    /// What is compared with zero.
    pub expr: AffineExpr<'c>,
    /// `== 0` if set, else `>= 0`.
    pub is_equality: bool,
}

impl<'c> IntegerSet<'c> {
    /// A set of at least one constraint; `None` for none, which MLIR cannot hold.
    pub fn new(
        context: &'c Context,
        dims: usize,
        symbols: usize,
        constraints: &[Constraint<'c>],
    ) -> Option<Self> {
        if constraints.is_empty() {
            return None;
        }
        let exprs = constraints
            .iter()
            .map(|constraint| constraint.expr.to_raw())
            .collect::<Vec<_>>();
        let equalities = constraints
            .iter()
            .map(|constraint| constraint.is_equality)
            .collect::<Vec<_>>();
        // SAFETY: both arrays have the length given and outlive the call, which copies them.
        let raw = unsafe {
            mlirIntegerSetGet(
                context.to_raw(),
                dims as isize,
                symbols as isize,
                exprs.len() as isize,
                exprs.as_ptr(),
                equalities.as_ptr(),
            )
        };
        Some(Self { raw, context })
    }

    /// The set in an attribute, if it holds one.
    pub fn of(context: &'c Context, attribute: Attribute<'c>) -> Option<Self> {
        // SAFETY: the value is asked of a set attribute only.
        unsafe {
            mlirAttributeIsAIntegerSet(attribute.to_raw()).then(|| Self {
                raw: mlirIntegerSetAttrGetValue(attribute.to_raw()),
                context,
            })
        }
    }

    /// The set as an attribute.
    pub fn attribute(&self) -> Attribute<'c> {
        // SAFETY: the set lives in its context for 'c, as the attribute does.
        unsafe { Attribute::from_raw(mlirIntegerSetAttrGet(self.raw)) }
    }

    /// How many dims there are.
    pub fn dim_count(&self) -> usize {
        // SAFETY: the set is alive.
        unsafe { mlirIntegerSetGetNumDims(self.raw) as usize }
    }

    /// How many symbols there are.
    pub fn symbol_count(&self) -> usize {
        // SAFETY: the set is alive.
        unsafe { mlirIntegerSetGetNumSymbols(self.raw) as usize }
    }

    /// The constraints.
    pub fn constraints(&self) -> Vec<Constraint<'c>> {
        // SAFETY: the set is alive, and the positions are within its count.
        unsafe {
            (0..mlirIntegerSetGetNumConstraints(self.raw))
                .map(|position| Constraint {
                    expr: AffineExpr::from_raw(mlirIntegerSetGetConstraint(self.raw, position)),
                    is_equality: mlirIntegerSetIsConstraintEq(self.raw, position),
                })
                .collect()
        }
    }

    /// Whether a point is in the set; `None` where [`evaluate`] gives none.
    pub fn contains(&self, dims: &[i64], symbols: &[i64]) -> Option<bool> {
        let mut inside = true;
        for constraint in self.constraints() {
            let value = evaluate(constraint.expr, dims, symbols)?;
            inside &= if constraint.is_equality {
                value == 0
            } else {
                value >= 0
            };
        }
        Some(inside)
    }

    /// The context.
    pub fn context(&self) -> &'c Context {
        self.context
    }
}

impl PartialEq for IntegerSet<'_> {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: both are alive.
        unsafe { mlirIntegerSetEqual(self.raw, other.raw) }
    }
}

impl Eq for IntegerSet<'_> {}

impl fmt::Display for IntegerSet<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        unsafe extern "C" fn append(text: MlirStringRef, buffer: *mut std::ffi::c_void) {
            // SAFETY: `buffer` is the string below; MLIR's text is alive for the call.
            let (buffer, text) = unsafe { (&mut *buffer.cast::<String>(), StringRef::from_raw(text)) };
            buffer.push_str(text.as_str().unwrap_or_default());
        }
        let mut text = String::new();
        // SAFETY: the callback gets the pointer it expects.
        unsafe { mlirIntegerSetPrint(self.raw, Some(append), (&raw mut text).cast()) };
        formatter.write_str(&text)
    }
}

impl fmt::Debug for IntegerSet<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_towards_minus_infinity() {
        let context = Context::new();
        let (d0, four) = (AffineExpr::dim(&context, 0), AffineExpr::constant(&context, 4));
        let at = |expr, value| evaluate(expr, &[value], &[]);
        assert_eq!(at(AffineExpr::floor_div(d0, four), -5), Some(-2));
        assert_eq!(at(AffineExpr::ceil_div(d0, four), -5), Some(-1));
        assert_eq!(at(AffineExpr::ceil_div(d0, four), 5), Some(2));
        assert_eq!(at(AffineExpr::modulo(d0, four), -5), Some(3));
    }

    #[test]
    fn evaluation_refuses_what_it_cannot_know() {
        let context = Context::new();
        let (d0, s0) = (AffineExpr::dim(&context, 0), AffineExpr::symbol(&context, 0));
        assert_eq!(evaluate(d0 + s0, &[1], &[]), None);
        assert_eq!(evaluate(AffineExpr::modulo(d0, s0), &[1], &[0]), None);
        assert_eq!(evaluate(d0 + d0, &[i64::MAX], &[]), None);
        assert_eq!(evaluate(d0 + s0, &[1], &[2]), Some(3));
    }

    #[test]
    fn substitution_replaces_dims_and_symbols_at_once() {
        let context = Context::new();
        let (d0, d1) = (AffineExpr::dim(&context, 0), AffineExpr::dim(&context, 1));
        let s0 = AffineExpr::symbol(&context, 0);
        assert_eq!(
            substitute(d0 * s0 + d1, &[d1, d0], &[AffineExpr::constant(&context, 8)]).to_string(),
            "d1 * 8 + d0"
        );
        assert_eq!(substitute(d1, &[s0], &[]), d1);
        assert_eq!(subtract(&context, d0, d0).to_string(), "0");
        assert_eq!(dims_of(d1 * s0 + d0 + d1), [0, 1]);
        assert_eq!(simplify(subtract(&context, d0 + d1, d0), 2, 0), d1);
    }

    #[test]
    fn composition_keeps_both_maps_symbols_apart() {
        let context = Context::new();
        let (d0, s0) = (AffineExpr::dim(&context, 0), AffineExpr::symbol(&context, 0));
        let map = AffineMap::new(&context, 1, 1, &[d0 + s0]);
        let composed = compose(&context, map, map);
        assert_eq!(
            composed.map(|map| map.to_string()).as_deref(),
            Some("(d0)[s0, s1] -> (d0 + s1 + s0)")
        );
        assert_eq!(
            composed.and_then(|map| evaluate_map(map, &[1], &[10, 100])),
            Some(vec![111])
        );
        assert_eq!(
            compose(&context, map, AffineMap::new(&context, 1, 0, &[d0, d0])),
            None
        );
        assert_eq!(map_of(map_attribute(map)), Some(map));
        assert_eq!(map_of(Attribute::unit(&context)), None);
    }

    #[test]
    fn a_set_contains_what_meets_every_constraint() {
        let context = Context::new();
        let (d0, d1) = (AffineExpr::dim(&context, 0), AffineExpr::dim(&context, 1));
        let two = AffineExpr::constant(&context, 2);
        let constraints = [
            Constraint {
                expr: d0,
                is_equality: false,
            },
            Constraint {
                expr: subtract(&context, d1, d0 * two),
                is_equality: true,
            },
        ];
        assert_eq!(IntegerSet::new(&context, 2, 0, &[]), None);
        let Some(set) = IntegerSet::new(&context, 2, 0, &constraints) else {
            unreachable!("it has constraints")
        };
        assert_eq!(set.to_string(), "(d0, d1) : (d0 >= 0, d1 - d0 * 2 == 0)");
        assert_eq!(set.constraints(), constraints);
        assert_eq!(set.contains(&[3, 6], &[]), Some(true));
        assert_eq!(set.contains(&[-1, -2], &[]), Some(false));
        assert_eq!(set.contains(&[3], &[]), None);
        assert_eq!(IntegerSet::of(&context, set.attribute()), Some(set));
        assert_eq!((set.dim_count(), set.symbol_count()), (2, 0));
    }
}
