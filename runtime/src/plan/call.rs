//! The arguments of one call, checked, and the parameters of its launches. Nothing is allocated once the arrays here have
//! been as long as a function needs.

use std::ffi::c_void;

use norma_bundle::Element;
use norma_bundle::manifest::TensorMap;

use super::tensors::TensorPlan;
use super::{ArgumentPlan, KernelPlan, Plan, Slot, Values};
use crate::driver::{Current, TensorMapDescriptor, TensorMapShape};
use crate::error::CallError;
use crate::tensor::{Scalar, Tensor};

/// The state of a call, kept from one to the next for its memory.
#[derive(Default)]
pub(crate) struct Call {
    values: Values,
    tensors: Vec<Place>,
    /// The launches, in order.
    pub(crate) launches: Vec<Prepared>,
    /// One for each workspace of the function; those that no launch uses have none of their bytes.
    pub(crate) workspaces: Vec<NeededWorkspace>,
    /// The parameters of all launches.
    words: Vec<u64>,
    maps: Vec<TensorMapDescriptor>,
    /// The addresses of one launch's parameters.
    pointers: Vec<*const c_void>,
}

/// Where a tensor lies.
#[derive(Clone, Copy)]
struct Place {
    address: u64,
    /// From the first element to the last.
    bytes: u64,
}

/// A launch that only lacks its parameters.
pub(crate) struct Prepared {
    /// The kernel's place in the function.
    pub(crate) kernel: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) shared_bytes: u32,
    /// Its parameters among all.
    first_word: usize,
    first_map: usize,
}

/// A workspace as a call needs it.
#[derive(Clone, Copy)]
pub(crate) struct NeededWorkspace {
    /// How much of it; `None` if no launch uses it.
    pub(crate) bytes: Option<u64>,
    /// Where it is, once that is settled.
    pub(crate) address: u64,
}

fn refuse<T>(message: String) -> Result<T, CallError> {
    Err(CallError::Argument(message))
}

impl Call {
    /// Takes the arguments of a call, and checks all that does not depend on the kernels.
    ///
    /// # Errors
    /// What the kernels are not made for.
    ///
    /// # Safety
    /// The tensors' shapes and strides must be as long as their ranks.
    pub(crate) unsafe fn bind(
        &mut self,
        plan: &Plan,
        initial: &Values,
        device: u32,
        tensors: &[&Tensor<'_>],
        scalars: &[Scalar],
    ) -> Result<(), CallError> {
        let expected = plan.tensors.len();
        if tensors.len() != expected {
            return refuse(format!("expected {expected} tensors, got {}", tensors.len()));
        }
        if scalars.len() > plan.scalars {
            return refuse(format!(
                "expected at most {} scalars, got {}",
                plan.scalars,
                scalars.len()
            ));
        }
        self.values.start(initial);
        for (place, slot) in &plan.numbers {
            // What is no integer is refused as an argument of the kernel.
            if let Some(number) = scalars.get(*place).and_then(|scalar| scalar.integer()) {
                self.values[*slot] = number;
            }
        }
        for (index, (planned, tensor)) in plan.tensors.iter().zip(tensors).enumerate() {
            // SAFETY: passed on to the caller.
            unsafe { self.take(plan, index, planned, tensor, device) }?;
        }
        for shared in &plan.shared_strides {
            let several = shared.dims.iter().find(|(extent, _)| self.values[*extent] > 1);
            if let Some((_, stride)) = several.or(shared.dims.first()) {
                self.values[shared.slot] = self.values[*stride];
            }
        }
        plan.code.run(&plan.sizes, &mut self.values)?;
        self.place(plan, tensors)?;
        for (comparison, condition) in plan.conditions.iter().zip(&plan.function.conditions) {
            if !comparison.holds(&self.values) {
                let (left, right) = (self.values[comparison.left], self.values[comparison.right]);
                return refuse(condition.broken_by(left, right));
            }
        }
        self.check_overlaps(plan)?;
        self.launches.clear();
        self.workspaces.clear();
        let unused = NeededWorkspace {
            bytes: None,
            address: 0,
        };
        self.workspaces.resize(plan.workspaces.len(), unused);
        Ok(())
    }

    /// Takes a tensor's extents and strides.
    ///
    /// # Safety
    /// As [`Call::bind`].
    unsafe fn take(
        &mut self,
        plan: &Plan,
        index: usize,
        planned: &TensorPlan,
        tensor: &Tensor<'_>,
        device: u32,
    ) -> Result<(), CallError> {
        let name = || plan.tensor_name(index);
        if !tensor.dtype.is(planned.element) {
            let (expected, got) = (planned.element, tensor.dtype.name());
            return refuse(format!(
                "expected '{}' to be of type {expected}, got {got}",
                name()
            ));
        }
        if tensor.device.cuda_ordinal() != Some(device) {
            let got = tensor.device;
            return refuse(format!(
                "expected '{}' to be in the memory of GPU {device}, got device {} of DLPack's kind {}",
                name(),
                got.ordinal,
                got.kind
            ));
        }
        let rank = planned.dims.len();
        // SAFETY: passed on to the caller.
        let (shape, strides) = unsafe { (tensor.shape(), tensor.strides()) };
        if usize::try_from(tensor.rank) != Ok(rank) || shape.len() != rank {
            return refuse(format!(
                "expected '{}' to have {rank} dims, got {}",
                name(),
                tensor.rank
            ));
        }
        let mut dense = 1i64;
        for (dim, planned) in planned.dims.iter().enumerate().rev() {
            let extent = shape[dim];
            if extent < 0 {
                return refuse(format!(
                    "expected dim {dim} of '{}' to be at least 0, got {extent}",
                    name()
                ));
            }
            self.values[planned.extent] = extent;
            self.values[planned.stride] = strides.map_or(dense, |strides| strides[dim]);
            // What saturates does not fit, which the check of the tensor finds.
            dense = dense.saturating_mul(extent.max(1));
        }
        Ok(())
    }

    /// Checks the tensors' layouts and where they lie.
    fn place(&mut self, plan: &Plan, tensors: &[&Tensor<'_>]) -> Result<(), CallError> {
        self.tensors.clear();
        for (index, (planned, tensor)) in plan.tensors.iter().zip(tensors).enumerate() {
            let bytes = planned.check(plan.tensor_name(index), &self.values)?;
            let address = tensor.address();
            // No element is accessed of a tensor that has none.
            if bytes > 0 {
                let name = plan.tensor_name(index);
                if address == 0 {
                    return refuse(format!("expected an address for '{name}', got null"));
                }
                if !address.is_multiple_of(planned.align) {
                    let align = planned.align;
                    return refuse(format!(
                        "expected '{name}' to be aligned to {align} bytes, got address {address:#x}"
                    ));
                }
                if address.checked_add(bytes).is_none() {
                    return refuse(format!("'{name}' does not fit in 64-bit addresses"));
                }
            }
            self.tensors.push(Place { address, bytes });
        }
        Ok(())
    }

    /// Checks that outputs share memory with nothing but the input that each may be.
    fn check_overlaps(&self, plan: &Plan) -> Result<(), CallError> {
        let inputs = plan.function.inputs.len();
        for (index, own) in self.tensors.iter().enumerate().skip(inputs) {
            for (other, place) in self.tensors.iter().enumerate() {
                let overlaps =
                    own.address < place.address + place.bytes && place.address < own.address + own.bytes;
                if other == index || own.bytes == 0 || place.bytes == 0 || !overlaps {
                    continue;
                }
                let (output, input) = (plan.tensor_name(index), plan.tensor_name(other));
                let may_alias = plan.function.outputs[index - inputs].may_alias.as_deref();
                if may_alias != Some(input) {
                    return refuse(format!("the memory of '{output}' overlaps that of '{input}'"));
                }
                if place.address != own.address {
                    return refuse(format!(
                        "expected output '{output}' to begin where input '{input}' does, or not to overlap it, got \
                         {:#x} and {:#x}",
                        own.address, place.address
                    ));
                }
            }
        }
        Ok(())
    }

    /// The dynamic shared memory of a kernel, in bytes, or `None` where these sizes do not launch it.
    ///
    /// # Errors
    /// It has no value, or one that no launch can ask for.
    pub(crate) fn choose(&mut self, plan: &Plan, kernel: &KernelPlan) -> Result<Option<u32>, CallError> {
        plan.code.run(&kernel.choice, &mut self.values)?;
        if !kernel.when.iter().all(|condition| condition.holds(&self.values)) {
            return Ok(None);
        }
        plan.code.run(&kernel.sharing, &mut self.values)?;
        self.small(kernel.shared_bytes, "the shared memory").map(Some)
    }

    /// Sets what only the loaded kernel tells.
    pub(crate) fn set(&mut self, slot: Slot, value: u32) {
        self.values[slot] = i64::from(value);
    }

    /// Evaluates a kernel that has been chosen, and says what it needs of the workspaces.
    ///
    /// # Errors
    /// Something has no value, or one that no launch can have.
    pub(crate) fn prepare(&mut self, plan: &Plan, index: usize, shared_bytes: u32) -> Result<(), CallError> {
        let kernel = &plan.kernels[index];
        plan.code.run(&kernel.body, &mut self.values)?;
        let mut grid = [0; 3];
        for (extent, slot) in grid.iter_mut().zip(kernel.grid) {
            *extent = self.small(slot, "the grid")?;
        }
        for argument in &kernel.arguments {
            if let ArgumentPlan::Workspace(workspace, slot) = argument {
                let bytes = self.values[*slot];
                let Ok(bytes) = u64::try_from(bytes) else {
                    let name = &plan.workspaces[*workspace].name;
                    return refuse(format!(
                        "expected workspace '{name}' to have at least 0 bytes, got {bytes}"
                    ));
                };
                let needed = &mut self.workspaces[*workspace].bytes;
                *needed = (*needed).max(Some(bytes));
            }
        }
        // Where an extent is zero there is nothing to launch.
        if !grid.contains(&0) {
            self.launches.push(Prepared {
                kernel: index,
                grid,
                shared_bytes,
                first_word: 0,
                first_map: 0,
            });
        }
        Ok(())
    }

    /// Encodes the parameters of all launches. Workspaces have their addresses by now.
    ///
    /// # Errors
    /// A scalar that does not fit, or what the driver says of a tensor map.
    pub(crate) fn encode(
        &mut self,
        plan: &Plan,
        scalars: &[Scalar],
        api: &Current<'_>,
    ) -> Result<(), CallError> {
        self.words.clear();
        self.maps.clear();
        for launch in &mut self.launches {
            launch.first_word = self.words.len();
            launch.first_map = self.maps.len();
            for argument in &plan.kernels[launch.kernel].arguments {
                let word = match argument {
                    ArgumentPlan::Tensor(tensor) => self.tensors[*tensor].address,
                    ArgumentPlan::Scalar(scalar) => scalar.encode(scalars, &self.values)?,
                    ArgumentPlan::Workspace(workspace, _) => self.workspaces[*workspace].address,
                    ArgumentPlan::TensorMap(planned) => {
                        let (mut dims, mut strides) = ([0; 5], [0; 5]);
                        let count = planned.dims.len().min(dims.len());
                        for (dim, slot) in dims.iter_mut().zip(&planned.dims) {
                            *dim = self.values[*slot].unsigned_abs();
                        }
                        for (stride, slot) in strides.iter_mut().zip(&planned.strides_bytes) {
                            *stride = self.values[*slot].unsigned_abs();
                        }
                        let shape = TensorMapShape {
                            data_type: tensor_map_type(&planned.map),
                            address: self.tensors[planned.tensor].address,
                            dims: &dims[..count],
                            strides_bytes: &strides[..count.saturating_sub(1)],
                            box_dims: &planned.map.box_dims,
                            swizzle: planned.map.swizzle,
                            l2_promotion: planned.map.l2_promotion,
                        };
                        self.maps.push(shape.encode(api)?);
                        0
                    }
                };
                self.words.push(word);
            }
        }
        Ok(())
    }

    /// Where the parameters of a launch are, for the driver. They stay there until the next call of [`Call::encode`].
    pub(crate) fn parameters(&mut self, plan: &Plan, launch: usize) -> &[*const c_void] {
        let launch = &self.launches[launch];
        let arguments = &plan.kernels[launch.kernel].arguments;
        let mut maps = self.maps[launch.first_map..].iter();
        self.pointers.clear();
        for (argument, word) in arguments.iter().zip(&self.words[launch.first_word..]) {
            let map = match argument {
                ArgumentPlan::TensorMap(_) => maps.next(),
                _ => None,
            };
            let word = std::ptr::from_ref(word).cast();
            self.pointers
                .push(map.map_or(word, |map| std::ptr::from_ref(map).cast()));
        }
        &self.pointers
    }

    /// A value that a launch takes as a 32-bit number.
    fn small(&self, slot: Slot, what: &str) -> Result<u32, CallError> {
        let value = self.values[slot];
        u32::try_from(value).or_else(|_| {
            refuse(format!(
                "expected {what} of a kernel to fit in 32 bits, got {value}"
            ))
        })
    }
}

impl Plan {
    fn tensor_name(&self, index: usize) -> &str {
        let inputs = &self.function.inputs;
        let tensor = inputs
            .get(index)
            .unwrap_or_else(|| &self.function.outputs[index - inputs.len()]);
        &tensor.name
    }
}

/// `CUtensorMapDataType`. The copy engine moves fp8 as bytes.
fn tensor_map_type(map: &TensorMap) -> i32 {
    match map.element {
        Element::I1 | Element::I8 | Element::F8E4M3FN | Element::F8E5M2 | Element::F8E8M0FNU => 0,
        Element::I32 => 3,
        Element::I64 => 5,
        Element::F16 => 6,
        Element::F32 => 7,
        Element::F64 => 8,
        Element::BF16 => 9,
    }
}
