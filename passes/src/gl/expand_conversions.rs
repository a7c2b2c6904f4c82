//! `gl-expand-conversions`: replaces a conversion of layouts that is cheapest through shared memory by a store and a load.
//!
//! Matches every `gl.convert_layout` between tiles of one CTA that takes more than a renumbering of registers, and that
//! shuffles cannot do or only at a higher cost (`norma_layout::conversion`). The order of the elements in memory is chosen for
//! the two layouts, so that both sides access vectors without bank conflicts. The stored and the loaded tile have their
//! registers numbered so that vectors come lowest; further conversions express this, which cost nothing.
//!
//! Barriers are left to `gl-insert-barriers`.

use melior::ir::{OperationRef, Type, ValueLike, operation::OperationLike};
use norma_dialects::{
    gl::{ConvertLayoutOp, LocalAllocOp, LocalStoreOp},
    layout,
};
use norma_layout::{ConversionPlan, MemoryExchange};

use super::{exchanged, tile_layouts};
use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        types, walk,
    },
    table::{GlExpandConversions, GlExpandConversionsStatistic},
};

pub(crate) fn run<'c>(op: OperationRef<'c, '_>, cx: &PassContext<'c, GlExpandConversions>) -> PassResult<'c> {
    for convert in walk::all(op, ConvertLayoutOp::from_op) {
        if let Some(exchange) = exchange(convert)? {
            expand(convert, &exchange)?;
            cx.count(GlExpandConversionsStatistic::NumExpanded, 1);
        }
    }
    Ok(())
}

/// The exchange through shared memory that implements `convert`; `None` if registers or shuffles are to implement it.
fn exchange<'c>(convert: ConvertLayoutOp<'c, '_>) -> Result<Option<MemoryExchange>, PassError<'c>> {
    let location = convert.op().location();
    let (from, to) = (convert.source()?.r#type(), convert.result()?.r#type());
    let layout = |ty: Type<'c>| layout::of_tile(ty).map_err(|error| Diagnostic::user(location, error));
    let element = types::element(from);
    let bytes = types::element_bytes(element)
        .or_else(|| types::is_index(element).then_some(8))
        .ok_or_else(|| {
            let message = format!("expected elements of integer, index or float type, got {element}");
            Diagnostic::unsupported(location, message)
        })?;
    let plan = layout(from)?
        .conversion_plan(&layout(to)?, bytes.unsigned_abs())
        .map_err(|error| Diagnostic::unsupported(location, error))?;
    Ok(match plan {
        ConversionPlan::Memory(exchange) => Some(exchange),
        ConversionPlan::Registers(_) | ConversionPlan::Warp(_) => None,
    })
}

fn expand<'c>(convert: ConvertLayoutOp<'c, '_>, exchange: &MemoryExchange) -> Result<(), PassError<'c>> {
    let (source, result) = (convert.source()?, convert.result()?.r#type());
    let b = Builder::before(convert.op());
    let stored = tile_layouts::in_layout(&b, source, &exchange.stored)?;
    let memory = exchanged::memory(&b, exchange, types::element(result));
    let memory = b.value(LocalAllocOp::NAME, &[], memory.into());
    b.op(LocalStoreOp::NAME, &[stored, memory], &[]);
    let converted = exchanged::loaded(&b, memory, exchange, result)?;
    b.replace(convert.op(), &[converted]);
    Ok(())
}
