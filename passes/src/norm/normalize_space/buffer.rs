//! A buffer's shape and strides while its axes are joined.
//!
//! Joining follows `memref.collapse_shape`, so that the type that comes out is the one that op computes.

use melior::{
    Context,
    ir::{
        Attribute, Type,
        attribute::{ArrayAttribute, IntegerAttribute},
        r#type::IntegerType,
    },
};
use norma_dialects::affine_map;

use crate::mlir::{interval::Interval, types};

/// A memref, some of whose adjacent axes have been joined.
#[derive(Clone, Debug)]
pub(super) struct Buffer<'c> {
    original: Type<'c>,
    /// The size of each axis; `None` for a dynamic one.
    pub(super) shape: Vec<Option<i64>>,
    /// What the size of each axis is a multiple of; for a static axis this is the size itself.
    multiples: Vec<i64>,
    /// The bounds of each axis's size.
    bounds: Vec<Interval>,
    layout: Layout,
    /// The axes of `original` that each axis consists of.
    groups: Vec<Vec<i64>>,
}

#[derive(Clone, Debug)]
enum Layout {
    Contiguous,
    /// Strides and offset in elements; `None` for a dynamic one.
    Strided {
        strides: Vec<Option<i64>>,
        offset: Option<i64>,
    },
    /// A layout that axes cannot be joined under.
    Other,
}

impl<'c> Buffer<'c> {
    /// Reads a memref. `known` are the multiples of its dynamic axes, as (axis, multiple), and `bounds` gives those of an axis's size.
    pub(super) fn new(memref: Type<'c>, known: &[(usize, i64)], bounds: impl Fn(usize) -> Interval) -> Self {
        let shape = types::shape(memref).unwrap_or_default();
        let mut multiples = shape.iter().map(|size| size.unwrap_or(1)).collect::<Vec<_>>();
        for (axis, multiple) in known {
            multiples[*axis] = *multiple;
        }
        let map = types::layout(memref).and_then(|layout| affine_map(layout).ok());
        let layout = if map.is_some_and(|map| map.is_identity()) {
            Layout::Contiguous
        } else if let Some((strides, offset)) = types::strides_and_offset(memref) {
            Layout::Strided { strides, offset }
        } else {
            Layout::Other
        };
        let bounds = (0..shape.len()).map(bounds).collect();
        let groups = (0..shape.len() as i64).map(|axis| vec![axis]).collect();
        Self {
            original: memref,
            shape,
            multiples,
            bounds,
            layout,
            groups,
        }
    }

    /// Whether `axis` and the next one can be one axis: in every buffer of this type the outer stride is the inner size times the inner
    /// stride.
    pub(super) fn can_join(&self, axis: usize) -> bool {
        let (outer, inner) = (self.shape[axis], self.shape[axis + 1]);
        let fits = outer
            .zip(inner)
            .is_none_or(|(outer, inner)| outer.checked_mul(inner).is_some());
        fits && match &self.layout {
            Layout::Contiguous => true,
            Layout::Strided { strides, .. } => inner.is_some_and(|inner| {
                let spans = strides[axis + 1].and_then(|stride| stride.checked_mul(inner));
                // The stride of an axis of one element is never used.
                outer == Some(1) || inner == 1 || (spans.is_some() && spans == strides[axis])
            }),
            Layout::Other => false,
        }
    }

    /// Joins `axis` and the next one.
    pub(super) fn join(&mut self, axis: usize) {
        let inner = self.shape.remove(axis + 1);
        self.shape[axis] = self.shape[axis].zip(inner).map(|(outer, inner)| outer * inner);
        let multiple = self.multiples.remove(axis + 1);
        // Where the product overflows, the larger multiple alone is kept.
        let product = self.multiples[axis].checked_mul(multiple);
        self.multiples[axis] = product.unwrap_or(multiple.max(self.multiples[axis]));
        let bounds = self.bounds.remove(axis + 1);
        self.bounds[axis] = self.bounds[axis].times(bounds);
        if let Layout::Strided { strides, .. } = &mut self.layout {
            let unused = if inner == Some(1) { axis + 1 } else { axis };
            strides.remove(unused);
        }
        let inner = self.groups.remove(axis + 1);
        self.groups[axis].extend(inner);
    }

    /// What is known of the dynamic axes, as (axis, multiple).
    pub(super) fn dynamic_multiples(&self) -> impl Iterator<Item = (usize, i64)> {
        let axes = self.shape.iter().zip(&self.multiples).enumerate();
        axes.filter(|(_, (size, multiple))| size.is_none() && **multiple > 1)
            .map(|(axis, (_, multiple))| (axis, *multiple))
    }

    /// What is stated of the dynamic axes, as (axis, bounds).
    pub(super) fn dynamic_bounds(&self) -> impl Iterator<Item = (usize, Interval)> {
        let axes = self.shape.iter().zip(&self.bounds).enumerate();
        axes.filter(|(_, (size, bounds))| size.is_none() && **bounds != Interval::SIZE)
            .map(|(axis, (_, bounds))| (axis, *bounds))
    }

    /// The axes of the original memref that an axis consists of.
    pub(super) fn axes(&self, axis: usize) -> &[i64] {
        &self.groups[axis]
    }

    /// Whether any axes have been joined.
    pub(super) fn is_joined(&self) -> bool {
        self.groups.iter().any(|group| group.len() > 1)
    }

    /// The memref before.
    pub(super) fn original(&self) -> Type<'c> {
        self.original
    }

    /// The memref now. `None` where MLIR refuses the type, with its reason emitted.
    pub(super) fn memref(&self, context: &'c Context) -> Option<Type<'c>> {
        let layout = match &self.layout {
            Layout::Contiguous => None,
            Layout::Strided { strides, offset } => Some(types::strided(context, strides, *offset)),
            Layout::Other => types::layout(self.original),
        };
        let space = types::memory_space(self.original);
        types::memref(&self.shape, types::element(self.original), layout, space)
    }

    /// The `reassociation` of the `memref.collapse_shape` that leads from the original to the memref now.
    pub(super) fn reassociation(&self, context: &'c Context) -> Attribute<'c> {
        let i64 = Type::from(IntegerType::new(context, 64));
        let groups = self.groups.iter().map(|group| {
            let axes = group.iter().map(|axis| IntegerAttribute::new(i64, *axis).into());
            ArrayAttribute::new(context, &axes.collect::<Vec<_>>()).into()
        });
        ArrayAttribute::new(context, &groups.collect::<Vec<_>>()).into()
    }
}
