//! Along which axes the elements of a tile of numbers are known to be the same.

use std::collections::HashMap;

use melior::ir::{Value, attribute::DenseElementsAttribute, operation::OperationLike};
use norma_dialects::{
    gl::{BroadcastOp, ConvertLayoutOp, CoordinatesOp},
    op_name,
};

use crate::mlir::values::{definition, key};

/// Whether all elements of a tile are the same along an axis, as far as the ops that define it say.
pub fn is_steady(tile: Value<'_, '_>, axis: usize) -> bool {
    Steady::default().is_steady(tile, axis)
}

/// What is known of tiles, so that each is looked at once for each axis.
#[derive(Default)]
struct Steady {
    known: HashMap<(usize, usize), bool>,
}

impl Steady {
    fn is_steady(&mut self, tile: Value<'_, '_>, axis: usize) -> bool {
        let name = (key(tile), axis);
        if let Some(known) = self.known.get(&name) {
            return *known;
        }
        let found = self.follows(tile, axis).unwrap_or(false);
        self.known.insert(name, found);
        found
    }

    /// As [`Self::is_steady`]; `None` for a tile of whose definition nothing is known.
    fn follows(&mut self, tile: Value<'_, '_>, axis: usize) -> Option<bool> {
        let op = definition(tile)?;
        if let Some(broadcast) = BroadcastOp::from_op(op) {
            let along = usize::try_from(broadcast.axis().ok()?).ok()?;
            let within = axis - usize::from(along < axis);
            return Some(along == axis || self.is_steady(op.operand(0).ok()?, within));
        }
        if let Some(coordinates) = CoordinatesOp::from_op(op) {
            let along = coordinates.indices().len() + axis;
            return Some(!coordinates.map().ok()?.result(0).ok()?.is_function_of_dim(along));
        }
        if ConvertLayoutOp::from_op(op).is_some() {
            return Some(self.is_steady(op.operand(0).ok()?, axis));
        }
        match op_name(op) {
            "tensor.splat" => Some(true),
            "arith.constant" => {
                let value = DenseElementsAttribute::try_from(op.attribute("value").ok()?).ok()?;
                Some(value.is_splat())
            }
            name if name.starts_with("arith.") && op.region_count() == 0 => {
                let mut operands = op.operands();
                Some(operands.all(|operand| self.is_steady(operand, axis)))
            }
            _ => None,
        }
    }
}
