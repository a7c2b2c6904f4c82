//! A function on a device: its kernels loaded, their launches evaluated, and their parameters bound to memory.

use std::collections::BTreeMap;

use norma_bundle::Element;
use norma_bundle::manifest::{Kernel, TensorMap, WorkspaceInit};
use norma_oracle::addresses::check_addresses;
use norma_oracle::launch;
use norma_oracle::memory::{GUARD, Image, Images, POISON};
use norma_oracle::problem::Problem;

use crate::bundle::Bundle;
use crate::driver::{Buffer, Device, DriverError, Function, Launch, Parameter, Stream, TensorMapShape};
use crate::failure::Failure;

/// A kernel that is loaded and configured for its launch.
struct LoadedKernel<'a> {
    kernel: &'a Kernel,
    function: Function,
    symbols: BTreeMap<String, i64>,
    /// Absent where the grid is empty.
    launch: Option<Launch>,
}

/// A function whose kernels are loaded, for one choice of sizes.
pub struct Loaded<'a> {
    problem: &'a Problem<'a>,
    kernels: Vec<LoadedKernel<'a>>,
    /// The fewest bytes one call must move.
    pub bytes_moved: i64,
}

/// Device memory for every tensor of a function, with guards around each.
pub struct Tensors(BTreeMap<String, Buffer>);

/// One call: kernels, parameters and the memory they refer to.
pub struct Call<'l> {
    kernels: Vec<(&'l LoadedKernel<'l>, Vec<Parameter>)>,
    workspaces: Workspaces,
}

/// The workspaces of a call, by name, and what they hold at first.
type Workspaces = BTreeMap<String, (Buffer, WorkspaceInit)>;

impl<'a> Loaded<'a> {
    /// Loads the kernels of `bundle` that `problem` runs and evaluates their launches.
    ///
    /// # Errors
    /// A cubin that cannot be read, an expression without a value, or what the driver says.
    pub fn new(device: &Device, bundle: &Bundle, problem: &'a Problem<'a>) -> Result<Self, Failure> {
        let mut kernels = Vec::new();
        let mut bytes_moved = 0;
        for kernel in &problem.function.kernels {
            let mut symbols = problem.kernel_symbols(kernel);
            symbols.insert("num_sms".to_owned(), i64::from(device.multiprocessors));
            if !launch::is_launched(kernel, &symbols)? {
                continue;
            }
            let function = device.load(&bundle.cubin(kernel)?, &kernel.symbol)?;
            let shared_bytes = launch::shared_bytes(kernel, &symbols)?;
            let cluster_size = kernel.cluster_size();
            function.configure(shared_bytes, kernel.shared_carveout, cluster_size)?;
            // Occupancy counts CTAs one by one, which says nothing about whole clusters.
            let threads = kernel.block.iter().product();
            let ctas = match cluster_size {
                1 => function.ctas_per_multiprocessor(threads, shared_bytes)?,
                _ => 1,
            };
            symbols.insert("ctas_per_sm".to_owned(), i64::from(ctas));
            let grid = launch::grid(kernel, &symbols)?;
            let launch = Launch {
                grid,
                block: kernel.block,
                cluster: kernel.cluster,
                shared_bytes,
                programmatic: kernel.programmatic_dependent_launch,
            };
            let launch = (!grid.contains(&0)).then_some(launch);
            bytes_moved += launch::bytes_moved(kernel, &symbols)?;
            kernels.push(LoadedKernel {
                kernel,
                function,
                symbols,
                launch,
            });
        }
        Ok(Loaded {
            problem,
            kernels,
            bytes_moved,
        })
    }

    /// Binds the kernels to `tensors`, with workspaces of their own.
    ///
    /// # Errors
    /// An argument without a value, tensors that may not lie where they do, or what the driver says.
    pub fn bind(&self, device: &Device, tensors: &Tensors) -> Result<Call<'_>, Failure> {
        check_addresses(self.problem, &tensors.addresses())?;
        let mut workspaces = BTreeMap::new();
        let mut kernels = Vec::new();
        for loaded in &self.kernels {
            let parameters = launch::parameters(self.problem, loaded.kernel, &loaded.symbols)?
                .into_iter()
                .map(|parameter| place(device, parameter, tensors, &mut workspaces))
                .collect::<Result<Vec<_>, _>>()?;
            kernels.push((loaded, parameters));
        }
        Ok(Call { kernels, workspaces })
    }
}

/// Gives a parameter its addresses in device memory.
fn place(
    device: &Device,
    parameter: launch::Parameter<'_>,
    tensors: &Tensors,
    workspaces: &mut Workspaces,
) -> Result<Parameter, DriverError> {
    let word = |address: u64| Parameter::Word(address.to_le_bytes());
    Ok(match parameter {
        launch::Parameter::Tensor(tensor) => word(tensors.address(tensor)),
        launch::Parameter::Scalar { bytes, .. } => Parameter::Word(bytes),
        launch::Parameter::Workspace { name, bytes, init } => {
            if !workspaces.contains_key(name) {
                let byte = if init.is_zero() { 0 } else { POISON };
                workspaces.insert(name.to_owned(), (device.allocate(bytes, byte)?, init));
            }
            word(workspaces[name].0.address())
        }
        launch::Parameter::TensorMap {
            map,
            dims,
            strides_bytes,
        } => {
            let descriptor = device.tensor_map(&TensorMapShape {
                data_type: tensor_map_type(map),
                address: tensors.address(&map.tensor),
                dims: &dims,
                strides_bytes: &strides_bytes,
                box_dims: &map.box_dims,
                swizzle: map.swizzle,
                l2_promotion: map.l2_promotion,
            })?;
            Parameter::TensorMap(Box::new(descriptor))
        }
    })
}

impl Tensors {
    /// Allocates every tensor of `problem`, with what `images` has for it; the rest is poisoned.
    ///
    /// # Errors
    /// What the driver says, out of memory above all.
    pub fn new(device: &Device, problem: &Problem<'_>, images: &Images) -> Result<Self, DriverError> {
        let mut buffers = BTreeMap::new();
        for tensor in problem.function.tensors() {
            let buffer = device.allocate(problem.span_bytes(tensor) + 2 * GUARD, POISON)?;
            if let Some(image) = images.get(&tensor.name) {
                buffer.write(0, image.bytes())?;
            }
            buffers.insert(tensor.name.clone(), buffer);
        }
        Ok(Tensors(buffers))
    }

    /// Poisons a tensor again.
    ///
    /// # Errors
    /// What the driver says.
    pub fn poison(&self, tensor: &str) -> Result<(), DriverError> {
        self.0[tensor].fill(POISON)
    }

    /// Reads a tensor's memory back.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read(&self, tensor: &str) -> Result<Image, DriverError> {
        let bytes = self.0[tensor].read()?;
        Ok(Image::from_bytes(bytes).unwrap_or_else(|| Image::poisoned(0)))
    }

    fn address(&self, tensor: &str) -> u64 {
        self.0[tensor].address() + GUARD as u64
    }

    fn addresses(&self) -> BTreeMap<String, u64> {
        let names = self.0.keys();
        names.map(|name| (name.clone(), self.address(name))).collect()
    }
}

impl Call<'_> {
    /// Launches the kernels in order on `stream`; an empty grid launches nothing.
    ///
    /// # Errors
    /// What the driver says of a launch.
    pub fn enqueue(&mut self, stream: &Stream) -> Result<(), DriverError> {
        for (loaded, parameters) in &mut self.kernels {
            if let Some(launch) = &loaded.launch {
                loaded.function.launch(launch, parameters, stream)?;
            }
        }
        Ok(())
    }

    /// Poisons the workspaces that hold nothing at first.
    ///
    /// # Errors
    /// What the driver says.
    pub fn poison_workspaces(&self) -> Result<(), DriverError> {
        let mut uninitialized = self.workspaces.values().filter(|(_, init)| !init.is_zero());
        uninitialized.try_for_each(|(buffer, _)| buffer.fill(POISON))
    }

    /// What the workspaces hold that were zero at first.
    ///
    /// # Errors
    /// What the driver says.
    pub fn workspaces(&self) -> Result<BTreeMap<String, Vec<u8>>, DriverError> {
        let zero = self.workspaces.iter().filter(|(_, (_, init))| init.is_zero());
        zero.map(|(name, (buffer, _))| Ok((name.clone(), buffer.read()?)))
            .collect()
    }
}

/// `CUtensorMapDataType`. The copy engine moves fp8 as bytes.
fn tensor_map_type(map: &TensorMap) -> i32 {
    match map.element {
        Element::I1 | Element::I8 | Element::F8E4M3FN | Element::F8E5M2 => 0,
        Element::I32 => 3,
        Element::I64 => 5,
        Element::F16 => 6,
        Element::F32 => 7,
        Element::F64 => 8,
        Element::BF16 => 9,
    }
}
