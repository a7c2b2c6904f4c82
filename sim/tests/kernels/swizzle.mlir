// y = x between two rows of zeros above and below, by tensor copies of 8 rows of 32 f32 that hang over both edges of x
// and lie swizzled by 128 bytes in shared memory: chunk c of 16 bytes of row r is at c ^ (r & 7).
gpu.module @swizzle {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  llvm.mlir.global external @box() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.func @swizzle(%x: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>, nvvm.grid_constant, llvm.align = 64 : i64},
                     %y: !llvm.ptr<1> {llvm.align = 16 : i64})
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c3 = llvm.mlir.constant(3 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %c7 = llvm.mlir.constant(7 : i32) : i32
    %c8 = llvm.mlir.constant(8 : i32) : i32
    %bytes = llvm.mlir.constant(1024 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %box = llvm.mlir.addressof @box : !llvm.ptr<3>
    %top = llvm.mul %cta, %c8 : i32
    %first = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %first, ^init, ^started
  ^init:
    %row = llvm.sub %top, %c2 : i32
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.tensor.shared.cluster.global %box, %x, %bar, box[%c0, %row] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
    llvm.br ^started
  ^started:
    nvvm.barrier
    llvm.br ^wait
  ^wait:
    %there = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^copy, ^wait
  ^copy:
    %r = llvm.lshr %tid, %c3 : i32
    %c = llvm.and %tid, %c7 : i32
    %moved = llvm.xor %c, %r : i32
    %line = llvm.shl %r, %c3 : i32
    %chunk = llvm.or %line, %moved : i32
    %offset = llvm.shl %chunk, %c4 : i32
    %place = llvm.getelementptr %box[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %v = llvm.load %place {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    %yrow = llvm.add %top, %r : i32
    %yline = llvm.shl %yrow, %c5 : i32
    %column = llvm.shl %c, %c2 : i32
    %index = llvm.add %yline, %column : i32
    %to = llvm.getelementptr %y[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %v, %to {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>
    llvm.return
  }
}
