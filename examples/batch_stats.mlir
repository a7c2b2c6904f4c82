// What BatchNorm needs of a batch of images in NHWC: mean and variance of each channel, over all other axes.

func.func @batch_stats(%x: tensor<?x14x14x256xbf16> {norm.name = "x"})
    -> (tensor<256xf32> {norm.name = "mean"}, tensor<256xf32> {norm.name = "var"}) {
  %mean, %var = norm.batch_stats %x {axes = array<i64: 0, 1, 2>} : tensor<?x14x14x256xbf16> -> tensor<256xf32>, tensor<256xf32>
  return %mean, %var : tensor<256xf32>, tensor<256xf32>
}
