// Blocks of 32 elements are scaled to 8-bit floats: each has a scale, its largest magnitude by the largest number of the type.
// Lanes share a block.
// RUN: normac %s --emit=ptx --target=sm_90a | FileCheck %s
// RUN: norma-sim %s --size m=5 --seeds 1

// CHECK-NOT: .shared
// CHECK: ld.global{{.*}}v4.b32
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK: st.global{{.*}}v2.b32
// CHECK-NOT: bar.sync
func.func @quantize_block32(%x: tensor<?x512xbf16> {norm.name = "x"})
    -> (tensor<?x512xf8E4M3FN> {norm.name = "values"}, tensor<?x16xf32> {norm.name = "scales"}) {
  %values, %scales = norm.compute(%in = %x : tensor<?x512xbf16>)
      -> (%values_out : tensor<?x512xf8E4M3FN>, %scales_out : tensor<?x16xf32>)
      space(%m = dim(%in, 0), %q = 16, %j = 32) {
    %0 = norm.read %in[%m, %q * 32 + %j] : tensor<?x512xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = math.absf %1 : f32
    %amax = norm.reduce max %2 over(%j) : f32
    %largest = arith.constant 448.0 : f32
    %scale = arith.divf %amax, %largest : f32
    norm.write %scale, %scales_out[%m, %q] : tensor<?x16xf32>
    %3 = arith.divf %1, %scale : f32
    %4 = arith.truncf %3 : f32 to f8E4M3FN
    norm.write %4, %values_out[%m, %q * 32 + %j] : tensor<?x512xf8E4M3FN>
  }
  return %values, %scales : tensor<?x512xf8E4M3FN>, tensor<?x16xf32>
}
