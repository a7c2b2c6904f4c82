// An f64 just above a tie of an 8-bit float's rounds once: by way of the nearest f32 it would be the tie, and go to even.
// RUN: norma-sim %s --size m=3 --seeds 1
func.func @f(%x: tensor<?x64xf64> {norm.name = "x"}) -> (tensor<?x64xf8E4M3FN> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x64xf64>) -> (%out : tensor<?x64xf8E4M3FN>)
      space(%m = dim(%in, 0), %n = 64) {
    %0 = norm.read %in[%m, %n] : tensor<?x64xf64>
    %zero = arith.subf %0, %0 : f64
    // 1 + 2^-4 + 2^-40, between 1 and 1.125.
    %above = arith.constant 0x3FF1000000001000 : f64
    %1 = arith.addf %zero, %above : f64
    %2 = arith.truncf %1 : f64 to f8E4M3FN
    norm.write %2, %out[%m, %n] : tensor<?x64xf8E4M3FN>
  }
  return %y : tensor<?x64xf8E4M3FN>
}
