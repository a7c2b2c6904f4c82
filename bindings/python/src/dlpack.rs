//! DLPack's structs, as version 1.3 declares them in `include/dlpack/dlpack.h`, and what owns a tensor that was handed over.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;

use norma_runtime::{DeviceKey, Tensor};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// The version of the structs here. Minor versions add numbers, major ones change layouts.
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

/// The callback by which an allocator says what went wrong.
type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPI`: what a type of tensors offers to those who only borrow one for a call. All but the pointer to an
/// older one lives as long as the process.
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

// SAFETY: nothing in it changes, and DLPack has its functions called from any thread that may run Python.
unsafe impl Sync for ExchangeApi {}

/// A tensor that a capsule held. It is given back when this is dropped, which needs the interpreter.
pub enum Owned {
    Versioned(NonNull<VersionedTensor>),
    Unversioned(NonNull<Unversioned>),
}

/// Hides the layout of what [`Owned`] points to.
pub struct Unversioned(UnversionedTensor);

impl Owned {
    /// Takes the tensor out of a capsule, which is marked as used.
    ///
    /// # Errors
    /// Why there is none to take, as the end of a sentence that says what was expected.
    pub fn take(capsule: &Bound<'_, PyAny>) -> Result<Owned, String> {
        let pointer = capsule.as_ptr();
        // SAFETY: the object is a capsule; a pointer is read under the name that the capsule has, and names are static.
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
                // Only the deleter is where it was, which dropping calls.
                Owned::Versioned(tensor) if tensor.as_ref().version.major != MAJOR => {
                    let major = tensor.as_ref().version.major;
                    Err(format!("one of DLPack {major}, where {MAJOR} is understood"))
                }
                _ => Ok(owned),
            }
        }
    }

    /// The tensor, for as long as this lives.
    pub fn tensor(&self) -> Tensor<'static> {
        // SAFETY: what `take` took stays until this is dropped.
        unsafe {
            match self {
                Owned::Versioned(owned) => owned.as_ref().tensor,
                Owned::Unversioned(owned) => owned.as_ref().0.tensor,
            }
        }
    }

    /// Whether its owner forbids writing to it.
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
        // SAFETY: the tensor was taken out of its capsule, which no longer gives it back; a deleter takes its own struct.
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
    /// What a type offers, if it offers this.
    ///
    /// # Errors
    /// What reading the attribute raises.
    pub fn of(kind: &Bound<'_, PyType>) -> PyResult<Option<&'static ExchangeApi>> {
        let Ok(capsule) = kind.getattr(pyo3::intern!(kind.py(), "__dlpack_c_exchange_api__")) else {
            return Ok(None);
        };
        // SAFETY: the name is checked; what a capsule of that name holds is such a struct, of which the version and the pointer
        // to an older one never change, and which lives as long as the process.
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

    /// The tensor that an object of the type is; it is the object's, and lives no longer. `None` if the type lacks this.
    ///
    /// # Errors
    /// What the type raises.
    pub fn borrow(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<Tensor<'static>>> {
        let Some(borrow) = self.borrow else {
            return Ok(None);
        };
        let mut tensor = std::mem::MaybeUninit::uninit();
        // SAFETY: the object is of the type that offers this; the out-pointer is valid for the call, which fills it unless it
        // fails.
        unsafe {
            match borrow(object.as_ptr().cast(), tensor.as_mut_ptr()) {
                0 => Ok(Some(tensor.assume_init())),
                _ => Err(PyErr::fetch(object.py())),
            }
        }
    }

    /// The stream that the type's own work on a device goes to.
    ///
    /// # Errors
    /// What the type raises.
    pub fn current_stream(&self, py: Python<'_>, device: DeviceKey) -> PyResult<*mut c_void> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the out-pointer is valid for the call.
        match unsafe { (self.current_stream)(device.kind, device.ordinal, &mut stream) } {
            0 => Ok(stream),
            _ => Err(PyErr::fetch(py)),
        }
    }

    /// A new tensor as the type allocates it, dense, of a prototype's type and shape and on its device.
    ///
    /// # Errors
    /// What the type raises, such as that memory is out.
    pub fn allocate<'py>(&self, py: Python<'py>, prototype: &mut Tensor<'_>) -> PyResult<Bound<'py, PyAny>> {
        let mut failure = Failure::default();
        let (mut managed, mut object) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the out-pointers are valid for the calls, and so is the prototype; what was allocated is handed on, and the
        // object that comes back is a new reference.
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

/// What an allocator said went wrong.
#[derive(Default)]
struct Failure(Option<String>);

impl Failure {
    /// # Safety
    /// `context` is a `Failure`, and the texts end in null bytes.
    unsafe extern "C" fn set(context: *mut c_void, _kind: *const c_char, message: *const c_char) {
        // SAFETY: passed on to the caller.
        unsafe {
            let failure = &mut *context.cast::<Failure>();
            failure.0 = Some(CStr::from_ptr(message).to_string_lossy().into_owned());
        }
    }
}
