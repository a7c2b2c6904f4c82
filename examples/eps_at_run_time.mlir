// RMSNorm whose eps is a number that each call may set, with the default that is used otherwise.
//
// A function's scalar arguments and what scalar ops make of them may take the place of attributes that are numbers.

func.func @eps_at_run_time(%x: tensor<?x4096xbf16> {norm.name = "x"}, %eps: f32 {norm.name = "eps", norm.default = 1.0e-5 : f32})
    -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.rms_norm %x eps(%eps) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
