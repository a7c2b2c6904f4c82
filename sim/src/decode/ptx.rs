//! PTX inside `nvvm.inline_ptx` and `llvm.inline_asm`.
//!
//! [`statement`] parses a text into statements, [`assembly`] gives their operands registers, and the other modules turn
//! each statement into instructions. Every qualifier of a mnemonic is checked: an unknown one is an error, as is an
//! unknown mnemonic. Names and meanings are those of the PTX ISA 8.8, "Instruction Set".

mod arithmetic;
mod assembly;
mod control;
mod convert;
mod copy;
mod fence;
mod float;
mod lexer;
mod mbarrier;
mod memory;
mod qualifiers;
mod statement;
mod synchronize;
mod warp;

pub(super) use assembly::{Argument, decode};

use super::error::{Result, unsupported};
use assembly::Assembly;
use qualifiers::Qualifiers;
use statement::Statement;

/// Decodes one statement.
fn instruction(asm: &mut Assembly<'_, '_>, statement: &Statement) -> Result<()> {
    let mut q = Qualifiers::of(&statement.mnemonic);
    let operands = &statement.operands[..];
    let root = q.root();
    match root {
        "mov" => arithmetic::move_(asm, &mut q, operands),
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "abs" | "neg" => {
            arithmetic::arithmetic(asm, &mut q, operands, root)
        }
        "and" | "or" | "xor" | "not" | "shl" | "shr" | "popc" | "clz" | "brev" | "lop3" | "prmt" => {
            arithmetic::bits(asm, &mut q, operands, root)
        }
        "setp" => arithmetic::set_predicate(asm, &mut q, operands),
        "selp" => arithmetic::select(asm, &mut q, operands),
        "ex2" | "lg2" | "rcp" | "rsqrt" | "sqrt" | "sin" | "cos" | "tanh" => {
            float::function(asm, &mut q, operands, root)
        }
        "copysign" => float::copy_sign(asm, &mut q, operands),
        "cvt" => convert::convert(asm, &mut q, operands),
        "cvta" => convert::convert_address(asm, &mut q, operands),

        "ld" => memory::load(asm, &mut q, operands),
        "st" => memory::store(asm, &mut q, operands),
        "atom" => memory::atomic(asm, &mut q, operands, true),
        "red" => memory::atomic(asm, &mut q, operands, false),
        "createpolicy" => memory::create_policy(asm, &mut q, operands),
        "prefetch" => memory::prefetch(asm, &mut q, operands),
        "applypriority" | "discard" => Err(unsupported("is not modelled")),

        "cp" => copy::copy(asm, &mut q, operands),
        "mbarrier" => mbarrier::mbarrier(asm, &mut q, operands),
        "bar" | "barrier" => synchronize::barrier(asm, &mut q, operands, root),
        "fence" | "membar" => fence::fence(asm, &mut q, operands, root),
        "griddepcontrol" => synchronize::grid_dependency(asm, &mut q, operands),
        "setmaxnreg" => synchronize::set_max_registers(asm, &mut q, operands),
        "nanosleep" => synchronize::sleep(&mut q),

        "shfl" => warp::shuffle(asm, &mut q, operands),
        "vote" => warp::vote(asm, &mut q, operands),
        "match" => warp::matching(asm, &mut q, operands),
        "activemask" => warp::active_mask(asm, &mut q, operands),
        "elect" => warp::elect(asm, &mut q, operands),
        "redux" => warp::reduce(asm, &mut q, operands),
        "mapa" => warp::map_to_cta(asm, &mut q, operands),

        "bra" => control::branch(asm, &mut q, operands),
        "ret" | "exit" => control::end(asm, &mut q),
        "trap" => control::trap(asm, &mut q),
        _ => Err(unsupported("is not modelled")),
    }
}
