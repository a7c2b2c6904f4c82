//! Divisibility analysis of scalars, of forms over them, and of addresses. It decides how wide accesses may be, and where
//! quotients may change.
//!
//! A divisor of 0 says that the value is 0, which everything divides.

use melior::ir::{
    BlockLike, OperationRef, Value, ValueLike,
    attribute::{ArrayAttribute, DenseI64ArrayAttribute, IntegerAttribute},
    operation::OperationLike,
};
use norma_dialects::{
    attributes,
    gl::{LaunchAttr, ParamAttr},
    op_name,
};

use crate::{
    gcd::gcd,
    mlir::{
        types,
        values::{block_argument, definition},
        walk,
    },
};

use super::{
    launch,
    quotient_form::{Quotient, QuotientForm},
    scalars::{DEPTH, loop_of},
};

/// A divisor of a scalar.
pub fn of_scalar(value: Value<'_, '_>) -> i64 {
    within(value, DEPTH)
}

fn within(value: Value<'_, '_>, depth: usize) -> i64 {
    let Some(depth) = depth.checked_sub(1) else {
        return 1;
    };
    let Some(op) = definition(value) else {
        return of_induction_variable(value, depth).unwrap_or(1);
    };
    let operand = |index| op.operand(index).map_or(1, |operand| within(operand, depth));
    match op_name(op) {
        "arith.constant" => constant(value).map_or(1, |constant| gcd(0, constant)),
        "arith.muli" => operand(0).checked_mul(operand(1)).unwrap_or(1),
        "arith.addi" | "arith.subi" | "arith.minsi" | "arith.maxsi" | "arith.minui" | "arith.maxui" => {
            gcd(operand(0), operand(1))
        }
        "arith.select" => gcd(operand(1), operand(2)),
        // The remainder of a multiple of d by c is a multiple of gcd(d, c).
        "arith.remsi" | "arith.remui" => gcd(operand(0), operand(1)),
        "arith.divsi" | "arith.divui" | "arith.floordivsi" | "arith.ceildivsi" | "arith.ceildivui" => {
            let by = op.operand(1).ok().and_then(constant).unwrap_or(0);
            of_quotient(operand(0), by)
        }
        "affine.apply" => of_apply(op, depth).unwrap_or(1),
        "memref.dim" => of_size(op).unwrap_or(1),
        _ => 1,
    }
}

/// A divisor of a form, given one of each dim and of each symbol.
pub fn of_form(form: &QuotientForm, dims: &[i64], symbols: &[i64]) -> i64 {
    gcd(without_constant(form, dims, symbols), form.constant)
}

/// Whether a form may be negative at some and not at others of `count` steps along dim `along`, from a point whose coordinates
/// `dims` divide. The form's quotients have to be the same at all of the steps.
pub fn changes_sign(form: &QuotientForm, along: usize, count: i64, dims: &[i64], symbols: &[i64]) -> bool {
    // The steps start at a multiple of `count`. The form changes its sign where the coordinate is plus or minus the sum of
    // `distance` and the other terms: if both are multiples of `count`, that is never among the steps.
    let distance = match form.dims[along] {
        0 => return false,
        1 => form.constant,
        -1 => form.constant.wrapping_add(1),
        _ => return true,
    };
    without_constant(form, dims, symbols) % count != 0 || distance % count != 0
}

/// Whether the quotient of a form by `divisor` is the same at each of `count` steps along dim `along`, from a point whose
/// coordinates `dims` divide.
///
/// Let m divide both `divisor` and the form without its constant. The form's first value then lies `constant mod m` above a
/// multiple of m, and the quotient can change only at multiples of m, so the steps must not reach the next one.
pub fn is_steady(
    form: &QuotientForm,
    divisor: i64,
    along: usize,
    count: i64,
    dims: &[i64],
    symbols: &[i64],
) -> bool {
    let steady = |(_, quotient): &(i64, Quotient)| {
        is_steady(&quotient.numerator, quotient.divisor, along, count, dims, symbols)
    };
    let step = form.dims[along];
    if !form.quotients.iter().all(steady) || step < 0 {
        return false;
    }
    let modulus = gcd(without_constant(form, dims, symbols), divisor);
    let reach = step
        .checked_mul(count - 1)
        .and_then(|reach| reach.checked_add(form.constant.rem_euclid(modulus)));
    step == 0 || reach.is_some_and(|reach| reach < modulus)
}

fn without_constant(form: &QuotientForm, dims: &[i64], symbols: &[i64]) -> i64 {
    let product = |(coefficient, divisor): (&i64, &i64)| coefficient.checked_mul(*divisor).unwrap_or(1);
    let dims_and_symbols = form.dims.iter().zip(dims).chain(form.symbols.iter().zip(symbols));
    let quotients = form.quotients.iter().map(|(coefficient, quotient)| {
        let numerator = of_form(&quotient.numerator, dims, symbols);
        product((coefficient, &of_quotient(numerator, quotient.divisor)))
    });
    dims_and_symbols.map(product).chain(quotients).fold(0, gcd)
}

/// A divisor of the quotient of a multiple of `dividend` by the constant `by`; 1 where the division may round.
fn of_quotient(dividend: i64, by: i64) -> i64 {
    if by != 0 && dividend % by == 0 {
        dividend / by
    } else {
        1
    }
}

/// A divisor of the induction variable of `scf.for`: it takes the lower bound's value plus multiples of the step.
fn of_induction_variable(value: Value<'_, '_>, depth: usize) -> Option<i64> {
    let loop_op = loop_of(value)?;
    Some(gcd(
        within(loop_op.operand(0).ok()?, depth),
        within(loop_op.operand(2).ok()?, depth),
    ))
}

fn of_apply(apply: OperationRef<'_, '_>, depth: usize) -> Option<i64> {
    let map = norma_dialects::affine_map(apply.attribute("map").ok()?).ok()?;
    let form = QuotientForm::of(map.result(0).ok()?, map.dim_count(), map.symbol_count())?;
    let operands = apply
        .operands()
        .map(|operand| within(operand, depth))
        .collect::<Vec<_>>();
    let (dims, symbols) = operands.split_at(map.dim_count());
    Some(of_form(&form, dims, symbols))
}

/// A divisor of the result of `memref.dim`.
fn of_size(dim: OperationRef<'_, '_>) -> Option<i64> {
    let axis = usize::try_from(constant(dim.operand(1).ok()?)?).ok()?;
    Some(size_divisor(dim.operand(0).ok()?, axis))
}

/// A divisor of a buffer's size along an axis: a static size, or the multiple that the kernel's launch promises for a dynamic
/// one.
pub fn size_divisor(buffer: Value<'_, '_>, axis: usize) -> i64 {
    let shape = types::shape(buffer.r#type()).unwrap_or_default();
    match shape.get(axis) {
        Some(Some(size)) => *size,
        _ => promised_multiple(buffer, axis).unwrap_or(1),
    }
}

fn promised_multiple(buffer: Value<'_, '_>, axis: usize) -> Option<i64> {
    let (launch, argument) = launch_of(buffer)?;
    let multiples = DenseI64ArrayAttribute::try_from(launch.multiples()?).ok()?;
    let number = |index: usize| multiples.element(index).ok();
    let mut triples = (0..multiples.len()).step_by(3);
    let found = triples
        .find(|first| number(*first) == Some(argument as i64) && number(first + 1) == Some(axis as i64));
    number(found? + 2)
}

/// A number of bytes that divides the buffer's base address and the strides of a dynamic strided layout. The kernel's launch
/// gives it for parameters; for any other buffer only the natural alignment of its elements is known.
pub fn alignment(buffer: Value<'_, '_>) -> i64 {
    let natural = || types::element_bytes(types::element(buffer.r#type())).unwrap_or(1);
    let promised =
        launch_of(buffer).and_then(|(launch, argument)| launch.alignments().get(argument).copied());
    promised.unwrap_or_else(natural)
}

/// The launch of the kernel that has a buffer as a parameter, and the buffer's position among the parameters. While a kernel is
/// being converted, its buffers are views of pointer parameters.
pub(super) fn launch_of<'c>(buffer: Value<'c, '_>) -> Option<(LaunchAttr<'c>, usize)> {
    let view = definition(buffer).filter(|op| walk::has_name(*op, "builtin.unrealized_conversion_cast"));
    if let Some(view) = view {
        let (launch, param) = param_of(view.operand(0).ok()?)?;
        return Some((launch, usize::try_from(param.argument()).ok()?));
    }
    let argument = block_argument(buffer)?;
    let kernel = argument.owner().parent_operation()?;
    Some((launch::of(kernel)?, argument.argument_number()))
}

/// The launch of the lowered kernel that has `value` as a parameter, and what this parameter holds.
pub(super) fn param_of<'c>(value: Value<'c, '_>) -> Option<(LaunchAttr<'c>, ParamAttr<'c>)> {
    let argument = block_argument(value)?;
    let kernel = argument.owner().parent_operation()?;
    let params = ArrayAttribute::try_from(kernel.attribute(attributes::kernel::PARAMS).ok()?).ok()?;
    let param = ParamAttr::from_attribute(params.element(argument.argument_number()).ok()?)?;
    Some((launch::of(kernel)?, param))
}

/// The value of an `arith.constant`.
pub(super) fn constant(value: Value<'_, '_>) -> Option<i64> {
    let value = definition(value)?.attribute("value").ok()?;
    Some(IntegerAttribute::try_from(value).ok()?.value())
}

#[cfg(test)]
mod tests {
    use super::{changes_sign, is_steady, of_form};
    use crate::gl::quotient_form::{Quotient, QuotientForm};

    fn sum(dims: &[i64], constant: i64) -> QuotientForm {
        QuotientForm {
            dims: dims.to_vec(),
            constant,
            ..QuotientForm::default()
        }
    }

    #[test]
    fn a_quotient_is_divided_where_its_division_is_exact() {
        let form = |divisor| QuotientForm {
            quotients: vec![(
                3,
                Quotient {
                    numerator: sum(&[1], 0),
                    divisor,
                },
            )],
            ..sum(&[0], 0)
        };
        assert_eq!(of_form(&form(8), &[32], &[]), 12);
        assert_eq!(of_form(&form(5), &[32], &[]), 3);
    }

    /// Compared with all points below 60 that the divisors allow.
    #[test]
    fn what_is_steady_does_not_jump() {
        let mut steady = 0;
        for count in [2_i64, 4, 8] {
            for divisor in 2..20 {
                for (step, constant) in (0..4).flat_map(|step| (-9..9).map(move |constant| (step, constant)))
                {
                    let form = sum(&[step, 1], constant);
                    for other in [1_i64, 2, 8, 12] {
                        if !is_steady(&form, divisor, 0, count, &[count, other], &[]) {
                            continue;
                        }
                        steady += 1;
                        for start in (0..60).step_by(count as usize) {
                            for rest in (0..60).step_by(other as usize) {
                                let at = |i: i64| (step * (start + i) + rest + constant).div_euclid(divisor);
                                assert!((0..count).all(|i| at(i) == at(0)));
                            }
                        }
                    }
                }
            }
        }
        assert!(steady > 100);
    }

    /// Compared with all points below 60 that the divisors allow. The end of a row at a multiple of the vector's length must
    /// not count as a change of sign.
    #[test]
    fn what_keeps_its_sign_is_negative_at_all_steps_or_none() {
        let mut kept = 0;
        for count in [2_i64, 4, 8] {
            for (step, constant) in (-1..3).flat_map(|step| (-60..60).map(move |constant| (step, constant))) {
                let form = sum(&[step, 1], constant);
                for other in [1_i64, 2, 8, 12] {
                    if changes_sign(&form, 0, count, &[count, other], &[]) {
                        continue;
                    }
                    kept += 1;
                    for start in (0..60).step_by(count as usize) {
                        for rest in (0..60).step_by(other as usize) {
                            let at = |i: i64| step * (start + i) + rest + constant < 0;
                            assert!((0..count).all(|i| at(i) == at(0)), "{step} {constant} {count}");
                        }
                    }
                }
            }
        }
        assert!(kept > 100);
        assert!(!changes_sign(&sum(&[1], -4096), 0, 8, &[8], &[]));
        assert!(!changes_sign(&sum(&[-1], -1), 0, 8, &[8], &[]));
        assert!(changes_sign(&sum(&[1], -4095), 0, 8, &[8], &[]));
    }
}
