// The norm of a diffusion transformer: LayerNorm without weights, then a scale and a shift that each image has of its own.
//
// The scale and the shift are a weight and a bias that broadcast to the tokens of an image; nothing is copied.

func.func @ada_layer_norm(%x: tensor<?x256x1152xbf16> {norm.name = "x"}, %scale: tensor<?x1x1152xbf16> {norm.name = "scale"},
                          %shift: tensor<?x1x1152xbf16> {norm.name = "shift"}) -> (tensor<?x256x1152xbf16> {norm.name = "y"}) {
  %y = norm.layer_norm %x weight(%scale : tensor<?x1x1152xbf16>) bias(%shift : tensor<?x1x1152xbf16>)
       {eps = 1.0e-6 : f32, weight_offset = 1.0 : f32} : tensor<?x256x1152xbf16> -> tensor<?x256x1152xbf16>
  return %y : tensor<?x256x1152xbf16>
}
