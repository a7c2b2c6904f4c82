//! `gl-unroll-loops`: unrolls loops that pass over memory, and issues the loads of all unrolled steps before the steps compute.
//!
//! A step that loads 16 bytes and waits for them leaves a thread with one access in flight, and a step that combines partial results
//! with those of the steps before waits long. Matches `scf.for` loops whose bodies exchange nothing between threads, in kernels with
//! `gl.unroll_bytes`: as many steps are unrolled as a thread may load at a time. Where that is all of them, the weights by which
//! partial means are combined become constants. LLVM unrolls only small loops, and neither it nor ptxas moves the loads of a step
//! ahead of the stores of the step before, since they do not know that the buffers are disjoint.
//!
//! Why it is correct: each step computes what it did, in the same order. Only loads are issued earlier, and a step finds the tile that it
//! would have loaded itself, as long as no earlier step stores to the buffer. A kernel's buffers do not overlap, except for results that
//! may be written over an argument, each element of which is read for the last time at the point that writes it (`norm.may_alias`).
//!
//! It costs registers for the loads in flight, and code.

use std::collections::HashMap;

use melior::ir::{BlockLike, Operation, OperationRef, Type, Value, ValueLike, operation::OperationLike};
use norma_dialects::{
    attributes::kernel,
    gl::{
        BroadcastOp, ConvertLayoutOp, CoordinatesOp, GatherOp, LoadOp, MaskOp, ReduceOp, ScatterOp, StoreOp,
    },
    integer_of, layout, op_name,
};

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        region, types,
        values::key,
        walk,
    },
    table::{GlUnrollLoops, GlUnrollLoopsStatistic},
};

use super::{
    divisibility::constant,
    steps::{self, Stays},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlUnrollLoops>) -> PassResult<'c> {
    for function in walk::named(op, "gpu.func") {
        let Some(bytes) = integer_of(function, kernel::UNROLL_BYTES) else {
            continue;
        };
        for loop_op in walk::named(function, "scf.for") {
            if let Some(body) = Body::of(loop_op, bytes)? {
                body.unroll()?;
                cx.count(GlUnrollLoopsStatistic::NumLoops, 1);
            }
        }
        Builder::before(function).remove_attribute(function, kernel::UNROLL_BYTES);
    }
    Ok(())
}

/// A loop that is to be unrolled.
struct Body<'c, 'a> {
    loop_op: OperationRef<'c, 'a>,
    lower: Value<'c, 'a>,
    upper: Value<'c, 'a>,
    /// The loads of which the unrolled steps issue all first.
    loads: Vec<OperationRef<'c, 'a>>,
    /// The other ops, without the terminator.
    rest: Vec<OperationRef<'c, 'a>>,
    /// The values that a step passes on to the next.
    yielded: Vec<Value<'c, 'a>>,
    /// How many steps are unrolled into one.
    steps: i64,
    /// The number of steps of the whole loop, if it is known.
    known: Option<i64>,
}

impl<'c: 'a, 'a> Body<'c, 'a> {
    /// The loop, if a thread can issue the loads of several of its steps together: those of at most `in_flight` bytes.
    fn of(loop_op: OperationRef<'c, 'a>, in_flight: i64) -> Result<Option<Self>, PassError<'c>> {
        let block = walk::entry_block(loop_op)?;
        let mut ops = walk::in_block(block);
        let Some(end) = ops.pop() else { return Ok(None) };
        let [lower, upper, step] = [loop_op.operand(0)?, loop_op.operand(1)?, loop_op.operand(2)?];
        if constant(step) != Some(1) || !ops.iter().all(|op| is_of_one_thread(*op)) {
            return Ok(None);
        }
        let (mut loads, mut rest, mut bytes) = (Vec::new(), Vec::new(), 0);
        for op in ops {
            match LoadOp::from_op(op) {
                Some(load) if matches!(steps::stays(loop_op, load)?, Stays::No) => {
                    bytes += bytes_of_thread(load)?;
                    loads.push(op);
                }
                _ => rest.push(op),
            }
        }
        let known = constant(lower).zip(constant(upper));
        let known = known.map(|(lower, upper)| (upper - lower).max(0));
        let Some(most) = in_flight.checked_div(bytes) else {
            return Ok(None);
        };
        let steps = match known {
            // The length of the groups if the steps are divided into the fewest groups of at most `most`
            // steps, as evenly as possible.
            Some(known) if known > 0 && most > 0 => {
                let known = known.unsigned_abs();
                known.div_ceil(known.div_ceil(most.unsigned_abs())) as i64
            }
            Some(_) => 0,
            None => most,
        };
        Ok((steps > 1).then(|| Self {
            loop_op,
            lower,
            upper,
            loads,
            rest,
            yielded: end.operands().collect(),
            steps,
            known,
        }))
    }

    /// Replaces the loop by one over groups of steps and by the steps that are left.
    fn unroll(&self) -> Result<(), PassError<'c>> {
        let mut b = Builder::before(self.loop_op);
        let initial = self.loop_op.operands().skip(3).collect::<Vec<_>>();
        let results = match self.known {
            Some(known) => {
                let left = known % self.steps;
                let middle = self.moved(&b, self.lower, known - left);
                let carried = match known / self.steps {
                    1 => self.group(&b, self.lower, self.steps, initial)?,
                    _ => self.looped(&mut b, middle, initial)?,
                };
                self.group(&b, middle, left, carried)?
            }
            None => {
                let index = Type::index(b.context());
                let number = b.value("arith.subi", &[self.upper, self.lower], index);
                let number = b.value("arith.maxsi", &[number, b.index(0)], index);
                let left = b.value("arith.remui", &[number, b.index(self.steps)], index);
                let grouped = b.value("arith.subi", &[number, left], index);
                let middle = b.value("arith.addi", &[self.lower, grouped], index);
                let carried = self.looped(&mut b, middle, initial)?;
                let mut operands = vec![middle, self.upper, b.index(1)];
                operands.extend(carried);
                let types = self
                    .loop_op
                    .results()
                    .map(|result| result.r#type())
                    .collect::<Vec<_>>();
                let body = region::taken_from(self.loop_op.region(0)?);
                let last = b.op_with("scf.for", &operands, &types, &[], vec![body]);
                last.results().map(Value::from).collect()
            }
        };
        for (result, renewed) in self.loop_op.results().zip(results) {
            b.replace_all_uses(result.into(), renewed);
        }
        b.erase(self.loop_op);
        Ok(())
    }

    /// A loop over groups of steps, from the first step to `middle`; returns its results.
    fn looped(
        &self,
        b: &mut Builder<'c, 'a>,
        middle: Value<'c, 'a>,
        initial: Vec<Value<'c, 'a>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let location = self.loop_op.location();
        let types = initial.iter().map(|value| value.r#type()).collect::<Vec<_>>();
        let mut arguments = vec![(Type::index(b.context()), location)];
        arguments.extend(types.iter().map(|ty| (*ty, location)));
        let mut operands = vec![self.lower, middle, b.index(self.steps)];
        operands.extend(initial);
        let body = region::of_block(&arguments);
        let grouped = b.op_with("scf.for", &operands, &types, &[], vec![body]);
        let block = walk::entry_block(grouped)?;
        let carried = (1..=types.len())
            .map(|argument| Ok(block.argument(argument)?.into()))
            .collect::<Result<Vec<_>, melior::Error>>()?;
        b.move_to_end(block);
        let yielded = self.group(b, block.argument(0)?.into(), self.steps, carried)?;
        b.op("scf.yield", &yielded, &[]);
        b.move_after(grouped);
        Ok(grouped.results().map(Value::from).collect())
    }

    /// Builds `count` steps from the step `first` on; returns what the last one passes on.
    fn group(
        &self,
        b: &Builder<'c, 'a>,
        first: Value<'c, 'a>,
        count: i64,
        mut carried: Vec<Value<'c, 'a>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let arguments = walk::entry_block(self.loop_op)?;
        let mut steps = Vec::new();
        for step in 0..count {
            let number = self.moved(b, first, step);
            let mut renewed = HashMap::from([(key(arguments.argument(0)?.into()), number)]);
            for load in &self.loads {
                let operands = load
                    .operands()
                    .map(|operand| steps::known_at_step(b, self.loop_op, operand, number))
                    .collect::<Result<Vec<_>, _>>()?;
                let copy = b.insert(Operation::clone(load));
                b.set_operands(copy, &operands);
                renewed.insert(key(load.result(0)?.into()), copy.result(0)?.into());
            }
            steps.push(renewed);
        }
        for mut renewed in steps {
            for (argument, value) in carried.iter().enumerate() {
                renewed.insert(key(arguments.argument(1 + argument)?.into()), *value);
            }
            let in_step = |renewed: &HashMap<usize, Value<'c, 'a>>, value: Value<'c, 'a>| {
                renewed.get(&key(value)).copied().unwrap_or(value)
            };
            for op in &self.rest {
                let operands = op
                    .operands()
                    .map(|operand| in_step(&renewed, operand))
                    .collect::<Vec<_>>();
                let copy = b.insert(Operation::clone(op));
                b.set_operands(copy, &operands);
                for (result, again) in op.results().zip(copy.results()) {
                    renewed.insert(key(result.into()), again.into());
                }
            }
            carried = self
                .yielded
                .iter()
                .map(|value| in_step(&renewed, *value))
                .collect();
        }
        Ok(carried)
    }

    /// The number of the step that is `by` steps behind another one.
    fn moved(&self, b: &Builder<'c, 'a>, step: Value<'c, 'a>, by: i64) -> Value<'c, 'a> {
        match constant(step) {
            Some(step) => b.index(step + by),
            None if by == 0 => step,
            None => b.value("arith.addi", &[step, b.index(by)], Type::index(b.context())),
        }
    }
}

/// Whether an op needs nothing of other threads and leaves nothing to them. Reductions and conversions that do have been expanded.
fn is_of_one_thread(op: OperationRef<'_, '_>) -> bool {
    const OF_GL: [&str; 9] = [
        LoadOp::NAME,
        GatherOp::NAME,
        StoreOp::NAME,
        ScatterOp::NAME,
        CoordinatesOp::NAME,
        MaskOp::NAME,
        BroadcastOp::NAME,
        ConvertLayoutOp::NAME,
        ReduceOp::NAME,
    ];
    let name = op_name(op);
    match name.split('.').next() {
        Some("arith" | "math" | "tensor") => op.region_count() == 0,
        _ => OF_GL.contains(&name),
    }
}

/// The bytes that a thread loads.
fn bytes_of_thread<'c>(load: LoadOp<'c, '_>) -> Result<i64, PassError<'c>> {
    let tile = load.tile()?.r#type();
    let refused = |error: String| Diagnostic::user(load.op().location(), error);
    let layout = layout::of_tile(tile).map_err(|error| refused(error.to_string()))?;
    let element = types::element(tile);
    let bytes = types::element_bytes(element)
        .ok_or_else(|| refused(format!("expected elements of integers or floats, got {element}")))?;
    Ok(layout.num_registers() as i64 * bytes)
}
