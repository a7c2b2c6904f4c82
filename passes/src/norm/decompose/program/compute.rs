//! The `norm.compute` that takes the place of a named op: its iteration space, and its block without a body.

use melior::{
    Context,
    ir::{
        AffineExpr, AffineMap, Block, BlockLike, OperationRef, Region, RegionLike, Type, Value, ValueLike,
        operation::OperationLike,
    },
};
use norma_dialects::norm::ComputeOp;

use crate::{
    kernel::guards,
    mlir::{builder::Builder, pass::PassError, walk},
};

/// The number of points of a dim.
#[derive(Clone, Copy)]
pub(in crate::norm::decompose) enum Extent {
    /// A known number.
    Static(i64),
    /// The size of the first operand along that axis.
    Size(usize),
    /// The number of runs of `length` neighbours along that axis of the first operand, the last of which may be shorter.
    Runs { axis: usize, length: i64 },
}

/// A limit of the points of some dims: there are only those at which a sum of dims is below a number.
#[derive(Clone)]
pub(in crate::norm::decompose) struct Limit {
    /// The dims, by position, each times a factor.
    pub sum: Vec<(usize, i64)>,
    pub below: Extent,
}

impl Limit {
    /// The sides of the guard `sum < below`.
    fn guard<'c>(&self, sizes: &mut Sizes<'c>) -> [AffineExpr<'c>; 2] {
        let context = sizes.context;
        let term = |(dim, factor): &(usize, i64)| {
            AffineExpr::dim(context, *dim) * AffineExpr::constant(context, *factor)
        };
        let sum = self.sum.iter().map(term).reduce(|sum, term| sum + term);
        let sum = sum.unwrap_or_else(|| AffineExpr::constant(context, 0));
        [sum, sizes.expression(self.below)]
    }
}

/// The arguments of the block of a `norm.compute`.
pub(super) struct Arguments<'c, 'a> {
    /// The tensors among the operands, then the results.
    pub buffers: Vec<Value<'c, 'a>>,
    pub scalars: Vec<Value<'c, 'a>>,
    pub dims: Vec<Value<'c, 'a>>,
}

/// Builds the `norm.compute` that takes the place of `named`, before that op and without a body, over the points of dims of these
/// extents that are within `limits`. It reads `tensors` and `scalars`.
pub(super) fn build_compute<'c: 'a, 'a>(
    named: OperationRef<'c, 'a>,
    tensors: &[Value<'c, 'a>],
    scalars: &[Value<'c, 'a>],
    extents: &[Extent],
    limits: &[Limit],
) -> Result<(OperationRef<'c, 'a>, Arguments<'c, 'a>), PassError<'c>> {
    let outer = Builder::before(named);
    let (context, location) = (outer.context(), named.location());
    let inputs = [tensors, scalars].concat();
    let result_types = named.results().map(|result| result.r#type()).collect::<Vec<_>>();

    let mut sizes = Sizes {
        context,
        axes: Vec::new(),
    };
    let of_space = extents
        .iter()
        .map(|extent| sizes.expression(*extent))
        .collect::<Vec<_>>();
    let guards = limits
        .iter()
        .map(|limit| limit.guard(&mut sizes))
        .collect::<Vec<_>>();
    let num_sizes = sizes.axes.len();
    let guards = guards::map_of(context, &guards, extents.len(), num_sizes);
    let of_space = AffineMap::new(context, 0, num_sizes, &of_space);
    let sizes = sizes
        .axes
        .iter()
        .flat_map(|axis| [0, *axis as i64])
        .collect::<Vec<_>>();

    // The order is that of `crate::kernel::compute::Arguments`.
    let index = Type::index(context);
    let of_tensors = tensors.iter().map(ValueLike::r#type);
    let arguments = of_tensors
        .chain(result_types.iter().copied())
        .chain(scalars.iter().map(ValueLike::r#type))
        .chain(extents.iter().map(|_| index))
        .map(|ty| (ty, location))
        .collect::<Vec<_>>();
    let body = Region::new();
    body.append_block(Block::new(&arguments));
    let compute = ComputeOp::build(location, &inputs, of_space, &sizes, guards, &result_types, body)?;
    let compute = outer.insert(compute);

    let block = walk::entry_block(compute)?;
    let mut buffers = (0..arguments.len())
        .map(|index| block.argument(index).map(Value::from))
        .collect::<Result<Vec<_>, _>>()?;
    let dims = buffers.split_off(inputs.len() + result_types.len());
    let scalars = buffers.split_off(tensors.len() + result_types.len());
    let arguments = Arguments {
        buffers,
        scalars,
        dims,
    };
    Ok((compute, arguments))
}

/// The sizes of the first operand that expressions use, as affine symbols.
struct Sizes<'c> {
    context: &'c Context,
    /// The axis of each symbol.
    axes: Vec<usize>,
}

impl<'c> Sizes<'c> {
    /// An extent, over the symbols.
    fn expression(&mut self, extent: Extent) -> AffineExpr<'c> {
        match extent {
            Extent::Static(size) => AffineExpr::constant(self.context, size),
            Extent::Size(axis) => self.along(axis),
            Extent::Runs { axis, length } => {
                let length = AffineExpr::constant(self.context, length);
                AffineExpr::ceil_div(self.along(axis), length)
            }
        }
    }

    fn along(&mut self, axis: usize) -> AffineExpr<'c> {
        let known = self.axes.iter().position(|known| *known == axis);
        let symbol = known.unwrap_or_else(|| {
            self.axes.push(axis);
            self.axes.len() - 1
        });
        AffineExpr::symbol(self.context, symbol)
    }
}
