//! A function loaded on a device, and its launches.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use norma_bundle::manifest::WorkspaceInit;

use crate::bundle::{Bundle, Selected};
use crate::driver::{
    Buffer, Current, Device, DriverError, Kernel, Launch, Module, RelaxedCapture, StreamHandle,
    StreamIdentity,
};
use crate::error::{CallError, Error};
use crate::plan::{Call, Plan, Values};
use crate::scratch::{Scratch, Set};
use crate::tensor::{Scalar, Tensor};

thread_local! {
    /// The state of this thread's current call; its buffers are reused across calls.
    static CALL: RefCell<Call> = RefCell::default();
}

/// A function that is loaded on a device. It may be launched from any thread.
pub struct Function {
    device: Device,
    plan: Plan,
    initial: Values,
    /// In the manifest's order.
    kernels: Box<[Kernel]>,
    scratch: Scratch,
}

/// A workspace of a function, as used by calls on a stream.
#[derive(Clone)]
pub struct WorkspaceMemory {
    /// Its name in the manifest.
    pub name: String,
    /// Its contents before a call.
    pub init: WorkspaceInit,
    /// Its memory.
    pub memory: Arc<Buffer>,
}

impl Function {
    /// Loads a function of a bundle: its kernels for the device, and everything else that a launch needs.
    ///
    /// # Errors
    /// The bundle has nothing for the device or no such function, one of its files cannot be used, or the driver's error.
    pub fn load(bundle: &Bundle, device: &Device, name: &str) -> Result<Function, Error> {
        let Selected { target, is_ptx } = bundle.select(device)?;
        let function = target.manifest.function(Some(name))?;
        let (plan, mut initial) = Plan::new(function, device.multiprocessors)?;
        let api = device.enter()?;
        let _relaxed = RelaxedCapture::enter(&api)?;
        // By the file that each is loaded from, which several kernels may share.
        let mut modules = HashMap::new();
        let mut kernels = Vec::new();
        for (kernel, planned) in function.kernels.iter().zip(&plan.kernels) {
            let (file, code) = match is_ptx {
                true => (kernel.ptx.as_ref(), Cow::Owned(target.ptx(kernel)?)),
                false => (Some(&kernel.cubin), target.cubin(kernel)?),
            };
            let module = match modules.entry(file) {
                Entry::Occupied(loaded) => Arc::clone(loaded.get()),
                Entry::Vacant(place) => Arc::clone(place.insert(Module::load(device, &code)?)),
            };
            let loaded = Kernel::find(&module, kernel)?;
            let constant = planned.constant_shared_bytes;
            if let Some(bytes) = constant.and_then(|bytes| u32::try_from(bytes).ok()) {
                loaded.allow_shared(&api, bytes)?;
                if let Some(slot) = planned.ctas_per_sm {
                    initial[slot] = i64::from(loaded.ctas_per_multiprocessor(&api, bytes)?);
                }
            }
            kernels.push(loaded);
        }
        Ok(Function {
            device: device.clone(),
            plan,
            initial,
            kernels: kernels.into(),
            scratch: Scratch::default(),
        })
    }

    /// The device that the function is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The bundle's description of the function.
    pub fn description(&self) -> &norma_bundle::manifest::Function {
        &self.plan.function
    }

    /// Checks the arguments against all assumptions of the kernels, and launches the kernels in order on `stream`. `tensors`
    /// are the inputs, then the outputs, in the manifest's order; `scalars` are the named scalars in the order of
    /// [`named_scalars`](norma_bundle::manifest::Function::named_scalars), of which trailing ones may be left out. If
    /// anything is refused, nothing is launched. On a stream that is capturing, the launches are recorded.
    ///
    /// Calls on one stream share its scratch memory. The executables of a graph share the scratch of its capture, so two of
    /// them must not run at the same time if the function has workspaces.
    ///
    /// # Errors
    /// [`Error::Call`] for arguments that the kernels are not made for, [`Error::Driver`] for the driver's error at a launch,
    /// behind which earlier kernels of the call may run. Errors while a kernel runs appear at a later synchronisation.
    ///
    /// # Safety
    /// The tensors' shapes and strides must be as long as their ranks. From first to last element they must lie in memory
    /// that the device can access until the kernels have completed; until then nothing else may write this memory, or read
    /// that of outputs, and the function must not be dropped. Where the launches are recorded, that is until their graphs have
    /// run for the last time. `stream` must be a stream of the device's primary context.
    pub unsafe fn launch(
        &self,
        tensors: &[&Tensor<'_>],
        scalars: &[Scalar],
        stream: StreamHandle,
    ) -> Result<(), Error> {
        let launched = CALL.with_borrow_mut(|call| {
            let api = self.device.enter()?;
            // SAFETY: passed on to the caller.
            unsafe {
                self.prepare(call, &api, tensors, scalars)?;
                self.with_scratch(call, &api, stream, |call, set| {
                    call.encode(&self.plan, scalars, &api)?;
                    let launched = self.enqueue(call, &api, stream);
                    if let (Err(_), Some(set)) = (&launched, set) {
                        set.restore(&api, &self.plan.workspaces, stream);
                    }
                    launched
                })
            }
        });
        launched.map_err(|error| error.of(&self.plan.function.name))
    }

    /// Returns the workspaces that a call with these arguments would use on `stream`, and allocates them if necessary; it
    /// launches nothing.
    ///
    /// # Errors
    /// As [`Function::launch`].
    ///
    /// # Safety
    /// The tensors' shapes and strides must be as long as their ranks, and `stream` a stream of the device's primary context.
    pub unsafe fn workspaces(
        &self,
        tensors: &[&Tensor<'_>],
        scalars: &[Scalar],
        stream: StreamHandle,
    ) -> Result<Vec<WorkspaceMemory>, Error> {
        let found = CALL.with_borrow_mut(|call| {
            let api = self.device.enter()?;
            // SAFETY: passed on to the caller.
            unsafe { self.prepare(call, &api, tensors, scalars) }?;
            self.with_scratch(call, &api, stream, |_, set| {
                let set = set.as_deref();
                let workspaces = self.plan.workspaces.iter().enumerate();
                let memory = workspaces.filter_map(|(index, workspace)| {
                    Some(WorkspaceMemory {
                        name: workspace.name.clone(),
                        init: workspace.init,
                        memory: Arc::clone(set?.buffer(index)?),
                    })
                });
                Ok(memory.collect())
            })
        });
        found.map_err(|error| error.of(&self.plan.function.name))
    }

    /// Frees the scratch memory of calls on a stream, and of captures on it, before the function is dropped.
    ///
    /// # Errors
    /// The driver's error.
    ///
    /// # Safety
    /// `stream` must be a stream of the device's primary context, launches on it must have completed, and graphs captured on
    /// it, or on an earlier stream with the same handle, must not be launched again.
    pub unsafe fn release_scratch(&self, stream: StreamHandle) -> Result<(), DriverError> {
        let api = self.device.enter()?;
        self.scratch.release(StreamIdentity::of(&api, stream)?);
        Ok(())
    }

    /// Checks the arguments and evaluates all kernels.
    ///
    /// # Safety
    /// The tensors' shapes and strides must be as long as their ranks.
    unsafe fn prepare(
        &self,
        call: &mut Call,
        api: &Current<'_>,
        tensors: &[&Tensor<'_>],
        scalars: &[Scalar],
    ) -> Result<(), CallError> {
        // SAFETY: passed on to the caller.
        unsafe { call.bind(&self.plan, &self.initial, self.device.ordinal, tensors, scalars) }?;
        for (index, (planned, kernel)) in self.plan.kernels.iter().zip(&self.kernels).enumerate() {
            let Some(shared_bytes) = call.choose(&self.plan, planned)? else {
                continue;
            };
            if planned.constant_shared_bytes.is_none() {
                kernel.allow_shared(api, shared_bytes)?;
                if let Some(slot) = planned.ctas_per_sm {
                    call.set(slot, kernel.ctas_per_multiprocessor(api, shared_bytes)?);
                }
            }
            call.prepare(&self.plan, index, shared_bytes)?;
        }
        Ok(())
    }

    /// Assigns the call its workspaces, and runs `work` while no other call uses them.
    fn with_scratch<T>(
        &self,
        call: &mut Call,
        api: &Current<'_>,
        stream: StreamHandle,
        work: impl FnOnce(&mut Call, Option<&mut Set>) -> Result<T, CallError>,
    ) -> Result<T, CallError> {
        if self.plan.workspaces.is_empty() {
            return work(call, None);
        }
        let set: Arc<Mutex<Set>> = self.scratch.set(StreamIdentity::of(api, stream)?);
        let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
        set.place(&self.device, api, &self.plan.workspaces, &mut call.workspaces)?;
        work(call, Some(&mut set))
    }

    /// Launches the kernels that have been prepared and whose parameters have been encoded.
    ///
    /// # Safety
    /// As [`Function::launch`].
    unsafe fn enqueue(
        &self,
        call: &mut Call,
        api: &Current<'_>,
        stream: StreamHandle,
    ) -> Result<(), CallError> {
        for index in 0..call.launches.len() {
            let prepared = &call.launches[index];
            let kernel = &self.kernels[prepared.kernel];
            let launch = Launch {
                grid: prepared.grid,
                shared_bytes: prepared.shared_bytes,
                stream,
            };
            let parameters = call.parameters(&self.plan, index);
            // SAFETY: the parameters match the manifest, which was compared with the cubin when it was loaded; the rest is
            // passed on to the caller.
            unsafe { kernel.launch(api, &launch, parameters) }?;
        }
        Ok(())
    }
}
