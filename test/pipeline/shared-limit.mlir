// Shared memory is limited by what a CTA of the target may have.
// RUN: normac %s --from=gl --target sm_90a --emit=gl-lowered | FileCheck %s
// CHECK: gl.shared_bytes = 131072
// RUN: not normac %s --from=gl --target sm_120a --emit=gl-lowered 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: expected at most 101376 bytes of shared memory, got 131072
#line = #gl.blocked<size_per_thread = [4], threads_per_warp = [32], warps_per_cta = [8], order = [0]>
gpu.module @k {
  gpu.func @k(%x: memref<32768xf32>, %y: memref<32768xf32>) kernel attributes {gl.num_warps = 8 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (131072, 131072)>, sizes = [], alignments = [16, 16]>} {
    %m = gl.local_alloc : !gl.memdesc<32768xf32, #gl.plain<order = [0]>>
    %t = gl.load %x at affine_map<(n) -> (n)>() : memref<32768xf32> -> tensor<32768xf32, #line>
    gl.local_store %t, %m : tensor<32768xf32, #line>, !gl.memdesc<32768xf32, #gl.plain<order = [0]>>
    %u = gl.local_load %m : !gl.memdesc<32768xf32, #gl.plain<order = [0]>> -> tensor<32768xf32, #line>
    gl.store %u, %y at affine_map<(n) -> (n)>() : tensor<32768xf32, #line>, memref<32768xf32>
    gpu.return
  }
}
