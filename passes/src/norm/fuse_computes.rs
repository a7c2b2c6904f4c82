//! `norm-fuse-computes`: computes that fit together become one, so that what one computes for another does not go through memory.
//!
//! Matches `norm.compute`s of a function, by what they read and write alone. The programs become one data-flow graph ([`graph`]). A
//! program takes in those that it reads from, the nearest first, and programs that read the same elements are fused as well, as long
//! as they fit ([`merge`]). No reduction is ever computed twice, and no conversion is dropped: each value is rounded as it was when
//! it went through memory. An elementwise program whose readers do not fit together is recomputed in each of them, where that does
//! not move more bytes.

mod aliases;
mod apart;
mod counting;
mod emit;
mod functions;
mod graph;
mod groups;
mod instantiate;
mod merge;
mod read;
mod spaces;
mod stop;
mod waiting;

use apart::Relation;
use functions::Function;
use melior::ir::{OperationRef, operation::OperationLike};

use crate::{
    mlir::{
        diagnostic::{Severity, emit},
        pass::{PassContext, PassResult},
        walk,
    },
    table::{NormFuseComputes, NormFuseComputesStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, NormFuseComputes>) -> PassResult<'c> {
    for op in walk::named(op, "func.func") {
        let Some(mut function) = Function::read(op, cx.options().batch_invariant)? else {
            continue;
        };
        function.fuse();
        cx.count(NormFuseComputesStatistic::NumFused, function.fused());
        if cx.options().explain {
            explain(&mut function);
        }
        function.write()?;
    }
    Ok(())
}

/// Emits remarks on which ops were fused, and which were not and why.
fn explain(function: &mut Function<'_, '_>) {
    for group in function.groups().iter().filter(|group| group.members.len() > 1) {
        let Some((last, others)) = group.members.split_last() else {
            continue;
        };
        let notes = others.iter().map(|op| (op.location(), "with this".to_owned()));
        let text = format!("{} ops are one kernel", group.members.len());
        emit(
            last.location(),
            Severity::Remark,
            &text,
            &notes.collect::<Vec<_>>(),
        );
    }
    for apart in function.apart() {
        let note = match apart.relation {
            Relation::Reads => "what this makes goes through memory",
            Relation::Shares => "this reads the same tensor",
        };
        emit(
            apart.second.location(),
            Severity::Remark,
            &format!("a kernel of its own: {}", apart.stop),
            &[(apart.first.location(), note.to_owned())],
        );
    }
}
