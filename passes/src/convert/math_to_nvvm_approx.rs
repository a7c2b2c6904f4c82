//! `convert-math-to-nvvm-approx`: lowers `math` ops, and divisions that need not be exact, to instructions of the SM, without a
//! library.
//!
//! Matches the ops of the table in Passes.td on scalars and on fixed-size vectors; the rest stays for `convert-gpu-to-nvvm` and
//! its libdevice calls. NVPTX has no vector forms of these, so nothing is lost by taking vectors apart. f16 and bf16 are
//! computed in f32 and rounded once, except for ops that are exact in any type. [`emitter`] emits single instructions;
//! [`elementary`], [`trigonometric`], [`power`] and [`double`] are the functions that take several.

mod double;
mod elementary;
mod emitter;
mod power;
mod trigonometric;

use emitter::Emitter;
use melior::ir::{OperationRef, Type, Value, ValueLike, operation::OperationLike};

use crate::{
    mlir::{
        builder::Builder,
        fast_math::{self, APPROXIMATE, RECIPROCAL},
        pass::{PassContext, PassResult},
        types, walk,
    },
    table::{ConvertMathToNvvmApprox, ConvertMathToNvvmApproxOptions, ConvertMathToNvvmApproxStatistic},
};

pub(crate) fn run<'c>(
    op: OperationRef<'c, '_>,
    cx: &PassContext<'c, ConvertMathToNvvmApprox>,
) -> PassResult<'c> {
    for math in walk::post_order(op) {
        let Some(function) = Function::of(math) else {
            continue;
        };
        let ty = math.result(0)?.r#type();
        let element = types::element(ty);
        if !function.takes(element) || (types::is_vector(ty) && types::vector_shape(ty).is_none()) {
            continue;
        }
        let operands = math.operands().collect::<Vec<_>>();
        let b = Builder::before(math);
        let result = match ty == element {
            true => scalar(&b, cx.options(), function, element, &operands),
            false => vector(&b, cx.options(), function, ty, &operands)?,
        };
        b.replace(math, &[result]);
        cx.count(ConvertMathToNvvmApproxStatistic::NumConverted, 1);
    }
    Ok(())
}

/// The functions that the pass converts.
#[derive(Clone, Copy, PartialEq)]
enum Function {
    Rsqrt,
    Sqrt,
    Exp2,
    Exp,
    ExpM1,
    Log2,
    Log,
    Log10,
    Log1p,
    Tanh,
    Erf,
    Sin,
    Cos,
    Pow,
    Round,
    Clamp,
    /// A division that need not be exact.
    Divide,
    /// A division whose dividend may be multiplied by an approximate reciprocal.
    MultiplyByReciprocal,
    /// An LLVM intrinsic that NVPTX selects to exact instructions in f32 and f64, by op name.
    Exact(&'static str),
    /// An LLVM intrinsic that NVPTX selects to exact instructions for every float type.
    ExactInAny(&'static str),
    /// An LLVM intrinsic on integers, with its attribute that says whether an edge case is poison, which is set to false.
    Integer(&'static str, Option<&'static str>),
}

impl Function {
    fn of(op: OperationRef<'_, '_>) -> Option<Self> {
        Some(match norma_dialects::op_name(op) {
            "math.rsqrt" => Self::Rsqrt,
            "math.sqrt" => Self::Sqrt,
            "math.exp2" => Self::Exp2,
            "math.exp" => Self::Exp,
            "math.expm1" => Self::ExpM1,
            "math.log2" => Self::Log2,
            "math.log" => Self::Log,
            "math.log10" => Self::Log10,
            "math.log1p" => Self::Log1p,
            "math.tanh" => Self::Tanh,
            "math.erf" => Self::Erf,
            "math.sin" => Self::Sin,
            "math.cos" => Self::Cos,
            "math.powf" => Self::Pow,
            "math.round" => Self::Round,
            "math.clampf" => Self::Clamp,
            "arith.divf" => {
                let flags = fast_math::flags(op);
                match flags.contains(&RECIPROCAL) {
                    true if flags.contains(&APPROXIMATE) => Self::MultiplyByReciprocal,
                    true => Self::Divide,
                    false => return None,
                }
            }
            "math.absf" => Self::ExactInAny("llvm.intr.fabs"),
            "math.copysign" => Self::ExactInAny("llvm.intr.copysign"),
            "math.fma" => Self::ExactInAny("llvm.intr.fma"),
            "math.floor" => Self::Exact("llvm.intr.floor"),
            "math.ceil" => Self::Exact("llvm.intr.ceil"),
            "math.trunc" => Self::Exact("llvm.intr.trunc"),
            "math.roundeven" => Self::Exact("llvm.intr.roundeven"),
            "math.absi" => Self::Integer("llvm.intr.abs", Some("is_int_min_poison")),
            "math.ctlz" => Self::Integer("llvm.intr.ctlz", Some("is_zero_poison")),
            "math.cttz" => Self::Integer("llvm.intr.cttz", Some("is_zero_poison")),
            "math.ctpop" => Self::Integer("llvm.intr.ctpop", None),
            _ => return None,
        })
    }

    /// Whether there is a form of the function in that type.
    fn takes(self, element: Type<'_>) -> bool {
        let is_f64 = types::is_float(element) && types::bit_width(element) == Some(64);
        let is_up_to_f32 = types::is_float(element) && !types::is_float8(element) && !is_f64;
        match self {
            Self::Divide | Self::MultiplyByReciprocal => types::is_f32(element),
            Self::Integer(..) => !types::is_float(element) && types::bit_width(element).is_some(),
            Self::Rsqrt
            | Self::Sqrt
            | Self::Exp
            | Self::Exp2
            | Self::Round
            | Self::Clamp
            | Self::Exact(_)
            | Self::ExactInAny(_) => is_up_to_f32 || is_f64,
            _ => is_up_to_f32,
        }
    }
}

/// A function of scalars of type `element`.
fn scalar<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    options: &ConvertMathToNvvmApproxOptions,
    function: Function,
    element: Type<'c>,
    operands: &[Value<'c, 'a>],
) -> Value<'c, 'a> {
    let f32 = Type::float32(b.context());
    let is_narrow = types::is_float(element) && types::bit_width(element) == Some(16);
    if !is_narrow || matches!(function, Function::ExactInAny(_) | Function::Clamp) {
        return Emitter::new(b, element, options).function(function, operands);
    }
    let wide: Vec<Value> = operands
        .iter()
        .map(|operand| b.value("arith.extf", &[*operand], f32))
        .collect();
    let result = Emitter::new(b, f32, options).function(function, &wide);
    b.value("arith.truncf", &[result], element)
}

/// Applies the scalar form to each element.
fn vector<'c: 'a, 'a>(
    b: &Builder<'c, 'a>,
    options: &ConvertMathToNvvmApproxOptions,
    function: Function,
    ty: Type<'c>,
    operands: &[Value<'c, 'a>],
) -> Result<Value<'c, 'a>, melior::Error> {
    let count = types::vector_shape(ty)
        .unwrap_or_default()
        .iter()
        .product::<i64>() as usize;
    let element = types::element(ty);
    let apart = operands
        .iter()
        .map(|operand| b.op("vector.to_elements", &[*operand], &vec![element; count]))
        .collect::<Vec<_>>();
    let mut elements = Vec::with_capacity(count);
    for index in 0..count {
        let scalars = apart
            .iter()
            .map(|op| op.result(index).map(Value::from))
            .collect::<Result<Vec<_>, _>>()?;
        elements.push(scalar(b, options, function, element, &scalars));
    }
    Ok(b.value("vector.from_elements", &elements, ty))
}
