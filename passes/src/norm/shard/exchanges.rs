//! The exchanges between devices: which results of reductions, and in which round.
//!
//! The result of a reduction over a device's share is the device's partial state. A round consists of a run of the function up to such
//! states, and an all-gather of them, after which every device has been told the states of all. A state is exchanged in the round after the
//! last one that its reduction waits for. The last run, after all rounds, computes the results.

use std::collections::HashMap;

use melior::{
    Context,
    ir::{OperationRef, Type, Value, ValueLike, operation::OperationLike, r#type::IntegerType},
};
use norma_dialects::norm::{ReadOp, ReduceOp, WriteOp};

use super::axes::outside;
use crate::{
    kernel::space::Space,
    mlir::{
        context,
        diagnostic::Diagnostic,
        pass::{PassError, PassResult},
        types,
        values::{key, uses},
    },
    norm::host_function::Body,
};

/// A compute whose reductions over the shared dim have been split.
pub(super) struct Program<'c, 'a> {
    pub(super) space: Space<'c, 'a>,
    /// The dim that the devices share.
    pub(super) shared: Option<usize>,
    /// The dim over the devices.
    pub(super) of_devices: Option<usize>,
    /// The tensor of the function that each of its buffers stands for.
    pub(super) outside: Vec<Value<'c, 'a>>,
    /// Properties of the ops, by position.
    pub(super) facts: Vec<Facts>,
}

/// Properties of an op of a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// The number of rounds after which a device can compute the op for itself.
    after: usize,
    /// The number of rounds after which a device can compute the op for every device, from the states of each.
    of_all_after: usize,
    /// Whether the op depends on states that no reduction over the devices has combined.
    pub(super) is_of_each: bool,
    /// The round in which its results are exchanged, if it is a reduction over a device's share.
    pub(super) round: Option<usize>,
}

/// States of one round that are exchanged as one tensor.
#[derive(Debug)]
pub(super) struct Exchange<'c> {
    /// The tensor's name.
    pub(super) name: String,
    /// The round, counted from 1.
    pub(super) round: usize,
    /// The position of the compute.
    pub(super) compute: usize,
    /// The element type in which the states are exchanged.
    pub(super) element: Type<'c>,
    /// The dims of the tensor; each state varies over all or some of them.
    pub(super) dims: Vec<usize>,
    /// The states as positions of ops and of their results, in the order of the tensor's axis of states.
    pub(super) states: Vec<(usize, usize)>,
}

impl<'c> Exchange<'c> {
    /// The leading axes of the tensor of all devices' states: devices, and states.
    pub(super) const GATHERED_AXES: usize = 2;

    /// The index of a value among the states; the value is a result of the op at `definition`.
    pub(super) fn row<'a>(
        &self,
        space: &Space<'c, 'a>,
        definition: usize,
        value: Value<'c, 'a>,
    ) -> Option<usize> {
        let results = space.ops[definition].results().map(Value::from);
        let result = results
            .collect::<Vec<_>>()
            .iter()
            .position(|result| *result == value)?;
        self.states
            .iter()
            .position(|state| *state == (definition, result))
    }

    /// The type of the tensor of one device's states, or, with `devices`, of the tensor of the states of that many.
    pub(super) fn tensor(
        &self,
        space: &Space<'c, '_>,
        devices: Option<i64>,
    ) -> Result<Type<'c>, PassError<'c>> {
        let dims = self.dims.iter().map(|dim| {
            let extent = space.extents[*dim];
            extent.is_constant().then(|| extent.constant_value())
        });
        let states = Some(self.states.len() as i64);
        let shape = devices.map(Some).into_iter().chain([states]).chain(dims);
        types::tensor(&shape.collect::<Vec<_>>(), self.element, None).ok_or(PassError::Reported)
    }
}

impl<'c: 'a, 'a> Program<'c, 'a> {
    /// The number of buffers that are inputs; the others are results.
    pub(super) fn inputs(&self) -> usize {
        self.space.buffers.len() - self.space.program.result_count()
    }

    /// Whether a reduction combines the states of the devices.
    pub(super) fn combines(&self, reduce: ReduceOp<'c, 'a>) -> bool {
        self.ranges_over(reduce, self.of_devices)
    }

    /// Whether a state varies over some of `dims` alone, and whatever is written that depends on it is at points of all of them. At a dim
    /// without points such a state is never read, so that nobody misses it where nothing of the exchange is written.
    fn needs_only_at(&self, state: &Exchange<'c>, dims: &[usize]) -> bool {
        let waits = |value| {
            let reductions = self.space.waits_for(value);
            state
                .states
                .iter()
                .any(|(position, _)| reductions.contains(*position))
        };
        let is_at_all = |op: &OperationRef<'c, 'a>| match self.space.access(*op) {
            Ok(Some(access)) if access.is_write && waits(access.value) => {
                let at = access.dims();
                dims.iter().all(|dim| at.contains(dim))
            }
            Ok(_) => true,
            Err(_) => false,
        };
        state.dims.iter().all(|dim| dims.contains(dim)) && self.space.ops.iter().all(is_at_all)
    }

    fn ranges_over(&self, reduce: ReduceOp<'c, 'a>, dim: Option<usize>) -> bool {
        dim.is_some_and(|dim| self.space.reduces_over(reduce, dim))
    }

    /// Derives the properties of all ops. `known` holds the round after which each computed tensor is available, and is extended by the
    /// program's results.
    fn derive(&mut self, known: &mut HashMap<usize, usize>) -> PassResult<'c> {
        if let Some(scan) = self.space.scans().first() {
            let message = "a scan in a function whose tensors are sharded; supported: reductions";
            return Err(Diagnostic::unsupported(scan.op().location(), message).into());
        }
        if let Some(reduce) = self
            .space
            .reductions()
            .iter()
            .find(|reduce| reduce.nth().is_some())
        {
            let message = "a reduction with several results in a function whose tensors are sharded; supported: reductions without nth";
            return Err(Diagnostic::unsupported(reduce.op().location(), message).into());
        }
        for op in &self.space.ops {
            let of = |value| Some(self.facts[self.space.definition(value)?]);
            let mut facts = Facts::default();
            for operand in op.operands().filter_map(of) {
                facts.after = facts.after.max(operand.after);
                let of_each = if operand.is_of_each {
                    operand.of_all_after
                } else {
                    operand.after
                };
                facts.of_all_after = facts.of_all_after.max(of_each);
                facts.is_of_each |= operand.is_of_each;
            }
            if let Some(read) = ReadOp::from_op(*op) {
                let tensor = self.tensor(read.buffer()?)?;
                facts.after = known.get(&key(tensor)).copied().unwrap_or(0);
            } else if let Some(write) = WriteOp::from_op(*op) {
                let tensor = self.tensor(write.buffer()?)?;
                let of_tensor = known.entry(key(tensor)).or_default();
                *of_tensor = facts.after.max(*of_tensor);
            } else if let Some(reduce) = ReduceOp::from_op(*op) {
                if self.combines(reduce) {
                    facts.after = facts.of_all_after;
                    facts.is_of_each = false;
                } else if self.ranges_over(reduce, self.shared) {
                    facts.round = Some(facts.after + 1);
                    facts.of_all_after = facts.after + 1;
                    facts.is_of_each = true;
                }
            }
            self.facts.push(facts);
        }
        Ok(())
    }

    /// The tensor of the function that a buffer stands for.
    pub(super) fn tensor(&self, buffer: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let position = self.space.buffers.iter().position(|known| *known == buffer);
        let tensor = position.and_then(|position| self.outside.get(position).copied());
        tensor.ok_or_else(|| PassError::Internal("an access is to no buffer".to_owned()))
    }
}

/// Analyses the computes of a function. `dims` holds for each the dim that the devices share, and the dim over the devices.
pub(super) fn programs<'c: 'a, 'a>(
    body: &Body<'c, 'a>,
    dims: &[(Option<usize>, Option<usize>)],
) -> Result<Vec<Program<'c, 'a>>, PassError<'c>> {
    let mut known = HashMap::new();
    let mut programs = Vec::new();
    for (compute, (shared, of_devices)) in body.computes.iter().zip(dims) {
        let mut program = Program {
            space: Space::of_compute(*compute)?,
            shared: *shared,
            of_devices: *of_devices,
            outside: outside(*compute),
            facts: Vec::new(),
        };
        program.derive(&mut known)?;
        programs.push(program);
    }
    Ok(programs)
}

/// Groups the states of all programs into exchanges, in the order of their rounds. A state joins an exchange of the same compute, round and
/// element type whose dims are its own, or include them and are dims of every result that needs the state.
///
/// # Errors
///
/// Unsupported: a state of a type whose size is not a whole number of bytes.
pub(super) fn exchanges<'c: 'a, 'a>(
    programs: &[Program<'c, 'a>],
) -> Result<Vec<Exchange<'c>>, PassError<'c>> {
    let mut exchanges = Vec::<Exchange<'c>>::new();
    for (compute, program) in programs.iter().enumerate() {
        for mut state in states(program)? {
            let fits = |exchange: &&mut Exchange<'c>| {
                exchange.compute == compute
                    && exchange.round == state.round
                    && exchange.element == state.element
                    && (state.dims == exchange.dims || program.needs_only_at(&state, &exchange.dims))
            };
            match exchanges.iter_mut().find(fits) {
                Some(exchange) => exchange.states.append(&mut state.states),
                None => exchanges.push(Exchange { compute, ..state }),
            }
        }
    }
    exchanges.sort_by_key(|exchange| exchange.round);
    for (number, exchange) in exchanges.iter_mut().enumerate() {
        exchange.name = format!("states{number}");
    }
    Ok(exchanges)
}

/// The element type in which states of type `ty` are exchanged: an i1 as a byte, and an index as an i64; `None` if there is none.
fn exchanged_type<'c>(context: &'c Context, ty: Type<'c>) -> Option<Type<'c>> {
    let integer = |bits| Some(IntegerType::new(context, bits).into());
    match types::bit_width(ty) {
        Some(1) => integer(8),
        Some(bits) => (bits % 8 == 0).then_some(ty),
        None if types::is_index(ty) => integer(64),
        None => None,
    }
}

/// The states of a program, each as an exchange of its own, those with the most dims first.
fn states<'c: 'a, 'a>(program: &Program<'c, 'a>) -> Result<Vec<Exchange<'c>>, PassError<'c>> {
    let mut states = Vec::new();
    let rounds = program.facts.iter().enumerate();
    for (position, round) in rounds.filter_map(|(position, facts)| Some((position, facts.round?))) {
        let op = program.space.ops[position];
        for (index, result) in op.results().enumerate() {
            let value = Value::from(result);
            if uses(value) == 0 {
                continue;
            }
            let Some(element) = exchanged_type(context::of(op.location()), value.r#type()) else {
                let message = format!(
                    "a reduction of {} over what devices share; supported: floats, indices, truths and integers of whole bytes",
                    value.r#type()
                );
                return Err(Diagnostic::unsupported(op.location(), message).into());
            };
            states.push(Exchange {
                name: String::new(),
                round,
                compute: 0,
                element,
                dims: program.space.dims_of(value).into_iter().collect(),
                states: vec![(position, index)],
            });
        }
    }
    states.sort_by_key(|state| std::cmp::Reverse(state.dims.len()));
    Ok(states)
}
