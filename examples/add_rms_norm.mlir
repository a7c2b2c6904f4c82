// Adds a residual, returns the sum for the next layer, and normalizes it: two ops, one kernel, one pass over memory.
//
// The sum is rounded to bf16 before it is normalized, as if it had been written to memory and read back.

func.func @add_rms_norm(%x: tensor<?x4096xbf16> {norm.name = "x"}, %residual: tensor<?x4096xbf16> {norm.name = "residual"},
                        %w: tensor<4096xbf16> {norm.name = "w"})
    -> (tensor<?x4096xbf16> {norm.name = "h"}, tensor<?x4096xbf16> {norm.name = "y"}) {
  %h = arith.addf %x, %residual : tensor<?x4096xbf16>
  %y = norm.rms_norm %h weight(%w : tensor<4096xbf16>) {eps = 1.0e-5 : f32}
       : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  return %h, %y : tensor<?x4096xbf16>, tensor<?x4096xbf16>
}
