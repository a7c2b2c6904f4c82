// A barrier stands between conflicting accesses to overlapping bytes, and nowhere else.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --gl-insert-barriers | FileCheck %s

// CHECK-LABEL: gpu.func @example
// CHECK-NOT: gl.barrier
// CHECK: gl.local_store
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK-NOT: gl.barrier
#partial = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[1], [2]], block = []>
#gathered = #gl.linear<register = [[1], [2]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = []>
!memory = !gl.memdesc<4xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @example(%p: tensor<4xf32, #partial>) kernel {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    gl.local_store %p, %m : tensor<4xf32, #partial>, !memory
    %g = gl.local_load %m : !memory -> tensor<4xf32, #gathered>
    %again = gl.local_load %m : !memory -> tensor<4xf32, #gathered>
    "test.use"(%g, %again) : (tensor<4xf32, #gathered>, tensor<4xf32, #gathered>) -> ()
    gpu.return
  }
}

// -----

// Overlapping bytes count, not descriptors: %b and %c overlap, %a lies apart. An existing barrier suffices.
// CHECK-LABEL: gpu.func @overlap
// CHECK: gl.local_store %{{.*}}, %[[A:.*]] :
// CHECK-NEXT: gl.local_store %{{.*}}, %[[B:.*]] :
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_store %{{.*}}, %[[C:.*]] :
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK-NEXT: gl.local_load
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_store %{{.*}}, %[[B]] :
#partial = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[1], [2]], block = []>
!memory = !gl.memdesc<4xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @overlap(%p: tensor<4xf32, #partial>) kernel {
    %a = gl.local_alloc {offset = 0 : i64} : !memory
    %b = gl.local_alloc {offset = 16 : i64} : !memory
    %c = gl.local_alloc {offset = 24 : i64} : !memory
    gl.local_store %p, %a : tensor<4xf32, #partial>, !memory
    gl.local_store %p, %b : tensor<4xf32, #partial>, !memory
    gl.local_store %p, %c : tensor<4xf32, #partial>, !memory
    gl.barrier
    %0 = gl.local_load %a : !memory -> tensor<4xf32, #partial>
    %1 = gl.local_load %c : !memory -> tensor<4xf32, #partial>
    gl.local_store %p, %b : tensor<4xf32, #partial>, !memory
    "test.use"(%0, %1) : (tensor<4xf32, #partial>, tensor<4xf32, #partial>) -> ()
    gpu.return
  }
}

// -----

// The next iteration's store must not overtake this one's load.
// CHECK-LABEL: gpu.func @back_edge
// CHECK: scf.for
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_store
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK-NOT: gl.barrier
#partial = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[1], [2]], block = []>
!memory = !gl.memdesc<4xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @back_edge(%p: tensor<4xf32, #partial>, %n: index) kernel {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    scf.for %i = %zero to %n step %one {
      gl.local_store %p, %m : tensor<4xf32, #partial>, !memory
      %g = gl.local_load %m : !memory -> tensor<4xf32, #partial>
      "test.use"(%g) : (tensor<4xf32, #partial>) -> ()
    }
    gpu.return
  }
}

// -----

// Only one branch writes, so a load after the branches has to wait; one branch's own barrier does not cover the other.
// CHECK-LABEL: gpu.func @branches
// CHECK: gl.local_store
// CHECK: scf.if
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK: }
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
#partial = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[1], [2]], block = []>
!memory = !gl.memdesc<4xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @branches(%p: tensor<4xf32, #partial>, %c: i1) kernel {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    gl.local_store %p, %m : tensor<4xf32, #partial>, !memory
    scf.if %c {
      %0 = gl.local_load %m : !memory -> tensor<4xf32, #partial>
      "test.use"(%0) : (tensor<4xf32, #partial>) -> ()
    }
    %1 = gl.local_load %m : !memory -> tensor<4xf32, #partial>
    "test.use"(%1) : (tensor<4xf32, #partial>) -> ()
    gpu.return
  }
}

// -----

// A barrier before the wait orders nothing; the one after it does.
// CHECK-LABEL: gpu.func @async_copy
// CHECK: gl.async_copy
// CHECK-NEXT: gl.async_commit
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.async_wait 0
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
#wide = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
!memory = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @async_copy(%x: memref<32xf32>) kernel {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    gl.async_copy %x at affine_map<(d0) -> (d0)>(), %m : memref<32xf32>, !memory
    gl.async_commit
    gl.barrier
    gl.async_wait 0
    %g = gl.local_load %m : !memory -> tensor<32xf32, #wide>
    "test.use"(%g) : (tensor<32xf32, #wide>) -> ()
    gpu.return
  }
}

// -----

// Mbarriers are initialised before any use; an arrival at one needs no barrier.
// CHECK-LABEL: gpu.func @mbarriers
// CHECK: gl.mbarrier_init
// CHECK-NEXT: gl.fence_mbarrier_init
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.mbarrier_expect
// CHECK-NEXT: gl.bulk_load
// CHECK-NEXT: gl.mbarrier_wait
// CHECK-NEXT: gl.local_load
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.bulk_load
#wide = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
!memory = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @mbarriers(%x: memref<64xf32>, %zero: index, %bytes: index, %parity: i1) kernel {
    %bars = gl.mbarrier_alloc {offset = 0 : i64} : !gl.mbarrier<1>
    %m = gl.local_alloc {offset = 128 : i64} : !memory
    gl.mbarrier_init %bars, 1 : !gl.mbarrier<1>
    gl.fence_mbarrier_init
    gl.mbarrier_expect %bars[%zero], %bytes : !gl.mbarrier<1>
    gl.bulk_load %x at affine_map<(d0) -> (d0)>(%zero), %m, %bars[%zero] : memref<64xf32>, !memory, !gl.mbarrier<1>
    gl.mbarrier_wait %bars[%zero], %parity : !gl.mbarrier<1>
    %g = gl.local_load %m : !memory -> tensor<32xf32, #wide>
    gl.bulk_load %x at affine_map<(d0) -> (d0 + 32)>(%zero), %m, %bars[%zero] : memref<64xf32>, !memory, !gl.mbarrier<1>
    "test.use"(%g) : (tensor<32xf32, #wide>) -> ()
    gpu.return
  }
}

// -----

// The cluster barrier orders the initialisation of mbarriers even if relaxed, and other accesses only if it is not.
// CHECK-LABEL: gpu.func @cluster_barrier
// CHECK: gl.mbarrier_init
// CHECK-NOT: gl.barrier
// CHECK: gl.mbarrier_expect
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK-NEXT: gl.cluster_arrive{{$}}
// CHECK-NEXT: gl.cluster_wait
// CHECK-NEXT: gl.local_store
#partial = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[1], [2]], block = [[0]]>
#gathered = #gl.linear<register = [[1], [2]], lane = [[0], [0], [0], [0], [0]], warp = [[0], [0]], block = [[0]]>
!memory = !gl.memdesc<4xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @cluster_barrier(%p: tensor<4xf32, #partial>, %i: index) kernel {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    %b = gl.mbarrier_alloc {offset = 16 : i64} : !gl.mbarrier<1>
    gl.mbarrier_init %b, 1 : !gl.mbarrier<1>
    gl.local_store %p, %m : tensor<4xf32, #partial>, !memory
    gl.fence_mbarrier_init
    gl.cluster_arrive relaxed
    gl.cluster_wait
    gl.mbarrier_expect %b[%i], %i : !gl.mbarrier<1>
    %g = gl.local_load %m : !memory -> tensor<4xf32, #gathered>
    gl.cluster_arrive
    gl.cluster_wait
    gl.local_store %p, %m : tensor<4xf32, #partial>, !memory
    "test.use"(%g) : (tensor<4xf32, #gathered>) -> ()
    gpu.return
  }
}

// -----

// A CTA releases memory once all its threads have read it; it waits at the mbarrier for memory that it gets back.
// CHECK-LABEL: gpu.func @given_back
// CHECK: scf.for
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.remote_arrive
// CHECK-NEXT: gl.remote_store
// CHECK-NEXT: gl.mbarrier_wait
// CHECK-NEXT: gl.local_load
// CHECK-NOT: gl.barrier
#ctas = #gl.linear<register = [], lane = [[0], [0], [0], [0], [0]], warp = [[0]], block = [[1], [2]]>
#gathered = #gl.linear<register = [[1], [2]], lane = [[0], [0], [0], [0], [0]], warp = [[0]], block = [[0], [0]]>
!memory = !gl.memdesc<4xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @given_back(%p: tensor<4xf32, #ctas>, %n: index, %parity: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    %b = gl.mbarrier_alloc {offset = 16 : i64} : !gl.mbarrier<1>
    scf.for %i = %c0 to %n step %c1 {
      gl.remote_arrive %b[%c0] frees %m : !gl.mbarrier<1>, !memory
      gl.remote_store %p, %m, %b[%c0] : tensor<4xf32, #ctas>, !memory, !gl.mbarrier<1>
      gl.mbarrier_wait %b[%c0], %parity : !gl.mbarrier<1>
      %g = gl.local_load %m : !memory -> tensor<4xf32, #gathered>
      "test.use"(%g) : (tensor<4xf32, #gathered>) -> ()
    }
    gpu.return
  }
}

// -----

// A partition synchronizes at a named barrier of its own threads, whose id nothing else uses. The other partition, of one warp,
// has memory of its own.
// CHECK-LABEL: gpu.func @partition
// CHECK: gl.warp_specialize
// CHECK: gl.local_store
// CHECK-NEXT: gl.barrier id 4 threads 128
// CHECK-NEXT: gl.local_load
// CHECK: gl.barrier id 3 threads 64
// CHECK: }, {
// CHECK: gl.local_store
// CHECK-NEXT: gl.barrier id 5 threads 32
// CHECK-NEXT: gl.local_load
#four = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
#one = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
#turned = #gl.linear<register = [], lane = [[16], [8], [4], [2], [1]], warp = [], block = []>
!memory = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @partition(%s: tensor<32xf32, #four>, %t: tensor<32xf32, #one>) kernel {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    %n = gl.local_alloc {offset = 128 : i64} : !memory
    gl.warp_specialize warps [4, 1] {
      gl.local_store %s, %m : tensor<32xf32, #four>, !memory
      %u = gl.local_load %m : !memory -> tensor<32xf32, #four>
      "test.use"(%u) : (tensor<32xf32, #four>) -> ()
      gl.barrier id 3 threads 64
    }, {
      gl.local_store %t, %n : tensor<32xf32, #one>, !memory
      %u = gl.local_load %n : !memory -> tensor<32xf32, #turned>
      "test.use"(%u) : (tensor<32xf32, #turned>) -> ()
    }
    gpu.return
  }
}

// -----

// Steps that alternate between two stages need one barrier each: a step's store does not conflict with the previous step's load.
// CHECK-LABEL: gpu.func @turns
// CHECK: scf.for
// CHECK-NOT: gl.barrier
// CHECK: gl.local_store
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK-NOT: gl.barrier
// CHECK: }
// CHECK: gl.barrier
// CHECK-NEXT: gl.local_store
#four = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
!stage = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
!both = !gl.memdesc<2x32xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @turns(%s: tensor<32xf32, #four>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %m = gl.local_alloc {offset = 0 : i64} : !both
    scf.for %i = %c0 to %n step %c1 {
      %turn = arith.remui %i, %c2 : index
      %stage = gl.memdesc_index %m[%turn] : !both -> !stage
      gl.local_store %s, %stage : tensor<32xf32, #four>, !stage
      %t = gl.local_load %stage : !stage -> tensor<32xf32, #four>
      "test.use"(%t) : (tensor<32xf32, #four>) -> ()
    }
    %first = gl.memdesc_index %m[%c0] : !both -> !stage
    gl.local_store %s, %first : tensor<32xf32, #four>, !stage
    gpu.return
  }
}

// -----

// An outer loop runs the alternating loop again: after an odd number of steps its first step uses the buffer of its last one.
// CHECK-LABEL: gpu.func @turns_begin_again
// CHECK: scf.for
// CHECK: gl.barrier
// CHECK-NEXT: scf.for
// CHECK-NOT: gl.barrier
// CHECK: gl.local_store
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK-NOT: gl.barrier
// CHECK: gpu.return
#four = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
!stage = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
!both = !gl.memdesc<2x32xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @turns_begin_again(%s: tensor<32xf32, #four>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %m = gl.local_alloc {offset = 0 : i64} : !both
    scf.for %j = %c0 to %n step %c1 {
      scf.for %i = %c0 to %c3 step %c1 {
        %turn = arith.remui %i, %c2 : index
        %stage = gl.memdesc_index %m[%turn] : !both -> !stage
        gl.local_store %s, %stage : tensor<32xf32, #four>, !stage
        %t = gl.local_load %stage : !stage -> tensor<32xf32, #four>
        "test.use"(%t) : (tensor<32xf32, #four>) -> ()
      }
    }
    gpu.return
  }
}

// -----

// Without a barrier in between, the step after the next one would use the same stage.
// CHECK-LABEL: gpu.func @turns_without_meeting
// CHECK: scf.for
// CHECK: gl.barrier
// CHECK-NEXT: gl.local_store
#four = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0], [0]], block = []>
!stage = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
!both = !gl.memdesc<2x32xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @turns_without_meeting(%s: tensor<32xf32, #four>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %m = gl.local_alloc {offset = 0 : i64} : !both
    scf.for %i = %c0 to %n step %c1 {
      %turn = arith.remui %i, %c2 : index
      %stage = gl.memdesc_index %m[%turn] : !both -> !stage
      gl.local_store %s, %stage : tensor<32xf32, #four>, !stage
    }
    gpu.return
  }
}

// -----

// Each thread loads and stores elements of its own, whichever memory they belong to. A tile in another layout is in other threads.
// CHECK-LABEL: gpu.func @own_elements
// CHECK: gl.local_store
// CHECK-NEXT: gl.local_load
// CHECK-NEXT: gl.local_store
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
#own = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]], block = []>
#other = #gl.linear<register = [], lane = [[2], [4], [8], [16], [32]], warp = [[1]], block = []>
!memory = !gl.memdesc<64xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @own_elements(%t: tensor<64xf32, #own>) kernel attributes {gl.num_warps = 2 : i64} {
    %a = gl.local_alloc {offset = 0 : i64} : !memory
    %b = gl.local_alloc {offset = 0 : i64} : !memory
    gl.local_store %t, %a : tensor<64xf32, #own>, !memory
    %0 = gl.local_load %a : !memory -> tensor<64xf32, #own>
    gl.local_store %0, %b : tensor<64xf32, #own>, !memory
    %1 = gl.local_load %b : !memory -> tensor<64xf32, #other>
    "test.use"(%1) : (tensor<64xf32, #other>) -> ()
    gpu.return
  }
}

// -----

// Rows that overlap have elements of their own only as far as a guard keeps to the elements in front of the next row.
// CHECK-LABEL: gpu.func @rows_that_overlap
// CHECK: gl.local_store
// CHECK-NEXT: gl.local_load
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_store
#rows = #gl.linear<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[1, 0]], block = []>
!memory = !gl.memdesc<2x32xf32, #gl.plain<order = [1, 0], padding = -5, interval = 32>>
gpu.module @kernels {
  gpu.func @rows_that_overlap(%t: tensor<2x32xf32, #rows>) kernel attributes {gl.num_warps = 2 : i64} {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    gl.local_store %t, %m where affine_map<(d0, d1) -> (d1, 27)> : tensor<2x32xf32, #rows>, !memory
    %0 = gl.local_load %m where affine_map<(d0, d1) -> (d1, 27)>() [] : !memory -> tensor<2x32xf32, #rows>
    gl.local_store %0, %m where affine_map<(d0, d1) -> (d1, 28)> : tensor<2x32xf32, #rows>, !memory
    gpu.return
  }
}

// -----

// Elements that several threads hold are not their own.
// CHECK-LABEL: gpu.func @copies
// CHECK: gl.local_store
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_load
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.local_store
#copies = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[0]], block = []>
!memory = !gl.memdesc<32xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @copies(%t: tensor<32xf32, #copies>) kernel attributes {gl.num_warps = 2 : i64} {
    %m = gl.local_alloc {offset = 0 : i64} : !memory
    gl.local_store %t, %m : tensor<32xf32, #copies>, !memory
    %0 = gl.local_load %m : !memory -> tensor<32xf32, #copies>
    gl.local_store %0, %m : tensor<32xf32, #copies>, !memory
    gpu.return
  }
}

// -----

// A buffer that may be the memory of another: of the threads that load an element one stores, after the others have loaded. Threads that
// store what they have loaded wait for none.
// CHECK-LABEL: gpu.func @in_place
// CHECK: gl.load %[[X:.*]] at
// CHECK-NEXT: "test.use"
// CHECK-NEXT: gl.barrier
// CHECK-NEXT: gl.store
// CHECK-LABEL: gpu.func @own
// CHECK-NOT: gl.barrier
// CHECK: gpu.return
#copies = #gl.linear<register = [], lane = [[1], [2], [0], [0], [0]], warp = [], block = []>
#own = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [4, 4], aliases = [1, 0]>
gpu.module @kernels {
  gpu.func @in_place(%x: memref<4xf32>, %y: memref<4xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.launch = #launch} {
    %0 = gl.load %x at affine_map<(n) -> (n)>() : memref<4xf32> -> tensor<4xf32, #copies>
    "test.use"(%0) : (tensor<4xf32, #copies>) -> ()
    gl.store %0, %y at affine_map<(n) -> (n)>() : tensor<4xf32, #copies>, memref<4xf32>
    gpu.return
  }
  gpu.func @own(%x: memref<32xf32>, %y: memref<32xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.launch = #launch} {
    %0 = gl.load %x at affine_map<(n) -> (n)>() : memref<32xf32> -> tensor<32xf32, #own>
    gl.store %0, %y at affine_map<(n) -> (n)>() : tensor<32xf32, #own>, memref<32xf32>
    gpu.return
  }
}
