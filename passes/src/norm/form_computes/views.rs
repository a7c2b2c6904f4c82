//! Views of tensors: reshapes, casts and slices.
//!
//! A view moves no element; it only changes coordinates. Its program reads each element and writes it, and fusion folds that into the
//! accesses of whatever reads the view. The space of a reshape is that of the side with more axes, so that coordinates of the other
//! side are sums of dims, without divisions: `%h * 128 + %c` numbers the elements of heads whether they are split
//! (`tensor.expand_shape`) or joined (`tensor.collapse_shape`). The offset of a slice may be a number that is only known at run time:
//! it is a scalar of the program, and an index of its access.

use melior::{
    Context,
    ir::{
        AffineExpr, AffineMap, Attribute, OperationRef, Value, ValueLike, attribute::ArrayAttribute,
        operation::OperationLike,
    },
};
use norma_dialects::{dense_i64, integer, op_name};

use super::{
    Former,
    fill::{Filled, constant_of},
    sizes::Size,
    unknown_size,
    writer::Writer,
};
use crate::{
    mlir::{context, diagnostic::Diagnostic, pass::PassError, types, values::key},
    norm::function_scalars,
};

/// A view and its source.
pub(super) struct View<'c, 'a> {
    op: OperationRef<'c, 'a>,
    source: Value<'c, 'a>,
    result: Value<'c, 'a>,
    kind: Kind<'c, 'a>,
}

enum Kind<'c, 'a> {
    /// A reshape that splits each axis of the source into a group of axes of the result.
    Expanded(Vec<Vec<usize>>),
    /// A reshape that joins a group of axes of the source into each axis of the result.
    Collapsed(Vec<Vec<usize>>),
    /// Each `stride`-th element from `offset` on, for each axis of the source.
    Sliced(Vec<Slice<'c, 'a>>),
}

/// The elements of one axis that a slice takes.
struct Slice<'c, 'a> {
    offset: Number<'c, 'a>,
    size: Number<'c, 'a>,
    stride: Number<'c, 'a>,
}

/// An offset, size or stride of an op: an attribute, or an operand.
#[derive(Clone, Copy)]
enum Number<'c, 'a> {
    Static(i64),
    Dynamic(Value<'c, 'a>),
}

impl Number<'_, '_> {
    /// The number, if it is an attribute or a constant operand.
    fn known(&self) -> Option<i64> {
        match self {
            Self::Static(number) => Some(*number),
            Self::Dynamic(value) => integer(constant_of(*value)?).ok(),
        }
    }
}

impl<'c: 'a, 'a> View<'c, 'a> {
    /// Reads an op that is a view; `None` for any other op.
    pub(super) fn of(op: OperationRef<'c, 'a>) -> Result<Option<Self>, PassError<'c>> {
        let kind = match op_name(op) {
            "tensor.cast" => {
                let Some(shape) = types::shape(op.operand(0)?.r#type()) else {
                    return Ok(None);
                };
                Kind::Expanded((0..shape.len()).map(|axis| vec![axis]).collect())
            }
            "tensor.expand_shape" => Kind::Expanded(groups(op)?),
            "tensor.collapse_shape" => Kind::Collapsed(groups(op)?),
            "tensor.extract_slice" => Kind::Sliced(slices(op)?),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            op,
            source: op.operand(0)?,
            result: op.result(0)?.into(),
            kind,
        }))
    }

    /// Pairs of an axis of the source and an axis of the result that have the same size: in each group, an axis that alone may have more
    /// than one element is as large as the whole group.
    pub(super) fn equal_axes(&self) -> Vec<[(Value<'c, 'a>, usize); 2]> {
        let (joined, parts, groups) = match &self.kind {
            Kind::Expanded(groups) => (self.source, self.result, groups),
            Kind::Collapsed(groups) => (self.result, self.source, groups),
            Kind::Sliced(_) => return Vec::new(),
        };
        let shape = types::shape(parts.r#type()).unwrap_or_default();
        let equal = groups.iter().enumerate().filter_map(|(axis, group)| {
            let mut long = group.iter().filter(|axis| shape[**axis] != Some(1));
            let only = long.next().filter(|_| long.next().is_none())?;
            Some([(joined, axis), (parts, *only)])
        });
        equal.collect()
    }

    /// The arguments of the function that the offsets of a slice depend on.
    fn numbers(&self) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let mut numbers = Vec::new();
        if let Kind::Sliced(slices) = &self.kind {
            for slice in slices {
                if let Number::Dynamic(offset) = slice.offset {
                    function_scalars::leaves(offset, self.op, &mut numbers)?;
                }
            }
        }
        Ok(numbers)
    }

    /// The operands that give the result's dynamic sizes, in order.
    pub(super) fn asked_sizes(&self) -> Vec<Value<'c, 'a>> {
        match &self.kind {
            Kind::Expanded(_) => self.op.operands().skip(1).collect(),
            Kind::Collapsed(_) => Vec::new(),
            Kind::Sliced(slices) => {
                let dynamic = slices.iter().filter_map(|slice| match slice.size {
                    Number::Static(_) => None,
                    Number::Dynamic(size) => Some(size),
                });
                dynamic.collect()
            }
        }
    }
}

/// The points of a space: a dim for each axis that may have more than one element.
struct Points<'c, 'a> {
    context: &'c Context,
    sizes: Vec<Size<'c, 'a>>,
    /// The extents of the dims.
    extents: Vec<Size<'c, 'a>>,
    /// By axis: a dim, or 0.
    coordinates: Vec<AffineExpr<'c>>,
}

impl<'c, 'a> Points<'c, 'a> {
    fn of(context: &'c Context, sizes: Vec<Size<'c, 'a>>) -> Self {
        let mut extents = Vec::new();
        let coordinates = sizes.iter().map(|size| match size {
            Size::Static(1) => AffineExpr::constant(context, 0),
            size => {
                extents.push(*size);
                AffineExpr::dim(context, extents.len() - 1)
            }
        });
        Self {
            coordinates: coordinates.collect(),
            context,
            sizes,
            extents,
        }
    }

    /// Coordinates as a map of the dims, with `numbers` symbols.
    fn map(&self, coordinates: &[AffineExpr<'c>], numbers: usize) -> AffineMap<'c> {
        AffineMap::new(self.context, self.extents.len(), numbers, coordinates)
    }

    /// The coordinate along the axis that joins a group of axes, the last of which runs fastest.
    ///
    /// # Errors
    ///
    /// Unsupported: an axis of the group other than the first is dynamic.
    fn joined(&self, group: &[usize], op: OperationRef<'c, 'a>) -> Result<AffineExpr<'c>, PassError<'c>> {
        let mut at = AffineExpr::constant(self.context, 0);
        let mut stride = Some(1);
        for axis in group.iter().rev() {
            let size = match self.sizes[*axis] {
                Size::Static(1) => continue,
                Size::Static(size) => Some(size),
                Size::Of(..) | Size::Quotient(..) => None,
            };
            let step = stride.ok_or_else(|| many_sizes(op, group))?;
            at = self.coordinates[*axis] * AffineExpr::constant(self.context, step) + at;
            stride = size.and_then(|size| step.checked_mul(size));
        }
        Ok(at)
    }
}

impl<'c: 'a, 'a> Former<'c, 'a> {
    /// Writes the program of a view; returns its results, and the constant that all of their elements equal, if there is one.
    pub(super) fn view(&mut self, view: &View<'c, 'a>) -> Result<Filled<'c, 'a>, PassError<'c>> {
        let sizes = match &view.kind {
            Kind::Expanded(groups) => self.expanded(view, groups)?,
            Kind::Collapsed(_) => self.extents(view.op, view.source)?,
            Kind::Sliced(_) => self.extents(view.op, view.result)?,
        };
        let points = Points::of(context::of(view.op.location()), sizes);
        let joined = |groups: &[Vec<usize>]| {
            let joined = groups.iter().map(|group| points.joined(group, view.op));
            joined.collect::<Result<Vec<_>, _>>()
        };
        let own = points.coordinates.clone();
        let numbers = view.numbers()?;
        let (read, write) = match &view.kind {
            Kind::Expanded(groups) => (joined(groups)?, own),
            Kind::Collapsed(groups) => (own, joined(groups)?),
            Kind::Sliced(slices) => (sliced(view, slices, &points, &numbers)?, own),
        };
        let mut writer = Writer::begin(&self.sizes, view.op, &[view.source], &numbers, &points.extents)?;
        let element = writer.read(view.source, points.map(&read, numbers.len()))?;
        writer.write(element, 0, points.map(&write, 0))?;
        Ok((writer.results(), self.constants.get(&key(view.source)).copied()))
    }

    /// The sizes of a result that splits the source's axes into groups of axes.
    fn expanded(
        &self,
        view: &View<'c, 'a>,
        groups: &[Vec<usize>],
    ) -> Result<Vec<Size<'c, 'a>>, PassError<'c>> {
        let mut sizes = Vec::new();
        for (of, group) in groups.iter().enumerate() {
            for axis in group {
                sizes.push(match self.sizes.size(view.result, *axis, view.op) {
                    Some(size) => size,
                    None => self.quotient(view, of, group, *axis)?,
                });
            }
        }
        Ok(sizes)
    }

    /// The size of one axis of a group: that of the source along axis `of`, divided by the sizes of the group's other axes, which have to
    /// be static.
    fn quotient(
        &self,
        view: &View<'c, 'a>,
        of: usize,
        group: &[usize],
        axis: usize,
    ) -> Result<Size<'c, 'a>, PassError<'c>> {
        let shape = types::shape(view.result.r#type()).unwrap_or_default();
        let others = group.iter().filter(|other| **other != axis);
        let divisor = others.map(|other| shape[*other]).product::<Option<i64>>();
        let divisor = divisor
            .filter(|divisor| *divisor > 0)
            .ok_or_else(|| many_sizes(view.op, group))?;
        match self.sizes.size(view.source, of, view.op) {
            Some(Size::Static(size)) => Ok(Size::Static(size / divisor)),
            Some(Size::Of(tensor, axis)) => Ok(Size::Quotient(tensor, axis, divisor)),
            Some(Size::Quotient(tensor, axis, other)) => Ok(Size::Quotient(tensor, axis, other * divisor)),
            None => Err(unknown_size(view.op, view.source, of)),
        }
    }
}

/// The coordinates of a slice's elements in the source: affine in the dims of `points`, with `numbers` as symbols. The result may
/// leave out axes of one element, as `tensor.extract_slice` does from the first axis on.
fn sliced<'c: 'a, 'a>(
    view: &View<'c, 'a>,
    slices: &[Slice<'c, 'a>],
    points: &Points<'c, 'a>,
    numbers: &[Value<'c, 'a>],
) -> Result<Vec<AffineExpr<'c>>, PassError<'c>> {
    let shape = types::shape(view.result.r#type()).unwrap_or_default();
    let constant = |number: i64| AffineExpr::constant(points.context, number);
    let mut next = 0;
    let mut at = Vec::new();
    for (axis, slice) in slices.iter().enumerate() {
        let stride = slice.stride.known().ok_or_else(|| {
            let message = format!(
                "a slice whose stride along axis {axis} is dynamic; supported: strides that are constants"
            );
            PassError::from(Diagnostic::unsupported(view.op.location(), message))
        })?;
        let offset = match slice.offset {
            Number::Static(offset) => constant(offset),
            Number::Dynamic(offset) => function_scalars::affine(offset, view.op, numbers)?,
        };
        let is_left_out =
            matches!(slice.size, Number::Static(1)) && shape.get(next).is_none_or(|size| *size != Some(1));
        if is_left_out {
            at.push(offset);
            continue;
        }
        let coordinate = points.coordinates.get(next).copied();
        let coordinate = coordinate
            .ok_or_else(|| PassError::Internal("expected an axis of a slice in its result".to_owned()))?;
        at.push(coordinate * constant(stride) + offset);
        next += 1;
    }
    Ok(at)
}

/// The groups of axes of a reshape.
fn groups<'c>(op: OperationRef<'c, '_>) -> Result<Vec<Vec<usize>>, PassError<'c>> {
    let list = |attribute: Attribute<'c>| -> Result<Vec<Attribute<'c>>, PassError<'c>> {
        let array = ArrayAttribute::try_from(attribute)?;
        let elements = (0..array.len()).map(|index| array.element(index));
        Ok(elements.collect::<Result<_, _>>()?)
    };
    let mut groups = Vec::new();
    for group in list(op.attribute("reassociation")?)? {
        let axes = list(group)?.into_iter().map(|axis| Ok(integer(axis)? as usize));
        groups.push(axes.collect::<Result<_, PassError<'c>>>()?);
    }
    Ok(groups)
}

/// Reads offset, size and stride of a slice along each axis.
fn slices<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Result<Vec<Slice<'c, 'a>>, PassError<'c>> {
    // SAFETY: the functions take no arguments.
    let unknown = unsafe {
        [
            mlir_sys::mlirShapedTypeGetDynamicStrideOrOffset(),
            mlir_sys::mlirShapedTypeGetDynamicSize(),
        ]
    };
    let mut dynamic = op.operands().skip(1);
    let mut numbers = |name: &str| {
        let numbers = dense_i64(op.attribute(name)?)?.into_iter();
        let numbers = numbers.map(|number| match unknown.contains(&number) {
            false => Ok(Number::Static(number)),
            true => match dynamic.next() {
                Some(value) => Ok(Number::Dynamic(value)),
                None => Err(PassError::Internal(format!("expected an operand for {name}"))),
            },
        });
        numbers.collect::<Result<Vec<_>, PassError<'c>>>()
    };
    let (offsets, sizes, strides) = (
        numbers("static_offsets")?,
        numbers("static_sizes")?,
        numbers("static_strides")?,
    );
    let slices = offsets.into_iter().zip(sizes).zip(strides);
    let slices = slices.map(|((offset, size), stride)| Slice { offset, size, stride });
    Ok(slices.collect())
}

/// The error for a group of axes whose joined coordinate is no sum of dims with constant factors, because an axis other than the
/// first is dynamic.
fn many_sizes<'c>(op: OperationRef<'c, '_>, group: &[usize]) -> PassError<'c> {
    let message = format!(
        "'{}' of axes {group:?} as one, of which another than the first has a dynamic size; supported: groups whose \
         sizes are static but for the first, and ops on tensors of any rank, which need no reshape",
        op_name(op)
    );
    Diagnostic::unsupported(op.location(), message).into()
}
