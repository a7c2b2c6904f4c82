// What the probabilities of the tokens up to each one add up to: sampling takes the first at which this exceeds a random number.

func.func @cumsum(%p: tensor<?x8192xf32> {norm.name = "p"}) -> (tensor<?x8192xf32> {norm.name = "sums"}) {
  %sums = norm.cumsum %p : tensor<?x8192xf32> -> tensor<?x8192xf32>
  return %sums : tensor<?x8192xf32>
}
