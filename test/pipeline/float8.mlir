// 8-bit floats are compiled for every target that converts them, two at a time, and refused for older ones.
// RUN: normac %s --target=sm_89 --emit=ptx --schedule '#norm.schedule<spread = [[grid, warp(4), lane(32), vector(4)]]>' | FileCheck %s
// RUN: normac %s --target=sm_90a --emit=ptx --schedule '#norm.schedule<spread = [[grid, warp(4), lane(32), vector(4)]]>' | FileCheck %s
// RUN: normac %s --target=sm_100a --emit=ptx --schedule '#norm.schedule<spread = [[grid, warp(4), lane(32), vector(4)]]>' | FileCheck %s
// RUN: normac %s --target=sm_103a --emit=ptx --schedule '#norm.schedule<spread = [[grid, warp(4), lane(32), vector(4)]]>' | FileCheck %s
// RUN: normac %s --target=sm_120a --emit=ptx --schedule '#norm.schedule<spread = [[grid, warp(4), lane(32), vector(4)]]>' | FileCheck %s
// RUN: not normac %s --target=sm_80 --emit=ptx -o %t 2>&1 | FileCheck %s --check-prefix=OLD

// CHECK-LABEL: .entry quantize_0(
// CHECK: ld.global{{.*}}.v4.b32
// CHECK: cvt.rn.satfinite.e4m3x2.f32 %[[LOW:rs[0-9]+]],
// CHECK: cvt.rn.satfinite.e4m3x2.f32 %[[HIGH:rs[0-9]+]],
// CHECK: mov.b32 %[[WORD:r[0-9]+]], {%[[LOW]], %[[HIGH]]};
// CHECK: st.global{{.*}}%[[WORD]]
// CHECK-LABEL: .entry dequantize_0(
// CHECK: cvt.rn.f16x2.e5m2x2

// OLD: {{.*}}float8.mlir:[[#@LINE+6]]:10: error: 'nvvm.convert.f32x2.to.f8x2' needs 8-bit float conversions, which sm_80 lacks; supported on sm_89, sm_90a,
module {
func.func @quantize(%x: tensor<?x64xf32> {norm.name = "x"}) -> (tensor<?x64xf8E4M3FN> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x64xf32>) -> (%out : tensor<?x64xf8E4M3FN>)
      space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x64xf32>
    %1 = arith.truncf %0 : f32 to f8E4M3FN
    norm.write %1, %out[%m, %n] : tensor<?x64xf8E4M3FN>
  }
  return %y : tensor<?x64xf8E4M3FN>
}
func.func @dequantize(%x: tensor<?x64xf8E5M2> {norm.name = "x"}) -> (tensor<?x64xbf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x64xf8E5M2>) -> (%out : tensor<?x64xbf16>)
      space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x64xf8E5M2>
    %1 = arith.extf %0 : f8E5M2 to bf16
    norm.write %1, %out[%m, %n] : tensor<?x64xbf16>
  }
  return %y : tensor<?x64xbf16>
}
}
