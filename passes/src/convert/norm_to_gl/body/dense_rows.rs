//! Tiles that go through shared memory as one run of elements (`keep = [shared]` with `bring = load`).
//!
//! Rows of 769 bf16 begin at any multiple of 2 bytes, so that threads which hold a row read it element by element. But a tile of
//! several whole rows that lie one behind the other is one run of memory: the threads share it by vectors of 16 bytes, wherever rows
//! begin, and leave it in shared memory in the order of memory, from where each takes the elements that it holds. Results go the
//! opposite way.
//!
//! In shared memory a row of the tile, which has a power of two of elements, overlaps the next one. Only elements within rows are
//! accessed there: a guard masks off the others.

use melior::ir::{AffineExpr, AffineMap, BlockLike, Location, Type, Value, ValueLike};
use norma_dialects::{
    gl::{
        CacheAttr, LoadOp, LocalAllocOp, LocalLoadOp, LocalStoreOp, MemDescReshapeOp, MemDescType, PlainAttr,
        StoreOp,
    },
    layout,
};
use norma_layout::{BlockedParams, LinearLayout};
use norma_targets::{ACCESS_BYTES, WARP_SIZE};

use super::{super::placement::Axes, Body, Brought, localize::Local};
use crate::{
    gl::{quotient_form::QuotientForm, shared_memory::row_major},
    mlir::{context, diagnostic::Diagnostic, pass::PassError, types},
};

/// A tile of rows that lie one behind the other in a buffer.
struct DenseRows<'c> {
    location: Location<'c>,
    /// The tile's extents.
    shape: Vec<i64>,
    /// The first axis that lies along a row; those before it count rows.
    first: usize,
    /// Elements from the beginning of a row to that of the next.
    row: i64,
}

/// How an expression depends on a place in a tile: `rest + of_columns * column + of_rows * row`.
struct Proportions<'c> {
    of_columns: i64,
    of_rows: i64,
    /// Over the indices, and a further dim that it does not use.
    rest: AffineExpr<'c>,
}

/// A tile of rows with the access and the guards of its run.
struct Run<'c> {
    rows: DenseRows<'c>,
    /// Over the indices and the position in the run.
    access: AffineMap<'c>,
    /// As `access`.
    guards: Option<AffineMap<'c>>,
    /// The guards of the elements of rows, over the tile's axes.
    guards_of_rows: Option<AffineMap<'c>>,
}

impl<'c> Run<'c> {
    /// The run that an access to `buffer` makes of a tile of `shape`. Where rows fill the tile, the axes that count them might as well lie
    /// along one long row: the longest rows are taken of which coordinates and guards are sums.
    ///
    /// # Errors
    ///
    /// Unsupported if the tile is no run of elements.
    fn of(
        location: Location<'c>,
        buffer: Type<'c>,
        local: &Local<'c, '_>,
        shape: &[i64],
    ) -> Result<Self, PassError<'c>> {
        let strides = strides(buffer, local, shape.len());
        let strides = strides.ok_or_else(|| {
            let message = format!(
                "expected rows at constant distances, got {} of {buffer}",
                local.access
            );
            Diagnostic::unsupported(location, message)
        })?;
        let (mut first, mut width) = (shape.len(), 1);
        while first > 0 && (shape[first - 1] == 1 || strides[first - 1] == width) {
            first -= 1;
            width *= shape[first];
        }
        let of_rows = |first: usize| -> Result<Self, PassError<'c>> {
            let rows = DenseRows::of(location, shape, &strides, first)?;
            let access = rows.access(local)?;
            let [guards, guards_of_rows] = rows.guards(local)?;
            Ok(Self {
                rows,
                access,
                guards,
                guards_of_rows,
            })
        };
        let longest = of_rows(first);
        let shorter = (first + 1..=shape.len()).filter(|first| shape[first - 1] > 1);
        match longest {
            Ok(longest) => Ok(longest),
            Err(why) => shorter.filter_map(|first| of_rows(first).ok()).next().ok_or(why),
        }
    }
}

impl<'c> DenseRows<'c> {
    /// The rows of a tile of `shape`, whose neighbours along each axis are `strides` elements apart. The axes from `first` on lie along them.
    ///
    /// # Errors
    ///
    /// Unsupported if the tile is no run of elements.
    fn of(
        location: Location<'c>,
        shape: &[i64],
        strides: &[i64],
        first: usize,
    ) -> Result<Self, Diagnostic<'c>> {
        let follows = |axis: usize, run: i64| shape[axis] == 1 || strides[axis] == run;
        let width = shape[first..].iter().product::<i64>();
        let row = first.checked_sub(1).map_or(width, |axis| strides[axis]);
        let mut run = row;
        for axis in (0..first).rev() {
            if !follows(axis, run) {
                run = 0;
            }
            run *= shape[axis];
        }
        if row > width || row < 1 || run == 0 {
            let message = format!(
                "expected a tile of whole rows one behind the other, got axes of {shape:?} elements at distances of {strides:?}"
            );
            return Err(Diagnostic::unsupported(location, message));
        }
        Ok(Self {
            location,
            shape: shape.to_vec(),
            first,
            row,
        })
    }

    /// The number of elements of a row in the tile.
    fn width(&self) -> i64 {
        self.shape[self.first..].iter().product()
    }

    /// The number of rows.
    fn rows(&self) -> i64 {
        self.shape[..self.first].iter().product()
    }

    /// Whether rows overlap in shared memory.
    fn overlap(&self) -> bool {
        self.row < self.width()
    }

    /// The type of the memory that holds the run.
    fn memory(&self, element: Type<'c>) -> MemDescType<'c> {
        row_major(context::of(self.location), element, &[self.rows() * self.width()])
    }

    /// The type of the same memory as a tile.
    fn view(&self, element: Type<'c>) -> MemDescType<'c> {
        let context = context::of(self.location);
        let order = (0..self.shape.len() as i64).rev().collect::<Vec<_>>();
        let plain = match self.overlap() {
            true => PlainAttr::get(context, &order, self.row - self.width(), self.width()),
            false => PlainAttr::get(context, &order, 0, 0),
        };
        MemDescType::get(context, &self.shape, element, plain.into())
    }

    /// How an expression over the access's indices, the tile's axes and its limits depends on the axes.
    fn proportions(
        &self,
        local: &Local<'c, '_>,
        expression: AffineExpr<'c>,
    ) -> Result<Proportions<'c>, Diagnostic<'c>> {
        let indices = local.indices.len();
        let unsupported = || {
            let message =
                format!("expected coordinates and guards that are sums over a row, got {expression}");
            Diagnostic::unsupported(self.location, message)
        };
        let form = QuotientForm::of(expression, indices + self.shape.len(), local.limits.len());
        let form = form.ok_or_else(unsupported)?;
        let is_of_axes =
            |form: &QuotientForm| (indices..indices + self.shape.len()).any(|dim| form.uses_dim(dim));
        if form
            .quotients
            .iter()
            .any(|(_, quotient)| is_of_axes(&quotient.numerator))
        {
            return Err(unsupported());
        }
        let along = |axes: std::ops::Range<usize>| {
            let (mut unit, mut factor) = (1, None);
            for axis in axes.rev().filter(|axis| self.shape[*axis] > 1) {
                let own = form.dims[indices + axis];
                let of_unit = (own % unit == 0).then_some(own / unit);
                if of_unit.is_none() || factor.is_some_and(|factor| Some(factor) != of_unit) {
                    return None;
                }
                factor = of_unit;
                unit *= self.shape[axis];
            }
            Some(factor.unwrap_or(0))
        };
        let of_columns = along(self.first..self.shape.len()).ok_or_else(unsupported)?;
        let of_rows = along(0..self.first).ok_or_else(unsupported)?;
        let context = context::of(self.location);
        let mut dims = (0..indices)
            .map(|index| AffineExpr::dim(context, index))
            .collect::<Vec<_>>();
        dims.resize(indices + self.shape.len(), AffineExpr::constant(context, 0));
        let rest = expression.compose(AffineMap::new(context, indices + 1, local.limits.len(), &dims));
        Ok(Proportions {
            of_columns,
            of_rows,
            rest,
        })
    }

    /// The access to the run, over the indices and the position in it.
    fn access(&self, local: &Local<'c, '_>) -> Result<AffineMap<'c>, PassError<'c>> {
        let context = context::of(self.location);
        let position = AffineExpr::dim(context, local.indices.len());
        let constant = |value| AffineExpr::constant(context, value);
        let (row, column) = match self.first {
            0 => (constant(0), position),
            _ => (
                AffineExpr::floor_div(position, constant(self.row)),
                AffineExpr::modulo(position, constant(self.row)),
            ),
        };
        let mut results = Vec::new();
        for result in 0..local.access.result_count() {
            let found = self.proportions(local, local.access.result(result)?)?;
            results.push(found.rest + column * constant(found.of_columns) + row * constant(found.of_rows));
        }
        Ok(AffineMap::new(context, local.indices.len() + 1, 0, &results))
    }

    /// The guards of the run, as [`Self::access`], and those of a row's elements, over the tile's axes.
    fn guards(&self, local: &Local<'c, '_>) -> Result<[Option<AffineMap<'c>>; 2], PassError<'c>> {
        let context = context::of(self.location);
        let (indices, limits) = (local.indices.len(), local.limits.len());
        let position = AffineExpr::dim(context, indices);
        let constant = |value| AffineExpr::constant(context, value);
        let mut of_run = Vec::new();
        let mut of_rows = Vec::new();
        let mut dims = vec![constant(0); indices];
        dims.extend((0..self.shape.len()).map(|axis| AffineExpr::dim(context, axis)));
        let over_axes = AffineMap::new(context, self.shape.len(), limits, &dims);
        for pair in (0..local.guards.map_or(0, |guards| guards.result_count())).step_by(2) {
            let Some(guards) = local.guards else { break };
            let (lhs, rhs) = (guards.result(pair)?, guards.result(pair + 1)?);
            let (found, limit) = (self.proportions(local, lhs)?, self.proportions(local, rhs)?);
            let slope = (found.of_columns - limit.of_columns, found.of_rows - limit.of_rows);
            match slope {
                (0, 0) => of_run.extend([found.rest, limit.rest]),
                (1, 0) if self.overlap() => {
                    let ends = limit.rest + found.rest * constant(-1);
                    if ends.is_constant() && ends.constant_value() == self.row {
                        of_rows.extend([lhs.compose(over_axes), rhs.compose(over_axes)]);
                        continue;
                    }
                    return Err(self.unguarded(guards).into());
                }
                (_, 0) => of_run.extend([found.rest + position * constant(slope.0), limit.rest]),
                // A row `r` with `r + a < b` has the positions below `(b - a) * row`.
                (0, 1) => of_run.extend([
                    position + found.rest * constant(self.row),
                    limit.rest * constant(self.row),
                ]),
                // The end of a longer row that the rows make up.
                (columns, rows) if rows == columns * self.row => {
                    of_run.extend([found.rest + position * constant(columns), limit.rest]);
                }
                _ => return Err(self.unguarded(guards).into()),
            }
        }
        if self.overlap() {
            if of_rows.is_empty() {
                let message = format!("expected a guard at the end of rows of {} elements", self.row);
                return Err(Diagnostic::unsupported(self.location, message).into());
            }
            of_run.extend([position, constant(self.rows() * self.row)]);
        }
        let map = |dims, symbols, guards: &[AffineExpr<'c>]| {
            (!guards.is_empty()).then(|| AffineMap::new(context, dims, symbols, guards))
        };
        Ok([
            map(indices + 1, limits, &of_run),
            map(self.shape.len(), 0, &of_rows),
        ])
    }

    /// The guard of the elements that rows have in shared memory, over the position in the run; `None` if they fill it.
    fn end(&self) -> Option<AffineMap<'c>> {
        let context = context::of(self.location);
        let ends = AffineExpr::constant(context, self.rows() * self.row);
        let guards = [AffineExpr::dim(context, 0), ends];
        self.overlap().then(|| AffineMap::new(context, 1, 0, &guards))
    }

    fn unguarded(&self, guards: AffineMap<'c>) -> Diagnostic<'c> {
        let message = format!("expected guards at the end of rows or of all rows, got {guards}");
        Diagnostic::unsupported(self.location, message)
    }

    /// The type of the run as a tile that `warps` warps share by vectors.
    fn run(&self, element: Type<'c>, warps: i64) -> Result<Type<'c>, Diagnostic<'c>> {
        let internal = |error: String| Diagnostic::internal(self.location, error);
        let bytes = types::element_bytes(element);
        let bytes =
            bytes.ok_or_else(|| internal(format!("expected elements of whole bytes, got {element}")))?;
        let shape = [self.rows() * self.width()];
        let params = BlockedParams {
            size_per_thread: vec![(ACCESS_BYTES / bytes).clamp(1, shape[0])],
            threads_per_warp: vec![WARP_SIZE],
            warps_per_cta: vec![warps],
            ctas_per_cluster: vec![1],
            order: vec![0],
        };
        let layout = LinearLayout::blocked(&params, &shape).map_err(|error| internal(error.to_string()))?;
        let encoding = layout::to_attribute(context::of(self.location), &layout);
        let shape = shape.map(Some);
        types::tensor(&shape, element, Some(encoding.into()))
            .ok_or_else(|| internal(format!("no tile of {element}")))
    }
}

/// The distance of neighbours along each of the tile's axes, in elements of the buffer; `None` if it is no constant.
fn strides<'c>(buffer: Type<'c>, local: &Local<'c, '_>, rank: usize) -> Option<Vec<i64>> {
    let (of_buffer, _) = types::strides_and_offset(buffer)?;
    let indices = local.indices.len();
    let mut strides = vec![0_i64; rank];
    for (result, stride) in of_buffer.into_iter().enumerate() {
        let form = QuotientForm::of(local.access.result(result).ok()?, indices + rank, 0)?;
        for (axis, along) in strides.iter_mut().enumerate() {
            if form
                .quotients
                .iter()
                .any(|(_, quotient)| quotient.numerator.uses_dim(indices + axis))
            {
                return None;
            }
            let factor = form.dims[indices + axis];
            if factor != 0 {
                *along = along.checked_add(factor.checked_mul(stride?)?)?;
            }
        }
    }
    Some(strides)
}

impl<'c: 'a, 'a> Body<'_, 'c, 'a> {
    fn run(&self, buffer: usize, local: &Local<'c, 'a>, axes: Axes) -> Result<Run<'c>, PassError<'c>> {
        let shape = self.tiles.part_shape(self.placement, axes);
        let ty = self.space.buffers[buffer].r#type();
        Run::of(self.b.location(), ty, local, &shape)
    }

    /// Reads a tile as one run and leaves it in shared memory.
    pub(super) fn bring_run(
        &self,
        element: Type<'c>,
        buffer: usize,
        local: &Local<'c, 'a>,
        axes: Axes,
        cache: Option<CacheAttr<'c>>,
    ) -> Result<Brought<'c, 'a>, PassError<'c>> {
        let Run {
            rows,
            access,
            guards,
            guards_of_rows,
        } = self.run(buffer, local, axes)?;
        let location = self.b.location();
        let load = LoadOp::build(
            location,
            self.entry.argument(buffer)?.into(),
            &local.indices,
            &local.limits,
            guards.map(|_| self.b.zero(element)),
            access,
            guards,
            cache,
            None,
            None,
            rows.run(element, self.tiles.num_warps())?,
        )?;
        let run = self.b.insert(load).result(0)?.into();
        let memory = self.b.value(LocalAllocOp::NAME, &[], rows.memory(element).into());
        self.b.insert(LocalStoreOp::build(location, run, memory, None)?);
        Ok(Brought {
            memory: self
                .b
                .value(MemDescReshapeOp::NAME, &[memory], rows.view(element).into()),
            guards: guards_of_rows,
            indices: Vec::new(),
            limits: Vec::new(),
            phase: 0,
        })
    }

    /// Writes a tile by way of shared memory, as one run.
    pub(super) fn send_run(
        &self,
        tile: Value<'c, 'a>,
        element: Type<'c>,
        buffer: usize,
        local: &Local<'c, 'a>,
        axes: Axes,
        cache: Option<CacheAttr<'c>>,
    ) -> Result<(), PassError<'c>> {
        let Run {
            rows,
            access,
            guards,
            guards_of_rows,
        } = self.run(buffer, local, axes)?;
        let location = self.b.location();
        let memory = self.b.value(LocalAllocOp::NAME, &[], rows.memory(element).into());
        let view = self
            .b
            .value(MemDescReshapeOp::NAME, &[memory], rows.view(element).into());
        self.b
            .insert(LocalStoreOp::build(location, tile, view, guards_of_rows)?);
        let run = rows.run(element, self.tiles.num_warps())?;
        let load = LocalLoadOp::build(location, memory, &[], &[], rows.end(), None, run)?;
        let run = self.b.insert(load).result(0)?.into();
        self.b.insert(StoreOp::build(
            location,
            run,
            self.entry.argument(buffer)?.into(),
            &local.indices,
            &local.limits,
            access,
            guards,
            cache,
            None,
        )?);
        Ok(())
    }
}
