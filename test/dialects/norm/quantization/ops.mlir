// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @quantize
func.func @quantize(%x: tensor<?x64xbf16>, %s: tensor<f32>) {
  // CHECK: norm.quantize %{{.*}} static_scale(%{{.*}} : tensor<f32>) : tensor<?x64xbf16> -> tensor<?x64xi8> amax(tensor<f32>)
  %0, %1 = norm.quantize %x static_scale(%s : tensor<f32>) : tensor<?x64xbf16> -> tensor<?x64xi8> amax(tensor<f32>)
  // CHECK: norm.quantize %{{.*}} {block = array<i64: 1, 32>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x2xi8>)
  %2, %3 = norm.quantize %x {block = array<i64: 1, 32>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x2xi8>)
  // CHECK: norm.quantize %{{.*}} {block = array<i64: 0, 64>, power_of_two} : tensor<?x64xbf16> -> tensor<?x64xf8E5M2> scale(tensor<1xf32>) amax(tensor<1xf32>)
  %4:3 = norm.quantize %x {block = array<i64: 0, 64>, power_of_two} : tensor<?x64xbf16> -> tensor<?x64xf8E5M2> scale(tensor<1xf32>) amax(tensor<1xf32>)
  // CHECK: norm.quantize %{{.*}} {block = array<i64: 32, 1>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x64xi8>)
  %5:2 = norm.quantize %x {block = array<i64: 32, 1>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x64xi8>)
  // CHECK: norm.quantize %{{.*}} {block = array<i64: 1, 48>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x2xi8>)
  %6:2 = norm.quantize %x {block = array<i64: 1, 48>} : tensor<?x64xbf16> -> tensor<?x64xf8E4M3FN> scale(tensor<?x2xi8>)
  return
}

// CHECK-LABEL: func.func @dequantize
func.func @dequantize(%q: tensor<?x64xf8E4M3FN>, %s: tensor<?xi8>) {
  // CHECK: norm.dequantize %{{.*}} scale(%{{.*}} : tensor<?xi8>) {block = array<i64: 1, 0>} : tensor<?x64xf8E4M3FN> -> tensor<?x64xf16>
  %0 = norm.dequantize %q scale(%s : tensor<?xi8>) {block = array<i64: 1, 0>} : tensor<?x64xf8E4M3FN> -> tensor<?x64xf16>
  return
}

// CHECK-LABEL: func.func @powers_of_two
func.func @powers_of_two(%x: tensor<?x64xbf16>, %s: tensor<?x2xf8E8M0FNU>) {
  // CHECK: norm.quantize %{{.*}} {block = array<i64: 1, 32>, round_down} : tensor<?x64xbf16> -> tensor<?x64xf8E5M2> scale(tensor<?x2xf8E8M0FNU>)
  %0, %1 = norm.quantize %x {block = array<i64: 1, 32>, round_down} : tensor<?x64xbf16> -> tensor<?x64xf8E5M2> scale(tensor<?x2xf8E8M0FNU>)
  // CHECK: norm.dequantize %{{.*}} scale(%{{.*}} : tensor<?x2xf8E8M0FNU>) {block = array<i64: 1, 32>} : tensor<?x64xf8E5M2> -> tensor<?x64xbf16>
  %2 = norm.dequantize %0 scale(%s : tensor<?x2xf8E8M0FNU>) {block = array<i64: 1, 32>} : tensor<?x64xf8E5M2> -> tensor<?x64xbf16>
  return
}

// CHECK-LABEL: func.func @four_bits
func.func @four_bits(%x: tensor<?x64xbf16>, %t: tensor<f32>) {
  // CHECK: norm.quantize %{{.*}} tensor_scale(%{{.*}} : tensor<f32>) {block = array<i64: 1, 16>, e2m1} : tensor<?x64xbf16> -> tensor<?x32xi8> scale(tensor<?x4xf8E4M3FN>)
  %0, %1 = norm.quantize %x tensor_scale(%t : tensor<f32>) {block = array<i64: 1, 16>, e2m1} : tensor<?x64xbf16> -> tensor<?x32xi8> scale(tensor<?x4xf8E4M3FN>)
  // CHECK: norm.dequantize %{{.*}} scale(%{{.*}} : tensor<?x4xf8E4M3FN>) tensor_scale(%{{.*}} : tensor<f32>) {block = array<i64: 1, 16>, e2m1} : tensor<?x32xi8> -> tensor<?x64xbf16>
  %2 = norm.dequantize %0 scale(%1 : tensor<?x4xf8E4M3FN>) tensor_scale(%t : tensor<f32>) {block = array<i64: 1, 16>, e2m1} : tensor<?x32xi8> -> tensor<?x64xbf16>
  return
}

// CHECK-LABEL: func.func @scale_layouts
func.func @scale_layouts(%x: tensor<2x?x160xbf16>) {
  // CHECK: norm.quantize %{{.*}} scale_layout(swizzled_128x4) {block = array<i64: 1, 1, 32>} : tensor<2x?x160xbf16> -> tensor<2x?x160xf8E4M3FN> scale(tensor<2x?x2x32x4x4xf8E8M0FNU>)
  %0, %1 = norm.quantize %x scale_layout(swizzled_128x4) {block = array<i64: 1, 1, 32>} : tensor<2x?x160xbf16> -> tensor<2x?x160xf8E4M3FN> scale(tensor<2x?x2x32x4x4xf8E8M0FNU>)
  // CHECK: norm.dequantize %{{.*}} scale(%{{.*}} : tensor<2x?x2x32x4x4xf8E8M0FNU>) scale_layout(swizzled_128x4) {block = array<i64: 1, 1, 32>} : tensor<2x?x160xf8E4M3FN> -> tensor<2x?x160xbf16>
  %2 = norm.dequantize %0 scale(%1 : tensor<2x?x2x32x4x4xf8E8M0FNU>) scale_layout(swizzled_128x4) {block = array<i64: 1, 1, 32>} : tensor<2x?x160xf8E4M3FN> -> tensor<2x?x160xbf16>
  // CHECK: norm.quantize %{{.*}} scale_layout(column_major) {block = array<i64: 1, 1, 32>} : tensor<2x?x160xbf16> -> tensor<2x?x160xi8> scale(tensor<2x5x?xf32>)
  %3, %4 = norm.quantize %x scale_layout(column_major) {block = array<i64: 1, 1, 32>} : tensor<2x?x160xbf16> -> tensor<2x?x160xi8> scale(tensor<2x5x?xf32>)
  // CHECK: norm.quantize %{{.*}} {block = array<i64: 1, 1, 32>} : tensor<2x?x160xbf16> -> tensor<2x?x160xi8> scale(tensor<2x?x5xf32>)
  %5, %6 = norm.quantize %x scale_layout(linear) {block = array<i64: 1, 1, 32>} : tensor<2x?x160xbf16> -> tensor<2x?x160xi8> scale(tensor<2x?x5xf32>)
  return
}
