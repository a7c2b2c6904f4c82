//! Which calls share a function's workspaces, and the contents of these.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod fixture;

use std::sync::Arc;
use std::thread;

use fixture::{Rows, function, launch, launches, stream, with_workspace};
use norma_runtime::driver::{Stream, StreamHandle};
use norma_runtime::{Error, Function, WorkspaceMemory};

/// The address of the workspace in each call on a stream.
fn places(stream: &Stream) -> Vec<u64> {
    let launched = launches(stream);
    let calls = launched.chunks(2);
    calls
        .map(|call| {
            assert_eq!(
                call[0].word(1),
                call[1].word(0),
                "the kernels of a call share their workspace"
            );
            call[0].word(1)
        })
        .collect()
}

fn workspaces(function: &Function, m: i64, stream: &Stream) -> Vec<WorkspaceMemory> {
    workspaces_on(function, m, stream.handle())
}

fn workspaces_on(function: &Function, m: i64, stream: StreamHandle) -> Vec<WorkspaceMemory> {
    let rows = Rows::new(m);
    let [x, y] = rows.on(0);
    // SAFETY: the tensors have their shapes.
    unsafe { function.workspaces(&[&x, &y], &[], stream) }.unwrap()
}

#[test]
fn calls_on_one_stream_share_and_others_do_not() {
    let shared = function(|function| with_workspace(function, "m*4", "none"));
    let (one, other) = (stream(), stream());
    for stream in [&one, &one, &other] {
        launch(&shared, 100, stream.handle()).unwrap();
    }
    let (one, other) = (places(&one), places(&other));
    assert_eq!(one[0], one[1]);
    assert_ne!(one[0], other[0]);
    assert!(one[0].is_multiple_of(256));
}

#[test]
fn calls_on_the_default_stream_share_with_each_other_alone() {
    let shared = function(|function| with_workspace(function, "m*4", "none"));
    let of = |stream| workspaces_on(&shared, 10, stream).remove(0).memory;
    let stream = stream();
    let first = of(StreamHandle::DEFAULT);
    assert!(Arc::ptr_eq(&first, &of(StreamHandle::DEFAULT)));
    assert!(!Arc::ptr_eq(&first, &of(stream.handle())));
    // SAFETY: nothing was launched on it.
    unsafe { shared.release_scratch(StreamHandle::DEFAULT) }.unwrap();
    assert!(!Arc::ptr_eq(&first, &of(StreamHandle::DEFAULT)));
}

#[test]
fn a_workspace_that_must_be_zero_is_zero_at_first() {
    for (init, byte) in [("zero", 0u8), ("none", 0xff)] {
        let function = function(|function| with_workspace(function, "m*4", init));
        let memory = &workspaces(&function, 100, &stream())[0];
        assert_eq!((memory.name.as_str(), memory.memory.bytes()), ("partials", 400));
        let bytes = memory.memory.read().unwrap();
        assert!(bytes.iter().all(|found| *found == byte), "{init}");
    }
}

#[test]
fn a_larger_call_gets_more_and_leaves_what_others_use() {
    let growing = function(|function| with_workspace(function, "m*4", "zero"));
    let stream = stream();
    for m in [100, 101, 10, 10_000] {
        launch(&growing, m, stream.handle()).unwrap();
    }
    let places = places(&stream);
    assert_ne!(places[0], places[1]);
    assert_eq!(places[1], places[2]);
    assert_ne!(places[2], places[3]);
    assert_eq!(workspaces(&growing, 10, &stream)[0].memory.bytes(), 40_000);
}

#[test]
fn memory_that_is_released_is_allocated_again() {
    let released = function(|function| with_workspace(function, "m*4", "zero"));
    let stream = stream();
    assert_eq!(workspaces(&released, 1000, &stream)[0].memory.bytes(), 4000);
    // SAFETY: nothing runs on the stand-in.
    unsafe { released.release_scratch(stream.handle()) }.unwrap();
    assert_eq!(workspaces(&released, 10, &stream)[0].memory.bytes(), 40);
}

#[test]
fn a_capture_has_memory_of_its_own_and_runs_nothing_before_its_graph_does() {
    let captured = function(|function| with_workspace(function, "m*4", "zero"));
    let (on_capture, elsewhere) = (stream(), stream());
    launch(&captured, 100, on_capture.handle()).unwrap();
    let capture = || {
        on_capture
            .capture(|| launch(&captured, 100, on_capture.handle()))
            .unwrap()
    };
    let (first, second) = (capture(), capture());
    assert_eq!(launches(&on_capture).len(), 2);
    first.launch(&elsewhere).unwrap();
    second.launch(&elsewhere).unwrap();
    let mut places = places(&elsewhere);
    places.extend(self::places(&on_capture));
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 3);
}

#[test]
fn a_capture_of_a_refused_call_fails() {
    let captured = function(|_| ());
    let stream = stream();
    let error = stream
        .capture(|| launch(&captured, -1, stream.handle()))
        .err()
        .unwrap();
    assert!(matches!(error, Error::Call { .. }), "{error}");
    launch(&captured, 1, stream.handle()).unwrap();
}

#[test]
fn calls_of_several_threads_on_one_stream_follow_each_other() {
    let shared = function(|function| with_workspace(function, "m*4", "none"));
    let stream = stream();
    thread::scope(|scope| {
        for thread in 0..4 {
            let (shared, stream) = (&shared, &stream);
            scope.spawn(move || {
                for call in 0..50 {
                    launch(shared, 1 + thread * 50 + call, stream.handle()).unwrap();
                }
            });
        }
    });
    let launched = launches(&stream);
    assert_eq!(launched.len(), 400);
    for call in launched.chunks(2) {
        assert_eq!(
            (call[0].word(3), call[0].word(1)),
            (call[1].word(3), call[1].word(0))
        );
    }
}
