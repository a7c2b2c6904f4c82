//! Bundles and their functions.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::slice;
use std::sync::Arc;

use super::status::{Failure, NormaStatus, status};
use crate::bundle::{Bundle, Files};
use crate::driver::{Driver, StreamHandle};
use crate::everywhere::FunctionEverywhere;
use crate::tensor::{Scalar, Tensor};

/// A bundle.
pub struct NormaBundle(Arc<Bundle>);

/// A function of a bundle, on whichever device its tensors are. It may be launched from any thread.
pub struct NormaFunction(FunctionEverywhere);

/// A file of a bundle in memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NormaFile {
    /// Its path from the bundle's folder, such as `manifest.json` or `sm_90a/manifest.json`.
    pub path: *const c_char,
    /// Its bytes, which must stay as long as the bundle and its functions do.
    pub bytes: *const u8,
    /// The number of bytes.
    pub size: usize,
}

/// How a scalar's value is given.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormaScalarKind {
    /// The default that the function's author wrote.
    Default = 0,
    /// `value.number`; a scalar of an integer type accepts it if it is whole. One of type f32 rounds it, and refuses a finite number that
    /// would become infinite and one other than 0 that would become 0.
    Float = 1,
    /// `value.integer`; a scalar of a float type rounds it, and one of an integer type accepts it if it fits.
    Integer = 2,
}

/// A number, whose field is selected by the kind beside it.
#[repr(C)]
#[derive(Clone, Copy)]
pub union NormaNumber {
    /// For `Float`.
    pub number: f64,
    /// For `Integer`.
    pub integer: i64,
}

/// The value of a named scalar of a function.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NormaScalar {
    /// A `norma_scalar_kind`.
    pub kind: u32,
    /// The value, unless the kind is `Default`.
    pub value: NormaNumber,
}

/// The target of a pointer, or an error if it is null.
///
/// # Safety
/// The pointer is null or valid for as long as the result is used.
pub(super) unsafe fn given<'a, T>(pointer: *const T, absent: &'static str) -> Result<&'a T, Failure> {
    // SAFETY: passed on to the caller.
    unsafe { pointer.as_ref() }.ok_or(Failure::Argument(absent))
}

/// The elements that a pointer points to.
///
/// # Safety
/// The pointer is valid for `count` elements for as long as the result is used, or `count` is 0.
pub(super) unsafe fn elements<'a, T>(
    pointer: *const T,
    count: usize,
    absent: &'static str,
) -> Result<&'a [T], Failure> {
    match (count, pointer.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(Failure::Argument(absent)),
        // SAFETY: passed on to the caller.
        (_, false) => Ok(unsafe { slice::from_raw_parts(pointer, count) }),
    }
}

/// A string.
///
/// # Safety
/// The pointer is null or points to a null-terminated string, for as long as the result is used.
pub(super) unsafe fn text<'a>(pointer: *const c_char, absent: &'static str) -> Result<&'a str, Failure> {
    // SAFETY: passed on to the caller.
    unsafe { given(pointer, absent) }?;
    // SAFETY: the same, and the pointer is not null.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str()
        .map_err(|_| Failure::Argument("expected a text in UTF-8"))
}

/// Stores the result of a call.
///
/// # Safety
/// The pointer is null or valid for a write.
unsafe fn store<T>(out: *mut *mut T, value: impl FnOnce() -> Result<T, Failure>) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::Argument("expected a place for the result, got null"));
    }
    let value = value()?;
    // SAFETY: passed on to the caller.
    unsafe { *out = Box::into_raw(Box::new(value)) };
    Ok(())
}

/// Creates a bundle of these files.
///
/// # Safety
/// The files' paths and bytes are valid, the bytes for as long as the bundle is used.
pub(super) unsafe fn bundle_of(files: &[NormaFile]) -> Result<Arc<Bundle>, Failure> {
    let mut found = Files::new();
    for file in files {
        // SAFETY: passed on to the caller.
        let (path, bytes) = unsafe {
            let path = text(file.path, "expected a path for each file, got null")?;
            (
                path,
                elements(file.bytes, file.size, "expected bytes for each file, got null")?,
            )
        };
        found.insert(path.to_owned(), Cow::Borrowed(bytes));
    }
    Ok(Arc::new(Bundle::from_files(found)?))
}

impl NormaFunction {
    /// Returns the function with this name.
    pub(super) fn of(bundle: &Arc<Bundle>, name: &str) -> Result<Self, Failure> {
        Ok(NormaFunction(FunctionEverywhere::new(
            bundle,
            &Driver::shared()?,
            name,
        )?))
    }

    /// Loads the function on a device.
    pub(super) fn load(&self, device: i32) -> Result<(), Failure> {
        let ordinal = u32::try_from(device)
            .map_err(|_| Failure::Argument("expected a device of at least 0, got a negative number"))?;
        self.0.on(ordinal)?;
        Ok(())
    }

    /// Launches the function.
    ///
    /// # Safety
    /// As [`norma_function_launch`].
    pub(super) unsafe fn launch(&self, arguments: &Arguments) -> Result<(), Failure> {
        // SAFETY: passed on to the caller.
        let (tensors, scalars) = unsafe {
            (
                elements(
                    arguments.tensors,
                    arguments.tensor_count,
                    "expected tensors, got null",
                )?,
                elements(
                    arguments.scalars,
                    arguments.scalar_count,
                    "expected scalars, got null",
                )?,
            )
        };
        if tensors.iter().any(|tensor| tensor.is_null()) {
            return Err(Failure::Argument("expected a tensor, got null"));
        }
        // SAFETY: none is null, which leaves references to tensors that the caller vouches for.
        let tensors = unsafe { slice::from_raw_parts(tensors.as_ptr().cast::<&Tensor<'_>>(), tensors.len()) };
        let stream = StreamHandle::from_raw(arguments.stream);
        SCALARS.with_borrow_mut(|taken| {
            taken.clear();
            for scalar in scalars {
                taken.push(scalar.take()?);
            }
            // SAFETY: passed on to the caller.
            Ok(unsafe { self.0.launch(tensors, taken, stream) }?)
        })
    }
}

thread_local! {
    /// The scalars of this thread's current call; the buffer is reused across calls.
    static SCALARS: RefCell<Vec<Scalar>> = const { RefCell::new(Vec::new()) };
}

/// The arguments of a launch, as C passes them.
pub(super) struct Arguments {
    pub(super) tensors: *const *const Tensor<'static>,
    pub(super) tensor_count: usize,
    pub(super) scalars: *const NormaScalar,
    pub(super) scalar_count: usize,
    pub(super) stream: *mut c_void,
}

impl NormaScalar {
    fn take(&self) -> Result<Scalar, Failure> {
        const FLOAT: u32 = NormaScalarKind::Float as u32;
        const INTEGER: u32 = NormaScalarKind::Integer as u32;
        match self.kind {
            0 => Ok(Scalar::Default),
            // SAFETY: the kind says which of the fields it is, and any bits are a number.
            FLOAT => Ok(Scalar::Float(unsafe { self.value.number })),
            // SAFETY: as above.
            INTEGER => Ok(Scalar::Integer(unsafe { self.value.integer })),
            _ => Err(Failure::Argument("expected a scalar of a known kind")),
        }
    }
}

/// Opens the bundle in a folder: a bundle of one target, or one with a subfolder per target. Close it with
/// `norma_bundle_close`.
///
/// # Safety
/// `folder` is null or a null-terminated string, `bundle` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_bundle_open(
    folder: *const c_char,
    bundle: *mut *mut NormaBundle,
) -> NormaStatus {
    status(|| {
        // SAFETY: passed on to the caller.
        unsafe {
            let folder = text(folder, "expected a folder, got null")?;
            store(bundle, || {
                Ok(NormaBundle(Arc::new(Bundle::open(Path::new(folder))?)))
            })
        }
    })
}

/// Creates a bundle from memory, laid out as in a folder. Close it with `norma_bundle_close`.
///
/// # Safety
/// `files` is valid for `count` files, their bytes for as long as the bundle or a function of it is used, and `bundle` is null
/// or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_bundle_from_memory(
    files: *const NormaFile,
    count: usize,
    bundle: *mut *mut NormaBundle,
) -> NormaStatus {
    status(|| {
        // SAFETY: passed on to the caller.
        unsafe {
            let files = elements(files, count, "expected files, got null")?;
            store(bundle, || Ok(NormaBundle(bundle_of(files)?)))
        }
    })
}

/// Sets whether functions that are got from a bundle after this call may run by PTX on devices that no cubin fits; the driver
/// then compiles the PTX when a function is loaded. The default is not to. `normac --ptx-fallback` writes bundles that have
/// PTX.
///
/// # Safety
/// `bundle` is null or open, and no other call uses it at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_bundle_allow_ptx(bundle: *mut NormaBundle, allows_ptx: bool) -> NormaStatus {
    status(|| {
        // SAFETY: passed on to the caller.
        let bundle = unsafe { bundle.as_mut() }.ok_or(Failure::Argument("expected a bundle, got null"))?;
        Arc::make_mut(&mut bundle.0).allow_ptx(allows_ptx);
        Ok(())
    })
}

/// Closes a bundle; its functions stay valid. Null is ignored.
///
/// # Safety
/// `bundle` is null or has not been closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_bundle_close(bundle: *mut NormaBundle) {
    if !bundle.is_null() {
        // SAFETY: the bundle was boxed when it was made, and is not used any more.
        drop(unsafe { Box::from_raw(bundle) });
    }
}

/// Finds a function of a bundle. It is loaded on a device when it is first launched there, or by `norma_function_load`. Free
/// it with `norma_function_free`.
///
/// # Safety
/// `bundle` is null or open, `name` null or a null-terminated string, `function` null or valid for a write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_function_get(
    bundle: *const NormaBundle,
    name: *const c_char,
    function: *mut *mut NormaFunction,
) -> NormaStatus {
    status(|| {
        // SAFETY: passed on to the caller.
        unsafe {
            let bundle = given(bundle, "expected a bundle, got null")?;
            let name = text(name, "expected a function's name, got null")?;
            store(function, || NormaFunction::of(&bundle.0, name))
        }
    })
}

/// Frees a function, its loaded code, and its scratch memory. Null is ignored.
///
/// # Safety
/// `function` is null or has not been freed; its launches have completed, and graphs that captured it are not launched again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_function_free(function: *mut NormaFunction) {
    if !function.is_null() {
        // SAFETY: the function was boxed when it was made, and is not used any more.
        drop(unsafe { Box::from_raw(function) });
    }
}

/// Loads a function on the device with this ordinal, so that the first launch there does not have to.
///
/// # Safety
/// `function` is null or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_function_load(function: *const NormaFunction, device: i32) -> NormaStatus {
    // SAFETY: passed on to the caller.
    status(|| unsafe { given(function, "expected a function, got null") }?.load(device))
}

/// Checks the arguments of a call and launches the function's kernels on a stream: a `CUstream` or `cudaStream_t`, null for
/// the default stream. `tensors` are the inputs, then the outputs. `scalars` are the function's named scalars in order;
/// trailing ones, or all, may be left out. If anything is refused, nothing is launched. On a stream that is capturing, the
/// launches are recorded.
///
/// # Safety
/// `tensors` is valid for `tensor_count` pointers, `scalars` for `scalar_count`; each tensor's shape and strides are as long
/// as its rank. From first to last element, the tensors lie in memory that the device can access until the kernels have
/// completed. Until then nothing else writes this memory, or reads that of outputs. `stream` is a stream of the primary
/// context of the tensors' device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_function_launch(
    function: *const NormaFunction,
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
    status(|| unsafe { given(function, "expected a function, got null")?.launch(&arguments) })
}

/// Frees the scratch memory of a function's calls on a stream, and of captures on it, before the function is freed.
///
/// # Safety
/// `function` is null or has not been freed; `stream` is a stream of that device's primary context, launches on it have
/// completed, and graphs captured on it, or on an earlier stream that had the same handle, are not launched again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn norma_function_release_scratch(
    function: *const NormaFunction,
    device: i32,
    stream: *mut c_void,
) -> NormaStatus {
    status(|| {
        // SAFETY: passed on to the caller.
        let function = unsafe { given(function, "expected a function, got null") }?;
        let ordinal = u32::try_from(device)
            .map_err(|_| Failure::Argument("expected a device of at least 0, got a negative number"))?;
        // SAFETY: passed on to the caller.
        Ok(unsafe {
            function
                .0
                .release_scratch(ordinal, StreamHandle::from_raw(stream))
        }?)
    })
}
