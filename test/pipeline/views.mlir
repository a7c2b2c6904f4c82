// Views of tensors become accesses: ops between them are one kernel, and sizes that a reshape does not divide evenly are refused.
// RUN: normac %s --emit=kernel | FileCheck %s
// RUN: norma-sim %s --function heads --size m=3 | FileCheck %s --check-prefix=RIGHT
// RUN: norma-sim %s --function rows --size m=960 | FileCheck %s --check-prefix=RIGHT
// RIGHT: verify {{ *}}right
// RUN: not norma-sim %s --function rows --size m=100 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: dim(x, 0)

// Keys of a row that holds queries, keys and values, normalized head by head.
// CHECK-LABEL: func.func @heads(
// CHECK: norm.launch
// CHECK-NOT: norm.launch
// CHECK: norm.kernel @heads_0
// CHECK: norm.read %{{.*}}[%[[M:.*]], %[[H:.*]] * 128 + %[[C:.*]] + 1024] : memref<?x3072xbf16>
// CHECK: norm.write %{{.*}}, %{{.*}}[%[[M]], %[[H]] * 128 + %[[C]]] : memref<?x1024xbf16>
func.func @heads(%qkv: tensor<?x3072xbf16> {norm.name = "qkv"}, %w: tensor<128xbf16> {norm.name = "w"})
    -> (tensor<?x1024xbf16> {norm.name = "k"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %qkv, %c0 : tensor<?x3072xbf16>
  %keys = tensor.extract_slice %qkv[0, 1024] [%m, 1024] [1, 1] : tensor<?x3072xbf16> to tensor<?x1024xbf16>
  %heads = tensor.expand_shape %keys [[0], [1, 2]] output_shape [%m, 8, 128] : tensor<?x1024xbf16> into tensor<?x8x128xbf16>
  %n = norm.rms_norm %heads weight(%w : tensor<128xbf16>) : tensor<?x8x128xbf16> -> tensor<?x8x128xbf16>
  %k = tensor.collapse_shape %n [[0], [1, 2]] : tensor<?x8x128xbf16> into tensor<?x1024xbf16>
  return %k : tensor<?x1024xbf16>
}

// Rows of 96 elements, one behind the other.
// CHECK-LABEL: func.func @rows(
// CHECK: norm.launch
// CHECK-NOT: norm.launch
func.func @rows(%x: tensor<?xf32> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c96 = arith.constant 96 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.divui %n, %c96 : index
  %rows = tensor.expand_shape %x [[0, 1]] output_shape [%m, 96] : tensor<?xf32> into tensor<?x96xf32>
  %s = norm.softmax %rows : tensor<?x96xf32> -> tensor<?x96xf32>
  %y = tensor.collapse_shape %s [[0, 1]] : tensor<?x96xf32> into tensor<?xf32>
  return %y : tensor<?xf32>
}
