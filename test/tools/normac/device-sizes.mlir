// Grids and the sizes of scratch may depend on the device; several results of a grid are the least of them.
// RUN: rm -rf %t && normac %s --from=gl --target sm_90a -o %t && FileCheck %s --input-file %t/manifest.json
// CHECK:      "grid": [
// CHECK-NEXT:   "min(num_sms*2, m)"
// CHECK:      "kind": "workspace"
// CHECK-NEXT: "name": "partials"
// CHECK-NEXT: "bytes": "min(m, num_sms*2)*4"
// CHECK-NEXT: "init": "none"

// Scratch that is not marked, and a size that no manifest can state.
// RUN: sed 's/, norm.scratch}/}/' %s > %t.unmarked.mlir && not normac %t.unmarked.mlir --from=gl -o %t 2>&1 | FileCheck %s --check-prefix=UNMARKED
// UNMARKED: error: unsupported: an allocation without norm.scratch
#map = affine_map<()[s0, s1] -> (s0 * 2, s1)>
func.func @sums(%x: memref<?x64xf32> {norm.name = "x"}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x64xf32>
  %sms = norm.num_sms
  %ctas = affine.min #map()[%sms, %m]
  %partials = memref.alloc(%ctas) {norm.name = "partials", norm.scratch} : memref<?xf32>
  norm.launch @k::@k(%x, %partials) : memref<?x64xf32>, memref<?xf32>
  return
}
gpu.module @k {
  gpu.func @k(%x: memref<?x64xf32>, %p: memref<?xf32>) kernel attributes {gl.num_warps = 1 : i64,
      gl.launch = #gl.launch<grid = affine_map<()[s0, s1] -> (s0 * 2, s1)>, traffic = affine_map<()[s0, s1] -> (s1 * 256, s0 * 8)>,
                             sizes = [-1, 0, 0, 0], alignments = [4, 4]>} {
    gpu.return
  }
}
