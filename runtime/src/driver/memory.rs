//! Device memory.

use super::api::Address;
use super::{Current, Device, DriverError, RelaxedCapture, Stream, StreamHandle};

/// An allocation of device memory.
pub struct Buffer {
    device: Device,
    address: Address,
    bytes: usize,
}

impl Buffer {
    /// Allocates `bytes` of a device's memory, aligned to at least 256 bytes, each byte set to `value`.
    ///
    /// # Errors
    /// Out of memory, or another error of the driver.
    pub fn new(device: &Device, bytes: usize, value: u8) -> Result<Buffer, DriverError> {
        let api = device.enter()?;
        let mut address = 0;
        // SAFETY: the out-pointer is valid for the call. The driver refuses a size of zero.
        api.check("cuMemAlloc", unsafe {
            (api.allocate)(&mut address, bytes.max(1))
        })?;
        let buffer = Buffer {
            device: device.clone(),
            address,
            bytes,
        };
        buffer.fill(value)?;
        Ok(buffer)
    }

    /// The device address of the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The number of bytes that were requested.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets every byte; it has taken effect when the function returns.
    ///
    /// # Errors
    /// The driver's error.
    pub fn fill(&self, value: u8) -> Result<(), DriverError> {
        let api = self.device.enter()?;
        // A temporary stream, which no other stream waits for or captures.
        let stream = Stream::new(&self.device)?;
        // SAFETY: the stream was created above.
        unsafe { self.fill_on(&api, value, stream.handle()) }?;
        stream.synchronize()
    }

    /// Sets every byte on `stream`.
    ///
    /// # Errors
    /// The driver's error.
    ///
    /// # Safety
    /// `stream` must be a stream of the buffer's device.
    pub(crate) unsafe fn fill_on(
        &self,
        api: &Current<'_>,
        value: u8,
        stream: StreamHandle,
    ) -> Result<(), DriverError> {
        if self.bytes == 0 {
            return Ok(());
        }
        // SAFETY: the range is this allocation, and freeing it waits for the work that uses it; the rest is passed on to the
        // caller.
        api.check("cuMemsetD8Async", unsafe {
            (api.fill)(self.address, value, self.bytes, stream.handle())
        })
    }

    /// Copies all bytes to another buffer of the same size, on `stream`.
    ///
    /// # Errors
    /// The driver's error, or that the sizes differ.
    pub fn copy_to(&self, other: &Buffer, stream: &Stream) -> Result<(), DriverError> {
        if self.bytes != other.bytes {
            return Err(DriverError::Call {
                call: "cuMemcpyDtoDAsync",
                name: "CUDA_ERROR_INVALID_VALUE".to_owned(),
                text: format!("{} bytes do not make {}", self.bytes, other.bytes),
            });
        }
        let api = self.device.enter()?;
        // SAFETY: both ranges are allocations of this many bytes.
        api.check("cuMemcpyDtoDAsync", unsafe {
            (api.copy)(other.address, self.address, self.bytes, stream.handle)
        })
    }

    /// Copies `data` to `offset`; it must fit.
    ///
    /// # Errors
    /// The driver's error, or that the data do not fit.
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
        let api = self.device.enter()?;
        // SAFETY: both ranges are valid for the whole length, as checked above; the call returns when it has copied.
        let copied = unsafe { (api.copy_in)(self.address + offset as u64, data.as_ptr().cast(), data.len()) };
        api.check("cuMemcpyHtoD", copied)
    }

    /// Copies the whole buffer to the host.
    ///
    /// # Errors
    /// The driver's error.
    pub fn read(&self) -> Result<Vec<u8>, DriverError> {
        let mut data = vec![0; self.bytes];
        if self.bytes > 0 {
            let api = self.device.enter()?;
            // SAFETY: both ranges are `self.bytes` long; the call returns when it has copied.
            let copied = unsafe { (api.copy_out)(data.as_mut_ptr().cast(), self.address, self.bytes) };
            api.check("cuMemcpyDtoH", copied)?;
        }
        Ok(data)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Ok(api) = self.device.enter() else { return };
        // Whoever captures, in whatever thread, does not expect that something else is freed meanwhile.
        let _relaxed = RelaxedCapture::enter(&api);
        // SAFETY: the allocation is this buffer's own; freeing waits for work that uses it.
        unsafe { (api.free)(self.address) };
    }
}
