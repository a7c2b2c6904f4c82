// A sum that may be contracted becomes an fma, which does not round the product; no op leaves the choice open.
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(nvvm-contract-sums))' | FileCheck %s

// CHECK-LABEL: @an_element_of_a_vector_of_products
// CHECK-SAME:  %[[X:.*]]: vector<2xf32>
// CHECK-NEXT:  %[[FACTORS:.*]]:2 = vector.to_elements %[[X]] : vector<2xf32>
// CHECK-NEXT:  %[[SQUARES:.*]] = arith.mulf %[[X]], %[[X]] : vector<2xf32>
// CHECK-NEXT:  %[[PRODUCTS:.*]]:2 = vector.to_elements %[[SQUARES]]
// CHECK-NEXT:  %[[SUM:.*]] = llvm.intr.fma(%[[FACTORS]]#1, %[[FACTORS]]#1, %[[PRODUCTS]]#0) {fastmathFlags = #llvm.fastmath<nsz>} : (f32, f32, f32) -> f32
// CHECK-NEXT:  return %[[SUM]]
gpu.module @kernels {
  func.func @an_element_of_a_vector_of_products(%x: vector<2xf32>) -> f32 {
    %0 = arith.mulf %x, %x : vector<2xf32>
    %1:2 = vector.to_elements %0 : vector<2xf32>
    %2 = arith.addf %1#0, %1#1 fastmath<nsz,contract> : f32
    return %2 : f32
  }
}

// -----

// CHECK-LABEL: @a_product_on_either_side
// CHECK-SAME:  %[[A:.*]]: f64, %[[B:.*]]: f64, %[[C:.*]]: f64
// CHECK:       llvm.intr.fma(%[[A]], %[[B]], %[[C]]) : (f64, f64, f64) -> f64
// CHECK:       llvm.intr.fma(%[[A]], %[[B]], %[[C]]) : (f64, f64, f64) -> f64
gpu.module @kernels {
  func.func @a_product_on_either_side(%a: f64, %b: f64, %c: f64) -> (f64, f64) {
    %0 = arith.mulf %a, %b : f64
    %1 = arith.addf %0, %c fastmath<contract> : f64
    %2 = arith.addf %c, %0 fastmath<contract> : f64
    return %1, %2 : f64, f64
  }
}

// -----

// CHECK-LABEL: @without_the_flag_the_product_is_rounded
// CHECK:       arith.mulf %{{.*}} fastmath<nnan>
// CHECK:       arith.addf %{{.*}} fastmath<nsz>
// CHECK-NOT:   fma
gpu.module @kernels {
  func.func @without_the_flag_the_product_is_rounded(%a: f32, %b: f32) -> f32 {
    %0 = arith.mulf %a, %b fastmath<nnan,contract> : f32
    %1 = arith.addf %0, %a fastmath<nsz> : f32
    return %1 : f32
  }
}

// -----

// CHECK-LABEL: @no_op_keeps_the_flag
// CHECK-NOT:   contract
// CHECK-NOT:   fastmath<fast>
// CHECK:       arith.addf %{{.*}} fastmath<reassoc,nnan,ninf,nsz,arcp,afn>
// CHECK:       arith.subf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK:       math.exp %{{.*}} fastmath<nnan>
gpu.module @kernels {
  func.func @no_op_keeps_the_flag(%a: f32, %b: f32) -> f32 {
    %0 = arith.addf %a, %b fastmath<fast> : f32
    %1 = arith.subf %0, %b fastmath<contract> : f32
    %2 = math.exp %1 fastmath<nnan,contract> : f32
    return %2 : f32
  }
}
