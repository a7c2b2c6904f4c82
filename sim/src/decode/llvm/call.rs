//! Calls of LLVM intrinsics by name, and of the functions of libdevice that are one instruction.

use super::super::{
    body::Body,
    error::{Result, unsupported},
    op::Op,
    shape::{Scalar, Shape},
};
use crate::program::{ApproximateFunction as Approximate, FloatOp, Format, Instruction, Register};

/// A function of floats that is one instruction.
enum Function {
    Float(FloatOp, Format),
    Fused(Format),
    Special(Approximate),
    PermuteBytes,
}

/// `llvm.call`: only functions of libdevice, as NVVM's reflection with its defaults resolves them.
pub(super) fn function(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let Some(callee) = op.text("callee") else {
        return Err(unsupported("calls through a pointer, which is not modelled"));
    };
    use {
        Format::{F32, F64},
        Function::{Float, Fused, Special},
    };
    let function = match callee {
        "__nv_fmaf" | "__nv_fmaf_rn" => Fused(F32),
        "__nv_fma" | "__nv_fma_rn" => Fused(F64),
        "__nv_fabsf" => Float(FloatOp::Abs, F32),
        "__nv_fabs" => Float(FloatOp::Abs, F64),
        "__nv_fmaxf" => Float(FloatOp::MaxNum, F32),
        "__nv_fminf" => Float(FloatOp::MinNum, F32),
        "__nv_fmax" => Float(FloatOp::MaxNum, F64),
        "__nv_fmin" => Float(FloatOp::MinNum, F64),
        "__nv_copysignf" => Float(FloatOp::CopySign, F32),
        "__nv_floorf" => Float(FloatOp::Floor, F32),
        "__nv_ceilf" => Float(FloatOp::Ceil, F32),
        "__nv_truncf" => Float(FloatOp::Trunc, F32),
        "__nv_rintf" => Float(FloatOp::Rint, F32),
        // Without `nvvm-reflect-ftz` and with `__CUDA_PREC_SQRT` unset, libdevice takes the approximate instructions.
        "__nv_rsqrtf" => Special(Approximate::ReciprocalSquareRoot),
        "__nv_sqrtf" | "__nv_fsqrt_approx" => Special(Approximate::SquareRoot),
        _ => {
            return Err(unsupported(format!(
                "calls '{callee}', which is not modelled; only single-instruction functions of libdevice are"
            )));
        }
    };
    decode(op, body, function, body.flush)
}

/// `llvm.call_intrinsic`.
pub(super) fn intrinsic(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let name = op.need_text("intrin")?;
    let (function, flush) = name
        .strip_prefix("llvm.nvvm.")
        .and_then(nvvm_function)
        .ok_or_else(|| unsupported(format!("calls '{name}', which is not modelled")))?;
    decode(op, body, function, flush)
}

/// The function of an intrinsic (`IntrinsicsNVVM.td`), and whether it flushes subnormals.
fn nvvm_function(name: &str) -> Option<(Function, bool)> {
    if name == "prmt" {
        return Some((Function::PermuteBytes, false));
    }
    // These two name no type.
    if let "div.full" | "div.full.ftz" = name {
        return Some((Function::Special(Approximate::DivideFull), name.ends_with(".ftz")));
    }
    let (stem, suffix) = name.rsplit_once('.')?;
    let format = match suffix {
        "f" | "f32" => Format::F32,
        "d" | "f64" => Format::F64,
        "f16" => Format::F16,
        "bf16" => Format::BF16,
        _ => return None,
    };
    let parts: Vec<&str> = stem.split('.').collect();
    let flush = parts.contains(&"ftz");
    let rest: Vec<&str> = parts.into_iter().filter(|part| *part != "ftz").collect();
    if flush && !matches!(format, Format::F32 | Format::F16) {
        return None;
    }
    let function = match rest[..] {
        [name, "approx"] if format == Format::F32 => Function::Special(match name {
            "ex2" => Approximate::Exp2,
            "lg2" => Approximate::Log2,
            "rsqrt" => Approximate::ReciprocalSquareRoot,
            "rcp" => Approximate::Reciprocal,
            "sqrt" => Approximate::SquareRoot,
            "sin" => Approximate::Sin,
            "cos" => Approximate::Cos,
            "tanh" => Approximate::Tanh,
            "div" => Approximate::Divide,
            _ => return None,
        }),
        ["fma", "rn"] => Function::Fused(format),
        ["add", "rn"] => Function::Float(FloatOp::Add, format),
        ["mul", "rn"] => Function::Float(FloatOp::Mul, format),
        ["div", "rn"] => Function::Float(FloatOp::Div, format),
        ["sqrt", "rn"] => Function::Float(FloatOp::Sqrt, format),
        ["fmax"] => Function::Float(FloatOp::MaxNum, format),
        ["fmin"] => Function::Float(FloatOp::MinNum, format),
        ["fmax", "nan"] => Function::Float(FloatOp::Maximum, format),
        ["fmin", "nan"] => Function::Float(FloatOp::Minimum, format),
        ["fabs"] => Function::Float(FloatOp::Abs, format),
        ["floor"] => Function::Float(FloatOp::Floor, format),
        ["ceil"] => Function::Float(FloatOp::Ceil, format),
        ["trunc"] => Function::Float(FloatOp::Trunc, format),
        ["round"] => Function::Float(FloatOp::Rint, format),
        _ => return None,
    };
    Some((function, flush))
}

fn decode(op: &Op<'_, '_>, body: &mut Body<'_>, function: Function, flush: bool) -> Result<()> {
    let operands = (0..op.operands())
        .map(|index| body.scalar(op, index))
        .collect::<Result<Vec<_>>>()?;
    let expects = |format: Format| match Shape::of(op.operand_type(0)?)?.element()? {
        Scalar::Float(got) if got == format => Ok(()),
        other => Err(unsupported(format!(
            "expected {format:?} operands, got {other:?}"
        ))),
    };
    let to = body.fresh();
    let instruction = match (function, &operands[..]) {
        (Function::Float(kind, format), &[a, ref rest @ ..]) if rest.len() < 2 => {
            expects(format)?;
            let b = rest.first().copied().unwrap_or(a);
            Instruction::Float {
                op: kind,
                format,
                flush,
                to,
                a,
                b,
            }
        }
        (Function::Fused(format), &[a, b, c]) => {
            expects(format)?;
            Instruction::FusedMultiplyAdd {
                format,
                flush,
                to,
                a,
                b,
                c,
            }
        }
        (Function::Special(function), &[a, ref rest @ ..])
            if rest.len()
                == usize::from(matches!(function, Approximate::Divide | Approximate::DivideFull)) =>
        {
            expects(Format::F32)?;
            let b: Register = rest.first().copied().unwrap_or(a);
            Instruction::Approximate {
                function,
                flush,
                to,
                a,
                b,
            }
        }
        (Function::PermuteBytes, &[a, b, selector]) => Instruction::PermuteBytes { to, a, b, selector },
        _ => {
            let count = operands.len();
            return Err(unsupported(format!(
                "has {count} operands, which is not modelled"
            )));
        }
    };
    body.push(instruction);
    body.result(op, vec![to])
}
