// What norm-name-sizes guarantees, one rule a function.
// RUN: norma-opt %s --pass-pipeline='builtin.module(norm-name-sizes)' | FileCheck %s
// RUN: norma-opt %s --pass-pipeline='builtin.module(norm-name-sizes,norm-name-sizes)' | FileCheck %s

// A tensor's axes are called as the dims that have their sizes, or that they are accessed at.
// CHECK-LABEL: func.func @names(
// CHECK-SAME: tensor<?x?xf32> {norm.dims = ["token", "column"]}, %{{.*}}: tensor<?xf32> {norm.dims = ["column"]})
// CHECK-SAME: -> (tensor<?xf32> {norm.dims = ["token"]})
func.func @names(%x: tensor<?x?xf32>, %w: tensor<?xf32>) -> tensor<?xf32> {
  %y = norm.compute(%a = %x : tensor<?x?xf32>, %b = %w : tensor<?xf32>) -> (%o : tensor<?xf32>)
      space(%token = dim(%a, 0), %column = dim(%a, 1)) {
    %0 = norm.read %a[%token, %column]
    %1 = norm.read %b[%column]
    %2 = arith.mulf %0, %1 : f32
    %3 = norm.reduce add %2 over(%column) : f32
    norm.write %3, %o[%token]
  }
  return %y : tensor<?xf32>
}

// The first name counts. Through a tensor between two programs no name is found.
// CHECK-LABEL: func.func @first_name(
// CHECK-SAME: tensor<?xf32> {norm.dims = ["row"]}) -> (tensor<?xf32> {norm.dims = ["token"]})
func.func @first_name(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%row = dim(%a, 0)) {
    %0 = norm.read %a[%row]
    norm.write %0, %o[%row]
  }
  %z = norm.compute(%a = %y : tensor<?xf32>, %b = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%token = dim(%a, 0)) {
    %0 = norm.read %a[%token]
    %1 = norm.read %b[%token]
    %2 = arith.addf %0, %1 : f32
    norm.write %2, %o[%token]
  }
  return %z : tensor<?xf32>
}

// Axes of static size have no name, and neither has one that is accessed at a known number of points.
// CHECK-LABEL: func.func @static_sizes(
// CHECK-SAME: tensor<?x8xf32> {norm.dims = ["m", ""]}, %{{.*}}: tensor<?xf32>)
func.func @static_sizes(%x: tensor<?x8xf32>, %w: tensor<?xf32>) -> tensor<?x8xf32> {
  %y = norm.compute(%a = %x : tensor<?x8xf32>, %b = %w : tensor<?xf32>) -> (%o : tensor<?x8xf32>)
      space(%m = dim(%a, 0), %n = 8) {
    %0 = norm.read %a[%m, %n]
    %1 = norm.read %b[%n]
    %2 = arith.mulf %0, %1 : f32
    norm.write %2, %o[%m, %n]
  }
  return %y : tensor<?x8xf32>
}

// Numbers that the printer generates are no names, and no size is called as the device's number of multiprocessors.
// CHECK-LABEL: func.func @no_names(
// CHECK-SAME: tensor<?x?xf32>) -> tensor<?x?xf32>
func.func @no_names(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %y = norm.compute(%a = %x : tensor<?x?xf32>) -> (%o : tensor<?x?xf32>) space(%0 = dim(%a, 0), %num_sms = dim(%a, 1)) {
    %1 = norm.read %a[%0, %num_sms]
    norm.write %1, %o[%0, %num_sms]
  }
  return %y : tensor<?x?xf32>
}

// What the function says itself is kept.
// CHECK-LABEL: func.func @said(
// CHECK-SAME: tensor<?xf32> {norm.dims = ["rows"]}) -> (tensor<?xf32> {norm.dims = ["m"]})
func.func @said(%x: tensor<?xf32> {norm.dims = ["rows"]}) -> tensor<?xf32> {
  %y = norm.compute(%a = %x : tensor<?xf32>) -> (%o : tensor<?xf32>) space(%m = dim(%a, 0)) {
    %0 = norm.read %a[%m]
    norm.write %0, %o[%m]
  }
  return %y : tensor<?xf32>
}
