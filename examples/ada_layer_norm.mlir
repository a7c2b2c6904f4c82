// The norm of a diffusion transformer: LayerNorm without weights, then a scale and a shift that each image has of its own.
//
// In kernel form, as one scalar program: %scale does not vary over tokens, so nothing is broadcast.

func.func @ada_layer_norm(%x: tensor<?x256x1152xbf16> {norm.name = "x"}, %scale: tensor<?x1152xbf16> {norm.name = "scale"},
                          %shift: tensor<?x1152xbf16> {norm.name = "shift"}) -> (tensor<?x256x1152xbf16> {norm.name = "y"}) {
  %y = norm.compute(%in = %x : tensor<?x256x1152xbf16>, %s = %scale : tensor<?x1152xbf16>, %t = %shift : tensor<?x1152xbf16>)
      -> (%out : tensor<?x256x1152xbf16>) space(%m = dim(%in, 0), %token = 256, %n = 1152) {
    %0 = norm.read %in[%m, %token, %n]
    %1 = arith.extf %0 : bf16 to f32
    %mean = norm.reduce mean %1 over(%n) : f32
    %2 = arith.subf %1, %mean : f32
    %3 = arith.mulf %2, %2 : f32
    %variance = norm.reduce mean %3 over(%n) : f32
    %eps = arith.constant 1.0e-6 : f32
    %4 = arith.addf %variance, %eps : f32
    %5 = math.rsqrt %4 : f32
    %6 = arith.mulf %2, %5 : f32

    %7 = norm.read %s[%m, %n]
    %8 = arith.extf %7 : bf16 to f32
    %one = arith.constant 1.0 : f32
    %9 = arith.addf %8, %one : f32
    %10 = arith.mulf %6, %9 : f32
    %11 = norm.read %t[%m, %n]
    %12 = arith.extf %11 : bf16 to f32
    %13 = arith.addf %10, %12 : f32
    %14 = arith.truncf %13 : f32 to bf16
    norm.write %14, %out[%m, %token, %n]
  }
  return %y : tensor<?x256x1152xbf16>
}
