// The loss of each token of a language model and its gradient, in one kernel.
//
// Tokens whose label is -100 have no loss. The z-loss keeps the logarithm of the sum of exponentials near 0.

func.func @cross_entropy(%logits: tensor<?x32000xbf16> {norm.name = "logits"}, %labels: tensor<?xi64> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}, tensor<?x32000xbf16> {norm.name = "dlogits"}) {
  %loss, %dlogits = norm.cross_entropy %logits labels(%labels : tensor<?xi64>) {z_loss = 1.0e-4 : f32}
      : tensor<?x32000xbf16> -> tensor<?xf32> dlogits(tensor<?x32000xbf16>)
  return %loss, %dlogits : tensor<?xf32>, tensor<?x32000xbf16>
}
