//! Combiners of reductions: regions that combine two tuples of values into one, in the same form in `norm` and in `gl`.

use std::collections::{BTreeSet, HashMap};

use melior::ir::{BlockLike, BlockRef, OperationRef, Value, ValueLike, operation::OperationLike};

use super::{builder::Builder, diagnostic::Diagnostic, values::key, walk};

/// Builds a copy of an op on other operands, and returns its results.
pub type Rebuild<'f, 'c, 'a, 'r, E> =
    dyn FnMut(&Builder<'c, 'r>, OperationRef<'c, 'a>, &[Value<'c, 'r>]) -> Result<Vec<Value<'c, 'r>>, E> + 'f;

/// Inlines a combiner, which uses no values from outside: copies its ops to where `b` inserts, with `arguments` in the place of its block
/// arguments, and returns what it yields.
///
/// # Errors
///
/// Unsupported: an op with regions. Internal: a combiner that its op's verifier does not accept.
pub fn inline<'c: 'a + 'r, 'a, 'r>(
    b: &Builder<'c, 'r>,
    combiner: BlockRef<'c, 'a>,
    arguments: &[Value<'c, 'r>],
) -> Result<Vec<Value<'c, 'r>>, Diagnostic<'c>> {
    inline_over(b, combiner, arguments, &mut |b, op, operands| {
        let types = op.results().map(|result| result.r#type()).collect::<Vec<_>>();
        Ok(b.rebuild(op, operands, &types)
            .results()
            .map(Into::into)
            .collect())
    })
}

/// The op of a combiner that yields what one op makes of its two arguments, in either order; `None` for any other.
pub fn single_op<'c, 'a>(combiner: BlockRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let [op, end] = walk::in_block(combiner)[..] else {
        return None;
    };
    let is_yielded = op.result_count() == 1 && end.operand(0).ok()? == op.result(0).ok()?.into();
    let takes_both = op.operand_count() == 2 && op.operand(0).ok()? != op.operand(1).ok()?;
    (is_yielded && takes_both).then_some(op)
}

/// As [`inline`], but `rebuild` builds each copy from its operands, for instance on tiles in the place of scalars.
///
/// # Errors
///
/// As [`inline`], and what `rebuild` refuses.
pub fn inline_over<'c: 'a + 'r, 'a, 'r, E: From<Diagnostic<'c>>>(
    b: &Builder<'c, 'r>,
    combiner: BlockRef<'c, 'a>,
    arguments: &[Value<'c, 'r>],
    rebuild: &mut Rebuild<'_, 'c, 'a, 'r, E>,
) -> Result<Vec<Value<'c, 'r>>, E> {
    let broken = || {
        Diagnostic::internal(
            b.location(),
            "expected a combiner that uses and yields its values",
        )
    };
    let mut copies = HashMap::new();
    for (index, argument) in arguments.iter().enumerate() {
        let original = combiner.argument(index).map_err(|_| broken())?;
        copies.insert(key(original.into()), *argument);
    }
    for op in walk::in_block(combiner) {
        let operands = op
            .operands()
            .map(|operand| copies.get(&key(operand)).copied())
            .collect::<Option<Vec<_>>>()
            .ok_or_else(broken)?;
        if op.next_in_block().is_none() {
            return Ok(operands);
        }
        if op.region_count() != 0 {
            let message = "expected a combiner of ops without regions";
            return Err(Diagnostic::unsupported(op.location(), message).into());
        }
        let results = rebuild(b, op, &operands)?;
        for (original, copy) in op.results().zip(results) {
            copies.insert(key(original.into()), copy);
        }
    }
    Err(broken().into())
}

/// Returns for each of a combiner's results the positions in a tuple that it depends on; `None` for a block that is not a
/// combiner of tuples of `length`, or has nested regions.
pub fn needs(combiner: BlockRef<'_, '_>, length: usize) -> Option<Vec<BTreeSet<usize>>> {
    let mut of_values = HashMap::<usize, BTreeSet<usize>>::new();
    for argument in 0..2 * length {
        let value = Value::from(combiner.argument(argument).ok()?);
        of_values.insert(key(value), BTreeSet::from([argument % length]));
    }
    let mut needs = None;
    for op in walk::in_block(combiner) {
        if op.region_count() != 0 {
            return None;
        }
        let operands = op.operands().map(|operand| of_values.get(&key(operand)).cloned());
        let operands = operands.collect::<Option<Vec<_>>>()?;
        let all = operands.iter().flatten().copied().collect::<BTreeSet<_>>();
        for result in op.results() {
            of_values.insert(key(result.into()), all.clone());
        }
        needs = Some(operands);
    }
    needs.filter(|needs| needs.len() == length)
}

/// Returns what [`needs`] does, with what the needed positions need in turn, and each position itself.
pub fn closed(mut needs: Vec<BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    for (position, needed) in needs.iter_mut().enumerate() {
        needed.insert(position);
    }
    // After each round chains of twice the length are known.
    for _ in 0..needs.len() {
        let before = needs.clone();
        for needed in &mut needs {
            let further = needed.iter().flat_map(|position| &before[*position]).copied();
            *needed = further.collect();
        }
    }
    needs
}
