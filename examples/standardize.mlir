// Rows of dynamic length, with mean 0 and variance 1. The variance is the unbiased one: it is divided by the number of
// columns less 1, which `norm.extent` counts.

func.func @standardize(%x: tensor<?x?xf32> {norm.name = "x", norm.min = array<i64: 0, 2>})
    -> (tensor<?x?xf32> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x?xf32>) -> (%out : tensor<?x?xf32>) space(%row = dim(%in, 0), %column = dim(%in, 1)) {
    %0 = norm.read %in[%row, %column]
    %mean = norm.reduce mean %0 over(%column) : f32
    %1 = arith.subf %0, %mean : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = norm.reduce add %2 over(%column) : f32
    %columns = norm.extent %column : f32
    %one = arith.constant 1.0 : f32
    %4 = arith.subf %columns, %one : f32
    %5 = arith.divf %3, %4 : f32
    %eps = arith.constant 1.0e-5 : f32
    %6 = arith.addf %5, %eps : f32
    %7 = math.rsqrt %6 : f32
    %8 = arith.mulf %1, %7 : f32
    norm.write %8, %out[%row, %column]
  }
  return %y : tensor<?x?xf32>
}
