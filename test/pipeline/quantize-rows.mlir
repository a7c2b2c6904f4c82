// RMSNorm with quantised rows, each with its own scale: two reductions, the second over a product that is recomputed for the
// quantisation.
// RUN: norma-sim %s --size m=3 --schedule '#norm.schedule<spread = [[grid], [register(2), warp(4), lane(32), vector(8)]]>' --seeds 2
// RUN: norma-sim %s --size m=3 --seeds 2

func.func @rms_norm_fp8_row(%x: tensor<?x2048xbf16> {norm.name = "x"}, %w: tensor<2048xbf16> {norm.name = "w"})
    -> (tensor<?x2048xf8E4M3FN> {norm.name = "q"}, tensor<?x1xf32> {norm.name = "s"}) {
  %q, %s = norm.compute(%in = %x : tensor<?x2048xbf16>, %weight = %w : tensor<2048xbf16>)
      -> (%q_out : tensor<?x2048xf8E4M3FN>, %s_out : tensor<?x1xf32>)
      space(%m = dim(%in, 0), %n = 2048) {
    %0 = norm.read %in[%m, %n] : tensor<?x2048xbf16>
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.mulf %1, %1 : f32
    %3 = norm.reduce add %2 over(%n) : f32
    %count = arith.constant 2048.0 : f32
    %eps = arith.constant 1.0e-6 : f32
    %4 = arith.divf %3, %count : f32
    %5 = arith.addf %4, %eps : f32
    %6 = math.rsqrt %5 : f32
    %7 = arith.mulf %1, %6 : f32
    %8 = norm.read %weight[%n] : tensor<2048xbf16>
    %9 = arith.extf %8 : bf16 to f32
    %10 = arith.mulf %7, %9 : f32
    %11 = math.absf %10 : f32
    %amax = norm.reduce max %11 over(%n) : f32
    %largest = arith.constant 448.0 : f32
    %scale = arith.divf %amax, %largest : f32
    norm.write %scale, %s_out[%m, 0] : tensor<?x1xf32>
    %12 = arith.divf %10, %scale : f32
    %13 = arith.truncf %12 : f32 to f8E4M3FN
    norm.write %13, %q_out[%m, %n] : tensor<?x2048xf8E4M3FN>
  }
  return %q, %s : tensor<?x2048xf8E4M3FN>, tensor<?x1xf32>
}
