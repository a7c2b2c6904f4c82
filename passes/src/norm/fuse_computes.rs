//! `norm-fuse-computes`: computes that fit each other become one, so that what one makes for another never is in memory.
//!
//! Matches `norm.compute`s of a function, by what they read and write alone. The programs become one data flow ([`graph`]); a program
//! takes in the ones that it reads from, the nearest first, and programs that read the same elements become one as well, as long as
//! they fit ([`merge`]). No reduction is ever computed twice, and no conversion between them is left out: each value is rounded as
//! what was in memory. What is computed element by element for several programs that do not fit each other is computed in each, where
//! that moves fewer bytes.

mod aliases;
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
        let Some(mut function) = Function::read(op)? else {
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

/// Says what became one, and what stays apart and why.
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
    for (first, second, stop) in function.apart() {
        let note = (first.location(), "what this makes goes through memory".to_owned());
        emit(
            second.location(),
            Severity::Remark,
            &format!("a kernel of its own: {stop}"),
            &[note],
        );
    }
}
