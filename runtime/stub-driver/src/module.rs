//! Modules, kernels, and their launches.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use norma_bundle::{Cubin, ptx};

use crate::record::{self, LaunchRecord};
use crate::{
    CAPTURE_UNSUPPORTED, CTAS_PER_MULTIPROCESSOR, INVALID_CLUSTER_SIZE, INVALID_CONTEXT, INVALID_IMAGE,
    INVALID_VALUE, LARGEST_BLOCK, LARGEST_SHARED, NOT_FOUND, PORTABLE_CLUSTER, SUCCESS, Status,
    THREADS_OF_CLUSTER, context, during, stream,
};

const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;
const NON_PORTABLE_CLUSTER: c_int = 14;
const CLUSTER_DIMENSION: c_uint = 4;
const PROGRAMMATIC_STREAM_SERIALIZATION: c_uint = 6;
/// The first bytes of a cubin.
const ELF: &[u8] = b"\x7fELF";
/// The first bytes of PTX from LLVM, which begins with a comment.
const PTX: &[u8] = b"//";
/// The limit of dynamic shared memory before a larger one is set, in bytes.
const DEFAULT_SHARED: c_int = 48 * 1024;

/// A cubin or PTX that was loaded, with the kernels that were looked up.
struct Module {
    device: usize,
    image: Vec<u8>,
    kernels: Vec<*mut Kernel>,
}

struct Kernel {
    symbol: String,
    device: usize,
    parameter_bytes: Vec<u32>,
    allowed_shared: AtomicI32,
    allows_large_clusters: AtomicBool,
}

/// `CUlaunchAttribute`.
#[repr(C, align(8))]
struct Attribute {
    id: c_uint,
    padding: [u8; 4],
    value: [u32; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: *mut c_void,
    attributes: *const Attribute,
    attribute_count: c_uint,
}

/// The size of a 64-bit ELF image in bytes, computed from the positions of its tables in the header.
///
/// # Safety
/// The image is complete.
unsafe fn elf_bytes(image: *const u8) -> usize {
    // SAFETY: passed on to the caller; the header takes 64 bytes.
    let header = unsafe { slice::from_raw_parts(image, 64) };
    let number = |at: usize, bytes: usize| {
        let field = header[at..at + bytes].iter().rev();
        field.fold(0usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let segments = number(32, 8) + number(54, 2) * number(56, 2);
    let sections = number(40, 8) + number(58, 2) * number(60, 2);
    segments.max(sections)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleLoadData(out: *mut *mut c_void, image: *const c_void) -> Status {
    let Some(device) = context::current() else {
        return INVALID_CONTEXT;
    };
    if stream::forbids_waiting() {
        return CAPTURE_UNSUPPORTED;
    }
    during::begin("cuModuleLoadData");
    let image = image.cast::<u8>();
    // SAFETY: `cuda.h`'s contract: an ELF image states its size and is complete, and anything else is a null-terminated
    // string.
    let bytes = unsafe {
        if CStr::from_ptr(image.cast()).to_bytes().starts_with(ELF) {
            slice::from_raw_parts(image, elf_bytes(image))
        } else {
            CStr::from_ptr(image.cast()).to_bytes()
        }
    };
    if !bytes.starts_with(ELF) && !bytes.starts_with(PTX) {
        return INVALID_IMAGE;
    }
    let module = Module {
        device,
        image: bytes.to_vec(),
        kernels: Vec::new(),
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = Box::into_raw(Box::new(module)).cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleUnload(handle: *mut c_void) -> Status {
    // SAFETY: the module came from `cuModuleLoadData`.
    let module = unsafe { Box::from_raw(handle.cast::<Module>()) };
    if context::current() != Some(module.device) {
        return INVALID_CONTEXT;
    }
    for kernel in &module.kernels {
        // SAFETY: the kernels came from `cuModuleGetFunction`, and go with their module.
        drop(unsafe { Box::from_raw(*kernel) });
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleGetFunction(
    out: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> Status {
    // SAFETY: `cuda.h`'s contract; the module came from `cuModuleLoadData`.
    let (module, name) = unsafe { (&mut *module.cast::<Module>(), CStr::from_ptr(name)) };
    let symbol = name.to_string_lossy().into_owned();
    let parameters = match module.image.starts_with(ELF) {
        true => {
            let cubin = Cubin::parse(&module.image);
            cubin.and_then(|cubin| cubin.parameters(&symbol)).ok()
        }
        false => ptx::parameters(&String::from_utf8_lossy(&module.image), &symbol),
    };
    let Some(parameter_bytes) = parameters else {
        return NOT_FOUND;
    };
    let kernel = Box::into_raw(Box::new(Kernel {
        symbol,
        device: module.device,
        parameter_bytes,
        allowed_shared: AtomicI32::new(DEFAULT_SHARED),
        allows_large_clusters: AtomicBool::new(false),
    }));
    module.kernels.push(kernel);
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = kernel.cast() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuFuncSetAttribute(
    kernel: *mut c_void,
    attribute: c_int,
    value: c_int,
) -> Status {
    // SAFETY: the kernel came from `cuModuleGetFunction`.
    let kernel = unsafe { &*kernel.cast::<Kernel>() };
    if attribute == MAX_DYNAMIC_SHARED_BYTES {
        if value > LARGEST_SHARED as c_int {
            return INVALID_VALUE;
        }
        kernel.allowed_shared.store(value, Ordering::Relaxed);
    }
    if attribute == NON_PORTABLE_CLUSTER {
        kernel.allows_large_clusters.store(value == 1, Ordering::Relaxed);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    out: *mut c_int,
    _kernel: *mut c_void,
    threads: c_int,
    _shared_bytes: usize,
) -> Status {
    let count = match threads > LARGEST_BLOCK as c_int {
        true => 0,
        false => CTAS_PER_MULTIPROCESSOR,
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { *out = count as c_int };
    SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuLaunchKernelEx(
    config: *const Config,
    kernel: *mut c_void,
    parameters: *const *const c_void,
    _extra: *const *const c_void,
) -> Status {
    // SAFETY: `cuda.h`'s contract; the kernel came from `cuModuleGetFunction`.
    let (config, kernel) = unsafe { (&*config, &*kernel.cast::<Kernel>()) };
    if context::current() != Some(kernel.device) {
        return INVALID_CONTEXT;
    }
    let shared = i64::from(config.shared_bytes);
    if config.grid.contains(&0) || shared > i64::from(kernel.allowed_shared.load(Ordering::Relaxed)) {
        return INVALID_VALUE;
    }
    let attributes = match config.attribute_count {
        0 => &[],
        // SAFETY: `cuda.h`'s contract: the configuration gives the number of attributes.
        count => unsafe { slice::from_raw_parts(config.attributes, count as usize) },
    };
    let find = |id: c_uint| attributes.iter().find(|attribute| attribute.id == id);
    let cluster = find(CLUSTER_DIMENSION).map_or([1, 1, 1], |attribute| {
        let [x, y, z, ..] = attribute.value;
        [x, y, z]
    });
    let ctas = cluster.iter().product::<c_uint>();
    let is_allowed = ctas <= PORTABLE_CLUSTER || kernel.allows_large_clusters.load(Ordering::Relaxed);
    if !is_allowed || ctas * config.block.iter().product::<c_uint>() > THREADS_OF_CLUSTER {
        return INVALID_CLUSTER_SIZE;
    }
    if !record::is_recording() {
        return SUCCESS;
    }
    let sizes = kernel.parameter_bytes.iter().enumerate();
    // SAFETY: `cuda.h`'s contract: the kernel gives the number of parameters and their sizes.
    let parameter = |(index, size): (usize, &u32)| unsafe {
        let bytes = (*parameters.add(index)).cast::<u8>();
        slice::from_raw_parts(bytes, *size as usize).to_vec()
    };
    let parameters = sizes.map(parameter).collect();
    // SAFETY: `cuda.h`'s contract.
    let number = unsafe { stream::number(config.stream) };
    let launch = LaunchRecord {
        symbol: kernel.symbol.clone(),
        device: kernel.device,
        stream: number,
        grid: config.grid,
        block: config.block,
        cluster,
        shared_bytes: config.shared_bytes,
        programmatic: find(PROGRAMMATIC_STREAM_SERIALIZATION)
            .is_some_and(|attribute| attribute.value[0] == 1),
        parameters,
    };
    // SAFETY: `cuda.h`'s contract.
    unsafe { stream::launch(config.stream, launch) }
}
