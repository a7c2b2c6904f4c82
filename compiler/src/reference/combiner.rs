//! How a reduction combines, named or as a region.

use std::collections::HashMap;

use melior::ir::{BlockLike, BlockRef, RegionLike, Value, operation::OperationLike};
use norma_bundle::{
    element::Element,
    program::{self, Combiner, Number, Operation, Region, Step},
};
use norma_dialects::norm::{ReduceKind, ReduceOp, YieldOp};
use norma_passes::support::diagnostic::Diagnostic;

use super::{key, number, operation};

/// The combiner of a reduction with accumulators of these types.
pub(super) fn of<'c>(reduce: ReduceOp<'c, '_>, types: &[Element]) -> Result<Combiner, Diagnostic<'c>> {
    let location = reduce.op().location();
    let internal = |message: &str| Diagnostic::internal(location, message);
    if let Some(kind) = reduce.kind() {
        let ty = *types
            .first()
            .ok_or_else(|| internal("expected a value to reduce"))?;
        return Ok(match kind {
            ReduceKind::Add => Combiner::Add,
            ReduceKind::Mul => Combiner::Mul,
            ReduceKind::Max => Combiner::Max,
            ReduceKind::Min => Combiner::Min,
            ReduceKind::And => bitwise("arith.andi", -1, ty),
            ReduceKind::Or => bitwise("arith.ori", 0, ty),
        });
    }
    let block = reduce.combiner().ok().and_then(|region| region.first_block());
    let block = block.ok_or_else(|| internal("expected a combiner"))?;
    let identities = reduce.identity().unwrap_or_default().into_iter().zip(types);
    let identities = identities.map(|(identity, ty)| number(identity, *ty, location));
    let mut region = Region {
        identities: identities.collect::<Result<_, _>>()?,
        steps: Vec::new(),
        results: Vec::new(),
    };
    fill(&mut region, block)?;
    Ok(Combiner::Region(region))
}

/// The bundle names only what floats have too.
fn bitwise(name: &str, identity: i64, ty: Element) -> Combiner {
    Combiner::Region(Region {
        identities: vec![Number::Integer(ty.wrap_integer(identity))],
        steps: vec![Step::Op(Operation {
            name: name.to_owned(),
            operands: vec![0, 1],
            predicate: None,
            saturate: false,
            element: ty,
        })],
        results: vec![2],
    })
}

fn fill<'c, 'a>(region: &mut Region, block: BlockRef<'c, 'a>) -> Result<(), Diagnostic<'c>> {
    let mut values = HashMap::<usize, program::Value>::new();
    for index in 0..block.argument_count() {
        if let Ok(argument) = block.argument(index) {
            values.insert(key(argument.into()), index);
        }
    }
    let mut next = block.first_operation();
    while let Some(op) = next {
        next = op.next_in_block();
        let operands = op.operands().collect::<Vec<Value<'c, 'a>>>();
        let operands = operands.iter().map(|operand| {
            values.get(&key(*operand)).copied().ok_or_else(|| {
                let message =
                    "a combiner that uses a value of the kernel; supported: its own arguments and constants";
                Diagnostic::unsupported(op.location(), message)
            })
        });
        let operands = operands.collect::<Result<Vec<_>, _>>()?;
        if YieldOp::from_op(op).is_some() {
            region.results = operands;
            return Ok(());
        }
        let step = operation::step(op, operands)?;
        let result = op
            .result(0)
            .map_err(|error| Diagnostic::internal(op.location(), error))?;
        values.insert(key(result.into()), block.argument_count() + region.steps.len());
        region.steps.push(step);
    }
    Ok(())
}
