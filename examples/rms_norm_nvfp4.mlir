// RMSNorm whose result is quantized to NVFP4: floats of 4 bits, two in a byte, and a scale for every 16 of a row.
//
// The scale of the whole tensor comes from an earlier step.

func.func @rms_norm_nvfp4(%x: tensor<?x4096xbf16> {norm.name = "x"}, %w: tensor<4096xbf16> {norm.name = "w"},
                          %tensor_scale: tensor<f32> {norm.name = "tensor_scale"})
    -> (tensor<?x2048xi8> {norm.name = "q"}, tensor<?x256xf8E4M3FN> {norm.name = "scale"}) {
  %y = norm.rms_norm %x weight(%w : tensor<4096xbf16>) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
  %q, %scale = norm.quantize %y tensor_scale(%tensor_scale : tensor<f32>) {block = array<i64: 1, 16>, e2m1}
      : tensor<?x4096xbf16> -> tensor<?x2048xi8> scale(tensor<?x256xf8E4M3FN>)
  return %q, %scale : tensor<?x2048xi8>, tensor<?x256xf8E4M3FN>
}
