// A sum of a product that nothing else uses becomes an fma, which does not round the product; no op leaves the choice open.
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(nvvm-contract-sums))' | FileCheck %s --check-prefixes=CHECK,FAST
// RUN: norma-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(nvvm-contract-sums{fp-contract=on}))' | FileCheck %s --check-prefixes=CHECK,ON
// RUN: not norma-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(nvvm-contract-sums{fp-contract=off}))' 2>&1 | FileCheck %s --check-prefix=OFF
// OFF: error: expected fp-contract to be 'fast' or 'on', got 'off'

// CHECK-LABEL: @an_element_of_a_vector_of_products
// CHECK-SAME:  %[[X:.*]]: vector<2xf32>
// CHECK-NEXT:  %[[FACTORS:.*]]:2 = vector.to_elements %[[X]] : vector<2xf32>
// CHECK-NEXT:  %[[SQUARES:.*]] = arith.mulf %[[X]], %[[X]] : vector<2xf32>
// CHECK-NEXT:  %[[PRODUCTS:.*]]:2 = vector.to_elements %[[SQUARES]]
// CHECK-NEXT:  %[[SUM:.*]] = math.fma %[[FACTORS]]#1, %[[FACTORS]]#1, %[[PRODUCTS]]#0 fastmath<nsz> : f32
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
// CHECK:       math.fma %[[A]], %[[B]], %[[C]] : f64
// CHECK:       math.fma %[[A]], %[[B]], %[[C]] : f64
gpu.module @kernels {
  func.func @a_product_on_either_side(%a: f64, %b: f64, %c: f64) -> (f64, f64) {
    %0 = arith.mulf %a, %b : f64
    %1 = arith.addf %0, %c fastmath<contract> : f64
    %2 = arith.mulf %a, %b : f64
    %3 = arith.addf %c, %2 fastmath<contract> : f64
    return %1, %3 : f64, f64
  }
}

// -----

// What is subtracted is negated: the addend, or one factor of the product.
// CHECK-LABEL: @differences
// CHECK-SAME:  %[[A:.*]]: vector<2xf32>, %[[B:.*]]: vector<2xf32>, %[[C:.*]]: vector<2xf32>
// CHECK:       %[[MINUS_C:.*]] = arith.negf %[[C]]
// CHECK:       math.fma %[[A]], %[[B]], %[[MINUS_C]] : vector<2xf32>
// CHECK:       %[[MINUS_A:.*]] = arith.negf %[[A]]
// CHECK:       math.fma %[[MINUS_A]], %[[B]], %[[C]] : vector<2xf32>
gpu.module @kernels {
  func.func @differences(%a: vector<2xf32>, %b: vector<2xf32>, %c: vector<2xf32>) -> (vector<2xf32>, vector<2xf32>) {
    %0 = arith.mulf %a, %b : vector<2xf32>
    %1 = arith.subf %0, %c fastmath<contract> : vector<2xf32>
    %2 = arith.mulf %a, %b : vector<2xf32>
    %3 = arith.subf %c, %2 fastmath<contract> : vector<2xf32>
    return %1, %3 : vector<2xf32>, vector<2xf32>
  }
}

// -----

// The addition's flag decides by `on`; by `fast` none is needed.
// CHECK-LABEL: @without_the_flag
// CHECK-SAME:  %[[A:.*]]: f32, %[[B:.*]]: f32
// ON:          arith.mulf %{{.*}} fastmath<nnan>
// ON:          arith.addf %{{.*}} fastmath<nsz>
// ON-NOT:      fma
// FAST:        math.fma %[[A]], %[[B]], %[[A]] fastmath<nsz> : f32
gpu.module @kernels {
  func.func @without_the_flag(%a: f32, %b: f32) -> f32 {
    %0 = arith.mulf %a, %b fastmath<nnan,contract> : f32
    %1 = arith.addf %0, %a fastmath<nsz> : f32
    return %1 : f32
  }
}

// -----

// A product with other users has to be computed anyway, and one from outside of a loop once only; the difference of equal products is
// 0; not every target has an fma of bf16.
// CHECK-LABEL: @stay
// CHECK-NOT:   fma
gpu.module @kernels {
  func.func @stay(%a: f32, %b: f32, %c: bf16, %n: index) -> (f32, f32, f32, f32, bf16) {
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %a fastmath<contract> : f32
    %2 = arith.mulf %a, %a : f32
    %3 = arith.subf %2, %0 fastmath<contract> : f32
    %4 = arith.mulf %b, %b : f32
    %5 = scf.for %i = %n to %n step %n iter_args(%x = %a) -> f32 {
      %8 = arith.addf %x, %4 fastmath<contract> : f32
      scf.yield %8 : f32
    }
    %6 = arith.mulf %c, %c : bf16
    %7 = arith.addf %6, %c fastmath<contract> : bf16
    return %0, %1, %3, %5, %7 : f32, f32, f32, f32, bf16
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

// -----

// A product that keeps its rounding stays, and its mark goes.
// FAST-LABEL: @rounded
// ON-LABEL: @rounded
// FAST: %[[P:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
// FAST-NEXT: arith.subf %[[P]]
// FAST-NOT: math.fma
gpu.module @kernels {
  func.func @rounded(%x: f32, %s: f32, %m: f32) -> f32 {
    %0 = arith.mulf %x, %s {norm.rounded} : f32
    %1 = arith.subf %0, %m : f32
    return %1 : f32
  }
}
