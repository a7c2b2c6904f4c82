// GroupNorm and SiLU of images in NHWC, as in the blocks of a U-Net: one kernel.

func.func @group_norm_silu(%x: tensor<?x16x16x320xbf16> {norm.name = "x"}, %w: tensor<320xbf16> {norm.name = "w"},
                           %b: tensor<320xbf16> {norm.name = "b"}) -> (tensor<?x16x16x320xbf16> {norm.name = "y"}) {
  %n = norm.group_norm %x weight(%w : tensor<320xbf16>) bias(%b : tensor<320xbf16>) {groups = 32, channel_axis = -1}
      : tensor<?x16x16x320xbf16> -> tensor<?x16x16x320xf32>
  %y = norm.compute(%in = %n : tensor<?x16x16x320xf32>) -> (%out : tensor<?x16x16x320xbf16>)
      space(%m = dim(%in, 0), %h = 16, %v = 16, %c = 320) {
    %0 = norm.read %in[%m, %h, %v, %c]
    %one = arith.constant 1.0 : f32
    %1 = arith.negf %0 : f32
    %2 = math.exp %1 : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.divf %0, %3 : f32
    %5 = arith.truncf %4 : f32 to bf16
    norm.write %5, %out[%m, %h, %v, %c]
  }
  return %y : tensor<?x16x16x320xbf16>
}
