// Divisions of many elements by one value become multiplications by its reciprocal, and those of elements by elements may err.
// RUN: norma-opt %s --split-input-file --norm-relax-divisions | FileCheck %s

// CHECK-LABEL: norm.kernel @elements_by_the_value_of_a_row(
// CHECK: %[[X:.*]] = norm.read
// CHECK: %[[S:.*]] = norm.reduce add
// CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00
// CHECK: %[[R:.*]] = arith.divf %[[ONE]], %[[S]]
// CHECK: %[[Q:.*]] = arith.mulf %[[X]], %[[R]]
// CHECK: norm.write %[[Q]]
norm.kernel @elements_by_the_value_of_a_row(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %1 : f32
  norm.write %2, %y[%m, %n] : memref<?x64xf32>
}

// -----

// A quotient that is divided once more varies as the quotient did.
// CHECK-LABEL: norm.kernel @twice_by_values_of_a_row(
// CHECK: %[[X:.*]] = norm.read
// CHECK: %[[S:.*]] = norm.reduce add
// CHECK: %[[RS:.*]] = arith.divf %{{.*}}, %[[S]]
// CHECK: %[[M:.*]] = norm.reduce max
// CHECK: %[[RM:.*]] = arith.divf %{{.*}}, %[[M]]
// CHECK: %[[Q:.*]] = arith.mulf %[[X]], %[[RS]]
// CHECK: arith.mulf %[[Q]], %[[RM]]
norm.kernel @twice_by_values_of_a_row(%x: memref<?x64xf32>, %y: memref<?x64xf32>)
    space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = norm.reduce max %0 over(%n) : f32
  %3 = arith.divf %0, %1 : f32
  %4 = arith.divf %3, %2 : f32
  norm.write %4, %y[%m, %n] : memref<?x64xf32>
}

// -----

// One division for each element need not be exact if the result is narrow, whichever operand varies by element; one for each row stays
// exact, and so do those of other types.
// CHECK-LABEL: norm.kernel @others(
// CHECK-NOT: arith.mulf
// CHECK: %[[X:.*]] = norm.read
// CHECK: %[[S:.*]] = norm.reduce add
// CHECK: arith.divf %[[X]], %[[X]] fastmath<arcp> : f32
// CHECK: arith.divf %[[S]], %[[X]] fastmath<arcp> : f32
// CHECK: %[[W:.*]] = norm.read
// CHECK: arith.divf %[[S]], %[[W]] fastmath<arcp> : f32
// CHECK: arith.divf %[[S]], %[[S]] : f32
// CHECK: arith.divf %{{.*}}, %{{.*}} : f16
// CHECK-NOT: arith.divf
norm.kernel @others(%x: memref<?x64xf32>, %h: memref<?x64xf16>, %w: memref<64xf32>, %y: memref<?x64xbf16>, %z: memref<?x64xf16>)
    space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce add %0 over(%n) : f32
  %2 = arith.divf %0, %0 : f32
  %3 = arith.divf %1, %0 : f32
  %4 = norm.read %w[%n] : memref<64xf32>
  %5 = arith.divf %1, %4 : f32
  %6 = arith.divf %1, %1 : f32
  %7 = arith.addf %2, %3 : f32
  %8 = arith.addf %5, %6 : f32
  %9 = arith.addf %7, %8 : f32
  %t = arith.truncf %9 : f32 to bf16
  norm.write %t, %y[%m, %n] : memref<?x64xbf16>
  %10 = norm.read %h[%m, %n] : memref<?x64xf16>
  %11 = norm.reduce max %10 over(%n) : f16
  %12 = arith.divf %10, %11 : f16
  norm.write %12, %z[%m, %n] : memref<?x64xf16>
}

// -----

// Without reductions every point is an element. Flags that are there stay.
// CHECK-LABEL: norm.kernel @for_each_point(
// CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<ninf,arcp> : f32
norm.kernel @for_each_point(%x: memref<?x64xf32>, %y: memref<?x64xf16>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = arith.divf %0, %0 fastmath<ninf> : f32
  %2 = arith.truncf %1 : f32 to f16
  norm.write %2, %y[%m, %n] : memref<?x64xf16>
}

// -----

// A quotient that a wide result depends on stays exact, also if a narrow one does.
// CHECK-LABEL: norm.kernel @wide(
// CHECK: arith.divf %{{.*}}, %{{.*}} : f32
norm.kernel @wide(%x: memref<?x64xf32>, %y: memref<?x64xf16>, %z: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = arith.divf %0, %0 : f32
  %2 = arith.truncf %1 : f32 to f16
  norm.write %2, %y[%m, %n] : memref<?x64xf16>
  %3 = arith.addf %1, %0 : f32
  norm.write %3, %z[%m, %n] : memref<?x64xf32>
}

// -----

// The scale of a row is the quotient that users compute themselves; the elements are multiplied by its reciprocal.
// CHECK-LABEL: norm.kernel @scale_of_a_row(
// CHECK: %[[MOST:.*]] = norm.reduce max
// CHECK: %[[SCALE:.*]] = arith.divf %[[MOST]], %{{.*}}
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[SCALE]]
// CHECK: norm.write %[[SCALE]]
// CHECK: arith.mulf %{{.*}}, %[[R]]
norm.kernel @scale_of_a_row(%x: memref<?x64xf32>, %s: memref<?xf32>, %y: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = norm.reduce max %0 over(%n) : f32
  %c = arith.constant 448.0 : f32
  %2 = arith.divf %1, %c : f32
  norm.write %2, %s[%m] : memref<?xf32>
  %3 = arith.divf %0, %2 : f32
  norm.write %3, %y[%m, %n] : memref<?x64xf32>
}

// -----

// SiLU: `x` is multiplied by a quarter over a quarter of `1 + exp(-x)`, which has a normal reciprocal.
// CHECK-LABEL: norm.kernel @logistic(
// CHECK: %[[X:.*]] = norm.read
// CHECK: %[[N:.*]] = arith.negf %[[X]]
// CHECK: %[[T:.*]] = math.fma %[[N]], %{{.*}}, %{{.*}} : f32
// CHECK: %[[E:.*]] = math.exp2 %[[T]]
// CHECK: %[[D:.*]] = arith.addf %[[E]], %{{.*}} : f32
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[D]] fastmath<arcp,afn>
// CHECK: arith.mulf %[[X]], %[[R]] : f32
norm.kernel @logistic(%x: memref<?x64xf32>, %y: memref<?x64xbf16>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = arith.negf %0 : f32
  %2 = math.exp %1 : f32
  %one = arith.constant 1.0 : f32
  %3 = arith.addf %one, %2 : f32
  %4 = arith.divf %0, %3 : f32
  %5 = arith.truncf %4 : f32 to bf16
  norm.write %5, %y[%m, %n] : memref<?x64xbf16>
}

// -----

// An f32 result, and another constant.
// CHECK-LABEL: norm.kernel @no_logistic(
// CHECK: arith.divf %{{.*}}, %{{.*}} fastmath<arcp> : f32
// CHECK: arith.divf %{{.*}}, %{{.*}} : f32
norm.kernel @no_logistic(%x: memref<?x64xf32>, %y: memref<?x64xbf16>, %z: memref<?x64xf32>) space(%m = dim(%x, 0), %n = 64) {
  %0 = norm.read %x[%m, %n] : memref<?x64xf32>
  %1 = math.exp %0 : f32
  %two = arith.constant 2.0 : f32
  %2 = arith.addf %two, %1 : f32
  %3 = arith.divf %0, %2 : f32
  %4 = arith.truncf %3 : f32 to bf16
  norm.write %4, %y[%m, %n] : memref<?x64xbf16>
  %one = arith.constant 1.0 : f32
  %5 = arith.addf %one, %1 : f32
  %6 = arith.divf %0, %5 : f32
  norm.write %6, %z[%m, %n] : memref<?x64xf32>
}
