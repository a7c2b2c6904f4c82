//! `gl-optimize-layouts`: layouts that suit accesses, and fewer `gl.convert_layout`.
//!
//! Loads and stores that the tile's layout does not suit get a layout of their own ([`place_accesses`]), which adds
//! conversions. The pass removes conversions before and after this step.
//!
//! A conversion costs shuffles or a round trip through shared memory, and an elementwise op costs the same in every layout, so
//! each rewrite here leaves fewer conversions than it found. A conversion to the same type is removed. A conversion of a
//! conversion converts the inner one's source. A conversion of a splat becomes a splat in the wanted layout. A conversion of an
//! elementwise op moves to the op's operands if fewer conversions are left in the end and they cost no more; where elements are
//! wider before the op than behind it, they cost more. The rewriting is greedy, one conversion at a time until nothing changes.
//! It terminates, because a conversion is only ever removed or moved towards the start of the program.

use melior::ir::{
    Attribute, AttributeLike, OperationRef, Type, TypeLike, Value, ValueLike, operation::OperationLike,
};
use norma_dialects::{gl::ConvertLayoutOp, layout, op_name};

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        types,
        values::{definition, uses},
        walk,
    },
    table::{GlOptimizeLayouts, GlOptimizeLayoutsStatistic},
};

mod place_accesses;

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlOptimizeLayouts>) -> PassResult<'c> {
    remove_conversions(op, cx)?;
    let placed = place_accesses::run(op)?;
    cx.count(GlOptimizeLayoutsStatistic::NumPlaced, placed);
    remove_conversions(op, cx)
}

fn remove_conversions<'c>(
    op: OperationRef<'c, '_>,
    cx: &PassContext<'c, GlOptimizeLayouts>,
) -> PassResult<'c> {
    loop {
        let mut changed = false;
        for convert in walk::all(op, ConvertLayoutOp::from_op) {
            if simplify(convert)? {
                cx.count(GlOptimizeLayoutsStatistic::NumRewritten, 1);
                changed = true;
            }
        }
        if !changed {
            return Ok(());
        }
    }
}

/// Rewrites `convert` if there is a cheaper form; says whether it did.
fn simplify<'c>(convert: ConvertLayoutOp<'c, '_>) -> Result<bool, PassError<'c>> {
    let (source, wanted) = (convert.source()?, convert.result()?.r#type());
    let b = match definition(source) {
        // At the definition of the source: a conversion that moves there may leave a loop, but never enters one.
        Some(op) => Builder::after(op),
        None => Builder::before(convert.op()),
    };
    let replacement = if let Some(free) = free_conversion(&b, source, wanted)? {
        free
    } else if let Some(inner) = conversion_of(source) {
        b.value(ConvertLayoutOp::NAME, &[inner.source()?], wanted)
    } else if let Some(op) = elementwise(source) {
        let operands = op.operands().collect::<Vec<_>>();
        if uses(source) > 1 {
            return Ok(false);
        }
        let added = conversions_added(&operands, wanted)?;
        if added.count >= 1 || added.cycles > cycles(source.r#type(), wanted) {
            return Ok(false);
        }
        hoist(&b, op, &operands, wanted)?
    } else {
        return Ok(false);
    };
    b.replace(convert.op(), &[replacement]);
    erase_unused(&b, source);
    Ok(true)
}

/// `value` as a tile of type `wanted`, if no data needs to move for it.
fn free_conversion<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    value: Value<'c, 'a>,
    wanted: Type<'c>,
) -> Result<Option<Value<'c, 'a>>, PassError<'c>> {
    if value.r#type() == wanted {
        return Ok(Some(value));
    }
    if let Some(inner) = conversion_of(value) {
        let source = inner.source()?;
        return Ok((source.r#type() == wanted).then_some(source));
    }
    let Some(op) = definition(value) else {
        return Ok(None);
    };
    if walk::has_name(op, "tensor.splat") {
        return Ok(Some(b.value("tensor.splat", &[op.operand(0)?], wanted)));
    }
    if walk::has_name(op, "arith.constant") {
        let elements = op.attribute("value")?;
        return Ok(splat_as(elements, wanted).map(|elements| b.constant(elements, wanted)));
    }
    Ok(None)
}

/// A splat constant with another type of the same shape and elements.
fn splat_as<'c>(elements: Attribute<'c>, ty: Type<'c>) -> Option<Attribute<'c>> {
    // SAFETY: each call runs only on the kind of attribute it is for; shape and elements are the same by the
    // conversion's verifier.
    unsafe {
        if !mlir_sys::mlirAttributeIsADenseElements(elements.to_raw())
            || !mlir_sys::mlirDenseElementsAttrIsSplat(elements.to_raw())
        {
            return None;
        }
        Attribute::from_option_raw(mlir_sys::mlirDenseElementsAttrReshapeGet(
            elements.to_raw(),
            ty.to_raw(),
        ))
    }
}

/// A change in the number of conversions and in their cost; negative values are savings.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Conversions {
    count: i64,
    /// Their cost to a warp, in cycles of its scheduler.
    cycles: i64,
}

impl std::ops::AddAssign for Conversions {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.cycles += other.cycles;
    }
}

/// The cost of a conversion to a warp, in cycles of its scheduler; 0 where it is not known to stay within a CTA.
fn cycles<'c>(from: Type<'c>, to: Type<'c>) -> i64 {
    let bytes = types::element_bytes(types::element(from))
        .unwrap_or(8)
        .unsigned_abs();
    let layouts = layout::of_tile(from).ok().zip(layout::of_tile(to).ok());
    let plan = layouts.and_then(|(from, to)| from.conversion_plan(&to, bytes).ok());
    plan.map_or(0, |plan| plan.cost(bytes) as i64)
}

/// Returns how conversions change if the operands of an elementwise op, which is to be removed, are converted to the layout of
/// `wanted`. An operand that has no other uses is removed as well: either a conversion, or an elementwise op whose own operands
/// are converted instead if that is cheaper.
fn conversions_added<'c>(operands: &[Value<'c, '_>], wanted: Type<'c>) -> Result<Conversions, PassError<'c>> {
    let mut added = Conversions::default();
    for (index, &operand) in operands.iter().enumerate() {
        if operands[..index].contains(&operand) {
            continue;
        }
        let goes = uses(operand) == operands.iter().filter(|other| **other == operand).count();
        let converted = |from: Type<'c>| match like(from, wanted) {
            Some(to) if to == from => Conversions::default(),
            to => Conversions {
                count: 1,
                cycles: to.map_or(0, |to| cycles(from, to)),
            },
        };
        added += if let Some(inner) = conversion_of(operand) {
            let source = inner.source()?.r#type();
            let mut change = converted(source);
            if goes {
                change += Conversions {
                    count: -1,
                    cycles: -cycles(source, operand.r#type()),
                };
            }
            change
        } else if is_splat(operand)? {
            Conversions::default()
        } else if let Some(op) = elementwise(operand).filter(|_| goes) {
            let further = conversions_added(&op.operands().collect::<Vec<_>>(), wanted)?;
            further.min(converted(operand.r#type()))
        } else {
            converted(operand.r#type())
        };
    }
    Ok(added)
}

/// The type of a tile with the elements of `ty` and the layout of `wanted`.
fn like<'c>(ty: Type<'c>, wanted: Type<'c>) -> Option<Type<'c>> {
    let shape = types::shape(wanted).unwrap_or_default();
    types::tensor(&shape, types::element(ty), types::encoding(wanted))
}

fn is_splat(value: Value<'_, '_>) -> Result<bool, melior::Error> {
    let Some(op) = definition(value) else {
        return Ok(false);
    };
    Ok(walk::has_name(op, "tensor.splat")
        || walk::has_name(op, "arith.constant") && splat_as(op.attribute("value")?, value.r#type()).is_some())
}

/// Rebuilds the elementwise `op` on operands in the layout of `wanted`.
fn hoist<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
    operands: &[Value<'c, 'a>],
    wanted: Type<'c>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let mut converted: Vec<Value<'c, 'a>> = Vec::with_capacity(operands.len());
    for (index, &operand) in operands.iter().enumerate() {
        if let Some(same) = operands[..index].iter().position(|earlier| *earlier == operand) {
            converted.push(converted[same]);
            continue;
        }
        let ty = like(operand.r#type(), wanted)
            .ok_or_else(|| Diagnostic::internal(op.location(), "the layout does not fit an operand"))?;
        converted.push(match free_conversion(b, operand, ty)? {
            Some(free) => free,
            None => {
                let source = match conversion_of(operand) {
                    Some(inner) => inner.source()?,
                    None => operand,
                };
                b.value(ConvertLayoutOp::NAME, &[source], ty)
            }
        });
    }
    Ok(b.rebuild(op, &converted, &[wanted]).result(0)?.into())
}

/// The op that makes `value`, if it is an `arith` or `math` op on tiles of one layout.
fn elementwise<'c, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let op = definition(value)?;
    let name = op_name(op);
    let in_layout = |operand: Value<'c, 'a>| {
        types::encoding(operand.r#type()).is_some()
            && types::encoding(operand.r#type()) == types::encoding(value.r#type())
    };
    let is_elementwise = (name.starts_with("arith.") || name.starts_with("math."))
        && op.operand_count() > 0
        && op.result_count() == 1
        && op.region_count() == 0
        && op.operands().all(in_layout);
    is_elementwise.then_some(op)
}

fn conversion_of<'c, 'a>(value: Value<'c, 'a>) -> Option<ConvertLayoutOp<'c, 'a>> {
    ConvertLayoutOp::from_op(definition(value)?)
}

/// Erases the elementwise op or the conversion that defines `value`, and then those that define its operands, as far as nothing
/// uses them any more. They precede the current conversion, so none of them is still to be visited.
fn erase_unused<'c, 'a>(b: &Builder<'c, 'a>, value: Value<'c, 'a>) {
    let Some(op) = definition(value) else {
        return;
    };
    let is_ours = ConvertLayoutOp::from_op(op).is_some() || {
        let name = op_name(op);
        name.starts_with("arith.") || name.starts_with("math.") || name == "tensor.splat"
    };
    if !is_ours || uses(value) > 0 || op.result_count() != 1 {
        return;
    }
    let operands = op.operands().collect::<Vec<_>>();
    b.erase(op);
    for (index, &operand) in operands.iter().enumerate() {
        if !operands[..index].contains(&operand) {
            erase_unused(b, operand);
        }
    }
}
