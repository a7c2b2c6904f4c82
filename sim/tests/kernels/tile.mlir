// y = 2 x for a tile of 8 rows of 32 f32 at row 8 * ctaid, by tensor copies in and out of shared memory.
gpu.module @tile {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  llvm.mlir.global external @box() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
  llvm.func @tile(%from: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant, llvm.align = 64 : i64},
                  %to: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant, llvm.align = 64 : i64})
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c8 = llvm.mlir.constant(8 : i32) : i32
    %bytes = llvm.mlir.constant(1024 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %row = llvm.mul %cta, %c8 : i32
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %first = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %box, %from, %bar, box[%c0, %row] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    llvm.br ^started
  ^started:
    nvvm.barrier
    llvm.br ^wait
  ^wait:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^double, ^wait
  ^double:
    %index = llvm.mul %tid, %c4 : i32
    %place = llvm.getelementptr %box[%index] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %place {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    %w = llvm.fadd %v, %v : vector<4xf32>
    llvm.store %w, %place {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.barrier
    llvm.cond_br %first, ^store, ^done
  ^store:
    nvvm.cp.async.bulk.tensor.global.shared.cta %to, %box, box[%c0, %row] : !llvm.ptr, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    nvvm.cp.async.bulk.wait_group 0 {read}
    llvm.br ^done
  ^done:
    llvm.return
  }
}
