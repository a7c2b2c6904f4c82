// y = 2 x, tile after tile of 128 f32: warp 0 fills a ring of two stages by bulk copies, warp 1 empties it and sends
// its results off by bulk copies of its own.
gpu.module @ring {
  llvm.mlir.global internal @full() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.mlir.global internal @empty() {addr_space = 3 : i32, alignment = 8 : i64} : !llvm.array<2 x i64>
  llvm.mlir.global internal @stage() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<1024 x i8>
  llvm.mlir.global internal @out() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<512 x i8>
  llvm.func @ring(%x: !llvm.ptr<1> {llvm.align = 16 : i64}, %y: !llvm.ptr<1> {llvm.align = 16 : i64}, %tiles: i32)
      attributes {gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %c2 = llvm.mlir.constant(2 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c31 = llvm.mlir.constant(31 : i32) : i32
    %c32 = llvm.mlir.constant(32 : i32) : i32
    %c128 = llvm.mlir.constant(128 : i32) : i32
    %c512 = llvm.mlir.constant(512 : i32) : i32
    %all = llvm.mlir.constant(-1 : i32) : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %lane = llvm.and %tid, %c31 : i32
    %full0 = llvm.mlir.addressof @full : !llvm.ptr<3>
    %empty0 = llvm.mlir.addressof @empty : !llvm.ptr<3>
    %stage0 = llvm.mlir.addressof @stage : !llvm.ptr<3>
    %out = llvm.mlir.addressof @out : !llvm.ptr<3>
    %first = llvm.icmp "eq" %tid, %c0 : i32
    llvm.cond_br %first, ^init, ^started
  ^init:
    %full1 = llvm.getelementptr %full0[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    %empty1 = llvm.getelementptr %empty0[1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i64
    nvvm.mbarrier.init %full0, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %full1, %c1 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty0, %c32 : !llvm.ptr<3>, i32
    nvvm.mbarrier.init %empty1, %c32 : !llvm.ptr<3>, i32
    nvvm.fence.mbarrier.init
    llvm.br ^started
  ^started:
    nvvm.barrier
    %producer = llvm.icmp "ult" %tid, %c32 : i32
    llvm.cond_br %producer, ^elect, ^consume(%c0 : i32)
  ^elect:
    %elected = nvvm.elect.sync -> i1
    llvm.cond_br %elected, ^produce(%c0 : i32), ^done
  ^produce(%p: i32):
    %pmore = llvm.icmp "ult" %p, %tiles : i32
    llvm.cond_br %pmore, ^fill, ^done
  ^fill:
    %pslot = llvm.and %p, %c1 : i32
    %pround = llvm.lshr %p, %c1 : i32
    %pturn = llvm.and %pround, %c1 : i32
    %pphase = llvm.xor %pturn, %c1 : i32
    %pfull = llvm.getelementptr %full0[%pslot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %pempty = llvm.getelementptr %empty0[%pslot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    llvm.br ^room
  ^room:
    %free = nvvm.mbarrier.try_wait %pempty, %pphase : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %free, ^copy, ^room
  ^copy:
    %poffset = llvm.mul %pslot, %c512 : i32
    %pstage = llvm.getelementptr %stage0[%poffset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    %pelement = llvm.mul %p, %c128 : i32
    %source = llvm.getelementptr %x[%pelement] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    nvvm.mbarrier.arrive.expect_tx %pfull, %c512 : !llvm.ptr<3>, i32
    nvvm.cp.async.bulk.shared.cluster.global %pstage, %source, %pfull, %c512 : !llvm.ptr<3>, !llvm.ptr<1>
    %pnext = llvm.add %p, %c1 : i32
    llvm.br ^produce(%pnext : i32)
  ^consume(%c: i32):
    %cmore = llvm.icmp "ult" %c, %tiles : i32
    llvm.cond_br %cmore, ^take, ^drain
  ^take:
    %cslot = llvm.and %c, %c1 : i32
    %cround = llvm.lshr %c, %c1 : i32
    %cphase = llvm.and %cround, %c1 : i32
    %cfull = llvm.getelementptr %full0[%cslot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    %cempty = llvm.getelementptr %empty0[%cslot] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i64
    llvm.br ^filled
  ^filled:
    %there = nvvm.mbarrier.try_wait %cfull, %cphase : !llvm.ptr<3>, i32 -> i1
    llvm.cond_br %there, ^double, ^filled
  ^double:
    %coffset = llvm.mul %cslot, %c128 : i32
    %clane = llvm.mul %lane, %c4 : i32
    %cindex = llvm.add %coffset, %clane : i32
    %from = llvm.getelementptr %stage0[%cindex] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %v = llvm.load %from {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
    %state = nvvm.mbarrier.arrive %cempty : !llvm.ptr<3> -> i64
    %w = llvm.fadd %v, %v : vector<4xf32>
    nvvm.cp.async.bulk.wait_group 0 {read}
    nvvm.bar.warp.sync %all : i32
    %to = llvm.getelementptr %out[%clane] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    llvm.store %w, %to {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
    nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
    nvvm.bar.warp.sync %all : i32
    %sends = nvvm.elect.sync -> i1
    llvm.cond_br %sends, ^send, ^sent
  ^send:
    %celement = llvm.mul %c, %c128 : i32
    %target = llvm.getelementptr %y[%celement] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    nvvm.cp.async.bulk.global.shared.cta %target, %out, %c512 : !llvm.ptr<1>, !llvm.ptr<3>
    nvvm.cp.async.bulk.commit.group
    llvm.br ^sent
  ^sent:
    %cnext = llvm.add %c, %c1 : i32
    llvm.br ^consume(%cnext : i32)
  ^drain:
    nvvm.cp.async.bulk.wait_group 0 {read}
    llvm.br ^done
  ^done:
    llvm.return
  }
}
