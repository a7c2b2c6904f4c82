//! Ops of the LLVM dialect.

use super::{D, GENERIC, GLOBAL, H, I, J, P, SHARED, X, Y, code, decodes, problems};
use crate::{address::SHARED_WINDOW, program::*};

/// An integer operation of a width.
macro_rules! integer {
    ($op:ident, $bits:literal, $a:pat, $b:pat) => {
        Instruction::Integer {
            op: IntegerOp::$op,
            bits: $bits,
            a: $a,
            b: $b,
            ..
        }
    };
}

/// A float operation on f32.
macro_rules! float {
    ($op:ident, $a:pat, $b:pat) => {
        Instruction::Float {
            op: FloatOp::$op,
            format: Format::F32,
            flush: false,
            a: $a,
            b: $b,
            ..
        }
    };
}

macro_rules! approximate {
    ($function:ident, $flush:literal, $a:pat, $b:pat) => {
        Instruction::Approximate {
            function: ApproximateFunction::$function,
            flush: $flush,
            a: $a,
            b: $b,
            ..
        }
    };
}

macro_rules! convert {
    ($conversion:pat, $from:pat) => {
        Instruction::Convert {
            conversion: $conversion,
            from: $from,
            ..
        }
    };
}

#[test]
fn integer_arithmetic() {
    decodes! {
        "%0 = llvm.add %i, %i : i32" => [integer!(Add, 32, I, I)];
        "%0 = llvm.sub %j, %j : i64" => [integer!(Sub, 64, J, J)];
        "%0 = llvm.mul %h, %h : i16" => [integer!(Mul, 16, H, H)];
        "%0 = llvm.sdiv %i, %i : i32" => [integer!(DivSigned, 32, I, I)];
        "%0 = llvm.udiv %i, %i : i32" => [integer!(DivUnsigned, 32, I, I)];
        "%0 = llvm.srem %i, %i : i32" => [integer!(RemSigned, 32, I, I)];
        "%0 = llvm.urem %i, %i : i32" => [integer!(RemUnsigned, 32, I, I)];
        "%0 = llvm.and %p, %p : i1" => [integer!(And, 1, P, P)];
        "%0 = llvm.or %i, %i : i32" => [integer!(Or, 32, I, I)];
        "%0 = llvm.xor %i, %i : i32" => [integer!(Xor, 32, I, I)];
        "%0 = llvm.shl %i, %i : i32" => [integer!(Shl, 32, I, I)];
        "%0 = llvm.lshr %i, %i : i32" => [integer!(LShr, 32, I, I)];
        "%0 = llvm.ashr %i, %i : i32" => [integer!(AShr, 32, I, I)];
        "%0 = llvm.intr.smax(%i, %i) : (i32, i32) -> i32" => [integer!(MaxSigned, 32, I, I)];
        "%0 = llvm.intr.smin(%i, %i) : (i32, i32) -> i32" => [integer!(MinSigned, 32, I, I)];
        "%0 = llvm.intr.umax(%i, %i) : (i32, i32) -> i32" => [integer!(MaxUnsigned, 32, I, I)];
        "%0 = llvm.intr.umin(%i, %i) : (i32, i32) -> i32" => [integer!(MinUnsigned, 32, I, I)];
        "%0 = llvm.intr.ctpop(%i) : (i32) -> i32" => [integer!(PopulationCount, 32, I, I)];
        "%0 = \"llvm.intr.ctlz\"(%i) <{is_zero_poison = false}> : (i32) -> i32" => [integer!(LeadingZeros, 32, I, I)];
        "%0 = \"llvm.intr.cttz\"(%i) <{is_zero_poison = false}> : (i32) -> i32" => [integer!(TrailingZeros, 32, I, I)];
        "%0 = llvm.intr.bitreverse(%i) : (i32) -> i32" => [integer!(BitReverse, 32, I, I)];
        "%0 = \"llvm.intr.abs\"(%i) <{is_int_min_poison = false}> : (i32) -> i32" => [integer!(AbsSigned, 32, I, I)];
    }
}

#[test]
fn float_arithmetic() {
    decodes! {
        "%0 = llvm.fadd %x, %y : f32" => [float!(Add, X, Y)];
        "%0 = llvm.fadd %x, %y {fastmathFlags = #llvm.fastmath<contract, reassoc>} : f32" => [float!(Add, X, Y)];
        "%0 = llvm.fsub %x, %y : f32" => [float!(Sub, X, Y)];
        "%0 = llvm.fmul %x, %y : f32" => [float!(Mul, X, Y)];
        "%0 = llvm.fdiv %x, %y : f32" => [float!(Div, X, Y)];
        "%0 = llvm.fdiv %x, %y {fastmathFlags = #llvm.fastmath<afn>} : f32" => [approximate!(Divide, false, X, Y)];
        "%0 = llvm.frem %x, %y : f32" => [float!(Rem, X, Y)];
        "%0 = llvm.fneg %x : f32" => [float!(Neg, X, X)];
        "%0 = llvm.intr.fabs(%x) : (f32) -> f32" => [float!(Abs, X, X)];
        "%0 = llvm.intr.sqrt(%x) : (f32) -> f32" => [float!(Sqrt, X, X)];
        "%0 = llvm.intr.maxnum(%x, %y) : (f32, f32) -> f32" => [float!(MaxNum, X, Y)];
        "%0 = llvm.intr.minnum(%x, %y) : (f32, f32) -> f32" => [float!(MinNum, X, Y)];
        "%0 = llvm.intr.maximum(%x, %y) : (f32, f32) -> f32" => [float!(Maximum, X, Y)];
        "%0 = llvm.intr.minimum(%x, %y) : (f32, f32) -> f32" => [float!(Minimum, X, Y)];
        "%0 = llvm.intr.copysign(%x, %y) : (f32, f32) -> f32" => [float!(CopySign, X, Y)];
        "%0 = llvm.intr.trunc(%x) : (f32) -> f32" => [float!(Trunc, X, X)];
        "%0 = llvm.intr.floor(%x) : (f32) -> f32" => [float!(Floor, X, X)];
        "%0 = llvm.intr.ceil(%x) : (f32) -> f32" => [float!(Ceil, X, X)];
        "%0 = llvm.intr.rint(%x) : (f32) -> f32" => [float!(Rint, X, X)];
        "%0 = llvm.intr.roundeven(%x) : (f32) -> f32" => [float!(Rint, X, X)];
        "%0 = llvm.intr.nearbyint(%x) : (f32) -> f32" => [float!(Rint, X, X)];
        "%0 = llvm.intr.round(%x) : (f32) -> f32" => [float!(Round, X, X)];
        "%0 = llvm.intr.fma(%x, %y, %x) : (f32, f32, f32) -> f32" => [Instruction::FusedMultiplyAdd { format: Format::F32, flush: false, a: X, b: Y, c: X, .. }];
        "%0 = llvm.intr.fmuladd(%x, %y, %x) : (f32, f32, f32) -> f32" => [Instruction::FusedMultiplyAdd { a: X, b: Y, c: X, .. }];
    }
}

#[test]
fn functions_of_the_special_function_unit() {
    decodes! {
        "%0 = llvm.intr.exp2(%x) : (f32) -> f32" => [approximate!(Exp2, false, X, X)];
        "%0 = llvm.intr.log2(%x) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32" => [approximate!(Log2, false, X, X)];
        "%0 = llvm.intr.sin(%x) {fastmathFlags = #llvm.fastmath<fast>} : (f32) -> f32" => [approximate!(Sin, false, X, X)];
        "%0 = llvm.intr.cos(%x) {fastmathFlags = #llvm.fastmath<fast>} : (f32) -> f32" => [approximate!(Cos, false, X, X)];
        "%0 = llvm.intr.tanh(%x) {fastmathFlags = #llvm.fastmath<nnan, afn>} : (f32) -> f32" => [approximate!(Tanh, false, X, X)];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.rsqrt.approx.ftz.f\"(%x) : (f32) -> f32" => [approximate!(ReciprocalSquareRoot, true, X, X)];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.ex2.approx.f32\"(%x) : (f32) -> f32" => [approximate!(Exp2, false, X, X)];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.div.approx.f\"(%x, %y) : (f32, f32) -> f32" => [approximate!(Divide, false, X, Y)];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.div.full.ftz\"(%x, %y) : (f32, f32) -> f32" => [approximate!(DivideFull, true, X, Y)];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.sqrt.rn.f\"(%x) : (f32) -> f32" => [float!(Sqrt, X, X)];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.fmax.nan.f\"(%x, %y) : (f32, f32) -> f32" => [float!(Maximum, X, Y)];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.fma.rn.f\"(%x, %y, %x) : (f32, f32, f32) -> f32" => [Instruction::FusedMultiplyAdd { a: X, b: Y, c: X, .. }];
        "%0 = llvm.call_intrinsic \"llvm.nvvm.prmt\"(%i, %i, %i) : (i32, i32, i32) -> i32" => [Instruction::PermuteBytes { a: I, b: I, selector: I, .. }];
    }
}

#[test]
fn approximations_need_the_flag_that_allows_them() {
    let message = &problems("%0 = llvm.intr.tanh(%x) : (f32) -> f32")[0].message;
    assert!(message.contains("afn"), "{message}");
}

#[test]
fn comparisons_and_selects() {
    decodes! {
        "%0 = llvm.icmp \"ult\" %i, %i : i32" => [Instruction::CompareInteger { predicate: IntegerPredicate::Ult, bits: 32, a: I, b: I, .. }];
        "%0 = llvm.icmp \"eq\" %global, %global : !llvm.ptr<1>" => [Instruction::CompareInteger { predicate: IntegerPredicate::Eq, bits: 64, a: GLOBAL, .. }];
        "%0 = llvm.fcmp \"oge\" %x, %y : f32" => [Instruction::CompareFloat { predicate: FloatPredicate::Oge, format: Format::F32, a: X, b: Y, .. }];
        "%0 = llvm.fcmp \"uno\" %d, %d : f64" => [Instruction::CompareFloat { predicate: FloatPredicate::Uno, format: Format::F64, a: D, b: D, .. }];
        "%0 = llvm.select %p, %x, %y : i1, f32" => [Instruction::Select { condition: P, yes: X, no: Y, .. }];
    }
}

#[test]
fn casts() {
    decodes! {
        "%0 = llvm.trunc %j : i64 to i32" => [convert!(Conversion::Truncate { to: 32 }, J)];
        "%0 = llvm.sext %i : i32 to i64" => [convert!(Conversion::SignExtend { from: 32, to: 64 }, I)];
        "%0 = llvm.fptrunc %x : f32 to bf16" => [convert!(
            Conversion::Float {
                from: Format::F32,
                to: Format::BF16,
                rounding: Rounding::NearestEven,
                saturate: false,
                relu: false,
            },
            X
        )];
        "%0 = llvm.fpext %x : f32 to f64" => [convert!(Conversion::Float { from: Format::F32, to: Format::F64, .. }, X)];
        "%0 = llvm.sitofp %i : i32 to f32" => [convert!(Conversion::IntegerToFloat { from: 32, signed: true, to: Format::F32 }, I)];
        "%0 = llvm.uitofp %i : i32 to f32" => [convert!(Conversion::IntegerToFloat { from: 32, signed: false, to: Format::F32 }, I)];
        "%0 = llvm.fptosi %x : f32 to i32" => [convert!(
            Conversion::FloatToInteger { from: Format::F32, to: 32, signed: true, rounding: Rounding::Zero },
            X
        )];
        "%0 = llvm.fptoui %x : f32 to i64" => [convert!(Conversion::FloatToInteger { to: 64, signed: false, .. }, X)];
        "%0 = llvm.ptrtoint %shared : !llvm.ptr<3> to i32" => [convert!(Conversion::Truncate { to: 32 }, SHARED)];
        "%0 = llvm.bitcast %i : i32 to vector<2xbf16>" => [Instruction::Repack { to_bits: 16, from_bits: 32, .. }];
    }
}

#[test]
fn casts_that_change_no_bits_make_no_code() {
    decodes! {
        "%0 = llvm.zext %i : i32 to i64
         %1 = llvm.add %0, %0 : i64" => [integer!(Add, 64, I, I)];
        "%0 = llvm.bitcast %x : f32 to i32
         %1 = llvm.freeze %0 : i32
         %2 = llvm.add %1, %1 : i32" => [integer!(Add, 32, X, X)];
        "%0 = llvm.inttoptr %j : i64 to !llvm.ptr<1>
         %1 = llvm.ptrtoint %0 : !llvm.ptr<1> to i64
         %2 = llvm.add %1, %1 : i64" => [integer!(Add, 64, J, J)];
        "%0 = llvm.intr.expect %i, %i : i32
         %1 = llvm.intr.expect.with.probability %0, %0, 0.5 : i32
         %2 = llvm.add %1, %1 : i32" => [integer!(Add, 32, I, I)];
    }
}

#[test]
fn casts_between_address_spaces_add_the_window_of_shared_memory() {
    decodes! {
        "%0 = llvm.addrspacecast %shared : !llvm.ptr<3> to !llvm.ptr" => [integer!(Add, 64, SHARED, _)];
        "%0 = llvm.addrspacecast %generic : !llvm.ptr to !llvm.ptr<3>" => [integer!(Sub, 64, GENERIC, _)];
        "%0 = llvm.addrspacecast %generic : !llvm.ptr to !llvm.ptr<1>
         %1 = llvm.ptrtoint %0 : !llvm.ptr<1> to i64
         %2 = llvm.add %1, %1 : i64" => [integer!(Add, 64, GENERIC, GENERIC)];
    }
    let code = code("%0 = llvm.addrspacecast %cluster : !llvm.ptr<7> to !llvm.ptr");
    let window = code.iter().any(
        |instruction| matches!(instruction, Instruction::Constant { value, .. } if *value == SHARED_WINDOW),
    );
    assert!(window, "{code:?}");
}

#[test]
fn spaces_that_do_not_overlap_are_not_cast() {
    let found = problems("%0 = llvm.addrspacecast %shared : !llvm.ptr<3> to !llvm.ptr<1>");
    assert!(found[0].message.contains("do not overlap"));
}

#[test]
fn constants_have_their_patterns() {
    let value = |text: &str| {
        code(&format!("%0 = llvm.mlir.constant({text}"))
            .iter()
            .filter_map(|instruction| match instruction {
                Instruction::Constant { to, value } if *to != SHARED => Some(*value),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(value("-1 : i32) : i32"), [0xffff_ffff]);
    assert_eq!(value("true) : i1"), [1]);
    assert_eq!(value("1.5 : f32) : f32"), [0x3fc0_0000]);
    assert_eq!(value("-2.0 : bf16) : bf16"), [0xc000]);
    assert_eq!(value("1.0 : f16) : f16"), [0x3c00]);
    assert_eq!(
        value("dense<[1, -2]> : vector<2xi16>) : vector<2xi16>"),
        [1, 0xfffe]
    );
    assert_eq!(
        value("dense<1.0> : vector<4xf32>) : vector<4xf32>"),
        [0x3f80_0000]
    );
    assert_eq!(value("dense<[true, true]> : vector<2xi1>) : vector<2xi1>"), [1]);
}

#[test]
fn zero_and_undefined_values() {
    decodes! {
        "%0 = llvm.mlir.zero : i32
         %1 = llvm.add %0, %i : i32" => [integer!(Add, 32, SHARED, I)];
    }
    let code = code(
        "%0 = llvm.mlir.undef : i32
         %1 = llvm.mlir.poison : vector<4xf32>",
    );
    let undefined = |instruction: &&Instruction| matches!(instruction, Instruction::Undefined { .. });
    assert_eq!(
        code.iter().filter(undefined).count(),
        1,
        "one register stands for all"
    );
}

#[test]
fn taking_apart_and_together_makes_no_code() {
    decodes! {
        "%c = llvm.mlir.constant(1 : i32) : i32
         %u = llvm.mlir.poison : vector<2xf32>
         %a = llvm.insertelement %x, %u[%c : i32] : vector<2xf32>
         %b = llvm.shufflevector %a, %a [1, -1] : vector<2xf32>
         %z = llvm.mlir.constant(0 : i32) : i32
         %e = llvm.extractelement %b[%z : i32] : vector<2xf32>
         %f = llvm.fadd %e, %y : f32" => [float!(Add, X, Y)];
        "%u = llvm.mlir.poison : !llvm.struct<(i32, array<2 x f32>)>
         %a = llvm.insertvalue %x, %u[1, 1] : !llvm.struct<(i32, array<2 x f32>)>
         %b = llvm.extractvalue %a[1] : !llvm.struct<(i32, array<2 x f32>)>
         %e = llvm.extractvalue %b[1] : !llvm.array<2 x f32>
         %f = llvm.fadd %e, %y : f32" => [float!(Add, X, Y)];
    }
}

#[test]
fn elements_at_places_known_at_run_time_are_selected() {
    decodes! {
        "%c = llvm.mlir.constant(dense<1> : vector<2xi32>) : vector<2xi32>
         %0 = llvm.extractelement %c[%i : i32] : vector<2xi32>" => [Instruction::CompareInteger { predicate: IntegerPredicate::Eq, a: I, .. },
            Instruction::Select { .. },
            Instruction::CompareInteger { predicate: IntegerPredicate::Eq, a: I, .. },
            Instruction::Select { .. }];
        "%c = llvm.mlir.constant(dense<1> : vector<2xi32>) : vector<2xi32>
         %0 = llvm.insertelement %i, %c[%i : i32] : vector<2xi32>" => [Instruction::CompareInteger { .. },
            Instruction::Select { yes: I, .. },
            Instruction::CompareInteger { .. },
            Instruction::Select { yes: I, .. }];
    }
}

#[test]
fn vectors_are_reduced_in_order() {
    decodes! {
        "%v = llvm.bitcast %j : i64 to vector<2xf32>
         %0 = \"llvm.intr.vector.reduce.fadd\"(%x, %v) : (f32, vector<2xf32>) -> f32" => [Instruction::Float { op: FloatOp::Add, a: X, to: sum, .. },
            Instruction::Float { op: FloatOp::Add, a: partial, .. }] if sum == partial;
        "%v = llvm.bitcast %j : i64 to vector<2xi32>
         %0 = \"llvm.intr.vector.reduce.umax\"(%v) : (vector<2xi32>) -> i32" => [integer!(MaxUnsigned, 32, _, _)];
        "%v = llvm.bitcast %j : i64 to vector<2xf32>
         %0 = llvm.intr.vector.reduce.fmaximum(%v) : (vector<2xf32>) -> f32" => [float!(Maximum, _, _)];
    }
}

#[test]
fn functions_of_libdevice() {
    let text = "llvm.func @__nv_fmaf(f32, f32, f32) -> f32
        llvm.func @kernel(%x: f32) attributes {nvvm.kernel} {
          %0 = llvm.call @__nv_fmaf(%x, %x, %x) : (f32, f32, f32) -> f32
          llvm.return
        }";
    let program = super::parse(text, "call.mlir").unwrap_or_default();
    assert!(matches!(
        program.kernels[0].code[0],
        Instruction::FusedMultiplyAdd { a: 0, b: 0, c: 0, .. }
    ));
    let other = text.replace("__nv_fmaf", "other");
    let error = super::parse(&other, "call.mlir")
        .err()
        .map(|error| error.to_string());
    assert!(
        error
            .as_deref()
            .is_some_and(|error| error.starts_with("call.mlir:3:16: 'llvm.call' op calls 'other'")),
        "{error:?}"
    );
}

#[test]
fn hints_make_no_code() {
    let hints = code("llvm.intr.assume %p : i1");
    assert!(
        hints
            .iter()
            .all(|hint| matches!(hint, Instruction::Constant { .. }))
    );
}

#[test]
fn switches() {
    let program = super::decode(
        "llvm.switch %i : i32, ^default [
           -1: ^one(%x : f32),
           7: ^one(%y : f32)
         ]
         ^default:
           llvm.return
         ^one(%a: f32):
           llvm.unreachable",
    )
    .unwrap_or_default();
    let code = &program.kernels[0].code;
    let Some(Instruction::Switch {
        value: I,
        cases,
        default,
    }) = code
        .iter()
        .find(|instruction| matches!(instruction, Instruction::Switch { .. }))
    else {
        unreachable!("{code:?}")
    };
    assert_eq!(cases[0].0, 0xffff_ffff);
    assert_eq!(cases[1].0, 7);
    assert!(matches!(cases[1].1.moves[..], [(_, Y)]));
    assert_eq!(code[default.target as usize], Instruction::Return);
    assert_eq!(code[cases[0].1.target as usize], Instruction::Trap);
}

#[test]
fn traps() {
    decodes! { "\"llvm.intr.trap\"() : () -> ()" => [Instruction::Trap]; }
}
