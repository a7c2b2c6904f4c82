// A mask of i1, an argument or a result, lies in memory with a byte for each element.
// RUN: normac %s --emit=gl | FileCheck %s
// RUN: norma-sim %s --function masked --size m=5 --seeds 2 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function positive --size m=5 --seeds 2 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function odd --seeds 2 | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{ *}}right

// CHECK-LABEL: gpu.func @masked_0
// CHECK: gl.load %{{.*}} memref<?x1024xi1
func.func @masked(%x: tensor<?x1024xbf16> {norm.name = "x"}, %keep: tensor<?x1024xi1> {norm.name = "keep"})
    -> (tensor<?x1024xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x keep(%keep : tensor<?x1024xi1>) : tensor<?x1024xbf16> -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}

func.func @positive(%x: tensor<?x1024xf32> {norm.name = "x"}) -> (tensor<?x1024xi1> {norm.name = "is_positive"}) {
  %is = norm.compute(%in = %x : tensor<?x1024xf32>) -> (%out : tensor<?x1024xi1>) space(%m = dim(%in, 0), %n = 1024) {
    %0 = norm.read %in[%m, %n] : tensor<?x1024xf32>
    %zero = arith.constant 0.0 : f32
    %1 = arith.cmpf ogt, %0, %zero : f32
    norm.write %1, %out[%m, %n] : tensor<?x1024xi1>
  }
  return %is : tensor<?x1024xi1>
}

// A thread that holds one element of a byte widens it to keep it in a register of 16 bits.
func.func @odd(%x: tensor<3x33xf32> {norm.name = "x"}, %keep: tensor<3x33xi1> {norm.name = "keep"}) -> (tensor<3x33xf32> {norm.name = "y"}) {
  %y = norm.softmax %x keep(%keep : tensor<3x33xi1>) : tensor<3x33xf32> -> tensor<3x33xf32>
  return %y : tensor<3x33xf32>
}
