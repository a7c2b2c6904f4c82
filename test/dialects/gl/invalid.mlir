// One case for each numbered constraint of gl, named as in the verifier.
// RUN: norma-opt %s --split-input-file --verify-diagnostics

func.func @blocked_c1() attributes {
  // expected-error @+1 {{expected powers of two, got 3}}
  a = #gl.blocked<size_per_thread = [1, 3], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
} { return }

// -----

func.func @blocked_c1_rank() attributes {
  // expected-error @+1 {{expected one entry per axis in every parameter, got 1, 2, 2, 2}}
  a = #gl.blocked<size_per_thread = [1], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 0]>
} { return }

// -----

func.func @blocked_c1_order() attributes {
  // expected-error @+1 {{expected order to be a permutation of 2 axes, got axis 1}}
  a = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 4], order = [1, 1]>
} { return }

// -----

func.func @blocked_c2() attributes {
  // expected-error @+1 {{expected 32 threads per warp, got 16}}
  a = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 16], warps_per_cta = [1, 4], order = [1, 0]>
} { return }

// -----

func.func @slice_c1() attributes {
  // expected-error @+1 {{expected a distributed layout (blocked, slice or linear) as parent, got #gl.plain<order = [0]>}}
  a = #gl.slice<axis = 0, parent = #gl.plain<order = [0]>>
} { return }

// -----

func.func @slice_c1_axis() attributes {
  // expected-error @+1 {{got 1}}
  a = #gl.slice<axis = 1, parent = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [4], order = [0]>>
} { return }

// -----

func.func @linear_c1() attributes {
  // expected-error @+1 {{expected bases of one coordinate per axis, got array<i64: 0, 1>}}
  a = #gl.linear<register = [[0, 1]], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
} { return }

// -----

func.func @linear_c2() attributes {
  // expected-error @+1 {{expected five lane bases, got 1}}
  a = #gl.linear<register = [], lane = [[1]], warp = [], block = []>
} { return }

// -----

#layout = #gl.linear<register = [], lane = [[1], [2], [4], [8], [8]], warp = [], block = []>
// expected-error @+1 {{expected the bases to reach every element (rank 5), got rank 4}}
func.func private @linear_c3(tensor<32xf32, #layout>)

// -----

#layout = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>
// expected-error @+1 {{expected lane basis 4 to lie in [0, 16) along axis 0, got 16}}
func.func private @linear_c3_outside(tensor<16xf32, #layout>)

// -----

// expected-error @+1 {{expected a shared-memory layout (plain, swizzled or shared_linear), got}}
func.func private @memdesc_c1(!gl.memdesc<4xf32, #gl.cache<>>)

// -----

// expected-error @+1 {{expected a layout of 1 axes, got #gl.plain<order = [1, 0]>}}
func.func private @memdesc_c1_rank(!gl.memdesc<4xf32, #gl.plain<order = [1, 0]>>)

// -----

// expected-error @+1 {{expected extents that are powers of two, but for a first axis that is the slowest, got 3}}
func.func private @memdesc_c2(!gl.memdesc<3xf32, #gl.plain<order = [0]>>)

// -----

// expected-error @+1 {{expected extents that are powers of two, but for a first axis that is the slowest, got 3}}
func.func private @memdesc_c2_fastest(!gl.memdesc<3x4xf32, #gl.plain<order = [0, 1]>>)

// -----

// expected-error @+1 {{expected order to be a permutation of the axes 0..2, got [7, 7]}}
func.func private @memdesc_c3(!gl.memdesc<4x8xf32, #gl.plain<order = [7, 7]>>)

// -----

// expected-error @+1 {{expected padding of more than -8 elements, got -8}}
func.func private @memdesc_c3_padding(!gl.memdesc<4x8xf32, #gl.plain<order = [1, 0], padding = -8>>)

// -----

// expected-error @+1 {{expected vec to be a power of two, got 3}}
func.func private @memdesc_c3_swizzle(!gl.memdesc<4x8xf32, #gl.swizzled<vec = 3, per_phase = 1, max_phase = 1, order = [1, 0]>>)

// -----

// expected-error @+1 {{expected a swizzle of vec * max_phase at most 8 elements (the fastest extent), got 4 * 4}}
func.func private @memdesc_c3_ring(!gl.memdesc<3x8xf32, #gl.swizzled<vec = 4, per_phase = 1, max_phase = 4, order = [1, 0]>>)

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @gather_c1(%x: memref<4x32xf32>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected an access of 1 indices and 1 axes to 2 coordinates}}
  %t = gl.gather %x at affine_map<(p, n) -> (p + n)>()[%p] : memref<4x32xf32>, (tensor<32xindex, #layout>) -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @gather_c2(%x: memref<64xf32>, %p: tensor<32xi64, #layout>) {
  // expected-error @+1 {{expected places of type 'tensor<32xindex}}
  %t = gl.gather %x at affine_map<(p, n) -> (p + n)>()[%p] : memref<64xf32>, (tensor<32xi64, #layout>) -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @gather_c2_mask(%x: memref<64xf32>, %p: tensor<32xindex, #layout>, %m: tensor<32xi8, #layout>) {
  // expected-error @+1 {{expected a mask of type 'tensor<32xi1}}
  %t = gl.gather %x at affine_map<(p, n) -> (p + n)>()[%p] if %m : tensor<32xi8, #layout> : memref<64xf32>, (tensor<32xindex, #layout>) -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @gather_c3(%x: memref<64xf16>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected elements of 'memref<64xf16>', got 'f32'}}
  %t = gl.gather %x at affine_map<(p, n) -> (p + n)>()[%p] : memref<64xf16>, (tensor<32xindex, #layout>) -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @gather_c4(%x: memref<64xf32>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected pairs of guards over 2 dims and 0 limits}}
  %t = gl.gather %x at affine_map<(p, n) -> (p + n)>()[%p] where affine_map<(n) -> (n, 8)>[] : memref<64xf32>, (tensor<32xindex, #layout>) -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @gather_c4_place(%x: memref<64xf32>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected guards over indices and axes, got one over place 0}}
  %t = gl.gather %x at affine_map<(p, n) -> (p + n)>()[%p] where affine_map<(p, n) -> (p, 8)>[] : memref<64xf32>, (tensor<32xindex, #layout>) -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @gather_c5(%x: memref<64xf32>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected a vector of at most 1 elements}}
  %t = gl.gather %x at affine_map<(p, n) -> (p + n)>()[%p] vector 2 : memref<64xf32>, (tensor<32xindex, #layout>) -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @scatter_c1(%t: tensor<32xf32, #layout>, %x: memref<4x32xf32>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected an access of 1 indices and 1 axes to 2 coordinates}}
  gl.scatter %t, %x at affine_map<(p, n) -> (p + n)>()[%p] : tensor<32xf32, #layout>, memref<4x32xf32>, (tensor<32xindex, #layout>)
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @scatter_c2(%t: tensor<32xf32, #layout>, %x: memref<64xf32>, %p: tensor<32xi64, #layout>) {
  // expected-error @+1 {{expected places of type 'tensor<32xindex}}
  gl.scatter %t, %x at affine_map<(p, n) -> (p + n)>()[%p] : tensor<32xf32, #layout>, memref<64xf32>, (tensor<32xi64, #layout>)
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @scatter_c3(%t: tensor<32xf32, #layout>, %x: memref<64xf16>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected elements of 'memref<64xf16>', got 'f32'}}
  gl.scatter %t, %x at affine_map<(p, n) -> (p + n)>()[%p] : tensor<32xf32, #layout>, memref<64xf16>, (tensor<32xindex, #layout>)
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @scatter_c4(%t: tensor<32xf32, #layout>, %x: memref<64xf32>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected guards over indices and axes, got one over place 0}}
  gl.scatter %t, %x at affine_map<(p, n) -> (p + n)>()[%p] where affine_map<(p, n) -> (p, 8)>[] : tensor<32xf32, #layout>, memref<64xf32>, (tensor<32xindex, #layout>)
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @scatter_c5(%t: tensor<32xf32, #layout>, %x: memref<64xf32>, %p: tensor<32xindex, #layout>) {
  // expected-error @+1 {{expected a vector of at most 1 elements}}
  gl.scatter %t, %x at affine_map<(p, n) -> (p + n)>()[%p] vector 2 : tensor<32xf32, #layout>, memref<64xf32>, (tensor<32xindex, #layout>)
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c1(%x: memref<4x32xf32>) {
  // expected-error @+1 {{expected an access of 0 indices and 1 axes to 2 coordinates}}
  %t = gl.load %x at affine_map<(n) -> (n)>() : memref<4x32xf32> -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c2(%x: memref<32xf16>) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  %t = gl.load %x at affine_map<(n) -> (n)>() : memref<32xf16> -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c3(%x: memref<32xf32>, %n: index) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 1 limits}}
  %t = gl.load %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 32)>[%n] : memref<32xf32> -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c4(%x: memref<32xf32>, %zero: f16) {
  // expected-error @+1 {{expected other to be of type 'f32', got 'f16'}}
  %t = gl.load %x at affine_map<(n) -> (n)>() other %zero : f16 : memref<32xf32> -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c5(%x: memref<32xf32>) {
  // expected-error @+1 {{expected vector to be a power of two, got 3}}
  %t = gl.load %x at affine_map<(n) -> (n)>() vector 3 : memref<32xf32> -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [4], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c6(%x: memref<128xf32>) {
  // expected-error @+1 {{expected alignment to be a power of two from 4 to 16, got 32}}
  %t = gl.load %x at affine_map<(n) -> (n)>() vector 4 alignment 32 : memref<128xf32> -> tensor<128xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [4], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c6_strides(%x: memref<?x?xf32>, %m: index) {
  // expected-error @+1 {{expected a buffer of static strides, without offset, and of static sizes but for its outermost axis}}
  %t = gl.load %x at affine_map<(m, n) -> (m, n)>(%m) vector 4 alignment 4 : memref<?x?xf32> -> tensor<128xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @store_c1(%t: tensor<32xf32, #layout>, %x: memref<4x32xf32>) {
  // expected-error @+1 {{expected an access of 0 indices and 1 axes to 2 coordinates}}
  gl.store %t, %x at affine_map<(n) -> (n)>() : tensor<32xf32, #layout>, memref<4x32xf32>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @store_c2(%t: tensor<32xf32, #layout>, %x: memref<32xf16>) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  gl.store %t, %x at affine_map<(n) -> (n)>() : tensor<32xf32, #layout>, memref<32xf16>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @store_c3(%t: tensor<32xf32, #layout>, %x: memref<32xf32>, %n: index) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 1 limits}}
  gl.store %t, %x at affine_map<(n) -> (n)>() where affine_map<(n)[s0] -> (n)>[%n] : tensor<32xf32, #layout>, memref<32xf32>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @store_c4(%t: tensor<32xf32, #layout>, %x: memref<32xf32>) {
  // expected-error @+1 {{expected vector to be a power of two, got 0}}
  gl.store %t, %x at affine_map<(n) -> (n)>() vector 0 : tensor<32xf32, #layout>, memref<32xf32>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @coordinates_c1() {
  // expected-error @+1 {{expected one expression over 1 dims and a tile of index}}
  %c = gl.coordinates affine_map<(n) -> (n)>() : tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @mask_c1() {
  // expected-error @+1 {{expected a tile of i1, got}}
  %m = gl.mask affine_map<(n) -> (n, 32)>()[] : tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @mask_c1_guards() {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 0 limits}}
  %m = gl.mask affine_map<(n) -> (n)>()[] : tensor<32xi1, #layout>
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @broadcast_c1(%s: tensor<2xf32, #gl.slice<axis = 0, parent = #row>>) {
  // expected-error @+1 {{along axis 1, got}}
  %b = gl.broadcast %s axis 1 : tensor<2xf32, #gl.slice<axis = 0, parent = #row>> -> tensor<2x32xf32, #row>
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @broadcast_c1_lanes(%s: tensor<2xf32, #gl.linear<register = [], lane = [[1], [0], [0], [0], [0]], warp = [], block = []>>) {
  // expected-error @+1 {{along axis 1, got}}
  %b = gl.broadcast %s axis 1 : tensor<2xf32, #gl.linear<register = [], lane = [[1], [0], [0], [0], [0]], warp = [], block = []>> -> tensor<2x32xf32, #row>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @convert_layout_c1(%a: tensor<32xf32, #layout>) {
  // expected-error @+1 {{expected the shape and elements of}}
  %b = gl.convert_layout %a : tensor<32xf32, #layout> -> tensor<64xf32, #layout>
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @reduce_c1(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{got 2}}
  %s = gl.reduce %x axis 2 : (tensor<2x32xf32, #row>) -> tensor<2xf32, #gl.slice<axis = 1, parent = #row>> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @reduce_c2(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{along axis 1, got}}
  %s = gl.reduce %x axis 1 : (tensor<2x32xf32, #row>) -> tensor<32xf32, #gl.slice<axis = 0, parent = #row>> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @reduce_c3(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{expected a combiner of two scalars per tile that yields one, got 'f32'}}
  %s = gl.reduce %x axis 1 : (tensor<2x32xf32, #row>) -> tensor<2xf32, #gl.slice<axis = 1, parent = #row>> combine {
  ^bb0(%a: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @scan_c1(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{got 2}}
  %s, %t = gl.scan %x axis 2 : tensor<2x32xf32, #row> -> tensor<2xf32, #gl.slice<axis = 1, parent = #row>> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @scan_c2(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{expected a combiner of two scalars per tile that yields one, got 'f32'}}
  %s, %t = gl.scan %x axis 1 : tensor<2x32xf32, #row> -> tensor<2xf32, #gl.slice<axis = 1, parent = #row>> combine {
  ^bb0(%a: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @scan_c2_identity(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{expected an identity of type 'f32', got 0 : i32}}
  %s, %t = gl.scan %x axis 1 identity 0 : i32 : tensor<2x32xf32, #row> -> tensor<2xf32, #gl.slice<axis = 1, parent = #row>> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @scan_c3(%x: tensor<2x32xf32, #row>, %g: tensor<4x1xf32, #row>) {
  // expected-error @+1 {{but along axis 1, got}}
  %s, %t = gl.scan %x axis 1 behind %g : tensor<4x1xf32, #row> : tensor<2x32xf32, #row> -> tensor<2xf32, #gl.slice<axis = 1, parent = #row>> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @scan_c4(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{along axis 1, got}}
  %s, %t = gl.scan %x axis 1 : tensor<2x32xf32, #row> -> tensor<32xf32, #gl.slice<axis = 0, parent = #row>> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @warp_reduce_c1(%x: tensor<2x32xf32, #row>, %y: tensor<4x32xf32, #row>) {
  // expected-error @+1 {{expected tiles of one shape and layout}}
  %s, %t = gl.warp_reduce %x, %y axis 1 : (tensor<2x32xf32, #row>, tensor<4x32xf32, #row>)
      -> tensor<2x1xf32, #row>, tensor<2x1xf32, #row> combine {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    gl.yield %a, %b : f32, f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @warp_reduce_c2(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{but along axis 1, got}}
  %s = gl.warp_reduce %x axis 1 : (tensor<2x32xf32, #row>) -> tensor<4x1xf32, #row> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a : f32
  }
  return
}

// -----

#row = #gl.blocked<size_per_thread = [1, 1], threads_per_warp = [1, 32], warps_per_cta = [1, 1], order = [1, 0]>
func.func @warp_reduce_c3(%x: tensor<2x32xf32, #row>) {
  // expected-error @+1 {{expected a combiner of two scalars per tile that yields one}}
  %s = gl.warp_reduce %x axis 1 : (tensor<2x32xf32, #row>) -> tensor<2x1xf32, #row> combine {
  ^bb0(%a: f32, %b: f32):
    gl.yield %a, %b : f32, f32
  }
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @local_store_c1(%t: tensor<32xf32, #layout>, %m: !gl.memdesc<64xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected a tile of the shape and elements of}}
  gl.local_store %t, %m : tensor<32xf32, #layout>, !gl.memdesc<64xf32, #gl.plain<order = [0]>>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @local_store_c2(%t: tensor<32xf32, #layout>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 0 limits}}
  gl.local_store %t, %m where affine_map<(n) -> (n)> : tensor<32xf32, #layout>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @local_load_c1(%m: !gl.memdesc<32xf16, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected a tile of the shape and elements of}}
  %t = gl.local_load %m : !gl.memdesc<32xf16, #gl.plain<order = [0]>> -> tensor<32xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0], ctas_per_cluster = [4]>
func.func @local_load_c1(%m: !gl.memdesc<64xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected a tile of the shape and elements of}}
  %t = gl.local_load %m : !gl.memdesc<64xf32, #gl.plain<order = [0]>> -> tensor<128xf32, #layout>
  return
}

// -----

func.func @local_load_c2(%m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %n: index) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 1 limits}}
  %t = gl.local_load %m where affine_map<(n) -> (n, 8)>()[%n] : !gl.memdesc<32xf32, #gl.plain<order = [0]>>
      -> tensor<32xf32, #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [], block = []>>
  return
}

// -----

func.func @memdesc_index_c1(%m: !gl.memdesc<4x32xf32, #gl.plain<order = [1, 0]>>, %i: index) {
  // expected-error @+1 {{expected a stage of}}
  %s = gl.memdesc_index %m[%i] : !gl.memdesc<4x32xf32, #gl.plain<order = [1, 0]>> -> !gl.memdesc<64xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @barrier_c1() {
  // expected-error @+1 {{expected id and threads together}}
  gl.barrier id 1
  return
}

// -----

func.func @barrier_c1_id() {
  // expected-error @+1 {{expected an id from 1 to 15, got 16}}
  gl.barrier id 16 threads 128
  return
}

// -----

func.func @barrier_c1_threads() {
  // expected-error @+1 {{expected a multiple of 32 threads up to 1024, got 33}}
  gl.barrier id 1 threads 33
  return
}

// -----

func.func @mbarrier_init_c1(%b: !gl.mbarrier<1>) {
  // expected-error @+1 {{expected at least one arrival, got 0}}
  gl.mbarrier_init %b, 0 : !gl.mbarrier<1>
  return
}

// -----

func.func @async_copy_c1(%x: memref<4x32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected an access of 0 indices and 1 axes to 2 coordinates}}
  gl.async_copy %x at affine_map<(n) -> (n)>(), %m : memref<4x32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @async_copy_c2(%x: memref<32xf16>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  gl.async_copy %x at affine_map<(n) -> (n)>(), %m : memref<32xf16>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @async_copy_c3(%x: memref<32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %n: index) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 1 limits}}
  gl.async_copy %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 8)>[%n], %m
      : memref<32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @async_copy_c4(%x: memref<32xbf16>, %m: !gl.memdesc<32xbf16, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected vector to be one element, or 4, 8 or 16 bytes, got 16 x 'bf16'}}
  gl.async_copy %x at affine_map<(n) -> (n)>(), %m vector 16 : memref<32xbf16>, !gl.memdesc<32xbf16, #gl.plain<order = [0]>>
  return
}

// -----

func.func @copy_to_shared_c1(%x: memref<4x32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected an access of 0 indices and 1 axes to 2 coordinates}}
  gl.copy_to_shared %x at affine_map<(n) -> (n)>(), %m by bulk : memref<4x32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @copy_to_shared_c2(%x: memref<32xf16>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  gl.copy_to_shared %x at affine_map<(n) -> (n)>(), %m by bulk : memref<32xf16>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @copy_to_shared_c3(%x: memref<32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %n: index) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 1 limits}}
  gl.copy_to_shared %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 8)>[%n], %m by bulk
      : memref<32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @copy_from_shared_c1(%x: memref<4x32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected an access of 0 indices and 1 axes to 2 coordinates}}
  gl.copy_from_shared %m, %x at affine_map<(n) -> (n)>() by bulk : !gl.memdesc<32xf32, #gl.plain<order = [0]>>, memref<4x32xf32>
  return
}

// -----

func.func @copy_from_shared_c2(%x: memref<32xf16>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  gl.copy_from_shared %m, %x at affine_map<(n) -> (n)>() by bulk : !gl.memdesc<32xf32, #gl.plain<order = [0]>>, memref<32xf16>
  return
}

// -----

func.func @copy_from_shared_c3(%x: memref<32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %n: index) {
  // expected-error @+1 {{expected pairs of guards over 1 dims and 1 limits}}
  gl.copy_from_shared %m, %x at affine_map<(n) -> (n)>() where affine_map<(n) -> (n, 8)>[%n] by bulk
      : !gl.memdesc<32xf32, #gl.plain<order = [0]>>, memref<32xf32>
  return
}

// -----

func.func @draw_tile_c1(%c: memref<1xi64>, %n: index, %m: !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>, %b: !gl.mbarrier<3>) {
  // expected-error @+1 {{expected memory of 3x1 numbers of type index}}
  gl.draw_tile %c of %n behind %n, %m, %b[%n] : memref<1xi64>, !gl.memdesc<2x1xindex, #gl.plain<order = [1, 0]>>, !gl.mbarrier<3>
  return
}

// -----

func.func @await_tile_c1(%n: index, %p: i1, %m: !gl.memdesc<3x1xf32, #gl.plain<order = [1, 0]>>, %b: !gl.mbarrier<3>) {
  // expected-error @+1 {{expected memory of 3x1 numbers of type index}}
  %t = gl.await_tile %m, %b[%n], %p : !gl.memdesc<3x1xf32, #gl.plain<order = [1, 0]>>, !gl.mbarrier<3>
  return
}

// -----

func.func @bulk_load_c1(%x: memref<4x32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %b: !gl.mbarrier<1>, %i: index) {
  // expected-error @+1 {{expected an access of 1 indices and 0 axes to 2 coordinates}}
  gl.bulk_load %x at affine_map<(n) -> (n)>(%i), %m, %b[%i] : memref<4x32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>, !gl.mbarrier<1>
  return
}

// -----

func.func @tail_load_c1(%x: memref<4x32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %i: index) {
  // expected-error @+1 {{expected an access of 1 indices and 0 axes to 2 coordinates}}
  gl.tail_load %x at affine_map<(n) -> (n)>(%i), %m from %i to %i : memref<4x32xf32>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @tail_load_c2(%x: memref<32xf16>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %i: index) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  gl.tail_load %x at affine_map<(n) -> (n)>(%i), %m from %i to %i : memref<32xf16>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>
  return
}

// -----

func.func @bulk_load_c2(%x: memref<32xf16>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %b: !gl.mbarrier<1>, %i: index) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  gl.bulk_load %x at affine_map<(n) -> (n)>(%i), %m, %b[%i] : memref<32xf16>, !gl.memdesc<32xf32, #gl.plain<order = [0]>>, !gl.mbarrier<1>
  return
}

// -----

func.func @bulk_store_c1(%x: memref<4x32xf32>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %i: index) {
  // expected-error @+1 {{expected an access of 1 indices and 0 axes to 2 coordinates}}
  gl.bulk_store %m, %x at affine_map<(n) -> (n)>(%i) : !gl.memdesc<32xf32, #gl.plain<order = [0]>>, memref<4x32xf32>
  return
}

// -----

func.func @bulk_store_c2(%x: memref<32xf16>, %m: !gl.memdesc<32xf32, #gl.plain<order = [0]>>, %i: index) {
  // expected-error @+1 {{expected elements of 'memref<32xf16>', got 'f32'}}
  gl.bulk_store %m, %x at affine_map<(n) -> (n)>(%i) : !gl.memdesc<32xf32, #gl.plain<order = [0]>>, memref<32xf16>
  return
}

// -----

func.func @memdesc_reshape_c1(%m: !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0]>>) {
  // expected-error @+1 {{expected plain memories of as many elements, their axes in order}}
  %r = gl.memdesc_reshape %m : !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0]>> -> !gl.memdesc<128xbf16, #gl.plain<order = [0]>>
  return
}

// -----

func.func @memdesc_reshape_c1_padding(%m: !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0]>>) {
  // expected-error @+1 {{expected plain memories of as many elements, their axes in order}}
  %r = gl.memdesc_reshape %m : !gl.memdesc<4x64xbf16, #gl.plain<order = [1, 0]>> -> !gl.memdesc<8x32xbf16, #gl.plain<order = [1, 0], padding = 1>>
  return
}

// -----

func.func @tensor_map_c1(%x: memref<?x64xf32>) {
  // expected-error @+1 {{expected a box of 1 to 5 axes, as many as the buffer has, with extents from 1 to 256, got '!gl.tensor_map<memref<?x64xf32>, box = [64]>'}}
  %map = gl.tensor_map %x : !gl.tensor_map<memref<?x64xf32>, box = [64]>
  return
}

// -----

func.func @tensor_map_c1(%x: memref<?x64xf32>) {
  // expected-error @+1 {{expected rows of the box that are multiples of 16 bytes, got 8}}
  %map = gl.tensor_map %x : !gl.tensor_map<memref<?x64xf32>, box = [4, 2]>
  return
}

// -----

func.func @tensor_map_c1(%x: memref<64x64xf32, strided<[1, 64]>>) {
  // expected-error @+1 {{expected a buffer whose last axis has the stride 1}}
  %map = gl.tensor_map %x : !gl.tensor_map<memref<64x64xf32, strided<[1, 64]>>, box = [4, 4]>
  return
}

// -----

func.func @tensor_map_c2(%x: memref<?x64xf32>) {
  // expected-error @+1 {{expected no swizzle or one over 32, 64 or 128 bytes, as many as rows of the box have, got 16 and rows of 16}}
  %map = gl.tensor_map %x : !gl.tensor_map<memref<?x64xf32>, box = [4, 4], swizzle = 16>
  return
}

// -----

func.func @tensor_map_c2_row(%x: memref<?x64xf32>) {
  // expected-error @+1 {{got 128 and rows of 256}}
  %map = gl.tensor_map %x : !gl.tensor_map<memref<?x64xf32>, box = [4, 64], swizzle = 128>
  return
}

// -----

func.func @tensor_load_c1(%map: !gl.tensor_map<memref<?x64xf32>, box = [1, 32]>, %m: !gl.memdesc<1x32xf32, #gl.plain<order = [1, 0]>>, %b: !gl.mbarrier<1>, %i: index) {
  // expected-error @+1 {{expected 2 coordinates and memory for a box of}}
  gl.tensor_load %map[%i], %m, %b[%i] : !gl.tensor_map<memref<?x64xf32>, box = [1, 32]>, !gl.memdesc<1x32xf32, #gl.plain<order = [1, 0]>>, !gl.mbarrier<1>
  return
}

// -----

func.func @tensor_store_c1(%map: !gl.tensor_map<memref<?x64xf32>, box = [1, 32]>, %m: !gl.memdesc<1x64xf32, #gl.plain<order = [1, 0]>>, %i: index) {
  // expected-error @+1 {{expected 2 coordinates and memory for a box of}}
  gl.tensor_store %m, %map[%i, %i] : !gl.memdesc<1x64xf32, #gl.plain<order = [1, 0]>>, !gl.tensor_map<memref<?x64xf32>, box = [1, 32]>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @remote_store_c1(%t: tensor<32xf16, #layout>, %m: !gl.memdesc<32xf16, #gl.plain<order = [0]>>, %b: !gl.mbarrier<1>, %i: index) {
  // expected-error @+1 {{expected elements of 4 or 8 bytes, got 'f16'}}
  gl.remote_store %t, %m, %b[%i] : tensor<32xf16, #layout>, !gl.memdesc<32xf16, #gl.plain<order = [0]>>, !gl.mbarrier<1>
  return
}

// -----

func.func @warp_specialize_c1() {
  // expected-error @+1 {{expected warps and registers for each of 1 partitions, got 2 and 1}}
  gl.warp_specialize warps [4, 4] registers [24] {
    gl.barrier id 1 threads 128
  }
  return
}

// -----

func.func @warp_specialize_c2() {
  // expected-error @+1 {{expected registers to be a multiple of 8 from 24 to 240, got 25}}
  gl.warp_specialize warps [4] registers [25] {
    gl.barrier id 1 threads 128
  }
  return
}

// -----

func.func @warp_specialize_c3() {
  // expected-error @+1 {{expected whole warpgroups of 4 warps where registers are handed over, got 1 warps}}
  gl.warp_specialize warps [4, 1] registers [112, 24] {
    gl.barrier id 1 threads 128
  }, {
  }
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @of_group_c1(%t: tensor<32xf32, #layout>) {
  // expected-error @+1 {{expected a group from 1 on, got 0}}
  %0 = gl.of_group 0, %t : tensor<32xf32, #layout>
  return
}

// -----

func.func private @shared_linear_c1(!gl.memdesc<2x4xf32,
  // expected-error @+2 {{expected bases of one coordinate per axis}}
  // expected-error @+1 {{failed to parse Gl_MemDescType parameter 'layout'}}
  #gl.shared_linear<offset = [[1, 0], [1]]>>)

// -----

// expected-error @+1 {{expected the bases to reach every element}}
func.func private @shared_linear_c2(!gl.memdesc<2x4xf32, #gl.shared_linear<offset = [[1, 0], [0, 1]]>>)

// -----

gpu.module @m {
  // expected-error @+1 {{expected gl.num_warps to be an i64 from 1 to 32, got 33 : i64}}
  gpu.func @too_many_warps() kernel attributes {gl.num_warps = 33 : i64} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @+1 {{expected gl.num_warps to be an i64 from 1 to 32, got 0 : i64}}
  gpu.func @no_warps() kernel attributes {gl.num_warps = 0 : i64} {
    gpu.return
  }
}

// -----

#one_warp = #gl.blocked<size_per_thread = [1], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
gpu.module @m {
  gpu.func @fewer_warps(%x: memref<128xf32>, %lo: index) kernel attributes {gl.num_warps = 4 : i64} {
    scf.for %i = %lo to %lo step %lo {
      // expected-error @+1 {{expected a tile over the 4 warps that run this, got one over 1}}
      %t = gl.load %x at affine_map<(n) -> (n)>() : memref<128xf32> -> tensor<128xf32, #gl.slice<axis = 0, parent =
        #gl.linear<register = [[0, 1], [0, 2]], lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]], warp = [], block = []>>>
    }
    gpu.return
  }
}

// -----

#two_warps = #gl.linear<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]], block = []>
gpu.module @m {
  gpu.func @warps_of_a_partition(%x: memref<64xf32>) kernel attributes {gl.num_warps = 6 : i64} {
    gl.warp_specialize warps [2, 4] registers [24, 112] {
      %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #two_warps>
    }, {
      // expected-error @+1 {{expected a tile over the 4 warps that run this, got one over 2}}
      %t = gl.load %x at affine_map<(n) -> (n)>() : memref<64xf32> -> tensor<64xf32, #two_warps>
    }
    gpu.return
  }
}

// -----

#layout = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @load_c5_run(%x: memref<128xf32>) {
  // expected-error @+1 {{expected a vector of at most 2 elements, the layout's contiguous run, got 4}}
  %t = gl.load %x at affine_map<(n) -> (n)>() vector 4 : memref<128xf32> -> tensor<128xf32, #layout>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
func.func @store_c4_run(%x: memref<128xf32>, %t: tensor<128xf32, #layout>) {
  // expected-error @+1 {{expected a vector of at most 2 elements, the layout's contiguous run, got 4}}
  gl.store %t, %x at affine_map<(n) -> (n)>() vector 4 : tensor<128xf32, #layout>, memref<128xf32>
  return
}

// -----

#layout = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
// expected-error @+1 {{expected a tile of at most 2^30 elements, got 2^31}}
func.func private @huge_tile(tensor<2147483648xf32, #layout>)

// -----

#layout = #gl.blocked<size_per_thread = [2], threads_per_warp = [32], warps_per_cta = [1], order = [0]>
// expected-error @+1 {{expected at most 1024 elements of a tile for each thread, got 2048}}
func.func private @more_than_registers(tensor<65536xf32, #layout>)
