//! Work that a test does in the middle of a call of the driver, such as a launch by another thread.

use std::cell::RefCell;

/// The name of a driver function, and the work to do in its next call.
type Planned = (&'static str, Box<dyn FnOnce()>);

thread_local! {
    static PLANNED: RefCell<Option<Planned>> = const { RefCell::new(None) };
}

/// Does `work` within this thread's next call of the driver function `name`, before it takes effect. The functions are those
/// that may wait for the GPU: `cuMemFree_v2`, `cuModuleLoadData` and `cuGraphLaunch`.
pub fn during_next(name: &'static str, work: impl FnOnce() + 'static) {
    PLANNED.set(Some((name, Box::new(work))));
}

/// Does what is planned for a call of the driver function `name`.
pub(crate) fn begin(name: &str) {
    let planned = PLANNED.with_borrow_mut(|planned| planned.take_if(|(other, _)| *other == name));
    if let Some((_, work)) = planned {
        work();
    }
}
