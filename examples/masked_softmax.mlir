// The weights of attention: scores times 1/8, without the keys that a mask of bytes leaves out or that come after the query.

func.func @masked_softmax(%scores: tensor<?x8x64x512xbf16> {norm.name = "scores"}, %keep: tensor<?x1x1x512xi8> {norm.name = "keep"})
    -> (tensor<?x8x64x512xbf16> {norm.name = "weights"}) {
  %weights = norm.softmax %scores keep(%keep : tensor<?x1x1x512xi8>) {scale = 0.125 : f32, causal = array<i64: -2, -1>}
      : tensor<?x8x64x512xbf16> -> tensor<?x8x64x512xbf16>
  return %weights : tensor<?x8x64x512xbf16>
}
