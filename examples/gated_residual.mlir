// The end of a diffusion transformer's block: a branch times a gate that each image has of its own, added to the residual. The next
// block's norm is in the same kernel, which reads branch and residual once.

func.func @gated_residual(%residual: tensor<?x256x1152xbf16> {norm.name = "residual"},
                          %branch: tensor<?x256x1152xbf16> {norm.name = "branch"}, %gate: tensor<?x1152xbf16> {norm.name = "gate"})
    -> (tensor<?x256x1152xbf16> {norm.name = "h"}, tensor<?x256x1152xbf16> {norm.name = "y"}) {
  %h = norm.compute(%r = %residual : tensor<?x256x1152xbf16>, %b = %branch : tensor<?x256x1152xbf16>, %g = %gate : tensor<?x1152xbf16>)
      -> (%out : tensor<?x256x1152xbf16>) space(%m = dim(%r, 0), %token = 256, %n = 1152) {
    %0 = norm.read %r[%m, %token, %n]
    %1 = norm.read %b[%m, %token, %n]
    %2 = norm.read %g[%m, %n]
    %3 = arith.extf %0 : bf16 to f32
    %4 = arith.extf %1 : bf16 to f32
    %5 = arith.extf %2 : bf16 to f32
    %6 = arith.mulf %4, %5 : f32
    %7 = arith.addf %3, %6 : f32
    %8 = arith.truncf %7 : f32 to bf16
    norm.write %8, %out[%m, %token, %n]
  }
  %y = norm.layer_norm %h {eps = 1.0e-6 : f32} : tensor<?x256x1152xbf16> -> tensor<?x256x1152xbf16>
  return %h, %y : tensor<?x256x1152xbf16>, tensor<?x256x1152xbf16>
}
