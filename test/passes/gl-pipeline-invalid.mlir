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
      // expected-error @+1 {{unsupported: a copy to or from shared memory in nested loops or branches}}
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

// -----

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @drawn_and_copied_by_threads(%x: memref<?x64xbf16>, %counter: memref<1xi64>, %cta: index, %tiles: index, %ctas: index) kernel attributes {gl.num_warps = 4 : i64} {
    // expected-error @+1 {{unsupported: copies by cp_async in a loop whose tiles are drawn; supported: by bulk}}
    scf.while (%i = %cta) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by cp_async : memref<?x64xbf16>, !tile
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @uncounted(%x: memref<?x64xbf16>, %first: index, %n: index) kernel attributes {gl.num_warps = 4 : i64} {
    %c2 = arith.constant 2 : index
    // expected-error @+1 {{unsupported: copies to shared memory in a loop that neither counts its steps nor draws their tiles}}
    scf.while (%i = %first) : (index) -> index {
      %more = arith.cmpi ult, %i, %n : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %m = gl.local_alloc : !tile
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by bulk : memref<?x64xbf16>, !tile
      %next = arith.muli %i, %c2 : index
      scf.yield %next : index
    }
    gpu.return
  }
}
