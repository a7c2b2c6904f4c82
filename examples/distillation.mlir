// The loss of distillation: for each token the divergence of a student's distribution from its teacher's, and its gradient, which the
// compiler derives: `distillation_grad` takes dloss and returns dstudent.

func.func @distillation(%student: tensor<?x4096xbf16> {norm.name = "student"}, %teacher: tensor<?x4096xbf16> {norm.name = "teacher"})
    -> (tensor<?xf32> {norm.name = "loss"}) attributes {norm.gradient = ["student"]} {
  %s = norm.log_softmax %student : tensor<?x4096xbf16> -> tensor<?x4096xf32>
  %t = norm.log_softmax %teacher : tensor<?x4096xbf16> -> tensor<?x4096xf32>
  %loss = norm.compute(%a = %s : tensor<?x4096xf32>, %b = %t : tensor<?x4096xf32>) -> (%out : tensor<?xf32>)
      space(%m = dim(%a, 0), %n = 4096) {
    %0 = norm.read %a[%m, %n]
    %1 = norm.read %b[%m, %n]
    %2 = arith.subf %1, %0 : f32
    %3 = math.exp %1 : f32
    %4 = arith.mulf %3, %2 : f32
    %5 = norm.reduce add %4 over(%n) : f32
    norm.write %5, %out[%m]
  }
  return %loss : tensor<?xf32>
}
