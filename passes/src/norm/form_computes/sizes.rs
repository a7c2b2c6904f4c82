//! Finds which sizes of a function's tensors are equal, because an op requires it.
//!
//! An elementwise op takes tensors of one shape. A loop of a `linalg` op ranges over every axis that an indexing map accesses by this
//! loop alone. A view keeps the size of an axis that it neither splits nor joins. The result of a `norm.compute` is as large as its
//! writes reach. These equalities partition the axes (by union-find); the axis of a class that comes first in the function
//! represents it.

use std::collections::HashMap;

use melior::ir::{BlockLike, BlockRef, OperationRef, Value, ValueLike, operation::OperationLike};
use norma_dialects::{norm::ComputeOp, op_name};

use super::{structured::indexing_maps, views::View};
use crate::{
    kernel::compute,
    mlir::{
        pass::{PassError, PassResult},
        types,
        values::{definition, key},
        walk,
    },
};

/// The size of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Size<'c, 'a> {
    /// A number.
    Static(i64),
    /// The size of a tensor along an axis.
    Of(Value<'c, 'a>, usize),
    /// The size of a tensor along an axis, divided by a number that divides it.
    Quotient(Value<'c, 'a>, usize, i64),
}

/// An axis of a tensor, as a node of the union-find forest.
struct Slot<'c, 'a> {
    value: Value<'c, 'a>,
    axis: usize,
    extent: Option<i64>,
    /// Whether the size can be read off the tensor. It cannot where the tensor is only created with sizes that operands give.
    is_source: bool,
    parent: usize,
}

/// The axes of a function's tensors, partitioned by which sizes are equal.
pub(super) struct Sizes<'c, 'a> {
    /// In the order of the function.
    slots: Vec<Slot<'c, 'a>>,
    /// By tensor: the position of its first slot.
    first: HashMap<usize, usize>,
}

impl<'c: 'a, 'a> Sizes<'c, 'a> {
    /// Reads a function's body.
    pub(super) fn of(block: BlockRef<'c, 'a>) -> Result<Self, PassError<'c>> {
        let mut sizes = Self {
            slots: Vec::new(),
            first: HashMap::new(),
        };
        for index in 0..block.argument_count() {
            sizes.add(block.argument(index)?.into(), true);
        }
        let ops = walk::in_block(block);
        for op in &ops {
            // These ops create a tensor; only their operands give its dynamic sizes.
            let is_source = !["tensor.empty", "tensor.splat", "arith.constant"].contains(&op_name(*op));
            for result in op.results() {
                sizes.add(result.into(), is_source);
            }
        }
        for op in ops {
            sizes.relate(op)?;
        }
        Ok(sizes)
    }

    /// The size of an axis; `None` if it is dynamic and no tensor that is available before the op `before` has it.
    pub(super) fn size(
        &self,
        tensor: Value<'c, 'a>,
        axis: usize,
        before: OperationRef<'c, 'a>,
    ) -> Option<Size<'c, 'a>> {
        let class = self.root(*self.first.get(&key(tensor))? + axis);
        let members = || (0..self.slots.len()).filter(|slot| self.root(*slot) == class);
        if let Some(extent) = members().find_map(|slot| self.slots[slot].extent) {
            return Some(Size::Static(extent));
        }
        let own = before
            .results()
            .filter_map(|result| self.first.get(&key(result.into())));
        let own = own.copied().min().unwrap_or(self.slots.len());
        let source = members()
            .take_while(|slot| *slot < own)
            .find(|slot| self.slots[*slot].is_source)?;
        Some(Size::Of(self.slots[source].value, self.slots[source].axis))
    }

    /// The size that a number is, if it is a `tensor.dim` of a constant axis; `None` as in [`Self::size`], too.
    pub(super) fn of_number(
        &self,
        number: Value<'c, 'a>,
        before: OperationRef<'c, 'a>,
    ) -> Option<Size<'c, 'a>> {
        let (tensor, axis) = dim_of(number)?;
        let is_axis = types::shape(tensor.r#type()).is_some_and(|shape| axis < shape.len());
        is_axis.then(|| self.size(tensor, axis, before))?
    }

    /// Replaces a tensor by another one of the same shape.
    pub(super) fn rename(&mut self, old: Value<'c, 'a>, new: Value<'c, 'a>) {
        let Some(first) = self.first.get(&key(old)).copied() else {
            return;
        };
        for slot in self.slots[first..]
            .iter_mut()
            .take_while(|slot| slot.value == old)
        {
            slot.value = new;
            slot.is_source = true;
        }
        self.first.insert(key(new), first);
    }

    fn add(&mut self, value: Value<'c, 'a>, is_source: bool) {
        let Some(shape) = types::is_tensor(value.r#type())
            .then(|| types::shape(value.r#type()))
            .flatten()
        else {
            return;
        };
        self.first.insert(key(value), self.slots.len());
        for (axis, extent) in shape.into_iter().enumerate() {
            let parent = self.slots.len();
            self.slots.push(Slot {
                value,
                axis,
                extent,
                is_source,
                parent,
            });
        }
    }

    fn root(&self, mut slot: usize) -> usize {
        while self.slots[slot].parent != slot {
            slot = self.slots[slot].parent;
        }
        slot
    }

    /// Records that an axis of one tensor and an axis of another are equal.
    fn unite(&mut self, a: (Value<'c, 'a>, usize), b: (Value<'c, 'a>, usize)) {
        let slot =
            |(value, axis): (Value<'c, 'a>, usize)| Some(self.root(self.first.get(&key(value))? + axis));
        if let (Some(a), Some(b)) = (slot(a), slot(b)) {
            let (first, second) = (a.min(b), a.max(b));
            self.slots[second].parent = first;
        }
    }

    /// Records the equalities that an op requires.
    fn relate(&mut self, op: OperationRef<'c, 'a>) -> PassResult<'c> {
        let name = op_name(op);
        if let Some(compute) = ComputeOp::from_op(op) {
            return self.relate_compute(compute);
        }
        if let Some(maps) = indexing_maps(op) {
            let maps = maps?;
            let mut of_loop = HashMap::new();
            let results = op.results().map(Value::from).collect::<Vec<_>>();
            let inits = op.operand_count().saturating_sub(results.len());
            for (position, (operand, map)) in op.operands().zip(&maps).enumerate() {
                for axis in 0..map.result_count() {
                    let coordinate = map.result(axis)?;
                    if coordinate.is_dim() {
                        let first = *of_loop
                            .entry(coordinate.dim_position())
                            .or_insert((operand, axis));
                        self.unite(first, (operand, axis));
                    }
                    if let Some(result) = position.checked_sub(inits) {
                        self.unite((operand, axis), (results[result], axis));
                    }
                }
            }
        } else if name == "tensor.empty" || name == "tensor.splat" {
            let asked = op.operands().filter(|operand| types::is_index(operand.r#type()));
            self.relate_asked(op, asked.collect())?;
        } else if let Some(view) = View::of(op)? {
            for [a, b] in view.equal_axes() {
                self.unite(a, b);
            }
            self.relate_asked(op, view.asked_sizes())?;
        } else if name.starts_with("arith.") || name.starts_with("math.") {
            let values = op.operands().chain(op.results().map(Value::from));
            let tensors = values
                .filter(|value| types::is_tensor(value.r#type()))
                .collect::<Vec<_>>();
            for pair in tensors.windows(2) {
                for axis in 0..types::shape(pair[0].r#type()).unwrap_or_default().len() {
                    self.unite((pair[0], axis), (pair[1], axis));
                }
            }
        }
        Ok(())
    }

    /// Records that the dynamic sizes of an op's result are `asked`, in order, as far as these are `tensor.dim`s.
    fn relate_asked(&mut self, op: OperationRef<'c, 'a>, asked: Vec<Value<'c, 'a>>) -> PassResult<'c> {
        let result = Value::from(op.result(0)?);
        let shape = types::shape(result.r#type()).unwrap_or_default();
        let dynamic = (0..shape.len()).filter(|axis| shape[*axis].is_none());
        for (axis, size) in dynamic.zip(asked) {
            if let Some(of) = dim_of(size) {
                self.unite(of, (result, axis));
            }
        }
        Ok(())
    }

    /// Records that an axis of a result equals an axis of an input, where the writes reach exactly as far as the input's size.
    fn relate_compute(&mut self, compute: ComputeOp<'c, 'a>) -> PassResult<'c> {
        let (tensors, _) = compute::inputs(compute);
        let sizes = compute.sizes()?;
        for (position, result) in compute.outputs().into_iter().enumerate() {
            for reached in compute::reached(compute, position)? {
                for (axis, extent) in reached
                    .into_iter()
                    .enumerate()
                    .filter(|(_, extent)| extent.is_symbol())
                {
                    let pair = sizes.chunks_exact(2).nth(extent.symbol_position());
                    let of = pair.and_then(|pair| Some((*tensors.get(pair[0] as usize)?, pair[1] as usize)));
                    if let Some(of) = of {
                        self.unite(of, (result, axis));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The tensor and the axis whose size a value is, if it is a `tensor.dim` of a constant axis.
fn dim_of<'c: 'a, 'a>(size: Value<'c, 'a>) -> Option<(Value<'c, 'a>, usize)> {
    let dim = definition(size).filter(|op| walk::has_name(*op, "tensor.dim"))?;
    let axis = definition(dim.operand(1).ok()?).filter(|op| walk::has_name(*op, "arith.constant"))?;
    let axis = norma_dialects::integer(axis.attribute("value").ok()?).ok()?;
    Some((dim.operand(0).ok()?, usize::try_from(axis).ok()?))
}
