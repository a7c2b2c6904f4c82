// A reduction across warps goes through shared memory, one across CTAs through that of all CTAs; one within a warp stays.
// RUN: norma-opt %s --mlir-print-local-scope --allow-unregistered-dialect --split-input-file --gl-expand-reductions | FileCheck %s

// CHECK-LABEL: gpu.func @example
// CHECK-SAME: (%[[X:.*]]: tensor<1x2048xf32, #[[ROWS:.*]]>)
// CHECK: %[[P:.*]] = gl.warp_reduce %[[X]] axis 1
// CHECK-SAME: -> tensor<1x4xf32, #gl.linear<register = [], lane = {{\[}}[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = {{\[}}[0, 1], [0, 2]], block = []>>
// CHECK: arith.addf
// CHECK: %[[M:.*]] = gl.local_alloc : <1x4xf32, #gl.plain<order = [1, 0]>>
// CHECK: gl.local_store %[[P]], %[[M]]
// CHECK: %[[G:.*]] = gl.local_load %[[M]]
// CHECK-SAME: -> tensor<1x4xf32, #gl.linear<register = {{\[}}[0, 1], [0, 2]], lane = {{\[}}[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = {{\[}}[0, 0], [0, 0]], block = []>>
// CHECK: %[[S:.*]] = gl.reduce %[[G]] axis 1
// CHECK-SAME: -> tensor<1xf32, #gl.slice<axis = 1, parent = #[[ROWS]]>>
// CHECK: arith.addf
// CHECK: gl.broadcast %[[S]] axis 1
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
gpu.module @kernels {
  gpu.func @example(%x: tensor<1x2048xf32, #rows>) {
    %s = gl.reduce %x axis 1 : (tensor<1x2048xf32, #rows>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    %y = gl.broadcast %s axis 1 : tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> -> tensor<1x2048xf32, #rows>
    "test.use"(%y) : (tensor<1x2048xf32, #rows>) -> ()
    gpu.return
  }
}

// -----

// Each row belongs to one warp: nothing is exchanged.
// CHECK-LABEL: gpu.func @within_a_warp
// CHECK: gl.reduce
// CHECK-NOT: gl.local_alloc
// CHECK-NOT: gl.warp_reduce
#packed = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [4, 1], order = [1, 0]>
gpu.module @kernels {
  gpu.func @within_a_warp(%x: tensor<4x256xf32, #packed>) {
    %s = gl.reduce %x axis 1 : (tensor<4x256xf32, #packed>) -> tensor<4xf32, #gl.slice<axis = 1, parent = #packed>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.maximumf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s) : (tensor<4xf32, #gl.slice<axis = 1, parent = #packed>>) -> ()
    gpu.return
  }
}

// -----

// A combiner of several tiles (an index travels with its value) has a memory for each, all of which are filled before the first is read.
// CHECK-LABEL: gpu.func @several_tiles
// CHECK: %[[P:.*]]:2 = gl.warp_reduce %{{.*}}, %{{.*}} axis 1
// CHECK: %[[M0:.*]] = gl.local_alloc : <2x2xf32, #gl.plain<order = [1, 0]>>
// CHECK: gl.local_store %[[P]]#0, %[[M0]]
// CHECK: %[[M1:.*]] = gl.local_alloc : <2x2xindex, #gl.plain<order = [1, 0]>>
// CHECK: gl.local_store %[[P]]#1, %[[M1]]
// CHECK: %[[G0:.*]] = gl.local_load %[[M0]]
// CHECK: %[[G1:.*]] = gl.local_load %[[M1]]
// CHECK: %[[R:.*]]:2 = gl.reduce %[[G0]], %[[G1]] axis 1
// CHECK: "test.use"(%[[R]]#0, %[[R]]#1)
#two = #gl.blocked<size_per_thread = [2, 4], threads_per_warp = [1, 32], warps_per_cta = [1, 2], order = [1, 0]>
gpu.module @kernels {
  gpu.func @several_tiles(%x: tensor<2x256xf32, #two>, %i: tensor<2x256xindex, #two>) {
    %m, %n = gl.reduce %x, %i axis 1 : (tensor<2x256xf32, #two>, tensor<2x256xindex, #two>)
        -> tensor<2xf32, #gl.slice<axis = 1, parent = #two>>, tensor<2xindex, #gl.slice<axis = 1, parent = #two>> combine {
    ^bb0(%a: f32, %ai: index, %b: f32, %bi: index):
      %c = arith.cmpf ogt, %a, %b : f32
      %0 = arith.select %c, %a, %b : f32
      %1 = arith.select %c, %ai, %bi : index
      gl.yield %0, %1 : f32, index
    }
    "test.use"(%m, %n) : (tensor<2xf32, #gl.slice<axis = 1, parent = #two>>, tensor<2xindex, #gl.slice<axis = 1, parent = #two>>) -> ()
    gpu.return
  }
}

// -----

// The partials of several results lie in an order without bank conflicts: neighbouring lanes store to neighbouring words, and each thread
// loads the partials of its result from one word of each of four rows. A tile of one axis leaves a scalar tile, whose partials lie side by side.
// CHECK-LABEL: gpu.func @other_axes
// CHECK: gl.local_alloc : <4x32xf32, #gl.shared_linear<offset = {{\[}}[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0]]>>
// CHECK: gl.local_alloc : <4xf32, #gl.plain<order = [0]>>
// CHECK: gl.reduce %{{.*}} axis 0 : (tensor<4xf32, #gl.linear<{{.*}} -> tensor<f32,
#columns = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [4, 1], order = [1, 0]>
#line = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [4], order = [0]>
gpu.module @kernels {
  gpu.func @other_axes(%x: tensor<64x32xf32, #columns>, %y: tensor<1024xf32, #line>) {
    %s = gl.reduce %x axis 0 : (tensor<64x32xf32, #columns>) -> tensor<32xf32, #gl.slice<axis = 0, parent = #columns>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    %t = gl.reduce %y axis 0 : (tensor<1024xf32, #line>) -> tensor<f32, #gl.slice<axis = 0, parent = #line>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s, %t) : (tensor<32xf32, #gl.slice<axis = 0, parent = #columns>>, tensor<f32, #gl.slice<axis = 0, parent = #line>>) -> ()
    gpu.return
  }
}

// -----

// Independent reductions are all stored before any is loaded, with the scalars that the second needs computed in between; a
// reduction that depends on the first comes after it.
// CHECK-LABEL: gpu.func @one_barrier
// CHECK: arith.mulf
// CHECK: gl.warp_reduce
// CHECK: gl.local_store
// CHECK: gl.warp_reduce
// CHECK: gl.local_store
// CHECK-NOT: gl.local_store
// CHECK: gl.local_load
// CHECK: gl.local_load
// CHECK: arith.addf
// CHECK: gl.local_store
// CHECK: gl.local_load
#line = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [4], order = [0]>
!sum = tensor<f32, #gl.slice<axis = 0, parent = #line>>
gpu.module @kernels {
  gpu.func @one_barrier(%x: tensor<1024xf32, #line>, %y: tensor<1024xf32, #line>) {
    %s = gl.reduce %x axis 0 : (tensor<1024xf32, #line>) -> !sum combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.maximumf %a, %b : f32
      gl.yield %0 : f32
    }
    %z = arith.mulf %x, %y : tensor<1024xf32, #line>
    %t = gl.reduce %z axis 0 : (tensor<1024xf32, #line>) -> !sum combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.maximumf %a, %b : f32
      gl.yield %0 : f32
    }
    %w = gl.broadcast %s axis 0 : !sum -> tensor<1024xf32, #line>
    %v = arith.addf %w, %y : tensor<1024xf32, #line>
    %u = gl.reduce %v axis 0 : (tensor<1024xf32, #line>) -> !sum combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.maximumf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s, %t, %u) : (!sum, !sum, !sum) -> ()
    gpu.return
  }
}

// -----

// Every CTA stores its partial result into all CTAs of the cluster, and waits for the bytes of all. The cluster barrier is
// waited for just before; it makes the mbarriers visible.
// CHECK-LABEL: gpu.func @across_ctas
// CHECK: %[[M:.*]] = gl.local_alloc : <4xf32, #gl.plain<order = [0]>>
// CHECK: %[[B:.*]] = gl.mbarrier_alloc : <1>
// CHECK: gl.mbarrier_init %[[B]], 1
// CHECK: gl.fence_mbarrier_init
// CHECK: gl.cluster_arrive relaxed
// CHECK: %[[P:.*]] = "test.partial"
// CHECK: gl.cluster_wait
// CHECK-DAG: %[[SLOT:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[PARITY:.*]] = arith.constant false
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 16 : index
// CHECK: gl.mbarrier_expect %[[B]][%[[SLOT]]], %[[BYTES]]
// CHECK: gl.remote_store %[[P]], %[[M]], %[[B]][%[[SLOT]]]
// CHECK: gl.mbarrier_wait %[[B]][%[[SLOT]]], %[[PARITY]]
// CHECK: %[[G:.*]] = gl.local_load %[[M]]
// CHECK-SAME: -> tensor<4xf32, #gl.linear<register = {{\[}}[1], [2]], lane = {{\[}}[0], [0], [0], [0], [0]], warp = {{\[}}[0]], block = {{\[}}[0], [0]]>>
// CHECK: gl.reduce %[[G]] axis 0
// CHECK-NOT: gl.remote_arrive
// CHECK-NOT: gl.cluster
#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]], block = [[1], [2]]>
#launch = #gl.launch<grid = affine_map<() -> (4)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 4>
gpu.module @kernels {
  gpu.func @across_ctas() attributes {gl.launch = #launch} {
    %x = "test.partial"() : () -> tensor<4xf32, #ctas>
    %s = gl.reduce %x axis 0 : (tensor<4xf32, #ctas>) -> tensor<f32, #gl.slice<axis = 0, parent = #ctas>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s) : (tensor<f32, #gl.slice<axis = 0, parent = #ctas>>) -> ()
    gpu.return
  }
}

// -----

// A count of elements that is the same constant everywhere is not exchanged: all know that it is 64 in each of four warps, or
// 256 in each of four CTAs. The other results depend on tiles that are not constant.
// CHECK-LABEL: gpu.func @known_numbers
// CHECK: %[[P:.*]]:3 = gl.warp_reduce
// CHECK: gl.local_store %[[P]]#0,
// CHECK: gl.local_store %[[P]]#2,
// CHECK-NOT: gl.local_store
// CHECK: %[[N:.*]] = tensor.splat %{{.*}} : tensor<4xf32
// CHECK: gl.reduce %{{.*}}, %[[N]], %{{.*}} axis 0
// CHECK: gl.mbarrier_expect
// CHECK-COUNT-2: gl.remote_store
// CHECK-NOT: gl.remote_store
// CHECK: gl.mbarrier_wait
// CHECK: %[[N:.*]] = tensor.splat %{{.*}} : tensor<4xf32
// CHECK: gl.reduce %{{.*}}, %[[N]], %{{.*}} axis 0
#line = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [4], order = [0]>
#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = [[1], [2]]>
!line = tensor<256xf32, #line>
!result = tensor<f32, #gl.slice<axis = 0, parent = #line>>
!ctas = tensor<4xf32, #ctas>
!whole = tensor<f32, #gl.slice<axis = 0, parent = #ctas>>
#launch = #gl.launch<grid = affine_map<() -> (4)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 4>
gpu.module @kernels {
  gpu.func @known_numbers(%x: !line, %m: !line) attributes {gl.launch = #launch} {
    %one = arith.constant dense<1.0> : !line
    %s:3 = gl.reduce %x, %one, %m axis 0 : (!line, !line, !line) -> !result, !result, !result combine {
    ^bb0(%a0: f32, %a1: f32, %a2: f32, %b0: f32, %b1: f32, %b2: f32):
      %0 = arith.addf %a0, %b0 : f32
      %1 = arith.addf %a1, %b1 : f32
      %2 = arith.maximumf %a2, %1 : f32
      gl.yield %0, %1, %2 : f32, f32, f32
    }
    %count = arith.constant 256.0 : f32
    %n = tensor.splat %count : !ctas
    %p:2 = "test.partial"() : () -> (!ctas, !ctas)
    %t:3 = gl.reduce %p#0, %n, %p#1 axis 0 : (!ctas, !ctas, !ctas) -> !whole, !whole, !whole combine {
    ^bb0(%a0: f32, %a1: f32, %a2: f32, %b0: f32, %b1: f32, %b2: f32):
      %0 = arith.addf %a0, %b0 : f32
      %1 = arith.addf %a1, %b1 : f32
      %2 = arith.maximumf %a2, %1 : f32
      gl.yield %0, %1, %2 : f32, f32, f32
    }
    "test.use"(%s#0, %s#2, %t#0, %t#2) : (!result, !result, !whole, !whole) -> ()
    gpu.return
  }
}

// -----

// A constant whose result depends on other values is exchanged as they are.
// CHECK-LABEL: gpu.func @first_places
// CHECK: %[[P:.*]]:2 = gl.warp_reduce
// CHECK: gl.local_store %[[P]]#0,
// CHECK: gl.local_store %[[P]]#1,
#line = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [4], order = [0]>
!line = tensor<256xf32, #line>
!result = tensor<f32, #gl.slice<axis = 0, parent = #line>>
gpu.module @kernels {
  gpu.func @first_places(%x: !line) {
    %one = arith.constant dense<1.0> : !line
    %s:2 = gl.reduce %x, %one axis 0 : (!line, !line) -> !result, !result combine {
    ^bb0(%a0: f32, %a1: f32, %b0: f32, %b1: f32):
      %0 = arith.maximumf %a0, %b0 : f32
      %1 = arith.addf %a1, %a0 : f32
      gl.yield %0, %1 : f32, f32
    }
    "test.use"(%s#0, %s#1) : (!result, !result) -> ()
    gpu.return
  }
}

// -----

// Iterations of a loop alternate between two buffers and two mbarriers; each CTA returns the previous iteration's buffer to all four.
// CHECK-LABEL: gpu.func @ctas_in_a_loop
// CHECK: %[[M:.*]] = gl.local_alloc : <2x4xf32, #gl.plain<order = [1, 0]>>
// CHECK: %[[B:.*]] = gl.mbarrier_alloc : <2>
// CHECK: gl.mbarrier_init %[[B]], 5
// CHECK: gl.cluster_wait
// CHECK: scf.for %[[I:.*]] = %[[FROM:.*]] to
// CHECK: %[[PAST:.*]] = arith.subi %[[I]], %[[FROM]]
// CHECK: %[[TURN:.*]] = arith.divui %[[PAST]]
// CHECK: %[[HALF:.*]] = arith.shrui %[[TURN]]
// CHECK: %[[ODD:.*]] = arith.andi %[[HALF]]
// CHECK: %[[PARITY:.*]] = arith.index_castui %[[ODD]] : index to i1
// CHECK: %[[SLOT:.*]] = arith.andi %[[TURN]]
// CHECK: gl.remote_arrive %[[B]][%[[SLOT]]] frees %[[M]]
// CHECK: %[[STAGE:.*]] = gl.memdesc_index %[[M]][%[[SLOT]]] : <2x4xf32, {{.*}}> -> <4xf32, #gl.plain<order = [0]>>
// CHECK: gl.mbarrier_expect %[[B]][%[[SLOT]]]
// CHECK: gl.remote_store %{{.*}}, %[[STAGE]], %[[B]][%[[SLOT]]]
// CHECK: gl.mbarrier_wait %[[B]][%[[SLOT]]], %[[PARITY]]
// CHECK: gl.local_load %[[STAGE]]
#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]], block = [[1], [2]]>
#launch = #gl.launch<grid = affine_map<() -> (4)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 4>
gpu.module @kernels {
  gpu.func @ctas_in_a_loop(%from: index, %to: index) attributes {gl.launch = #launch} {
    %c1 = arith.constant 1 : index
    scf.for %i = %from to %to step %c1 {
      %x = "test.partial"(%i) : (index) -> tensor<4xf32, #ctas>
      %s = gl.reduce %x axis 0 : (tensor<4xf32, #ctas>) -> tensor<f32, #gl.slice<axis = 0, parent = #ctas>> combine {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        gl.yield %0 : f32
      }
      "test.use"(%s) : (tensor<f32, #gl.slice<axis = 0, parent = #ctas>>) -> ()
    }
    gpu.return
  }
}

// -----

// A loop over drawn tiles carries the number of its step, from which that of its first step is taken.
// CHECK-LABEL: gpu.func @ctas_in_a_loop_over_drawn_tiles
// CHECK-SAME: (%{{.*}}: index, %[[FIRST:.*]]: index)
// CHECK: %[[B:.*]] = gl.mbarrier_alloc : <2>
// CHECK: ^bb0(%{{.*}}: index, %[[STEP:.*]]: index):
// CHECK: %[[TURN:.*]] = arith.subi %[[STEP]], %[[FIRST]] : index
// CHECK: %[[HALF:.*]] = arith.shrui %[[TURN]]
// CHECK: %[[SLOT:.*]] = arith.andi %[[TURN]]
// CHECK: gl.remote_arrive %[[B]][%[[SLOT]]]
#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]], block = [[1], [2]]>
#launch = #gl.launch<grid = affine_map<() -> (4)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 4>
gpu.module @kernels {
  gpu.func @ctas_in_a_loop_over_drawn_tiles(%tile: index, %first: index) attributes {gl.launch = #launch} {
    %c1 = arith.constant 1 : index
    scf.while (%i = %tile, %step = %first) : (index, index) -> (index, index) {
      %more = "test.more"(%i) : (index) -> i1
      scf.condition(%more) %i, %step : index, index
    } do {
    ^bb0(%i: index, %step: index):
      %x = "test.partial"(%i) : (index) -> tensor<4xf32, #ctas>
      %s = gl.reduce %x axis 0 : (tensor<4xf32, #ctas>) -> tensor<f32, #gl.slice<axis = 0, parent = #ctas>> combine {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        gl.yield %0 : f32
      }
      %next = "test.next"(%s) : (tensor<f32, #gl.slice<axis = 0, parent = #ctas>>) -> index
      %count = arith.addi %step, %c1 : index
      scf.yield %next, %count : index, index
    }
    gpu.return
  }
}

// -----

// In a partition the iterations of its loop are counted. All threads arrive at the cluster barrier after everything that
// initialises mbarriers, and wait there before the partitions begin.
// CHECK-LABEL: gpu.func @ctas_in_a_partition
// CHECK: gl.mbarrier_init %{{.*}}, 1 : <3>
// CHECK: gl.mbarrier_init %{{.*}}, 5 : <2>
// CHECK: gl.cluster_arrive relaxed
// CHECK: gl.cluster_wait
// CHECK: gl.warp_specialize
// CHECK-NOT: gl.cluster
// CHECK: scf.for
// CHECK: gl.remote_arrive
// CHECK: gl.remote_store
// CHECK: }, {
// CHECK-NOT: gl.remote
#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]], block = [[1], [2]]>
#launch = #gl.launch<grid = affine_map<() -> (4)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 4>
gpu.module @kernels {
  gpu.func @ctas_in_a_partition(%from: index, %to: index) attributes {gl.launch = #launch, gl.num_warps = 3 : i64} {
    %full = gl.mbarrier_alloc : !gl.mbarrier<3>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<3>
    gl.fence_mbarrier_init
    gl.warp_specialize warps [2, 1] {
      %c1 = arith.constant 1 : index
      scf.for %i = %from to %to step %c1 {
        %x = "test.partial"(%i) : (index) -> tensor<4xf32, #ctas>
        %s = gl.reduce %x axis 0 : (tensor<4xf32, #ctas>) -> tensor<f32, #gl.slice<axis = 0, parent = #ctas>> combine {
        ^bb0(%a: f32, %b: f32):
          %0 = arith.addf %a, %b : f32
          gl.yield %0 : f32
        }
        "test.use"(%s) : (tensor<f32, #gl.slice<axis = 0, parent = #ctas>>) -> ()
      }
    }, {
      "test.produce"() : () -> ()
    }
    gpu.return
  }
}

// -----

// Two independent reductions share a round, for which the second's operand is computed earlier; a third, which depends on the
// first, has its own round. Elements of less than 4 bytes are exchanged as i32.
// CHECK-LABEL: gpu.func @shared_round
// CHECK: math.absf
// CHECK: gl.cluster_wait
// CHECK: %[[BYTES:.*]] = arith.constant 24 : index
// CHECK: gl.mbarrier_expect %[[B:.*]][%{{.*}}], %[[BYTES]]
// CHECK: gl.remote_store {{.*}} : tensor<2x2xf32
// CHECK: gl.remote_store {{.*}} : tensor<2xi32
// CHECK-NOT: gl.remote_store
// CHECK: gl.mbarrier_wait %[[B]]
// CHECK: "test.first"
// CHECK: gl.remote_store
// CHECK: gl.mbarrier_wait
#ctas = #gl.linear<register = [[1, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = [[0, 1]]>
#one = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [], block = [[1]]>
#launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [], cluster = 2>
gpu.module @kernels {
  gpu.func @shared_round(%x: tensor<2x2xf32, #ctas>, %h: tensor<2xbf16, #one>) attributes {gl.launch = #launch} {
    %s = gl.reduce %x axis 1 : (tensor<2x2xf32, #ctas>) -> tensor<2xf32, #gl.slice<axis = 1, parent = #ctas>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.first"(%s) : (tensor<2xf32, #gl.slice<axis = 1, parent = #ctas>>) -> ()
    %y = math.absf %h : tensor<2xbf16, #one>
    %t = gl.reduce %y axis 0 : (tensor<2xbf16, #one>) -> tensor<bf16, #gl.slice<axis = 0, parent = #one>> combine {
    ^bb0(%a: bf16, %b: bf16):
      %0 = arith.maximumf %a, %b : bf16
      gl.yield %0 : bf16
    }
    "test.use"(%t) : (tensor<bf16, #gl.slice<axis = 0, parent = #one>>) -> ()
    %w = gl.broadcast %s axis 1 : tensor<2xf32, #gl.slice<axis = 1, parent = #ctas>> -> tensor<2x2xf32, #ctas>
    %u = gl.reduce %w axis 1 : (tensor<2x2xf32, #ctas>) -> tensor<2xf32, #gl.slice<axis = 1, parent = #ctas>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%u) : (tensor<2xf32, #gl.slice<axis = 1, parent = #ctas>>) -> ()
    gpu.return
  }
}

// -----

// The cluster barrier invalidates L1, so it is waited for before reads of data that is to stay there.
// CHECK-LABEL: gpu.func @before_l1_is_filled
// CHECK: gl.cluster_arrive relaxed
// CHECK: gl.cluster_wait
// CHECK: scf.for
// CHECK: gl.remote_store
// CHECK-NOT: gl.cluster_wait
#row = #gl.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [], block = [[1, 0]]>
#launch = #gl.launch<grid = affine_map<() -> (2)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [4], cluster = 2>
gpu.module @kernels {
  gpu.func @before_l1_is_filled(%x: memref<4x64xf32>, %p: tensor<2x32xf32, #row>) attributes {gl.launch = #launch} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%before = %p) -> (tensor<2x32xf32, #row>) {
      %t = gl.load %x at affine_map<(i, c, n) -> (i, c * 32 + n)>(%i) cache <l1 = evict_last, l2 = evict_last>
           : memref<4x64xf32> -> tensor<2x32xf32, #row>
      %after = arith.addf %before, %t : tensor<2x32xf32, #row>
      scf.yield %after : tensor<2x32xf32, #row>
    }
    %w = gl.reduce %sum axis 1 : (tensor<2x32xf32, #row>) -> tensor<2xf32, #gl.slice<axis = 1, parent = #row>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    %s = gl.reduce %w axis 0 : (tensor<2xf32, #gl.slice<axis = 1, parent = #row>>) -> tensor<f32, #gl.slice<axis = 0, parent = #gl.slice<axis = 1, parent = #row>>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s) : (tensor<f32, #gl.slice<axis = 0, parent = #gl.slice<axis = 1, parent = #row>>>) -> ()
    gpu.return
  }
}

// -----

// The steps of a loop alternate between two buffers.
// CHECK-LABEL: gpu.func @in_a_loop
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[P:.*]] = gl.warp_reduce
// CHECK: %[[M:.*]] = gl.local_alloc : <2x1x4xf32, #gl.plain<order = [2, 1, 0]>>
// CHECK: %[[TURN:.*]] = arith.remui %[[I]], %{{.*}} : index
// CHECK: %[[S:.*]] = gl.memdesc_index %[[M]][%[[TURN]]]
// CHECK: gl.local_store %[[P]], %[[S]]
// CHECK: gl.local_load %[[S]]
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
gpu.module @kernels {
  gpu.func @in_a_loop(%x: tensor<1x2048xf32, #rows>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %s = gl.reduce %x axis 1 : (tensor<1x2048xf32, #rows>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> combine {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        gl.yield %0 : f32
      }
      "test.use"(%s) : (tensor<1xf32, #gl.slice<axis = 1, parent = #rows>>) -> ()
    }
    gpu.return
  }
}

// -----

// A scan across warps is one within each warp, combined with the results of the warps before it.
// CHECK-LABEL: gpu.func @scan
// CHECK-SAME: (%[[X:.*]]: tensor<1x2048xf32
// CHECK: %[[P:.*]] = gl.warp_reduce %[[X]] axis 1
// CHECK: %[[M:.*]] = gl.local_alloc
// CHECK: gl.local_store %[[P]], %[[M]]
// CHECK: %[[G:.*]] = gl.local_load %[[M]]
// CHECK: %[[S:.*]], %[[T:.*]] = gl.scan %[[X]] axis 1 behind %[[G]] : tensor<1x4xf32, {{.*}}> identity 0.000000e+00 : f32 :
// CHECK-NOT: gl.local_alloc
// CHECK: "test.use"(%[[S]], %[[T]])
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
gpu.module @kernels {
  gpu.func @scan(%x: tensor<1x2048xf32, #rows>) {
    %s, %t = gl.scan %x axis 1 identity 0.0 : f32
        : tensor<1x2048xf32, #rows> -> tensor<1xf32, #gl.slice<axis = 1, parent = #rows>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s, %t) : (tensor<1x2048xf32, #rows>, tensor<1xf32, #gl.slice<axis = 1, parent = #rows>>) -> ()
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @scan_within_a_warp
// CHECK-NOT: gl.local_alloc
// CHECK: gl.scan %{{.*}} axis 1 : tensor<4x256xf32
#packed = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [4, 1], order = [1, 0]>
gpu.module @kernels {
  gpu.func @scan_within_a_warp(%x: tensor<4x256xf32, #packed>) {
    %s, %t = gl.scan %x axis 1 : tensor<4x256xf32, #packed> -> tensor<4xf32, #gl.slice<axis = 1, parent = #packed>> combine {
    ^bb0(%a: f32, %b: f32):
      %0 = arith.addf %a, %b : f32
      gl.yield %0 : f32
    }
    "test.use"(%s) : (tensor<4x256xf32, #packed>) -> ()
    gpu.return
  }
}
