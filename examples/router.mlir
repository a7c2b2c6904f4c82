// The router of a mixture of experts, in one kernel: of each token's probabilities of 128 experts the 8 largest, sorted and scaled so that
// they add up to 1, and the experts that these belong to.

func.func @router(%logits: tensor<?x128xbf16> {norm.name = "logits"})
    -> (tensor<?x8xf32> {norm.name = "weights"}, tensor<?x8xi32> {norm.name = "experts"}) {
  %probabilities = norm.softmax %logits : tensor<?x128xbf16> -> tensor<?x128xf32>
  %largest, %experts = norm.top_k %probabilities {k = 8} : tensor<?x128xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %weights = norm.compute(%a = %largest : tensor<?x8xf32>) -> (%o : tensor<?x8xf32>) space(%token = dim(%a, 0), %j = 8) {
    %0 = norm.read %a[%token, %j] : tensor<?x8xf32>
    %1 = norm.reduce add %0 over(%j) : f32
    %2 = arith.divf %0, %1 : f32
    norm.write %2, %o[%token, %j] : tensor<?x8xf32>
  }
  return %weights, %experts : tensor<?x8xf32>, tensor<?x8xi32>
}
