// SwiGLU whose result is quantized for the next product: each 128 columns of a row have a scale of their own.
//
// The two factors are the halves of one row, as one product writes them.

func.func @swiglu_fp8(%x: tensor<?x8192xbf16> {norm.name = "x"})
    -> (tensor<?x4096xf8E4M3FN> {norm.name = "q"}, tensor<?x32xf32> {norm.name = "scale"}) {
  %y = norm.compute(%in = %x : tensor<?x8192xbf16>) -> (%out : tensor<?x4096xf32>) space(%m = dim(%in, 0), %n = 4096) {
    %0 = norm.read %in[%m, %n]
    %1 = norm.read %in[%m, %n + 4096]
    %gate = arith.extf %0 : bf16 to f32
    %up = arith.extf %1 : bf16 to f32
    %one = arith.constant 1.0 : f32
    %2 = arith.negf %gate : f32
    %3 = math.exp %2 : f32
    %4 = arith.addf %3, %one : f32
    %5 = arith.divf %gate, %4 : f32
    %6 = arith.mulf %5, %up : f32
    norm.write %6, %out[%m, %n]
  }
  %q, %scale = norm.quantize %y {block = array<i64: 1, 128>} : tensor<?x4096xf32> -> tensor<?x4096xf8E4M3FN> scale(tensor<?x32xf32>)
  return %q, %scale : tensor<?x4096xf8E4M3FN>, tensor<?x32xf32>
}
