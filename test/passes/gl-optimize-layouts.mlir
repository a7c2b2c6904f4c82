// Conversions that cost nothing to remove are removed; the others stay.
// RUN: norma-opt %s --allow-unregistered-dialect --split-input-file --gl-optimize-layouts | FileCheck %s

// CHECK-LABEL: gpu.func @example
// CHECK-SAME: (%[[A:.*]]: tensor<64xf32, #[[WIDE:.*]]>)
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[A]], %[[A]] fastmath<contract> : tensor<64xf32, #[[WIDE]]>
// CHECK-NEXT: "test.use"(%[[R]])
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @example(%a: tensor<64xf32, #wide>) {
    %0 = gl.convert_layout %a : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %1 = arith.mulf %0, %0 fastmath<contract> : tensor<64xf32, #narrow>
    %2 = gl.convert_layout %1 : tensor<64xf32, #narrow> -> tensor<64xf32, #wide>
    "test.use"(%2) : (tensor<64xf32, #wide>) -> ()
    gpu.return
  }
}

// -----

// CHECK-LABEL: gpu.func @identities_chains_and_splats
// CHECK-SAME: (%[[A:.*]]: tensor<64xf32, #[[WIDE:.*]]>, %[[S:.*]]: f32)
// CHECK-DAG: %[[C:.*]] = arith.constant dense<2.0{{.*}}> : tensor<64xf32, #[[NARROW:.*]]>
// CHECK-DAG: %[[SPLAT:.*]] = tensor.splat %[[S]] : tensor<64xf32, #[[NARROW]]>
// CHECK-DAG: %[[T:.*]] = gl.convert_layout %[[A]] : tensor<64xf32, #[[WIDE]]> -> tensor<64xf32, #[[THIRD:.*]]>
// CHECK-NOT: gl.convert_layout
// CHECK: "test.use"(%[[A]], %[[T]], %[[C]], %[[SPLAT]])
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#third = #gl.linear<register = [[1]], lane = [[4], [2], [8], [16], [32]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @identities_chains_and_splats(%a: tensor<64xf32, #wide>, %s: f32) {
    %0 = gl.convert_layout %a : tensor<64xf32, #wide> -> tensor<64xf32, #wide>
    %1 = gl.convert_layout %0 : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %2 = gl.convert_layout %1 : tensor<64xf32, #narrow> -> tensor<64xf32, #third>
    %c = arith.constant dense<2.0> : tensor<64xf32, #wide>
    %3 = gl.convert_layout %c : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %d = tensor.splat %s : tensor<64xf32, #wide>
    %4 = gl.convert_layout %d : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    "test.use"(%0, %2, %3, %4) : (tensor<64xf32, #wide>, tensor<64xf32, #third>, tensor<64xf32, #narrow>, tensor<64xf32, #narrow>) -> ()
    gpu.return
  }
}

// -----

// Through a cast and a constant, whose elements differ from the result's.
// CHECK-LABEL: gpu.func @cast
// CHECK-SAME: (%[[A:.*]]: tensor<64xbf16, #[[WIDE:.*]]>)
// CHECK: %[[E:.*]] = arith.extf %[[A]] : tensor<64xbf16, #[[WIDE]]> to tensor<64xf32, #[[WIDE]]>
// CHECK: arith.addf %[[E]], %{{.*}} : tensor<64xf32, #[[WIDE]]>
// CHECK-NOT: gl.convert_layout
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @cast(%a: tensor<64xbf16, #wide>) {
    %c = arith.constant dense<2.0> : tensor<64xf32, #narrow>
    %0 = gl.convert_layout %a : tensor<64xbf16, #wide> -> tensor<64xbf16, #narrow>
    %1 = arith.extf %0 : tensor<64xbf16, #narrow> to tensor<64xf32, #narrow>
    %2 = arith.addf %1, %c : tensor<64xf32, #narrow>
    %3 = gl.convert_layout %2 : tensor<64xf32, #narrow> -> tensor<64xf32, #wide>
    "test.use"(%3) : (tensor<64xf32, #wide>) -> ()
    gpu.return
  }
}

// -----

// Two operands would need a conversion each; a result with another use stays; so does a conversion of registers alone.
// CHECK-LABEL: gpu.func @kept
// CHECK: arith.addf
// CHECK-NEXT: gl.convert_layout
// CHECK-NEXT: arith.negf
// CHECK-NEXT: gl.convert_layout
// CHECK-NEXT: "test.use"
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @kept(%a: tensor<64xf32, #wide>, %b: tensor<64xf32, #wide>) {
    %0 = arith.addf %a, %b : tensor<64xf32, #wide>
    %1 = gl.convert_layout %0 : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %2 = arith.negf %a : tensor<64xf32, #wide>
    %3 = gl.convert_layout %2 : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    "test.use"(%1, %2, %3) : (tensor<64xf32, #narrow>, tensor<64xf32, #wide>, tensor<64xf32, #narrow>) -> ()
    gpu.return
  }
}

// -----

// An op that moves with a conversion stays where it was: outside of the loop.
// CHECK-LABEL: gpu.func @loop
// CHECK-SAME: (%[[A:.*]]: tensor<64xf32, #[[WIDE:[a-z0-9]+]]>
// CHECK: %[[R:.*]] = math.exp %[[A]] : tensor<64xf32, #[[WIDE]]>
// CHECK: scf.for
// CHECK-NEXT: "test.use"(%[[R]])
#wide = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
#narrow = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @kernels {
  gpu.func @loop(%a: tensor<64xf32, #wide>, %lo: index, %hi: index, %step: index) {
    %0 = gl.convert_layout %a : tensor<64xf32, #wide> -> tensor<64xf32, #narrow>
    %1 = math.exp %0 : tensor<64xf32, #narrow>
    scf.for %i = %lo to %hi step %step {
      %2 = gl.convert_layout %1 : tensor<64xf32, #narrow> -> tensor<64xf32, #wide>
      "test.use"(%2) : (tensor<64xf32, #wide>) -> ()
    }
    gpu.return
  }
}

// -----

// The registers of a store are renumbered into vectors where elements are wide, before the op that narrows them.
// CHECK-LABEL: gpu.func @store_along_other_registers
// CHECK: %[[T:.*]] = "test.tile"() : () -> tensor<64x8xf32, #[[M_FIRST:[a-z0-9]+]]>
// CHECK: %[[R:.*]] = gl.convert_layout %[[T]] : tensor<64x8xf32, #[[M_FIRST]]> -> tensor<64x8xf32, #[[J_FIRST:[a-z0-9]+]]>
// CHECK: %[[N:.*]] = arith.truncf %[[R]] : tensor<64x8xf32, #[[J_FIRST]]> to tensor<64x8xf16, #[[J_FIRST]]>
// CHECK: gl.store %[[N]], {{.*}} tensor<64x8xf16, #[[J_FIRST]]>
#m_first = #gl.linear<register = [[32, 0], [0, 1], [0, 2], [0, 4]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @store_along_other_registers(%y: memref<64x8xf16>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %t = "test.tile"() : () -> tensor<64x8xf32, #m_first>
    %0 = arith.truncf %t : tensor<64x8xf32, #m_first> to tensor<64x8xf16, #m_first>
    gl.store %0, %y at affine_map<(m, j) -> (m, j)>() : tensor<64x8xf16, #m_first>, memref<64x8xf16>
    gpu.return
  }
}

// -----

// The registers of a load are renumbered after the ops that widen its elements; another use gets the tile as it was.
// CHECK-LABEL: gpu.func @load_along_other_registers
// CHECK: %[[T:.*]] = gl.load {{.*}} -> tensor<64x16xf16, #[[J_FIRST:[a-z0-9]+]]>
// CHECK: %[[SAME:.*]] = gl.convert_layout %[[T]] : tensor<64x16xf16, #[[J_FIRST]]> -> tensor<64x16xf16, #[[M_FIRST:[a-z0-9]+]]>
// CHECK: %[[B:.*]] = gl.optimization_barrier %[[T]] : tensor<64x16xf16, #[[J_FIRST]]>
// CHECK: %[[W:.*]] = arith.extf %[[B]] : tensor<64x16xf16, #[[J_FIRST]]> to tensor<64x16xf32, #[[J_FIRST]]>
// CHECK: %[[R:.*]] = gl.convert_layout %[[W]] : tensor<64x16xf32, #[[J_FIRST]]> -> tensor<64x16xf32, #[[M_FIRST]]>
// CHECK: "test.use"(%[[SAME]], %[[R]])
#m_first = #gl.linear<register = [[1, 0], [0, 1], [0, 2], [0, 4], [0, 8]], lane = [[2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @load_along_other_registers(%x: memref<64x16xf16>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %0 = gl.load %x at affine_map<(m, j) -> (m, j)>() : memref<64x16xf16> -> tensor<64x16xf16, #m_first>
    %1 = gl.optimization_barrier %0 : tensor<64x16xf16, #m_first>
    %2 = arith.extf %1 : tensor<64x16xf16, #m_first> to tensor<64x16xf32, #m_first>
    "test.use"(%0, %2) : (tensor<64x16xf16, #m_first>, tensor<64x16xf32, #m_first>) -> ()
    gpu.return
  }
}

// -----

// A tile that is stored along other lanes than it is held is exchanged: its requests would touch 8 columns of 8 bytes each.
// CHECK-LABEL: gpu.func @transposed_store
// CHECK: %[[T:.*]] = "test.tile"() : () -> tensor<64x64xbf16, #[[ROWS:[a-z0-9]+]]>
// CHECK: %[[MOVED:.*]] = gl.convert_layout %[[T]] : tensor<64x64xbf16, #[[ROWS]]> -> tensor<64x64xbf16, #[[COLUMNS:[a-z0-9]+]]>
// CHECK: gl.store %[[MOVED]], {{.*}} tensor<64x64xbf16, #[[COLUMNS]]>
#rows = #gl.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], block = []>
gpu.module @kernels {
  gpu.func @transposed_store(%y: memref<64x64xbf16>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %t = "test.tile"() : () -> tensor<64x64xbf16, #rows>
    gl.store %t, %y at affine_map<(m, n) -> (n, m)>() : tensor<64x64xbf16, #rows>, memref<64x64xbf16>
    gpu.return
  }
}

// -----

// A tile that would take more shared memory than every CTA may have stays where it is.
// CHECK-LABEL: gpu.func @too_large_to_exchange
// CHECK-NOT: gl.convert_layout
#rows = #gl.linear<register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0], [64, 0], [128, 0], [256, 0]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], block = []>
gpu.module @kernels {
  gpu.func @too_large_to_exchange(%y: memref<64x512xbf16>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %t = "test.tile"() : () -> tensor<512x64xbf16, #rows>
    gl.store %t, %y at affine_map<(m, n) -> (n, m)>() : tensor<512x64xbf16, #rows>, memref<64x512xbf16>
    gpu.return
  }
}

// -----

// A loaded tile is exchanged likewise, once for all uses, unless L1 has most of it.
// CHECK-LABEL: gpu.func @transposed_load
// CHECK: %[[T:.*]] = gl.load {{.*}} -> tensor<64x64xbf16, #[[COLUMNS:[a-z0-9]+]]>
// CHECK: %[[MOVED:.*]] = gl.convert_layout %[[T]] : tensor<64x64xbf16, #[[COLUMNS]]> -> tensor<64x64xbf16, #[[ROWS:[a-z0-9]+]]>
// CHECK: %[[A:.*]] = math.absf %[[MOVED]] : tensor<64x64xbf16, #[[ROWS]]>
// CHECK: "test.use"(%[[MOVED]], %[[A]])
#rows = #gl.linear<register = [[0, 1], [4, 0], [8, 0], [16, 0], [32, 0]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [2, 0]], block = []>
gpu.module @kernels {
  gpu.func @transposed_load(%x: memref<4096x4096xbf16>) kernel attributes {gl.num_warps = 4 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %0 = gl.load %x at affine_map<(m, n) -> (n, m)>() : memref<4096x4096xbf16> -> tensor<64x64xbf16, #rows>
    %1 = math.absf %0 : tensor<64x64xbf16, #rows>
    "test.use"(%0, %1) : (tensor<64x64xbf16, #rows>, tensor<64x64xbf16, #rows>) -> ()
    gpu.return
  }
}

// -----

// Requests for partial lines, 16 bytes of each of 32 rows, become requests for whole lines. The tile is exchanged in its narrow
// type, and keeps the layout of the exchange while it is wide.
// CHECK-LABEL: gpu.func @pieces_of_lines
// CHECK: %[[T:.*]] = "test.tile"() : () -> tensor<64x8x32xf32, #[[M_FIRST:[a-z0-9]+]]>
// CHECK: %[[R:.*]] = gl.convert_layout %[[T]] : tensor<64x8x32xf32, #[[M_FIRST]]> -> tensor<64x8x32xf32, #[[J_FIRST:[a-z0-9]+]]>
// CHECK: %[[N:.*]] = arith.truncf %[[R]] : tensor<64x8x32xf32, #[[J_FIRST]]> to tensor<64x8x32xf8E4M3FN, #[[J_FIRST]]>
// CHECK: %[[MOVED:.*]] = gl.convert_layout %[[N]] : tensor<64x8x32xf8E4M3FN, #[[J_FIRST]]> -> tensor<64x8x32xf8E4M3FN, #[[RUNS:[a-z0-9]+]]>
// CHECK: gl.store %[[MOVED]]
#m_first = #gl.linear<register = [[1, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 4], [0, 0, 8], [0, 0, 16]], lane = [[2, 0, 0], [4, 0, 0], [8, 0, 0], [16, 0, 0], [32, 0, 0]], warp = [[0, 1, 0], [0, 2, 0], [0, 4, 0]], block = []>
gpu.module @kernels {
  gpu.func @pieces_of_lines(%y: memref<64x8192xf8E4M3FN>) kernel attributes {gl.num_warps = 8 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %t = "test.tile"() : () -> tensor<64x8x32xf32, #m_first>
    %0 = arith.truncf %t : tensor<64x8x32xf32, #m_first> to tensor<64x8x32xf8E4M3FN, #m_first>
    gl.store %0, %y at affine_map<(m, q, j) -> (m, q * 32 + j)>() : tensor<64x8x32xf8E4M3FN, #m_first>, memref<64x8192xf8E4M3FN>
    gpu.return
  }
}

// -----

// Two conversions, one of which only renumbers registers, are not merged into one that moves wider elements.
// CHECK-LABEL: gpu.func @moved_while_narrow
// CHECK: gl.convert_layout
// CHECK-NEXT: arith.truncf
// CHECK-NEXT: gl.convert_layout {{.*}}xf8E4M3FN
#columns = #gl.linear<register = [[4], [8], [1], [2]], lane = [[16], [32], [64], [128], [256]], warp = [[512]], block = []>
#renumbered = #gl.linear<register = [[1], [2], [4], [8]], lane = [[16], [32], [64], [128], [256]], warp = [[512]], block = []>
#across = #gl.linear<register = [[1], [2], [4], [8]], lane = [[512], [32], [64], [128], [256]], warp = [[16]], block = []>
gpu.module @kernels {
  gpu.func @moved_while_narrow(%a: tensor<1024xf32, #columns>) {
    %0 = gl.convert_layout %a : tensor<1024xf32, #columns> -> tensor<1024xf32, #renumbered>
    %1 = arith.truncf %0 : tensor<1024xf32, #renumbered> to tensor<1024xf8E4M3FN, #renumbered>
    %2 = gl.convert_layout %1 : tensor<1024xf8E4M3FN, #renumbered> -> tensor<1024xf8E4M3FN, #across>
    "test.use"(%2) : (tensor<1024xf8E4M3FN, #across>) -> ()
    gpu.return
  }
}

// -----

// Nothing is gained if neighbouring elements are far apart in both layouts.
// CHECK-LABEL: gpu.func @left_alone
// CHECK-NOT: gl.convert_layout
#rows = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
gpu.module @kernels {
  gpu.func @left_alone(%z: memref<32x128xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<() -> (1)>, traffic = affine_map<() -> (0, 0)>, sizes = [], alignments = [16]>} {
    %s = "test.tile"() : () -> tensor<32xf32, #rows>
    gl.store %s, %z at affine_map<(m) -> (m, 7)>() : tensor<32xf32, #rows>, memref<32x128xf32>
    gpu.return
  }
}
