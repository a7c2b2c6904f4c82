//! Checks the arguments of a call, and builds the parameters of its launches. It allocates nothing once the buffers here have
//! grown to the size that a function needs.

use std::ffi::c_void;

use norma_bundle::Element;
use norma_bundle::manifest::{MAX_TENSOR_MAP_RANK, TensorMap};

use super::overlap::{View, share_memory};
use super::tensors::TensorPlan;
use super::{ArgumentPlan, KernelPlan, Plan, Slot, Values};
use crate::driver::{Current, TensorMapDescriptor, TensorMapShape};
use crate::error::CallError;
use crate::tensor::{DataType, Scalar, Tensor};

/// The state of a call; it is reused by later calls for its buffers.
#[derive(Default)]
pub(crate) struct Call {
    values: Values,
    tensors: Vec<TensorMemory>,
    /// The launches, in order.
    pub(crate) launches: Vec<Prepared>,
    /// One for each workspace of the function; `bytes` is `None` for a workspace that no launch uses.
    pub(crate) workspaces: Vec<NeededWorkspace>,
    /// The parameters of all launches.
    words: Vec<u64>,
    maps: Vec<TensorMapDescriptor>,
    /// The addresses of one launch's parameters.
    pointers: Vec<*const c_void>,
}

/// The memory of a tensor.
#[derive(Clone, Copy)]
struct TensorMemory {
    address: u64,
    /// The distance from the beginning of the first element to the end of the last.
    bytes: u64,
}

/// A launch whose parameters are not encoded yet.
pub(crate) struct Prepared {
    /// The kernel's position in the function.
    pub(crate) kernel: usize,
    pub(crate) grid: [u32; 3],
    pub(crate) shared_bytes: u32,
    /// The positions of its parameters and its tensor maps in the buffers of all launches.
    first_word: usize,
    first_map: usize,
}

/// The workspace that a call needs.
#[derive(Clone, Copy)]
pub(crate) struct NeededWorkspace {
    /// The bytes needed; `None` if no launch uses it.
    pub(crate) bytes: Option<u64>,
    /// The address, once it is assigned.
    pub(crate) address: u64,
}

fn refuse<T>(message: String) -> Result<T, CallError> {
    Err(CallError::Argument(message))
}

impl Call {
    /// Binds the arguments of a call, and checks everything that does not depend on the kernels.
    ///
    /// # Errors
    /// Arguments that the kernels are not made for.
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
            // A scalar that is not an integer is refused later, when the kernel's argument is encoded.
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

    /// Binds a tensor's extents and strides.
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
        let is_of_type = match planned.is_output {
            true => tensor.dtype == DataType::from(planned.element),
            false => tensor.dtype.is_read_as(planned.element),
        };
        if !is_of_type {
            let (expected, got) = (planned.element, tensor.dtype.name());
            return refuse(format!(
                "expected '{}' to be of type {expected}, got {got}",
                name()
            ));
        }
        if tensor.device.cuda_ordinal() != Some(device) {
            return refuse(format!(
                "expected '{}' to be in the memory of GPU {device}, got {}",
                name(),
                tensor.device
            ));
        }
        let rank = planned.dims.len();
        if usize::try_from(tensor.rank) != Ok(rank) {
            return refuse(format!(
                "expected '{}' to have {rank} dims, got {}",
                name(),
                tensor.rank
            ));
        }
        // SAFETY: passed on to the caller.
        let (shape, strides) = unsafe { (tensor.shape(), tensor.strides()) };
        if shape.len() != rank {
            return refuse(format!("expected a shape for '{}', got null", name()));
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
            // A value that saturates does not fit, which the check of the tensor detects.
            dense = dense.saturating_mul(extent.max(1));
        }
        Ok(())
    }

    /// Checks the tensors' layouts and addresses.
    fn place(&mut self, plan: &Plan, tensors: &[&Tensor<'_>]) -> Result<(), CallError> {
        self.tensors.clear();
        for (index, (planned, tensor)) in plan.tensors.iter().zip(tensors).enumerate() {
            let bytes = planned.check(plan.tensor_name(index), &self.values)?;
            let address = tensor.address();
            // A tensor without elements is never accessed.
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
            self.tensors.push(TensorMemory { address, bytes });
        }
        Ok(())
    }

    /// Checks that an output shares no element with another tensor, unless it begins where the input does that it may alias.
    fn check_overlaps(&self, plan: &Plan) -> Result<(), CallError> {
        let inputs = plan.function.inputs.len();
        for index in inputs..self.tensors.len() {
            for other in 0..index {
                let (own, place) = (self.tensors[index], self.tensors[other]);
                // The address of a tensor without elements is arbitrary.
                if own.bytes == 0 || place.bytes == 0 {
                    continue;
                }
                let what_is_open = match share_memory(self.view(plan, index), self.view(plan, other)) {
                    Some(false) => continue,
                    Some(true) => "",
                    None => ", whose strides leave open whether they share elements",
                };
                let (output, input) = (plan.tensor_name(index), plan.tensor_name(other));
                let may_alias = plan.function.outputs[index - inputs].may_alias.as_deref();
                let where_to = match may_alias == Some(input) {
                    true if own.address == place.address => continue,
                    true => format!("to begin where input '{input}' does, or not to overlap it"),
                    false => format!("not to overlap '{input}'"),
                };
                return refuse(format!(
                    "expected output '{output}' {where_to}, got {:#x} and {:#x}{what_is_open}",
                    own.address, place.address
                ));
            }
        }
        Ok(())
    }

    /// The memory of a tensor of this call.
    fn view<'a>(&'a self, plan: &'a Plan, tensor: usize) -> View<impl Iterator<Item = (i64, i64)> + use<'a>> {
        let TensorMemory { address, bytes } = self.tensors[tensor];
        View {
            address,
            bytes,
            dims: plan.tensors[tensor].dims_in_bytes(&self.values),
        }
    }

    /// The dynamic shared memory of a kernel, in bytes, or `None` if the kernel is not launched for these sizes.
    ///
    /// # Errors
    /// The value cannot be computed, or does not fit.
    pub(crate) fn choose(&mut self, plan: &Plan, kernel: &KernelPlan) -> Result<Option<u32>, CallError> {
        plan.code.run(&kernel.choice, &mut self.values)?;
        if !kernel.when.iter().all(|condition| condition.holds(&self.values)) {
            return Ok(None);
        }
        plan.code.run(&kernel.sharing, &mut self.values)?;
        self.small(kernel.shared_bytes, "the shared memory").map(Some)
    }

    /// Sets a value that depends on the loaded kernel.
    pub(crate) fn set(&mut self, slot: Slot, value: u32) {
        self.values[slot] = i64::from(value);
    }

    /// Evaluates the launch of a kernel that was chosen, and records which workspaces it needs.
    ///
    /// # Errors
    /// A value cannot be computed, or is out of range for a launch.
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
        // If an extent of the grid is zero, there is nothing to launch.
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

    /// Encodes the parameters of all launches. Workspaces must have their addresses.
    ///
    /// # Errors
    /// A scalar that does not fit its type, a negative extent or stride of a tensor map, or the driver's error for one.
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
                        // The manifest's validation ensures that there is room.
                        let (mut dims, mut strides) = ([0; MAX_TENSOR_MAP_RANK], [0; MAX_TENSOR_MAP_RANK]);
                        let count_at = |slot: Slot, what: &str| {
                            let value = self.values[slot];
                            u64::try_from(value).or_else(|_| {
                                let tensor = &planned.map.tensor;
                                refuse(format!(
                                    "expected the {what} of a tensor map of '{tensor}' to be at least 0, got {value}"
                                ))
                            })
                        };
                        for (dim, slot) in dims.iter_mut().zip(&planned.dims) {
                            *dim = count_at(*slot, "extents")?;
                        }
                        for (stride, slot) in strides.iter_mut().zip(&planned.strides_bytes) {
                            *stride = count_at(*slot, "strides")?;
                        }
                        let shape = TensorMapShape {
                            data_type: tensor_map_type(&planned.map),
                            address: self.tensors[planned.tensor].address,
                            dims: &dims[..planned.dims.len()],
                            strides_bytes: &strides[..planned.strides_bytes.len()],
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

    /// The addresses of a launch's parameters, for the driver. They are valid until the next call of [`Call::encode`].
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

    /// A value that a launch needs as a 32-bit number.
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

/// The element type as `CUtensorMapDataType`. The copy engine moves fp8 as bytes.
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
