//! The memory that kernels of a function pass to each other, or keep zero from call to call.
//!
//! Calls on one stream run in order and share it. A capture has its own memory, because its graph may be launched on any
//! stream, beside other work. Memory that has become too small is kept, because launches in flight and graphs may refer to
//! it. All of it is freed with the function, or by [`Scratch::release`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::driver::{Buffer, Current, Device, DriverError, RelaxedCapture, StreamHandle, StreamIdentity};
use crate::plan::{NeededWorkspace, Workspace};

/// The initial byte of memory with unspecified contents, chosen so that no kernel mistakes it for a valid value.
const UNSPECIFIED_BYTE: u8 = 0xff;

/// The memory of one function on one device.
#[derive(Default)]
pub(crate) struct Scratch {
    sets: RwLock<HashMap<StreamIdentity, Arc<Mutex<Set>>>>,
}

/// The memory of one stream or capture. Only the holder of its lock may launch, so that the launches of one call are
/// contiguous, whichever threads use the stream.
#[derive(Default)]
pub(crate) struct Set {
    /// One for each workspace.
    current: Vec<Option<Arc<Buffer>>>,
    outgrown: Vec<Arc<Buffer>>,
}

impl Scratch {
    /// Returns the memory for calls on a stream.
    pub(crate) fn set(&self, stream: StreamIdentity) -> Arc<Mutex<Set>> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = sets.get(&stream) {
            return Arc::clone(set);
        }
        drop(sets);
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(sets.entry(stream).or_default())
    }

    /// Drops the memory of a stream and of captures on it; calls in progress keep it until they are done.
    pub(crate) fn release(&self, stream: StreamIdentity) {
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        let released: Vec<_> = sets.extract_if(|other, _| other.is_on(stream)).collect();
        // Freeing waits for the GPU, for which the launches of other streams, which take the lock, must not.
        drop(sets);
        drop(released);
    }
}

impl Set {
    /// Assigns addresses to the workspaces that a call needs.
    ///
    /// # Errors
    /// Out of memory, or another error of the driver.
    pub(crate) fn place(
        &mut self,
        device: &Device,
        api: &Current<'_>,
        workspaces: &[Workspace],
        needed: &mut [NeededWorkspace],
    ) -> Result<(), DriverError> {
        self.current.resize_with(workspaces.len(), || None);
        for ((workspace, needed), current) in workspaces.iter().zip(needed).zip(&mut self.current) {
            let Some(bytes) = needed.bytes else { continue };
            let has = current.as_ref().map_or(0, |buffer| buffer.bytes() as u64);
            let buffer = match current {
                Some(buffer) if has >= bytes => buffer,
                _ => {
                    // Grow by at least a factor of two, so that outgrown buffers take at most as much as the current one.
                    let bytes = bytes.max(has.saturating_mul(2));
                    let byte = if workspace.init.is_zero() {
                        0
                    } else {
                        UNSPECIFIED_BYTE
                    };
                    let _relaxed = RelaxedCapture::enter(api)?;
                    let buffer = Buffer::new(device, bytes as usize, byte)?;
                    self.outgrown.extend(current.take());
                    current.insert(Arc::new(buffer))
                }
            };
            needed.address = buffer.address();
        }
        Ok(())
    }

    /// Makes the workspaces zero that must be, behind the work that is on `stream`: the kernels of a call of which only some were
    /// launched do not.
    ///
    /// # Safety
    /// `stream` must be a stream of the device.
    pub(crate) unsafe fn restore(
        &mut self,
        api: &Current<'_>,
        workspaces: &[Workspace],
        stream: StreamHandle,
    ) {
        for (workspace, current) in workspaces.iter().zip(&mut self.current) {
            let Some(buffer) = current.as_ref().filter(|_| workspace.init.is_zero()) else {
                continue;
            };
            // SAFETY: passed on to the caller.
            if unsafe { buffer.fill_on(api, 0, stream) }.is_err() {
                // The next call gets new memory; this may be in use.
                self.outgrown.extend(current.take());
            }
        }
    }

    /// The workspace's memory, if allocated.
    pub(crate) fn buffer(&self, workspace: usize) -> Option<&Arc<Buffer>> {
        self.current.get(workspace)?.as_ref()
    }
}
