// Scales rows to length 1, as a scalar program over an iteration space. The named op `norm.l2_norm` also bounds the length from below.

func.func @l2_norm(%x: tensor<?x1024xf16> {norm.name = "x"}) -> (tensor<?x1024xf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x1024xf16>) -> (%out : tensor<?x1024xf16>)
      space(%m = dim(%in, 0), %n = 1024) {
    %0 = norm.read %in[%m, %n] : tensor<?x1024xf16>
    %1 = arith.extf %0 : f16 to f32
    %2 = arith.mulf %1, %1 : f32
    %3 = norm.reduce add %2 over(%n) : f32       // one value for each %m
    %4 = math.rsqrt %3 : f32
    %5 = arith.mulf %1, %4 : f32                 // for each %m and %n again
    %6 = arith.truncf %5 : f32 to f16
    norm.write %6, %out[%m, %n] : tensor<?x1024xf16>
  }
  return %y : tensor<?x1024xf16>
}
