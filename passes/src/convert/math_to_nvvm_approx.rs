//! `convert-math-to-nvvm-approx`: `math` ops on f32 become what the SM computes without a library.
//!
//! Matches the ops of the table in Passes.td on f32 and on fixed-size vectors of f32; the rest stays for
//! `convert-gpu-to-nvvm` and its libdevice calls. Each op maps to one intrinsic, with a multiplication before it or
//! after it where only the base-2 function exists in hardware. NVPTX has no vector forms of these, so nothing is lost
//! by taking vectors apart.

use std::f64::consts::{LN_2, LOG2_E, LOG10_2};

use melior::ir::{
    Attribute, OperationRef, Type, Value, ValueLike,
    attribute::{DenseI32ArrayAttribute, StringAttribute},
    operation::OperationLike,
};

use crate::{
    mlir::{
        builder::Builder,
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
        let operands = math.operands().collect::<Vec<_>>();
        let b = Builder::before(math);
        let emitter = Emitter {
            b: &b,
            f32: Type::float32(cx.context()),
            options: cx.options(),
        };
        let result = if ty == emitter.f32 {
            emitter.scalar(function, &operands)
        } else if types::vector_shape(ty).is_some() && types::element(ty) == emitter.f32 {
            emitter.vector(function, ty, &operands)?
        } else {
            continue;
        };
        b.replace(math, &[result]);
        cx.count(ConvertMathToNvvmApproxStatistic::NumConverted, 1);
    }
    Ok(())
}

/// The functions that the pass converts.
#[derive(Clone, Copy)]
enum Function {
    Rsqrt,
    Sqrt,
    Exp2,
    Exp,
    Log2,
    Log,
    Log10,
    Tanh,
    /// An LLVM intrinsic that NVPTX selects to exact instructions, by op name.
    Exact(&'static str),
}

impl Function {
    fn of(op: OperationRef<'_, '_>) -> Option<Self> {
        Some(match norma_dialects::op_name(op) {
            "math.rsqrt" => Self::Rsqrt,
            "math.sqrt" => Self::Sqrt,
            "math.exp2" => Self::Exp2,
            "math.exp" => Self::Exp,
            "math.log2" => Self::Log2,
            "math.log" => Self::Log,
            "math.log10" => Self::Log10,
            "math.tanh" => Self::Tanh,
            "math.absf" => Self::Exact("llvm.intr.fabs"),
            "math.floor" => Self::Exact("llvm.intr.floor"),
            "math.ceil" => Self::Exact("llvm.intr.ceil"),
            "math.trunc" => Self::Exact("llvm.intr.trunc"),
            "math.roundeven" => Self::Exact("llvm.intr.roundeven"),
            "math.copysign" => Self::Exact("llvm.intr.copysign"),
            "math.fma" => Self::Exact("llvm.intr.fma"),
            _ => return None,
        })
    }
}

/// Emits the replacement of one op.
struct Emitter<'b, 'c, 'a> {
    b: &'b Builder<'c, 'a>,
    f32: Type<'c>,
    options: &'b ConvertMathToNvvmApproxOptions,
}

impl<'c: 'a, 'a> Emitter<'_, 'c, 'a> {
    fn scalar(&self, function: Function, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        match (function, operands) {
            (Function::Rsqrt, [x]) => self.special("rsqrt.approx", *x),
            (Function::Sqrt, [x]) => self.special("sqrt.rn", *x),
            (Function::Exp2, [x]) => self.exp2(*x),
            (Function::Exp, [x]) => self.exp2(self.scaled(*x, LOG2_E)),
            (Function::Log2, [x]) => self.special("lg2.approx", *x),
            (Function::Log, [x]) => self.scaled(self.special("lg2.approx", *x), LN_2),
            (Function::Log10, [x]) => self.scaled(self.special("lg2.approx", *x), LOG10_2),
            (Function::Tanh, [x]) if self.options.fast_tanh => self.fast_tanh(*x),
            (Function::Tanh, [x]) => self.tanh(*x),
            (Function::Exact(name), operands) => self.b.value(name, operands, self.f32),
            (_, operands) => unreachable!("a unary op has {} operands", operands.len()),
        }
    }

    /// Applies the scalar form to each element.
    fn vector(
        &self,
        function: Function,
        ty: Type<'c>,
        operands: &[Value<'c, 'a>],
    ) -> Result<Value<'c, 'a>, melior::Error> {
        let count = types::vector_shape(ty)
            .unwrap_or_default()
            .iter()
            .product::<i64>() as usize;
        let apart = operands
            .iter()
            .map(|operand| {
                self.b
                    .op("vector.to_elements", &[*operand], &vec![self.f32; count])
            })
            .collect::<Vec<_>>();
        let mut elements = Vec::with_capacity(count);
        for index in 0..count {
            let scalars = apart
                .iter()
                .map(|op| op.result(index).map(Value::from))
                .collect::<Result<Vec<_>, _>>()?;
            elements.push(self.scalar(function, &scalars));
        }
        Ok(self.b.value("vector.from_elements", &elements, ty))
    }

    fn scaled(&self, x: Value<'c, 'a>, factor: f64) -> Value<'c, 'a> {
        self.b
            .value("arith.mulf", &[x, self.b.float(self.f32, factor)], self.f32)
    }

    /// The LLVM name of `ex2` alone ends in the type's full name.
    fn exp2(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        self.intrinsic(
            if self.options.flush_denormals {
                "ex2.approx.ftz.f32"
            } else {
                "ex2.approx.f32"
            },
            x,
        )
    }

    fn special(&self, name: &str, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let flush = if self.options.flush_denormals { ".ftz" } else { "" };
        self.intrinsic(&format!("{name}{flush}.f"), x)
    }

    /// `1 - 2 / (exp(2x) + 1)`: an overflow of exp gives 1 and an underflow -1, as they should be.
    fn tanh(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let one = self.b.float(self.f32, 1.0);
        let exp = self.exp2(self.scaled(x, 2.0 * LOG2_E));
        let denominator = self.b.value("arith.addf", &[exp, one], self.f32);
        let reciprocal = self.special("rcp.approx", denominator);
        let minus_two = self.b.float(self.f32, -2.0);
        self.b
            .value("llvm.intr.fma", &[reciprocal, minus_two, one], self.f32)
    }

    /// NVPTX has no intrinsic of its own for tanh.approx; it selects it for LLVM's when approximation is allowed.
    fn fast_tanh(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let afn = Attribute::parse(self.b.context(), "#llvm.fastmath<afn>");
        let flags = afn.map(|flags| ("fastmathFlags", flags));
        self.b
            .value_with("llvm.intr.tanh", &[x], self.f32, flags.as_slice())
    }

    fn intrinsic(&self, name: &str, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let context = self.b.context();
        let name = StringAttribute::new(context, &format!("llvm.nvvm.{name}"));
        self.b.value_with(
            "llvm.call_intrinsic",
            &[x],
            self.f32,
            &[
                ("intrin", name.into()),
                (
                    "op_bundle_sizes",
                    DenseI32ArrayAttribute::new(context, &[]).into(),
                ),
                (
                    "operandSegmentSizes",
                    DenseI32ArrayAttribute::new(context, &[1, 0]).into(),
                ),
            ],
        )
    }
}
