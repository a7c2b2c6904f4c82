//! Kernels: loading them, what a launch asks for, and their parameters.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::rc::Rc;

use super::api::{Handle, LaunchAttribute, LaunchConfig, TensorMapDescriptor};
use super::stream::Stream;
use super::{Context, Device, DriverError};

const FUNCTION_MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
const FUNCTION_PREFERRED_SHARED_CARVEOUT: c_int = 9;
const FUNCTION_NON_PORTABLE_CLUSTER: c_int = 14;

const LAUNCH_CLUSTER_DIMENSION: c_uint = 4;
const LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;

/// The largest cluster that every device of an architecture with clusters can run.
const PORTABLE_CLUSTER: u32 = 8;
/// Dynamic shared memory above this many bytes must be asked for.
const DEFAULT_DYNAMIC_SHARED: u32 = 48 * 1024;

/// A kernel, and the module it belongs to.
pub struct Function {
    context: Rc<Context>,
    module: Handle,
    handle: Handle,
}

/// How a kernel is launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub shared_bytes: u32,
    /// Whether the kernel may overlap the one ahead of it.
    pub programmatic: bool,
}

/// One kernel parameter, in the layout that the kernel reads.
pub enum Parameter {
    /// A number or an address, little-endian, in the low bytes.
    Word([u8; 8]),
    /// A tensor map.
    TensorMap(Box<TensorMapDescriptor>),
}

impl Function {
    /// Asks for what a launch needs beyond the defaults: dynamic shared memory, the carve-out, a large cluster.
    ///
    /// # Errors
    /// What the driver says, for example that the device has less shared memory.
    pub fn configure(
        &self,
        shared_bytes: u32,
        carveout: Option<u32>,
        cluster_size: u32,
    ) -> Result<(), DriverError> {
        let set = |attribute: c_int, value: u32| {
            let api = &self.context.api;
            // SAFETY: the handle is this kernel's.
            let status = unsafe { (api.function_set_attribute)(self.handle, attribute, value as c_int) };
            api.check("cuFuncSetAttribute", status)
        };
        if shared_bytes > DEFAULT_DYNAMIC_SHARED {
            set(FUNCTION_MAX_DYNAMIC_SHARED_BYTES, shared_bytes)?;
        }
        if let Some(percent) = carveout {
            set(FUNCTION_PREFERRED_SHARED_CARVEOUT, percent)?;
        }
        if cluster_size > PORTABLE_CLUSTER {
            set(FUNCTION_NON_PORTABLE_CLUSTER, 1)?;
        }
        Ok(())
    }

    /// How many CTAs of `threads` threads fit one multiprocessor at a time.
    ///
    /// # Errors
    /// What the driver says.
    pub fn ctas_per_multiprocessor(&self, threads: u32, shared_bytes: u32) -> Result<u32, DriverError> {
        let api = &self.context.api;
        let mut count = 0;
        // SAFETY: the out-pointer is valid for the call and the handle is this kernel's.
        let status =
            unsafe { (api.occupancy)(&mut count, self.handle, threads as c_int, shared_bytes as usize) };
        api.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", status)?;
        Ok(count.unsigned_abs())
    }

    /// Launches the kernel on `stream`.
    ///
    /// The parameters must be those of the kernel's signature, which the caller has compared with the cubin's own. What a
    /// wrong manifest can do is confined to the device's memory of this process.
    ///
    /// # Errors
    /// What the driver says of the launch itself; what goes wrong in the kernel shows at the next synchronisation.
    pub fn launch(
        &self,
        launch: &Launch,
        parameters: &mut [Parameter],
        stream: &Stream,
    ) -> Result<(), DriverError> {
        let mut attributes = Vec::with_capacity(2);
        let mut attribute = |id, words: &[u32]| {
            let mut value = [0; 16];
            value[..words.len()].copy_from_slice(words);
            attributes.push(LaunchAttribute {
                id,
                padding: [0; 4],
                value,
            });
        };
        if launch.cluster != [1, 1, 1] {
            attribute(LAUNCH_CLUSTER_DIMENSION, &launch.cluster);
        }
        if launch.programmatic {
            attribute(LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, &[1]);
        }
        let config = LaunchConfig {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            stream: stream.handle,
            attributes: attributes.as_mut_ptr(),
            attribute_count: attributes.len() as c_uint,
        };
        let mut pointers: Vec<*mut c_void> = parameters
            .iter_mut()
            .map(|parameter| match parameter {
                Parameter::Word(bytes) => bytes.as_mut_ptr().cast(),
                Parameter::TensorMap(descriptor) => ptr::from_mut(descriptor.as_mut()).cast(),
            })
            .collect();
        let api = &self.context.api;
        // SAFETY: the driver copies the configuration, its attributes and every parameter before it returns, reading
        // as many parameters as the kernel declares; `extra` is unused and null.
        let status = unsafe { (api.launch)(&config, self.handle, pointers.as_mut_ptr(), ptr::null_mut()) };
        api.check("cuLaunchKernelEx", status)
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: the module is this function's own and nothing else refers to it.
        unsafe { (self.context.api.module_unload)(self.module) };
    }
}

/// What `cuTensorMapEncodeTiled` takes; dims from the innermost out, and element strides of 1.
pub struct TensorMapShape<'a> {
    /// `CUtensorMapDataType`.
    pub data_type: i32,
    /// The device address of the first element.
    pub address: u64,
    /// Extents in elements.
    pub dims: &'a [u64],
    /// Strides in bytes of all dims but the innermost.
    pub strides_bytes: &'a [u64],
    /// The box's extents in elements.
    pub box_dims: &'a [u32],
    /// `CUtensorMapSwizzle`.
    pub swizzle: u32,
    /// `CUtensorMapL2promotion`.
    pub l2_promotion: u32,
}

impl Device {
    /// Loads a cubin and finds `symbol` in it.
    ///
    /// # Errors
    /// What the driver says, for example that the cubin is for another architecture.
    pub fn load(&self, cubin: &[u8], symbol: &str) -> Result<Function, DriverError> {
        let api = &self.context.api;
        let symbol = CString::new(symbol).map_err(|_| DriverError::Call {
            call: "cuModuleGetFunction",
            name: "CUDA_ERROR_NOT_FOUND".to_owned(),
            text: "the symbol contains a null byte".to_owned(),
        })?;
        let mut module = ptr::null_mut();
        // SAFETY: a cubin is an ELF image that states its own size; the caller read it from a whole file.
        let loaded = unsafe { (api.module_load_data)(&mut module, cubin.as_ptr().cast()) };
        api.check("cuModuleLoadData", loaded)?;
        let mut function = Function {
            context: Rc::clone(&self.context),
            module,
            handle: ptr::null_mut(),
        };
        // SAFETY: `module` was loaded above, and the name ends in a null byte.
        let found = unsafe { (api.module_function)(&mut function.handle, module, symbol.as_ptr()) };
        api.check("cuModuleGetFunction", found)?;
        Ok(function)
    }

    /// Encodes a tensor map.
    ///
    /// # Errors
    /// What the driver says of sizes, strides or alignments that the copy engine cannot do.
    pub fn tensor_map(&self, shape: &TensorMapShape<'_>) -> Result<TensorMapDescriptor, DriverError> {
        let rank = shape.dims.len();
        debug_assert!(shape.strides_bytes.len() + 1 == rank && shape.box_dims.len() == rank);
        let mut descriptor = TensorMapDescriptor([0; 16]);
        let element_strides = vec![1u32; rank];
        let api = &self.context.api;
        // SAFETY: the arrays hold `rank` elements each (`rank - 1` strides), as the manifest's validation makes sure,
        // and the driver only reads them; the address is not dereferenced here.
        let status = unsafe {
            (api.tensor_map)(
                &mut descriptor,
                shape.data_type,
                rank as c_uint,
                shape.address as *mut c_void,
                shape.dims.as_ptr(),
                shape.strides_bytes.as_ptr(),
                shape.box_dims.as_ptr(),
                element_strides.as_ptr(),
                0,
                shape.swizzle as c_int,
                shape.l2_promotion as c_int,
                0,
            )
        };
        api.check("cuTensorMapEncodeTiled", status)?;
        Ok(descriptor)
    }
}
