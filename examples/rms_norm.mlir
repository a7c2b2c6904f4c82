// RMSNorm of the last axis: y = x / sqrt(mean(x^2) + 1e-6) * w, as in large language models.
//
// The number of rows is known when the kernel is launched; the demo and the measurements use 16384. The names of arguments
// and results are their names in the bundle.

func.func @rms_norm(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"})
    -> (tensor<?x4096xbf16> {norm.name = "y"}) {
  %y = norm.rms_norm %x weight(%w : tensor<4096xbf16>) {eps = 1.0e-6 : f32}
       : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %y : tensor<?x4096xbf16>
}
