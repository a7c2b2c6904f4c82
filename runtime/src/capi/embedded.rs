//! Functions that a program holds with their bundles: what the objects that `normac --emit=object` makes call.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use super::function::{Arguments, NormaFile, NormaFunction, NormaScalar, bundle_of, elements, given, text};
use super::status::{Failure, NormaStatus, status};
use crate::tensor::Tensor;

/// The layout of [`NormaEmbedded`] and of all that it leads to.
const ABI: u32 = 1;

/// A function and its bundle, in a program's static memory.
#[repr(C)]
pub struct NormaEmbedded {
    /// 1, the version of this struct.
    pub abi: u32,
    /// How many files there are.
    pub file_count: u32,
    /// The bundle's files.
    pub files: *const NormaFile,
    /// The function's name.
    pub name: *const c_char,
    /// Null; the runtime keeps the function here once it is in use.
    pub function: *mut NormaFunction,
}

/// The function, made when it is first asked for. It stays for as long as the program runs.
///
/// # Safety
/// `embedded` is null, or static and as [`NormaEmbedded`] says.
unsafe fn function<'a>(embedded: *mut NormaEmbedded) -> Result<&'a NormaFunction, Failure> {
    static MAKING: Mutex<()> = Mutex::new(());
    // SAFETY: passed on to the caller.
    let found = unsafe { given(embedded, "expected an embedded function, got null") }?;
    if found.abi != ABI {
        return Err(Failure::Argument(
            "expected an object of this version of the runtime, compile it by the normac that came with it",
        ));
    }
    // SAFETY: the field is written by this function alone, which always does so as an atomic.
    let place = unsafe { AtomicPtr::from_ptr(&raw mut (*embedded).function) };
    // SAFETY: what is there was leaked below.
    if let Some(function) = unsafe { place.load(Ordering::Acquire).as_ref() } {
        return Ok(function);
    }
    let _turn = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as above.
    if let Some(function) = unsafe { place.load(Ordering::Acquire).as_ref() } {
        return Ok(function);
    }
    // SAFETY: passed on to the caller.
    let made = unsafe {
        let files = elements(found.files, found.file_count as usize, "expected files, got null")?;
        NormaFunction::of(&bundle_of(files)?, text(found.name, "expected a name, got null")?)?
    };
    let made = Box::leak(Box::new(made));
    place.store(ptr::from_mut(made), Ordering::Release);
    Ok(made)
}

/// Loads an embedded function on a device, by the driver's number of it, so that the first launch there need not.
///
/// # Safety
/// `embedded` is what an object of `normac` holds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_embedded_load(embedded: *mut NormaEmbedded, device: i32) -> NormaStatus {
    // SAFETY: passed on to the caller.
    status(|| unsafe { function(embedded) }?.load(device))
}

/// Launches an embedded function, as `norma_function_launch` does.
///
/// # Safety
/// `embedded` is what an object of `normac` holds; the rest as for `norma_function_launch`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_embedded_launch(
    embedded: *mut NormaEmbedded,
    tensors: *const *const Tensor<'static>,
    tensor_count: usize,
    scalars: *const NormaScalar,
    scalar_count: usize,
    stream: *mut c_void,
) -> NormaStatus {
    let arguments = Arguments {
        tensors,
        tensor_count,
        scalars,
        scalar_count,
        stream,
    };
    // SAFETY: passed on to the caller.
    status(|| unsafe { function(embedded)?.launch(&arguments) })
}
