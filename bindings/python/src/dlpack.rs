//! The structs of DLPack 1.3, as `include/dlpack/dlpack.h` declares them, and the ownership of a tensor that was handed over.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use norma_runtime::{DeviceKey, Tensor};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The major version of the structs declared here. Minor versions add constants; major versions change layouts.
const MAJOR: u32 = 1;
/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
const READ_ONLY: u64 = 1;

const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const UNVERSIONED: &CStr = c"dltensor";
const USED_UNVERSIONED: &CStr = c"used_dltensor";
const EXCHANGE_API: &CStr = c"dlpack_exchange_api";

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Version {
    major: u32,
    minor: u32,
}

/// `DLManagedTensor`.
#[repr(C)]
struct UnversionedTensor {
    tensor: Tensor<'static>,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut UnversionedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub struct VersionedTensor {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut VersionedTensor)>,
    flags: u64,
    tensor: Tensor<'static>,
}

/// The callback by which an allocator reports an error.
type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI`: the functions that a type of tensors offers to callers that borrow a tensor for one call only.
/// Everything but the pointer to an older struct lives as long as the process.
#[repr(C)]
pub struct ExchangeApi {
    version: Version,
    previous: *const ExchangeApi,
    allocate:
        unsafe extern "C" fn(*mut Tensor<'_>, *mut *mut VersionedTensor, *mut c_void, SetError) -> c_int,
    _managed_from_object: unsafe extern "C" fn(*mut c_void, *mut *mut VersionedTensor) -> c_int,
    object_from_managed: unsafe extern "C" fn(*mut VersionedTensor, *mut *mut c_void) -> c_int,
    borrow: Option<unsafe extern "C" fn(*mut c_void, *mut Tensor<'static>) -> c_int>,
    current_stream: unsafe extern "C" fn(c_int, i32, *mut *mut c_void) -> c_int,
}

// SAFETY: the struct never changes, and DLPack allows its functions to be called from any thread that may run Python.
unsafe impl Sync for ExchangeApi {}

/// A tensor that was taken out of a capsule. Dropping it calls its deleter, which needs the interpreter.
pub enum Owned {
    Versioned(NonNull<VersionedTensor>),
    Unversioned(NonNull<Unversioned>),
}

/// Hides the layout of the struct that [`Owned`] points to.
pub struct Unversioned(UnversionedTensor);

impl Owned {
    /// Takes the tensor out of a capsule and marks the capsule as used.
    ///
    /// # Errors
    /// Why there is no tensor to take, as the end of a sentence that says what was expected.
    pub fn take(capsule: &Bound<'_, PyAny>) -> Result<Owned, String> {
        let pointer = capsule.as_ptr();
        // SAFETY: the object is a capsule; its pointer is read under the name that the capsule has, and the names are static.
        unsafe {
            let name = ffi::PyCapsule_GetName(pointer);
            let name = if name.is_null() { c"" } else { CStr::from_ptr(name) };
            let used = match name {
                _ if name == VERSIONED => USED_VERSIONED,
                _ if name == UNVERSIONED => USED_UNVERSIONED,
                _ if name == USED_VERSIONED || name == USED_UNVERSIONED => {
                    return Err("a capsule that was used before".to_owned());
                }
                _ => return Err(format!("a capsule named '{}'", name.to_string_lossy())),
            };
            let content = ffi::PyCapsule_GetPointer(pointer, name.as_ptr());
            if ffi::PyCapsule_SetName(pointer, used.as_ptr()) != 0 {
                ffi::PyErr_Clear();
                return Err("a capsule that cannot be marked as used".to_owned());
            }
            let owned = if used == USED_VERSIONED {
                NonNull::new(content.cast()).map(Owned::Versioned)
            } else {
                NonNull::new(content.cast()).map(Owned::Unversioned)
            };
            let owned = owned.ok_or("an empty capsule")?;
            match &owned {
                // A tensor of another major version: only the deleter, which dropping calls, is at the same place in its
                // struct.
                Owned::Versioned(tensor) if tensor.as_ref().version.major != MAJOR => {
                    let major = tensor.as_ref().version.major;
                    Err(format!("one of DLPack {major}, where {MAJOR} is understood"))
                }
                _ => Ok(owned),
            }
        }
    }

    /// The tensor; it is valid as long as `self` lives.
    pub fn tensor(&self) -> Tensor<'static> {
        // SAFETY: what `take` took lives until `self` is dropped.
        unsafe {
            match self {
                Owned::Versioned(owned) => owned.as_ref().tensor,
                Owned::Unversioned(owned) => owned.as_ref().0.tensor,
            }
        }
    }

    /// Whether the tensor's owner forbids writing to it.
    pub fn is_read_only(&self) -> bool {
        match self {
            // SAFETY: as above.
            Owned::Versioned(owned) => unsafe { owned.as_ref().flags & READ_ONLY != 0 },
            Owned::Unversioned(_) => false,
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the tensor was taken out of its capsule, so the capsule does not delete it; a deleter takes its own struct.
        unsafe {
            match self {
                Owned::Versioned(owned) => {
                    if let Some(deleter) = owned.as_ref().deleter {
                        deleter(owned.as_ptr());
                    }
                }
                Owned::Unversioned(owned) => {
                    if let Some(deleter) = owned.as_ref().0.deleter {
                        deleter(owned.as_ptr().cast());
                    }
                }
            }
        }
    }
}

impl ExchangeApi {
    /// The exchange API of a type, or `None` if the type has none.
    ///
    /// # Errors
    /// The exception that reading the attribute raises.
    pub fn of(kind: &Bound<'_, PyType>) -> PyResult<Option<&'static ExchangeApi>> {
        let Ok(capsule) = kind.getattr(pyo3::intern!(kind.py(), "__dlpack_c_exchange_api__")) else {
            return Ok(None);
        };
        // SAFETY: the name is checked; a capsule of that name holds such a struct. Its version and its pointer to an older
        // one never change, and it lives as long as the process.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), EXCHANGE_API.as_ptr()) == 0 {
                return Ok(None);
            }
            let content = ffi::PyCapsule_GetPointer(capsule.as_ptr(), EXCHANGE_API.as_ptr());
            let mut api = content.cast::<ExchangeApi>().cast_const();
            while !api.is_null() && (*api).version.major != MAJOR {
                api = (*api).previous;
            }
            Ok(api.as_ref())
        }
    }

    /// Borrows the tensor of an object of the type; it is valid as long as the object. `None` if the type cannot lend
    /// tensors.
    ///
    /// # Errors
    /// The exception that the type raises.
    pub fn borrow(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor<'static>>> {
        let Some(borrow) = self.borrow else {
            return Ok(None);
        };
        let mut tensor = std::mem::MaybeUninit::uninit();
        // SAFETY: the object is of the type that offers this function; the out-pointer is valid for the call, which fills it
        // unless it fails.
        unsafe {
            match borrow(object.as_ptr().cast(), tensor.as_mut_ptr()) {
                0 => Ok(Some(tensor.assume_init())),
                _ => Err(PyErr::fetch(object.py())),
            }
        }
    }

    /// The framework's current stream on a device.
    ///
    /// # Errors
    /// The exception that the type raises.
    pub fn current_stream(&self, py: Python<'_>, device: DeviceKey) -> PyResult<*mut c_void> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call.
        match unsafe { (self.current_stream)(device.kind, device.ordinal, &mut stream) } {
            0 => Ok(stream),
            _ => Err(PyErr::fetch(py)),
        }
    }

    /// Allocates a dense tensor of the type, with the prototype's element type, shape and device.
    ///
    /// # Errors
    /// The exception that the type raises, for example if memory is exhausted.
    pub fn allocate<'py>(&self, py: Python<'py>, prototype: &mut Tensor<'_>) -> PyResult<Bound<'py, PyAny>> {
        let mut failure = Failure::default();
        let (mut managed, mut object) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the out-pointers and the prototype are valid for the calls; the allocated tensor is passed on, and the
        // returned object is a new reference.
        unsafe {
            let context = (&raw mut failure).cast();
            if (self.allocate)(prototype, &mut managed, context, Failure::set) != 0 {
                let text = failure.0.unwrap_or_else(|| "the allocator failed".to_owned());
                return Err(PyErr::take(py).unwrap_or_else(|| pyo3::exceptions::PyMemoryError::new_err(text)));
            }
            if (self.object_from_managed)(managed, &mut object) != 0 {
                return Err(PyErr::fetch(py));
            }
            Bound::from_owned_ptr_or_err(py, object.cast())
        }
    }
}

/// The message of an allocator's error.
#[derive(Default)]
struct Failure(Option<String>);

impl Failure {
    /// # Safety
    /// `context` points to a `Failure`, and the texts end in null bytes.
    unsafe extern "C" fn set(context: *mut c_void, _kind: *const c_char, message: *const c_char) {
        // SAFETY: passed on to the caller.
        unsafe {
            let failure = &mut *context.cast::<Failure>();
            failure.0 = Some(CStr::from_ptr(message).to_string_lossy().into_owned());
        }
    }
}
