// NVFP4: the two numbers of a byte and its neighbours are one access, and a thread writes a word of codes; lanes share a block.
// The numbers that a word of codes encodes are written as one vector, across the byte and its neighbours.
// RUN: normac %s --emit=ptx --target=sm_90a | FileCheck %s
// RUN: normac %s --emit=ptx --target=sm_100a | FileCheck %s
// RUN: norma-sim %s --function quantize --size m=5 --seeds 1
// RUN: norma-sim %s --function dequantize --size m=5 --seeds 1

// CHECK-LABEL: .entry quantize_0(
// CHECK-NOT: .shared
// CHECK: ld.global{{.*}}v4.b32
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK: st.global.b8
// CHECK: st.global.b32
// CHECK-LABEL: .entry dequantize_0(
// CHECK: ld.global{{.*}}b32
// CHECK-NOT: st.global.b
// CHECK: st.global.v4.b32
func.func @quantize(%x: tensor<?x1024xbf16> {norm.name = "x"}, %t: tensor<f32> {norm.name = "t"})
    -> (tensor<?x512xi8> {norm.name = "q"}, tensor<?x64xf8E4M3FN> {norm.name = "scale"}) {
  %q, %s = norm.quantize %x tensor_scale(%t : tensor<f32>) {block = array<i64: 1, 16>, e2m1}
      : tensor<?x1024xbf16> -> tensor<?x512xi8> scale(tensor<?x64xf8E4M3FN>)
  return %q, %s : tensor<?x512xi8>, tensor<?x64xf8E4M3FN>
}
func.func @dequantize(%q: tensor<?x512xi8> {norm.name = "q"}, %s: tensor<?x64xf8E4M3FN> {norm.name = "scale"},
                      %t: tensor<f32> {norm.name = "t"}) -> (tensor<?x1024xbf16> {norm.name = "y"}) {
  %y = norm.dequantize %q scale(%s : tensor<?x64xf8E4M3FN>) tensor_scale(%t : tensor<f32>) {block = array<i64: 1, 16>, e2m1}
      : tensor<?x512xi8> -> tensor<?x1024xbf16>
  return %y : tensor<?x1024xbf16>
}
