// A loop over a row reads each vector with one instruction at a constant offset, keeps its sums in registers, and multiplies no
// addresses.
// REQUIRES: ptxas, nvdisasm
// RUN: rm -rf %t && normac %s --from=gl --target=sm_90a -o %t
// RUN: nvdisasm --print-code %t/*.cubin > %t/sass
// RUN: FileCheck %s --input-file=%t/sass
// RUN: FileCheck %s --input-file=%t/sass --check-prefix=NOWHERE

// CHECK:     {{^}}.L_x_0:
// CHECK-NOT: {{IMAD\.WIDE|IMAD\.HI}}
// CHECK:     LDG.E.128
// CHECK-NOT: {{IMAD\.WIDE|IMAD\.HI}}
// CHECK:     LDG.E.128
// CHECK-NOT: {{IMAD\.WIDE|IMAD\.HI}}
// CHECK:     BRA {{.*}}.L_x_0

// NOWHERE-NOT: {{LDL|STL}}
#row = #gl.linear<register = [[1], [2], [4], [2048]], lane = [[8], [16], [32], [64], [128]], warp = [[256], [512], [1024]], block = []>
#none = #gl.linear<register = [], lane = [[], [], [], [], []], warp = [[], [], []], block = []>
func.func @host(%x: memref<?x65536xbf16> {norm.name = "x"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
  norm.launch @k::@sum(%x, %y) : memref<?x65536xbf16>, memref<?xf32>
  return
}
gpu.module @k {
  gpu.func @sum(%x: memref<?x65536xbf16>, %y: memref<?xf32>) kernel attributes {gl.num_warps = 8 : i64, gl.launch = #gl.launch<grid = affine_map<()[s0] -> (s0)>, traffic = affine_map<()[s0] -> (s0 * 131072, s0 * 4)>, sizes = [0, 0], alignments = [16, 16]>} {
    %c0 = arith.constant 0 : index
    %n = arith.constant 65536 : index
    %c = arith.constant 4096 : index
    %zero = arith.constant dense<0.0> : tensor<4096xf32, #row>
    %b = gpu.block_id x
    %s = scf.for %i = %c0 to %n step %c iter_args(%acc = %zero) -> (tensor<4096xf32, #row>) {
      %t = gl.load %x at affine_map<(b, i, n) -> (b, i + n)>(%b, %i) : memref<?x65536xbf16> -> tensor<4096xbf16, #row>
      %w = arith.extf %t : tensor<4096xbf16, #row> to tensor<4096xf32, #row>
      %next = arith.addf %acc, %w : tensor<4096xf32, #row>
      scf.yield %next : tensor<4096xf32, #row>
    }
    %r = gl.reduce %s axis 0 : (tensor<4096xf32, #row>) -> tensor<f32, #none> combine {
    ^bb0(%p: f32, %q: f32):
      %0 = arith.addf %p, %q : f32
      gl.yield %0 : f32
    }
    gl.store %r, %y at affine_map<(b) -> (b)>(%b) : tensor<f32, #none>, memref<?xf32>
    gpu.return
  }
}
