// Programs that gl-pipeline rejects.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --gl-pipeline

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @unaligned(%x: memref<64xbf16>) kernel attributes {gl.num_warps = 4 : i64} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
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
    "test.use"(%m) : (!tile) -> ()
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
      "test.use"(%m) : (!tile) -> ()
      // expected-error @+1 {{unsupported: a copy to or from shared memory in nested loops or branches}}
      gl.copy_to_shared %x at affine_map<(n) -> (n)>(), %m by bulk : memref<64xbf16>, !tile
    }
    gpu.return
  }
}

// -----

!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @every_other_row(%x: memref<?x64xbf16>, %n: index) kernel attributes {gl.num_warps = 4 : i64} {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    scf.for %i = %c0 to %n step %c2 {
      %m = gl.local_alloc : !tile
      "test.use"(%m) : (!tile) -> ()
      // expected-error @+1 {{unsupported: a copy to or from shared memory in a loop whose step is not 1; supported: 1}}
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by cp_async : memref<?x64xbf16>, !tile
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
      "test.use"(%m) : (!tile) -> ()
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by bulk : memref<?x64xbf16>, !tile
      %o = gl.local_alloc : !tile
      "test.use"(%o) : (!tile) -> ()
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
    // expected-error @+1 {{unsupported: copies by cp_async in a loop whose tiles are drawn; supported: by bulk and by tensor}}
    scf.while (%i = %cta) : (index) -> index {
      %more = arith.cmpi ult, %i, %tiles : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %m = gl.local_alloc : !tile
      "test.use"(%m) : (!tile) -> ()
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by cp_async : memref<?x64xbf16>, !tile
      %next = gl.next_tile %counter of %tiles behind %ctas : memref<1xi64>
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<128xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @many_boxes(%x: memref<?x128xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: a tile of 128 boxes; supported: 64}}
    gl.copy_to_shared %x at affine_map<(n) -> (n * 3, 0)>(), %m by tensor : memref<?x128xbf16>, !tile
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
      "test.use"(%m) : (!tile) -> ()
      gl.copy_to_shared %x at affine_map<(i, n) -> (i, n)>(%i), %m by bulk : memref<?x64xbf16>, !tile
      %next = arith.muli %i, %c2 : index
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<16x4xf32, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @rows_across(%x: memref<?x128xf32>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: copies by tensor maps in rows of 4 bytes; supported: multiples of 16}}
    gl.copy_to_shared %x at affine_map<(n, r) -> (r, n)>(), %m by tensor : memref<?x128xf32>, !tile
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<2x16xbf16, #gl.plain<order = [1, 0]>>
gpu.module @kernels {
  gpu.func @short_boxes(%x: memref<?x128xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: copies by tensor maps in boxes of 64 bytes; supported: multiples of 128}}
    gl.copy_to_shared %x at affine_map<(r, n) -> (r, n)>(), %m by tensor : memref<?x128xbf16>, !tile
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @rows_anywhere(%x: memref<?x60xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: a tensor map of a buffer whose address and strides are multiples of 8 bytes; supported: of 16}}
    gl.copy_to_shared %x at affine_map<(n) -> (0, n)>(), %m by tensor : memref<?x60xbf16>, !tile
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @columns(%x: memref<64x64xbf16, strided<[1, 64]>>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: a tensor map of a buffer whose elements are no neighbours along its last axis}}
    gl.copy_to_shared %x at affine_map<(n) -> (n, 0)>(), %m by tensor : memref<64x64xbf16, strided<[1, 64]>>, !tile
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @six_axes(%x: memref<2x2x2x2x2x64xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: a tensor map of a buffer of 6 axes; supported: 1 to 5}}
    gl.copy_to_shared %x at affine_map<(n) -> (0, 0, 0, 0, 0, n)>(), %m by tensor : memref<2x2x2x2x2x64xbf16>, !tile
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @along_two_axes(%x: memref<64x64xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: expected each axis of a tile to move one coordinate}}
    gl.copy_to_shared %x at affine_map<(n) -> (n, n)>(), %m by tensor : memref<64x64xbf16>, !tile
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
#row = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [[0], [0]], block = []>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @sent_by_threads(%y: memref<64xbf16>, %t: tensor<64xbf16, #row>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    gl.local_store %t, %m : tensor<64xbf16, #row>, !tile
    // expected-error @+1 {{unsupported: expected a copy by bulk or by tensor, got cp_async}}
    gl.copy_from_shared %m, %y at affine_map<(n) -> (n)>() by cp_async : !tile, memref<64xbf16>
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>
!tile = !gl.memdesc<64xbf16, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @no_elements(%x: memref<?x0xbf16>) kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %m = gl.local_alloc : !tile
    "test.use"(%m) : (!tile) -> ()
    // expected-error @+1 {{unsupported: a tensor map of a buffer of 0 elements along an axis; supported: 1 to 2147483647}}
    gl.copy_to_shared %x at affine_map<(n) -> (0, n)>(), %m by tensor : memref<?x0xbf16>, !tile
    gpu.return
  }
}
