// RUN: norma-opt %s --split-input-file --verify-diagnostics --norm-normalize-space

func.func @other_buffer(%x: memref<4x2xf32>, %y: memref<2x4xf32>) {
  // expected-error @below {{expected memref<2x4xf32> for buffer 0 of the kernel, got memref<4x2xf32>}}
  norm.launch @copy(%x, %y) : memref<4x2xf32>, memref<2x4xf32>
  return
}
norm.kernel @copy(%x: memref<2x4xf32>, %y: memref<2x4xf32>) space(%a = 2, %b = 4) {
  %0 = norm.read %x[%a, %b] : memref<2x4xf32>
  norm.write %0, %y[%a, %b] : memref<2x4xf32>
}
