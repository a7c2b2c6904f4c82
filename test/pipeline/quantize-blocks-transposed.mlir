// The same blocks where the input is stored column by column: each lane reduces blocks of its own in its registers, and writes
// them in whole 16-byte accesses. Read and write are vectors of different registers, and nothing goes through shared memory.
// RUN: normac %s --emit=ptx --target=sm_90a --schedule '#norm.schedule<spread = [[grid, warp(4), lane(32), vector(2)], [grid, register(2)], [register(32)]]>' | FileCheck %s
// RUN: norma-sim %s --schedule '#norm.schedule<spread = [[grid, warp(4), lane(32), vector(2)], [grid, register(2)], [register(32)]]>' --seeds 1

// CHECK-NOT: .shared
// CHECK-COUNT-64: ld.global{{.*}}b{{16|32}}
// CHECK-NOT: ld.global
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK: st.global{{.*}}v4.b32
// CHECK-NOT: bar.sync
func.func @quantize_block32_transposed(%x: tensor<64x512xbf16> {norm.name = "x"})
    -> (tensor<512x64xf8E4M3FN> {norm.name = "values"}, tensor<512x2xf32> {norm.name = "scales"}) {
  %values, %scales = norm.compute(%in = %x : tensor<64x512xbf16>)
      -> (%values_out : tensor<512x64xf8E4M3FN>, %scales_out : tensor<512x2xf32>)
      space(%m = 512, %q = 2, %j = 32) {
    %0 = norm.read %in[%q * 32 + %j, %m] : tensor<64x512xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = math.absf %1 : f32
    %amax = norm.reduce max %2 over(%j) : f32
    %largest = arith.constant 448.0 : f32
    %scale = arith.divf %amax, %largest : f32
    norm.write %scale, %scales_out[%m, %q] : tensor<512x2xf32>
    %3 = arith.divf %1, %scale : f32
    %4 = arith.truncf %3 : f32 to f8E4M3FN
    norm.write %4, %values_out[%m, %q * 32 + %j] : tensor<512x64xf8E4M3FN>
  }
  return %values, %scales : tensor<512x64xf8E4M3FN>, tensor<512x2xf32>
}
