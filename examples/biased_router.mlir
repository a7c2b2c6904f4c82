// A router whose bias decides which 8 of 256 experts a token goes to, and is no part of their weights. The scores at the chosen places
// are gathered: kernel form adds up the only score whose place is the expert's.

func.func @biased_router(%logits: tensor<?x256xf32> {norm.name = "logits"}, %bias: tensor<256xf32> {norm.name = "bias"})
    -> (tensor<?x8xf32> {norm.name = "weights"}, tensor<?x8xi32> {norm.name = "experts"}) {
  %scores, %biased = norm.compute(%a = %logits : tensor<?x256xf32>, %b = %bias : tensor<256xf32>)
      -> (%o : tensor<?x256xf32>, %p : tensor<?x256xf32>) space(%token = dim(%a, 0), %n = 256) {
    %0 = norm.read %a[%token, %n]
    %1 = norm.read %b[%n]
    %one = arith.constant 1.0 : f32
    %2 = arith.negf %0 : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %one : f32
    %5 = arith.divf %one, %4 : f32
    %6 = arith.addf %5, %1 : f32
    norm.write %5, %o[%token, %n]
    norm.write %6, %p[%token, %n]
  }
  %largest, %experts = norm.top_k %biased {k = 8} : tensor<?x256xf32> -> tensor<?x8xf32>, tensor<?x8xi32>
  %weights = norm.compute(%a = %scores : tensor<?x256xf32>, %e = %experts : tensor<?x8xi32>)
      -> (%o : tensor<?x8xf32>) space(%token = dim(%a, 0), %n = 256, %j = 8) {
    %0 = norm.read %a[%token, %n]
    %1 = norm.read %e[%token, %j]
    %zero = arith.constant 0.0 : f32
    %2 = arith.index_cast %n : index to i32
    %3 = arith.cmpi eq, %1, %2 : i32
    %4 = arith.select %3, %0, %zero : f32
    %5 = norm.reduce add %4 over(%n) : f32       // the score of the j-th expert
    %6 = norm.reduce add %5 over(%j) : f32
    %7 = arith.divf %5, %6 : f32
    norm.write %7, %o[%token, %j]
  }
  return %weights, %experts : tensor<?x8xf32>, tensor<?x8xi32>
}
