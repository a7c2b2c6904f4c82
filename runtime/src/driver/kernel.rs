//! Kernels: loading them, the configuration of a launch, and their parameters.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use norma_bundle::manifest::MAX_TENSOR_MAP_RANK;

use super::api::{Handle, LaunchAttribute, LaunchConfig, TensorMapDescriptor};
use super::device::Context;
use super::{Current, Device, DriverError, RelaxedCapture, StreamHandle};

const FUNCTION_MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
const FUNCTION_PREFERRED_SHARED_CARVEOUT: c_int = 9;
const FUNCTION_NON_PORTABLE_CLUSTER: c_int = 14;

const LAUNCH_CLUSTER_DIMENSION: c_uint = 4;
const LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;

/// The largest cluster size that is portable across devices with clusters.
const PORTABLE_CLUSTER: u32 = 8;
/// `CUDA_ERROR_INVALID_CLUSTER_SIZE`: a launch of clusters that the device has no room for.
const INVALID_CLUSTER_SIZE: c_int = 912;
/// Dynamic shared memory above this many bytes must be requested explicitly.
const DEFAULT_DYNAMIC_SHARED: u32 = 48 * 1024;

/// Machine code on a device.
pub(crate) struct Module {
    context: Arc<Context>,
    handle: Handle,
}

impl Module {
    /// Loads a cubin, or PTX that ends in a null byte, which the driver compiles.
    ///
    /// # Errors
    /// The driver's error, for example that the code is for another architecture.
    pub(crate) fn load(device: &Device, code: &[u8]) -> Result<Arc<Module>, DriverError> {
        let api = device.enter()?;
        let mut handle = Handle::NULL;
        // SAFETY: a cubin is an ELF image that states its own size, and the caller has checked that it is complete; PTX ends
        // in a null byte.
        let loaded = unsafe { (api.module_load_data)(&mut handle, code.as_ptr().cast()) };
        api.check("cuModuleLoadData", loaded)?;
        Ok(Arc::new(Module {
            context: Arc::clone(&device.context),
            handle,
        }))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let Ok(api) = self.context.enter() else { return };
        // As for memory: a capture would be invalidated.
        let _relaxed = RelaxedCapture::enter(&api);
        // SAFETY: the module is this object's own, and kernels of it hold it.
        unsafe { (api.module_unload)(self.handle) };
    }
}

/// A kernel, with the settings that all its launches share.
pub(crate) struct Kernel {
    /// Keeps the kernel loaded.
    _module: Arc<Module>,
    /// The entry's name, for messages.
    symbol: String,
    handle: Handle,
    /// Threads along x, y and z.
    block: [u32; 3],
    attributes: [LaunchAttribute; 2],
    attribute_count: c_uint,
    ctas_per_cluster: u32,
    /// Whether `ctas_per_sm` is the kernel's occupancy ([`norma_bundle::manifest::Kernel::counts_ctas`]).
    counts_ctas: bool,
    /// The largest dynamic shared memory that the driver has been asked to allow, in bytes.
    allowed_shared: AtomicU32,
    /// Held while a larger amount is requested.
    raising_limit: Mutex<()>,
}

/// The settings that differ from launch to launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// CTAs along x, y and z.
    pub(crate) grid: [u32; 3],
    /// Dynamic shared memory, in bytes.
    pub(crate) shared_bytes: u32,
    /// The stream that it is launched on.
    pub(crate) stream: StreamHandle,
}

impl Kernel {
    /// Looks up the manifest's kernel in its module and sets the attributes that its launches need beyond the defaults: the
    /// carve-out and a large cluster.
    ///
    /// # Errors
    /// The driver's error.
    pub(crate) fn find(
        module: &Arc<Module>,
        kernel: &norma_bundle::manifest::Kernel,
    ) -> Result<Kernel, DriverError> {
        let api = module.context.enter()?;
        let symbol = CString::new(kernel.symbol.as_str()).map_err(|_| DriverError::Call {
            call: "cuModuleGetFunction",
            name: "CUDA_ERROR_NOT_FOUND".to_owned(),
            text: "the symbol contains a null byte".to_owned(),
        })?;
        let mut handle = Handle::NULL;
        // SAFETY: the module is loaded, and the name ends in a null byte.
        let found = unsafe { (api.module_function)(&mut handle, module.handle, symbol.as_ptr()) };
        api.check("cuModuleGetFunction", found)?;
        let set = |attribute, value| set_attribute(&api, handle, attribute, value);
        if let Some(percent) = kernel.shared_carveout {
            set(FUNCTION_PREFERRED_SHARED_CARVEOUT, percent)?;
        }
        if kernel.cluster_size() > PORTABLE_CLUSTER {
            set(FUNCTION_NON_PORTABLE_CLUSTER, 1)?;
        }
        let mut attributes = [LaunchAttribute {
            id: 0,
            padding: [0; 4],
            value: [0; 16],
        }; 2];
        let mut attribute_count = 0;
        let mut attribute = |id, words: &[u32]| {
            let attribute = &mut attributes[attribute_count as usize];
            attribute.id = id;
            attribute.value[..words.len()].copy_from_slice(words);
            attribute_count += 1;
        };
        if kernel.cluster_size() > 1 {
            attribute(LAUNCH_CLUSTER_DIMENSION, &kernel.cluster);
        }
        if kernel.programmatic_dependent_launch {
            attribute(LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION, &[1]);
        }
        Ok(Kernel {
            _module: Arc::clone(module),
            symbol: kernel.symbol.clone(),
            handle,
            block: kernel.block,
            attributes,
            attribute_count,
            ctas_per_cluster: kernel.cluster_size(),
            counts_ctas: kernel.counts_ctas(),
            allowed_shared: AtomicU32::new(DEFAULT_DYNAMIC_SHARED),
            raising_limit: Mutex::new(()),
        })
    }

    /// Ensures that launches may use this much dynamic shared memory, in bytes.
    ///
    /// # Errors
    /// The driver's error, for example that the device has less.
    pub(crate) fn allow_shared(&self, api: &Current<'_>, bytes: u32) -> Result<(), DriverError> {
        if bytes <= self.allowed_shared.load(Ordering::Acquire) {
            return Ok(());
        }
        // One thread at a time makes the request; the others then find the new limit.
        let _turn = self.raising_limit.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > self.allowed_shared.load(Ordering::Acquire) {
            set_attribute(api, self.handle, FUNCTION_MAX_DYNAMIC_SHARED_BYTES, bytes)?;
            self.allowed_shared.store(bytes, Ordering::Release);
        }
        Ok(())
    }

    /// The value of `ctas_per_sm`: the number of CTAs that are resident on one multiprocessor at a time, which is at least 1,
    /// and 1 for clusters.
    ///
    /// # Errors
    /// The driver's error, or that not one CTA fits: a grid over this number would be empty.
    pub(crate) fn ctas_per_multiprocessor(
        &self,
        api: &Current<'_>,
        shared_bytes: u32,
    ) -> Result<u32, DriverError> {
        if !self.counts_ctas {
            return Ok(1);
        }
        let threads: u32 = self.block.iter().product();
        let mut count = 0;
        // SAFETY: the out-pointer is valid for the call and the handle is this kernel's.
        let status =
            unsafe { (api.occupancy)(&mut count, self.handle, threads as c_int, shared_bytes as usize) };
        api.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", status)?;
        match u32::try_from(count) {
            Ok(count) if count > 0 => Ok(count),
            _ => Err(DriverError::Occupancy {
                kernel: self.symbol.clone(),
                threads,
                shared_bytes,
            }),
        }
    }

    /// Launches the kernel.
    ///
    /// # Errors
    /// The driver's error for the launch itself; errors in the kernel appear at the next synchronisation.
    ///
    /// # Safety
    /// `parameters` must point to as many parameters as the kernel has, each of the size that the kernel expects. Memory that
    /// addresses among them point to must be valid until the kernel has completed. The stream must be one of this kernel's
    /// device.
    pub(crate) unsafe fn launch(
        &self,
        api: &Current<'_>,
        launch: &Launch,
        parameters: &[*const c_void],
    ) -> Result<(), DriverError> {
        let config = LaunchConfig {
            grid: launch.grid,
            block: self.block,
            shared_bytes: launch.shared_bytes,
            stream: launch.stream.handle(),
            attributes: self.attributes.as_ptr(),
            attribute_count: self.attribute_count,
        };
        // SAFETY: the driver copies the configuration, its attributes and every parameter before it returns, reading
        // as many parameters as the kernel declares; `extra` is unused and null.
        let status = unsafe { (api.launch)(&config, self.handle, parameters.as_ptr(), ptr::null()) };
        if status == INVALID_CLUSTER_SIZE && self.ctas_per_cluster > PORTABLE_CLUSTER {
            return Err(DriverError::ClusterRoom {
                kernel: self.symbol.clone(),
                ctas: self.ctas_per_cluster,
            });
        }
        api.check("cuLaunchKernelEx", status)
    }
}

fn set_attribute(api: &Current<'_>, kernel: Handle, attribute: c_int, value: u32) -> Result<(), DriverError> {
    // SAFETY: the handle is a loaded kernel's.
    let status = unsafe { (api.function_set_attribute)(kernel, attribute, value as c_int) };
    api.check("cuFuncSetAttribute", status)
}

/// The arguments of `cuTensorMapEncodeTiled`; dims are listed from the innermost, and element strides are 1.
pub(crate) struct TensorMapShape<'a> {
    /// `CUtensorMapDataType`.
    pub(crate) data_type: i32,
    /// The device address of the first element.
    pub(crate) address: u64,
    /// Extents in elements.
    pub(crate) dims: &'a [u64],
    /// Strides in bytes of all dims but the innermost.
    pub(crate) strides_bytes: &'a [u64],
    /// The box's extents in elements.
    pub(crate) box_dims: &'a [u32],
    /// `CUtensorMapSwizzle`.
    pub(crate) swizzle: u32,
    /// `CUtensorMapL2promotion`.
    pub(crate) l2_promotion: u32,
}

impl TensorMapShape<'_> {
    /// Encodes a tensor map.
    ///
    /// # Errors
    /// The driver's error for sizes, strides or alignments that the copy engine does not support.
    pub(crate) fn encode(&self, api: &Current<'_>) -> Result<TensorMapDescriptor, DriverError> {
        let rank = self.dims.len();
        debug_assert!(rank <= MAX_TENSOR_MAP_RANK && self.box_dims.len() == rank);
        debug_assert!(self.strides_bytes.len() + 1 == rank);
        let mut descriptor = TensorMapDescriptor([0; 16]);
        let element_strides = [1u32; MAX_TENSOR_MAP_RANK];
        // SAFETY: the arrays hold `rank` elements each (`rank - 1` strides), which the manifest's validation ensures, and the
        // driver only reads them; the address is not dereferenced here.
        let status = unsafe {
            (api.tensor_map)(
                &mut descriptor,
                self.data_type,
                rank as c_uint,
                self.address as *mut c_void,
                self.dims.as_ptr(),
                self.strides_bytes.as_ptr(),
                self.box_dims.as_ptr(),
                element_strides.as_ptr(),
                0,
                self.swizzle as c_int,
                self.l2_promotion as c_int,
                0,
            )
        };
        api.check("cuTensorMapEncodeTiled", status)?;
        Ok(descriptor)
    }
}
