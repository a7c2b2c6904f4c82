// The queries of attention: each head of 128 elements is normalized and then rotated by its token's position, in one kernel.
//
// The rotation combines the two halves of a head, which kernel form expresses. The normalized elements that it reads are
// computed where they are read, and the sum of squares once per head.

func.func @qk_norm_rotary(%q: tensor<?x32x128xbf16> {norm.name = "q"}, %w: tensor<128xbf16> {norm.name = "w"},
                          %cos: tensor<?x64xf32> {norm.name = "cos"}, %sin: tensor<?x64xf32> {norm.name = "sin"})
    -> (tensor<?x32x128xbf16> {norm.name = "y"}) {
  %normalized = norm.rms_norm %q weight(%w : tensor<128xbf16>) {eps = 1.0e-6 : f32}
       : tensor<?x32x128xbf16> -> tensor<?x32x128xbf16>
  %y = norm.compute(%a = %normalized : tensor<?x32x128xbf16>, %c = %cos : tensor<?x64xf32>, %s = %sin : tensor<?x64xf32>)
      -> (%o : tensor<?x32x128xbf16>) space(%token = dim(%a, 0), %head = 32, %k = 64) {
    %0 = norm.read %a[%token, %head, %k] : tensor<?x32x128xbf16>
    %1 = norm.read %a[%token, %head, %k + 64] : tensor<?x32x128xbf16>
    %cosine = norm.read %c[%token, %k] : tensor<?x64xf32>
    %sine = norm.read %s[%token, %k] : tensor<?x64xf32>
    %low = arith.extf %0 : bf16 to f32
    %high = arith.extf %1 : bf16 to f32
    %2 = arith.mulf %low, %cosine : f32
    %3 = arith.mulf %high, %sine : f32
    %4 = arith.subf %2, %3 : f32
    %5 = arith.mulf %high, %cosine : f32
    %6 = arith.mulf %low, %sine : f32
    %7 = arith.addf %5, %6 : f32
    %8 = arith.truncf %4 : f32 to bf16
    %9 = arith.truncf %7 : f32 to bf16
    norm.write %8, %o[%token, %head, %k] : tensor<?x32x128xbf16>
    norm.write %9, %o[%token, %head, %k + 64] : tensor<?x32x128xbf16>
  }
  return %y : tensor<?x32x128xbf16>
}
