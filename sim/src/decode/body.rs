//! The body of a kernel while it is decoded: registers, code, and the registers of SSA values.
//!
//! - A value whose op only renames scalars (a vector insertion, a bitcast of equal widths) gets the registers of its
//!   operands and no instruction. SSA makes that safe: a block argument is only rewritten on an edge to its block, and
//!   every use that an op of the old iteration dominates lies before that edge.
//! - Constants are set once, before the entry block, so that loops do not set them again.
//! - Until [`Body::finish`] the targets of edges are labels, not places in the code.

use std::collections::{HashMap, HashSet};

use melior::ir::{Value, ValueLike};

use super::{
    error::{Result, internal, unsupported},
    globals::SharedMemory,
    op::Op,
    shape::{Scalar, Shape},
};
use crate::program::*;

/// A place in the code that edges lead to.
pub(super) type Label = Pc;

/// Numbers the sites of a program.
#[derive(Default)]
pub(super) struct Sites {
    numbers: HashMap<Site, SiteId>,
    pub list: Vec<Site>,
}

impl Sites {
    pub fn number(&mut self, site: Site) -> SiteId {
        if let Some(number) = self.numbers.get(&site) {
            return *number;
        }
        let number = self.list.len() as SiteId;
        self.list.push(site.clone());
        self.numbers.insert(site, number);
        number
    }
}

/// The body of a kernel while it is decoded.
pub(super) struct Body<'m> {
    sites: &'m mut Sites,
    site: SiteId,
    code: Vec<Instruction>,
    code_sites: Vec<SiteId>,
    registers: Register,
    values: HashMap<usize, Vec<Register>>,
    constants: HashMap<u64, Register>,
    /// The constants in the order of their registers, with the site that first needed each.
    prologue: Vec<(Register, u64, SiteId)>,
    labels: Vec<Option<usize>>,
    /// Stands for all undefined values.
    undefined: Option<(Register, SiteId)>,
    /// The shared memory that the body names.
    pub shared: &'m SharedMemory,
    /// Whether f32 operations flush subnormals, as the function's `denormal_fp_math_f32` says.
    pub flush: bool,
    /// Registers that hold addresses of memory that LLVM loads with `ld.global.nc` (see [`super::read_only`]).
    pub invariant: HashSet<Register>,
}

/// A place in the body while it is decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    code: usize,
    registers: Register,
    labels: usize,
}

/// The finished code of a kernel.
pub(super) struct Finished {
    pub code: Vec<Instruction>,
    pub sites: Vec<SiteId>,
    pub registers: u32,
}

impl<'m> Body<'m> {
    pub fn new(shared: &'m SharedMemory, sites: &'m mut Sites) -> Self {
        Self {
            shared,
            sites,
            site: 0,
            code: Vec::new(),
            code_sites: Vec::new(),
            registers: 0,
            values: HashMap::new(),
            constants: HashMap::new(),
            prologue: Vec::new(),
            labels: Vec::new(),
            undefined: None,
            flush: false,
            invariant: HashSet::new(),
        }
    }

    /// Sets the site of the instructions that follow.
    pub fn at(&mut self, site: Site) {
        self.site = self.sites.number(site);
    }

    pub fn push(&mut self, instruction: Instruction) {
        self.code.push(instruction);
        self.code_sites.push(self.site);
    }

    pub fn fresh(&mut self) -> Register {
        self.registers += 1;
        self.registers - 1
    }

    pub fn fresh_many(&mut self, count: usize) -> Vec<Register> {
        (0..count).map(|_| self.fresh()).collect()
    }

    /// The register of a constant.
    pub fn constant(&mut self, value: u64) -> Register {
        if let Some(register) = self.constants.get(&value) {
            return *register;
        }
        let register = self.fresh();
        self.constants.insert(value, register);
        self.prologue.push((register, value, self.site));
        register
    }

    /// The value of a register that holds a constant.
    pub fn known(&self, register: Register) -> Option<u64> {
        let found = self
            .prologue
            .binary_search_by_key(&register, |(register, ..)| *register)
            .ok()?;
        Some(self.prologue[found].1)
    }

    /// The registers of a value.
    pub fn registers(&self, value: Value<'_, '_>) -> Result<Vec<Register>> {
        self.values
            .get(&key(value))
            .cloned()
            .ok_or_else(|| internal("uses a value that no op before it gives"))
    }

    /// Sets the registers that hold a value.
    pub fn define(&mut self, value: Value<'_, '_>, registers: Vec<Register>) {
        self.values.insert(key(value), registers);
    }

    /// Gives a value fresh registers, as many as its type needs.
    pub fn fresh_value(&mut self, value: Value<'_, '_>) -> Result<Vec<Register>> {
        let count = Shape::of(value.r#type())?.count();
        let registers = self.fresh_many(count);
        self.define(value, registers.clone());
        Ok(registers)
    }

    /// The registers of an operand.
    pub fn operand(&self, op: &Op<'_, '_>, index: usize) -> Result<Vec<Register>> {
        self.registers(op.operand(index)?)
    }

    /// The register of a scalar operand.
    pub fn scalar(&self, op: &Op<'_, '_>, index: usize) -> Result<Register> {
        match self.operand(op, index)?[..] {
            [register] => Ok(register),
            ref registers => Err(unsupported(format!(
                "expected a scalar as operand {index}, got {} components",
                registers.len()
            ))),
        }
    }

    /// The register of an optional operand, by its index.
    pub fn maybe(&self, op: &Op<'_, '_>, index: Option<usize>) -> Result<Option<Register>> {
        index.map(|index| self.scalar(op, index)).transpose()
    }

    /// Sets the registers that hold the op's only result.
    pub fn result(&mut self, op: &Op<'_, '_>, registers: Vec<Register>) -> Result<()> {
        self.define(op.raw.result(0)?.into(), registers);
        Ok(())
    }

    /// Gives the op's only result a fresh register.
    pub fn scalar_result(&mut self, op: &Op<'_, '_>) -> Result<Register> {
        let to = self.fresh();
        self.result(op, vec![to])?;
        Ok(to)
    }

    /// Decodes an op on N scalars, or on vectors of them component by component. The closure gets the type of the
    /// first operand's components.
    pub fn each<const N: usize>(
        &mut self,
        op: &Op<'_, '_>,
        instruction: impl Fn(Register, [Register; N], Scalar) -> Result<Instruction>,
    ) -> Result<()> {
        let scalar = Shape::of(op.operand_type(0)?)?.element()?;
        let operands = (0..N)
            .map(|index| self.operand(op, index))
            .collect::<Result<Vec<_>>>()?;
        let mut results = Vec::new();
        for component in 0..operands[0].len() {
            let mut from = [0; N];
            for (slot, operand) in from.iter_mut().zip(&operands) {
                *slot = *operand
                    .get(component)
                    .ok_or_else(|| internal("has operands of different lengths"))?;
            }
            let to = self.fresh();
            let instruction = instruction(to, from, scalar)?;
            self.push(instruction);
            results.push(to);
        }
        self.result(op, results)
    }

    /// An integer operation with a fresh result.
    pub fn integer(&mut self, op: IntegerOp, bits: u8, a: Register, b: Register) -> Register {
        let to = self.fresh();
        self.push(Instruction::Integer { op, bits, to, a, b });
        to
    }

    /// A conversion with a fresh result.
    pub fn convert(&mut self, conversion: Conversion, from: Register) -> Register {
        let to = self.fresh();
        self.push(Instruction::Convert { conversion, to, from });
        to
    }

    /// An integer comparison with a fresh result.
    pub fn compare(&mut self, predicate: IntegerPredicate, bits: u8, a: Register, b: Register) -> Register {
        let to = self.fresh();
        self.push(Instruction::CompareInteger {
            predicate,
            bits,
            to,
            a,
            b,
        });
        to
    }

    /// `condition ? yes : no`.
    pub fn select(&mut self, condition: Register, yes: Register, no: Register) -> Register {
        let to = self.fresh();
        self.push(Instruction::Select {
            to,
            condition,
            yes,
            no,
        });
        to
    }

    /// The bits of `from`, split again into registers of `to_bits`.
    pub fn repack(&mut self, from: Vec<Register>, from_bits: u8, to_bits: u8) -> Vec<Register> {
        if from_bits == to_bits {
            return from;
        }
        let bits = from.len() * usize::from(from_bits);
        let to = self.fresh_many(bits.div_ceil(usize::from(to_bits)));
        self.push(Instruction::Repack {
            to: to.clone(),
            to_bits,
            from,
            from_bits,
        });
        to
    }

    /// A label that no place has yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        (self.labels.len() - 1) as Label
    }

    /// Puts a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        self.labels[label as usize] = Some(self.code.len());
    }

    /// How many instructions there are so far.
    pub fn here(&self) -> usize {
        self.code.len()
    }

    /// Lets only the lanes of `guard` execute the instructions pushed since `begin`, which must have no label among
    /// them.
    pub fn skip(&mut self, begin: usize, guard: Guard) {
        let (inside, after) = (self.label(), self.label());
        let to = |target| Edge {
            target,
            moves: Vec::new(),
        };
        let (yes, no) = if guard.negated {
            (after, inside)
        } else {
            (inside, after)
        };
        let branch = Instruction::ConditionalBranch {
            condition: guard.register,
            yes: to(yes),
            no: to(no),
        };
        self.code.insert(begin, branch);
        self.code_sites.insert(begin, self.site);
        self.labels[inside as usize] = Some(begin + 1);
        self.place(after);
    }

    /// Marks the current place, where inline assembly begins.
    pub fn mark(&self) -> Mark {
        Mark {
            code: self.code.len(),
            registers: self.registers,
            labels: self.labels.len(),
        }
    }

    /// Makes the own registers of inline assembly, which begins at `start`, undefined there if it may read them, or
    /// leave them as `outputs`, before it has set them.
    pub fn undefine_since(&mut self, start: Mark, site: Site, outputs: &[Register]) {
        let mut set = HashSet::new();
        let mut unset = Vec::new();
        let mut is_straight = true;
        let mut note = |register: Register, set: &HashSet<Register>| {
            let is_own = register >= start.registers && self.known(register).is_none();
            if is_own && !set.contains(&register) && !unset.contains(&register) {
                unset.push(register);
            }
        };
        for instruction in &self.code[start.code..] {
            instruction
                .reads()
                .into_iter()
                .for_each(|register| note(register, &set));
            // Instructions behind a branch may be skipped, so what they set does not count; a run shows whether they
            // were.
            is_straight &= instruction.edges().is_empty();
            if is_straight && instruction.guard().is_none() {
                set.extend(instruction.writes());
            }
        }
        outputs.iter().for_each(|register| note(*register, &set));
        let undefined = unset.into_iter().map(|to| Instruction::Undefined { to });
        let count = undefined.len();
        self.code.splice(start.code..start.code, undefined);
        let site = self.sites.number(site);
        self.code_sites
            .splice(start.code..start.code, std::iter::repeat_n(site, count));
        for place in self.labels[start.labels..].iter_mut().flatten() {
            *place += count;
        }
    }

    /// The register of an undefined value.
    pub fn undefined(&mut self) -> Register {
        if let Some((register, _)) = self.undefined {
            return register;
        }
        let register = self.fresh();
        self.undefined = Some((register, self.site));
        register
    }

    /// Puts the constants first and turns labels into places.
    pub fn finish(self) -> Result<Finished> {
        let before = self.prologue.len() + usize::from(self.undefined.is_some());
        let places = self
            .labels
            .iter()
            .map(|place| place.map(|place| (place + before) as Pc))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| internal("has an edge that leads nowhere"))?;
        let constants = self.prologue.iter().map(|(to, value, site)| {
            let constant = Instruction::Constant {
                to: *to,
                value: *value,
            };
            (constant, *site)
        });
        let undefined = self
            .undefined
            .map(|(to, site)| (Instruction::Undefined { to }, site));
        let (mut code, sites): (Vec<_>, Vec<_>) = undefined
            .into_iter()
            .chain(constants)
            .chain(self.code.into_iter().zip(self.code_sites))
            .unzip();
        let resolve = |edge: &mut Edge| edge.target = places[edge.target as usize];
        for instruction in &mut code {
            match instruction {
                Instruction::Branch(edge) => resolve(edge),
                Instruction::ConditionalBranch { yes, no, .. } => {
                    resolve(yes);
                    resolve(no);
                }
                Instruction::Switch { cases, default, .. } => {
                    cases.iter_mut().for_each(|(_, edge)| resolve(edge));
                    resolve(default);
                }
                _ => {}
            }
        }
        Ok(Finished {
            code,
            sites,
            registers: self.registers,
        })
    }
}

fn key(value: Value<'_, '_>) -> usize {
    value.to_raw().ptr as usize
}
