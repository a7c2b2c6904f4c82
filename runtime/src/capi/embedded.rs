//! Functions embedded in a program together with their bundles: the calls that objects of `normac --emit=object` make.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::function::{Arguments, NormaFile, NormaFunction, NormaScalar, bundle_of, elements, text};
use super::status::{Failure, NormaStatus, status};
use crate::tensor::Tensor;

/// The version of the layout of [`NormaEmbedded`] and of everything it points to.
const ABI: u32 = 1;

/// A function and its bundle, in a program's static memory.
#[repr(C)]
pub struct NormaEmbedded {
    /// 1, the version of this struct.
    pub abi: u32,
    /// The number of files.
    pub file_count: u32,
    /// The bundle's files.
    pub files: *const NormaFile,
    /// The function's name.
    pub name: *const c_char,
    /// Null at first; the runtime stores the loaded function here.
    pub function: *mut NormaFunction,
}

/// A function that was found or created.
struct Found<'a> {
    function: &'a NormaFunction,
    is_new: bool,
}

/// A function that was created by an earlier call.
fn known(function: &NormaFunction) -> Found<'_> {
    Found {
        function,
        is_new: false,
    }
}

/// Returns the function, which is created by the first call and stays for as long as the program runs.
///
/// # Safety
/// `embedded` is null, or static and as [`NormaEmbedded`] says.
unsafe fn function<'a>(embedded: *mut NormaEmbedded) -> Result<&'a NormaFunction, Failure> {
    // SAFETY: passed on to the caller.
    unsafe { find_or_create(embedded, false) }.map(|found| found.function)
}

/// Returns the function, or creates it, with leave to run by PTX if `allows_ptx`.
///
/// # Safety
/// As for [`function`].
unsafe fn find_or_create<'a>(embedded: *mut NormaEmbedded, allows_ptx: bool) -> Result<Found<'a>, Failure> {
    static MAKING: Mutex<()> = Mutex::new(());
    if embedded.is_null() {
        return Err(Failure::Argument("expected an embedded function, got null"));
    }
    // No reference to the struct is made, because another thread may write its last field meanwhile.
    // SAFETY: passed on to the caller; the fields that are read never change.
    let (abi, file_count, files, name) = unsafe {
        (
            (*embedded).abi,
            (*embedded).file_count,
            (*embedded).files,
            (*embedded).name,
        )
    };
    if abi != ABI {
        return Err(Failure::Argument(
            "expected an object of this version of the runtime, compile it by the normac that came with it",
        ));
    }
    // SAFETY: the field is written by this function alone, which always does so as an atomic.
    let place = unsafe { AtomicPtr::from_ptr(&raw mut (*embedded).function) };
    // SAFETY: a non-null pointer refers to a function that was leaked below.
    if let Some(function) = unsafe { place.load(Ordering::Acquire).as_ref() } {
        return Ok(known(function));
    }
    let _turn = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: as above.
    if let Some(function) = unsafe { place.load(Ordering::Acquire).as_ref() } {
        return Ok(known(function));
    }
    // SAFETY: passed on to the caller.
    let made = unsafe {
        let files = elements(files, file_count as usize, "expected files, got null")?;
        let mut bundle = bundle_of(files)?;
        Arc::make_mut(&mut bundle).allow_ptx(allows_ptx);
        NormaFunction::of(&bundle, text(name, "expected a name, got null")?)?
    };
    let made = Box::leak(Box::new(made));
    place.store(ptr::from_mut(made), Ordering::Release);
    Ok(Found {
        function: made,
        is_new: true,
    })
}

/// Lets an embedded function run by PTX on devices that no cubin fits; the driver compiles the PTX when the function is loaded.
/// Call this before the function is loaded or launched anywhere. `normac --ptx-fallback` writes objects that have PTX.
///
/// # Safety
/// `embedded` belongs to an object written by `normac`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_embedded_allow_ptx(embedded: *mut NormaEmbedded) -> NormaStatus {
    status(|| {
        // SAFETY: passed on to the caller.
        match unsafe { find_or_create(embedded, true) }? {
            Found { is_new: true, .. } => Ok(()),
            Found { .. } => Err(Failure::Argument(
                "expected to allow PTX once, before the function is loaded or launched, got a function in use",
            )),
        }
    })
}

/// Loads an embedded function on the device with this ordinal, so that the first launch there does not have to.
///
/// # Safety
/// `embedded` belongs to an object written by `normac`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_embedded_load(embedded: *mut NormaEmbedded, device: i32) -> NormaStatus {
    // SAFETY: passed on to the caller.
    status(|| unsafe { function(embedded) }?.load(device))
}

/// Launches an embedded function, as `norma_function_launch` does.
///
/// # Safety
/// `embedded` belongs to an object written by `normac`; the rest as for `norma_function_launch`.
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
