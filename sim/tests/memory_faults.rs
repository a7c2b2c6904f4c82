//! Forbidden accesses to memory, one at a time, in a kernel of one warp: the finding names the access, the memory and
//! the thread.

use norma_simulator::{
    Argument, Buffer, BufferAccess, Contents, Finding, FindingKind, Launch, Memory, Options, decode, run,
};

/// Runs `body` on 32 threads with an input of 32 f32 (`%x`, `%xi`: the thread's own), an output of as many (`%y`,
/// `%yi`), and two shared arrays of as many (`%a`, `%ai`, `%b`, `%bi`).
fn findings(body: &str) -> Vec<Finding> {
    let source = format!(
        "gpu.module @m {{
  llvm.mlir.global internal @a() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<32 x f32>
  llvm.mlir.global internal @b() {{addr_space = 3 : i32, alignment = 16 : i64}} : !llvm.array<32 x f32>
  llvm.mlir.global internal @c() {{addr_space = 3 : i32, alignment = 8 : i64}} : !llvm.array<1 x f32>
  llvm.mlir.global internal @d() {{addr_space = 3 : i32, alignment = 4 : i64}} : !llvm.array<1 x f32>
  llvm.func @k(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
      attributes {{gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>}} {{
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %next = llvm.mlir.constant(1 : i32) : i32
    %one = llvm.mlir.constant(1.0 : f32) : f32
    %a = llvm.mlir.addressof @a : !llvm.ptr<3>
    %b = llvm.mlir.addressof @b : !llvm.ptr<3>
    %xi = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %yi = llvm.getelementptr %y[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %ai = llvm.getelementptr %a[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %bi = llvm.getelementptr %b[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    {body}
    llvm.return
  }}
}}"
    );
    let program = decode::parse(&source, "kernel.mlir").expect("a kernel that decodes");
    let mut memory = Memory::new(1);
    for (name, access, contents) in [
        ("x", BufferAccess::Input, Contents::Bytes(vec![0; 128])),
        ("y", BufferAccess::Output, Contents::Uninitialized(128)),
    ] {
        memory.add(Buffer {
            name: name.to_owned(),
            access,
            contents,
            align: 4,
            pending: false,
        });
    }
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [1, 1, 1],
        block: [32, 1, 1],
        cluster: [1, 1, 1],
        shared_bytes: 0,
        programmatic: false,
        arguments: vec![Argument::Buffer(0), Argument::Buffer(1)],
    };
    run(&program, &launch, &mut memory, &Options::default(), &mut |_| {})
        .expect("a launch that can be")
        .findings
}

/// The only finding of a body: its kind, its op, its memory and offset, its thread.
fn only(body: &str) -> (FindingKind, String, String, i64, u32) {
    let mut findings = findings(body);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = findings.remove(0);
    let memory = finding.memory.expect("a place in memory");
    (
        finding.kind,
        finding.site.op,
        memory.name,
        memory.offset,
        finding.thread.thread[0],
    )
}

#[test]
fn right_accesses_give_no_finding() {
    let body = "
    %v = llvm.load %xi : !llvm.ptr<1> -> f32
    llvm.store %v, %ai : f32, !llvm.ptr<3>
    nvvm.barrier
    %w = llvm.load %a : !llvm.ptr<3> -> f32
    llvm.store %w, %yi : f32, !llvm.ptr<1>";
    assert_eq!(findings(body), []);
}

#[test]
fn a_store_behind_a_buffer_is_out_of_bounds() {
    let body = "
    %p = llvm.getelementptr %yi[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    llvm.store %one, %p : f32, !llvm.ptr<1>";
    let expected = (
        FindingKind::OutOfBounds,
        "llvm.store".to_owned(),
        "'y'".to_owned(),
        128,
        31,
    );
    assert_eq!(only(body), expected);
}

#[test]
fn a_load_before_a_buffer_is_out_of_bounds() {
    let body = "
    %p = llvm.getelementptr %xi[-1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32";
    let expected = (
        FindingKind::OutOfBounds,
        "llvm.load".to_owned(),
        "'x'".to_owned(),
        -4,
        0,
    );
    assert_eq!(only(body), expected);
}

#[test]
fn a_vector_that_runs_off_a_shared_array_is_out_of_bounds_even_if_another_follows() {
    let body = "
    %c = llvm.mlir.addressof @c : !llvm.ptr<3>
    %d = llvm.mlir.addressof @d : !llvm.ptr<3>
    llvm.store %one, %d : f32, !llvm.ptr<3>
    %v = llvm.load %c {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>";
    let mut findings = findings(body);
    findings.retain(|finding| finding.site.op == "llvm.load");
    assert_eq!(findings.len(), 1, "{findings:?}");
    let memory = findings[0].memory.as_ref().expect("a place in memory");
    assert_eq!(findings[0].kind, FindingKind::OutOfBounds);
    assert_eq!(
        (memory.name.as_str(), memory.offset, memory.bytes),
        ("shared memory 'c'", 0, 8)
    );
}

#[test]
fn a_load_of_what_nobody_wrote_is_found() {
    let body = "%v = llvm.load %bi : !llvm.ptr<3> -> f32";
    let (kind, _, memory, ..) = only(body);
    assert_eq!(
        (kind, memory.as_str()),
        (FindingKind::Uninitialized, "shared memory 'b'")
    );
}

#[test]
fn a_store_to_an_input_is_found() {
    let (kind, ..) = only("llvm.store %one, %xi : f32, !llvm.ptr<1>");
    assert_eq!(kind, FindingKind::WriteToInput);
}

#[test]
fn a_vector_load_needs_the_alignment_of_its_buffer() {
    let body = "%v = llvm.load %x {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>";
    let (kind, ..) = only(body);
    assert_eq!(kind, FindingKind::Misaligned);
}

#[test]
fn lanes_of_a_warp_race_without_a_barrier_between() {
    let body = "
    llvm.store %one, %ai : f32, !llvm.ptr<3>
    %v = llvm.load %a : !llvm.ptr<3> -> f32";
    let (kind, op, memory, offset, _) = only(body);
    assert_eq!(
        (kind, op.as_str(), offset),
        (FindingKind::DataRace, "llvm.load", 0)
    );
    assert_eq!(memory, "shared memory 'a'");
}
