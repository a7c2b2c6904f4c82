//! Reads off a kernel what the choice of a schedule depends on.

use std::collections::BTreeSet;

use melior::ir::operation::OperationLike;

use norma_targets::ACCESS_BYTES;

use super::cost::{Contiguous, Row};
use crate::kernel::{
    reduced_dim::reduced_dim,
    space::{Access, Space, Strides},
};
use crate::mlir::{diagnostic::Diagnostic, pass::PassError};

/// The row of a kernel.
pub(super) fn of<'c>(space: &Space<'c, '_>) -> Result<Row, PassError<'c>> {
    let location = space.kernel.op().location();
    let reduced = reduced_dim(space)?;
    let extent = space.extents[reduced];
    if !extent.is_constant() {
        let message = "a reduced dim whose extent only the run knows, expected a static one";
        return Err(Diagnostic::unsupported(location, message).into());
    }
    let extent = extent.constant_value().max(1) as u64;
    let kept = (0..space.dims.len()).filter(|dim| *dim != reduced);
    let rows = kept
        .clone()
        .map(|dim| space.extents[dim])
        .map(|extent| {
            extent
                .is_constant()
                .then(|| extent.constant_value().max(1) as u64)
        })
        .try_fold(1_u64, |rows, extent| Some(rows.saturating_mul(extent?)));

    let reused = space.reused_reads();
    let contributing = space.contributing_reads();
    let accesses = space
        .accesses()?
        .into_iter()
        .filter(|access| access.dims().contains(&reduced))
        .map(|access| Input::of(space, access, reduced, kept.clone().next_back()))
        .collect::<Vec<_>>();
    let is_among = |input: &Input, reads: &BTreeSet<usize>| reads.contains(&input.position);
    // The input whose row is held decides; a weight, which is the same for all rows, only where there is nothing else.
    let lead = accesses.iter().max_by_key(|input| {
        (
            is_among(input, &reused),
            input.is_streamed,
            !input.is_write,
            input.bytes,
        )
    });
    let Some(lead) = lead else {
        let message = "a reduction over a dim that no access uses, expected a read or a write along it";
        return Err(Diagnostic::unsupported(location, message).into());
    };
    let streamed = accesses
        .iter()
        .filter(|input| input.is_streamed && is_among(input, &contributing))
        .map(|input| input.bytes)
        .sum::<u64>();
    Ok(Row {
        extent,
        rows,
        vector: lead.vector,
        element_bytes: lead.bytes,
        streamed_bytes: streamed.max(lead.bytes),
        cached: accesses
            .iter()
            .filter(|input| is_among(input, &reused))
            .map(|input| input.bytes)
            .collect(),
        late: accesses
            .iter()
            .filter(|input| !input.is_write && !is_among(input, &reused) && !is_among(input, &contributing))
            .map(|input| input.bytes)
            .collect(),
        contiguous: lead.contiguous,
    })
}

/// One access along the reduced dim.
struct Input {
    position: usize,
    is_write: bool,
    /// Whether each row has its own elements.
    is_streamed: bool,
    bytes: u64,
    vector: u64,
    contiguous: Contiguous,
}

impl Input {
    fn of(space: &Space<'_, '_>, access: Access<'_, '_>, reduced: usize, row: Option<usize>) -> Self {
        let strides = access.strides();
        let stride = |dim: Option<usize>| strides.as_ref().and_then(|strides| strides.dims[dim?]);
        let contiguous = if stride(Some(reduced)) == Some(1) {
            Contiguous::Row
        } else if stride(row) == Some(1) {
            Contiguous::AcrossRows
        } else {
            Contiguous::Nowhere
        };
        let alignment = space
            .kernel
            .alignments()
            .and_then(|alignments| alignments.get(access.buffer).copied())
            .unwrap_or_else(|| access.element_bytes());
        let vector = match strides {
            Some(strides) if contiguous == Contiguous::Row => {
                let extent = space.extents[reduced].constant_value();
                widest(&strides, reduced, extent, alignment, access.element_bytes())
            }
            _ => 1,
        };
        Self {
            position: space
                .ops
                .iter()
                .position(|op| *op == access.op)
                .unwrap_or_default(),
            is_write: access.is_write,
            is_streamed: access.dims().iter().any(|dim| *dim != reduced),
            bytes: access.element_bytes() as u64,
            vector: vector as u64,
            contiguous,
        }
    }
}

/// The most elements, a power of two, that one access along the contiguous dim `along` may move: at most 16 bytes, aligned
/// to its own size wherever it starts, and never across the end of a row.
fn widest(strides: &Strides, along: usize, extent: i64, alignment: i64, element_bytes: i64) -> i64 {
    let fits = |vector: i64| {
        let is_multiple = |elements: Option<i64>| match elements {
            Some(elements) => elements % vector == 0,
            // A dynamic stride, and where a dynamic offset leads to, are multiples of the alignment.
            None => true,
        };
        let others = strides.dims.iter().enumerate().filter(|(dim, _)| *dim != along);
        vector * element_bytes <= ACCESS_BYTES
            && extent % vector == 0
            && alignment % (vector * element_bytes) == 0
            && is_multiple(strides.offset)
            && others.into_iter().all(|(_, stride)| is_multiple(*stride))
    };
    [16, 8, 4, 2]
        .into_iter()
        .find(|vector| fits(*vector))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::{Strides, widest};

    fn rows(stride: Option<i64>) -> Strides {
        Strides {
            dims: vec![stride, Some(1)],
            offset: Some(0),
        }
    }

    #[test]
    fn an_access_is_at_most_16_bytes() {
        assert_eq!(widest(&rows(Some(4096)), 1, 4096, 64, 2), 8);
        assert_eq!(widest(&rows(Some(4096)), 1, 4096, 64, 4), 4);
    }

    #[test]
    fn an_access_divides_the_row_and_its_stride() {
        assert_eq!(widest(&rows(Some(4095)), 1, 4095, 16, 2), 1);
        assert_eq!(widest(&rows(Some(1004)), 1, 1004, 16, 2), 4);
        assert_eq!(widest(&rows(Some(4098)), 1, 4096, 16, 2), 2);
    }

    #[test]
    fn an_access_is_aligned() {
        assert_eq!(widest(&rows(None), 1, 4096, 8, 2), 4);
        assert_eq!(widest(&rows(Some(4096)), 1, 4096, 2, 2), 1);
        let shifted = Strides {
            dims: vec![Some(4096), Some(1)],
            offset: Some(2),
        };
        assert_eq!(widest(&shifted, 1, 4096, 16, 2), 2);
    }
}
