//! The CUDA driver, loaded at run time: the few calls that a launcher needs, behind types that free what they own.
//!
//! Signatures, struct layouts and `_v2` names are those of `cuda.h` of CUDA 13.0; all of them have existed since
//! CUDA 12.0. Everything here belongs to one thread, on which [`Device::open`] made the device's primary context
//! current; each object holds the library open and the context retained for as long as it lives.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::ptr;
use std::rc::Rc;

use libloading::Library;
use thiserror::Error;

/// `CUresult`; 0 is success.
type Status = c_int;
/// `CUdeviceptr_v2`.
type Address = u64;
/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`, `CUevent`, `CUgraph` and `CUgraphExec` are opaque pointers.
type Handle = *mut c_void;

const ERROR_STUB_LIBRARY: Status = 34;
const ERROR_NO_DEVICE: Status = 100;

const DEVICE_MULTIPROCESSOR_COUNT: c_int = 16;
const DEVICE_COMPUTE_CAPABILITY_MAJOR: c_int = 75;
const DEVICE_COMPUTE_CAPABILITY_MINOR: c_int = 76;

const FUNCTION_MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
const FUNCTION_PREFERRED_SHARED_CARVEOUT: c_int = 9;
const FUNCTION_NON_PORTABLE_CLUSTER: c_int = 14;

const LAUNCH_CLUSTER_DIMENSION: c_uint = 4;
const LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;

const STREAM_NON_BLOCKING: c_uint = 1;
const CAPTURE_MODE_THREAD_LOCAL: c_int = 1;

/// The largest cluster that every device of an architecture with clusters can run.
const PORTABLE_CLUSTER: u32 = 8;
/// Dynamic shared memory above this many bytes must be asked for.
const DEFAULT_DYNAMIC_SHARED: u32 = 48 * 1024;

/// `CUlaunchAttribute`: an id, padding to 8 bytes, and a union of 64 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct LaunchAttribute {
    id: c_uint,
    padding: [u8; 4],
    value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: Handle,
    attributes: *mut LaunchAttribute,
    attribute_count: c_uint,
}

// What a C compiler makes of cuda.h on a 64-bit machine.
const _: () = {
    assert!(size_of::<LaunchAttribute>() == 72 && offset_of!(LaunchAttribute, value) == 8);
    assert!(size_of::<LaunchConfig>() == 56 && offset_of!(LaunchConfig, stream) == 32);
    assert!(offset_of!(LaunchConfig, attributes) == 40 && offset_of!(LaunchConfig, attribute_count) == 48);
};

/// `CUtensorMap`: 128 opaque bytes, which a kernel takes by value.
#[repr(C, align(128))]
#[derive(Clone)]
pub struct TensorMapDescriptor([u64; 16]);

/// What goes wrong between here and the device.
#[derive(Debug, Error)]
pub enum DriverError {
    /// There is no driver.
    #[error("no CUDA driver: {0}")]
    NoDriver(String),
    /// There is a driver, but no device for it.
    #[error("no GPU: {0}")]
    NoDevice(String),
    /// A call failed.
    #[error("{call} failed: {name} ({text})")]
    Call {
        /// The driver's function.
        call: &'static str,
        /// The error's name, such as `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
        /// The driver's description.
        text: String,
    },
}

/// Declares the table of driver functions and how it is filled.
macro_rules! driver_functions {
    ($($field:ident = $symbol:literal ( $($argument:ty),* );)*) => {
        struct Api {
            $($field: unsafe extern "C" fn($($argument),*) -> Status,)*
            /// Keeps the functions above mapped.
            _library: Library,
        }

        impl Api {
            fn load() -> Result<Api, DriverError> {
                let missing = |error: libloading::Error| DriverError::NoDriver(error.to_string());
                // SAFETY: the driver's initialisation routines have no requirement on the caller.
                let library = unsafe { Library::new("libcuda.so.1") }.map_err(missing)?;
                $(
                    // SAFETY: the type is the symbol's in cuda.h.
                    let $field = *unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> Status>($symbol)
                    }.map_err(missing)?;
                )*
                Ok(Api { $($field,)* _library: library })
            }
        }
    };
}

driver_functions! {
    init = c"cuInit" (c_uint);
    error_name = c"cuGetErrorName" (Status, *mut *const c_char);
    error_string = c"cuGetErrorString" (Status, *mut *const c_char);
    device_get = c"cuDeviceGet" (*mut c_int, c_int);
    device_count = c"cuDeviceGetCount" (*mut c_int);
    device_name = c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_attribute = c"cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = c"cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    context_release = c"cuDevicePrimaryCtxRelease_v2" (c_int);
    context_set_current = c"cuCtxSetCurrent" (Handle);
    module_load_data = c"cuModuleLoadData" (*mut Handle, *const c_void);
    module_unload = c"cuModuleUnload" (Handle);
    module_function = c"cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    function_set_attribute = c"cuFuncSetAttribute" (Handle, c_int, c_int);
    occupancy = c"cuOccupancyMaxActiveBlocksPerMultiprocessor" (*mut c_int, Handle, c_int, usize);
    launch = c"cuLaunchKernelEx" (*const LaunchConfig, Handle, *mut *mut c_void, *mut *mut c_void);
    tensor_map = c"cuTensorMapEncodeTiled" (
        *mut TensorMapDescriptor, c_int, c_uint, *mut c_void, *const u64, *const u64, *const u32, *const u32,
        c_int, c_int, c_int, c_int
    );
    allocate = c"cuMemAlloc_v2" (*mut Address, usize);
    free = c"cuMemFree_v2" (Address);
    copy_in = c"cuMemcpyHtoD_v2" (Address, *const c_void, usize);
    copy_out = c"cuMemcpyDtoH_v2" (*mut c_void, Address, usize);
    fill = c"cuMemsetD8_v2" (Address, u8, usize);
    synchronize = c"cuCtxSynchronize" ();
    stream_create = c"cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy = c"cuStreamDestroy_v2" (Handle);
    stream_synchronize = c"cuStreamSynchronize" (Handle);
    capture_begin = c"cuStreamBeginCapture_v2" (Handle, c_int);
    capture_end = c"cuStreamEndCapture" (Handle, *mut Handle);
    graph_instantiate = c"cuGraphInstantiateWithFlags" (*mut Handle, Handle, u64);
    graph_launch = c"cuGraphLaunch" (Handle, Handle);
    graph_destroy = c"cuGraphDestroy" (Handle);
    graph_exec_destroy = c"cuGraphExecDestroy" (Handle);
    event_create = c"cuEventCreate" (*mut Handle, c_uint);
    event_record = c"cuEventRecord" (Handle, Handle);
    event_synchronize = c"cuEventSynchronize" (Handle);
    event_elapsed = c"cuEventElapsedTime" (*mut f32, Handle, Handle);
    event_destroy = c"cuEventDestroy_v2" (Handle);
}

impl Api {
    fn check(&self, call: &'static str, status: Status) -> Result<(), DriverError> {
        if status == 0 {
            return Ok(());
        }
        let describe = |function: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = ptr::null();
            // SAFETY: `text` outlives the call, which stores null or a static string in it.
            let known = unsafe { function(status, &mut text) } == 0 && !text.is_null();
            if !known {
                return status.to_string();
            }
            // SAFETY: the driver's error strings are static and end in a null byte.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let (name, text) = (describe(self.error_name), describe(self.error_string));
        match status {
            ERROR_NO_DEVICE => Err(DriverError::NoDevice(text)),
            ERROR_STUB_LIBRARY => Err(DriverError::NoDriver(text)),
            _ => Err(DriverError::Call { call, name, text }),
        }
    }
}

/// The retained primary context; what every other object here keeps alive.
struct Context {
    api: Api,
    ordinal: c_int,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: balances the retain of `Device::open`; nothing of the context is left, as everything holds an `Rc`.
        unsafe { (self.api.context_release)(self.ordinal) };
    }
}

/// A GPU whose primary context is current on this thread.
pub struct Device {
    context: Rc<Context>,
    /// The marketing name.
    pub name: String,
    /// The compute capability.
    pub capability: (u32, u32),
    /// How many multiprocessors it has.
    pub multiprocessors: u32,
}

impl Device {
    /// Loads the driver and makes device `ordinal` current.
    ///
    /// # Errors
    /// [`DriverError::NoDriver`] or [`DriverError::NoDevice`] where there is none.
    pub fn open(ordinal: u32) -> Result<Device, DriverError> {
        let api = Api::load()?;
        // SAFETY: 0 is the only flag that cuInit takes.
        api.check("cuInit", unsafe { (api.init)(0) })?;
        let mut count = 0;
        // SAFETY: the out-pointer is valid for the call.
        api.check("cuDeviceGetCount", unsafe { (api.device_count)(&mut count) })?;
        if i64::from(ordinal) >= i64::from(count) {
            return Err(DriverError::NoDevice(format!(
                "expected a device below {count}, got {ordinal}"
            )));
        }
        let mut device = 0;
        // SAFETY: as above; `ordinal` is below the count, so it fits.
        api.check("cuDeviceGet", unsafe {
            (api.device_get)(&mut device, ordinal as c_int)
        })?;
        let mut name = [0 as c_char; 256];
        // SAFETY: the buffer is as long as stated, and the driver ends the name in a null byte within it.
        let named = unsafe { (api.device_name)(name.as_mut_ptr(), name.len() as c_int, device) };
        api.check("cuDeviceGetName", named)?;
        // SAFETY: the last byte is still null, whatever the driver wrote before it.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }
            .to_string_lossy()
            .into_owned();
        let attribute = |which: c_int| {
            let mut value = 0;
            // SAFETY: the out-pointer is valid for the call.
            let status = unsafe { (api.device_attribute)(&mut value, which, device) };
            api.check("cuDeviceGetAttribute", status)
                .map(|()| value.unsigned_abs())
        };
        let capability = (
            attribute(DEVICE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(DEVICE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let multiprocessors = attribute(DEVICE_MULTIPROCESSOR_COUNT)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call.
        let retained = unsafe { (api.context_retain)(&mut handle, device) };
        api.check("cuDevicePrimaryCtxRetain", retained)?;
        let context = Rc::new(Context { api, ordinal: device });
        // SAFETY: `handle` was retained above.
        let current = unsafe { (context.api.context_set_current)(handle) };
        context.api.check("cuCtxSetCurrent", current)?;
        Ok(Device {
            context,
            name,
            capability,
            multiprocessors,
        })
    }

    /// Allocates `bytes` of device memory, aligned to at least 256 bytes, each byte set to `value`.
    ///
    /// # Errors
    /// Out of memory, or what the driver says.
    pub fn allocate(&self, bytes: usize, value: u8) -> Result<Buffer, DriverError> {
        let api = &self.context.api;
        let mut address = 0;
        // SAFETY: the out-pointer is valid for the call. The driver refuses a size of zero.
        api.check("cuMemAlloc", unsafe {
            (api.allocate)(&mut address, bytes.max(1))
        })?;
        let buffer = Buffer {
            context: Rc::clone(&self.context),
            address,
            bytes,
        };
        buffer.fill(value)?;
        Ok(buffer)
    }

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

    /// Creates a stream that does not wait for the default stream.
    ///
    /// # Errors
    /// What the driver says.
    pub fn stream(&self) -> Result<Stream, DriverError> {
        let api = &self.context.api;
        let mut handle = ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call.
        api.check("cuStreamCreate", unsafe {
            (api.stream_create)(&mut handle, STREAM_NON_BLOCKING)
        })?;
        Ok(Stream {
            context: Rc::clone(&self.context),
            handle,
        })
    }

    /// Creates an event that records time.
    ///
    /// # Errors
    /// What the driver says.
    pub fn event(&self) -> Result<Event, DriverError> {
        let api = &self.context.api;
        let mut handle = ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call; 0 is the default, which keeps time.
        api.check("cuEventCreate", unsafe { (api.event_create)(&mut handle, 0) })?;
        Ok(Event {
            context: Rc::clone(&self.context),
            handle,
        })
    }
}

/// Device memory.
pub struct Buffer {
    context: Rc<Context>,
    address: Address,
    bytes: usize,
}

impl Buffer {
    /// The device address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Sets every byte, before anything launched later runs.
    ///
    /// # Errors
    /// What the driver says.
    pub fn fill(&self, value: u8) -> Result<(), DriverError> {
        if self.bytes == 0 {
            return Ok(());
        }
        let api = &self.context.api;
        // SAFETY: the range is this allocation.
        api.check("cuMemsetD8", unsafe {
            (api.fill)(self.address, value, self.bytes)
        })?;
        // A memset on the default stream is not ordered with other streams by itself.
        // SAFETY: the context is current on this thread.
        api.check("cuCtxSynchronize", unsafe { (api.synchronize)() })
    }

    /// Copies `data` to `offset`; it must fit.
    ///
    /// # Errors
    /// What the driver says, or that the data do not fit.
    pub fn write(&self, offset: usize, data: &[u8]) -> Result<(), DriverError> {
        if data.is_empty() {
            return Ok(());
        }
        if offset.checked_add(data.len()).is_none_or(|end| end > self.bytes) {
            return Err(DriverError::Call {
                call: "cuMemcpyHtoD",
                name: "CUDA_ERROR_INVALID_VALUE".to_owned(),
                text: format!("{} bytes do not fit at {offset} of {}", data.len(), self.bytes),
            });
        }
        let api = &self.context.api;
        // SAFETY: both ranges are valid for the whole length, as checked above; the call returns when it has copied.
        let copied = unsafe { (api.copy_in)(self.address + offset as u64, data.as_ptr().cast(), data.len()) };
        api.check("cuMemcpyHtoD", copied)
    }

    /// Copies the whole buffer to the host.
    ///
    /// # Errors
    /// What the driver says.
    pub fn read(&self) -> Result<Vec<u8>, DriverError> {
        let mut data = vec![0; self.bytes];
        if self.bytes > 0 {
            let api = &self.context.api;
            // SAFETY: both ranges are `self.bytes` long; the call returns when it has copied.
            let copied = unsafe { (api.copy_out)(data.as_mut_ptr().cast(), self.address, self.bytes) };
            api.check("cuMemcpyDtoH", copied)?;
        }
        Ok(data)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the allocation is this buffer's own; freeing waits for work that uses it.
        unsafe { (self.context.api.free)(self.address) };
    }
}

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
    /// The parameters must be those of the kernel's signature: neither this program nor the driver can tell. What a
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

/// A stream.
pub struct Stream {
    context: Rc<Context>,
    handle: Handle,
}

impl Stream {
    /// Records what `work` launches on this stream into a graph, without running it.
    ///
    /// # Errors
    /// What `work` or the driver says.
    pub fn capture<E: From<DriverError>>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<Graph, E> {
        let api = &self.context.api;
        // SAFETY: the stream is this object's and is not capturing: `capture` ends what it begins.
        let begun = unsafe { (api.capture_begin)(self.handle, CAPTURE_MODE_THREAD_LOCAL) };
        api.check("cuStreamBeginCapture", begun)?;
        let worked = work();
        let mut graph = ptr::null_mut();
        // SAFETY: the capture was begun above; the out-pointer is valid for the call.
        let ended = unsafe { (api.capture_end)(self.handle, &mut graph) };
        worked?;
        api.check("cuStreamEndCapture", ended)?;
        let mut handle = ptr::null_mut();
        // SAFETY: `graph` was captured above and is not used after it is destroyed; the instance does not need it.
        let made = unsafe {
            let made = (api.graph_instantiate)(&mut handle, graph, 0);
            (api.graph_destroy)(graph);
            made
        };
        api.check("cuGraphInstantiateWithFlags", made)?;
        Ok(Graph {
            context: Rc::clone(&self.context),
            handle,
        })
    }

    /// Waits for everything launched on this stream.
    ///
    /// # Errors
    /// What the driver says, for example an illegal address.
    pub fn synchronize(&self) -> Result<(), DriverError> {
        let api = &self.context.api;
        // SAFETY: the stream is this object's.
        api.check("cuStreamSynchronize", unsafe {
            (api.stream_synchronize)(self.handle)
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: the stream is this object's; the driver frees it once its work is done.
        unsafe { (self.context.api.stream_destroy)(self.handle) };
    }
}

/// A recorded sequence of launches.
pub struct Graph {
    context: Rc<Context>,
    handle: Handle,
}

impl Graph {
    /// Runs the recorded launches on `stream`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn launch(&self, stream: &Stream) -> Result<(), DriverError> {
        let api = &self.context.api;
        // SAFETY: both handles are alive.
        api.check("cuGraphLaunch", unsafe {
            (api.graph_launch)(self.handle, stream.handle)
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the instance is this object's.
        unsafe { (self.context.api.graph_exec_destroy)(self.handle) };
    }
}

/// A point in a stream, with its time.
pub struct Event {
    context: Rc<Context>,
    handle: Handle,
}

impl Event {
    /// Records the event after what `stream` holds now.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(&self, stream: &Stream) -> Result<(), DriverError> {
        let api = &self.context.api;
        // SAFETY: both handles are alive.
        api.check("cuEventRecord", unsafe {
            (api.event_record)(self.handle, stream.handle)
        })
    }

    /// Microseconds from `start` to this event, once this one has come to pass.
    ///
    /// # Errors
    /// What the driver says, including errors of the kernels in between.
    pub fn microseconds_since(&self, start: &Event) -> Result<f64, DriverError> {
        let api = &self.context.api;
        // SAFETY: the handle is alive.
        api.check("cuEventSynchronize", unsafe {
            (api.event_synchronize)(self.handle)
        })?;
        let mut milliseconds = 0.0;
        // SAFETY: the out-pointer is valid for the call and both handles are alive.
        let status = unsafe { (api.event_elapsed)(&mut milliseconds, start.handle, self.handle) };
        api.check("cuEventElapsedTime", status)?;
        Ok(f64::from(milliseconds) * 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is this object's.
        unsafe { (self.context.api.event_destroy)(self.handle) };
    }
}
