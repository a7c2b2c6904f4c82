// Choices that a host function makes: on one inequality of sizes and SMs, nested, and each with both branches.
// RUN: rm -rf %t && split-file %s %t
// RUN: normac %t/nested.mlir --from=kernel -o %t/nested && FileCheck %s < %t/nested/manifest.json
// CHECK: "symbol": "by_row"
// CHECK: "text": "num_sms*2 >= dim(x, 0)"
// CHECK: "symbol": "by_warp"
// CHECK: "text": "dim(x, 0) >= num_sms*2 + 1"
// CHECK: "text": "dim(x, 0) >= 5000"
// CHECK: "symbol": "by_lane"
// CHECK: "text": "dim(x, 0) >= num_sms*2 + 1"
// CHECK: "text": "dim(x, 0) <= 4999"
// RUN: norma-sim %t/nested.mlir --size m=2 --traffic | FileCheck %s --check-prefix=ROW --implicit-check-not=by_warp --implicit-check-not=by_lane
// ROW: by_row
// RUN: norma-sim %t/nested.mlir --size m=265 --traffic | FileCheck %s --check-prefix=LANE --implicit-check-not=by_warp --implicit-check-not=by_row
// LANE: by_lane
// RUN: not normac %t/without_else.mlir --from=kernel -o %t/without 2>&1 | FileCheck %s --check-prefix=WITHOUT
// WITHOUT: error: unsupported: a branch without a launch; supported: affine.if whose branches both launch kernels
// RUN: not normac %t/equality.mlir --from=kernel -o %t/equality 2>&1 | FileCheck %s --check-prefix=EQUALITY
// EQUALITY: error: unsupported: a choice that no manifest can state; supported: affine.if with one inequality

//--- nested.mlir
norm.kernel @by_row(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0)) schedule(#norm.schedule<spread = [[grid, lane(32)]]>) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}
norm.kernel @by_warp(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0)) schedule(#norm.schedule<spread = [[grid, warp(4), lane(32)]]>) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}
norm.kernel @by_lane(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0)) schedule(#norm.schedule<spread = [[grid, warp(2), lane(32)]]>) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}
func.func @copy(%x: memref<?xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %sms = norm.num_sms
  affine.if affine_set<()[m, sms] : (2 * sms - m >= 0)>()[%m, %sms] {
    norm.launch @by_row(%x, %y) : memref<?xf32>, memref<?xf32>
  } else {
    affine.if affine_set<()[m] : (m - 5000 >= 0)>()[%m] {
      norm.launch @by_warp(%x, %y) : memref<?xf32>, memref<?xf32>
    } else {
      norm.launch @by_lane(%x, %y) : memref<?xf32>, memref<?xf32>
    }
  }
  return
}

//--- without_else.mlir
norm.kernel @one(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0)) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}
func.func @copy(%x: memref<?xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  affine.if affine_set<()[m] : (m - 5000 >= 0)>()[%m] {
    norm.launch @one(%x, %y) : memref<?xf32>, memref<?xf32>
  }
  return
}

//--- equality.mlir
norm.kernel @one(%x: memref<?xf32>, %y: memref<?xf32>) space(%m = dim(%x, 0)) {
  %0 = norm.read %x[%m] : memref<?xf32>
  norm.write %0, %y[%m] : memref<?xf32>
}
func.func @copy(%x: memref<?xf32> {norm.name = "x"}, %y: memref<?xf32> {norm.name = "y", norm.output}) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  affine.if affine_set<()[m] : (m - 5000 == 0)>()[%m] {
    norm.launch @one(%x, %y) : memref<?xf32>, memref<?xf32>
  } else {
    norm.launch @one(%x, %y) : memref<?xf32>, memref<?xf32>
  }
  return
}
