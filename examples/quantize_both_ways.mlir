// MXFP8 for a forward and a backward product: blocks of 32 along rows and along columns, from one read of the tensor.

func.func @quantize_both_ways(%x: tensor<?x2048xbf16> {norm.name = "x", norm.sizes = ["m", ""]})
    -> (tensor<?x2048xf8E4M3FN> {norm.name = "q", norm.sizes = ["m", ""]},
        tensor<?x64xf8E8M0FNU> {norm.name = "scale", norm.sizes = ["m", ""]},
        tensor<?x2048xf8E4M3FN> {norm.name = "q_columns", norm.sizes = ["m", ""]},
        tensor<?x2048xf8E8M0FNU> {norm.name = "scale_columns", norm.sizes = ["blocks", ""]}) {
  %q, %scale = norm.quantize %x {block = array<i64: 1, 32>}
      : tensor<?x2048xbf16> -> tensor<?x2048xf8E4M3FN> scale(tensor<?x64xf8E8M0FNU>)
  %q_columns, %scale_columns = norm.quantize %x {block = array<i64: 32, 1>}
      : tensor<?x2048xbf16> -> tensor<?x2048xf8E4M3FN> scale(tensor<?x2048xf8E8M0FNU>)
  return %q, %scale, %q_columns, %scale_columns
      : tensor<?x2048xf8E4M3FN>, tensor<?x64xf8E8M0FNU>, tensor<?x2048xf8E4M3FN>, tensor<?x2048xf8E8M0FNU>
}
