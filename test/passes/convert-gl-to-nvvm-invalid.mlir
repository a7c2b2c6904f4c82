// RUN: norma-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(convert-gl-to-nvvm))'

#b = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 2], order = [1, 0]>
#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = [4, 4]>

gpu.module @m {
  gpu.func @crosses_warps(%x: memref<1x64xf32>, %y: memref<1xf32>) kernel attributes {gl.num_warps = 2 : i64, gl.launch = #launch} {
    %0 = gl.load %x at affine_map<(a, b) -> (a, b)>() : memref<1x64xf32> -> tensor<1x64xf32, #b>
    // expected-error@+1 {{expected a reduction within a warp}}
    %1 = gl.reduce %0 axis 1 : (tensor<1x64xf32, #b>) -> tensor<1xf32, #gl.slice<axis = 1, parent = #b>> combine {
    ^bb0(%l: f32, %r: f32):
      %s = arith.addf %l, %r : f32
      gl.yield %s : f32
    }
    gl.store %1, %y at affine_map<(a) -> (a)>() : tensor<1xf32, #gl.slice<axis = 1, parent = #b>>, memref<1xf32>
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = [16]>

gpu.module @m {
  gpu.func @not_lowered_yet(%x: memref<64xf32>) kernel attributes {gl.num_warps = 2 : i64, gl.shared_bytes = 256 : i64, gl.launch = #launch} {
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<64xf32, #gl.plain<order = [0]>>
    // expected-error@+1 {{unsupported: expected an op that is lowered to NVVM}}
    gl.copy_to_shared %x at affine_map<(n) -> (n)>(), %m by bulk : memref<64xf32>, !gl.memdesc<64xf32, #gl.plain<order = [0]>>
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = []>

gpu.module @m {
  gpu.func @no_offset() kernel attributes {gl.num_warps = 2 : i64, gl.launch = #launch} {
    // expected-error@+1 {{expected shared memory with an offset; run gl-allocate-shared first}}
    %0 = gl.local_alloc : !gl.memdesc<4xf32, #gl.plain<order = [0]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{expected a kernel with gl.launch}}
  gpu.func @no_launch() kernel attributes {gl.num_warps = 2 : i64} {
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = []>

gpu.module @m {
  // expected-error@+1 {{unsupported: expected kernel arguments to be memrefs or scalars of 32 or 64 bits, got f16}}
  gpu.func @scalar(%x: f16) kernel attributes {gl.num_warps = 2 : i64, gl.launch = #launch} {
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = [4]>
#near = #gl.linear<register = [[64]], lane = [[1], [2], [4], [8], [16]], warp = [[32]], block = []>
#far = #gl.linear<register = [[32]], lane = [[1], [2], [4], [8], [16]], warp = [[64]], block = []>

gpu.module @m {
  gpu.func @converts_across_warps(%x: memref<128xf32>) kernel attributes {gl.num_warps = 2 : i64, gl.launch = #launch} {
    %0 = gl.load %x at affine_map<(a) -> (a)>() : memref<128xf32> -> tensor<128xf32, #near>
    // expected-error@+1 {{run gl-expand-conversions first}}
    %1 = gl.convert_layout %0 : tensor<128xf32, #near> -> tensor<128xf32, #far>
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = [16]>
#pairs = #gl.linear<register = [[1]], lane = [[2], [4], [8], [16], [32]], warp = [], block = []>

gpu.module @m {
  gpu.func @vector_over_a_stride(%x: memref<128xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.launch = #launch} {
    // expected-error@+1 {{expected 2 neighbours in a thread's registers to be neighbours in memory}}
    %0 = gl.load %x at affine_map<(a) -> (a * 2)>() vector 2 : memref<128xf32> -> tensor<64xf32, #pairs>
    gpu.return
  }
}

// -----

// 8-bit floats can be converted; no other op supports them.
#blocked = #gl.blocked<size_per_thread = [4], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (128, 512)>, sizes = [], alignments = [4, 4]>
gpu.module @float8 {
  gpu.func @select(%x: memref<128xf8E4M3FN>, %y: memref<128xf8E4M3FN>)
      kernel attributes {gl.num_warps = 1 : i64, gl.launch = #launch} {
    %0 = gl.load %x at affine_map<(d0) -> (d0)>() : memref<128xf8E4M3FN> -> tensor<128xf8E4M3FN, #blocked>
    // expected-error@+1 {{unsupported: expected 8-bit floats to be converted by arith.extf, arith.truncf and arith.bitcast alone, got arith.negf of f8E4M3FN}}
    %1 = arith.negf %0 : tensor<128xf8E4M3FN, #blocked>
    gl.store %1, %y at affine_map<(d0) -> (d0)>() : tensor<128xf8E4M3FN, #blocked>, memref<128xf8E4M3FN>
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (128, 0)>, sizes = [], alignments = [16]>
gpu.module @m {
  gpu.func @copy_without_vector(%x: memref<32xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.shared_bytes = 128 : i64, gl.launch = #launch} {
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<32xf32, #gl.plain<order = [0]>>
    // expected-error@+1 {{expected a copy with a vector; run gl-vectorize-access first}}
    gl.async_copy %x at affine_map<(a) -> (a)>(), %m : memref<32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (128, 0)>, sizes = [], alignments = [16]>
gpu.module @m {
  gpu.func @copy_by_a_partition(%x: memref<32xf32>) kernel attributes {gl.num_warps = 2 : i64, gl.shared_bytes = 128 : i64, gl.launch = #launch} {
    %m = gl.local_alloc {offset = 0 : i64} : !gl.memdesc<32xf32, #gl.plain<order = [0]>>
    gl.warp_specialize warps [1, 1] {
    }, {
      // expected-error@+1 {{unsupported: a copy by cp.async in a partition of warps; supported: where all warps take part}}
      gl.async_copy %x at affine_map<(a) -> (a)>(), %m vector 4 : memref<32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
    }
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 0)>, sizes = [], alignments = [16]>
gpu.module @m {
  gpu.func @map_of_odd_rows(%x: memref<?x62xf32>) kernel attributes {gl.num_warps = 1 : i64, gl.launch = #launch} {
    // expected-error@+1 {{unsupported: a tensor map of a buffer whose address and strides are multiples of 8 bytes; supported: of 16}}
    %map = gl.tensor_map %x : !gl.tensor_map<memref<?x62xf32>, box = [4, 4]>
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = []>
gpu.module @m {
  gpu.func @registers_of_an_unknown_start() kernel attributes {gl.num_warps = 8 : i64, gl.launch = #launch} {
    // expected-error@+1 {{expected a kernel with gl.start_registers where registers are handed over}}
    gl.warp_specialize warps [4, 4] registers [240, 24] {
    }, {
    }
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = []>
gpu.module @m {
  gpu.func @more_registers_than_there_are() kernel attributes {gl.num_warps = 8 : i64, gl.start_registers = 128 : i64, gl.launch = #launch} {
    // expected-error@+1 {{expected partitions that hold at most the 1024 registers that the lanes of their warps start with, got 1056}}
    gl.warp_specialize warps [4, 4] registers [240, 24] {
    }, {
    }
    gpu.return
  }
}

// -----

#launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (256, 16)>, sizes = [], alignments = []>

gpu.module @m {
  // expected-error@+1 {{expected at most 16 for min_ctas_per_sm, since an SM of sm_90a holds no more CTAs of 128 threads, got 17}}
  gpu.func @too_many_ctas() kernel attributes {gl.num_warps = 4 : i64, gl.min_ctas_per_sm = 17 : i64, gl.launch = #launch} {
    gpu.return
  }
}
