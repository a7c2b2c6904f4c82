//! `norm-form-kernels`: each `norm.compute` of a function becomes a `norm.kernel` and its launch, and the function's
//! tensors become buffers.
//!
//! One compute is one kernel. The function keeps its arguments' order, and each result becomes an argument behind
//! them, which the launch fills; that is why a result must be a compute's own. Everything is checked before anything
//! is changed. [`signature`] reads what the function says about its tensors.

mod kernel_names;
mod signature;

use kernel_names::KernelNames;
use melior::ir::{
    BlockLike, BlockRef, OperationRef, Region, RegionLike, Value, ValueLike,
    attribute::{ArrayAttribute, FlatSymbolRefAttribute, TypeAttribute},
    operation::OperationLike,
    r#type::FunctionType,
};
use norma_dialects::norm::{ComputeOp, KernelOp, LaunchOp};
use signature::Tensor;

use crate::{
    mlir::{
        builder::Builder,
        diagnostic::Diagnostic,
        pass::{PassContext, PassError, PassResult},
        walk,
    },
    table::{NormFormKernels, NormFormKernelsStatistic},
};

pub(crate) fn run<'c>(module: OperationRef<'c, '_>, cx: &PassContext<'c, NormFormKernels>) -> PassResult<'c> {
    for function in walk::named(module, "func.func") {
        let Some(host) = Host::read(function)? else {
            continue;
        };
        let kernels = host.outline(module)?;
        cx.count(NormFormKernelsStatistic::NumKernels, kernels);
    }
    Ok(())
}

/// A function of the user's, once it is known to be one that kernels can be made of.
struct Host<'c, 'a> {
    function: OperationRef<'c, 'a>,
    body: BlockRef<'c, 'a>,
    inputs: Vec<Tensor<'c>>,
    outputs: Vec<Tensor<'c>>,
    computes: Vec<ComputeOp<'c, 'a>>,
    /// The `func.return`; operand `i` is what `outputs[i]` holds.
    end: OperationRef<'c, 'a>,
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
        let mut end = None;
        for op in walk::in_block(body) {
            if let Some(compute) = ComputeOp::from_op(op) {
                computes.push(compute);
            } else if LaunchOp::from_op(op).is_some() {
                return Ok(None);
            } else if walk::has_name(op, "func.return") {
                end = Some(op);
            } else {
                let message = format!(
                    "'{}' outside of norm.compute; supported: norm.compute and what norm-decompose makes one of",
                    norma_dialects::op_name(op)
                );
                return Err(Diagnostic::unsupported(op.location(), message).into());
            }
        }
        let end = end.ok_or_else(|| PassError::Internal("expected a func.return".to_owned()))?;
        if computes.is_empty() {
            let message = "expected a function that computes something, got one without norm.compute";
            return Err(Diagnostic::user(location, message).into());
        }
        let (inputs, outputs) = signature::read(function)?;
        let host = Self {
            function,
            body,
            inputs,
            outputs,
            computes,
            end,
        };
        host.check_results()?;
        host.check_flow()?;
        Ok(Some(host))
    }

    /// Each result is a compute's, and no other result is the same.
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

    /// Computes read arguments, and what they make is returned: nothing needs memory of its own.
    fn check_flow(&self) -> PassResult<'c> {
        for compute in &self.computes {
            let location = compute.op().location();
            for (index, input) in compute.inputs().iter().enumerate() {
                if !input.is_block_argument() {
                    let message = format!(
                        "input {index} is computed in this function and would need a workspace; supported: \
                         arguments of the function"
                    );
                    return Err(Diagnostic::unsupported(location, message)
                        .note(input.location(), "computed here")
                        .into());
                }
            }
            for (index, output) in compute.outputs().iter().enumerate() {
                if self.output_of(*output).is_none() {
                    let message = format!(
                        "result {index} is not returned and would need a workspace; supported: results that the \
                         function returns"
                    );
                    return Err(Diagnostic::unsupported(location, message).into());
                }
            }
        }
        Ok(())
    }

    fn output_of(&self, value: Value<'c, 'a>) -> Option<usize> {
        self.end.operands().position(|returned| returned == value)
    }

    /// Makes the kernels, their launches and the function's new signature; says how many kernels there are.
    fn outline(self, module: OperationRef<'c, 'a>) -> Result<u64, PassError<'c>> {
        let buffers = self.make_arguments()?;
        let beside = Builder::after(self.function);
        let mut names = KernelNames::new(module, self.function);
        for compute in &self.computes {
            let tensors = self.tensors_of(*compute)?;
            let name = names.next();
            self.outline_kernel(&beside, *compute, &name, &tensors)?;
            let arguments = tensors.iter().map(|tensor| buffers[*tensor]).collect::<Vec<_>>();
            let callee = FlatSymbolRefAttribute::new(beside.context(), &name).into();
            let location = compute.op().location();
            Builder::before(compute.op()).insert(LaunchOp::build(location, &arguments, callee)?);
        }
        let b = Builder::before(self.end);
        b.op("func.return", &[], &[]);
        b.erase(self.end);
        for compute in &self.computes {
            b.erase(compute.op());
        }
        Ok(self.computes.len() as u64)
    }

    /// The buffers of a compute, inputs first, as positions among the function's new arguments.
    fn tensors_of(&self, compute: ComputeOp<'c, 'a>) -> Result<Vec<usize>, PassError<'c>> {
        let arguments = (0..self.inputs.len())
            .map(|index| self.body.argument(index).map(Value::from))
            .collect::<Result<Vec<_>, _>>()?;
        let input = |value: &Value<'c, 'a>| arguments.iter().position(|argument| argument == value);
        let output = |value: &Value<'c, 'a>| Some(self.inputs.len() + self.output_of(*value)?);
        let inputs = compute.inputs();
        let outputs = compute.outputs();
        inputs
            .iter()
            .map(input)
            .chain(outputs.iter().map(output))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| PassError::Internal("a compute's tensor is not of its function".to_owned()))
    }

    fn tensor(&self, index: usize) -> &Tensor<'c> {
        self.inputs
            .get(index)
            .unwrap_or_else(|| &self.outputs[index - self.inputs.len()])
    }

    /// Turns the signature into one of buffers; gives the arguments.
    fn make_arguments(&self) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let b = Builder::before(self.function);
        let context = b.context();
        let mut arguments = Vec::new();
        for (index, input) in self.inputs.iter().enumerate() {
            let argument = Value::from(self.body.argument(index)?);
            argument.set_type(input.buffer);
            arguments.push(argument);
        }
        for output in &self.outputs {
            arguments.push(self.body.add_argument(output.buffer, self.end.location()));
        }
        let types = arguments
            .iter()
            .map(|argument| argument.r#type())
            .collect::<Vec<_>>();
        let ty = TypeAttribute::new(FunctionType::new(context, &types, &[]).into());
        b.set_attribute(self.function, "function_type", ty.into());
        let attributes = self.inputs.iter().map(|input| input.attributes(context, false));
        let attributes = attributes.chain(self.outputs.iter().map(|output| output.attributes(context, true)));
        let attributes = ArrayAttribute::new(context, &attributes.collect::<Vec<_>>());
        b.set_attribute(self.function, "arg_attrs", attributes.into());
        b.remove_attribute(self.function, "res_attrs");
        Ok(arguments)
    }

    /// Moves a compute's program into a kernel on the buffers of `tensors`.
    fn outline_kernel(
        &self,
        b: &Builder<'c, 'a>,
        compute: ComputeOp<'c, 'a>,
        name: &str,
        tensors: &[usize],
    ) -> PassResult<'c> {
        let alignments = tensors
            .iter()
            .map(|tensor| self.tensor(*tensor).alignment)
            .collect::<Vec<_>>();
        let kernel = KernelOp::build(
            compute.op().location(),
            name,
            compute.extents()?,
            &compute.sizes()?,
            None,
            None,
            Some(&alignments),
            None,
            Region::new(),
        )?;
        let body = b.insert(kernel).region(0)?;
        // SAFETY: both regions are alive; the compute, left without a block, is erased before anything looks at it.
        unsafe { mlir_sys::mlirRegionTakeBody(body.to_raw(), compute.body()?.to_raw()) };
        let block = body
            .first_block()
            .ok_or_else(|| PassError::Internal("expected a norm.compute with a body".to_owned()))?;
        for (index, tensor) in tensors.iter().enumerate() {
            Value::from(block.argument(index)?).set_type(self.tensor(*tensor).buffer);
        }
        Ok(())
    }
}
