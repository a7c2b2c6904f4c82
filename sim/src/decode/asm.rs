//! Inline assembly: binds the operands of `llvm.inline_asm` and `nvvm.inline_ptx` to the operands that the text names.

use melior::ir::ValueLike;

use super::{
    body::Body,
    error::{Result, invalid, unsupported},
    op::Op,
    ptx::{self, Argument},
    shape::Shape,
};
use crate::program::{Instruction, Register};

/// A value that an asm operand holds: one scalar, or a vector whose bits fill a register.
struct Held {
    /// Components, and the width of each.
    count: usize,
    element: u8,
}

impl Held {
    fn of(shape: &Shape) -> Result<Self> {
        match shape {
            Shape::Scalar(scalar) => Ok(Self {
                count: 1,
                element: scalar.bits(),
            }),
            Shape::Vector { element, count } if u64::from(element.bits()) * count <= 64 => Ok(Self {
                count: *count as usize,
                element: element.bits(),
            }),
            _ => Err(unsupported("has an operand that fits no register")),
        }
    }

    fn bits(&self) -> u8 {
        self.element * self.count as u8
    }
}

/// `llvm.inline_asm`.
pub(super) fn inline_asm(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    if op.integer("asm_dialect").unwrap_or(0) != 0 {
        return Err(unsupported("has a dialect other than AT&T, which PTX has not"));
    }
    let text = op.need_text("asm_string")?;
    let constraints = Constraints::parse(op.need_text("constraints")?)?;
    let results = result_shapes(op)?;
    if constraints.outputs != results.len() {
        return Err(invalid(format!(
            "has {} outputs and {} results",
            constraints.outputs,
            results.len()
        )));
    }
    if constraints.inputs.len() != op.operands() {
        return Err(invalid(format!(
            "has {} input constraints and {} operands",
            constraints.inputs.len(),
            op.operands()
        )));
    }
    let inputs = (0..op.operands())
        .map(|index| bind_input(op, body, index))
        .collect::<Result<Vec<_>>>()?;
    if text.trim().is_empty() {
        return empty(op, body, &constraints, &inputs);
    }
    let start = body.mark();
    let mut arguments = Vec::new();
    for shape in &results {
        arguments.push(Argument {
            register: body.fresh(),
            bits: Held::of(shape)?.bits(),
            output: true,
        });
    }
    for (input, tie) in inputs.into_iter().zip(&constraints.inputs) {
        match tie {
            Some(output) => {
                let tied: Argument = arguments[*output];
                body.push(Instruction::Copy {
                    to: tied.register,
                    from: input.register,
                });
                arguments.push(tied);
            }
            None => arguments.push(input),
        }
    }
    ptx::decode(body, text, &arguments, &op.site())?;
    body.undefine_since(start, op.site(), &outputs_of(&arguments));
    let mut registers = Vec::new();
    for (shape, argument) in results.iter().zip(&arguments) {
        registers.extend(unpack(body, argument.register, shape)?);
    }
    match op.results() {
        0 => Ok(()),
        _ => body.result(op, registers),
    }
}

/// Decodes a text without instructions, whose outputs are the inputs tied to them. It hides that from the optimizer.
fn empty(op: &Op<'_, '_>, body: &mut Body<'_>, constraints: &Constraints, inputs: &[Argument]) -> Result<()> {
    let mut registers = Vec::new();
    for (output, shape) in result_shapes(op)?.iter().enumerate() {
        let tied = constraints.inputs.iter().position(|tie| *tie == Some(output));
        match tied {
            Some(input) => registers.extend(unpack(body, inputs[input].register, shape)?),
            None => registers.extend(std::iter::repeat_n(body.undefined(), shape.count())),
        }
    }
    match op.results() {
        0 => Ok(()),
        _ => body.result(op, registers),
    }
}

/// The types of the outputs: of the fields of a struct, or of the only result.
fn result_shapes(op: &Op<'_, '_>) -> Result<Vec<std::rc::Rc<Shape>>> {
    if op.results() == 0 {
        return Ok(Vec::new());
    }
    let shape = Shape::of(op.result_type(0)?)?;
    Ok(match &*shape {
        Shape::Struct { fields, .. } => fields.clone(),
        _ => vec![shape],
    })
}

fn bind_input(op: &Op<'_, '_>, body: &mut Body<'_>, index: usize) -> Result<Argument> {
    let held = Held::of(&*Shape::of(op.operand_type(index)?)?)?;
    let registers = body.operand(op, index)?;
    let bits = held.bits();
    Ok(Argument {
        register: body.repack(registers, held.element, bits)[0],
        bits,
        output: false,
    })
}

fn outputs_of(arguments: &[Argument]) -> Vec<Register> {
    let outputs = arguments.iter().filter(|argument| argument.output);
    outputs.map(|argument| argument.register).collect()
}

/// The components of a value that lies in one register.
fn unpack(body: &mut Body<'_>, register: Register, shape: &Shape) -> Result<Vec<Register>> {
    let held = Held::of(shape)?;
    Ok(body.repack(vec![register], held.bits(), held.element))
}

/// LLVM's constraints: outputs, then inputs, then clobbers ("Inline Asm Constraint String" of the language reference).
struct Constraints {
    outputs: usize,
    /// For each input the output that it is tied to.
    inputs: Vec<Option<usize>>,
}

impl Constraints {
    fn parse(text: &str) -> Result<Self> {
        let mut constraints = Self {
            outputs: 0,
            inputs: Vec::new(),
        };
        for constraint in text
            .split(',')
            .map(str::trim)
            .filter(|constraint| !constraint.is_empty())
        {
            if constraint.starts_with("~{") {
                continue;
            }
            if let Some(kind) = constraint.strip_prefix('=') {
                register_class(kind.trim_start_matches('&'), constraint)?;
                constraints.outputs += 1;
            } else if let Ok(output) = constraint.parse::<usize>() {
                if output >= constraints.outputs {
                    return Err(invalid(format!(
                        "ties an input to output {output}, which it lacks"
                    )));
                }
                constraints.inputs.push(Some(output));
            } else {
                register_class(constraint, constraint)?;
                constraints.inputs.push(None);
            }
        }
        Ok(constraints)
    }
}

/// NVPTX's register classes, and immediates.
fn register_class(kind: &str, constraint: &str) -> Result<()> {
    match kind {
        "b" | "c" | "h" | "r" | "l" | "q" | "f" | "d" | "n" | "i" => Ok(()),
        _ => Err(unsupported(format!(
            "has constraint '{constraint}', which is not modelled"
        ))),
    }
}

/// `nvvm.inline_ptx`. Its operands are numbered as in its lowering: read-write operands, results, read-only operands,
/// the predicate. The predicate guards the first instruction. Later uses of a read-write operand see the value that the
/// text leaves in it.
pub(super) fn inline_ptx(op: &Op<'_, '_>, body: &mut Body<'_>) -> Result<()> {
    let (read_only, read_write, predicate) = (op.segment(0)?, op.segment(1)?, op.optional(2)?);
    let start = body.mark();
    let mut arguments = Vec::new();
    let mut outputs = Vec::new();
    for index in read_write {
        let from = bind_input(op, body, index)?;
        let register = body.fresh();
        body.push(Instruction::Copy {
            to: register,
            from: from.register,
        });
        arguments.push(Argument {
            register,
            output: true,
            ..from
        });
        outputs.push(op.operand(index)?);
    }
    for index in 0..op.results() {
        let held = Held::of(&*Shape::of(op.result_type(index)?)?)?;
        arguments.push(Argument {
            register: body.fresh(),
            bits: held.bits(),
            output: true,
        });
        outputs.push(op.raw.result(index)?.into());
    }
    for index in read_only {
        arguments.push(bind_input(op, body, index)?);
    }
    // As the op's lowering does, this names operands as LLVM's inline assembly names them.
    let mut text = op.need_text("ptxCode")?.replace('%', "$");
    if let Some(predicate) = predicate {
        text = format!("@${} {text}", arguments.len());
        arguments.push(bind_input(op, body, predicate)?);
    }
    ptx::decode(body, &text, &arguments, &op.site())?;
    body.undefine_since(start, op.site(), &outputs_of(&arguments));
    for (value, argument) in outputs.into_iter().zip(&arguments) {
        let registers = unpack(body, argument.register, &*Shape::of(value.r#type())?)?;
        body.define(value, registers);
    }
    Ok(())
}
