//! A scan across warps: each warp scans its own elements, starting from the combined totals of the warps before it, which all
//! threads read from shared memory.

use melior::ir::{Value, ValueLike, operation::OperationLike};
use norma_dialects::{gl::ScanOp, layout};
use norma_layout::HardwareDim;

use super::Partials;
use crate::mlir::{builder::Builder, diagnostic::Diagnostic, pass::PassError, region};

/// Expands `scan` if it crosses warps, and returns whether it does.
pub(super) fn expand<'c: 'a, 'a>(scan: ScanOp<'c, 'a>) -> Result<bool, PassError<'c>> {
    let op = scan.op();
    let location = op.location();
    let tile = scan.tile()?;
    let axis = scan.axis()?;
    let wrong = |error| Diagnostic::user(location, error);
    let layout = layout::of_tile(tile.r#type()).map_err(|error| Diagnostic::user(location, error))?;
    let levels = layout.levels_crossed(axis as usize).map_err(wrong)?;
    if levels.contains(&HardwareDim::Block) {
        let message = "a scan across the CTAs of a cluster; supported: one within a CTA";
        return Err(Diagnostic::unsupported(location, message).into());
    }
    if scan.gathered().is_some() || !levels.contains(&HardwareDim::Warp) {
        return Ok(false);
    }
    let b = Builder::before(op);
    let gathered = Partials::stored(&b, op, &[tile], axis)?.loaded(&b)?;
    let behind = ScanOp::build(
        location,
        tile,
        gathered.first().copied(),
        axis,
        scan.reverse(),
        scan.identity(),
        tile.r#type(),
        scan.total()?.r#type(),
        region::taken_from(scan.combiner()?),
    )?;
    let results = b.insert(behind).results().map(Value::from).collect::<Vec<_>>();
    b.replace(op, &results);
    Ok(true)
}
