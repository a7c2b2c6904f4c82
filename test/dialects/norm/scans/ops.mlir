// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @cumsum
func.func @cumsum(%x: tensor<?x64xbf16>, %n: tensor<?xi32>) {
  // CHECK: norm.cumsum %{{.*}} : tensor<?x64xbf16> -> tensor<?x64xf32>
  %0 = norm.cumsum %x : tensor<?x64xbf16> -> tensor<?x64xf32>
  // CHECK: norm.cumsum %{{.*}} {axis = 0 : i64, exclusive} : tensor<?xi32> -> tensor<?xi64>
  %1 = norm.cumsum %n {axis = 0, exclusive} : tensor<?xi32> -> tensor<?xi64>
  return
}
