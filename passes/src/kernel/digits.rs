//! Coordinates that number the points of some dims, as `group * size + within` does.

use melior::{Context, ir::AffineExpr};

use crate::mlir::linear_form::LinearForm;

/// The dims whose points a coordinate numbers, each once and without gaps.
#[derive(Clone, Debug)]
pub struct Digits<'c> {
    /// Dims and their factors, the innermost first.
    pub dims: Vec<(usize, i64)>,
    /// How many points there are.
    pub extent: AffineExpr<'c>,
    /// The number of the first.
    pub first: i64,
}

/// The dims whose points a coordinate numbers, over dims of these extents; `None` for one that does something else.
pub fn digits<'c>(
    at: AffineExpr<'c>,
    extents: &[AffineExpr<'c>],
    context: &'c Context,
) -> Option<Digits<'c>> {
    let form = LinearForm::of(at, extents.len(), 0)?;
    let terms = form.dims.iter().copied().enumerate();
    let mut dims = terms.filter(|(_, factor)| *factor != 0).collect::<Vec<_>>();
    dims.sort_by_key(|(_, factor)| *factor);
    let mut extent = AffineExpr::constant(context, 1);
    for (dim, factor) in &dims {
        if extent != AffineExpr::constant(context, *factor) {
            return None;
        }
        extent = extents[*dim] * extent;
    }
    Some(Digits {
        dims,
        extent,
        first: form.constant,
    })
}
