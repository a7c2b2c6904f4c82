//! Which calls share a function's workspaces, and the contents of these.

#![expect(clippy::unwrap_used, reason = "every input here is fixed")]

mod fixture;

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use fixture::{Rows, device, function, launch, launches, stream, with_workspace};
use norma_runtime::driver::{Buffer, Stream, StreamHandle};
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

/// Freeing waits for the GPU, for which launches on other streams must not.
#[test]
fn other_streams_launch_while_memory_is_freed() {
    let shared = Arc::new(function(|function| with_workspace(function, "m*4", "none")));
    let (freed, other) = (stream(), Arc::new(stream()));
    launch(&shared, 100, freed.handle()).unwrap();
    let (sender, receiver) = mpsc::channel();
    let launched = {
        let (shared, other) = (Arc::clone(&shared), Arc::clone(&other));
        move || sender.send(launch(&shared, 100, other.handle()).is_ok()).unwrap()
    };
    let (told, is_launched) = mpsc::channel();
    norma_stub_driver::during_next("cuMemFree_v2", move || {
        thread::spawn(launched);
        told.send(receiver.recv_timeout(Duration::from_secs(5))).unwrap();
    });
    // SAFETY: nothing runs on the stand-in.
    unsafe { shared.release_scratch(freed.handle()) }.unwrap();
    assert_eq!(is_launched.recv().unwrap(), Ok(true));
}

/// The kernels that were launched may have written what those behind them would have made zero again.
#[test]
fn a_call_that_fails_between_its_kernels_leaves_zeros() {
    let breaking = |init| {
        function(move |function| {
            with_workspace(function, "m*4", init);
            let second = &mut function["kernels"][1];
            // More than a cluster has room for, which only the launch finds out.
            second["cluster"] = serde_json::json!([16, 1, 1]);
            second["block"] = serde_json::json!([1024, 1, 1]);
        })
    };
    for (init, left) in [("zero", 0u8), ("none", 7)] {
        let (function, stream) = (breaking(init), stream());
        let memory = workspaces(&function, 100, &stream).remove(0).memory;
        memory.fill(7).unwrap();
        assert!(matches!(
            launch(&function, 100, stream.handle()),
            Err(Error::Driver(_))
        ));
        assert_eq!(launches(&stream).len(), 1);
        let after = workspaces(&function, 100, &stream).remove(0).memory;
        assert!(Arc::ptr_eq(&memory, &after));
        assert!(after.read().unwrap().iter().all(|byte| *byte == left), "{init}");
    }
}

#[test]
fn a_capture_whose_work_panics_is_ended() {
    let plain = function(|_| ());
    let stream = stream();
    let graphs = norma_stub_driver::graphs_of_thread();
    let capture = AssertUnwindSafe(|| stream.capture::<Error>(|| panic!("a mistake of the caller")));
    assert!(panic::catch_unwind(capture).is_err());
    assert_eq!(norma_stub_driver::graphs_of_thread(), graphs);
    launch(&plain, 1, stream.handle()).unwrap();
    assert_eq!(launches(&stream).len(), 1);
    // No capture of this thread forbids it.
    Buffer::new(&device(0), 1, 0).unwrap();
}

/// The driver does not synchronize uses of a graph by several threads.
#[test]
fn launches_of_one_graph_follow_each_other() {
    let plain = function(|_| ());
    let stream = Arc::new(stream());
    let graph = Arc::new(stream.capture(|| launch(&plain, 1, stream.handle())).unwrap());
    let (sender, receiver) = mpsc::channel();
    let other = {
        let (graph, stream) = (Arc::clone(&graph), Arc::clone(&stream));
        move || sender.send(graph.launch(&stream).is_ok()).unwrap()
    };
    let (told, has_launched) = mpsc::channel();
    let (first, second) = (told.clone(), told);
    norma_stub_driver::during_next("cuGraphLaunch", move || {
        thread::spawn(other);
        first
            .send(receiver.recv_timeout(Duration::from_millis(200)).ok())
            .unwrap();
        thread::spawn(move || second.send(receiver.recv().ok()).unwrap());
    });
    graph.launch(&stream).unwrap();
    assert_eq!(has_launched.recv().unwrap(), None);
    assert_eq!(has_launched.recv().unwrap(), Some(true));
}

#[test]
fn a_capture_that_the_driver_gave_up_takes_no_memory_and_leaves_no_graph() {
    let captured = function(|function| with_workspace(function, "m*4", "zero"));
    let stream = stream();
    let graphs = norma_stub_driver::graphs_of_thread();
    let mut refusals = Vec::new();
    let ended = stream.capture::<Error>(|| {
        // A capturing stream cannot be waited for, and an error that nobody heeds must not end in a graph.
        refusals.push(stream.synchronize().unwrap_err().to_string());
        refusals.push(launch(&captured, 100, stream.handle()).unwrap_err().to_string());
        Ok(())
    });
    let starts = [
        "cuStreamSynchronize failed: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "cuStreamGetCaptureInfo failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        "cuStreamEndCapture failed: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
    ];
    refusals.push(ended.err().unwrap().to_string());
    for (refusal, start) in refusals.iter().zip(starts) {
        assert!(refusal.starts_with(start), "{refusal}");
    }
    assert_eq!(norma_stub_driver::graphs_of_thread(), graphs);
    launch(&captured, 100, stream.handle()).unwrap();
    assert_eq!(launches(&stream).len(), 2);
}
