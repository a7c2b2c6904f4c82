//! The part of a program that one run needs: the ops that lead to the round's states, or to the results, and what they read.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use melior::ir::{AffineExpr, OperationRef, Value, operation::OperationLike};
use norma_dialects::norm::{ReadOp, ReduceOp, WriteOp};

use super::exchanges::{Exchange, Program};
use crate::mlir::{
    affine::{self, Leaf, substitute},
    context,
    pass::PassError,
    values::key,
};

/// The part of a program that one run needs.
#[derive(Debug, Default)]
pub(super) struct Needs<'c> {
    /// Positions of the ops that a device computes once, for itself.
    pub(super) local: BTreeSet<usize>,
    /// Positions of the ops that it computes for each device, from that device's states.
    pub(super) of_each: BTreeSet<usize>,
    /// Positions of the inputs that it reads or takes sizes from.
    pub(super) tensors: BTreeSet<usize>,
    /// The exchanges whose states it reads, by position.
    pub(super) gathered: BTreeSet<usize>,
    /// Positions of the results that it computes.
    pub(super) results: BTreeSet<usize>,
    /// The exchanges whose states it returns, by position.
    pub(super) sends: Vec<usize>,
    /// Positions of the scalars that it reads.
    pub(super) scalars: BTreeSet<usize>,
    /// Whether it computes with the coordinate of the shared dim.
    pub(super) has_coordinate: bool,
    /// The dims that its compute has, by their positions in the program.
    pub(super) dims: Vec<usize>,
    /// Their extents on one device, over [`Self::sizes`].
    pub(super) extents: Vec<AffineExpr<'c>>,
    /// Each size as a tensor and an axis. Tensors are numbered from those of [`Self::tensors`] over those of [`Self::gathered`] to the results.
    pub(super) sizes: Vec<(usize, usize)>,
}

/// The operands of an op that are values; its other operands are buffers and coordinates.
pub(super) fn values_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    if ReadOp::from_op(op).is_some() {
        Vec::new()
    } else if WriteOp::from_op(op).is_some() {
        // A write's value is its first operand.
        op.operands().take(1).collect()
    } else if let Some(reduce) = ReduceOp::from_op(op) {
        reduce.values()
    } else {
        op.operands().collect()
    }
}

impl<'c: 'a, 'a> Needs<'c> {
    /// Finds what a run needs of the program at position `compute` to compute the tensors in `wanted` and the states of `round`; `None` for
    /// nothing.
    pub(super) fn of(
        program: &Program<'c, 'a>,
        compute: usize,
        exchanges: &[Exchange<'c>],
        devices: i64,
        round: Option<usize>,
        wanted: &HashSet<usize>,
    ) -> Result<Option<Self>, PassError<'c>> {
        let space = &program.space;
        let mut needs = Self::default();
        let mut open = Vec::new();
        for (position, op) in space.ops.iter().enumerate() {
            let Some(write) = WriteOp::from_op(*op) else {
                continue;
            };
            let tensor = program.tensor(write.buffer()?)?;
            if wanted.contains(&key(tensor)) {
                open.push((position, false));
                let inputs = program.inputs();
                let result = space
                    .buffers
                    .iter()
                    .position(|buffer| Some(*buffer) == write.buffer().ok());
                needs
                    .results
                    .extend(result.and_then(|result| result.checked_sub(inputs)));
            }
        }
        for (index, exchange) in exchanges.iter().enumerate() {
            if exchange.compute == compute && Some(exchange.round) == round {
                needs.sends.push(index);
                open.extend(exchange.states.iter().map(|(position, _)| (*position, false)));
            }
        }
        if open.is_empty() {
            return Ok(None);
        }
        while let Some((position, is_of_each)) = open.pop() {
            let is_new = match is_of_each {
                true => needs.of_each.insert(position),
                false => needs.local.insert(position),
            };
            if !is_new {
                continue;
            }
            let op = space.ops[position];
            let combines = ReduceOp::from_op(op).is_some_and(|reduce| program.combines(reduce));
            for value in values_of(op) {
                let Some(definition) = space.definition(value) else {
                    needs.argument(program, value);
                    continue;
                };
                let facts = program.facts[definition];
                match (is_of_each || combines) && facts.is_of_each {
                    false => open.push((definition, false)),
                    true if facts.round.is_none() => open.push((definition, true)),
                    true => {
                        let of_state = |exchange: &Exchange<'c>| {
                            exchange.compute == compute && exchange.row(space, definition, value).is_some()
                        };
                        needs.gathered.extend(exchanges.iter().position(of_state));
                    }
                }
            }
            if let Some(read) = ReadOp::from_op(op) {
                let buffer = read.buffer()?;
                needs
                    .tensors
                    .extend(space.buffers.iter().position(|known| *known == buffer));
            }
        }
        needs.find_dims(program, exchanges)?;
        needs.find_extents(program, exchanges, devices)?;
        Ok(Some(needs))
    }

    /// Notes the use of a scalar or a dim as a value.
    fn argument(&mut self, program: &Program<'c, 'a>, value: Value<'c, 'a>) {
        let space = &program.space;
        self.scalars
            .extend(space.scalars.iter().position(|scalar| *scalar == value));
        let dim = space.dim_position(value);
        self.has_coordinate |= dim.is_some() && dim == program.shared;
    }

    fn find_dims(
        &mut self,
        program: &Program<'c, 'a>,
        exchanges: &[Exchange<'c>],
    ) -> Result<(), PassError<'c>> {
        let space = &program.space;
        let mut dims = BTreeSet::new();
        for position in &self.local {
            let op = space.ops[*position];
            dims.extend(op.operands().filter_map(|operand| space.dim_position(operand)));
        }
        let tensors = self.sends.iter().chain(&self.gathered);
        dims.extend(tensors.flat_map(|exchange| exchanges[*exchange].dims.iter().copied()));
        dims.retain(|dim| Some(*dim) != program.of_devices);
        self.dims = dims.into_iter().collect();
        Ok(())
    }

    /// Finds the extents of the dims, in terms of sizes of tensors that the run reads as far as possible.
    fn find_extents(
        &mut self,
        program: &Program<'c, 'a>,
        exchanges: &[Exchange<'c>],
        devices: i64,
    ) -> Result<(), PassError<'c>> {
        let space = &program.space;
        let context = context::of(space.location());
        let inputs = program.inputs();
        // A dim whose size is that of no tensor that is read takes it from a tensor of states, if these vary over the dim.
        let mut of_states = BTreeMap::new();
        for dim in &self.dims {
            let sources = affine::symbols(space.extents[*dim]);
            let is_read = |symbol: &usize| self.tensors.contains(&space.sizes[*symbol].0);
            let varies = self.gathered.iter().find_map(|exchange| {
                let axis = exchanges[*exchange].dims.iter().position(|known| known == dim)?;
                Some((*exchange, axis))
            });
            match varies.filter(|_| space.extents[*dim].is_symbol()) {
                Some(source) if !sources.iter().all(is_read) => {
                    of_states.insert(*dim, source);
                }
                _ => self.tensors.extend(sources.iter().filter_map(|symbol| {
                    let (buffer, _) = space.sizes[*symbol];
                    (buffer < inputs).then_some(buffer)
                })),
            }
        }
        let slot = |buffer: usize| match buffer.checked_sub(inputs) {
            None => self.tensors.iter().position(|known| *known == buffer),
            Some(result) => {
                let place = self.results.iter().position(|known| *known == result);
                place.map(|place| self.tensors.len() + self.gathered.len() + place)
            }
        };
        let mut sizes = Vec::new();
        let mut symbol = |size: (usize, usize)| {
            let known = sizes.iter().position(|known| *known == size);
            let position = known.unwrap_or_else(|| {
                sizes.push(size);
                sizes.len() - 1
            });
            AffineExpr::symbol(context, position)
        };
        let mut extents = Vec::new();
        for dim in &self.dims {
            let extent = space.extents[*dim];
            if extent.is_constant() {
                let share = if program.shared == Some(*dim) { devices } else { 1 };
                extents.push(AffineExpr::constant(context, extent.constant_value() / share));
                continue;
            }
            if let Some((exchange, axis)) = of_states.get(dim) {
                let place = self.gathered.iter().position(|known| known == exchange);
                let place = place.unwrap_or_default() + self.tensors.len();
                extents.push(symbol((place, Exchange::GATHERED_AXES + axis)));
                continue;
            }
            let mut unknown = false;
            let extent = substitute(extent, &mut |leaf| match leaf {
                Leaf::Symbol(position) => {
                    let (buffer, axis) = space.sizes[position];
                    let place = slot(buffer);
                    unknown |= place.is_none();
                    symbol((place.unwrap_or_default(), axis))
                }
                Leaf::Dim(dim) => AffineExpr::dim(context, dim),
            });
            if unknown {
                let message = "an extent that only a result gives, which not every run computes; supported: extents of arguments";
                return Err(
                    crate::mlir::diagnostic::Diagnostic::unsupported(space.location(), message).into(),
                );
            }
            extents.push(extent);
        }
        self.extents = extents;
        self.sizes = sizes;
        Ok(())
    }
}
