//! A launch allocates nothing after a first launch of the same kind.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod fixture;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fixture::{function, launch, stream, with_workspace};

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
    let before = ALLOCATIONS.get();
    for m in 1..=1000 {
        launch(&plain, m, stream.handle()).unwrap();
        launch(&with_scratch, m, stream.handle()).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
