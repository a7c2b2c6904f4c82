// A named op becomes the same kernel as its kernel form, to the last instruction.
// RUN: split-file %s %t
// RUN: normac %t/softmax.mlir --emit=ptx > %t/softmax.ptx && normac %t/softmax-written-out.mlir --emit=ptx > %t/softmax-written-out.ptx
// RUN: diff %t/softmax.ptx %t/softmax-written-out.ptx
// RUN: normac %t/layer-norm.mlir --emit=ptx > %t/layer-norm.ptx && normac %t/layer-norm-written-out.mlir --emit=ptx > %t/layer-norm-written-out.ptx
// RUN: diff %t/layer-norm.ptx %t/layer-norm-written-out.ptx
// RUN: FileCheck %s < %t/layer-norm.ptx
// CHECK: .entry f_0

//--- softmax.mlir
func.func @f(%x: tensor<?x4096xbf16> {norm.name = "x"}) -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

//--- softmax-written-out.mlir
func.func @f(%x: tensor<?x4096xbf16> {norm.name = "x"}) -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x4096xbf16>) -> (%out : tensor<?x4096xbf16>) space(%m = dim(%in, 0), %n = 4096) {
    %0 = norm.read %in[%m, %n] : tensor<?x4096xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce max %1 over(%n) : f32
    %3 = arith.subf %1, %2 : f32
    %4 = math.exp %3 : f32
    %5 = norm.reduce add %4 over(%n) : f32
    %6 = arith.divf %4, %5 : f32
    %7 = arith.truncf %6 : f32 to bf16
    norm.write %7, %out[%m, %n] : tensor<?x4096xbf16>
  }
  return %y : tensor<?x4096xbf16>
}

//--- layer-norm.mlir
func.func @f(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"}, %b: tensor<4096xbf16> {norm.name = "b"})
    -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.layer_norm %x weight(%w : tensor<4096xbf16>) bias(%b : tensor<4096xbf16>) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}

//--- layer-norm-written-out.mlir
func.func @f(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"}, %b: tensor<4096xbf16> {norm.name = "b"})
    -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x4096xbf16>, %wi = %w : tensor<4096xbf16>, %bi = %b : tensor<4096xbf16>) -> (%out : tensor<?x4096xbf16>)
      space(%m = dim(%in, 0), %n = 4096) {
    %r = arith.constant 2.44140625e-4 : f32
    %eps = arith.constant 1.0e-5 : f32
    %0 = norm.read %in[%m, %n] : tensor<?x4096xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = norm.reduce add %1 over(%n) : f32
    %mean = arith.mulf %2, %r : f32
    %c = arith.subf %1, %mean : f32
    %sq = arith.mulf %c, %c : f32
    %3 = norm.reduce add %sq over(%n) : f32
    %var = arith.mulf %3, %r : f32
    %4 = arith.addf %var, %eps : f32
    %rstd = math.rsqrt %4 : f32
    %5 = arith.mulf %c, %rstd : f32
    %w0 = norm.read %wi[%n] : tensor<4096xbf16>
    %w1 = arith.extf %w0 : bf16 to f32
    %6 = arith.mulf %5, %w1 : f32
    %b0 = norm.read %bi[%n] : tensor<4096xbf16>
    %b1 = arith.extf %b0 : bf16 to f32
    %7 = arith.addf %6, %b1 : f32
    %8 = arith.truncf %7 : f32 to bf16
    norm.write %8, %out[%m, %n] : tensor<?x4096xbf16>
  }
  return %y : tensor<?x4096xbf16>
}
