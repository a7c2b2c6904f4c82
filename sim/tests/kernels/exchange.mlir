// y[cta] = the sum of x over both CTAs of a cluster of 2, each of which owns 32 elements: partial sums travel by
// st.async to the peer, which waits for their bytes on its mbarrier.
gpu.module @exchange {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x i64>
  llvm.mlir.global internal @peer() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<1 x f32>
  llvm.func @exchange(%x: !llvm.ptr<1> {llvm.align = 4 : i64}, %y: !llvm.ptr<1> {llvm.align = 4 : i64})
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 32, 1, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c5 = llvm.mlir.constant(5 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %cta = nvvm.read.ptx.sreg.ctaid.x : i32
    %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %slot = llvm.mlir.addressof @peer : !llvm.ptr<3>
    %first = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %first, ^init, ^started
  ^init:
    nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    nvvm.mbarrier.arrive.expect_tx %bar, %c4 : !llvm.ptr<3>, i32
    llvm.br ^started
  ^started:
    nvvm.cluster.arrive.relaxed {aligned}
    %row = llvm.shl %cta, %c5 : i32
    %index = llvm.add %row, %tid : i32
    %from = llvm.getelementptr %x[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %from : !llvm.ptr<1> -> f32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %c16 = llvm.mlir.constant(16 : i32) : i32
    %c8 = llvm.mlir.constant(8 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %s16 = nvvm.shfl.sync bfly %all, %v, %c16, %c31 : f32 -> f32
    %v16 = llvm.fadd %v, %s16 : f32
    %s8 = nvvm.shfl.sync bfly %all, %v16, %c8, %c31 : f32 -> f32
    %v8 = llvm.fadd %v16, %s8 : f32
    %s4 = nvvm.shfl.sync bfly %all, %v8, %c4, %c31 : f32 -> f32
    %v4 = llvm.fadd %v8, %s4 : f32
    %s2 = nvvm.shfl.sync bfly %all, %v4, %c2, %c31 : f32 -> f32
    %v2 = llvm.fadd %v4, %s2 : f32
    %s1 = nvvm.shfl.sync bfly %all, %v2, %c1, %c31 : f32 -> f32
    %v1 = llvm.fadd %v2, %s1 : f32
    nvvm.cluster.wait {aligned}
    llvm.cond_br %first, ^send, ^wait
  ^send:
    %other = llvm.xor %rank, %c1 : i32
    %there = nvvm.mapa %slot, %other : !llvm.ptr<3> -> !llvm.ptr<7>
    %therebar = nvvm.mapa %bar, %other : !llvm.ptr<3> -> !llvm.ptr<7>
    %a = llvm.ptrtoint %there : !llvm.ptr<7> to i32
    %b = llvm.ptrtoint %therebar : !llvm.ptr<7> to i32
    %bits = llvm.bitcast %v1 : f32 to i32
    nvvm.inline_ptx "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];" ro(%a, %bits, %b : i32, i32, i32)
    llvm.br ^wait
  ^wait:
    %got = nvvm.mbarrier.try_wait %bar, %c0 : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %got, ^add, ^wait
  ^add:
    %p = llvm.load %slot : !llvm.ptr<3> -> f32
    %total = llvm.fadd %v1, %p : f32
    llvm.cond_br %first, ^store, ^done
  ^store:
    %to = llvm.getelementptr %y[%cta] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    llvm.store %total, %to : f32, !llvm.ptr<1>
    llvm.br ^done
  ^done:
    llvm.return
  }
}
