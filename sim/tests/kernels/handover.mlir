// y[i] = x[31 - i] by two warps: warp 0 writes shared memory and arrives at a named barrier, warp 1 waits there and
// reads.
gpu.module @handover {
  llvm.mlir.global internal @slot() {addr_space = 3 : i32, alignment = 4 : i64} : !llvm.array<32 x f32>
  llvm.func @handover(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>)
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c64 = llvm.mlir.constant(64 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %lane = llvm.and %tid, %c31 : i32
    %slot = llvm.mlir.addressof @slot : !llvm.ptr<3>
    %writes = llvm.icmp "ult" %tid, %c32 : i32
    llvm.cond_br %writes, ^write, ^read
  ^write:
    %from = llvm.getelementptr %x[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    %mine = llvm.getelementptr %slot[%lane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %v, %mine : f32, !llvm.ptr<3>
    nvvm.barrier.arrive id = %c1 number_of_threads = %c64
    llvm.br ^done
  ^read:
    nvvm.barrier id = %c1 number_of_threads = %c64
    %mirror = llvm.sub %c31, %lane : i32
    %theirs = llvm.getelementptr %slot[%mirror] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %w = llvm.load %theirs : !llvm.ptr<3> -> f32
    %to = llvm.getelementptr %y[%lane] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %w, %to : f32, !llvm.ptr<1>
    llvm.br ^done
  ^done:
    llvm.return
  }
}
