//! Names the sizes that are known only at launch, and describes the tensors with them.
//!
//! Two dims share one size if a kernel implies it: a kernel whose space has a dim of extent `dim(%x, 0)` and which writes
//! `%y` at that dim makes the first extent of `y` equal to that of `x`.

use norma_bundle::manifest::{Symbol, SymbolOf, Tensor};
use norma_bundle::{Element, Expression};

use super::affine::substitute;
use super::host::{Buffer, HostFunction, HostTensor, Launch, Role, dim_of_symbol};
use super::kernel::{self, Assumptions, Kernels};
use super::kernel_form::{KernelForm, KernelForms, Size};
use crate::error::{Error, Result};

/// The alignment of scratch, in bytes.
const SCRATCH_ALIGNMENT: u64 = norma_dialects::attributes::scratch::ALIGNMENT as u64;

/// The sizes of a host function's tensors, and where a launcher reads them.
pub(super) struct Sizes {
    /// For each tensor and dim, its extent.
    pub shapes: Vec<Vec<Expression>>,
    /// For each tensor and dim, its stride in elements.
    pub strides: Vec<Vec<Expression>>,
    /// Where a launcher reads each symbol.
    pub symbols: Vec<Symbol>,
}

impl Sizes {
    /// The extent of an axis of a buffer.
    pub fn size(&self, buffer: &Buffer, axis: usize) -> Option<Expression> {
        let shape = self.shapes.get(buffer.tensor)?;
        let extents = buffer
            .groups
            .get(axis)?
            .iter()
            .map(|dim| shape.get(*dim).cloned());
        extents.reduce(|a, b| Some(a? * b?)).flatten()
    }

    /// The bytes of a tensor without gaps.
    pub fn bytes(&self, tensor: usize, element: Element) -> Option<Expression> {
        let shape = self.shapes.get(tensor)?.iter().cloned();
        Some(shape.fold(Expression::Integer(1), |product, extent| product * extent) * element.bytes() as i64)
    }

    /// The stride of an axis of a buffer, in elements: that of the innermost of its dims whose extent is not 1, which is the
    /// definition of `memref.collapse_shape`.
    pub fn stride(&self, buffer: &Buffer, axis: usize) -> Option<Expression> {
        let dims = buffer.groups.get(axis)?;
        let has_steps = |dim: &&usize| self.shapes[buffer.tensor][**dim].as_integer() != Some(1);
        let innermost = dims.iter().rev().find(has_steps).or(dims.first())?;
        self.strides.get(buffer.tensor)?.get(*innermost).cloned()
    }
}

/// Finds out which dynamic dims are equal, and names each set of equal dims by the first name that the function gives one of
/// them (`norm.sizes`), or else by what its programs call one of them first (`norm.dims`), if no other set is called so, or else `m`, `m1`
/// and so on.
pub(super) fn name_sizes(host: &HostFunction, forms: &KernelForms) -> Sizes {
    let mut classes = Classes::new(host);
    for (index, tensor) in host.tensors.iter().enumerate() {
        let Role::Scratch { extents, .. } = &tensor.role else {
            continue;
        };
        for (dim, extent) in extents.iter().enumerate() {
            if let Expression::Symbol(symbol) = extent
                && let Some((tensor, of)) = dim_of_symbol(symbol)
            {
                classes.unite(classes.slot(index, dim), classes.slot(tensor, of));
            }
        }
    }
    for (launch, form) in forms.of(host) {
        for (a, b) in form.equal_sizes() {
            classes.unite_sizes(&launch.buffers, a, b);
        }
    }
    let mut given: Vec<(usize, &str)> = Vec::new();
    for (slot, name) in classes.named(host, |tensor| &tensor.sizes) {
        match given.iter().find(|(_, known)| *known == name) {
            Some((other, _)) => classes.unite(*other, slot),
            None => given.push((slot, name)),
        }
    }
    let is_given = |name: &str| given.iter().any(|(_, known)| *known == name);
    let is_number = |name: &str| host.scalars.iter().any(|scalar| scalar.name == name);
    let mut called: Vec<(usize, &str)> = Vec::new();
    for (slot, name) in classes.named(host, |tensor| &tensor.dims) {
        let class = classes.find(slot);
        let has_name = |names: &[(usize, &str)]| names.iter().any(|(slot, _)| classes.find(*slot) == class);
        let is_free = !is_given(name) && !is_number(name) && !called.iter().any(|(_, known)| *known == name);
        if is_free && !has_name(&given) && !has_name(&called) {
            called.push((class, name));
        }
    }
    let is_called = |name: &str| called.iter().any(|(_, known)| *known == name);
    let mut symbols = Vec::new();
    let mut names: Vec<(usize, String)> = Vec::new();
    let mut unnamed = (0..).map(|count| match count {
        0 => "m".to_owned(),
        count => format!("m{count}"),
    });
    let mut shapes = Vec::new();
    for (index, argument) in host.tensors.iter().enumerate() {
        let mut shape = Vec::new();
        for (dim, extent) in argument.shape.iter().enumerate() {
            if let Some(extent) = extent {
                shape.push(Expression::Integer(*extent));
                continue;
            }
            if let Role::Scratch { extents, .. } = &argument.role {
                shape.push(substitute(&extents[dim], &|symbol| {
                    let (tensor, dim) = dim_of_symbol(symbol)?;
                    let shape: &Vec<Expression> = shapes.get(tensor)?;
                    shape.get(dim).cloned()
                }));
                continue;
            }
            let class = classes.find(classes.slot(index, dim));
            let name = match names.iter().find(|(known, _)| *known == class) {
                Some((_, name)) => name.clone(),
                None => {
                    let mut said = given.iter().chain(&called);
                    let own = said.find(|(slot, _)| classes.find(*slot) == class);
                    let name = match own {
                        Some((_, name)) => (*name).to_owned(),
                        None => unnamed
                            .find(|name| !is_given(name) && !is_called(name) && !is_number(name))
                            .unwrap_or_default(),
                    };
                    let of = SymbolOf::Size;
                    symbols.push(Symbol {
                        name: name.clone(),
                        tensor: argument.name.clone(),
                        dim,
                        of,
                    });
                    names.push((class, name.clone()));
                    name
                }
            };
            shape.push(Expression::symbol(name));
        }
        shapes.push(shape);
    }
    let mut strides = Vec::<Vec<Expression>>::new();
    for (argument, shape) in host.tensors.iter().zip(&shapes) {
        // An output over the memory of an input has the strides of that input.
        let of_input = argument.may_alias.as_ref().and_then(|name| {
            let input = host.tensors.iter().position(|tensor| tensor.name == *name)?;
            strides.get(input).cloned()
        });
        let of_input = |dim: usize| of_input.as_ref()?.get(dim).cloned();
        strides.push(match &argument.strides {
            None => contiguous(shape),
            Some(given) => given
                .iter()
                .enumerate()
                .map(|(dim, stride)| match stride {
                    Some(stride) => Expression::Integer(*stride),
                    None => of_input(dim).unwrap_or_else(|| {
                        let name = format!("{}_stride{dim}", argument.name);
                        let of = SymbolOf::Stride;
                        symbols.push(Symbol {
                            name: name.clone(),
                            tensor: argument.name.clone(),
                            dim,
                            of,
                        });
                        Expression::symbol(name)
                    }),
                })
                .collect(),
        });
    }
    Sizes {
        shapes,
        strides,
        symbols,
    }
}

/// Row-major strides without gaps.
fn contiguous(shape: &[Expression]) -> Vec<Expression> {
    let mut strides = vec![Expression::Integer(1); shape.len()];
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim].clone() * shape[dim].clone();
    }
    strides
}

/// The manifest's tensors, in the order of the arguments, with the kernels' assumptions about them if the kernels are
/// lowered.
pub(super) fn tensors(
    host: &HostFunction,
    sizes: &Sizes,
    kernels: Option<&Kernels>,
    forms: &KernelForms,
) -> Result<Vec<Tensor>> {
    let mut assumed = Assumed::of(host);
    if let Some(kernels) = kernels {
        for launch in &host.launches {
            assumed.add(host, sizes, launch, &kernel::assumptions(kernels, launch)?)?;
        }
    }
    for (launch, form) in forms.of(host) {
        for runs in form.whole_runs().iter().filter(|runs| runs.is_written) {
            let buffer = launch.buffers.get(runs.of.buffer);
            let dims = buffer.and_then(|buffer| Some((buffer.tensor, buffer.groups.get(runs.of.axis)?)));
            if let Some((tensor, dims)) = dims {
                assumed.require(host, sizes, tensor, dims, runs.length, &launch.kernel)?;
            }
        }
        assumed.reach(sizes, &launch, form);
    }
    let mut tensors = Vec::new();
    for (index, argument) in host.tensors.iter().enumerate() {
        if argument.argument().is_none() {
            continue;
        }
        let align = assumed.aligns[index];
        let multiple = (align / argument.element.bytes().max(1) as u64).max(1);
        let dynamic =
            |stride: &Expression| matches!(stride, Expression::Symbol(_)) && argument.strides.is_some();
        let strides = &sizes.strides[index];
        let stride_multiples = match strides.iter().any(dynamic) && multiple > 1 {
            true => strides
                .iter()
                .map(|stride| if dynamic(stride) { multiple } else { 1 })
                .collect(),
            false => Vec::new(),
        };
        let mut shape_multiples = std::mem::take(&mut assumed.multiples[index]);
        if shape_multiples.iter().all(|multiple| *multiple == 1) {
            shape_multiples.clear();
        }
        let mut shape_minimums = std::mem::take(&mut assumed.minimums[index]);
        if shape_minimums
            .iter()
            .all(|minimum| *minimum == Expression::Integer(0))
        {
            shape_minimums.clear();
        }
        tensors.push(Tensor {
            name: argument.name.clone(),
            dtype: argument.element,
            shape: sizes.shapes[index].clone(),
            strides: strides.clone(),
            align,
            shape_multiples,
            shape_minimums,
            stride_multiples,
            index_bits: None,
            may_alias: argument.may_alias.clone(),
        });
    }
    Ok(tensors)
}

/// The assumptions of a function's kernels about its tensors.
struct Assumed {
    /// The alignment of each tensor, in bytes.
    aligns: Vec<u64>,
    /// By tensor and dim: a divisor of the extent.
    multiples: Vec<Vec<u64>>,
    /// By tensor and dim: a lower bound of the extent.
    minimums: Vec<Vec<Expression>>,
}

impl Assumed {
    /// Starts with what the function's own attributes state.
    fn of(host: &HostFunction) -> Self {
        let tensors = host.tensors.iter();
        let multiples = |tensor: &HostTensor| {
            let mut multiples = tensor.multiples.clone();
            multiples.resize(tensor.shape.len(), 1);
            multiples
        };
        let own_align = |tensor: &HostTensor| tensor.align.unwrap_or(tensor.element.bytes() as u64);
        let minimums = |tensor: &HostTensor| vec![Expression::Integer(0); tensor.shape.len()];
        Self {
            aligns: tensors.clone().map(own_align).collect(),
            multiples: tensors.clone().map(multiples).collect(),
            minimums: tensors.map(minimums).collect(),
        }
    }

    /// Adds the assumptions of the kernel of a launch.
    fn add(
        &mut self,
        host: &HostFunction,
        sizes: &Sizes,
        launch: &Launch,
        assumptions: &Assumptions,
    ) -> Result<()> {
        for (buffer, alignment) in launch.buffers.iter().zip(&assumptions.alignments) {
            let tensor = &host.tensors[buffer.tensor];
            if tensor.argument().is_none() && *alignment > SCRATCH_ALIGNMENT {
                return Err(Error::user(format!(
                    "kernel '{}' assumes that '{}' is aligned to {alignment} bytes, and scratch is to {SCRATCH_ALIGNMENT}",
                    launch.kernel, tensor.name
                )));
            }
            let align = &mut self.aligns[buffer.tensor];
            *align = (*align).max(*alignment);
        }
        for (buffer, axis, multiple) in &assumptions.multiples {
            let dims = launch
                .buffers
                .get(*buffer)
                .and_then(|buffer| Some((buffer.tensor, buffer.groups.get(*axis)?)));
            let Some((tensor, dims)) = dims else { continue };
            self.require(host, sizes, tensor, dims, *multiple, &launch.kernel)?;
        }
        Ok(())
    }

    /// Requires that the product of some dims of a tensor is a multiple of a number. If what is known does not imply it, the
    /// last dynamic dim has to be a multiple; for scratch, the argument's dim that determines its size.
    fn require(
        &mut self,
        host: &HostFunction,
        sizes: &Sizes,
        tensor: usize,
        dims: &[usize],
        multiple: u64,
        kernel: &str,
    ) -> Result<()> {
        let extent = |dim: &usize| sizes.shapes[tensor][*dim].as_integer();
        let known_of = |dim: &usize| extent(dim).map_or(self.multiples[tensor][*dim], i64::unsigned_abs);
        let known = dims
            .iter()
            .fold(1_u64, |product, dim| product.saturating_mul(known_of(dim)));
        if known.is_multiple_of(multiple) {
            return Ok(());
        }
        let Some(last) = dims.iter().rev().find(|dim| extent(dim).is_none()) else {
            return Ok(());
        };
        // The other dims contribute their part of the multiple.
        let others = dims.iter().filter(|dim| *dim != last);
        let multiple = others.fold(multiple, |left, dim| {
            left / greatest_common_divisor(left, known_of(dim))
        });
        let size = &sizes.shapes[tensor][*last];
        let of_argument = (0..host.tensors.len())
            .filter(|other| host.tensors[*other].argument().is_some())
            .flat_map(|other| (0..sizes.shapes[other].len()).map(move |dim| (other, dim)))
            .find(|(other, dim)| match host.tensors[tensor].argument() {
                Some(_) => (*other, *dim) == (tensor, *last),
                None => sizes.shapes[*other][*dim] == *size,
            });
        let Some((tensor, dim)) = of_argument else {
            return Err(Error::user(format!(
                "kernel '{kernel}' assumes that '{size}', a size of scratch, is a multiple of {multiple}, which no \
                 argument can promise"
            )));
        };
        let known = &mut self.multiples[tensor][dim];
        *known = least_common_multiple(*known, multiple);
        Ok(())
    }

    /// Adds how far the accesses of a kernel reach, where sizes alone do not imply that they stay in bounds.
    fn reach(&mut self, sizes: &Sizes, launch: &Launch, form: &KernelForm) {
        let size = |size: Size| sizes.size(launch.buffers.get(size.buffer)?, size.axis);
        let of_runs = form.whole_runs().iter().filter_map(|runs| {
            let (accessed, of) = (size(runs.accessed)?, size(runs.of)?);
            let length = i64::try_from(runs.length).ok()?;
            (accessed != of).then(|| (runs.accessed, of.floor_divide(length) * length))
        });
        for (reached, expression) in form.reached(&size).into_iter().chain(of_runs) {
            let Some(buffer) = launch.buffers.get(reached.buffer) else {
                continue;
            };
            // Collapsed axes are accessed from end to end.
            let Some([dim]) = buffer.groups.get(reached.axis).map(Vec::as_slice) else {
                continue;
            };
            let extent = &sizes.shapes[buffer.tensor][*dim];
            if extent.as_integer().is_some() || *extent == expression {
                continue;
            }
            let minimum = &mut self.minimums[buffer.tensor][*dim];
            *minimum = match minimum.as_integer() {
                Some(0) => expression,
                _ => minimum.clone().maximum(expression),
            };
        }
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    (a / greatest_common_divisor(a, b)).saturating_mul(b)
}

/// Euclid's algorithm; returns 1 for two zeros.
fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    x.max(1)
}

/// Disjoint sets (union-find) of the tensors' dims.
struct Classes {
    first: Vec<usize>,
    parent: Vec<usize>,
}

impl Classes {
    fn new(host: &HostFunction) -> Self {
        let mut first = Vec::new();
        let mut count = 0;
        for argument in &host.tensors {
            first.push(count);
            count += argument.shape.len();
        }
        Self {
            first,
            parent: (0..count).collect(),
        }
    }

    fn slot(&self, argument: usize, dim: usize) -> usize {
        self.first[argument] + dim
    }

    /// The dims that have a name among `names` of their tensor, with it.
    fn named<'h>(
        &self,
        host: &'h HostFunction,
        names: fn(&HostTensor) -> &Vec<String>,
    ) -> Vec<(usize, &'h str)> {
        let of_tensor = |(index, tensor): (usize, &'h HostTensor)| {
            let names = names(tensor).iter().zip(&tensor.shape).enumerate();
            let slots = names.filter(|(_, (name, extent))| !name.is_empty() && extent.is_none());
            let first = self.first[index];
            slots.map(move |(dim, (name, _))| (first + dim, name.as_str()))
        };
        host.tensors.iter().enumerate().flat_map(of_tensor).collect()
    }

    /// The representative of a set: its smallest slot, so that a size is named after the first tensor that has it.
    fn find(&self, mut slot: usize) -> usize {
        while self.parent[slot] != slot {
            slot = self.parent[slot];
        }
        slot
    }

    fn unite_sizes(&mut self, buffers: &[Buffer], a: Size, b: Size) {
        let dims = |size: Size| {
            let buffer = buffers.get(size.buffer)?;
            Some((buffer.tensor, buffer.groups.get(size.axis)?))
        };
        let (Some((a, a_dims)), Some((b, b_dims))) = (dims(a), dims(b)) else {
            return;
        };
        if a_dims.len() != b_dims.len() {
            return;
        }
        let pairs: Vec<_> = a_dims
            .iter()
            .zip(b_dims)
            .map(|(x, y)| (self.slot(a, *x), self.slot(b, *y)))
            .collect();
        for (x, y) in pairs {
            self.unite(x, y);
        }
    }

    fn unite(&mut self, x: usize, y: usize) {
        let (x, y) = (self.find(x), self.find(y));
        self.parent[x.max(y)] = x.min(y);
    }
}
