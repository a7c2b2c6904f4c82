//! A nest of `linalg` that reduces to an extremum and the first place where it is, as a program with a combiner.

use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, OperationRef, RegionLike, Value as IrValue, ValueLike};
use norma_bundle::program::{Combiner, Number, Operation, Region, Step, Value};
use norma_bundle::{Element, Expression};
use norma_passes::kernel::extremum::{Extremum, PlaceOrder};
use norma_passes::mlir::walk;

use super::tensors::Statement;
use super::{Reader, scalar};

impl Reader<'_, '_> {
    /// Adds the reduction and the writes of both results. The initial values take part as a first element, whose place counts where
    /// places are compared.
    pub(super) fn extremum(
        &mut self,
        op: OperationRef,
        extremum: &Extremum,
        accesses: &[Vec<Expression>],
        over: &[usize],
        statement: &mut Statement,
    ) -> Option<()> {
        let inits = op.operand_count().checked_sub(2)?;
        let body = op.region(0).ok()?.first_block()?;
        let accumulators = [
            IrValue::from(body.argument(inits).ok()?),
            IrValue::from(body.argument(inits + 1).ok()?),
        ];
        for inner in walk::in_block(body) {
            let mut results = inner.results().map(IrValue::from);
            let accumulates = results.any(|result| Extremum::accumulates(&accumulators, result));
            if inner.result_count() > 0 && !accumulates {
                self.inner(inner, statement)?;
            }
        }
        let [value, place] = extremum.incoming;
        let types = [scalar::element(value.r#type())?, scalar::element(place.r#type())?];
        let operands = vec![self.number(value, statement)?, self.number(place, statement)?];
        let first = statement.push(Step::Reduce {
            combiner: Combiner::Region(first_of_ties(extremum.is_largest, extremum.places, types)),
            operands,
            over: over.to_vec(),
            types: types.to_vec(),
        });
        let found = [first, first + 1];
        let results = [extremum.value_result, 1 - extremum.value_result];
        let mut init = [0; 2];
        for (role, result) in results.into_iter().enumerate() {
            let position = inits + result;
            init[role] = self.element(op.operand(position).ok()?, accesses[position].clone(), statement)?;
        }
        let mut push = |step| statement.push(step);
        let on_tie = match extremum.compares_places {
            true => push(operation(
                "arith.cmpi",
                Some(before(extremum.places)),
                vec![found[1], init[1]],
                Element::I1,
            )),
            false => push(Step::Constant {
                value: Number::Integer(0),
                element: Element::I1,
            }),
        };
        let is_kept = is_beyond(
            [found[0], init[0]],
            on_tie,
            extremum.is_largest,
            types[0],
            &mut push,
        );
        for (role, result) in results.into_iter().enumerate() {
            let operands = vec![is_kept, found[role], init[role]];
            let value = push(operation("arith.select", None, operands, types[role]));
            let tensor = self.tensor(op.result(result).ok()?.into())?;
            push(Step::Write {
                value,
                tensor,
                access: accesses[inits + result].clone(),
                partial: false,
            });
        }
        Some(())
    }
}

/// The combiner that keeps the more extreme of two values and its place, and of ties the smaller place.
fn first_of_ties(is_largest: bool, places: PlaceOrder, types: [Element; 2]) -> Region {
    let mut steps = Vec::new();
    let mut push = |step| {
        steps.push(step);
        2 * types.len() + steps.len() - 1
    };
    let on_tie = push(operation(
        "arith.cmpi",
        Some(before(places)),
        vec![1, 3],
        Element::I1,
    ));
    let is_kept = is_beyond([0, 2], on_tie, is_largest, types[0], &mut push);
    let results = [0, 1].map(|role| {
        push(operation(
            "arith.select",
            None,
            vec![is_kept, role, role + 2],
            types[role],
        ))
    });
    Region {
        identities: vec![
            least_extreme(is_largest, types[0]),
            match places {
                PlaceOrder::Signed => least_extreme(false, types[1]),
                PlaceOrder::Unsigned => Number::Integer(-1),
            },
        ],
        steps,
        results: results.to_vec(),
    }
}

/// The predicate that holds if a place comes before another.
fn before(places: PlaceOrder) -> &'static str {
    match places {
        PlaceOrder::Signed => "slt",
        PlaceOrder::Unsigned => "ult",
    }
}

/// The number that every number of a type is at least as extreme as.
fn least_extreme(is_largest: bool, element: Element) -> Number {
    match element.integer_bits() {
        None if is_largest => Number::Float(f64::NEG_INFINITY),
        None => Number::Float(f64::INFINITY),
        Some(bits) if is_largest => Number::Integer(i64::MIN >> (64 - bits)),
        Some(bits) => Number::Integer(i64::MAX >> (64 - bits)),
    }
}

/// Whether the first of two values is the more extreme, NaN more than all numbers, or ties while `on_tie` holds.
fn is_beyond(
    [one, other]: [Value; 2],
    on_tie: Value,
    is_largest: bool,
    element: Element,
    push: &mut impl FnMut(Step) -> Value,
) -> Value {
    let is_float = element.is_float();
    let compare = |predicate: [&str; 2], lhs: Value, rhs: Value| {
        let name = if is_float { "arith.cmpf" } else { "arith.cmpi" };
        let predicate = predicate[usize::from(!is_float)];
        operation(name, Some(predicate), vec![lhs, rhs], Element::I1)
    };
    let beyond = if is_largest {
        ["ogt", "sgt"]
    } else {
        ["olt", "slt"]
    };
    let is_more = push(compare(beyond, one, other));
    let is_tie = push(compare(["oeq", "eq"], one, other));
    let both = |name: &str, lhs: Value, rhs: Value| operation(name, None, vec![lhs, rhs], Element::I1);
    let tied = push(both("arith.andi", is_tie, on_tie));
    let of_numbers = push(both("arith.ori", is_more, tied));
    if !is_float {
        return of_numbers;
    }
    let is_nan = push(compare(["uno", ""], one, one));
    let is_other_nan = push(compare(["uno", ""], other, other));
    let of_nan = push(operation(
        "arith.select",
        None,
        vec![is_other_nan, on_tie, is_nan],
        Element::I1,
    ));
    push(operation(
        "arith.select",
        None,
        vec![is_nan, of_nan, of_numbers],
        Element::I1,
    ))
}

fn operation(name: &str, predicate: Option<&str>, operands: Vec<Value>, element: Element) -> Step {
    Step::Op(Operation {
        name: name.to_owned(),
        operands,
        predicate: predicate.map(str::to_owned),
        relaxed: false,
        element,
    })
}
