//===- NormNormalizationGradOps.td - gradients of ops that scale by statistics ===//

#ifndef NORM_NORMALIZATION_GRAD_OPS_TD
#define NORM_NORMALIZATION_GRAD_OPS_TD

include "norm/NormOpBase.td"

def Norm_RMSNormGradOp : Norm_NamedOp<"rms_norm_grad", [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Gradient of root-mean-square normalization";
  let description = [{
    `dy` is the gradient of a loss with respect to the result of `norm.rms_norm`; the results are those with respect to its operands.
    Semantics, with n over the `axes` of `x` (the normalized ones), N their number of elements, and m over the axes that
    `weight` does not vary over, which are the other axes unless it broadcasts:

        rstd    = 1 / sqrt(sum_n(x^2) / N + eps)      unless it is given
        h       = x * rstd
        g       = dy * (weight + weight_offset)
        dx      = (g - h * rstd * sum_n(g * x) / N) * rstd + residual
        dweight = sum_m(dy * h)
        dbias   = sum_m(dy)

    `rstd` is what the forward op returned, and `residual` the gradient that reaches `x` along another path; without it,
    it is 0. `runtime_eps`, types, the order of sums, NaN and Inf are as in `norm.rms_norm`. Under one schedule all sums are taken in
    one order, without atomics, so that results are the same in every run. `lengths`, if given, says how many elements each row has:
    those from there on do not exist, N is the length, no sum includes them, and their dx is `residual` alone.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `dy`, `residual` and `dx` have the shape of `x`.
    - C3: `weight` has the shape of the normalized axes, in the order of `x`, or else broadcasts to `x`; `dweight` and `dbias` have the
      shape of `weight`, or without it that of the normalized axes.
    - C4: `rstd` is of the type of the arithmetic, with the shape of the other axes of `x`.
    - C5: `weight_offset` is 0 when there is no `weight`.
    - C6: `eps` is finite and not negative.
    - C7: `eps` has its default where `runtime_eps` is there.
    - C8: `lengths` has the shape of the other axes of `x`, and `axes` then names one axis.

    Example:

    ```mlir
    %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x4096xbf16>) weight(%w : tensor<4096xbf16>) rstd(%r : tensor<?xf32>)
               : tensor<?x4096xbf16> -> tensor<?x4096xbf16> dweight(tensor<4096xf32>)
    ```
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Norm_FloatTensor:$dy,
    Optional<Norm_FloatTensor>:$weight,
    Optional<Norm_FloatTensor>:$rstd,
    Optional<Norm_FloatTensor>:$residual,
    Optional<Norm_LabelTensor>:$lengths,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    Norm_Axes:$axes,
    Norm_Number<"1.0e-6">:$eps,
    Norm_Number<"0.0">:$weight_offset
  );
  let results = (outs Norm_FloatTensor:$dx, Optional<Norm_FloatTensor>:$dweight, Optional<Norm_FloatTensor>:$dbias);
  let shapes = (by_name
    Norm_NamedAxes<"axes">:$weight,
    Norm_OtherAxes<"axes">:$rstd,
    Norm_OtherAxes<"axes">:$lengths,
    Norm_InPlaceOf<"eps">:$runtime_eps,
    Norm_NamedAxes<"axes">:$dweight,
    Norm_NamedAxes<"axes">:$dbias
  );
  let usual = ["weight", "rstd", "dweight"];
  let assemblyFormat = [{
    $x `dy` `(` $dy `:` type($dy) `)` (`weight` `(` $weight^ `:` type($weight) `)`)? (`rstd` `(` $rstd^ `:` type($rstd) `)`)?
    (`residual` `(` $residual^ `:` type($residual) `)`)? (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`eps` `(` $runtime_eps^ `)`)? attr-dict `:` type($x) `->` type($dx) (`dweight` `(` type($dweight)^ `)`)? (`dbias` `(` type($dbias)^ `)`)?
  }];
  let hasVerifier = 1;
}

def Norm_LayerNormGradOp : Norm_NamedOp<"layer_norm_grad", [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Gradient of layer normalization";
  let description = [{
    `dy` is the gradient of a loss with respect to the result of `norm.layer_norm`; the results are those with respect to its
    operands. Semantics, with n over the `axes` of `x` (the normalized ones), N their number of elements, and m over the axes that
    `weight` does not vary over, which are the other axes unless it broadcasts:

        mean    = sum_n(x) / N                               unless it is given
        rstd    = 1 / sqrt(sum_n((x - mean)^2) / N + eps)    unless it is given
        h       = (x - mean) * rstd
        g       = dy * (weight + weight_offset)
        dx      = (g - sum_n(g) / N - h * rstd * sum_n(g * (x - mean)) / N) * rstd + residual
        dweight = sum_m(dy * h)
        dbias   = sum_m(dy)

    `mean` and `rstd` are what the forward op returned. The rest is as in `norm.rms_norm_grad`.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `dy`, `residual` and `dx` have the shape of `x`.
    - C3: `weight` has the shape of the normalized axes, in the order of `x`, or else broadcasts to `x`; `dweight` and `dbias` have the
      shape of `weight`, or without it that of the normalized axes.
    - C4: `mean` and `rstd` are both there or neither, of the type of the arithmetic, with the shape of the other axes of `x`.
    - C5: `weight_offset` is 0 when there is no `weight`.
    - C6: `eps` is finite and not negative.
    - C7: `eps` has its default where `runtime_eps` is there.
    - C8: `lengths` has the shape of the other axes of `x`, and `axes` then names one axis.

    Example:

    ```mlir
    %dx, %dw, %db = norm.layer_norm_grad %x dy(%dy : tensor<?x4096xbf16>) weight(%w : tensor<4096xf32>)
                    : tensor<?x4096xbf16> -> tensor<?x4096xbf16> dweight(tensor<4096xf32>) dbias(tensor<4096xf32>)
    ```
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Norm_FloatTensor:$dy,
    Optional<Norm_FloatTensor>:$weight,
    Optional<Norm_FloatTensor>:$mean,
    Optional<Norm_FloatTensor>:$rstd,
    Optional<Norm_FloatTensor>:$residual,
    Optional<Norm_LabelTensor>:$lengths,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    Norm_Axes:$axes,
    Norm_Number<"1.0e-5">:$eps,
    Norm_Number<"0.0">:$weight_offset
  );
  let results = (outs Norm_FloatTensor:$dx, Optional<Norm_FloatTensor>:$dweight, Optional<Norm_FloatTensor>:$dbias);
  let shapes = (by_name
    Norm_NamedAxes<"axes">:$weight,
    Norm_OtherAxes<"axes">:$mean,
    Norm_OtherAxes<"axes">:$rstd,
    Norm_OtherAxes<"axes">:$lengths,
    Norm_InPlaceOf<"eps">:$runtime_eps,
    Norm_NamedAxes<"axes">:$dweight,
    Norm_NamedAxes<"axes">:$dbias
  );
  let usual = ["weight", "mean", "rstd", "dweight", "dbias"];
  let assemblyFormat = [{
    $x `dy` `(` $dy `:` type($dy) `)` (`weight` `(` $weight^ `:` type($weight) `)`)? (`mean` `(` $mean^ `:` type($mean) `)`)?
    (`rstd` `(` $rstd^ `:` type($rstd) `)`)? (`residual` `(` $residual^ `:` type($residual) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)? (`eps` `(` $runtime_eps^ `)`)?
    attr-dict `:` type($x) `->` type($dx) (`dweight` `(` type($dweight)^ `)`)? (`dbias` `(` type($dbias)^ `)`)?
  }];
  let hasVerifier = 1;
}

def Norm_L2NormGradOp : Norm_NamedOp<"l2_norm_grad", [AttrSizedOperandSegments]> {
  let summary = "Gradient of scaling to length 1";
  let description = [{
    `dy` is the gradient of a loss with respect to the result of `norm.l2_norm`, and `dx` that with respect to its operand.
    Semantics, with n over the `axes` of `x`:

        length  = sqrt(sum_n(x^2))
        inverse = 1 / max(length, eps)
        dx      = (dy - x * inverse^2 * sum_n(dy * x)) * inverse + residual     where length is eps or more
        dx      = dy * inverse + residual                                       where it is less

    The length is computed again: both sums share a pass over `x`. `residual` is the gradient that reaches `x` along another path;
    without it, it is 0. `runtime_eps`, types and the order of sums are as in `norm.rms_norm`. NaN among the elements that share a sum
    reaches all of them, and so does Inf, as NaN.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `dy`, `residual` and `dx` have the shape of `x`.
    - C3: `eps` is finite and not negative.
    - C4: `eps` has its default where `runtime_eps` is there.

    Example: `%dx = norm.l2_norm_grad %x dy(%dy : tensor<?x64xf16>) : tensor<?x64xf16> -> tensor<?x64xf16>`
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Norm_FloatTensor:$dy,
    Optional<Norm_FloatTensor>:$residual,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    Norm_Axes:$axes,
    Norm_Number<"1.0e-12">:$eps
  );
  let results = (outs Norm_FloatTensor:$dx);
  let shapes = (by_name Norm_InPlaceOf<"eps">:$runtime_eps);
  let assemblyFormat = [{
    $x `dy` `(` $dy `:` type($dy) `)` (`residual` `(` $residual^ `:` type($residual) `)`)?
    (`eps` `(` $runtime_eps^ `)`)? attr-dict `:` type($x) `->` type($dx)
  }];
  let hasVerifier = 1;
}

def Norm_GroupNormGradOp : Norm_NamedOp<"group_norm_grad", [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Gradient of group normalization";
  let description = [{
    `dy` is the gradient of a loss with respect to the result of `norm.group_norm`; the results are those with respect
    to its operands. Semantics, with n over the channels of a group and over all axes but the batch, as `norm.group_norm` has
    it, and the channel axis, N their number of elements, and m over all axes but the channel axis:

        mean    = sum_n(x) / N                               unless it is given
        rstd    = 1 / sqrt(sum_n((x - mean)^2) / N + eps)    unless it is given
        h       = (x - mean) * rstd
        g       = dy * weight
        dx      = (g - sum_n(g) / N - h * rstd * sum_n(g * (x - mean)) / N) * rstd + residual
        dweight = sum_m(dy * h)
        dbias   = sum_m(dy)

    `mean` and `rstd` are what the forward op returned. The rest is as in `norm.rms_norm_grad`.

    Constraints:
    - C1: `channel_axis` is an axis of `x`; a negative one counts from the end.
    - C2: `groups` is at least 1 and divides the number of channels, which is static and above 0 unless there is one group.
    - C3: `weight`, `dweight` and `dbias` have one element for each channel.
    - C4: `dy`, `residual` and `dx` have the shape of `x`.
    - C5: `mean` and `rstd` are both there or neither, of the type of the arithmetic, with an axis of the batch, if there is
      one, and one of groups.
    - C6: `eps` is finite and not negative.
    - C7: `eps` has its default where `runtime_eps` is there.

    Example:

    ```mlir
    %dx, %dw, %db = norm.group_norm_grad %x dy(%dy : tensor<?x512x64x64xbf16>) weight(%w : tensor<512xbf16>)
                    mean(%m : tensor<?x32xf32>) rstd(%r : tensor<?x32xf32>) {groups = 32}
                    : tensor<?x512x64x64xbf16> -> tensor<?x512x64x64xbf16> dweight(tensor<512xf32>) dbias(tensor<512xf32>)
    ```
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Norm_FloatTensor:$dy,
    Optional<Norm_FloatTensor>:$weight,
    Optional<Norm_FloatTensor>:$mean,
    Optional<Norm_FloatTensor>:$rstd,
    Optional<Norm_FloatTensor>:$residual,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    I64Attr:$groups,
    DefaultValuedAttr<I64Attr, "1">:$channel_axis,
    Norm_Number<"1.0e-5">:$eps
  );
  let results = (outs Norm_FloatTensor:$dx, Optional<Norm_FloatTensor>:$dweight, Optional<Norm_FloatTensor>:$dbias);
  let shapes = (by_name
    Norm_NamedAxes<"channel_axis">:$weight,
    Norm_BatchAndGroups<"groups", "channel_axis">:$mean,
    Norm_BatchAndGroups<"groups", "channel_axis">:$rstd,
    Norm_InPlaceOf<"eps">:$runtime_eps,
    Norm_NamedAxes<"channel_axis">:$dweight,
    Norm_NamedAxes<"channel_axis">:$dbias
  );
  let usual = ["weight", "mean", "rstd", "dweight", "dbias"];
  let assemblyFormat = [{
    $x `dy` `(` $dy `:` type($dy) `)` (`weight` `(` $weight^ `:` type($weight) `)`)? (`mean` `(` $mean^ `:` type($mean) `)`)?
    (`rstd` `(` $rstd^ `:` type($rstd) `)`)? (`residual` `(` $residual^ `:` type($residual) `)`)?
    (`eps` `(` $runtime_eps^ `)`)? attr-dict `:` type($x) `->` type($dx) (`dweight` `(` type($dweight)^ `)`)? (`dbias` `(` type($dbias)^ `)`)?
  }];
  let hasVerifier = 1;
}

#endif // NORM_NORMALIZATION_GRAD_OPS_TD
