//! The tensors of a function as the manifest describes them, with what its kernels assume of them.

use norma_bundle::Expression;
use norma_bundle::manifest::Tensor;

use super::Sizes;
use crate::bundle::host::{HostFunction, HostTensor, Launch};
use crate::bundle::kernel::{self, Assumptions, Kernels};
use crate::bundle::kernel_form::{KernelForm, KernelForms, Size};
use crate::error::{Error, Result};

/// The alignment of scratch, in bytes.
const SCRATCH_ALIGNMENT: u64 = norma_dialects::attributes::scratch::ALIGNMENT as u64;

/// The manifest's tensors, in the order of the arguments, with the kernels' assumptions about them if the kernels are
/// lowered.
pub(in crate::bundle) fn tensors(
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
            return Err(Error::user(format!(
                "kernel '{kernel}' assumes a multiple of {multiple} elements along dims of a tensor that has {known} there"
            )));
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
