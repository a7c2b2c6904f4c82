//! `cp.async`, `cp.async.bulk`, `cp.reduce.async.bulk` and their tensor forms.

use super::{
    super::error::{Result, unsupported},
    assembly::{Assembly, B32, B64, operands},
    memory::{atomic_format, policy, reduction, size},
    qualifiers::Qualifiers,
    statement::Operand,
};
use crate::program::{AtomicFormat, AtomicOp, BulkPlace, Completion, Instruction, Register, Space};

pub(super) fn copy(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let reduces = q.take("reduce");
    if !q.take("async") {
        return Err(unsupported("is not modelled"));
    }
    if q.take("bulk") {
        return bulk(asm, q, found, reduces);
    }
    if reduces {
        return Err(unsupported("is not modelled"));
    }
    if q.take("commit_group") {
        q.done()?;
        return asm.push(Instruction::CopyAsyncCommit);
    }
    if q.take("wait_all") {
        q.done()?;
        return asm.push(Instruction::CopyAsyncWait { pending: None });
    }
    if q.take("wait_group") {
        q.done()?;
        let pending = Some(count(found)?);
        return asm.push(Instruction::CopyAsyncWait { pending });
    }
    if q.take("mbarrier") {
        return arrive(asm, q, found);
    }
    thread_copy(asm, q, found)
}

/// `cp.async.mbarrier.arrive`; a generic address is converted to a shared one.
fn arrive(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.take("arrive");
    let counted = q.take("noinc");
    let space = q.space();
    q.take("b64");
    q.done()?;
    let [address] = found else {
        return Err(operands(found));
    };
    let mut address = asm.address(address)?;
    if space == Space::Generic {
        address = super::super::nvvm::mbarrier::from_generic(asm.body, address);
    }
    asm.push(Instruction::CopyAsyncArrive { address, counted })
}

/// The number of groups that may stay pending.
fn count(found: &[Operand]) -> Result<u32> {
    match found {
        [Operand::Integer(count @ 0..=0xffff_ffff)] => Ok(*count as u32),
        _ => Err(operands(found)),
    }
}

fn thread_copy(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    let hint = q.take("L2::cache_hint");
    q.cache_hints();
    let to_shared = q.take("shared") || q.take("shared::cta");
    if !to_shared || !q.take("global") {
        return Err(unsupported("is only modelled from global to shared memory"));
    }
    q.done()?;
    let found = match found {
        [rest @ .., last] if hint => {
            policy(asm, last)?;
            rest
        }
        all => all,
    };
    let (to, from, bytes, source) = match found {
        [to, from, Operand::Integer(bytes @ (4 | 8 | 16))] => (to, from, *bytes as u8, None),
        [to, from, Operand::Integer(bytes @ (4 | 8 | 16)), source] => (to, from, *bytes as u8, Some(source)),
        _ => return Err(operands(found)),
    };
    let (to, from) = (asm.address(to)?, asm.address(from)?);
    let source_bytes = source.map(|source| asm.source(source, B32)).transpose()?;
    let guard = asm.guard();
    asm.push(Instruction::CopyAsync {
        to,
        from,
        bytes,
        source_bytes,
        guard,
    })
}

/// A bulk copy's qualifiers.
struct Bulk {
    destination: Space,
    source: Space,
    by_mbarrier: bool,
    multicast: bool,
    hint: bool,
    reduce: Option<(AtomicOp, AtomicFormat)>,
}

fn bulk(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand], reduces: bool) -> Result<()> {
    if q.take("commit_group") {
        q.done()?;
        return asm.push(Instruction::BulkCommit);
    }
    if q.take("wait_group") {
        let read = q.take("read");
        q.done()?;
        let pending = count(found)?;
        return asm.push(Instruction::BulkWait { pending, read });
    }
    if q.take("prefetch") {
        return prefetch(asm, q, found);
    }
    let tensor = q.take("tensor");
    let dims = q.one_of(&[("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)]);
    q.take("tile");
    // The first space is the destination. Global memory is on one side of every copy but that between CTAs.
    let (destination, source) = match (q.take("shared::cluster"), q.take("shared::cta"), q.take("global")) {
        (true, true, false) => (Space::Cluster, Space::Shared),
        (true, false, true) => (Space::Cluster, Space::Global),
        (false, true, true) => (Space::Shared, Space::Global),
        _ => return Err(unsupported("copies between spaces that are not modelled")),
    };
    let by_mbarrier = q.take("mbarrier::complete_tx::bytes");
    if by_mbarrier == q.take("bulk_group") {
        return Err(unsupported("has no completion that is modelled"));
    }
    // `.shared::cta` with `.global` is a store if it completes by bulk groups.
    let (destination, source) = match (by_mbarrier, destination) {
        (true, _) => (destination, source),
        (false, Space::Shared) => (Space::Global, Space::Shared),
        (false, _) => return Err(unsupported("has no completion that is modelled")),
    };
    let multicast = q.take("multicast::cluster");
    let hint = q.take("L2::cache_hint");
    q.take("noftz");
    if reduces && tensor {
        return Err(unsupported(
            "reduces elements of a type that only the tensor map knows, which is not modelled",
        ));
    }
    let reduce = match reduces {
        false => None,
        true => {
            let op = reduction(q, false)?;
            Some((op, atomic_format(op, q.ty()?)?))
        }
    };
    q.done()?;
    let form = Bulk {
        destination,
        source,
        by_mbarrier,
        multicast,
        hint,
        reduce,
    };
    match (tensor, dims) {
        (true, Some(dims)) => tensor_copy(asm, &form, dims, found),
        (false, None) => plain_copy(asm, &form, found),
        _ => Err(unsupported("is not modelled")),
    }
}

/// Decodes the operands after those that every copy has: mbarrier, multicast mask and cache policy, as the qualifiers
/// ask for them.
fn rest(
    asm: &mut Assembly<'_, '_>,
    form: &Bulk,
    found: &[Operand],
) -> Result<(Completion, Option<Register>)> {
    let mut found_rest = found.iter();
    let mut next = || found_rest.next().ok_or_else(|| operands(found));
    let completion = match form.by_mbarrier {
        true => Completion::Mbarrier(asm.address(next()?)?),
        false => Completion::Group,
    };
    let multicast = match form.multicast {
        true => Some(asm.source(next()?, B32)?),
        false => None,
    };
    if form.hint {
        policy(asm, next()?)?;
    }
    match found_rest.next() {
        None => Ok((completion, multicast)),
        Some(_) => Err(operands(found)),
    }
}

fn plain_copy(asm: &mut Assembly<'_, '_>, form: &Bulk, found: &[Operand]) -> Result<()> {
    let [to, from, bytes, others @ ..] = found else {
        return Err(operands(found));
    };
    let destination = BulkPlace {
        space: form.destination,
        address: asm.address(to)?,
    };
    let source = BulkPlace {
        space: form.source,
        address: asm.address(from)?,
    };
    let bytes = size(asm, bytes)?;
    let (completion, multicast) = rest(asm, form, others)?;
    let guard = asm.guard();
    asm.push(Instruction::BulkCopy {
        destination,
        source,
        bytes,
        completion,
        multicast,
        reduce: form.reduce,
        guard,
    })
}

fn tensor_copy(asm: &mut Assembly<'_, '_>, form: &Bulk, dims: usize, found: &[Operand]) -> Result<()> {
    let (corner, shared, store, others) = match found {
        [shared, corner @ Operand::Box(..), others @ ..] => (corner, shared, false, others),
        [corner @ Operand::Box(..), shared, others @ ..] => (corner, shared, true, others),
        _ => return Err(operands(found)),
    };
    let Operand::Box(map, coordinates) = corner else {
        return Err(operands(found));
    };
    if coordinates.len() != dims || store == form.by_mbarrier {
        return Err(operands(found));
    }
    let map = asm.source(map, B64)?;
    let coordinates = coordinates
        .iter()
        .map(|coordinate| asm.source(coordinate, B32))
        .collect::<Result<Vec<_>>>()?;
    let shared = BulkPlace {
        space: if store { form.source } else { form.destination },
        address: asm.address(shared)?,
    };
    let (completion, multicast) = rest(asm, form, others)?;
    let guard = asm.guard();
    asm.push(Instruction::TensorCopy {
        map,
        coordinates,
        shared,
        store,
        completion,
        multicast,
        reduce: None,
        guard,
    })
}

/// A prefetch into L2, of global memory or of a tensor's box.
fn prefetch(asm: &mut Assembly<'_, '_>, q: &mut Qualifiers<'_>, found: &[Operand]) -> Result<()> {
    q.take("L2");
    q.take("L2::cache_hint");
    q.take("global");
    let tensor = q.take("tensor");
    q.ignore(|qualifier| matches!(qualifier, "1d" | "2d" | "3d" | "4d" | "5d" | "tile"));
    q.done()?;
    let address = match found {
        [Operand::Box(map, _), ..] if tensor => asm.source(map, B64)?,
        [address @ Operand::Address(..), ..] if !tensor => asm.address(address)?,
        _ => return Err(operands(found)),
    };
    asm.push(Instruction::Prefetch { address })
}
