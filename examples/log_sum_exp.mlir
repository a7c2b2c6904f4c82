// The logarithm of a sum of exponentials in one pass, by a reduction of one's own: each partial result is the largest element and a sum
// relative to it.
//
// The identity of the largest is a number rather than minus infinity, so that no difference of two infinities is taken.

func.func @log_sum_exp(%x: tensor<?x4096xbf16> {norm.name = "x"}) -> (tensor<?xf32> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x4096xbf16>) -> (%out : tensor<?xf32>) space(%m = dim(%in, 0), %n = 4096) {
    %0 = norm.read %in[%m, %n]
    %1 = arith.extf %0 : bf16 to f32
    %one = arith.constant 1.0 : f32
    %largest, %sum = norm.reduce %1, %one over(%n) identity [-3.0e38 : f32, 0.0 : f32] : f32, f32 combine {
    ^bb0(%m0: f32, %s0: f32, %m1: f32, %s1: f32):
      %max = arith.maximumf %m0, %m1 : f32
      %d0 = arith.subf %m0, %max : f32
      %d1 = arith.subf %m1, %max : f32
      %f0 = math.exp %d0 : f32
      %f1 = math.exp %d1 : f32
      %t0 = arith.mulf %s0, %f0 : f32
      %t1 = arith.mulf %s1, %f1 : f32
      %s = arith.addf %t0, %t1 : f32
      norm.yield %max, %s : f32, f32
    }
    %2 = math.log %sum : f32
    %3 = arith.addf %2, %largest : f32
    norm.write %3, %out[%m]
  }
  return %y : tensor<?xf32>
}
