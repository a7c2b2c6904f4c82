// A stride that the run gives is that of the axis along which there are steps, also where axes of one element are joined to it.
// RUN: norma-sim %s --function written --stride y_stride0=16 | FileCheck %s
// RUN: norma-sim %s --function read --stride x_stride1=16 | FileCheck %s
// CHECK: nothing found
// CHECK: verify  right

func.func @written(%x: tensor<5x1xf32> {norm.name = "x"})
    -> (tensor<5x1xf32> {norm.name = "y", norm.buffer = memref<5x1xf32, strided<[?, 1]>>}) {
  %y = norm.compute(%in = %x : tensor<5x1xf32>) -> (%out : tensor<5x1xf32>) space(%m = 5, %n = 1) {
    %0 = norm.read %in[%m, %n] : tensor<5x1xf32>
    norm.write %0, %out[%m, %n] : tensor<5x1xf32>
  }
  return %y : tensor<5x1xf32>
}

func.func @read(%x: tensor<1x5x1xf32> {norm.name = "x", norm.buffer = memref<1x5x1xf32, strided<[1, ?, 1]>>})
    -> (tensor<1x5x1xf32> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<1x5x1xf32>) -> (%out : tensor<1x5x1xf32>) space(%k = 1, %m = 5, %n = 1) {
    %0 = norm.read %in[%k, %m, %n] : tensor<1x5x1xf32>
    norm.write %0, %out[%k, %m, %n] : tensor<1x5x1xf32>
  }
  return %y : tensor<1x5x1xf32>
}
