//! `norm-form-kernels`: each `norm.compute` of a function becomes a `norm.kernel` and its launch, and the function's
//! tensors become buffers.
//!
//! Each compute becomes one kernel; a compute that no result depends on is dropped. The function's arguments keep their order, and
//! each result becomes an argument after them, which a launch fills: so a result must be a result of a compute, and of the function
//! only once. Values that are computed but not returned lie in scratch memory ([`scratch`]). Everything is checked before anything is
//! changed. [`signature`] reads what the function says about its arguments, [`aliases`] checks which may share memory. Functions that
//! launch kernels already are left as they are, and [`launching`] checks what they say.

mod aliases;
pub(crate) mod launching;
mod scratch;
mod signature;

use std::collections::HashMap;

use melior::ir::{
    AffineExpr, AffineMap, BlockLike, BlockRef, OperationRef, Region, RegionLike, Value, ValueLike,
    attribute::{ArrayAttribute, FlatSymbolRefAttribute, TypeAttribute},
    operation::OperationLike,
    r#type::FunctionType,
    r#type::TypeLike,
};
use norma_dialects::norm::{ComputeOp, KernelOp, LaunchOp};
use scratch::Scratch;
use signature::{Argument, Tensor};

use super::{kernel_names::KernelNames, scratch_names::ScratchNames};

use crate::{
    kernel::{digits::digits, guards, scalar_ops},
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        interval::Interval,
        pass::{PassContext, PassError, PassResult},
        types,
        values::key,
        walk,
    },
    table::{NormFormKernels, NormFormKernelsStatistic},
};

pub(crate) fn run<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, NormFormKernels>) -> PassResult<'c> {
    // Existing kernels are checked too: this is the last pass that sees what the user wrote.
    for program in [ComputeOp::NAME, KernelOp::NAME] {
        for op in walk::named(module, program) {
            scalar_ops::check(op)?;
        }
    }
    launching::check(module)?;
    let mut names = KernelNames::new(module);
    for function in walk::named(module, "func.func") {
        let Some(host) = Host::read(function)? else {
            continue;
        };
        let kernels = host.outline(&mut names)?;
        cx.count(NormFormKernelsStatistic::NumKernels, kernels);
    }
    Ok(())
}

/// A function of the user's that has passed the checks: kernels can be formed from it.
struct Host<'c, 'a> {
    function: OperationRef<'c, 'a>,
    body: BlockRef<'c, 'a>,
    inputs: Vec<Argument<'c>>,
    outputs: Vec<Tensor<'c>>,
    computes: Vec<Compute<'c, 'a>>,
    /// The `func.return`; operand `i` is what `outputs[i]` holds.
    end: OperationRef<'c, 'a>,
}

/// A compute of the function.
struct Compute<'c, 'a> {
    op: ComputeOp<'c, 'a>,
    /// Whether something that the function returns depends on it.
    is_needed: bool,
    /// By result: its scratch memory, if the function does not return it.
    scratch: Vec<Option<Scratch<'c>>>,
}

impl<'c: 'a, 'a> Compute<'c, 'a> {
    /// The inputs that are tensors, or that have become buffers.
    fn tensors(&self) -> Vec<Value<'c, 'a>> {
        let mut inputs = self.op.inputs();
        inputs.retain(|input| types::shape(input.r#type()).is_some());
        inputs
    }

    /// The inputs that are numbers.
    fn scalars(&self) -> Vec<Value<'c, 'a>> {
        let mut inputs = self.op.inputs();
        inputs.retain(|input| types::shape(input.r#type()).is_none());
        inputs
    }
}

/// The buffer that a tensor has become.
#[derive(Clone)]
struct Buffer<'c, 'a> {
    memref: Value<'c, 'a>,
    alignment: i64,
    /// What the extent of each axis is a multiple of.
    multiples: Vec<i64>,
    /// The bounds of each axis's extent.
    bounds: Vec<Interval>,
}

impl<'c: 'a, 'a> Host<'c, 'a> {
    /// Checks `function`; `None` if its kernels have been formed already.
    fn read(function: OperationRef<'c, 'a>) -> Result<Option<Self>, PassError<'c>> {
        let location = function.location();
        let Some(body) = function.region(0)?.first_block() else {
            let message = "a function without a body; supported: functions whose body computes their results";
            return Err(Diagnostic::unsupported(location, message).into());
        };
        if let Some(second) = body.next_in_region() {
            let at = second.first_operation().map_or(location, |op| op.location());
            let message = "control flow between blocks; supported: functions of one block";
            return Err(Diagnostic::unsupported(at, message).into());
        }
        let mut computes = Vec::new();
        let mut others = Vec::new();
        let mut end = None;
        for op in walk::in_block(body) {
            if let Some(compute) = ComputeOp::from_op(op) {
                computes.push(compute);
            } else if !walk::named(op, LaunchOp::NAME).is_empty() {
                return Ok(None);
            } else if walk::has_name(op, "func.return") {
                end = Some(op);
            } else {
                others.push(op);
            }
        }
        // Sizes, numbers and indices are left for an op that takes a tensor.
        let rearranges = |op: &&OperationRef<'c, 'a>| {
            op.operands().any(|operand| operand.r#type().is_tensor())
                && op.results().any(|result| result.r#type().is_tensor())
        };
        let takes = |op: &&OperationRef<'c, 'a>| {
            op.operands()
                .any(|operand| operand.r#type().is_tensor() || types::is_memref(operand.r#type()))
        };
        let blamed = others.iter().find(rearranges).or(others.iter().find(takes));
        if let Some(op) = blamed.or(others.first()) {
            let message = format!(
                "'{}' outside of a kernel; supported: norm.compute, and what becomes one: named ops, arith and math on tensors, loop \
                 nests of linalg, and views",
                norma_dialects::op_name(*op)
            );
            return Err(Diagnostic::unsupported(op.location(), message).into());
        }
        let end = end.ok_or_else(|| PassError::Internal("expected a func.return".to_owned()))?;
        if computes.is_empty() {
            let message =
                "expected a function that computes something, got one without an op that becomes a kernel";
            return Err(Diagnostic::user(location, message).into());
        }
        if end.operand_count() == 0 {
            let message = "expected a function that returns what it computes, got one without results";
            return Err(Diagnostic::user(location, message).into());
        }
        let (inputs, outputs) = signature::read(function)?;
        let computes = needed(&computes, end)
            .into_iter()
            .map(|(op, is_needed)| Compute {
                op,
                is_needed,
                scratch: Vec::new(),
            })
            .collect();
        let mut host = Self {
            function,
            body,
            inputs,
            outputs,
            computes,
            end,
        };
        host.check_results()?;
        host.plan_scratch()?;
        aliases::check(&host)?;
        Ok(Some(host))
    }

    /// Checks that each result of the function is a result of a compute, and that all are distinct.
    fn check_results(&self) -> PassResult<'c> {
        let returned = self.end.operands().collect::<Vec<_>>();
        for (index, value) in returned.iter().enumerate() {
            if value.is_block_argument() {
                let message = format!("result {index} is an argument; supported: results of norm.compute");
                return Err(Diagnostic::unsupported(self.end.location(), message).into());
            }
            if let Some(first) = returned[..index].iter().position(|other| other == value) {
                let message = format!("result {index} is result {first} again; supported: distinct results");
                return Err(Diagnostic::unsupported(self.end.location(), message).into());
            }
        }
        Ok(())
    }

    /// Plans the memory of the computes' results that the function does not return.
    fn plan_scratch(&mut self) -> PassResult<'c> {
        let end = self.end;
        for compute in self.computes.iter_mut().filter(|compute| compute.is_needed) {
            let outputs = compute.op.outputs();
            let is_returned = |value: &Value<'c, 'a>| end.operands().any(|returned| returned == *value);
            compute.scratch = outputs
                .iter()
                .enumerate()
                .map(|(index, output)| match is_returned(output) {
                    true => Ok(None),
                    false => Scratch::of(compute.op, index).map(Some),
                })
                .collect::<Result<_, PassError<'c>>>()?;
        }
        Ok(())
    }

    fn output_of(&self, value: Value<'c, 'a>) -> Option<usize> {
        self.end.operands().position(|returned| returned == value)
    }

    /// Makes the kernels, their launches and the function's new signature; returns the number of kernels.
    fn outline(self, kernel_names: &mut KernelNames) -> Result<u64, PassError<'c>> {
        let mut buffers = self.make_arguments()?;
        let beside = Builder::after(self.function);
        let mut scratch_names = self.scratch_names();
        let mut kernels = 0;
        for compute in self.computes.iter().filter(|compute| compute.is_needed) {
            let before = Builder::before(compute.op.op());
            for (output, scratch) in compute.op.outputs().into_iter().zip(&compute.scratch) {
                if let Some(scratch) = scratch {
                    let inputs = find(&buffers, &compute.tensors())?;
                    let name = scratch_names.next();
                    buffers.insert(key(output), scratch.allocate(&before, &inputs, &name)?);
                }
            }
            let tensors = [compute.tensors(), compute.op.outputs()].concat();
            let arguments = find(&buffers, &tensors)?;
            let name = kernel_names.of(self.function);
            self.outline_kernel(&beside, compute, &name, &arguments)?;
            let mut operands = arguments.iter().map(|buffer| buffer.memref).collect::<Vec<_>>();
            operands.extend(compute.scalars());
            let callee = FlatSymbolRefAttribute::new(beside.context(), &name).into();
            before.insert(LaunchOp::build(before.location(), &operands, callee)?);
            kernels += 1;
        }
        let b = Builder::before(self.end);
        b.op("func.return", &[], &[]);
        b.erase(self.end);
        for compute in self.computes.iter().rev() {
            b.erase(compute.op.op());
        }
        Ok(kernels)
    }

    /// Names that no tensor or scalar of the function has.
    fn scratch_names(&self) -> ScratchNames {
        let inputs = self.inputs.iter().map(|input| input.name().to_owned());
        let outputs = self.outputs.iter().map(|output| output.name.clone());
        ScratchNames::new("scratch", inputs.chain(outputs))
    }

    /// Replaces the tensors of the signature by buffers; returns each buffer by the tensor that it holds.
    fn make_arguments(&self) -> Result<HashMap<usize, Buffer<'c, 'a>>, PassError<'c>> {
        let b = Builder::before(self.function);
        let context = b.context();
        let mut buffers = HashMap::new();
        let mut types = Vec::new();
        let mut attributes = Vec::new();
        let mut hold = |value: Value<'c, 'a>, memref: Value<'c, 'a>, tensor: &Tensor<'c>| {
            let rank = types::shape(tensor.buffer).map_or(0, |shape| shape.len());
            let mut multiples = tensor.multiples.clone();
            multiples.resize(rank, 1);
            let mut bounds = tensor.bounds.clone();
            bounds.resize(rank, Interval::SIZE);
            let buffer = Buffer {
                memref,
                alignment: tensor.alignment,
                multiples,
                bounds,
            };
            buffers.insert(key(value), buffer);
        };
        for (index, input) in self.inputs.iter().enumerate() {
            let argument = Value::from(self.body.argument(index)?);
            argument.set_type(input.ty());
            if let Some(tensor) = input.tensor() {
                hold(argument, argument, tensor);
            }
            types.push(input.ty());
            attributes.push(input.attributes(context));
        }
        for (output, returned) in self.outputs.iter().zip(self.end.operands()) {
            let argument = self.body.add_argument(output.buffer, self.end.location());
            hold(returned, argument, output);
            types.push(output.buffer);
            attributes.push(output.attributes(context));
        }
        let ty = TypeAttribute::new(FunctionType::new(context, &types, &[]).into());
        b.set_attribute(self.function, "function_type", ty.into());
        let attributes = ArrayAttribute::new(context, &attributes);
        b.set_attribute(self.function, "arg_attrs", attributes.into());
        b.remove_attribute(self.function, "res_attrs");
        Ok(buffers)
    }

    /// Moves a compute's program into a kernel on `buffers`.
    fn outline_kernel(
        &self,
        b: &Builder<'c, 'a>,
        compute: &Compute<'c, 'a>,
        name: &str,
        buffers: &[Buffer<'c, 'a>],
    ) -> PassResult<'c> {
        let alignments = buffers.iter().map(|buffer| buffer.alignment).collect::<Vec<_>>();
        let (multiples, bounds) = (multiples(buffers), bounds(buffers));
        let aliases = aliases::pairs(self, compute)?;
        let (extents, guards) = whole_blocks(compute.op, buffers)?;
        let kernel = KernelOp::build(
            compute.op.op().location(),
            name,
            extents,
            &compute.op.sizes()?,
            None,
            guards,
            Some(&alignments),
            (!multiples.is_empty()).then_some(&multiples[..]),
            (!bounds.is_empty()).then_some(&bounds[..]),
            (!aliases.is_empty()).then_some(&aliases[..]),
            None,
            None,
            None,
            Region::new(),
        )?;
        let body = b.insert(kernel).region(0)?;
        // SAFETY: both regions are alive; the compute, left without a block, is erased before anything looks at it.
        unsafe { mlir_sys::mlirRegionTakeBody(body.to_raw(), compute.op.body()?.to_raw()) };
        let block = body
            .first_block()
            .ok_or_else(|| PassError::Internal("expected a norm.compute with a body".to_owned()))?;
        for (index, buffer) in buffers.iter().enumerate() {
            Value::from(block.argument(index)?).set_type(buffer.memref.r#type());
        }
        Ok(())
    }
}

/// The extents and guards of a compute on `buffers`. A guard of blocks which a promise says to be whole is dropped, and the number of these
/// blocks is rounded down instead of up, which shows that they are.
fn whole_blocks<'c: 'a, 'a>(
    compute: ComputeOp<'c, 'a>,
    buffers: &[Buffer<'c, 'a>],
) -> Result<(AffineMap<'c>, Option<AffineMap<'c>>), PassError<'c>> {
    let extents = compute.extents()?;
    let Some(map) = compute.guards() else {
        return Ok((extents, None));
    };
    let context = crate::mlir::context::of(compute.op().location());
    let sizes = compute.sizes()?;
    let multiple_of = |symbol: usize| {
        let (buffer, axis) = (sizes[2 * symbol] as usize, sizes[2 * symbol + 1] as usize);
        let multiples = buffers.get(buffer).map(|buffer| &buffer.multiples);
        multiples
            .and_then(|multiples| multiples.get(axis))
            .copied()
            .unwrap_or(1)
    };
    let count = extents.result_count();
    let mut of_dims = (0..count)
        .map(|dim| extents.result(dim))
        .collect::<Result<Vec<_>, _>>()?;
    let mut left = Vec::new();
    for guard in guards::of_map(map)? {
        let [lhs, limit] = guard;
        // The blocks are the only dim whose extent is not static.
        let blocks = guards::dims_of(&guard).into_iter().find(|dim| {
            let extent = of_dims[*dim];
            let is_rounded = extent.is_ceil_div() && extent.lhs() == limit && extent.rhs().is_constant();
            is_rounded && limit.is_symbol()
        });
        let is_whole = blocks.is_some_and(|dim| {
            let length = of_dims[dim].rhs();
            let all = digits(lhs, &of_dims, &[], context).filter(|all| all.first == 0);
            let multiple = multiple_of(limit.symbol_position());
            all.is_some_and(|all| all.extent == of_dims[dim] * length)
                && multiple % length.constant_value() == 0
        });
        match blocks.filter(|_| is_whole) {
            Some(dim) => of_dims[dim] = AffineExpr::floor_div(limit, of_dims[dim].rhs()),
            None => left.push(guard),
        }
    }
    let symbols = extents.symbol_count();
    let extents = AffineMap::new(context, 0, symbols, &of_dims);
    Ok((extents, guards::map_of(context, &left, count, symbols)))
}

/// The computes, each with whether anything that `end` returns depends on it.
fn needed<'c, 'a>(
    computes: &[ComputeOp<'c, 'a>],
    end: OperationRef<'c, 'a>,
) -> Vec<(ComputeOp<'c, 'a>, bool)> {
    let mut wanted = end.operands().collect::<Vec<_>>();
    let mut found = Vec::new();
    for compute in computes.iter().rev() {
        let is_needed = compute.outputs().iter().any(|output| wanted.contains(output));
        if is_needed {
            wanted.extend(compute.inputs());
        }
        found.push((*compute, is_needed));
    }
    found.reverse();
    found
}

/// The buffers of tensors.
fn find<'c, 'a>(
    buffers: &HashMap<usize, Buffer<'c, 'a>>,
    tensors: &[Value<'c, 'a>],
) -> Result<Vec<Buffer<'c, 'a>>, PassError<'c>> {
    let found = tensors.iter().map(|tensor| buffers.get(&key(*tensor)).cloned());
    found
        .collect::<Option<_>>()
        .ok_or_else(|| PassError::Internal("a compute's tensor is not of its function".to_owned()))
}

/// Triples (buffer, axis, multiple) of what is known of dynamic extents.
fn multiples(buffers: &[Buffer<'_, '_>]) -> Vec<i64> {
    let mut multiples = Vec::new();
    for (index, buffer) in buffers.iter().enumerate() {
        let shape = types::shape(buffer.memref.r#type()).unwrap_or_default();
        for (axis, (extent, multiple)) in shape.iter().zip(&buffer.multiples).enumerate() {
            if extent.is_none() && *multiple > 1 {
                multiples.extend([index as i64, axis as i64, *multiple]);
            }
        }
    }
    multiples
}

/// Quadruples (buffer, axis, least, most) of what is known of dynamic extents.
fn bounds(buffers: &[Buffer<'_, '_>]) -> Vec<i64> {
    let mut all = Vec::new();
    for (index, buffer) in buffers.iter().enumerate() {
        let shape = types::shape(buffer.memref.r#type()).unwrap_or_default();
        for (axis, (extent, bounds)) in shape.iter().zip(&buffer.bounds).enumerate() {
            if extent.is_none() && *bounds != Interval::SIZE {
                all.extend([index as i64, axis as i64, bounds.least, bounds.most]);
            }
        }
    }
    all
}
