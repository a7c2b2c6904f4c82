//! Layout attributes as layouts: from `#gl.blocked`, `#gl.slice`, `#gl.linear` to [`LinearLayout`] and back to `#gl.linear`,
//! and from `#gl.plain`, `#gl.swizzled`, `#gl.shared_linear` to [`SharedLayout`].
//!
//! A slice's attribute does not say the extent of its parent along the dropped axis, and does not need to: a blocked parent
//! distributes the other axes in the same way whatever that extent is, so that extent 1 is used; a linear parent's bases reach
//! every coordinate, so that the extent follows from them.

use melior::ir::{
    Attribute, AttributeLike, Type,
    attribute::{ArrayAttribute, DenseI64ArrayAttribute},
    r#type::{DimSize, RankedTensorType, ShapedTypeLike},
};
use norma_layout::{
    Basis, BlockedParams, HardwareDim, LayoutError, LinearLayout, Padding, SharedLayout, Swizzle,
};

use crate::{
    ContextLike,
    gl::{BlockedAttr, LinearAttr, MemDescType, PlainAttr, SharedLinearAttr, SliceAttr, SwizzledAttr},
};

/// Why a type or an attribute gives no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// A type that is not a tensor of static shape with a layout.
    #[error("expected a tensor of static shape with a layout, got {0}")]
    NotATile(String),
    /// A type that is not a memory descriptor.
    #[error("expected a memory descriptor, got {0}")]
    NotAMemory(String),
    /// An encoding that is not a layout of a tile.
    #[error("expected a distributed layout (blocked, slice or linear), got {0}")]
    NotDistributed(String),
    /// A layout that is not one of shared memory.
    #[error("expected a shared-memory layout (plain, swizzled or shared_linear), got {0}")]
    NotShared(String),
    /// The layout's parameters do not fit the shape or each other.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// The layout of a tile: a ranked tensor whose encoding is a distributed layout.
///
/// # Errors
///
/// If the type is no such tensor, or its encoding does not fit its shape.
pub fn of_tile(tile: Type<'_>) -> Result<LinearLayout, EncodingError> {
    let not_a_tile = || EncodingError::NotATile(tile.to_string());
    let tensor = RankedTensorType::try_from(tile).map_err(|_| not_a_tile())?;
    let encoding = tensor.encoding().ok_or_else(not_a_tile)?;
    let extent = |axis| match tensor.dim_size(axis) {
        Ok(DimSize::Static(extent)) => i64::try_from(extent).ok(),
        Ok(DimSize::Dynamic) | Err(_) => None,
    };
    let shape = (0..tensor.rank())
        .map(extent)
        .collect::<Option<Vec<i64>>>()
        .ok_or_else(not_a_tile)?;
    distributed(encoding, &shape)
}

/// The layout that `encoding` gives a tile of `shape`.
///
/// # Errors
///
/// If `encoding` is no distributed layout or does not fit `shape`.
pub fn distributed(encoding: Attribute<'_>, shape: &[i64]) -> Result<LinearLayout, EncodingError> {
    let known = shape.iter().copied().map(Some).collect::<Vec<_>>();
    distributed_over(encoding, &known)
}

/// `layout` as an attribute.
pub fn to_attribute<'c>(context: impl ContextLike<'c> + Copy, layout: &LinearLayout) -> LinearAttr<'c> {
    let bases = |dim| bases_attribute(context, layout.bases(dim));
    let [registers, lanes, warps, blocks] = HardwareDim::ALL.map(bases);
    LinearAttr::get(context, registers, lanes, warps, blocks)
}

/// Bases as the attribute that layouts hold them in.
pub fn bases_attribute<'c>(context: impl ContextLike<'c> + Copy, bases: &[Basis]) -> Attribute<'c> {
    let bases = bases
        .iter()
        .map(|basis| basis_attribute(context, basis))
        .collect::<Vec<_>>();
    array_attribute(context, &bases)
}

/// The layout of the memory that a descriptor describes.
///
/// # Errors
///
/// If the type is no memory descriptor, or its layout does not fit its shape.
pub fn of_memory(memory: Type<'_>) -> Result<SharedLayout, EncodingError> {
    let memory =
        MemDescType::from_type(memory).ok_or_else(|| EncodingError::NotAMemory(memory.to_string()))?;
    shared(memory.layout(), memory.shape())
}

/// The shared-memory layout that `layout` gives a tile of `shape`.
///
/// # Errors
///
/// If `layout` is no shared-memory layout or does not fit `shape`.
pub fn shared(layout: Attribute<'_>, shape: &[i64]) -> Result<SharedLayout, EncodingError> {
    if let Some(plain) = PlainAttr::from_attribute(layout) {
        let order = axes("order", shape.len(), plain.order())?;
        let extent = order.first().and_then(|&axis| shape.get(axis));
        let interval = Some(plain.interval()).filter(|interval| *interval != 0);
        return Ok(match (plain.padding(), interval.or(extent.copied())) {
            (0, _) | (_, None) => SharedLayout::plain(shape, &order)?,
            (amount, Some(interval)) => SharedLayout::padded(shape, &order, Padding { interval, amount })?,
        });
    }
    if let Some(swizzled) = SwizzledAttr::from_attribute(layout) {
        let swizzle = Swizzle {
            vec: swizzled.vec(),
            per_phase: swizzled.per_phase(),
            max_phase: swizzled.max_phase(),
        };
        let order = axes("order", shape.len(), swizzled.order())?;
        return Ok(SharedLayout::swizzled(shape, &order, swizzle)?);
    }
    if let Some(linear) = SharedLinearAttr::from_attribute(layout) {
        let bases = bases_of(linear.offset()).ok_or_else(|| EncodingError::NotShared(layout.to_string()))?;
        return Ok(SharedLayout::linear(shape, &bases)?);
    }
    Err(EncodingError::NotShared(layout.to_string()))
}

/// Like [`distributed`], where the extent of an axis that a slice drops is not known.
fn distributed_over(encoding: Attribute<'_>, shape: &[Option<i64>]) -> Result<LinearLayout, EncodingError> {
    if let Some(blocked) = BlockedAttr::from_attribute(encoding) {
        let shape = shape.iter().map(|extent| extent.unwrap_or(1)).collect::<Vec<_>>();
        let ctas = blocked.ctas_per_cluster();
        let params = BlockedParams {
            size_per_thread: blocked.size_per_thread().to_vec(),
            threads_per_warp: blocked.threads_per_warp().to_vec(),
            warps_per_cta: blocked.warps_per_cta().to_vec(),
            ctas_per_cluster: if ctas.is_empty() {
                vec![1; shape.len()]
            } else {
                ctas.to_vec()
            },
            order: axes("order", shape.len(), blocked.order())?,
        };
        return Ok(LinearLayout::blocked(&params, &shape)?);
    }
    if let Some(slice) = SliceAttr::from_attribute(encoding) {
        let rank = shape.len() + 1;
        let axis = usize::try_from(slice.axis()).unwrap_or(usize::MAX);
        if axis >= rank {
            return Err(LayoutError::NoSuchAxis { axis, rank }.into());
        }
        let mut parent_shape = shape.to_vec();
        parent_shape.insert(axis, None);
        return Ok(distributed_over(slice.parent(), &parent_shape)?
            .slice(axis)?
            .layout);
    }
    if let Some(linear) = LinearAttr::from_attribute(encoding) {
        return linear_over(linear, shape);
    }
    Err(EncodingError::NotDistributed(encoding.to_string()))
}

fn linear_over(linear: LinearAttr<'_>, shape: &[Option<i64>]) -> Result<LinearLayout, EncodingError> {
    let not_distributed = || EncodingError::NotDistributed(Attribute::from(linear).to_string());
    let bases = [
        linear.registers(),
        linear.lanes(),
        linear.warps(),
        linear.blocks(),
    ]
    .map(|bases| bases_of(bases).ok_or_else(not_distributed));
    let [registers, lanes, warps, blocks] = bases;
    let bases = [registers?, lanes?, warps?, blocks?];
    let reach = |axis: usize| {
        let bits = bases
            .iter()
            .flatten()
            .fold(0, |bits, basis| bits | basis.get(axis).copied().unwrap_or(0));
        (i64::from(bits) + 1).unsigned_abs().next_power_of_two() as i64
    };
    let shape = shape
        .iter()
        .enumerate()
        .map(|(axis, extent)| extent.unwrap_or_else(|| reach(axis)))
        .collect();
    Ok(LinearLayout::new(bases, shape)?)
}

fn bases_of(attribute: Attribute<'_>) -> Option<Vec<Basis>> {
    let array = ArrayAttribute::try_from(attribute).ok()?;
    (0..array.len())
        .map(|bit| {
            let basis = DenseI64ArrayAttribute::try_from(array.element(bit).ok()?).ok()?;
            (0..basis.len())
                .map(|axis| i32::try_from(basis.element(axis).ok()?).ok())
                .collect()
        })
        .collect()
}

fn basis_attribute<'c>(context: impl ContextLike<'c>, basis: &Basis) -> Attribute<'c> {
    let coordinates = basis.iter().copied().map(i64::from).collect::<Vec<_>>();
    // SAFETY: the context is alive, and the array outlives the call, which copies it.
    unsafe {
        Attribute::from_raw(mlir_sys::mlirDenseI64ArrayGet(
            context.to_raw_context(),
            coordinates.len() as isize,
            coordinates.as_ptr(),
        ))
    }
}

fn array_attribute<'c>(context: impl ContextLike<'c>, elements: &[Attribute<'c>]) -> Attribute<'c> {
    let elements = elements
        .iter()
        .map(|element| element.to_raw())
        .collect::<Vec<_>>();
    // SAFETY: as above.
    unsafe {
        Attribute::from_raw(mlir_sys::mlirArrayAttrGet(
            context.to_raw_context(),
            elements.len() as isize,
            elements.as_ptr(),
        ))
    }
}

fn axes(what: &'static str, rank: usize, order: &[i64]) -> Result<Vec<usize>, LayoutError> {
    if order.len() != rank {
        return Err(LayoutError::RankMismatch {
            what,
            expected: rank,
            got: order.len(),
        });
    }
    // An axis that does not fit a `usize` is invalid as well; the layout's own check reports it.
    Ok(order
        .iter()
        .map(|&axis| usize::try_from(axis).unwrap_or(usize::MAX))
        .collect())
}

#[cfg(test)]
mod tests {
    use melior::{Context, dialect::DialectRegistry};

    use super::*;

    fn context() -> Context {
        let registry = DialectRegistry::new();
        crate::register(&registry);
        let context = Context::new();
        context.append_dialect_registry(&registry);
        context.load_all_available_dialects();
        context
    }

    fn attribute<'c>(context: &'c Context, text: &str) -> Attribute<'c> {
        let Some(attribute) = Attribute::parse(context, text) else {
            unreachable!("the text is valid: {text}")
        };
        attribute
    }

    const ROWS: &str = "#gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], \
                        order = [1, 0]>";

    #[test]
    fn a_blocked_layout_survives_the_way_to_bases_and_back() {
        let context = context();
        let blocked = distributed(attribute(&context, ROWS), &[2, 2048]).map_err(|error| error.to_string());
        let linear = blocked.clone().map(|layout| to_attribute(&context, &layout));
        let back = linear
            .and_then(|linear| distributed(linear.into(), &[2, 2048]).map_err(|error| error.to_string()));
        assert!(blocked.is_ok());
        assert_eq!(back, blocked);
    }

    #[test]
    fn a_slice_is_that_of_the_parent_whatever_its_extent() {
        let context = context();
        let rows = attribute(&context, ROWS);
        let slice = SliceAttr::get(&context, 1, rows);
        let from_attribute = distributed(slice.into(), &[4]);
        for extent in [2, 2048, 65536] {
            let parent = distributed(rows, &[4, extent]);
            let sliced = parent.and_then(|parent| Ok(parent.slice(1)?.layout));
            assert!(sliced.is_ok());
            assert_eq!(from_attribute, sliced);
        }
    }

    #[test]
    fn a_slice_of_a_linear_layout_takes_the_extent_from_its_bases() {
        let context = context();
        let text = "#gl.slice<axis = 1, parent = #gl.linear<register = [[0, 1], [1, 0]], \
                    lane = [[0, 2], [0, 4], [0, 8], [2, 0], [0, 0]], warp = [[0, 16]], block = []>>";
        let layout = distributed(attribute(&context, text), &[4]).map(|layout| layout.to_string());
        assert_eq!(
            layout.as_deref(),
            Ok("[4] register = [(1)], lane = [(0), (0), (0), (2), (0)], warp = [(0)]")
        );
    }

    #[test]
    fn a_linear_layout_that_misses_elements_is_refused() {
        let context = context();
        let text = "#gl.linear<register = [], lane = [[1], [2], [4], [8], [0]], warp = [], block = []>";
        assert_eq!(
            distributed(attribute(&context, text), &[32]).map_err(|error| error.to_string()),
            Err("expected the bases to reach every element (rank 5), got rank 4".to_owned())
        );
    }

    #[test]
    fn padding_follows_each_run_of_the_fastest_axis() {
        let context = context();
        let layout = shared(
            attribute(&context, "#gl.plain<order = [1, 0], padding = 4>"),
            &[2, 32],
        );
        assert_eq!(layout.map(|layout| layout.offset(&[1, 0])), Ok(36));
    }

    #[test]
    fn a_tile_needs_a_layout() {
        let context = context();
        let bare = Type::parse(&context, "tensor<4xf32>").map(of_tile);
        assert_eq!(
            bare,
            Some(Err(EncodingError::NotATile("tensor<4xf32>".to_owned())))
        );
    }
}
