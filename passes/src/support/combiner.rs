//! Combiners of reductions: regions that make one tuple of values of two, the same in `norm` and in `gl`.

use melior::ir::{BlockLike, BlockRef, OperationRef, Value, ValueLike, operation::OperationLike};

use super::{builder::Builder, diagnostic::Diagnostic, walk};

/// Copies the ops of a combiner to where `b` inserts, with `arguments` for its arguments, and gives what it yields.
/// Combiners are isolated from above, so they use no values but their own.
///
/// # Errors
///
/// Unsupported: an op with regions. Internal: a value from outside, or no yield at the end.
pub fn inline<'c: 'a + 'r, 'a, 'r>(
    b: &Builder<'c, 'r>,
    combiner: BlockRef<'c, 'a>,
    arguments: &[Value<'c, 'r>],
) -> Result<Vec<Value<'c, 'r>>, Diagnostic<'c>> {
    let internal = |error: melior::Error| Diagnostic::internal(b.location(), error);
    let mut copies: Vec<(Value<'c, 'a>, Value<'c, 'r>)> = Vec::new();
    for (index, argument) in arguments.iter().enumerate() {
        copies.push((combiner.argument(index).map_err(internal)?.into(), *argument));
    }
    let ops = walk::in_block(combiner);
    let Some((end, ops)) = ops.split_last() else {
        return Err(Diagnostic::internal(
            b.location(),
            "expected a combiner that yields",
        ));
    };
    let operands_of = |op: OperationRef<'c, 'a>, copies: &[(Value<'c, 'a>, Value<'c, 'r>)]| {
        let copy_of = |value| {
            let copy = copies.iter().find(|(original, _)| *original == value);
            copy.map(|(_, copy)| *copy)
        };
        op.operands()
            .map(copy_of)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| {
                let message = "expected a combiner that uses its own values alone";
                Diagnostic::internal(op.location(), message)
            })
    };
    for op in ops {
        if op.region_count() != 0 {
            let message = "expected a combiner of ops without regions";
            return Err(Diagnostic::unsupported(op.location(), message));
        }
        let types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
        let copy = b.rebuild(*op, &operands_of(*op, &copies)?, &types);
        for (original, copy) in op.results().zip(copy.results()) {
            copies.push((original.into(), copy.into()));
        }
    }
    operands_of(*end, &copies)
}
