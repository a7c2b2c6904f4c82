// y = x reversed within tiles of 64 f32, two of which are under way by cp.async at any time.
gpu.module @stream {
  llvm.mlir.global internal @stage() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<128 x f32>
  llvm.func @stream(%x: !llvm.ptr<1> {llvm.align = 4 : i64}, %y: !llvm.ptr<1> {llvm.align = 4 : i64}, %tiles: i32)
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c6 = llvm.mlir.constant(6 : i32) : i32
    %c63 = llvm.mlir.constant(63 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %stage = llvm.mlir.addressof @stage : !llvm.ptr<3>
    %mine0 = llvm.getelementptr %stage[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %from0 = llvm.getelementptr %x[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    nvvm.cp.async.shared.global %mine0, %from0, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    nvvm.cp.async.commit.group
    llvm.br ^head(%c0 : i32)
  ^head(%i: i32):
    %more = llvm.icmp "ult" %i, %tiles : i32
    llvm.cond_br %more, ^ahead, ^done
  ^ahead:
    %next = llvm.add %i, %c1 : i32
    %last = llvm.icmp "uge" %next, %tiles : i32
    llvm.cond_br %last, ^commit, ^issue
  ^issue:
    %nslot = llvm.and %next, %c1 : i32
    %nbase = llvm.shl %nslot, %c6 : i32
    %nplace = llvm.add %nbase, %tid : i32
    %nmine = llvm.getelementptr %stage[%nplace] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %nrow = llvm.shl %next, %c6 : i32
    %nindex = llvm.add %nrow, %tid : i32
    %nfrom = llvm.getelementptr %x[%nindex] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    nvvm.cp.async.shared.global %nmine, %nfrom, 4, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.br ^commit
  ^commit:
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 1
    nvvm.barrier
    %slot = llvm.and %i, %c1 : i32
    %base = llvm.shl %slot, %c6 : i32
    %mirror = llvm.sub %c63, %tid : i32
    %place = llvm.add %base, %mirror : i32
    %theirs = llvm.getelementptr %stage[%place] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %theirs : !llvm.ptr<3> -> f32
    %row = llvm.shl %i, %c6 : i32
    %index = llvm.add %row, %tid : i32
    %to = llvm.getelementptr %y[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %to : f32, !llvm.ptr<1>
    nvvm.barrier
    llvm.br ^head(%next : i32)
  ^done:
    llvm.return
  }
}
