// Every op of this family parses, prints and parses again to the same.
// RUN: norma-opt %s | norma-opt | FileCheck %s
// RUN: norma-opt %s --mlir-print-op-generic | norma-opt | FileCheck %s

// CHECK-LABEL: func.func @group_norm
func.func @group_norm(%x: tensor<?x512x64xbf16>, %y: tensor<?x?x512xf16>, %w: tensor<512xbf16>) {
  // CHECK: norm.group_norm %{{.*}} weight(%{{.*}} : tensor<512xbf16>) bias(%{{.*}} : tensor<512xbf16>) {groups = 32 : i64}
  // CHECK-SAME: : tensor<?x512x64xbf16> -> tensor<?x512x64xbf16>, tensor<?x32xf32>, tensor<?x32xf32>
  %0, %mean, %rstd = norm.group_norm %x weight(%w : tensor<512xbf16>) bias(%w : tensor<512xbf16>) {groups = 32}
      : tensor<?x512x64xbf16> -> tensor<?x512x64xbf16>, tensor<?x32xf32>, tensor<?x32xf32>
  // CHECK: norm.group_norm %{{.*}} {channel_axis = -1 : i64, groups = 512 : i64} : tensor<?x?x512xf16> -> tensor<?x?x512xf16>
  %1 = norm.group_norm %y {groups = 512, channel_axis = -1} : tensor<?x?x512xf16> -> tensor<?x?x512xf16>
  return
}

// CHECK-LABEL: func.func @batch_stats
func.func @batch_stats(%x: tensor<?x256x56x56xbf16>) {
  // CHECK: norm.batch_stats %{{.*}} {axes = array<i64: 0, 2, 3>, correction = 1 : i64} : tensor<?x256x56x56xbf16> -> tensor<256xf32>, tensor<256xbf16>
  %0, %1 = norm.batch_stats %x {axes = array<i64: 0, 2, 3>, correction = 1} : tensor<?x256x56x56xbf16> -> tensor<256xf32>, tensor<256xbf16>
  return
}

// CHECK-LABEL: func.func @eps_at_run_time
func.func @eps_at_run_time(%x: tensor<?x8x64xf16>, %e: f32) {
  // CHECK: norm.group_norm %{{.*}} eps(%{{.*}}) {groups = 2 : i64} : tensor<?x8x64xf16> -> tensor<?x8x64xf16>
  %0 = norm.group_norm %x eps(%e) {groups = 2} : tensor<?x8x64xf16> -> tensor<?x8x64xf16>
  return
}

// Channels along the first axis have no batch before them; those of one group may be dynamic.
// CHECK-LABEL: func.func @channels_anywhere
func.func @channels_anywhere(%x: tensor<8x64xf16>, %z: tensor<2x?x64xf16>, %w: tensor<?xf16>) {
  // CHECK: norm.group_norm %{{.*}} {channel_axis = 0 : i64, groups = 2 : i64} : tensor<8x64xf16> -> tensor<8x64xf16>, tensor<2xf32>, tensor<2xf32>
  %0, %mean, %rstd = norm.group_norm %x {groups = 2, channel_axis = 0} : tensor<8x64xf16> -> tensor<8x64xf16>, tensor<2xf32>, tensor<2xf32>
  // CHECK: norm.group_norm %{{.*}} weight(%{{.*}} : tensor<?xf16>) {groups = 1 : i64} : tensor<2x?x64xf16> -> tensor<2x?x64xf16>
  %1 = norm.group_norm %z weight(%w : tensor<?xf16>) {groups = 1} : tensor<2x?x64xf16> -> tensor<2x?x64xf16>
  return
}
