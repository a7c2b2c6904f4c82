// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-draw-tiles | FileCheck %s
//
// One thread draws the next tile while the CTA works on the current one.

// The parity of the mbarrier's phase alternates with each step. Loops that continue one another have a mailbox each.
// CHECK-LABEL: gpu.func @walk
// CHECK-SAME: (%[[COUNTER:.*]]: memref<1xi64>, %[[CTA:.*]]: index, %{{.*}}: index, %[[TILES:.*]]: index, %[[CTAS:.*]]: index)
// CHECK-COUNT-2: gl.mbarrier_init %{{.*}}, 1 : <1>
// CHECK: %[[EVEN:.*]] = arith.constant false
// CHECK: %[[REST:.*]]:2 = scf.while (%{{.*}} = %[[CTA]], %{{.*}} = %[[EVEN]]) : (index, i1) -> (index, i1)
// CHECK: ^bb0(%[[TILE:.*]]: index, %[[PARITY:.*]]: i1):
// CHECK: gl.draw_tile %[[COUNTER]] of %[[TILES]] behind %[[CTAS]], %[[NUMBERS:.*]], %[[DRAWN:.*]][%[[SLOT:.*]]] :
// CHECK: "test.use"(%[[TILE]])
// CHECK: %[[NEXT:.*]] = gl.await_tile %[[NUMBERS]], %[[DRAWN]][%[[SLOT]]], %[[PARITY]]
// CHECK: %[[OTHER:.*]] = arith.xori %[[PARITY]], %{{.*}} : i1
// CHECK: scf.yield %[[NEXT]], %[[OTHER]] : index, i1
// CHECK: scf.while (%{{.*}} = %[[REST]]#0, %{{.*}} = %{{.*}}) : (index, i1) -> (index, i1)
// CHECK-NOT: gl.next_tile
gpu.module @kernels {
  gpu.func @walk(%counter: memref<1xi64>, %cta: index, %whole: index, %tiles: index, %ctas: index) kernel attributes {gl.num_warps = 4 : i64} {
    %rest = scf.while (%i = %cta) : (index) -> index {
      %more = arith.cmpi ult, %i, %whole : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      "test.use"(%i) : (index) -> ()
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      scf.yield %next : index
    }
    scf.while (%i = %rest) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      "test.use"(%i) : (index) -> ()
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      scf.yield %next : index
    }
    gpu.return
  }
}
