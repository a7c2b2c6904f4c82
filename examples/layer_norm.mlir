// LayerNorm and its gradient: `layer_norm_grad` takes x, w, b and dy and returns dx, dw and db.

func.func @layer_norm(%x: tensor<?x2048xbf16> {norm.name = "x"}, %w: tensor<2048xf32> {norm.name = "w"},
                      %b: tensor<2048xf32> {norm.name = "b"}) -> (tensor<?x2048xbf16> {norm.name = "y"})
    attributes {norm.gradient = ["x", "w", "b"]} {
  %y = norm.layer_norm %x weight(%w : tensor<2048xf32>) bias(%b : tensor<2048xf32>) : tensor<?x2048xbf16> -> tensor<?x2048xbf16>
  return %y : tensor<?x2048xbf16>
}
