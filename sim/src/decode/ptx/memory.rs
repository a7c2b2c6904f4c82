//! Loads, stores, atomic operations, and hints such as prefetches.

use super::{
    super::{
        error::{Result, invalid, unsupported},
        llvm::atomic::check as check_atomic,
    },
    assembly::{Assembly, B32, B64, operands},
    qualifiers::{Kind, Qualifiers, Type},
    statement::Operand,
};
use crate::program::{AtomicFormat, AtomicOp, Conversion, Format, Instruction, MemoryOrder, Register};

/// The widest access of a thread, in bytes (PTX ISA 8.8, "ld": `.v8.b32` and `.v4.b64` only of global memory on sm_100).
const WIDEST_VECTOR: usize = 32;

/// The operands of an access without the cache policy that `.L2::cache_hint` adds.
fn without_policy<'o>(q: &mut Qualifiers<'_>, found: &'o [Operand]) -> &'o [Operand] {
    let hint = q.take("L2::cache_hint");
    q.cache_hints();
    match found {
        [rest @ .., _policy] if hint => rest,
        all => all,
    }
}

/// The registers that an access stores.
fn stored(asm: &mut Assembly<'_, '_>, from: &Operand, count: usize, ty: Type) -> Result<Vec<Register>> {
    let components = asm.components(from, count)?;
    components.iter().map(|from| asm.source(from, ty)).collect()
}

fn width(ty: Type, count: usize) -> Result<(u8, u32)> {
    let bytes = usize::from(ty.bits / 8);
    if bytes == 0 || bytes * count > WIDEST_VECTOR {
        return Err(invalid("accesses an amount that no instruction does"));
    }
    Ok((ty.bits / 8, (bytes * count) as u32))
}

pub(super) fn load(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let found = without_policy(q, found);
    let order = q.order()?;
    let (space, invariant) = (q.space(), q.take("nc"));
    let (count, ty) = (q.vector(), q.ty()?);
    q.done()?;
    let [to, address] = found else {
        return Err(operands(found));
    };
    let (bytes, align) = width(ty, count)?;
    let address = asm.address(address)?;
    let mut registers = Vec::new();
    let mut wider = Vec::new();
    for to in asm.components(to, count)? {
        let (to, bits) = asm.wide_destination(to)?;
        registers.push(to);
        // A load of a signed type is sign-extended into a wider register.
        if ty.kind == Kind::Signed && bits > ty.bits {
            wider.push((to, bits));
        }
    }
    if !wider.is_empty() {
        // If the statement has a guard, all of this is branched around, so that the other lanes keep their registers.
        asm.push(Instruction::Load {
            space,
            order,
            invariant,
            to: registers,
            bytes,
            address,
            align,
            guard: None,
        })?;
        for (to, bits) in wider {
            asm.push(Instruction::Convert {
                conversion: Conversion::SignExtend {
                    from: ty.bits,
                    to: bits,
                },
                to,
                from: to,
            })?;
        }
        return Ok(());
    }
    let guard = asm.guard();
    asm.push(Instruction::Load {
        space,
        order,
        invariant,
        to: registers,
        bytes,
        address,
        align,
        guard,
    })
}

pub(super) fn store(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    if q.take("async") {
        return store_async(asm, q, found);
    }
    let found = without_policy(q, found);
    let order = q.order()?;
    let space = q.space();
    let (count, ty) = (q.vector(), q.ty()?);
    q.done()?;
    let [address, from] = found else {
        return Err(operands(found));
    };
    let (bytes, align) = width(ty, count)?;
    let address = asm.address(address)?;
    let from = stored(asm, from, count, ty)?;
    let guard = asm.guard();
    asm.push(Instruction::Store {
        space,
        order,
        from,
        bytes,
        address,
        align,
        guard,
    })
}

/// `st.async`, which is weak and completes on an mbarrier.
fn store_async(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.take("weak");
    if !q.take("shared::cluster") || !q.take("mbarrier::complete_tx::bytes") {
        return Err(unsupported(
            "is only modelled with .shared::cluster and .mbarrier::complete_tx::bytes",
        ));
    }
    let (count, ty) = (q.vector(), q.ty()?);
    q.done()?;
    let [address, from, mbarrier] = found else {
        return Err(operands(found));
    };
    let (bytes, _) = width(ty, count)?;
    let address = asm.address(address)?;
    let from = stored(asm, from, count, ty)?;
    let mbarrier = asm.address(mbarrier)?;
    let guard = asm.guard();
    asm.push(Instruction::StoreAsync {
        address,
        from,
        bytes,
        mbarrier,
        guard,
    })
}

/// `atom` and `red`, which are relaxed and of GPU scope unless stated otherwise.
pub(super) fn atomic(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
    gives: bool,
) -> Result<()> {
    if q.take("async") {
        return Err(unsupported("is not modelled"));
    }
    let found = without_policy(q, found);
    let cta = q.scope();
    let order = MemoryOrder {
        strong: true,
        cta: cta.unwrap_or(false),
        ..q.order()?
    };
    let space = q.space();
    q.take("noftz");
    let op = reduction(q, gives)?;
    let ty = q.ty()?;
    q.done()?;
    let format = atomic_format(op, ty)?;
    let (to, rest) = match found {
        [to, rest @ ..] if gives => (Some(asm.destination(to)?), rest),
        all => (None, all),
    };
    let (address, expected, operand) = match (rest, op) {
        ([address, expected, operand], AtomicOp::CompareAndSwap) => (address, Some(expected), operand),
        ([address, operand], op) if op != AtomicOp::CompareAndSwap => (address, None, operand),
        _ => return Err(operands(found)),
    };
    let address = asm.address(address)?;
    let operand = asm.source(operand, ty)?;
    let expected = expected.map(|expected| asm.source(expected, ty)).transpose()?;
    let guard = asm.guard();
    asm.push(Instruction::Atomic {
        space,
        order,
        op,
        format,
        to,
        address,
        operand,
        expected,
        guard,
    })
}

/// Takes the operation of an atomic instruction.
pub(super) fn reduction(q: &mut Qualifiers<'_>, gives: bool) -> Result<AtomicOp> {
    let op = q.one_of(&[
        ("add", AtomicOp::Add),
        ("and", AtomicOp::And),
        ("or", AtomicOp::Or),
        ("xor", AtomicOp::Xor),
        ("exch", AtomicOp::Exchange),
        ("cas", AtomicOp::CompareAndSwap),
        ("max", AtomicOp::Max),
        ("min", AtomicOp::Min),
        ("inc", AtomicOp::Increment),
        ("dec", AtomicOp::Decrement),
    ]);
    match op {
        Some(AtomicOp::Exchange | AtomicOp::CompareAndSwap) if !gives => {
            Err(invalid("has an operation that only atom has"))
        }
        Some(op) => Ok(op),
        None => Err(unsupported("has no operation that is modelled")),
    }
}

/// The format of the values of an atomic instruction of that operation and type.
pub(super) fn atomic_format(op: AtomicOp, ty: Type) -> Result<AtomicFormat> {
    let format = match ty.kind {
        Kind::Bits | Kind::Unsigned => AtomicFormat::Unsigned(ty.bits),
        Kind::Signed => AtomicFormat::Signed(ty.bits),
        Kind::Float(format) => AtomicFormat::Float(format),
        Kind::Pair(format @ (Format::F16 | Format::BF16)) => AtomicFormat::Pair(format),
        Kind::Pair(_) | Kind::Predicate => return Err(unsupported("has a type that is not modelled")),
    };
    check_atomic(op, format)?;
    Ok(format)
}

/// `createpolicy`: a policy changes nothing that can be observed, so it is a constant.
pub(super) fn create_policy(
    asm: &mut Assembly<'_, '_>,
    q: &mut Qualifiers<'_>,
    found: &[Operand],
) -> Result<()> {
    if !(q.take("fractional") || q.take("range")) {
        return Err(unsupported("is only modelled with .fractional or .range"));
    }
    q.take("global");
    q.cache_hints();
    q.ty()?;
    q.done()?;
    let [to, ..] = found else {
        return Err(operands(found));
    };
    let to = asm.destination(to)?;
    let from = asm.body.constant(0);
    asm.push(Instruction::Copy { to, from })
}

/// `prefetch` of a cache line or a tensor map.
pub(super) fn prefetch(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.space();
    q.take("tensormap");
    q.ignore(|qualifier| matches!(qualifier, "L1" | "L2" | "L2::evict_last" | "L2::evict_normal"));
    q.done()?;
    let [address] = found else {
        return Err(operands(found));
    };
    let address = asm.address(address)?;
    asm.push(Instruction::Prefetch { address })
}

/// A size in bytes as an operand.
pub(super) fn size(asm: &mut Assembly<'_, '_>, operand: &Operand) -> Result<crate::program::Register> {
    asm.source(operand, B32)
}

/// A cache policy, which only has to be a register that exists.
pub(super) fn policy(asm: &mut Assembly<'_, '_>, operand: &Operand) -> Result<()> {
    asm.source(operand, B64).map(|_| ())
}
