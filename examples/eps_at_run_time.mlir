// RMSNorm whose eps and output scale are numbers that each call may set, with the defaults that are used otherwise.
//
// A named op has its eps as an attribute; written out, it is a scalar among the inputs, which varies over no dim.

func.func @eps_at_run_time(%x: tensor<?x4096xbf16> {norm.name = "x"}, %eps: f32 {norm.name = "eps", norm.default = 1.0e-5 : f32},
                           %scale: f32 {norm.name = "scale", norm.default = 1.0 : f32}) -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x4096xbf16>, %e = %eps : f32, %s = %scale : f32) -> (%out : tensor<?x4096xbf16>)
      space(%m = dim(%in, 0), %n = 4096) {
    %0 = norm.read %in[%m, %n]
    %1 = arith.extf %0 : bf16 to f32
    %2 = arith.mulf %1, %1 : f32
    %3 = norm.reduce mean %2 over(%n) : f32
    %4 = arith.addf %3, %e : f32
    %5 = math.rsqrt %4 : f32
    %6 = arith.mulf %1, %5 : f32
    %7 = arith.mulf %6, %s : f32
    %8 = arith.truncf %7 : f32 to bf16
    norm.write %8, %out[%m, %n]
  }
  return %y : tensor<?x4096xbf16>
}
