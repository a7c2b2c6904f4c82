//===- NormNormalizationOps.td - ops that scale by statistics --------------===//

#ifndef NORM_NORMALIZATION_OPS_TD
#define NORM_NORMALIZATION_OPS_TD

include "norm/NormOpBase.td"

def Norm_RMSNormOp : Norm_NamedOp<"rms_norm", [AttrSizedOperandSegments]> {
  let summary = "Root-mean-square normalization";
  let description = [{
    Semantics, with n over the `axes` of `x` (the normalized ones) and N their number of elements:

        rstd = 1 / sqrt(sum_n(x^2) / N + eps)
        y    = x * rstd * (weight + weight_offset) + bias

    Operands are widened to f32, or to f64 where an operand or a result is of f64, and all arithmetic is of that type; each result
    is rounded once, to its own type. The sum may be taken in any order. NaN and Inf among the elements that share a sum reach all
    of them. `weight` and `bias` have the shape of the normalized axes, or any other that broadcasts to `x` by NumPy's rules, as
    `[batch, 1, N]` for what each sample has of its own, or `[heads, N]`. Without `weight` its factor is 1, and `weight_offset`
    must be 0. `eps` may be a number that each call sets: the operand `runtime_eps`, which `eps(...)` takes, stands for the attribute
    then, and nothing checks it. The second result, if asked for, is `rstd`, with the shape of the other axes; over no elements it is
    NaN. `lengths`, if given, says how many elements each row has: those from there on do not exist, N is the length, and their y is 0.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `weight` and `bias` have the shape of the normalized axes, in the order of `x`, or else broadcast to `x`: aligned at the
      last axis, each of their axes is as long as that of `x`, or 1.
    - C3: `y` has the shape of `x`.
    - C4: `rstd` is of the type of the arithmetic, with the shape of the other axes of `x`.
    - C5: `weight_offset` is 0 when there is no `weight`.
    - C6: `eps` is finite and not negative.
    - C7: `lengths` has the shape of the other axes of `x`, and `axes` then names one axis.
    - C8: `eps` has its default where `runtime_eps` is there.

    Examples:

    ```mlir
    %y = norm.rms_norm %x weight(%w : tensor<4096xbf16>) {eps = 1.0e-6 : f32}
         : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
    %z = norm.rms_norm %x eps(%e) : tensor<?x4096xbf16> -> tensor<?x4096xbf16>
    ```
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Optional<Norm_FloatTensor>:$weight,
    Optional<Norm_FloatTensor>:$bias,
    Optional<Norm_LabelTensor>:$lengths,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    Norm_Axes:$axes,
    Norm_Number<"1.0e-6">:$eps,
    Norm_Number<"0.0">:$weight_offset
  );
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_FloatTensor>:$rstd);
  let shapes = (by_name
    Norm_NamedAxes<"axes">:$weight,
    Norm_NamedAxes<"axes">:$bias,
    Norm_OtherAxes<"axes">:$lengths,
    Norm_InPlaceOf<"eps">:$runtime_eps,
    Norm_OtherAxes<"axes">:$rstd
  );
  let usual = ["weight"];
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `:` type($weight) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)? (`eps` `(` $runtime_eps^ `)`)? attr-dict
    `:` type($x) `->` type($y) (`,` type($rstd)^)?
  }];
  let hasVerifier = 1;
}

def Norm_LayerNormOp : Norm_NamedOp<"layer_norm", [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Layer normalization";
  let description = [{
    Semantics, with n over the `axes` of `x` (the normalized ones) and N their number of elements:

        mean = sum_n(x) / N
        rstd = 1 / sqrt(sum_n((x - mean)^2) / N + eps)
        y    = (x - mean) * rstd * (weight + weight_offset) + bias

    This is PyTorch's `layer_norm`, over any axes. Types, the order of sums, NaN and Inf, `weight`, `bias`, `weight_offset`,
    `runtime_eps` and `lengths` are as in `norm.rms_norm`. The squares are taken around the mean, so that values far from 0 lose
    nothing. `mean` and `rstd`, if asked for, have the shape of the other axes; over no elements both are NaN.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `weight` and `bias` have the shape of the normalized axes, in the order of `x`, or else broadcast to `x`: aligned at the
      last axis, each of their axes is as long as that of `x`, or 1.
    - C3: `y` has the shape of `x`.
    - C4: `mean` and `rstd` are both there or neither, of the type of the arithmetic, with the shape of the other axes of `x`.
    - C5: `weight_offset` is 0 when there is no `weight`.
    - C6: `eps` is finite and not negative.
    - C7: `lengths` has the shape of the other axes of `x`, and `axes` then names one axis.
    - C8: `eps` has its default where `runtime_eps` is there.

    Example:

    ```mlir
    %y, %mean, %rstd = norm.layer_norm %x weight(%w : tensor<4096xf32>) bias(%b : tensor<4096xf32>)
                       : tensor<?x4096xbf16> -> tensor<?x4096xbf16>, tensor<?xf32>, tensor<?xf32>
    ```
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Optional<Norm_FloatTensor>:$weight,
    Optional<Norm_FloatTensor>:$bias,
    Optional<Norm_LabelTensor>:$lengths,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    Norm_Axes:$axes,
    Norm_Number<"1.0e-5">:$eps,
    Norm_Number<"0.0">:$weight_offset
  );
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_FloatTensor>:$mean, Optional<Norm_FloatTensor>:$rstd);
  let shapes = (by_name
    Norm_NamedAxes<"axes">:$weight,
    Norm_NamedAxes<"axes">:$bias,
    Norm_OtherAxes<"axes">:$lengths,
    Norm_InPlaceOf<"eps">:$runtime_eps,
    Norm_OtherAxes<"axes">:$mean,
    Norm_OtherAxes<"axes">:$rstd
  );
  let usual = ["weight", "bias"];
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `:` type($weight) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)? (`eps` `(` $runtime_eps^ `)`)? attr-dict
    `:` type($x) `->` type($y) (`,` type($mean)^ `,` type($rstd))?
  }];
  let hasVerifier = 1;
}

def Norm_L2NormOp : Norm_NamedOp<"l2_norm"> {
  let summary = "Scaling to length 1";
  let description = [{
    Semantics, with n over the `axes` of `x`:

        inverse = 1 / max(sqrt(sum_n(x^2)), eps)
        y       = x * inverse

    This is PyTorch's `normalize` with p = 2, over any axes. Types and the order of the sum are as in `norm.rms_norm`. NaN among the
    elements that share a sum reaches all of them; Inf makes the others 0 and itself NaN. Where `eps` is 0, elements that are
    all 0 give NaN. `inverse`, if asked for, has the shape of the other axes. `runtime_eps` is as in `norm.rms_norm`.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `y` has the shape of `x`.
    - C3: `inverse` is of the type of the arithmetic, with the shape of the other axes of `x`.
    - C4: `eps` is finite and not negative.
    - C5: `eps` has its default where `runtime_eps` is there.

    Example: `%y = norm.l2_norm %x {eps = 1.0e-6 : f32} : tensor<?x64xf16> -> tensor<?x64xf16>`
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    Norm_Axes:$axes,
    Norm_Number<"1.0e-12">:$eps
  );
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_FloatTensor>:$inverse);
  let shapes = (by_name Norm_InPlaceOf<"eps">:$runtime_eps, Norm_OtherAxes<"axes">:$inverse);
  let assemblyFormat = "$x (`eps` `(` $runtime_eps^ `)`)? attr-dict `:` type($x) `->` type($y) (`,` type($inverse)^)?";
  let hasVerifier = 1;
}

#endif // NORM_NORMALIZATION_OPS_TD
