//! Loads a function on a device, and calls it on tensors surrounded by guard bytes.

use std::collections::BTreeMap;

use norma_oracle::launch;
use norma_oracle::memory::{GUARD, Image, Images, POISON};
use norma_oracle::problem::Problem;
use norma_runtime::driver::{Buffer, Stream};
use norma_runtime::{Bundle, Device, DriverError, Function, Scalar, Tensor, WorkspaceMemory};

use crate::failure::Failure;

/// A function loaded on a device, with fixed sizes.
pub struct Loaded<'a> {
    problem: &'a Problem<'a>,
    function: Function,
    /// The named scalars, in the function's order.
    scalars: Vec<Scalar>,
    /// The minimum traffic of one call, in bytes.
    pub bytes_moved: i64,
}

/// Device memory for every tensor of a function.
pub struct Tensors {
    buffers: BTreeMap<String, Buffer>,
    /// The bytes before each tensor, and as many behind it.
    guard: usize,
}

/// The workspaces of a call.
pub struct Workspaces(Vec<WorkspaceMemory>);

impl<'a> Loaded<'a> {
    /// Loads the function of `bundle` that `problem` runs.
    ///
    /// # Errors
    /// The runtime's error, an expression that cannot be evaluated, or the driver's error.
    pub fn new(device: &Device, bundle: &Bundle, problem: &'a Problem<'a>) -> Result<Self, Failure> {
        let function = Function::load(bundle, device, &problem.function.name)?;
        let mut bytes_moved = 0;
        for kernel in &problem.function.kernels {
            let mut symbols = problem.kernel_symbols(kernel);
            symbols.insert("num_sms".to_owned(), i64::from(device.multiprocessors));
            if launch::is_launched(kernel, &symbols)? {
                bytes_moved += launch::bytes_moved(kernel, &symbols)?;
            }
        }
        let set = |(name, ..): (&str, _, _)| {
            let value = problem.scalars.get(name);
            value.map_or(Scalar::Default, |value| Scalar::Float(*value))
        };
        let scalars = problem.function.named_scalars().into_iter().map(set).collect();
        Ok(Loaded {
            problem,
            function,
            scalars,
            bytes_moved,
        })
    }

    /// Launches the kernels in order on `stream`.
    ///
    /// # Errors
    /// The runtime's error, or the driver's error at a launch.
    pub fn enqueue(&self, tensors: &Tensors, stream: &Stream) -> Result<(), Failure> {
        let tensors = self.tensors(tensors);
        let tensors: Vec<&Tensor<'_>> = tensors.iter().collect();
        // SAFETY: the buffers hold the tensors, with the spans that the problem states, and nothing else uses them; freeing
        // them waits for the launches to complete.
        unsafe { self.function.launch(&tensors, &self.scalars, stream.handle()) }?;
        Ok(())
    }

    /// The workspaces that calls on `stream` use.
    ///
    /// # Errors
    /// As [`Loaded::enqueue`].
    pub fn workspaces(&self, tensors: &Tensors, stream: &Stream) -> Result<Workspaces, Failure> {
        let tensors = self.tensors(tensors);
        let tensors: Vec<&Tensor<'_>> = tensors.iter().collect();
        // SAFETY: the tensors' shapes and strides are the problem's.
        let workspaces = unsafe { self.function.workspaces(&tensors, &self.scalars, stream.handle()) }?;
        Ok(Workspaces(workspaces))
    }

    fn tensors(&self, tensors: &Tensors) -> Vec<Tensor<'_>> {
        let device = self.function.device().ordinal;
        let described = self.problem.function.tensors();
        let placed = described.map(|tensor| {
            let layout = &self.problem.layouts[&tensor.name];
            let address = tensors.address(&tensor.name);
            Tensor::new(device, address, tensor.dtype, &layout.shape, &layout.strides)
        });
        placed.collect()
    }
}

impl Tensors {
    /// Allocates every tensor of `problem` between guards and copies what its image in `images` has between them; all other bytes are poisoned.
    ///
    /// # Errors
    /// The driver's error, most likely out of memory.
    pub fn guarded(device: &Device, problem: &Problem<'_>, images: &Images) -> Result<Self, DriverError> {
        Self::new(device, problem, images, GUARD)
    }

    /// As [`Tensors::guarded`], with each tensor where its allocation begins. The driver aligns large ones to 2 MB, as it does those of
    /// other allocators on top of it, and 4 KB further on some kernels are 4% faster: RMSNorm in clusters over 8192 rows of 32768
    /// columns 4238 GB/s rather than 4090 (H200).
    ///
    /// # Errors
    /// As [`Tensors::guarded`].
    pub fn unguarded(device: &Device, problem: &Problem<'_>, images: &Images) -> Result<Self, DriverError> {
        Self::new(device, problem, images, 0)
    }

    fn new(
        device: &Device,
        problem: &Problem<'_>,
        images: &Images,
        guard: usize,
    ) -> Result<Self, DriverError> {
        let mut buffers = BTreeMap::new();
        for tensor in problem.function.tensors() {
            let buffer = Buffer::new(device, problem.span_bytes(tensor) + 2 * guard, POISON)?;
            if let Some(image) = images.get(&tensor.name) {
                buffer.write(guard, image.body())?;
            }
            buffers.insert(tensor.name.clone(), buffer);
        }
        Ok(Tensors { buffers, guard })
    }

    /// Poisons a tensor again.
    ///
    /// # Errors
    /// The driver's error.
    pub fn poison(&self, tensor: &str) -> Result<(), DriverError> {
        self.buffers[tensor].fill(POISON)
    }

    /// Reads a tensor's memory back.
    ///
    /// # Errors
    /// The driver's error.
    pub fn read(&self, tensor: &str) -> Result<Image, DriverError> {
        let bytes = self.buffers[tensor].read()?;
        Ok(Image::from_bytes(bytes).unwrap_or_else(|| Image::poisoned(0)))
    }

    fn address(&self, tensor: &str) -> u64 {
        self.buffers[tensor].address() + self.guard as u64
    }
}

impl Workspaces {
    /// Poisons the workspaces whose initial contents are unspecified.
    ///
    /// # Errors
    /// The driver's error.
    pub fn poison(&self) -> Result<(), DriverError> {
        let mut uninitialized = self.0.iter().filter(|workspace| !workspace.init.is_zero());
        uninitialized.try_for_each(|workspace| workspace.memory.fill(POISON))
    }

    /// Reads the workspaces that must be zero initially.
    ///
    /// # Errors
    /// The driver's error.
    pub fn read(&self) -> Result<BTreeMap<String, Vec<u8>>, DriverError> {
        let zero = self.0.iter().filter(|workspace| workspace.init.is_zero());
        zero.map(|workspace| Ok((workspace.name.clone(), workspace.memory.read()?)))
            .collect()
    }
}
