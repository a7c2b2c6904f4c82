// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%x: tensor<?x100xbf16>, %l: tensor<?xi64>, %l32: tensor<?xi32>, %w: tensor<100xf32>) {
  // CHECK: norm.cross_entropy %{{.*}} labels(%{{.*}} : tensor<?xi32>) : tensor<?x100xbf16> -> tensor<?xf32>
  %0 = norm.cross_entropy %x labels(%l32 : tensor<?xi32>) : tensor<?x100xbf16> -> tensor<?xf32>
  // CHECK: norm.cross_entropy %{{.*}} labels(%{{.*}} : tensor<?xi64>) weight(%{{.*}} : tensor<100xf32>)
  // CHECK-SAME: {ignore_index = -1 : i64, label_smoothing = 5.000000e-01 : f32, softcap = 3.000000e+01 : f32, z_loss = 1.250000e-01 : f32}
  // CHECK-SAME: : tensor<?x100xbf16> -> tensor<?xf32> lse(tensor<?xf32>) dlogits(tensor<?x100xbf16>)
  %loss, %lse, %d = norm.cross_entropy %x labels(%l : tensor<?xi64>) weight(%w : tensor<100xf32>)
      {ignore_index = -1, label_smoothing = 0.5 : f32, softcap = 30.0 : f32, z_loss = 0.125 : f32}
      : tensor<?x100xbf16> -> tensor<?xf32> lse(tensor<?xf32>) dlogits(tensor<?x100xbf16>)
  // CHECK: norm.cross_entropy {{.*}} -> tensor<?xf32> dlogits(tensor<?x100xbf16>)
  %1, %2 = norm.cross_entropy %x labels(%l : tensor<?xi64>) : tensor<?x100xbf16> -> tensor<?xf32> dlogits(tensor<?x100xbf16>)
  // CHECK: norm.cross_entropy {{.*}} -> tensor<?xf32> row_weight(tensor<?xf32>)
  %3, %4 = norm.cross_entropy %x labels(%l : tensor<?xi64>) : tensor<?x100xbf16> -> tensor<?xf32> row_weight(tensor<?xf32>)
  return
}

// CHECK-LABEL: func.func @cross_entropy_reduced
func.func @cross_entropy_reduced(%x: tensor<?x100xbf16>, %l: tensor<?xi64>) {
  // CHECK: norm.cross_entropy %{{.*}} labels(%{{.*}} : tensor<?xi64>) reduction(mean) {z_loss = 1.250000e-01 : f32}
  // CHECK-SAME: : tensor<?x100xbf16> -> tensor<f32> lse(tensor<?xf32>)
  %loss, %lse = norm.cross_entropy %x labels(%l : tensor<?xi64>) reduction(mean) {z_loss = 0.125 : f32}
                : tensor<?x100xbf16> -> tensor<f32> lse(tensor<?xf32>)
  return
}

// CHECK-LABEL: func.func @cross_entropy_grad
func.func @cross_entropy_grad(%x: tensor<?x100xbf16>, %l: tensor<?xi32>, %g: tensor<?xf32>, %one: tensor<f32>, %w: tensor<100xbf16>) {
  // CHECK: norm.cross_entropy_grad %{{.*}} labels(%{{.*}} : tensor<?xi32>) dloss(%{{.*}} : tensor<?xf32>) : tensor<?x100xbf16> -> tensor<?x100xf32>
  %0 = norm.cross_entropy_grad %x labels(%l : tensor<?xi32>) dloss(%g : tensor<?xf32>) : tensor<?x100xbf16> -> tensor<?x100xf32>
  // CHECK: norm.cross_entropy_grad %{{.*}} labels(%{{.*}} : tensor<?xi32>) dloss(%{{.*}} : tensor<?xf32>) lse(%{{.*}} : tensor<?xf32>)
  // CHECK-SAME: weight(%{{.*}} : tensor<100xbf16>) {softcap = 3.000000e+01 : f32} : tensor<?x100xbf16> -> tensor<?x100xbf16>
  %1 = norm.cross_entropy_grad %x labels(%l : tensor<?xi32>) dloss(%g : tensor<?xf32>) lse(%g : tensor<?xf32>)
       weight(%w : tensor<100xbf16>) {softcap = 30.0 : f32} : tensor<?x100xbf16> -> tensor<?x100xbf16>
  // CHECK: norm.cross_entropy_grad %{{.*}} labels(%{{.*}} : tensor<?xi32>) dloss(%{{.*}} : tensor<f32>) : tensor<?x100xbf16> -> tensor<?x100xbf16>
  %2 = norm.cross_entropy_grad %x labels(%l : tensor<?xi32>) dloss(%one : tensor<f32>) : tensor<?x100xbf16> -> tensor<?x100xbf16>
  return
}

// CHECK-LABEL: func.func @numbers_at_run_time
func.func @numbers_at_run_time(%x: tensor<?x64xf16>, %l: tensor<?xi64>, %e: f32) {
  // CHECK: norm.cross_entropy %{{.*}} labels(%{{.*}} : tensor<?xi64>) label_smoothing(%[[E:.*]]) z_loss(%[[E]]) softcap(%[[E]]) reduction(mean)
  %0 = norm.cross_entropy %x labels(%l : tensor<?xi64>) label_smoothing(%e) z_loss(%e) softcap(%e) reduction(mean)
       : tensor<?x64xf16> -> tensor<f32>
  return
}
