//! Assembles PTX with NVIDIA's PTX compiler library, which is statically linked: like `ptxas`, but without a child process.
//!
//! The declarations follow `nvPTXCompiler.h` of CUDA 13.0.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;

use super::cubin::{line_info, refusal, with_log};
use crate::error::{Error, Result};
use crate::target::Target;

#[repr(C)]
struct Opaque {
    _private: [u8; 0],
}

type Handle = *mut Opaque;

/// `NVPTXCOMPILE_SUCCESS`.
const SUCCESS: c_int = 0;
/// `NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION`.
const UNSUPPORTED_PTX_VERSION: c_int = 7;

unsafe extern "C" {
    fn nvPTXCompilerGetVersion(major: *mut c_uint, minor: *mut c_uint) -> c_int;
    fn nvPTXCompilerCreate(compiler: *mut Handle, length: usize, ptx: *const c_char) -> c_int;
    fn nvPTXCompilerDestroy(compiler: *mut Handle) -> c_int;
    fn nvPTXCompilerCompile(compiler: Handle, count: c_int, options: *const *const c_char) -> c_int;
    fn nvPTXCompilerGetCompiledProgramSize(compiler: Handle, size: *mut usize) -> c_int;
    fn nvPTXCompilerGetCompiledProgram(compiler: Handle, image: *mut c_void) -> c_int;
    fn nvPTXCompilerGetErrorLogSize(compiler: Handle, size: *mut usize) -> c_int;
    fn nvPTXCompilerGetErrorLog(compiler: Handle, log: *mut c_char) -> c_int;
    fn nvPTXCompilerGetInfoLogSize(compiler: Handle, size: *mut usize) -> c_int;
    fn nvPTXCompilerGetInfoLog(compiler: Handle, log: *mut c_char) -> c_int;
}

/// One compilation: owns the library's handle and destroys it on every path.
struct Compilation(Handle);

impl Drop for Compilation {
    fn drop(&mut self) {
        // SAFETY: the handle came from nvPTXCompilerCreate and is destroyed once.
        unsafe { nvPTXCompilerDestroy(&raw mut self.0) };
    }
}

impl Compilation {
    /// Reads one of the library's buffers: first its size, then its contents.
    fn read<T>(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        contents: unsafe extern "C" fn(Handle, *mut T) -> c_int,
    ) -> Option<Vec<u8>> {
        let mut length = 0;
        // SAFETY: the handle is live and `length` is writable.
        if unsafe { size(self.0, &raw mut length) } != SUCCESS {
            return None;
        }
        // The library terminates a log with a NUL that it does not count.
        let mut buffer = vec![0_u8; length + 1];
        // SAFETY: the buffer holds what the library said it would write.
        if unsafe { contents(self.0, buffer.as_mut_ptr().cast()) } != SUCCESS {
            return None;
        }
        buffer.truncate(length);
        Some(buffer)
    }

    fn log(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        contents: unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
    ) -> String {
        let bytes = self.read(size, contents).unwrap_or_default();
        String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
    }
}

/// The CUDA release of the library.
pub(super) fn release() -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are writable. The call fails only for null pointers.
    unsafe { nvPTXCompilerGetVersion(&raw mut major, &raw mut minor) };
    format!("{major}.{minor}")
}

/// Assembles PTX; returns the cubin and the verbose log.
pub(super) fn assemble(ptx: &str, name: &str, target: &Target) -> Result<(Vec<u8>, String)> {
    let internal = |what: &str| Error::internal(format!("the PTX compiler library {what} for '{name}'"));
    let text =
        CString::new(ptx).map_err(|_| Error::user(format!("the PTX of '{name}' contains a NUL byte")))?;
    let options = [
        format!("--gpu-name={}", target.architecture()),
        "--verbose".to_owned(),
    ]
    .into_iter()
    .chain(line_info(ptx).map(str::to_owned))
    .map(CString::new)
    .collect::<std::result::Result<Vec<_>, _>>()
    .map_err(|_| internal("cannot take an option"))?;
    let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();

    let mut handle = ptr::null_mut();
    // SAFETY: the text is NUL-terminated and outlives the handle.
    if unsafe { nvPTXCompilerCreate(&raw mut handle, ptx.len(), text.as_ptr()) } != SUCCESS {
        return Err(internal("does not start"));
    }
    let compilation = Compilation(handle);
    // SAFETY: the handle is live; the options are NUL-terminated and outlive the call. A few options fit a
    // c_int.
    let status = unsafe { nvPTXCompilerCompile(compilation.0, options.len() as c_int, options.as_ptr()) };
    if status != SUCCESS {
        let log = compilation.log(nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog);
        let error = match status {
            UNSUPPORTED_PTX_VERSION => internal("is too old"),
            _ => refusal(name, target),
        };
        return Err(with_log(error, &log));
    }
    let cubin = compilation
        .read(
            nvPTXCompilerGetCompiledProgramSize,
            nvPTXCompilerGetCompiledProgram,
        )
        .ok_or_else(|| internal("gives no cubin"))?;
    Ok((
        cubin,
        compilation.log(nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog),
    ))
}
