// Allocations get offsets by liveness; the function gets their extent.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --gl-allocate-shared='share-from=0' | FileCheck %s
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --gl-allocate-shared | FileCheck %s --check-prefix=DEFAULT

// CHECK-LABEL: gpu.func @example
// CHECK-SAME: gl.shared_bytes = 16 : i64
// CHECK: gl.local_alloc {offset = 0 : i64}
#partial = #gl.linear<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 1], [0, 2]], block = []>
!memory = !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @example(%t: tensor<1x4xf32, #partial>) kernel {
    %m = gl.local_alloc : !memory
    gl.local_store %t, %m : tensor<1x4xf32, #partial>, !memory
    gpu.return
  }
}

// -----

// The first two never live at once and share; the third lives with the second. Small ones do not share by default.
// CHECK-LABEL: gpu.func @dead_memory_is_reused
// CHECK-SAME: gl.shared_bytes = 32 : i64
// CHECK: gl.local_alloc {offset = 0 : i64}
// CHECK: gl.local_alloc {offset = 0 : i64}
// CHECK: gl.local_alloc {offset = 16 : i64}
// DEFAULT-LABEL: gpu.func @dead_memory_is_reused
// DEFAULT-SAME: gl.shared_bytes = 48 : i64
#partial = #gl.linear<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 1], [0, 2]], block = []>
!memory = !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @dead_memory_is_reused(%t: tensor<1x4xf32, #partial>) kernel {
    %a = gl.local_alloc : !memory
    gl.local_store %t, %a : tensor<1x4xf32, #partial>, !memory
    %b = gl.local_alloc : !memory
    gl.local_store %t, %b : tensor<1x4xf32, #partial>, !memory
    %c = gl.local_alloc : !memory
    gl.local_store %t, %c : tensor<1x4xf32, #partial>, !memory
    gl.local_store %t, %b : tensor<1x4xf32, #partial>, !memory
    gpu.return
  }
}

// -----

// Memory that a loop uses is live for the whole loop; memory allocated in it, only within an iteration; branches share.
// CHECK-LABEL: gpu.func @regions
// CHECK-SAME: gl.shared_bytes = 32 : i64
// CHECK: gl.local_alloc {offset = 0 : i64}
// CHECK: scf.for
// CHECK: gl.local_alloc {offset = 16 : i64}
// CHECK: gl.local_alloc {offset = 16 : i64}
// CHECK: scf.if
// CHECK: gl.local_alloc {offset = 0 : i64}
// CHECK: else
// CHECK: gl.local_alloc {offset = 0 : i64}
#partial = #gl.linear<register = [], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [[0, 1], [0, 2]], block = []>
!memory = !gl.memdesc<1x4xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @regions(%t: tensor<1x4xf32, #partial>, %n: index, %c: i1) kernel {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %a = gl.local_alloc : !memory
    scf.for %i = %zero to %n step %one {
      gl.local_store %t, %a : tensor<1x4xf32, #partial>, !memory
      %b = gl.local_alloc : !memory
      gl.local_store %t, %b : tensor<1x4xf32, #partial>, !memory
      %d = gl.local_alloc : !memory
      gl.local_store %t, %d : tensor<1x4xf32, #partial>, !memory
    }
    scf.if %c {
      %e = gl.local_alloc : !memory
      gl.local_store %t, %e : tensor<1x4xf32, #partial>, !memory
    } else {
      %f = gl.local_alloc : !memory
      gl.local_store %t, %f : tensor<1x4xf32, #partial>, !memory
    }
    gpu.return
  }
}

// -----

// Memory that the copy engine works on is aligned to 128 bytes and live, as mbarriers are, for the whole kernel. A stage stands
// for the whole ring, and padding takes space.
// CHECK-LABEL: gpu.func @asynchronous
// CHECK-SAME: gl.shared_bytes = 8320 : i64
// CHECK: gl.mbarrier_alloc {offset = 0 : i64} : <2>
// CHECK: gl.local_alloc {offset = 128 : i64}
// CHECK: gl.local_alloc {offset = 16 : i64}
!ring = !gl.memdesc<4x1x1024xbf16, #gl.plain<order = [2, 1, 0]>>
!stage = !gl.memdesc<1x1024xbf16, #gl.plain<order = [1, 0]>>
!padded = !gl.memdesc<2x8xf32, #gl.plain<order = [1, 0], padding = 4>>
gpu.module @kernels {
  gpu.func @asynchronous(%x: memref<8192xbf16>, %i: index) kernel {
    %bars = gl.mbarrier_alloc : !gl.mbarrier<2>
    %ring = gl.local_alloc : !ring
    %stage = gl.memdesc_index %ring[%i] : !ring -> !stage
    gl.bulk_load %x at affine_map<(d0) -> (d0 * 1024)>(%i), %stage, %bars[%i] : memref<8192xbf16>, !stage, !gl.mbarrier<2>
    %late = gl.local_alloc : !padded
    "test.use"(%late) : (!padded) -> ()
    gpu.return
  }
}

// -----

// A ring of three stages takes three times a stage: 848 bytes are 3 * 2 * (64 + 8) elements less the last gap.
// CHECK-LABEL: gpu.func @ring
// CHECK: gl.local_alloc {offset = 0 : i64}
// CHECK: gl.mbarrier_alloc {offset = 848 : i64}
!ring = !gl.memdesc<3x2x64xbf16, #gl.plain<order = [2, 1, 0], padding = 8>>
!stage = !gl.memdesc<2x64xbf16, #gl.plain<order = [1, 0], padding = 8>>
gpu.module @kernels {
  gpu.func @ring(%x: memref<?x64xbf16>, %i: index) kernel {
    %ring = gl.local_alloc : !ring
    %full = gl.mbarrier_alloc : !gl.mbarrier<3>
    gl.mbarrier_init %full, 1 : !gl.mbarrier<3>
    %stage = gl.memdesc_index %ring[%i] : !ring -> !stage
    gl.async_copy %x at affine_map<(i, r, n) -> (i + r, n)>(%i), %stage : memref<?x64xbf16>, !stage
    gpu.return
  }
}

// -----

// A swizzle depends on the address, so that memory which is swizzled over 64 bytes begins at a multiple of 512.
// CHECK-LABEL: gpu.func @swizzled
// CHECK: gl.mbarrier_alloc {offset = 0 : i64}
// CHECK: gl.local_alloc {offset = 512 : i64}
!box = !gl.memdesc<32x16xf32, #gl.plain<order = [1, 0]>>
!map = !gl.tensor_map<memref<?x16xf32>, box = [32, 16], swizzle = 64>
gpu.module @kernels {
  gpu.func @swizzled(%x: memref<?x16xf32>, %i: index) kernel {
    %full = gl.mbarrier_alloc : !gl.mbarrier<1>
    %m = gl.local_alloc : !box
    %map = gl.tensor_map %x : !map
    gl.tensor_load %map[%i, %i], %m, %full[%i] : !map, !box, !gl.mbarrier<1>
    gpu.return
  }
}
