//! A kernel: its parameters, launch bounds, blocks and edges.

use std::collections::HashMap;

use melior::ir::{
    Attribute, AttributeLike, BlockLike, BlockRef, RegionLike, Type, ValueLike, operation::OperationLike,
};
use mlir_sys::*;
use norma_targets::SM_90A;

use super::{
    blocks,
    body::{Body, Label, Sites},
    error::{Problem, Result, internal, unsupported},
    globals::Globals,
    llvm, nvvm,
    op::{self, Op},
    read_only,
    shape::{Scalar, Shape},
};
use crate::program::{Edge, Kernel, Parameter, ParameterKind, Register, Space};

/// Registers of a multiprocessor, and the most of a thread, which are the same on every target.
const REGISTER_FILE: i64 = SM_90A.registers_per_sm as i64;
const MOST_REGISTERS: i64 = SM_90A.registers_per_thread as i64;

/// Decodes the kernel `function`, noting what cannot be decoded in `problems`.
pub(super) fn decode(
    function: &Op<'_, '_>,
    globals: &Globals,
    sites: &mut Sites,
    problems: &mut Vec<Problem>,
) -> Kernel {
    let before = problems.len();
    let mut kernel = Kernel::default();
    if let Err(fault) = decode_into(&mut kernel, function, globals, sites, problems)
        // An op that could not be decoded, and is reported already, may be the cause.
        && problems.len() == before
    {
        problems.push(fault.at(function));
    }
    kernel
}

fn decode_into(
    kernel: &mut Kernel,
    function: &Op<'_, '_>,
    globals: &Globals,
    sites: &mut Sites,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    let blocks = blocks_of(function)?;
    let memory = globals.lay_out(blocks.iter().flat_map(ops_of), |op, fault| {
        problems.push(fault.at(op))
    })?;
    let mut body = Body::new(&memory, sites);
    body.at(function.site());
    if let Err(fault) = signature(function, &blocks, &mut body, kernel) {
        problems.push(fault.at(function));
    }
    let labels: Vec<_> = blocks.iter().map(|_| body.label()).collect();
    let places = blocks.iter().map(place).zip(labels.iter().copied());
    let edges = Edges {
        labels: places.collect(),
    };
    for (block, label) in blocks.iter().zip(&labels) {
        body.place(*label);
        arguments(block, &mut body)?;
        for op in ops_of(block) {
            body.at(op.site());
            if let Err(fault) = instruction(&op, &mut body, &edges) {
                problems.push(fault.at(&op));
                // Its results get registers, so that ops that use them can still be checked.
                for result in op.raw.results() {
                    body.fresh_value(result.into())?;
                }
            }
        }
    }
    let finished = body.finish()?;
    kernel.code = finished.code;
    kernel.sites = finished.sites;
    kernel.registers = finished.registers;
    kernel.shared = memory.variables;
    kernel.static_shared_bytes = memory.bytes;
    kernel.dynamic_shared_offset = memory.dynamic;
    kernel.packed_shared_bytes = memory.packed;
    Ok(())
}

/// The ops of a block.
pub(super) fn ops_of<'c, 'a>(block: &BlockRef<'c, 'a>) -> impl Iterator<Item = Op<'c, 'a>> + use<'c, 'a> {
    std::iter::successors(block.first_operation(), |op| op.next_in_block()).map(Op::new)
}

/// The registers of a block's arguments. They are allocated by the first edge to the block, or by the block itself.
fn arguments(block: &BlockRef<'_, '_>, body: &mut Body<'_>) -> Result<Vec<Vec<Register>>> {
    (0..block.argument_count())
        .map(|index| {
            let argument = block.argument(index)?.into();
            match body.registers(argument) {
                Ok(registers) => Ok(registers),
                Err(_) => body.fresh_value(argument),
            }
        })
        .collect()
}

fn instruction(op: &Op<'_, '_>, body: &mut Body<'_>, edges: &Edges) -> Result<()> {
    match op.name.split_once('.') {
        Some(("llvm", _)) => llvm::decode(op, body, edges),
        Some(("nvvm", _)) => nvvm::decode(op, body),
        _ => Err(unsupported(
            "is not modelled; expected an op of the llvm or nvvm dialect",
        )),
    }
}

/// Where edges to the blocks of a kernel lead.
pub(super) struct Edges {
    /// By the block's place in memory.
    labels: HashMap<usize, Label>,
}

impl Edges {
    /// The edge to successor `successor` of `op`, which passes the operands from `first` on to the block.
    pub fn edge(&self, op: &Op<'_, '_>, body: &mut Body<'_>, successor: usize, first: usize) -> Result<Edge> {
        let block = op.raw.successor(successor)?;
        let label = self.labels.get(&place(&block));
        let target = *label.ok_or_else(|| internal("leads to a block of another function"))?;
        let mut moves = Vec::new();
        for (index, to) in arguments(&block, body)?.into_iter().enumerate() {
            let from = body.operand(op, first + index)?;
            moves.extend(to.into_iter().zip(from).filter(|(to, from)| to != from));
        }
        Ok(Edge { target, moves })
    }
}

/// The reachable blocks, in the order in which they are laid out.
fn blocks_of<'c, 'a>(function: &Op<'c, 'a>) -> Result<Vec<BlockRef<'c, 'a>>> {
    let region = function.raw.region(0)?;
    let blocks: Vec<_> = std::iter::successors(region.first_block(), |block: &BlockRef<'c, 'a>| {
        block.next_in_region()
    })
    .collect();
    let numbers: HashMap<usize, usize> = blocks.iter().map(place).zip(0..).collect();
    let number = |block: BlockRef<'_, '_>| numbers.get(&place(&block)).copied();
    let mut successors = Vec::new();
    for block in &blocks {
        let terminator = block
            .terminator()
            .ok_or_else(|| internal("has a block without a terminator"))?;
        let targets = terminator
            .successors()
            .map(|target| number(target).ok_or_else(|| internal("branches out of its region")))
            .collect::<Result<Vec<_>>>()?;
        successors.push(targets);
    }
    Ok(blocks::order(&successors)
        .into_iter()
        .map(|block| blocks[block])
        .collect())
}

/// The place of a block in memory, which identifies it.
fn place(block: &BlockRef<'_, '_>) -> usize {
    block.to_raw().ptr as usize
}

fn signature(
    function: &Op<'_, '_>,
    blocks: &[BlockRef<'_, '_>],
    body: &mut Body<'_>,
    kernel: &mut Kernel,
) -> Result<()> {
    kernel.name = function.need_text("sym_name")?.to_owned();
    if function.flag("nvvm.blocksareclusters") {
        return Err(unsupported("has nvvm.blocksareclusters, which is not modelled"));
    }
    kernel.required_block = extents(function, "nvvm.reqntid")?;
    kernel.required_cluster = extents(function, "nvvm.cluster_dim")?;
    kernel.entry_registers = entry_registers(function, kernel.required_block);
    body.flush = flushes(function)?;
    let entry = function
        .raw
        .region(0)?
        .first_block()
        .ok_or_else(|| internal("has no body"))?;
    let attributes = function.attribute("arg_attrs");
    let invariant = read_only::arguments(blocks, |index, name| {
        argument_attribute(attributes, index, name).is_some()
    })?;
    for (index, invariant) in invariant.into_iter().enumerate() {
        let argument = entry.argument(index)?;
        let register = body.fresh();
        body.define(argument.into(), vec![register]);
        if invariant {
            body.invariant.insert(register);
        }
        let kind = parameter_kind(argument.r#type(), &|name| {
            argument_attribute(attributes, index, name)
        })?;
        kernel.parameters.push(Parameter { register, kind });
    }
    Ok(())
}

/// Whether f32 operations flush subnormals: as `denormal_fp_math_f32` says or, if the function lacks it,
/// `denormal_fp_math`.
fn flushes(function: &Op<'_, '_>) -> Result<bool> {
    let others = function.attribute("passthrough");
    if others.is_some_and(|others| others.to_string().contains("denormal")) {
        return Err(unsupported(
            "states its denormal mode by passthrough, which is not modelled; expected denormal_fp_math_f32",
        ));
    }
    let mode = function
        .text("denormal_fp_math_f32")
        .or_else(|| function.text("denormal_fp_math"));
    match mode {
        None => Ok(false),
        Some(mode) if mode.split(',').all(|mode| mode == "ieee") => Ok(false),
        Some(mode) if mode.split(',').all(|mode| mode == "preserve-sign") => Ok(true),
        Some(mode) => Err(unsupported(format!(
            "has denormal mode {mode}; ieee and preserve-sign are modelled"
        ))),
    }
}

fn parameter_kind<'c>(
    ty: Type<'c>,
    attribute: &dyn Fn(&str) -> Option<Attribute<'c>>,
) -> Result<ParameterKind> {
    Ok(match Scalar::of(ty)? {
        Scalar::Pointer(Space::Generic) if let Some(by_value) = attribute("llvm.byval") => {
            // SAFETY: `llvm.byval` is a type attribute, as MLIR's verifier ensures.
            let held = unsafe { Type::from_raw(mlirTypeAttrGetValue(by_value.to_raw())) };
            match Shape::of(held)?.size() {
                128 => ParameterKind::TensorMap,
                other => {
                    return Err(unsupported(format!(
                        "has a parameter of {other} bytes by value; only tensor maps of 128 bytes are modelled"
                    )));
                }
            }
        }
        Scalar::Pointer(Space::Generic | Space::Global) => ParameterKind::Pointer {
            align: attribute("llvm.align").and_then(op::integer).unwrap_or(1) as u32,
        },
        Scalar::Pointer(space) => {
            return Err(unsupported(format!(
                "has a parameter that points to {space:?} memory; expected global memory"
            )));
        }
        scalar => ParameterKind::Scalar { bits: scalar.bits() },
    })
}

fn argument_attribute<'c>(
    attributes: Option<Attribute<'c>>,
    index: usize,
    name: &str,
) -> Option<Attribute<'c>> {
    let attributes = attributes?.to_raw();
    // SAFETY: `arg_attrs` is an array of one dictionary an argument, as MLIR's verifier ensures.
    unsafe {
        let dictionary = mlirArrayAttrGetElement(attributes, index as isize);
        let found = mlirDictionaryAttrGetElementByName(dictionary, melior::StringRef::new(name).to_raw());
        Attribute::from_option_raw(found)
    }
}

/// Extents along x, y and z of an attribute that has one to three of them.
fn extents(function: &Op<'_, '_>, name: &str) -> Result<Option<[u32; 3]>> {
    let Some(given) = function.integers(name) else {
        return Ok(None);
    };
    let mut extents = [1; 3];
    for (slot, extent) in extents.iter_mut().zip(given) {
        *slot = u32::try_from(extent).map_err(internal)?;
    }
    Ok(Some(extents))
}

/// The registers of a thread at entry: as many as `nvvm.maxnreg` allows, or a thread's share if `nvvm.minctasm` CTAs
/// reside on a multiprocessor, rounded down to a multiple of eight, the unit of allocation.
fn entry_registers(function: &Op<'_, '_>, block: Option<[u32; 3]>) -> Option<u32> {
    if let Some(registers) = function.integer("nvvm.maxnreg") {
        return Some(registers as u32);
    }
    let ctas = function.integer("nvvm.minctasm").filter(|ctas| *ctas > 0)?;
    let threads: i64 = block?.iter().map(|extent| i64::from(*extent)).product();
    let registers = REGISTER_FILE / (ctas * threads.max(1)) / 8 * 8;
    Some(registers.min(MOST_REGISTERS) as u32)
}
