//! The memory that kernels of a function hand to each other, or keep zero from call to call.
//!
//! Calls on one stream follow each other and share it. A capture has memory of its own, since the graph that comes of it may
//! be launched on any stream beside what runs there. Memory that has become too small is kept: launches under way and graphs may
//! refer to it. All of it is freed with the function, or by [`Scratch::release`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::driver::{Buffer, Current, Device, DriverError, RelaxedCapture, StreamIdentity};
use crate::plan::{NeededWorkspace, Workspace};

/// What memory that may hold anything holds at first: no number that a kernel could take for one of its own.
const ANYTHING: u8 = 0xff;

/// The memory of one function on one device.
#[derive(Default)]
pub(crate) struct Scratch {
    sets: RwLock<HashMap<StreamIdentity, Arc<Mutex<Set>>>>,
}

/// The memory of one stream or capture. Whoever holds its lock may launch: the launches of one call follow each other then,
/// whichever threads use the stream.
#[derive(Default)]
pub(crate) struct Set {
    /// One for each workspace.
    current: Vec<Option<Arc<Buffer>>>,
    outgrown: Vec<Arc<Buffer>>,
}

impl Scratch {
    /// The memory of calls on a stream.
    pub(crate) fn set(&self, stream: StreamIdentity) -> Arc<Mutex<Set>> {
        let sets = self.sets.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = sets.get(&stream) {
            return Arc::clone(set);
        }
        drop(sets);
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(sets.entry(stream).or_default())
    }

    /// Forgets the memory of a stream, with that of captures on it; calls that use it now keep it until they are done.
    pub(crate) fn release(&self, stream: StreamIdentity) {
        let mut sets = self.sets.write().unwrap_or_else(PoisonError::into_inner);
        sets.retain(|other, _| !other.is_on(stream));
    }
}

impl Set {
    /// Gives the workspaces that a call needs their addresses.
    ///
    /// # Errors
    /// Out of memory, or what the driver says.
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
                    // Twice as much at least, so that what is outgrown is at most as much as is in use.
                    let bytes = bytes.max(has.saturating_mul(2));
                    let byte = if workspace.init.is_zero() { 0 } else { ANYTHING };
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

    /// The workspace's memory, if it has any.
    pub(crate) fn buffer(&self, workspace: usize) -> Option<&Arc<Buffer>> {
        self.current.get(workspace)?.as_ref()
    }
}
