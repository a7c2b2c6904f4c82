//! A launch allocates nothing after a first launch of the same kind.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod fixture;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fixture::{X, call, function, launch, stream, views_of_rows, with_workspace};
use norma_runtime::{Element, Tensor};

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator, with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn launches_after_the_first_allocate_nothing() {
    norma_stub_driver::record(false);
    let plain = function(|_| ());
    let with_scratch = function(|function| with_workspace(function, "m*4", "zero"));
    let stream = stream();
    for function in [&plain, &with_scratch] {
        launch(function, 1000, stream.handle()).unwrap();
    }
    let views = function(views_of_rows);
    let parts = [64, 128].map(|offset| Tensor::new(0, X + 4 * offset, Element::F32, &[1000, 64], &[192, 1]));
    let launch_parts = || call(&views, &[&parts[0], &parts[1]], &[], stream.handle()).unwrap();
    launch_parts();
    let before = ALLOCATIONS.get();
    for m in 1..=1000 {
        launch_parts();
        launch(&plain, m, stream.handle()).unwrap();
        launch(&with_scratch, m, stream.handle()).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
