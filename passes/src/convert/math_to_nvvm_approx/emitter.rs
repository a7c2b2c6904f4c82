//! Instructions on scalars of one float type, and the functions that take a single one.

use std::f64::consts::{LN_2, LOG2_E, LOG10_2};

use melior::ir::{
    Attribute, Type, Value,
    attribute::{BoolAttribute, DenseI32ArrayAttribute, StringAttribute},
};

use super::Function;
use crate::{
    mlir::{
        builder::Builder,
        comparison::{Predicate, compare_floats},
        types,
    },
    table::ConvertMathToNvvmApproxOptions,
};

/// Emits the replacement of one op.
pub(super) struct Emitter<'b, 'c, 'a> {
    pub(super) b: &'b Builder<'c, 'a>,
    /// The type in which the op is computed.
    pub(super) ty: Type<'c>,
    options: &'b ConvertMathToNvvmApproxOptions,
}

impl<'b, 'c: 'a, 'a> Emitter<'b, 'c, 'a> {
    pub(super) fn new(
        b: &'b Builder<'c, 'a>,
        ty: Type<'c>,
        options: &'b ConvertMathToNvvmApproxOptions,
    ) -> Self {
        Self { b, ty, options }
    }

    /// A function of scalars of the emitter's type: f32 or f64, or any type for functions that are exact in it.
    pub(super) fn function(&self, function: Function, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        let is_f32 = types::is_f32(self.ty);
        match (function, operands) {
            (Function::Rsqrt, [x]) if is_f32 => self.special("rsqrt.approx", *x),
            (Function::Rsqrt, [x]) => {
                let root = self.op("llvm.intr.sqrt", &[*x]);
                self.op("arith.divf", &[self.constant(1.0), root])
            }
            (Function::Sqrt, [x]) if is_f32 => self.special("sqrt.rn", *x),
            (Function::Sqrt, [x]) => self.op("llvm.intr.sqrt", &[*x]),
            (Function::Exp2, [x]) if is_f32 => self.exp2(*x),
            (Function::Exp2, [x]) => self.exp2_of_f64(*x),
            (Function::Exp, [x]) if is_f32 => self.exp(*x),
            (Function::Exp, [x]) => self.exp_of_f64(*x),
            (Function::ExpM1, [x]) => self.exp_m1(*x),
            (Function::Log2, [x]) => self.log2(*x),
            (Function::Log, [x]) => self.scaled(self.log2(*x), LN_2),
            (Function::Log10, [x]) => self.scaled(self.log2(*x), LOG10_2),
            (Function::Log1p, [x]) => self.log1p(*x),
            (Function::Tanh, [x]) if self.options.fast_tanh => self.fast_tanh(*x),
            (Function::Tanh, [x]) => self.tanh(*x),
            (Function::Erf, [x]) => self.erf(*x),
            (Function::Sin, [x]) => self.sine(*x, 0),
            // A quarter of a turn ahead.
            (Function::Cos, [x]) => self.sine(*x, 1),
            (Function::Pow, [base, exponent]) => self.power(*base, *exponent),
            (Function::Round, [x]) => self.round(*x),
            (Function::Clamp, [x, low, high]) => {
                let below = self.op("arith.minimumf", &[*x, *high]);
                self.op("arith.maximumf", &[below, *low])
            }
            (Function::Divide, [a, b]) => self.divide(*a, *b),
            (Function::MultiplyByReciprocal, [a, b]) => self.multiply(*a, self.special("rcp.approx", *b)),
            (Function::Exact(name) | Function::ExactInAny(name), operands) => self.op(name, operands),
            (Function::Integer(name, edge), operands) => {
                let defined = BoolAttribute::new(self.b.context(), false).into();
                let attributes = edge.map(|edge| (edge, defined));
                self.b.value_with(name, operands, self.ty, attributes.as_slice())
            }
            (_, operands) => unreachable!("expected the operands of a math op, got {}", operands.len()),
        }
    }

    /// An op whose result is of the emitter's type.
    pub(super) fn op(&self, name: &str, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        self.b.value(name, operands, self.ty)
    }

    pub(super) fn constant(&self, value: f64) -> Value<'c, 'a> {
        self.b.float(self.ty, value)
    }

    pub(super) fn add(&self, a: Value<'c, 'a>, b: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("arith.addf", &[a, b])
    }

    pub(super) fn subtract(&self, a: Value<'c, 'a>, b: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("arith.subf", &[a, b])
    }

    pub(super) fn multiply(&self, a: Value<'c, 'a>, b: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("arith.mulf", &[a, b])
    }

    /// `a * b + c`, rounded once.
    pub(super) fn fma(&self, a: Value<'c, 'a>, b: Value<'c, 'a>, c: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("llvm.intr.fma", &[a, b, c])
    }

    pub(super) fn magnitude(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("llvm.intr.fabs", &[x])
    }

    pub(super) fn scaled(&self, x: Value<'c, 'a>, factor: f64) -> Value<'c, 'a> {
        self.multiply(x, self.constant(factor))
    }

    /// The polynomial of `coefficients`, that of the constant term first, at `x`, by Horner's rule.
    pub(super) fn polynomial(&self, x: Value<'c, 'a>, coefficients: &[f64]) -> Value<'c, 'a> {
        let mut rest = coefficients.iter().rev().map(|value| self.constant(*value));
        let Some(leading) = rest.next() else {
            return self.constant(0.0);
        };
        rest.fold(leading, |sum, coefficient| self.fma(sum, x, coefficient))
    }

    pub(super) fn compare(&self, predicate: Predicate, a: Value<'c, 'a>, b: Value<'c, 'a>) -> Value<'c, 'a> {
        compare_floats(self.b, predicate, a, b)
    }

    pub(super) fn select(
        &self,
        condition: Value<'c, 'a>,
        yes: Value<'c, 'a>,
        no: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        self.op("arith.select", &[condition, yes, no])
    }

    /// `x`, clamped to the range from `-limit` to `limit`; NaN stays NaN.
    pub(super) fn clamped(&self, x: Value<'c, 'a>, limit: f64) -> Value<'c, 'a> {
        let below = self.op("arith.minimumf", &[x, self.constant(limit)]);
        self.op("arith.maximumf", &[below, self.constant(-limit)])
    }

    pub(super) fn nearest_whole(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("llvm.intr.roundeven", &[x])
    }

    pub(super) fn integer_type(&self, bits: u32) -> Type<'c> {
        melior::ir::r#type::IntegerType::new(self.b.context(), bits).into()
    }

    /// The integers that are as wide as the emitter's type.
    pub(super) fn bits_type(&self) -> Type<'c> {
        self.integer_type(types::bit_width(self.ty).unwrap_or(32) as u32)
    }

    pub(super) fn integer(&self, value: i64) -> Value<'c, 'a> {
        self.b.integer(self.bits_type(), value)
    }

    /// An op on integers as wide as the emitter's type.
    pub(super) fn integer_op(&self, name: &str, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        self.b.value(name, operands, self.bits_type())
    }

    pub(super) fn bits(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        self.integer_op("arith.bitcast", &[x])
    }

    pub(super) fn of_bits(&self, bits: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op("arith.bitcast", &[bits])
    }

    /// A whole number within `limit` as an integer. Numbers out of range and NaN, whose conversion would be poison, become some
    /// number in the range, which the caller does not use.
    pub(super) fn whole(&self, x: Value<'c, 'a>, limit: f64) -> Value<'c, 'a> {
        let below = self.op("arith.minnumf", &[x, self.constant(limit)]);
        let within = self.op("arith.maxnumf", &[below, self.constant(-limit)]);
        self.integer_op("arith.fptosi", &[within])
    }

    /// `x * 2^exponent`, in two steps, each of which is by a normal number for exponents of up to twice the format's.
    pub(super) fn times_power_of_two(&self, x: Value<'c, 'a>, exponent: Value<'c, 'a>) -> Value<'c, 'a> {
        let (mantissa_bits, bias) = match types::is_f32(self.ty) {
            true => (23, 127),
            false => (52, 1023),
        };
        let first = self.integer_op("arith.shrsi", &[exponent, self.integer(1)]);
        let second = self.integer_op("arith.subi", &[exponent, first]);
        [first, second].into_iter().fold(x, |product, exponent| {
            let biased = self.integer_op("arith.addi", &[exponent, self.integer(bias)]);
            let bits = self.integer_op("arith.shli", &[biased, self.integer(mantissa_bits)]);
            self.multiply(product, self.of_bits(bits))
        })
    }

    /// `ex2.approx`. LLVM's name of this intrinsic, unlike the others, ends in the type's full name.
    pub(super) fn exp2(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        self.intrinsic(
            if self.options.flush_denormals {
                "ex2.approx.ftz.f32"
            } else {
                "ex2.approx.f32"
            },
            &[x],
        )
    }

    /// `div.full`, whose intrinsics LLVM names without the type.
    fn divide(&self, a: Value<'c, 'a>, b: Value<'c, 'a>) -> Value<'c, 'a> {
        let flush = if self.options.flush_denormals { ".ftz" } else { "" };
        self.intrinsic(&format!("div.full{flush}"), &[a, b])
    }

    /// `lg2.approx`.
    pub(super) fn log2(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        self.special("lg2.approx", x)
    }

    pub(super) fn exp(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        self.exp2(self.scaled(x, LOG2_E))
    }

    pub(super) fn special(&self, name: &str, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let flush = if self.options.flush_denormals { ".ftz" } else { "" };
        self.intrinsic(&format!("{name}{flush}.f"), &[x])
    }

    /// `tanh.approx`. NVPTX has no intrinsic for it, but selects it for LLVM's `tanh` if approximation is allowed.
    fn fast_tanh(&self, x: Value<'c, 'a>) -> Value<'c, 'a> {
        let afn = Attribute::parse(self.b.context(), "#llvm.fastmath<afn>");
        let flags = afn.map(|flags| ("fastmathFlags", flags));
        self.b
            .value_with("llvm.intr.tanh", &[x], self.ty, flags.as_slice())
    }

    fn intrinsic(&self, name: &str, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        let context = self.b.context();
        let name = StringAttribute::new(context, &format!("llvm.nvvm.{name}"));
        self.b.value_with(
            "llvm.call_intrinsic",
            operands,
            self.ty,
            &[
                ("intrin", name.into()),
                (
                    "op_bundle_sizes",
                    DenseI32ArrayAttribute::new(context, &[]).into(),
                ),
                (
                    "operandSegmentSizes",
                    DenseI32ArrayAttribute::new(context, &[operands.len() as i32, 0]).into(),
                ),
            ],
        )
    }
}
