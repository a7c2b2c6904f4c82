//! `norm.reduce_axes`: a reduction of the op's kind over some axes.

use melior::ir::{OperationRef, Type, Value, ValueLike};
use norma_dialects::norm::{AxisReduction, ReduceAxesOp, ReduceKind};

use super::{
    program::{Coordinate, Program, Split},
    viewed,
};
use crate::mlir::{
    pass::{PassError, PassResult},
    types,
};

pub(super) fn decompose<'c, 'a>(op: OperationRef<'c, 'a>) -> PassResult<'c> {
    let of = viewed(op, ReduceAxesOp::from_op)?;
    let p = Program::begin(op)?;
    let split = p.split(&of.axes()?);
    let result = places_of_result(&p, &split, of.keepdims());
    let x = p.read_stored(of.x()?, &Coordinate::of(p.dims()))?;
    let ty = types::element(of.y()?.r#type());
    let y = match of.kind()? {
        AxisReduction::Argmax => p.place_of_extreme(x, true, &split, ty)?,
        AxisReduction::Argmin => p.place_of_extreme(x, false, &split, ty)?,
        AxisReduction::Any => truth(&p, x, ReduceKind::Or, &split, ty)?,
        AxisReduction::All => truth(&p, x, ReduceKind::And, &split, ty)?,
        kind if types::is_float(x.r#type()) => {
            let x = p.widened(x);
            if kind == AxisReduction::Var {
                let (mean, centred) = p.centred(x, &split)?;
                if let Some(result_mean) = of.mean() {
                    p.write_at(mean, result_mean, &result)?;
                }
                p.variance(centred, &split, of.correction()?)?
            } else {
                of_floats(&p, kind, x, &split)?
            }
        }
        kind => of_integers(&p, kind, p.sign_extended(x, ty), &split)?,
    };
    p.write_at(y, of.y()?, &result)?;
    p.end();
    Ok(())
}

/// The coordinates of an element of the result: reduced axes are dropped, or have one element each.
fn places_of_result<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    split: &Split<'c, 'a>,
    keepdims: bool,
) -> Vec<Coordinate<'c, 'a>> {
    if !keepdims {
        return Coordinate::of(&split.kept);
    }
    let place = |dim: &Value<'c, 'a>| match split.reduced.contains(dim) {
        true => Coordinate::Zero,
        false => Coordinate::Dim(*dim),
    };
    p.dims().iter().map(place).collect()
}

fn of_floats<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    kind: AxisReduction,
    x: Value<'c, 'a>,
    split: &Split<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let reduce = |kind, value| p.reduce(kind, value, &split.reduced);
    match kind {
        AxisReduction::Mean => p.mean(x, split),
        AxisReduction::Prod => reduce(ReduceKind::Mul, x),
        AxisReduction::Max => reduce(ReduceKind::Max, x),
        AxisReduction::Min => reduce(ReduceKind::Min, x),
        AxisReduction::Amax => reduce(ReduceKind::Max, p.op("math.absf", &[x])),
        AxisReduction::SumSq => p.sum(p.square(x), split),
        // Exact also where the square of the only element is 0 or infinite.
        AxisReduction::Norm if split.reduced.is_empty() => Ok(p.op("math.absf", &[x])),
        AxisReduction::Norm => Ok(p.op("math.sqrt", &[p.sum(p.square(x), split)?])),
        _ => p.sum(x, split),
    }
}

fn of_integers<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    kind: AxisReduction,
    x: Value<'c, 'a>,
    split: &Split<'c, 'a>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let reduce = |kind, value| p.reduce(kind, value, &split.reduced);
    match kind {
        AxisReduction::Prod => reduce(ReduceKind::Mul, x),
        AxisReduction::Max => reduce(ReduceKind::Max, x),
        AxisReduction::Min => reduce(ReduceKind::Min, x),
        AxisReduction::Amax => reduce(ReduceKind::Max, p.magnitude(x)),
        _ => reduce(ReduceKind::Add, x),
    }
}

/// Whether any or all elements are nonzero, as a number of type `ty`.
fn truth<'c: 'a, 'a>(
    p: &Program<'c, 'a>,
    x: Value<'c, 'a>,
    kind: ReduceKind,
    split: &Split<'c, 'a>,
    ty: Type<'c>,
) -> Result<Value<'c, 'a>, PassError<'c>> {
    let found = p.reduce(kind, p.is_not_zero(x), &split.reduced)?;
    Ok(p.as_number(found, ty))
}
