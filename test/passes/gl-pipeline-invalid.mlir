// What gl-pipeline rejects.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --gl-pipeline

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @unaligned(%x: memref<64xbf16>) kernel attributes {gl.num_warps = 4 : i64} {
    %m = gl.local_alloc : !tile
    // expected-error @+1 {{unsupported: bulk copies of runs whose addresses are multiples of 2 bytes; supported: of 16}}
    gl.copy_to_shared %x at affine_map<(n) -> (n)>(), %m by bulk : memref<64xbf16>, !tile
    gpu.return
  }
}

// -----

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @suffix(%x: memref<64xbf16>) kernel attributes {gl.num_warps = 4 : i64} {
    %m = gl.local_alloc : !tile
    // expected-error @+1 {{unsupported: expected guards that leave the first elements of a run}}
    gl.copy_to_shared %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (-n, -8)>[], %m by bulk : memref<64xbf16>, !tile
    gpu.return
  }
}

// -----

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @in_a_branch(%x: memref<64xbf16>, %c: i1) kernel attributes {gl.num_warps = 4 : i64} {
    scf.if %c {
      %m = gl.local_alloc : !tile
      // expected-error @+1 {{unsupported: a copy to shared memory in nested loops or branches}}
      gl.copy_to_shared %x at affine_map<(n) -> (n)>(), %m by bulk : memref<64xbf16>, !tile
    }
    gpu.return
  }
}

// -----

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @two_engines(%x: memref<?x64xbf16>, %n: index) kernel attributes {gl.num_warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %i = %c0 to %n step %c1 {
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by bulk : memref<?x64xbf16>, !tile
      %o = gl.local_alloc : !tile
      // expected-error @+1 {{unsupported: copies by bulk and by cp_async in one loop; supported: by one of them}}
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %o by cp_async : memref<?x64xbf16>, !tile
    }
    gpu.return
  }
}
