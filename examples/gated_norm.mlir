// A normalized row, times the SiLU of a gate, and the gradient of that product: `norm.gradient` requests the function `gated_norm_grad`,
// whose inputs are x, gate, w and dy and whose outputs are dx, dgate and dw. The compiler derives it from the function below.
func.func @gated_norm(%x: tensor<?x4096xbf16> {norm.name = "x"}, %gate: tensor<?x4096xbf16> {norm.name = "gate"},
                      %w: tensor<4096xbf16> {norm.name = "w"}) -> (tensor<?x4096xbf16> {norm.name = "y"})
    attributes {norm.gradient = ["x", "gate", "w"]} {
  %n = norm.rms_norm %x weight(%w : tensor<4096xbf16>) {eps = 1.0e-5 : f32} : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  %y = norm.compute(%a = %n : tensor<?x4096xbf16>, %b = %gate : tensor<?x4096xbf16>) -> (%o : tensor<?x4096xbf16>)
      space(%m = dim(%a, 0), %k = 4096) {
    %0 = norm.read %a[%m, %k] : tensor<?x4096xbf16>
    %1 = norm.read %b[%m, %k] : tensor<?x4096xbf16>
    %2 = arith.extf %0 : bf16 to f32
    %3 = arith.extf %1 : bf16 to f32
    %one = arith.constant 1.0 : f32
    %4 = arith.negf %3 : f32
    %5 = math.exp %4 : f32
    %6 = arith.addf %5, %one : f32
    %7 = arith.divf %3, %6 : f32
    %8 = arith.mulf %2, %7 : f32
    %9 = arith.truncf %8 : f32 to bf16
    norm.write %9, %o[%m, %k] : tensor<?x4096xbf16>
  }
  return %y : tensor<?x4096xbf16>
}
