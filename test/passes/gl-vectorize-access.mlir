// Vectors are as wide as layout, alignment and guards allow.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --gl-vectorize-access | FileCheck %s

// CHECK-LABEL: gpu.func @example
// CHECK: gl.load {{.*}} vector 8 :
// CHECK: gl.store {{.*}} vector 8 :
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 8], order = [1, 0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>
gpu.module @kernels {
  gpu.func @example(%x: memref<?x2048xbf16>, %y: memref<?x2048xbf16, strided<[?, 1]>>) kernel attributes {gl.launch = #launch} {
    %b = gpu.block_id x
    %t = gl.load %x at affine_map<(b, r, n) -> (b, n)>(%b) : memref<?x2048xbf16> -> tensor<1x2048xbf16, #rows>
    gl.store %t, %y at affine_map<(b, r, n) -> (b, n)>(%b) : tensor<1x2048xbf16, #rows>, memref<?x2048xbf16, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// 4-byte elements, a base aligned to 8 bytes, rows of 6 elements, an offset, and a layout of short runs.
// CHECK-LABEL: gpu.func @address
// CHECK: gl.load %{{.*}} vector 4 : memref<?x2048xf32>
// CHECK: gl.load %{{.*}} vector 2 : memref<?x2046xf32>
// CHECK: gl.load %{{.*}} vector 2 : memref<2048xf32>
// CHECK: gl.load %{{.*}} vector 1 : memref<2048xf32, strided<[1], offset: 3>>
// CHECK: gl.load %{{.*}} vector 1 : memref<2048x?xf32, strided<[1, ?]>>
// CHECK: gl.load %{{.*}} vector 4 : memref<?x2048xf32> -> tensor<2048x1xf32
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 8], order = [1, 0]>
#columns = #gl.blocked<size_per_thread = [4, 1], threads_per_warp = [32, 1], warps_per_cta = [8, 1], order = [0, 1]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16, 8, 16, 16]>
gpu.module @kernels {
  gpu.func @address(%a: memref<?x2048xf32>, %b: memref<?x2046xf32>, %c: memref<2048xf32>,
                    %d: memref<2048xf32, strided<[1], offset: 3>>, %e: memref<2048x?xf32, strided<[1, ?]>>)
      kernel attributes {gl.launch = #launch} {
    %i = gpu.block_id x
    %0 = gl.load %a at affine_map<(b, r, n) -> (b, n)>(%i) : memref<?x2048xf32> -> tensor<1x2048xf32, #rows>
    %1 = gl.load %b at affine_map<(b, r, n) -> (b, n)>(%i) : memref<?x2046xf32> -> tensor<1x2048xf32, #rows>
    %2 = gl.load %c at affine_map<(r, n) -> (n)>() : memref<2048xf32> -> tensor<1x2048xf32, #rows>
    %3 = gl.load %d at affine_map<(r, n) -> (n)>() : memref<2048xf32, strided<[1], offset: 3>> -> tensor<1x2048xf32, #rows>
    %4 = gl.load %e at affine_map<(b, r, n) -> (b, n)>(%i) : memref<2048x?xf32, strided<[1, ?]>> -> tensor<1x2048xf32, #rows>
    %5 = gl.load %a at affine_map<(b, n, r) -> (b, n)>(%i) : memref<?x2048xf32> -> tensor<2048x1xf32, #columns>
    gpu.return
  }
}

// -----

// A tile that starts at an arbitrary column is not aligned; one at a multiple of a chunk is, by the map or by the value.
// CHECK-LABEL: gpu.func @indices
// CHECK: gl.load %{{.*}} vector 8 alignment 2 :
// CHECK: gl.load %{{.*}} vector 8 :
// CHECK: gl.load %{{.*}} vector 4 :
#rows = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>
gpu.module @kernels {
  gpu.func @indices(%x: memref<?xbf16>) kernel attributes {gl.launch = #launch} {
    %i = gpu.block_id x
    %four = arith.constant 4 : index
    %j = arith.muli %i, %four : index
    %0 = gl.load %x at affine_map<(b, n) -> (b + n)>(%i) : memref<?xbf16> -> tensor<256xbf16, #rows>
    %1 = gl.load %x at affine_map<(b, n) -> (b * 256 + n)>(%i) : memref<?xbf16> -> tensor<256xbf16, #rows>
    %2 = gl.load %x at affine_map<(b, n) -> (b + n)>(%j) : memref<?xbf16> -> tensor<256xbf16, #rows>
    gpu.return
  }
}

// -----

// A guard may end within a vector, which is then read as a whole, unless a quotient in the guard changes within the vector: a
// bound of rows, one at no multiple of 8, and one of its own for each run of 4 columns.
// CHECK-LABEL: gpu.func @guards
// CHECK: gl.load %{{.*}} where {{.*}} vector 8 :
// CHECK: gl.load %{{.*}} where {{.*}} vector 8 alignment 16 :
// CHECK: gl.load %{{.*}} where {{.*}} vector 4 :
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 8], order = [1, 0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>
gpu.module @kernels {
  gpu.func @guards(%x: memref<?x4000xbf16>, %limit: index) kernel attributes {gl.launch = #launch} {
    %i = gpu.block_id x
    %0 = gl.load %x at affine_map<(b, r, n) -> (b + r, n)>(%i) where affine_map<(b, r, n)[s0] -> (b + r, s0)>[%limit]
       : memref<?x4000xbf16> -> tensor<1x2048xbf16, #rows>
    %1 = gl.load %x at affine_map<(b, r, n) -> (b, n)>(%i) where affine_map<(b, r, n) -> (b * 2048 + n, 3996)>[]
       : memref<?x4000xbf16> -> tensor<1x2048xbf16, #rows>
    %2 = gl.load %x at affine_map<(b, r, n) -> (b, n)>(%i) where affine_map<(b, r, n)[s0] -> (n floordiv 4, s0)>[%limit]
       : memref<?x4000xbf16> -> tensor<1x2048xbf16, #rows>
    gpu.return
  }
}

// -----

// Without a promise only the elements' natural alignment is known; an existing vector width stays.
// CHECK-LABEL: gpu.func @unknown
// CHECK: gl.load %{{.*}} vector 1 :
// CHECK: gl.load %{{.*}} vector 2 :
#rows = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @unknown(%x: memref<256xbf16>) kernel {
    %0 = gl.load %x at affine_map<(n) -> (n)>() : memref<256xbf16> -> tensor<256xbf16, #rows>
    %1 = gl.load %x at affine_map<(n) -> (n)>() vector 2 : memref<256xbf16> -> tensor<256xbf16, #rows>
    gpu.return
  }
}

// -----

// An induction variable is the lower bound plus multiples of the step; a quotient of it is aligned if the divisor divides both.
// CHECK-LABEL: gpu.func @loops
// CHECK: gl.load %{{.*}} vector 8 :
// CHECK: gl.load %{{.*}} vector 4 :
// CHECK: gl.load %{{.*}} vector 8 alignment 4 :
// CHECK: gl.load %{{.*}} vector 8 alignment 2 :
// CHECK: gl.load %{{.*}} vector 8 :
// CHECK: gl.load %{{.*}} vector 8 alignment 2 :
#rows = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>
gpu.module @kernels {
  gpu.func @loops(%x: memref<?xbf16>, %hi: index) kernel attributes {gl.launch = #launch} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c256 = arith.constant 256 : index
    %c3 = arith.constant 3 : index
    scf.for %i = %c0 to %hi step %c256 {
      %0 = gl.load %x at affine_map<(i, n) -> (i + n)>(%i) : memref<?xbf16> -> tensor<256xbf16, #rows>
    }
    scf.for %i = %c4 to %hi step %c256 {
      %0 = gl.load %x at affine_map<(i, n) -> (i + n)>(%i) : memref<?xbf16> -> tensor<256xbf16, #rows>
      %half = affine.apply affine_map<(i) -> (i floordiv 2)>(%i)
      %1 = gl.load %x at affine_map<(i, n) -> (i + n)>(%half) : memref<?xbf16> -> tensor<256xbf16, #rows>
      %third = arith.divui %i, %c3 : index
      %2 = gl.load %x at affine_map<(i, n) -> (i + n)>(%third) : memref<?xbf16> -> tensor<256xbf16, #rows>
    }
    scf.for %i = %c0 to %hi step %c3 {
      %eight = affine.apply affine_map<(i) -> (i * 16 mod 24)>(%i)
      %0 = gl.load %x at affine_map<(i, n) -> (i + n)>(%eight) : memref<?xbf16> -> tensor<256xbf16, #rows>
      %rest = arith.remui %i, %c256 : index
      %1 = gl.load %x at affine_map<(i, n) -> (i + n)>(%rest) : memref<?xbf16> -> tensor<256xbf16, #rows>
    }
    gpu.return
  }
}

// -----

// Rows of dynamic length have no known alignment, unless the launch states a multiple of the length.
// CHECK-LABEL: gpu.func @dynamic_rows
// CHECK: gl.load %{{.*}} vector 1 : memref<?x?xbf16>
// CHECK: gl.load %{{.*}} vector 4 : memref<?x?xbf16>
// CHECK: gl.load %{{.*}} vector 8 : memref<?x?x2xbf16>
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 8], order = [1, 0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16, 16], multiples = [1, 1, 4, 2, 1, 4]>
gpu.module @kernels {
  gpu.func @dynamic_rows(%x: memref<?x?xbf16>, %y: memref<?x?xbf16>, %z: memref<?x?x2xbf16>) kernel attributes {gl.launch = #launch} {
    %b = gpu.block_id x
    %0 = gl.load %x at affine_map<(b, r, n) -> (b, n)>(%b) : memref<?x?xbf16> -> tensor<1x2048xbf16, #rows>
    %1 = gl.load %y at affine_map<(b, r, n) -> (b, n)>(%b) : memref<?x?xbf16> -> tensor<1x2048xbf16, #rows>
    %2 = gl.load %z at affine_map<(b, r, n) -> (b, 0, n)>(%b) : memref<?x?x2xbf16> -> tensor<1x2048xbf16, #rows>
    "use"(%0, %1, %2) : (tensor<1x2048xbf16, #rows>, tensor<1x2048xbf16, #rows>, tensor<1x2048xbf16, #rows>) -> ()
    gpu.return
  }
}

// -----

// Rows of 4095 elements whose tile is shifted down to a multiple of 8 elements: the row number adds a multiple of 8 to the
// address, because of the quotient that belongs to the shift's remainder.
// CHECK-LABEL: gpu.func @shifted
// CHECK: gl.load %{{.*}} vector 8 alignment 16 :
// CHECK: gl.load %{{.*}} vector 8 alignment 2 :
#rows = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [16], order = [0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>
gpu.module @kernels {
  gpu.func @shifted(%x: memref<?x4095xbf16>, %w: memref<4095xbf16>) kernel attributes {gl.launch = #launch} {
    %b = gpu.block_id x
    %0 = gl.load %x at affine_map<(b, n) -> (b, n - b * 7 mod 8)>(%b)
      where affine_map<(b, n) -> (n - b * 7 mod 8, 4095, b * 7 mod 8 - n, 1)>[] : memref<?x4095xbf16> -> tensor<4096xbf16, #rows>
    %1 = gl.load %w at affine_map<(b, n) -> (n - b * 7 mod 8)>(%b)
      where affine_map<(b, n) -> (n - b * 7 mod 8, 4095, b * 7 mod 8 - n, 1)>[] : memref<4095xbf16> -> tensor<4096xbf16, #rows>
    gpu.return
  }
}

// -----

// Unaligned vectors are read as the aligned words around them, unless that replaces fewer than four reads, something writes or
// may write the buffer, or it is unknown where the buffer ends or that it begins at a word.
// CHECK-LABEL: gpu.func @covered
// CHECK: gl.load %{{.*}} vector 8 alignment 2 : memref<?x4095xbf16> -> tensor<256xbf16
// CHECK: gl.load %{{.*}} vector 4 alignment 4 : memref<4095xf32>
// CHECK: gl.load %{{.*}} vector 8 alignment 1 : memref<4095xf8E5M2>
// CHECK: gl.load %{{.*}} vector 1 : memref<4095xf64>
// CHECK: gl.load %{{.*}} vector 1 : memref<4095xi8>
// CHECK: gl.load %{{.*}} vector 1 : memref<4096xbf16>
// CHECK: gl.load %{{.*}} vector 1 : memref<4097xbf16>
// CHECK: gl.load %{{.*}} vector 1 : memref<4098xbf16>
// CHECK: gl.load %{{.*}} vector 1 : memref<?x?xbf16, strided<[1, 8]>>
#row = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#four = #gl.blocked<size_per_thread = [4], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#two = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16, 8, 16, 16, 16, 16, 8, 16], aliases = [6, 5]>
gpu.module @kernels {
  gpu.func @covered(%a: memref<?x4095xbf16>, %b: memref<4095xf32>, %c: memref<4095xf8E5M2>, %d: memref<4095xf64>,
                    %e: memref<4095xi8>, %f: memref<4096xbf16>, %g: memref<4097xbf16>, %h: memref<4098xbf16>,
                    %k: memref<?x?xbf16, strided<[1, 8]>>) kernel attributes {gl.launch = #launch} {
    %i = gpu.block_id x
    %0 = gl.load %a at affine_map<(i, n) -> (i, n)>(%i) : memref<?x4095xbf16> -> tensor<256xbf16, #row>
    %1 = gl.load %b at affine_map<(i, n) -> (i + n)>(%i) : memref<4095xf32> -> tensor<256xf32, #row>
    %2 = gl.load %c at affine_map<(i, n) -> (i + n)>(%i) : memref<4095xf8E5M2> -> tensor<256xf8E5M2, #row>
    %3 = gl.load %d at affine_map<(i, n) -> (i + n)>(%i) : memref<4095xf64> -> tensor<64xf64, #two>
    %4 = gl.load %e at affine_map<(i, n) -> (i + n)>(%i) : memref<4095xi8> -> tensor<64xi8, #two>
    %5 = gl.load %f at affine_map<(i, n) -> (i + n)>(%i) : memref<4096xbf16> -> tensor<256xbf16, #row>
    %6 = gl.load %g at affine_map<(i, n) -> (i + n)>(%i) : memref<4097xbf16> -> tensor<256xbf16, #row>
    %7 = gl.load %h at affine_map<(i, n) -> (i + n)>(%i) : memref<4098xbf16> -> tensor<256xbf16, #row>
    %8 = gl.load %k at affine_map<(i, n) -> (i + n, 0)>(%i) : memref<?x?xbf16, strided<[1, 8]>> -> tensor<256xbf16, #row>
    gl.store %6, %g at affine_map<(n) -> (n)>() : tensor<256xbf16, #row>, memref<4097xbf16>
    gpu.return
  }
}

// -----

// Elements that others may write meanwhile are not over-read: a guarded vector goes element by element if its buffer is stored to.
// CHECK-LABEL: gpu.func @stored_to
// CHECK: gl.load %{{.*}} vector 8 :
#rows = #gl.blocked<size_per_thread = [8], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>
gpu.module @kernels {
  gpu.func @stored_to(%x: memref<?x256xbf16>) kernel attributes {gl.launch = #launch} {
    %b = gpu.block_id x
    %0 = gl.load %x at affine_map<(b, n) -> (b, n)>(%b) where affine_map<(b, n) -> (n, 250)>[] : memref<?x256xbf16> -> tensor<256xbf16, #rows>
    gl.store %0, %x at affine_map<(b, n) -> (b, n)>(%b) where affine_map<(b, n) -> (n, 250)>[] : tensor<256xbf16, #rows>, memref<?x256xbf16>
    gpu.return
  }
}

// -----

// cp.async moves 16, 8 or 4 bytes, the alignment of rows of 2048, 2044 and 2042 elements; rows of 2041 go element by element.
// CHECK-LABEL: gpu.func @copies
// CHECK: gl.async_copy {{.*}} vector 8 : memref<?x2048xbf16>
// CHECK: gl.async_copy {{.*}} vector 4 : memref<?x2044xbf16>
// CHECK: gl.async_copy {{.*}} vector 2 : memref<?x2042xbf16>
// CHECK: gl.async_copy {{.*}} vector 1 : memref<?x2041xbf16>
// CHECK: gl.async_copy {{.*}} vector 1 : memref<?x2041xf32>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16, 16, 16, 16]>
!bf16 = !gl.memdesc<2048xbf16, #gl.plain<order = [0]>>
!f32 = !gl.memdesc<2048xf32, #gl.plain<order = [0]>>
gpu.module @kernels {
  gpu.func @copies(%a: memref<?x2048xbf16>, %b: memref<?x2044xbf16>, %c: memref<?x2042xbf16>, %d: memref<?x2041xbf16>, %e: memref<?x2041xf32>)
      kernel attributes {gl.num_warps = 4 : i64, gl.launch = #launch} {
    %i = gpu.block_id x
    %m = gl.local_alloc : !bf16
    gl.async_copy %a at affine_map<(i, n) -> (i, n)>(%i), %m : memref<?x2048xbf16>, !bf16
    gl.async_copy %b at affine_map<(i, n) -> (i, n)>(%i) where affine_map<(i, n) -> (n, 2044)>[], %m : memref<?x2044xbf16>, !bf16
    gl.async_copy %c at affine_map<(i, n) -> (i, n)>(%i) where affine_map<(i, n) -> (n, 2042)>[], %m : memref<?x2042xbf16>, !bf16
    gl.async_copy %d at affine_map<(i, n) -> (i, n)>(%i) where affine_map<(i, n) -> (n, 2041)>[], %m : memref<?x2041xbf16>, !bf16
    %o = gl.local_alloc : !f32
    gl.async_copy %e at affine_map<(i, n) -> (i, n)>(%i) where affine_map<(i, n) -> (n, 2041)>[], %o : memref<?x2041xf32>, !f32
    gpu.return
  }
}

// -----

// A contiguous run that covers a whole axis continues along the axis whose stride follows: pairs, of which a thread has four in
// consecutive registers. It ends where pairs are further apart, and where a guard distinguishes the elements of a pair.
// CHECK-LABEL: gpu.func @pairs
// CHECK: gl.load %{{.*}} vector 8 : memref<4096xbf16>
// CHECK: gl.load %{{.*}} vector 2 : memref<4096xbf16>
// CHECK: gl.load {{.*}} where {{.*}} vector 8 : memref<4096xbf16>
// CHECK: gl.load {{.*}} where {{.*}} vector 2 alignment 4 : memref<4096xbf16>
#pairs = #gl.linear<register = [[0, 1], [1, 0], [2, 0]], lane = [[4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], warp = [], block = []>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16]>
gpu.module @kernels {
  gpu.func @pairs(%x: memref<4096xbf16>) kernel attributes {gl.launch = #launch} {
    %i = gpu.block_id x
    %zero = arith.constant 0.0 : bf16
    %0 = gl.load %x at affine_map<(b, p, h) -> (b * 256 + p * 2 + h)>(%i) : memref<4096xbf16> -> tensor<128x2xbf16, #pairs>
    %1 = gl.load %x at affine_map<(b, p, h) -> (b * 512 + p * 4 + h)>(%i) : memref<4096xbf16> -> tensor<128x2xbf16, #pairs>
    %2 = gl.load %x at affine_map<(b, p, h) -> (b * 256 + p * 2 + h)>(%i) where affine_map<(b, p, h) -> (b, 7)>[] other %zero : bf16 : memref<4096xbf16> -> tensor<128x2xbf16, #pairs>
    %3 = gl.load %x at affine_map<(b, p, h) -> (b * 256 + p * 2 + h)>(%i) where affine_map<(b, p, h) -> (b * 2 + h, 7)>[] other %zero : bf16 : memref<4096xbf16> -> tensor<128x2xbf16, #pairs>
    gpu.return
  }
}

// -----

// A run that continues along another axis needs the alignment of its vectors, however short they become.
// CHECK-LABEL: gpu.func @pairs_of_single_alignment
// CHECK: gl.store %{{.*}} vector 1 : tensor<2x2xf32
#square = #gl.linear<register = [[0, 1], [1, 0]], lane = [[0, 0], [0, 0], [0, 0], [0, 0], [0, 0]], warp = [], block = []>
#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (16, 16)>, sizes = [], alignments = [4]>
gpu.module @kernels {
  gpu.func @pairs_of_single_alignment(%y: memref<2x2xf32>) kernel attributes {gl.launch = #launch} {
    %t = arith.constant dense<1.0> : tensor<2x2xf32, #square>
    gl.store %t, %y at affine_map<(i, j) -> (i, j)>() : tensor<2x2xf32, #square>, memref<2x2xf32>
    gpu.return
  }
}

// -----

// Places and a mask that are the same along rows move whole vectors; those of each element, single ones.
// CHECK-LABEL: gpu.func @places
// CHECK: gl.gather {{.*}} vector 8 :
// CHECK: gl.scatter {{.*}} vector 8 :
// CHECK: gl.gather {{.*}} vector 1 :
// CHECK: gl.gather {{.*}} vector 1 :
#rows = #gl.blocked<size_per_thread = [1, 8], threads_per_warp = [1, 32], warps_per_cta = [1, 8], order = [1, 0]>
#row = #gl.slice<axis = 1, parent = #rows>
#launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0, s0)>, sizes = [0, 0], alignments = [16, 16]>
gpu.module @kernels {
  gpu.func @places(%x: memref<?x2048xbf16>, %y: memref<?x2048xbf16>, %ids: tensor<1xindex, #row>, %most: tensor<1xindex, #row>,
                   %own: tensor<1x2048xindex, #rows>, %known: tensor<1x2048xi1, #rows>) kernel attributes {gl.launch = #launch} {
    %places = gl.broadcast %ids axis 1 : tensor<1xindex, #row> -> tensor<1x2048xindex, #rows>
    %inside = arith.cmpi ult, %ids, %most : tensor<1xindex, #row>
    %mask = gl.broadcast %inside axis 1 : tensor<1xi1, #row> -> tensor<1x2048xi1, #rows>
    %t = gl.gather %x at affine_map<(id, r, n) -> (id, n)>()[%places] if %mask : tensor<1x2048xi1, #rows>
        : memref<?x2048xbf16>, (tensor<1x2048xindex, #rows>) -> tensor<1x2048xbf16, #rows>
    gl.scatter %t, %y at affine_map<(id, r, n) -> (id * 2 + r, n)>()[%places] if %mask : tensor<1x2048xi1, #rows>
        : tensor<1x2048xbf16, #rows>, memref<?x2048xbf16>, (tensor<1x2048xindex, #rows>)
    %u = gl.gather %x at affine_map<(id, r, n) -> (id, n)>()[%own] : memref<?x2048xbf16>, (tensor<1x2048xindex, #rows>) -> tensor<1x2048xbf16, #rows>
    %v = gl.gather %x at affine_map<(id, r, n) -> (id, n)>()[%places] if %known : tensor<1x2048xi1, #rows>
        : memref<?x2048xbf16>, (tensor<1x2048xindex, #rows>) -> tensor<1x2048xbf16, #rows>
    "test.use"(%u, %v) : (tensor<1x2048xbf16, #rows>, tensor<1x2048xbf16, #rows>) -> ()
    gpu.return
  }
}
