//! Nests of `linalg` that reduce to an extremum and its place, as other compilers write argmax and argmin.

use std::collections::HashMap;

use melior::ir::{
    AffineMap, BlockLike, Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType,
};
use norma_dialects::op_name;

use super::{Former, fill::Filled, sizes::Size, structured::Nest, writer::Writer};
use crate::{
    kernel::extremum::{self, Extremum},
    mlir::{
        builder::Builder,
        comparison::compare_integers,
        pass::PassError,
        types,
        values::{definition, key},
        walk,
    },
};

impl<'c: 'a, 'a> Nest<'_, 'c, 'a> {
    /// How the nest reduces to an extremum and its place; `None` if it does not. Where the region keeps what came first, places are the
    /// positions along the only reduction loop, so that this is the smaller one.
    pub(super) fn extremum(&self) -> Result<Option<Extremum<'c, 'a>>, PassError<'c>> {
        let yielded = self.yielded()?;
        let ([loop_of_places], [one, other]) = (self.reduced.as_slice(), yielded.as_slice()) else {
            return Ok(None);
        };
        let accumulators = self.accumulators()?;
        let [first, second] = accumulators.as_slice() else {
            return Ok(None);
        };
        let found = Extremum::of([*first, *second], [*one, *other]);
        Ok(found
            .filter(|found| found.compares_places || position_of(found.incoming[1]) == Some(*loop_of_places)))
    }

    fn accumulators(&self) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let positions = self.inits..self.op.operand_count();
        let arguments = positions.map(|position| Ok(Value::from(self.body.argument(position)?)));
        arguments.collect()
    }
}

/// The loop of which a value is the position, perhaps converted.
fn position_of(value: Value<'_, '_>) -> Option<usize> {
    let op = definition(value)?;
    match op_name(op) {
        "linalg.index" => usize::try_from(norma_dialects::integer(op.attribute("dim").ok()?).ok()?).ok(),
        "arith.index_cast" => position_of(op.operand(0).ok()?),
        _ => None,
    }
}

impl<'c: 'a, 'a> Former<'c, 'a> {
    /// Writes the program of a nest that reduces to an extremum, whose initial values take part as a first element.
    pub(super) fn extremum(
        &mut self,
        nest: &Nest<'_, 'c, 'a>,
        extremum: &Extremum<'c, 'a>,
        extents: &[Size<'c, 'a>],
        maps: &[AffineMap<'c>],
    ) -> Result<Filled<'c, 'a>, PassError<'c>> {
        let op = nest.op;
        let operands = op.operands().collect::<Vec<_>>();
        let (tensors, mut numbers): (Vec<_>, Vec<_>) = operands
            .iter()
            .partition(|operand| types::is_tensor(operand.r#type()));
        numbers.extend(nest.captured());
        let mut writer = Writer::begin(&self.sizes, op, &tensors, &numbers, extents)?;
        let mut values = HashMap::new();
        for operand in (0..op.operand_count()).filter(|operand| nest.is_read(*operand)) {
            let element = writer.read(operands[operand], maps[operand])?;
            values.insert(key(nest.body.argument(operand)?.into()), element);
        }
        let accumulators = nest.accumulators()?;
        for inner in walk::in_block(nest.body) {
            let mut results = inner.results().map(Value::from);
            if !results.any(|result| Extremum::accumulates(&accumulators, result)) {
                nest.copy(inner, &mut writer, &mut values)?;
            }
        }
        let [value, place] = extremum.incoming;
        let value = nest.value(value, &mut writer, &values)?;
        let place = nest.value(place, &mut writer, &values)?;
        let dims = nest.reduced.iter().map(|dim| writer.dims()[*dim]);
        let dims = dims.collect::<Vec<_>>();
        let stored = value.r#type();
        let value = widened(&writer.b, value);
        let found = extremum::reduce(
            &writer.b,
            &dims,
            value,
            &[place],
            extremum.places,
            extremum.is_largest,
        )?;

        let results = [extremum.value_result, 1 - extremum.value_result];
        let [of_value, of_place] = results.map(|result| nest.inits + result);
        let init = writer.read(operands[of_value], maps[of_value])?;
        let init = [
            widened(&writer.b, init),
            writer.read(operands[of_place], maps[of_place])?,
        ];
        let on_tie = match extremum.compares_places {
            true => compare_integers(&writer.b, extremum.places.before(), found[1], init[1]),
            false => writer
                .b
                .integer(IntegerType::new(writer.b.context(), 1).into(), 0),
        };
        let is_beyond = extremum::is_beyond(&writer.b, [found[0], init[0]], extremum.is_largest, on_tie);
        let kept = |index: usize| {
            let operands = [is_beyond, found[index], init[index]];
            writer.b.value("arith.select", &operands, found[index].r#type())
        };
        let [value, place] = [kept(0), kept(1)];
        let value = match value.r#type() == stored {
            true => value,
            false => writer.b.value("arith.truncf", &[value], stored),
        };
        writer.write(value, results[0], maps[of_value])?;
        writer.write(place, results[1], maps[of_place])?;
        Ok((writer.results(), None))
    }
}

/// A value of the type in which extrema are compared: floats are those of f32 at least.
fn widened<'c: 'a, 'a>(b: &Builder<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let ty = value.r#type();
    match types::is_float(ty) && types::bit_width(ty).is_some_and(|bits| bits < 32) {
        true => b.value("arith.extf", &[value], Type::float32(b.context())),
        false => value,
    }
}
