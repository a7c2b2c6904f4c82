// Cross-entropy whose gradient overwrites the logits, so that training needs no second tensor of that size.
//
// `norm.may_alias` allows a caller to pass the same memory for both.

func.func @cross_entropy_in_place(%logits: tensor<?x32000xbf16> {norm.name = "logits"}, %labels: tensor<?xi64> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}, tensor<?x32000xbf16> {norm.name = "dlogits", norm.may_alias = "logits"}) {
  %loss, %dlogits = norm.cross_entropy %logits labels(%labels : tensor<?xi64>)
      : tensor<?x32000xbf16> -> tensor<?xf32> dlogits(tensor<?x32000xbf16>)
  return %loss, %dlogits : tensor<?xf32>, tensor<?x32000xbf16>
}
