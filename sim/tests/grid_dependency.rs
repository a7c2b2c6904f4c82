//! Programmatic dependent launch: what kernels ahead in the stream write is read after `griddepcontrol.wait`, and not by
//! loads that promise constant memory, which ptxas may move above the wait.

use norma_simulator::{
    Argument, Buffer, BufferAccess, Contents, FindingKind, Launch, Memory, Options, decode, run,
};

/// Runs a thread that copies an element of `x`, which a kernel ahead writes, to `y`.
fn findings(body: &str) -> Vec<FindingKind> {
    let text = format!(
        "gpu.module @m {{
          llvm.func @copy(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
              attributes {{gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 1, 1, 1>}} {{
            {body}
            llvm.store %v, %y : f32, !llvm.ptr<1>
            llvm.return
          }}
        }}"
    );
    let program = decode::parse(&text, "copy.mlir").expect("a kernel that decodes");
    let mut memory = Memory::new(0);
    for (name, access, contents) in [
        ("x", BufferAccess::Input, Contents::Bytes(vec![0; 4])),
        ("y", BufferAccess::Output, Contents::Uninitialized(4)),
    ] {
        memory.add(Buffer {
            name: name.to_owned(),
            access,
            contents,
            align: 16,
            pending: access == BufferAccess::Input,
        });
    }
    let launch = Launch {
        kernel: "copy".to_owned(),
        grid: [1; 3],
        block: [1; 3],
        cluster: [1; 3],
        shared_bytes: 0,
        programmatic: true,
        arguments: vec![Argument::Buffer(0), Argument::Buffer(1)],
    };
    let outcome = run(&program, &launch, &mut memory, &Options::default(), &mut |_| {}).expect("a launch");
    outcome.findings.iter().map(|finding| finding.kind).collect()
}

#[test]
fn reads_behind_the_wait_are_right() {
    let body = "nvvm.griddepcontrol wait
                %v = llvm.load volatile %x : !llvm.ptr<1> -> f32";
    assert_eq!(findings(body), []);
}

#[test]
fn reads_and_writes_ahead_of_the_wait_are_found() {
    let body = "%v = llvm.load volatile %x : !llvm.ptr<1> -> f32";
    assert_eq!(findings(body), [FindingKind::GridDependency; 2]);
    let body = "%v = llvm.load volatile %x : !llvm.ptr<1> -> f32
                nvvm.griddepcontrol wait";
    assert_eq!(findings(body), [FindingKind::GridDependency]);
}

#[test]
fn constant_loads_are_found_even_behind_the_wait() {
    let body = "nvvm.griddepcontrol wait
                %v = llvm.load %x invariant : !llvm.ptr<1> -> f32";
    assert_eq!(findings(body), [FindingKind::GridDependency]);
}
