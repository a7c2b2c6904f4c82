// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-pipeline | FileCheck %s
//
// Copies to shared memory become asynchronous, in loops several steps ahead.

// Loops that continue one another share a ring, whose copies have the guards of the last loop: of two rows, those that exist,
// which are a prefix of the tile.
// CHECK-LABEL: gpu.func @peeled
// CHECK-DAG: %[[RING:.*]] = gl.local_alloc : <3x2x64xbf16, #gl.plain<order = [2, 1, 0]>>
// CHECK-DAG: gl.mbarrier_init %[[FULL:.*]], 1 : <3>
// CHECK-DAG: gl.mbarrier_init %[[EMPTY:.*]], 4 : <3>
// CHECK: gl.fence_mbarrier_init
// The prologue fills the stages.
// CHECK: scf.for %[[J:.*]] = %[[ZERO:.*]] to %{{.*}} step
// CHECK: affine.apply affine_map<(d0)[s0] -> (-(d0 * 2 - s0))>(%[[J]])[%{{.*}}]
// CHECK: gl.mbarrier_expect %[[FULL]]
// CHECK: gl.bulk_load %{{.*}} at affine_map<(d0) -> (d0 * 2, 0)>(%[[J]]), %{{.*}}, %[[FULL]][%{{.*}}] count
// CHECK: scf.for %[[I:.*]] = %[[ZERO]] to %[[MAIN:.*]] step
// CHECK: gl.mbarrier_wait %[[FULL]][%[[STAGE:.*]]], %[[PARITY:.*]] : <3>
// CHECK: %[[SLOT:.*]] = gl.memdesc_index %[[RING]][%[[STAGE]]]
// CHECK: gl.local_load %[[SLOT]] :
// CHECK: gl.local_load %[[SLOT]] phase 1
// CHECK: gl.mbarrier_arrive %[[EMPTY]][%[[STAGE]]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[ALL:.*]] : index
// CHECK: scf.if %[[MORE]]
// CHECK: gl.mbarrier_wait %[[EMPTY]][%[[STAGE]]], %[[PARITY]]
// CHECK: gl.bulk_load {{.*}}(%[[NEXT]])
// CHECK: scf.for %{{.*}} = %[[MAIN]] to %[[ALL]] step
// CHECK: gl.mbarrier_wait %[[FULL]]
// CHECK: gl.local_load %{{.*}} where
// CHECK: gl.mbarrier_arrive %[[EMPTY]]
// CHECK-NOT: gl.copy_to_shared
#rows = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [0, 0]], block = []>
!tile = !gl.memdesc<2x64xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @peeled(%x: memref<?x64xbf16>, %main: index, %all: index) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 3 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %main step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i), %m by bulk : memref<?x64xbf16>, !tile
      %t = gl.local_load %m : !tile -> tensor<2x64xbf16, #rows>
      "test.use"(%t) : (tensor<2x64xbf16, #rows>) -> ()
      %u = gl.local_load %m phase 1 : !tile -> tensor<2x64xbf16, #rows>
      "test.use"(%u) : (tensor<2x64xbf16, #rows>) -> ()
    }
    scf.for %i = %main to %all step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i) where affine_map<(i, r, n)[s0] -> (i * 2 + r, s0)>[%rows], %m by bulk
          : memref<?x64xbf16>, !tile
      %t = gl.local_load %m where affine_map<(i, r, n)[s0] -> (i * 2 + r, s0)>(%i)[%rows] : !tile -> tensor<2x64xbf16, #rows>
      "test.use"(%t) : (tensor<2x64xbf16, #rows>) -> ()
    }
    gpu.return
  }
}

// -----

// Rows with gaps between them are copied one by one, and a row shorter than the tile is copied up to its end.
// CHECK-LABEL: gpu.func @runs
// CHECK: gl.mbarrier_expect
// CHECK: gl.bulk_load %{{.*}} at affine_map<() -> (0, 0)>(), %{{.*}} count %{{.*}} : memref<2x40xbf16>
// CHECK: gl.bulk_load %{{.*}} at affine_map<() -> (1, 0)>(), %{{.*}} count %{{.*}} : memref<2x40xbf16>
// CHECK-NOT: gl.bulk_load
// CHECK: gl.mbarrier_wait
// CHECK: gl.local_load
#rows = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [0, 0]], block = []>
!tile = !gl.memdesc<2x64xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @runs(%x: memref<2x40xbf16>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %m = gl.local_alloc : !tile
    gl.copy_to_shared %x at affine_map<(r, n) -> (r, n)>() where affine_map<(r, n) -> (n, 40)>[], %m by bulk : memref<2x40xbf16>, !tile
    %t = gl.local_load %m where affine_map<(r, n) -> (n, 40)>()[] : !tile -> tensor<2x64xbf16, #rows>
    "test.use"(%t) : (tensor<2x64xbf16, #rows>) -> ()
    gpu.return
  }
}

// -----

// If tiles are drawn, the loop carries the tiles of all stages and the step number. The first tiles follow from the CTA's
// number; each step draws the tile that refills its stage, numbered after the tiles that the CTAs begin with.
// CHECK-LABEL: gpu.func @drawn
// CHECK-SAME: (%{{.*}}: memref<?x64xbf16>, %[[COUNTER:.*]]: memref<1xi64>, %[[CTA:.*]]: index, %[[TILES:.*]]: index, %[[CTAS:.*]]: index)
// CHECK-DAG: %[[NUMBERS:.*]] = gl.local_alloc : <2x1xindex
// CHECK-DAG: gl.mbarrier_init %[[EMPTY:.*]], 4 : <2>
// CHECK: %[[SECOND:.*]] = arith.addi %[[CTA]], %{{.*}} : index
// The prologue fills the stages for which there are tiles.
// CHECK: scf.for %[[STAGE:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[FIRST:.*]] = arith.addi %[[CTA]], %{{.*}} : index
// CHECK: %[[IS_THERE:.*]] = arith.cmpi ult, %[[FIRST]], %[[TILES]] : index
// CHECK: scf.if %[[IS_THERE]]
// CHECK: gl.bulk_load %{{.*}} at affine_map<(d0) -> (d0, 0)>(%[[FIRST]])
// CHECK: %[[DEALT:.*]] = arith.muli %[[CTAS]], %{{.*}} : index
// CHECK: scf.while (%{{.*}} = %[[CTA]], %{{.*}} = %[[SECOND]], %{{.*}} = %{{.*}}) : (index, index, index)
// CHECK: ^bb0(%{{.*}}: index, %[[LATER:.*]]: index, %[[STEP:.*]]: index):
// CHECK: gl.draw_tile %[[COUNTER]] of %[[TILES]] behind %[[DEALT]], %[[NUMBERS]], %[[DRAWN:.*]][%[[SLOT:.*]]] :
// CHECK: gl.mbarrier_wait %{{.*}}[%[[SLOT]]], %[[PARITY:.*]] :
// CHECK: gl.local_load
// CHECK: %[[NEXT:.*]] = gl.await_tile %[[NUMBERS]], %[[DRAWN]][%[[SLOT]]], %[[PARITY]]
// CHECK: gl.mbarrier_arrive %[[EMPTY]][%[[SLOT]]]
// CHECK: %[[MORE:.*]] = arith.cmpi ult, %[[NEXT]], %[[TILES]] : index
// CHECK: scf.if %[[MORE]]
// CHECK: gl.mbarrier_wait %[[EMPTY]][%[[SLOT]]], %[[PARITY]]
// CHECK: gl.bulk_load {{.*}}(%[[NEXT]])
// CHECK: %[[COUNT:.*]] = arith.addi %[[STEP]], %{{.*}} : index
// CHECK: scf.yield %[[LATER]], %[[NEXT]], %[[COUNT]] : index, index, index
// CHECK-NOT: gl.next_tile
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @drawn(%x: memref<?x64xbf16>, %counter: memref<1xi64>, %cta: index, %tiles: index, %ctas: index) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 2 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 256]>} {
    scf.while (%i = %cta) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by bulk : memref<?x64xbf16>, !tile
      %t = gl.local_load %m : !tile -> tensor<64xbf16, #row>
      "test.use"(%t) : (tensor<64xbf16, #row>) -> ()
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// In a cluster of two CTAs the mailbox has two slots for each of the two stages.
// CHECK-LABEL: gpu.func @drawn_by_a_cluster
// CHECK-DAG: %[[NUMBERS:.*]] = gl.local_alloc : <4x1xindex
// CHECK: %[[FOUR:.*]] = arith.constant 4 : i32
// CHECK: %[[REST:.*]] = arith.remui %{{.*}}, %[[FOUR]] : i32
// CHECK: %[[SLOT:.*]] = arith.index_castui %[[REST]] : i32 to index
// CHECK: %[[ROUND:.*]] = arith.divui %{{.*}}, %[[FOUR]] : i32
// CHECK: %[[ODD:.*]] = arith.andi %[[ROUND]]
// CHECK: %[[PARITY:.*]] = arith.cmpi ne, %[[ODD]]
// CHECK: gl.draw_tile %{{.*}}, %[[NUMBERS]], %[[DRAWN:.*]][%[[SLOT]]] : {{.*}}, <4>
// CHECK: gl.mbarrier_wait %{{.*}}[%[[STAGE:.*]]], %{{.*}} : <2>
// CHECK: gl.await_tile %[[NUMBERS]], %[[DRAWN]][%[[SLOT]]], %[[PARITY]]
// CHECK: gl.mbarrier_arrive %{{.*}}[%[[STAGE]]] : <2>
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = [[0]]>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @drawn_by_a_cluster(%x: memref<?x64xbf16>, %counter: memref<1xi64>, %first: index, %tiles: index, %clusters: index) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 2 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 256], cluster = 2>} {
    scf.while (%i = %first) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by bulk : memref<?x64xbf16>, !tile
      %t = gl.local_load %m : !tile -> tensor<64xbf16, #row>
      "test.use"(%t) : (tensor<64xbf16, #row>) -> ()
      %next = gl.next_tile %counter of %tiles behind %clusters : memref<1xi64>
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// Steps alternate between two memories to send from: a step waits for the group of the step before the last, and its stores
// form one group. Loops that continue one another use the same memories, and the kernel ends once all groups are complete.
// CHECK-LABEL: gpu.func @sent
// CHECK: %[[MEMORY:.*]] = gl.local_alloc : <2x2x64xbf16, #gl.plain<order = [2, 1, 0]>>
// CHECK-NOT: gl.local_alloc
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[MAIN:.*]] step
// CHECK: gl.bulk_wait 1 read
// CHECK: %[[TURN:.*]] = arith.remui %[[I]], %{{.*}} : index
// CHECK: %[[PLACE:.*]] = gl.memdesc_index %[[MEMORY]][%[[TURN]]]
// CHECK: gl.local_store %{{.*}}, %[[PLACE]]
// CHECK: gl.fence_async
// CHECK: gl.bulk_store %[[PLACE]], %{{.*}} at affine_map<(d0) -> (d0 * 2, 0)>(%[[I]])
// CHECK: gl.bulk_commit
// CHECK: scf.for %{{.*}} = %[[MAIN]] to
// CHECK: gl.bulk_wait 1 read
// CHECK: gl.memdesc_index %[[MEMORY]]
// CHECK: gl.bulk_store {{.*}} count
// CHECK: gl.bulk_commit
// CHECK: gl.bulk_wait 0{{$}}
// CHECK-NEXT: gpu.return
#rows = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [0, 0]], block = []>
!tile = !gl.memdesc<2x64xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @sent(%y: memref<?x64xbf16>, %main: index, %all: index, %t: tensor<2x64xbf16, #rows>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = memref.dim %y, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %main step %c1 {
      %m = gl.local_alloc : !tile
      gl.local_store %t, %m : tensor<2x64xbf16, #rows>, !tile
      gl.copy_from_shared %m, %y at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i) by bulk : !tile, memref<?x64xbf16>
    }
    scf.for %i = %main to %all step %c1 {
      %m = gl.local_alloc : !tile
      gl.local_store %t, %m : tensor<2x64xbf16, #rows>, !tile
      gl.copy_from_shared %m, %y at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i) where affine_map<(i, r, n)[s0] -> (i * 2 + r, s0)>[%rows] by bulk
          : !tile, memref<?x64xbf16>
    }
    gpu.return
  }
}

// -----

// A loop over drawn tiles carries which memory is next; stores outside of loops are sent once.
// CHECK-LABEL: gpu.func @drawn_and_sent
// CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (index, index) -> (index, index)
// CHECK: ^bb0(%{{.*}}: index, %[[TURN:.*]]: index):
// CHECK: gl.bulk_wait 1 read
// CHECK: gl.memdesc_index %{{.*}}[%[[TURN]]]
// CHECK: gl.bulk_commit
// CHECK: %[[OTHER:.*]] = arith.subi %{{.*}}, %[[TURN]] : index
// CHECK: scf.yield %{{.*}}, %[[OTHER]] : index, index
// CHECK: gl.local_store %{{.*}}, %[[ONCE:.*]] :
// CHECK: gl.fence_async
// CHECK: gl.bulk_store %[[ONCE]]
// CHECK: gl.bulk_commit
// CHECK: gl.bulk_wait 0{{$}}
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @drawn_and_sent(%y: memref<?x64xbf16>, %z: memref<64xbf16>, %counter: memref<1xi64>, %cta: index, %tiles: index, %ctas: index, %t: tensor<64xbf16, #row>)
      kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 16, 256]>} {
    scf.while (%i = %cta) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %m = gl.local_alloc : !tile
      gl.local_store %t, %m : tensor<64xbf16, #row>, !tile
      gl.copy_from_shared %m, %y at affine_map<(i, n) -> (i, n)>(%i) by bulk : !tile, memref<?x64xbf16>
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      scf.yield %next : index
    }
    %m = gl.local_alloc : !tile
    gl.local_store %t, %m : tensor<64xbf16, #row>, !tile
    gl.copy_from_shared %m, %z at affine_map<(n) -> (n)>() by bulk : !tile, memref<64xbf16>
    gpu.return
  }
}

// -----

// With cp.async each step commits a group, waits for its own group and for all threads, and issues the copies of a later step: as
// many steps ahead as there are stages, less one. Masked elements are zero in memory, so loads with the same guards need none.
// CHECK-LABEL: gpu.func @by_groups
// CHECK-SAME: %{{.*}}: index, %[[ALL:.*]]: index)
// CHECK-DAG: %[[RING:.*]] = gl.local_alloc : <3x2x64xbf16, #gl.plain<order = [2, 1, 0]>>
// CHECK-NOT: mbarrier
// The prologue fills all stages but one.
// CHECK: %[[AHEAD:.*]] = arith.constant 2 : index
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %[[AHEAD]] step
// CHECK: %[[FIRST:.*]] = arith.addi %[[ZERO:.*]], %[[J]] : index
// CHECK: arith.cmpi slt, %[[FIRST]], %[[ALL]]
// CHECK: scf.if
// CHECK: %[[SLOT:.*]] = gl.memdesc_index %[[RING]][%[[J]]]
// CHECK: gl.async_copy %{{.*}}(%[[FIRST]]) where affine_map<(d0, d1, d2)[s0] -> (d0 * 2 + d1, s0)>[%{{.*}}], %[[SLOT]] :
// CHECK: }
// CHECK-NEXT: gl.async_commit
// CHECK: scf.for %[[I:.*]] = %[[ZERO]] to %[[MAIN:.*]] step
// CHECK-NEXT: gl.async_wait 1
// CHECK-NEXT: gl.barrier
// CHECK: %[[LATER:.*]] = arith.addi %[[I]], %{{.*}} : index
// CHECK: arith.cmpi slt, %[[LATER]], %[[ALL]]
// CHECK: scf.if
// CHECK: gl.async_copy %{{.*}}(%[[LATER]]) where
// CHECK: gl.async_commit
// CHECK: %[[STAGE:.*]] = gl.memdesc_index %[[RING]]
// CHECK: gl.local_load %[[STAGE]] :
// CHECK: scf.for %{{.*}} = %[[MAIN]] to %[[ALL]] step
// CHECK-NEXT: gl.async_wait 1
// CHECK: gl.local_load %{{[^ ]*}} :
// CHECK-NOT: gl.copy_to_shared
#rows = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [0, 0]], block = []>
!tile = !gl.memdesc<2x64xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @by_groups(%x: memref<?x64xbf16>, %main: index, %all: index) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 3 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = memref.dim %x, %c0 : memref<?x64xbf16>
    scf.for %i = %c0 to %main step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i), %m by cp_async : memref<?x64xbf16>, !tile
      %t = gl.local_load %m : !tile -> tensor<2x64xbf16, #rows>
      "test.use"(%t) : (tensor<2x64xbf16, #rows>) -> ()
    }
    scf.for %i = %main to %all step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i) where affine_map<(i, r, n)[s0] -> (i * 2 + r, s0)>[%rows], %m by cp_async
          : memref<?x64xbf16>, !tile
      %t = gl.local_load %m where affine_map<(i, r, n)[s0] -> (i * 2 + r, s0)>(%i)[%rows] : !tile -> tensor<2x64xbf16, #rows>
      "test.use"(%t) : (tensor<2x64xbf16, #rows>) -> ()
    }
    gpu.return
  }
}

// -----

// With one stage, a step waits for the copies that it has issued itself.
// CHECK-LABEL: gpu.func @one_stage
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: gl.async_copy
// CHECK-NEXT: gl.async_commit
// CHECK-NEXT: gl.async_wait 0
// CHECK-NEXT: gl.barrier
// CHECK: gl.local_load
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @one_stage(%x: memref<?x64xbf16>, %n: index) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by cp_async : memref<?x64xbf16>, !tile
      %t = gl.local_load %m : !tile -> tensor<64xbf16, #row>
      "test.use"(%t) : (tensor<64xbf16, #row>) -> ()
    }
    gpu.return
  }
}

// -----

// Outside of loops a copy is waited for before its memory is first loaded, and groups committed in between stay in flight. A
// load under other guards than the copy's keeps them.
// CHECK-LABEL: gpu.func @held
// CHECK: gl.async_copy
// CHECK-NEXT: gl.async_commit
// CHECK: gl.async_copy
// CHECK-NEXT: gl.async_commit
// CHECK: gl.async_wait 1
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load %{{[^ ]*}} :
// CHECK: gl.async_wait 0
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load %{{[^ ]*}} where
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @held(%x: memref<40xbf16>, %y: memref<40xbf16>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 16]>} {
    %m = gl.local_alloc : !tile
    gl.copy_to_shared %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 40)>[], %m by cp_async : memref<40xbf16>, !tile
    %o = gl.local_alloc : !tile
    gl.copy_to_shared %y at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 40)>[], %o by cp_async : memref<40xbf16>, !tile
    %t = gl.local_load %m where affine_map<(n) -> (n, 40)>()[] : !tile -> tensor<64xbf16, #row>
    "test.use"(%t) : (tensor<64xbf16, #row>) -> ()
    %u = gl.local_load %o where affine_map<(n) -> (n, 20)>()[] : !tile -> tensor<64xbf16, #row>
    "test.use"(%u) : (tensor<64xbf16, #row>) -> ()
    gpu.return
  }
}

// -----

// With tensor maps a tile is copied as boxes that are contiguous in shared memory: a row of 512 columns as two boxes of 256.
// Guards are not needed, and all bytes count.
// CHECK-LABEL: gpu.func @boxes
// CHECK: %[[BYTES:.*]] = arith.constant 2048 : index
// CHECK: gl.mbarrier_expect %{{.*}}, %[[BYTES]]
// CHECK: %[[MAP:.*]] = gl.tensor_map %{{.*}} : <memref<?x500xbf16, {{.*}}>, box = [1, 256]>
// CHECK: %[[ALL:.*]] = gl.memdesc_reshape %{{.*}} : <2x64x8xbf16, {{.*}}> -> <4x1x256xbf16, #gl.plain<order = [2, 1, 0]>>
// CHECK: %[[FIRST:.*]] = gl.memdesc_index %[[ALL]]
// CHECK: %[[ROW:.*]] = affine.apply affine_map<(d0) -> (d0 * 2)>
// CHECK: %[[COLUMN:.*]] = affine.apply affine_map<(d0) -> (0)>
// CHECK: affine.apply affine_map<(d0) -> (d0 * 2)>
// CHECK: affine.apply affine_map<(d0) -> (256)>
// CHECK: affine.apply affine_map<(d0) -> (d0 * 2 + 1)>
// CHECK: affine.apply affine_map<(d0) -> (0)>
// CHECK: affine.apply affine_map<(d0) -> (d0 * 2 + 1)>
// CHECK: affine.apply affine_map<(d0) -> (256)>
// CHECK: gl.tensor_load %[[MAP]][%[[ROW]], %[[COLUMN]]], %[[FIRST]]
// CHECK-COUNT-3: gl.tensor_load %[[MAP]]
// CHECK-NOT: gl.tensor_load
// Rows that fit into one box are copied together.
// CHECK: gl.tensor_map %{{.*}} : <memref<?x56xbf16>, box = [2, 64]>
// CHECK: gl.tensor_load
// CHECK-NOT: gl.tensor_load
#rows = #gl.linear<register = [[0, 0, 1], [0, 0, 2], [0, 0, 4]], lane = [[0, 1, 0], [0, 2, 0], [0, 4, 0], [0, 8, 0], [0, 16, 0]], warp = [[0, 32, 0], [1, 0, 0]], block = []>
#short = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [0, 0]], block = []>
!tile = !gl.memdesc<2x64x8xbf16, #gl.plain<order = [2, 1, 0]>>
!short = !gl.memdesc<2x64xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @boxes(%x: memref<?x500xbf16, strided<[504, 1]>>, %y: memref<?x56xbf16>, %i: index) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 16]>} {
    %m = gl.local_alloc : !tile
    gl.copy_to_shared %x at affine_map<(i, r, t, v) -> (i * 2 + r, t * 8 + v)>(%i) where affine_map<(i, r, t, v) -> (t * 8 + v, 500)>[], %m by tensor
        : memref<?x500xbf16, strided<[504, 1]>>, !tile
    %t = gl.local_load %m where affine_map<(i, r, t, v) -> (t * 8 + v, 500)>(%i)[] : !tile -> tensor<2x64x8xbf16, #rows>
    "test.use"(%t) : (tensor<2x64x8xbf16, #rows>) -> ()
    %o = gl.local_alloc : !short
    gl.copy_to_shared %y at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i), %o by tensor : memref<?x56xbf16>, !short
    %u = gl.local_load %o : !short -> tensor<2x64xbf16, #short>
    "test.use"(%u) : (tensor<2x64xbf16, #short>) -> ()
    gpu.return
  }
}

// -----

// Lanes that read a column of 32 rows of 64 f32, 4 elements at a time, would all meet in 4 banks. With a swizzle over 128 bytes they do not:
// each half of the rows is a box, and the chunks of row r are where their numbers, by exclusive or with r mod 8, would be. Lanes that read
// along rows find different banks already.
// CHECK-LABEL: gpu.func @swizzled_boxes
// CHECK: %[[MEMORY:.*]] = gl.local_alloc : <32x64xf32, #gl.shared_linear<offset = {{\[}}[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 4], [2, 8], [4, 16], [8, 0], [16, 0], [0, 32]]>>
// CHECK: gl.tensor_map %{{.*}} : <memref<?x64xf32>, box = [32, 32], swizzle = 128>
// CHECK: gl.memdesc_reshape %[[MEMORY]] : <32x64xf32, {{.*}}> -> <2x32x32xf32, #gl.plain<order = [2, 1, 0]>>
// CHECK-COUNT-2: gl.tensor_load
// CHECK: gl.local_load %[[MEMORY]]
// CHECK: gl.tensor_map %{{.*}} : <memref<?x64xf32>, box = [32, 64]>
#columns = #gl.linear<register = [[0, 1], [0, 2], [0, 4], [0, 8]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[0, 16], [0, 32]], block = []>
#rows = #gl.linear<register = [[0, 1], [0, 2], [8, 0], [16, 0]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp = [[2, 0], [4, 0]], block = []>
!tile = !gl.memdesc<32x64xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @swizzled_boxes(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %i: index) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16, 16]>} {
    %m = gl.local_alloc : !tile
    gl.copy_to_shared %x at affine_map<(i, r, n) -> (i * 32 + r, n)>(%i), %m by tensor : memref<?x64xf32>, !tile
    %t = gl.local_load %m : !tile -> tensor<32x64xf32, #columns>
    "test.use"(%t) : (tensor<32x64xf32, #columns>) -> ()
    %o = gl.local_alloc : !tile
    gl.copy_to_shared %y at affine_map<(i, r, n) -> (i * 32 + r, n)>(%i), %o by tensor : memref<?x64xf32>, !tile
    %u = gl.local_load %o : !tile -> tensor<32x64xf32, #rows>
    "test.use"(%u) : (tensor<32x64xf32, #rows>) -> ()
    gpu.return
  }
}

// -----

// Boxes go through rings as bulk copies do, including where tiles are drawn.
// CHECK-LABEL: gpu.func @ring_of_boxes
// CHECK: %[[RING:.*]] = gl.local_alloc : <3x64xbf16, {{.*}}>
// CHECK: scf.for
// CHECK: gl.mbarrier_expect
// CHECK: gl.tensor_load
// CHECK: scf.for
// CHECK: gl.mbarrier_wait
// CHECK: gl.local_load
// CHECK: gl.mbarrier_arrive
// CHECK: scf.if
// CHECK: gl.mbarrier_wait
// CHECK: gl.mbarrier_expect
// CHECK: gl.tensor_load
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @ring_of_boxes(%x: memref<?x64xbf16>, %n: index) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 3 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by tensor : memref<?x64xbf16>, !tile
      %t = gl.local_load %m : !tile -> tensor<64xbf16, #row>
      "test.use"(%t) : (tensor<64xbf16, #row>) -> ()
    }
    gpu.return
  }
}

// -----

// Stores of boxes belong to groups as bulk copies do, and guards are not needed.
// CHECK-LABEL: gpu.func @sent_as_boxes
// CHECK: %[[MEMORIES:.*]] = gl.local_alloc : <2x64xbf16, {{.*}}>
// CHECK: scf.for
// CHECK: gl.bulk_wait 1 read
// CHECK: %[[MEMORY:.*]] = gl.memdesc_index %[[MEMORIES]]
// CHECK: gl.local_store %{{.*}}, %[[MEMORY]]
// CHECK: gl.fence_async
// CHECK: %[[MAP:.*]] = gl.tensor_map %{{.*}} : <memref<?x60xbf16, {{.*}}>, box = [1, 64]>
// CHECK: %[[BOX:.*]] = gl.memdesc_index
// CHECK: gl.tensor_store %[[BOX]], %[[MAP]]
// CHECK-NEXT: gl.bulk_commit
// CHECK: gl.bulk_wait 0
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @sent_as_boxes(%y: memref<?x60xbf16, strided<[64, 1]>>, %n: index, %t: tensor<64xbf16, #row>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %m = gl.local_alloc : !tile
      gl.local_store %t, %m : tensor<64xbf16, #row>, !tile
      gl.copy_from_shared %m, %y at affine_map<(i, n) -> (i, n)>(%i) where affine_map<(i, n) -> (n, 60)>[] by tensor : !tile, memref<?x60xbf16, strided<[64, 1]>>
    }
    gpu.return
  }
}

// -----

// Rows of 61 elements begin anywhere, and tiles up to seven elements before them. What the guards admit at the end of a row is copied with the
// other elements of its last 16 bytes, unless the buffer ends within these: its elements are loaded one by one before the bytes are expected.
// CHECK-LABEL: gpu.func @granules
// CHECK: affine.apply affine_map<()[s0] -> ((s0 ceildiv 8) * 8)>
// CHECK: %[[SIZE:.*]] = "memref.dim"(%arg0
// CHECK: affine.apply affine_map<(d0)[s0] -> {{.*}} floordiv 8) * 8)>(%{{.*}})[%[[SIZE]]]
// CHECK: %[[WHOLE:.*]] = arith.maxsi
// CHECK: gl.tail_load %arg0 {{.*}} from %[[WHOLE]] to %{{.*}} : memref<?x61xbf16>
// CHECK: gl.mbarrier_expect
// CHECK: gl.bulk_load %arg0 {{.*}} count %[[WHOLE]]
// CHECK: gl.local_load
#rows = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[0, 0], [0, 0]], block = []>
gpu.module @kernels {
  gpu.func @granules(%x: memref<?x61xbf16>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %row = gpu.block_id x
    %m = gl.local_alloc : !gl.memdesc<1x64xbf16, #gl.plain<order = [1, 0]>>
    gl.copy_to_shared %x at affine_map<(i, r, n) -> (i + r, n - (i * 5) mod 8)>(%row)
        where affine_map<(i, r, n) -> (-(n - (i * 5) mod 8), 1, n - (i * 5) mod 8, 61)>[], %m by bulk
        : memref<?x61xbf16>, !gl.memdesc<1x64xbf16, #gl.plain<order = [1, 0]>>
    %t = gl.local_load %m where affine_map<(i, r, n) -> (-(n - (i * 5) mod 8), 1, n - (i * 5) mod 8, 61)>(%row)[]
        : !gl.memdesc<1x64xbf16, #gl.plain<order = [1, 0]>> -> tensor<1x64xbf16, #rows>
    "test.use"(%t) : (tensor<1x64xbf16, #rows>) -> ()
    gpu.return
  }
}

// -----

// Of the rows of a tile that guards leave out in every step nothing is copied, and of those that they never leave out everything.
// CHECK-LABEL: gpu.func @known
// CHECK: gl.bulk_load %arg0 at affine_map<() -> (0, 0)>(), %{{.*}}, %{{.*}}[%{{.*}}] : memref<4x40xbf16>
// CHECK: gl.bulk_load %arg0 at affine_map<() -> (1, 0)>(), %{{.*}}, %{{.*}}[%{{.*}}] : memref<4x40xbf16>
// CHECK-NOT: gl.bulk_load
// CHECK: gl.mbarrier_wait
#few = #gl.linear<register = [[0, 1], [1, 0], [2, 0]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 0]], warp = [[0, 0], [0, 0]], block = []>
gpu.module @kernels {
  gpu.func @known(%x: memref<4x40xbf16>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %m = gl.local_alloc : !gl.memdesc<4x32xbf16, #gl.plain<order = [1, 0]>>
    gl.copy_to_shared %x at affine_map<(r, n) -> (r, n)>() where affine_map<(r, n) -> (r, 2)>[], %m by bulk
        : memref<4x40xbf16>, !gl.memdesc<4x32xbf16, #gl.plain<order = [1, 0]>>
    %t = gl.local_load %m where affine_map<(r, n) -> (r, 2)>()[] : !gl.memdesc<4x32xbf16, #gl.plain<order = [1, 0]>> -> tensor<4x32xbf16, #few>
    "test.use"(%t) : (tensor<4x32xbf16, #few>) -> ()
    gpu.return
  }
}

// -----

// The copies of loops that continue one another are issued as the last loop's, in steps of all of them: that no step of the last loop has a
// second row says nothing of the first ones.
// CHECK-LABEL: gpu.func @steps_of_all_loops
// CHECK: scf.for
// CHECK: gl.bulk_load %arg0 at affine_map<(d0) -> (d0 * 2, 0)>
// CHECK: gl.bulk_load %arg0 at affine_map<(d0) -> (d0 * 2 + 1, 0)>(%{{.*}}), %{{.*}} count
// CHECK: scf.for
#rows = #gl.linear<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [0, 0]], block = []>
!tile = !gl.memdesc<2x64xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @steps_of_all_loops(%x: memref<5x80xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 3 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %c2 step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i), %m by bulk : memref<5x80xbf16>, !tile
      %t = gl.local_load %m : !tile -> tensor<2x64xbf16, #rows>
      "test.use"(%t) : (tensor<2x64xbf16, #rows>) -> ()
    }
    scf.for %i = %c2 to %c3 step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, r, n) -> (i * 2 + r, n)>(%i) where affine_map<(i, r, n) -> (i * 2 + r, 5)>[], %m by bulk
          : memref<5x80xbf16>, !tile
      %t = gl.local_load %m where affine_map<(i, r, n) -> (i * 2 + r, 5)>(%i)[] : !tile -> tensor<2x64xbf16, #rows>
      "test.use"(%t) : (tensor<2x64xbf16, #rows>) -> ()
    }
    gpu.return
  }
}

// -----

// A load keeps guards that the copies which are issued, those of the last loop, do not have: a copy has zeros only where its own guards fail.
// CHECK-LABEL: gpu.func @guarded_first_steps
// CHECK-NOT: gl.async_copy {{.*}} where
// CHECK: gl.local_load {{.*}} where
// CHECK: gl.local_load
// CHECK-NOT: where
#rows = #gl.linear<register = [[0, 1], [0, 2]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []>
!tile = !gl.memdesc<128x4xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @guarded_first_steps(%x: memref<4096xf32>) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 2 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    scf.for %i = %c0 to %c2 step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, t, v) -> (i * 512 + t * 4 + v)>(%i)
          where affine_map<(i, t, v) -> (999 - i * 512 - t * 4 - v, 0)>[], %m by cp_async : memref<4096xf32>, !tile
      %t = gl.local_load %m where affine_map<(i, t, v) -> (999 - i * 512 - t * 4 - v, 0)>(%i)[] : !tile -> tensor<128x4xf32, #rows>
      "test.use"(%t) : (tensor<128x4xf32, #rows>) -> ()
    }
    scf.for %i = %c2 to %c8 step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, t, v) -> (i * 512 + t * 4 + v)>(%i), %m by cp_async : memref<4096xf32>, !tile
      %t = gl.local_load %m : !tile -> tensor<128x4xf32, #rows>
      "test.use"(%t) : (tensor<128x4xf32, #rows>) -> ()
    }
    gpu.return
  }
}

// -----

// What the copies of an unused tile were made for has been folded away.
// CHECK-LABEL: gpu.func @unread
// CHECK-NOT: gl.local_alloc
// CHECK-NOT: gl.bulk_load
// CHECK: gpu.return
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @unread(%x: memref<?x64xbf16>, %steps: index) kernel attributes {gl.num_warps = 4 : i64, gl.stages = 2 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = gl.local_alloc : !tile
    gl.copy_to_shared %x at affine_map<(n) -> (0, n)>(), %m by bulk : memref<?x64xbf16>, !tile
    scf.for %i = %c0 to %steps step %c1 {
      %s = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %s by bulk : memref<?x64xbf16>, !tile
    }
    gpu.return
  }
}
