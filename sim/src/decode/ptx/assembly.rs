//! A text of PTX while it is decoded: its operands, its registers and its labels.
//!
//! The text's own registers are not in SSA form: each is one register of the kernel for its whole life, and so is each
//! output.

use std::collections::HashMap;

use super::{
    super::{
        body::{Body, Label},
        error::{Fault, Result, invalid, unsupported},
        nvvm,
    },
    instruction,
    qualifiers::{Kind, Type},
    statement::{Item, Operand, Statement, items},
};
use crate::program::*;

/// An operand of the op that holds the text.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Argument {
    pub register: Register,
    pub bits: u8,
    /// Whether the text may write it.
    pub output: bool,
}

/// A text of PTX while it is decoded.
pub(super) struct Assembly<'b, 'm> {
    pub body: &'b mut Body<'m>,
    arguments: &'b [Argument],
    scopes: Vec<HashMap<String, (Register, u8)>>,
    labels: HashMap<String, Label>,
    placed: Vec<Label>,
    guard: Option<Guard>,
    guard_taken: bool,
}

/// Decodes a text. The site of its instructions is `site`, with the PTX instruction in place of the op.
pub(in super::super) fn decode(
    body: &mut Body<'_>,
    text: &str,
    arguments: &[Argument],
    site: &Site,
) -> Result<()> {
    let items = items(text)?;
    let mut asm = Assembly {
        body,
        arguments,
        scopes: vec![HashMap::new()],
        labels: HashMap::new(),
        placed: Vec::new(),
        guard: None,
        guard_taken: false,
    };
    let mut faults: Vec<Fault> = Vec::new();
    for item in &items {
        match item {
            Item::Open => asm.scopes.push(HashMap::new()),
            Item::Close if asm.scopes.len() > 1 => {
                asm.scopes.pop();
            }
            Item::Close => return Err(invalid("has PTX with a '}' too many")),
            Item::Registers { bits, names } => asm.declare(*bits, names),
            Item::Label(name) => asm.place(name)?,
            Item::Statement(statement) => {
                let op = statement.mnemonic.clone();
                asm.body.at(Site { op, ..site.clone() });
                if let Err(fault) = asm.statement(statement) {
                    faults.push(Fault {
                        message: format!("has PTX `{}`, which {}", statement.text, fault.message),
                        ..fault
                    });
                }
            }
        }
    }
    if asm.scopes.len() > 1 {
        return Err(invalid("has PTX with a '}' too few"));
    }
    if let Some(first) = faults.first() {
        let kind = first.kind;
        let messages: Vec<_> = faults.iter().map(|fault| fault.message.as_str()).collect();
        return Err(Fault {
            kind,
            message: messages.join("; "),
        });
    }
    match asm.labels.iter().find(|(_, label)| !asm.placed.contains(label)) {
        Some((name, _)) => Err(invalid(format!(
            "has PTX that branches to '{name}', which is nowhere"
        ))),
        None => Ok(()),
    }
}

impl Assembly<'_, '_> {
    fn declare(&mut self, bits: u8, names: &[String]) {
        for name in names {
            let register = self.body.fresh();
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name.clone(), (register, bits));
            }
        }
    }

    fn place(&mut self, name: &str) -> Result<()> {
        let label = self.label(name);
        if self.placed.contains(&label) {
            return Err(unsupported(format!(
                "has PTX with two labels '{name}', which is not modelled"
            )));
        }
        self.placed.push(label);
        self.body.place(label);
        Ok(())
    }

    /// The label of that name.
    pub fn label(&mut self, name: &str) -> Label {
        if let Some(label) = self.labels.get(name) {
            return *label;
        }
        let label = self.body.label();
        self.labels.insert(name.to_owned(), label);
        label
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        self.guard = match &statement.guard {
            None => None,
            Some((predicate, negated)) => Some(Guard {
                register: self.source(predicate, PREDICATE)?,
                negated: *negated,
            }),
        };
        self.guard_taken = false;
        let begin = self.body.here();
        instruction(self, statement)?;
        if let Some(guard) = self.guard
            && !self.guard_taken
        {
            self.body.skip(begin, guard);
        }
        Ok(())
    }

    /// Takes the statement's guard, for an instruction that has a guard itself. Other guarded instructions are branched
    /// around.
    pub fn guard(&mut self) -> Option<Guard> {
        self.guard_taken = true;
        self.guard
    }

    pub fn push(&mut self, instruction: Instruction) -> Result<()> {
        self.body.push(instruction);
        Ok(())
    }

    fn find(&self, operand: &Operand) -> Result<Option<Argument>> {
        match operand {
            Operand::Argument(number) => match self.arguments.get(*number) {
                Some(argument) => Ok(Some(*argument)),
                None => Err(invalid(format!(
                    "names operand ${number} of {}",
                    self.arguments.len()
                ))),
            },
            Operand::Name(name) => Ok(self.scopes.iter().rev().find_map(|scope| {
                scope.get(name).map(|&(register, bits)| Argument {
                    register,
                    bits,
                    output: true,
                })
            })),
            _ => Ok(None),
        }
    }

    /// The register that an operand reads, as a value of `ty`.
    pub fn source(&mut self, operand: &Operand, ty: Type) -> Result<Register> {
        if let Some(argument) = self.find(operand)? {
            return Ok(argument.register);
        }
        Ok(match operand {
            Operand::Name(name) => self.special(name)?,
            Operand::Integer(value) if !matches!(ty.kind, Kind::Float(_)) => self
                .body
                .constant(*value as u64 & (u64::MAX >> (64 - u32::from(ty.bits)))),
            Operand::Pattern(pattern) => self.body.constant(*pattern),
            Operand::Float(value) => match ty.kind {
                Kind::Float(Format::F32) => self.body.constant(u64::from((*value as f32).to_bits())),
                Kind::Float(Format::F64) => self.body.constant(value.to_bits()),
                _ => {
                    return Err(unsupported(format!(
                        "has immediate {value} for a type that has none"
                    )));
                }
            },
            Operand::Not(inner) if ty == PREDICATE => {
                let inner = self.source(inner, ty)?;
                let one = self.body.constant(1);
                self.body.integer(IntegerOp::Xor, 1, inner, one)
            }
            other => {
                return Err(unsupported(format!(
                    "has operand {other:?}, which is not modelled"
                )));
            }
        })
    }

    /// A special register such as `%tid.x`.
    fn special(&mut self, name: &str) -> Result<Register> {
        let register = match name {
            "WARP_SZ" => Some(SpecialRegister::WarpSize),
            _ => name
                .strip_prefix('%')
                .and_then(|name| nvvm::special::register(&name.replace('_', "."))),
        };
        let register =
            register.ok_or_else(|| unsupported(format!("names '{name}', which is not modelled")))?;
        let to = self.body.fresh();
        self.body.push(Instruction::Special { register, to });
        if register == SpecialRegister::Clock && !matches!(name, "%clock64" | "%globaltimer") {
            return Ok(self.body.convert(Conversion::Truncate { to: 32 }, to));
        }
        Ok(to)
    }

    /// The register that an operand writes; `_` is one that nothing reads.
    pub fn destination(&mut self, operand: &Operand) -> Result<Register> {
        Ok(self.wide_destination(operand)?.0)
    }

    /// The register that an operand writes, and its width.
    pub fn wide_destination(&mut self, operand: &Operand) -> Result<(Register, u8)> {
        if *operand == Operand::Name("_".to_owned()) {
            return Ok((self.body.fresh(), 64));
        }
        match self.find(operand)? {
            Some(argument) if argument.output => Ok((argument.register, argument.bits)),
            Some(_) => Err(invalid("writes an operand that is only an input")),
            None => Err(unsupported(format!("writes {operand:?}, which is not modelled"))),
        }
    }

    /// The address `[base + offset]`.
    pub fn address(&mut self, operand: &Operand) -> Result<Register> {
        let Operand::Address(base, offset) = operand else {
            return Err(invalid(format!("expected an address, got {operand:?}")));
        };
        let base = self.source(base, B64)?;
        if *offset == 0 {
            return Ok(base);
        }
        let to = self.body.fresh();
        let b = self.body.constant(*offset as u64);
        self.body.push(Instruction::Address {
            to,
            a: base,
            b,
            bits: 64,
            scale: 1,
        });
        Ok(to)
    }

    /// The components of a vector operand, or a scalar as one.
    pub fn components<'o>(&self, operand: &'o Operand, count: usize) -> Result<&'o [Operand]> {
        let components = match operand {
            Operand::Vector(components) => &components[..],
            scalar => std::slice::from_ref(scalar),
        };
        if components.len() != count {
            return Err(invalid(format!(
                "expected {count} components, got {}",
                components.len()
            )));
        }
        Ok(components)
    }
}

/// A predicate.
pub(super) const PREDICATE: Type = Type {
    kind: Kind::Predicate,
    bits: 1,
};
/// `.b32`.
pub(super) const B32: Type = Type {
    kind: Kind::Bits,
    bits: 32,
};
/// `.b64`.
pub(super) const B64: Type = Type {
    kind: Kind::Bits,
    bits: 64,
};

/// The fault of an instruction whose operands have another form than is modelled.
pub(super) fn operands(found: &[Operand]) -> Fault {
    unsupported(format!(
        "has {} operands in a form that is not modelled",
        found.len()
    ))
}
