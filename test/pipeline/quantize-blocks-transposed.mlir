// The same blocks with the input stored column by column: each lane reduces blocks of its own in its registers. The results of
// 8 blocks of a row are 256 bytes: they go through shared memory, in vectors of 16 bytes, and are written in whole runs, as the
// scales are.
// RUN: normac %s --emit=ptx --target=sm_90a --schedule '#norm.schedule<spread = [[grid, lane(32), vector(2)], [grid, warp(8)], [register(32)]]>' | FileCheck %s
// RUN: norma-sim %s --schedule '#norm.schedule<spread = [[grid, lane(32), vector(2)], [grid, warp(8)], [register(32)]]>' --seeds 1
// RUN: normac %s --target=sm_90a -o %t
// RUN: norma-sim %s --seeds 1

// CHECK: .shared {{.*}}[16384]
// CHECK-COUNT-32: ld.global{{.*}}b32
// CHECK-NOT: ld.global
// CHECK: st.global.v2.b32
// CHECK: cvt.rn.satfinite.e4m3x2.f32
// CHECK-COUNT-4: st.shared.v4.b32
// CHECK-NOT: st.shared
// CHECK: bar{{.*}}sync
// CHECK-COUNT-4: ld.shared.v4.b32
// CHECK-COUNT-4: st.global{{.*}}v4.b32
// CHECK-NOT: st.global
func.func @quantize_block32_transposed(%x: tensor<256x512xbf16> {norm.name = "x"})
    -> (tensor<512x256xf8E4M3FN> {norm.name = "values"}, tensor<512x8xf32> {norm.name = "scales"}) {
  %values, %scales = norm.compute(%in = %x : tensor<256x512xbf16>)
      -> (%values_out : tensor<512x256xf8E4M3FN>, %scales_out : tensor<512x8xf32>)
      space(%m = 512, %q = 8, %j = 32) {
    %0 = norm.read %in[%q * 32 + %j, %m] : tensor<256x512xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = math.absf %1 : f32
    %amax = norm.reduce max %2 over(%j) : f32
    %largest = arith.constant 448.0 : f32
    %scale = arith.divf %amax, %largest : f32
    norm.write %scale, %scales_out[%m, %q] : tensor<512x8xf32>
    %3 = arith.divf %1, %scale : f32
    %4 = arith.truncf %3 : f32 to f8E4M3FN
    norm.write %4, %values_out[%m, %q * 32 + %j] : tensor<512x256xf8E4M3FN>
  }
  return %values, %scales : tensor<512x256xf8E4M3FN>, tensor<512x8xf32>
}
