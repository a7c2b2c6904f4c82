// The query heads of a packed projection, each normalized: 32 heads of 128 columns, taken out of rows with keys and values behind them.
//
// Slices and reshapes become accesses, so nothing is copied.

func.func @qkv_norm(%qkv: tensor<?x6144xbf16> {norm.name = "qkv"}, %w: tensor<128xbf16> {norm.name = "w"})
    -> (tensor<?x32x128xbf16> {norm.name = "q"}) {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %qkv, %c0 : tensor<?x6144xbf16>
  %part = tensor.extract_slice %qkv[0, 0] [%m, 4096] [1, 1] : tensor<?x6144xbf16> to tensor<?x4096xbf16>
  %heads = tensor.expand_shape %part [[0], [1, 2]] output_shape [%m, 32, 128] : tensor<?x4096xbf16> into tensor<?x32x128xbf16>
  %q = norm.rms_norm %heads weight(%w : tensor<128xbf16>) {eps = 1.0e-6 : f32} : tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  return %q : tensor<?x32x128xbf16>
}
