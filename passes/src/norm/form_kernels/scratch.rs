//! Memory for what one kernel of a function computes and a later one reads.
//!
//! A result's extent along an axis is one more than the largest coordinate that the writes to it reach. It is a function of
//! the sizes of the compute's inputs, which the host function evaluates before the launch.

use melior::ir::{AffineExpr, AffineMap, Type, ValueLike, operation::OperationLike};
use norma_dialects::{attributes::scratch::ALIGNMENT, norm::ComputeOp};

use super::Buffer;
use crate::{
    kernel::{compute, scratch},
    mlir::{
        affine_value, builder::Builder, diagnostic::Diagnostic, interval::Interval, pass::PassError, types,
    },
};

/// The memory of one result.
pub(super) struct Scratch<'c> {
    memref: Type<'c>,
    /// By axis; `None` where static.
    extents: Vec<Option<AffineExpr<'c>>>,
    /// By symbol of the extents: the size that it stands for, as (tensor among the compute's inputs, axis).
    sizes: Vec<(usize, usize)>,
}

impl<'c> Scratch<'c> {
    /// Plans the memory of a result.
    ///
    /// # Errors
    ///
    /// A dynamic extent that the writes do not determine: there is none, they differ in what they reach, or an extent of the space is
    /// itself the size of a result.
    pub(super) fn of<'a>(compute: ComputeOp<'c, 'a>, result: usize) -> Result<Self, PassError<'c>>
    where
        'c: 'a,
    {
        let location = compute.op().location();
        let inputs = compute.inputs();
        let tensors = inputs
            .iter()
            .filter(|input| types::is_tensor(input.r#type()))
            .count();
        let sizes = compute.sizes()?;
        let sizes = sizes
            .chunks_exact(2)
            .map(|pair| (pair[0] as usize, pair[1] as usize))
            .collect::<Vec<_>>();
        let ty = compute.op().result(result)?.r#type();
        let shape = types::shape(ty).unwrap_or_default();
        let memref = types::memref(&shape, types::element(ty), None, None).ok_or(PassError::Reported)?;

        let mut extents = vec![None; shape.len()];
        for reached in compute::reached(compute, result)? {
            for axis in (0..shape.len()).filter(|axis| shape[*axis].is_none()) {
                if extents[axis].is_some_and(|known| known != reached[axis]) {
                    let message = format!(
                        "result {result} is not returned, and its writes differ in what they reach along axis {axis}; \
                         supported: writes that reach the same"
                    );
                    return Err(Diagnostic::unsupported(location, message).into());
                }
                extents[axis] = Some(reached[axis]);
            }
        }
        if let Some(axis) = (0..shape.len()).find(|axis| shape[*axis].is_none() && extents[*axis].is_none()) {
            let message =
                format!("expected a write to result {result}, whose size along axis {axis} it gives");
            return Err(Diagnostic::user(location, message).into());
        }
        if sizes.iter().any(|(buffer, _)| *buffer >= tensors) {
            let message =
                "expected extents over sizes of the inputs, got one of a result that is not returned";
            return Err(Diagnostic::user(location, message).into());
        }
        Ok(Self {
            memref,
            extents,
            sizes,
        })
    }

    /// Allocates the memory in the host function; `inputs` are the tensors among the compute's inputs.
    pub(super) fn allocate<'a>(
        &self,
        b: &Builder<'c, 'a>,
        inputs: &[Buffer<'c, 'a>],
        name: &str,
    ) -> Result<Buffer<'c, 'a>, PassError<'c>>
    where
        'c: 'a,
    {
        let context = b.context();
        let index = Type::index(context);
        let mut operands = Vec::new();
        let mut multiples = vec![1; self.extents.len()];
        let mut bounds = vec![Interval::SIZE; self.extents.len()];
        for (axis, extent) in self.extents.iter().enumerate() {
            let Some(extent) = extent else { continue };
            let size = |symbol: usize| {
                let (buffer, axis) = self.sizes[symbol];
                b.value(
                    "memref.dim",
                    &[inputs[buffer].memref, b.index(axis as i64)],
                    index,
                )
            };
            let reached = Interval::of(*extent, &|_| Interval::ANY, &|symbol| {
                let (buffer, of) = self.sizes[symbol];
                inputs[buffer].bounds.get(of).copied().unwrap_or(Interval::SIZE)
            });
            bounds[axis].least = reached.least.max(0);
            bounds[axis].most = reached.most.max(0);
            if extent.is_symbol() {
                let (buffer, of) = self.sizes[extent.symbol_position()];
                multiples[axis] = inputs[buffer].multiples.get(of).copied().unwrap_or(1);
                operands.push(size(extent.symbol_position()));
            } else {
                let map = AffineMap::new(context, 0, self.sizes.len(), &[*extent]);
                let sizes = (0..self.sizes.len()).map(size).collect::<Vec<_>>();
                operands.push(affine_value::apply(b, map, &sizes));
            }
        }
        Ok(Buffer {
            memref: scratch::allocate(b, self.memref, &operands, name),
            alignment: ALIGNMENT,
            multiples,
            bounds,
        })
    }
}
