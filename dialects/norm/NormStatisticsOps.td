//===- NormStatisticsOps.td - statistics of groups and batches --------------===//

#ifndef NORM_STATISTICS_OPS_TD
#define NORM_STATISTICS_OPS_TD

include "norm/NormOpBase.td"

def Norm_GroupNormOp : Norm_NamedOp<"group_norm", [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Group normalization";
  let description = [{
    The channels, which lie along `channel_axis`, are divided into `groups` of neighbours. Semantics, with n over the
    channels of a group and over all axes but the batch and the channel axis, and N their number of elements. The batch is the first
    axis; if the channels lie along that, there is none:

        mean = sum_n(x) / N
        rstd = 1 / sqrt(sum_n((x - mean)^2) / N + eps)
        y    = (x - mean) * rstd * weight + bias

    `weight` and `bias` have an element for each channel. This is PyTorch's `group_norm`, with channels along any axis (1 in
    NCHW, -1 in NHWC). With one channel for each group it is instance normalization, with one group a layer normalization whose weights
    are those of channels. Types, the order of sums, NaN and Inf are as in `norm.layer_norm`. `mean` and `rstd`, if asked for, have
    an element for each group of each of the batch. `runtime_eps` is as in `norm.rms_norm`.

    Groups of a size that only a launch knows are an axis of their own, in a view that the caller passes: `norm.layer_norm` over the
    axes behind that of groups is then the normalization of groups, of `tensor<?x32x?x?x?xbf16>` with a weight of
    `tensor<32x?x1x1xf32>`, and over the axes behind that of channels instance normalization, of `tensor<?x?x?x?xbf16>` with a weight
    of `tensor<?x1x1xf32>`.

    Constraints:
    - C1: `channel_axis` is an axis of `x`; a negative one counts from the end.
    - C2: `groups` is at least 1 and divides the number of channels, which is static and above 0 unless there is one group.
    - C3: `weight` and `bias` have one element for each channel.
    - C4: `y` has the shape of `x`.
    - C5: `mean` and `rstd` are both there or neither, of the type of the arithmetic, with an axis of the batch, if there is
      one, and one of groups.
    - C6: `eps` is finite and not negative.
    - C7: `eps` has its default where `runtime_eps` is there.

    Example:

    ```mlir
    %y = norm.group_norm %x weight(%w : tensor<512xbf16>) bias(%b : tensor<512xbf16>) {groups = 32}
         : tensor<?x512x64x64xbf16> -> tensor<?x512x64x64xbf16>
    ```
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Optional<Norm_FloatTensor>:$weight,
    Optional<Norm_FloatTensor>:$bias,
    Optional<Norm_RuntimeNumber>:$runtime_eps,
    I64Attr:$groups,
    DefaultValuedAttr<I64Attr, "1">:$channel_axis,
    Norm_Number<"1.0e-5">:$eps
  );
  let results = (outs Norm_FloatTensor:$y, Optional<Norm_FloatTensor>:$mean, Optional<Norm_FloatTensor>:$rstd);
  let shapes = (by_name
    Norm_NamedAxes<"channel_axis">:$weight,
    Norm_NamedAxes<"channel_axis">:$bias,
    Norm_InPlaceOf<"eps">:$runtime_eps,
    Norm_BatchAndGroups<"groups", "channel_axis">:$mean,
    Norm_BatchAndGroups<"groups", "channel_axis">:$rstd
  );
  let usual = ["weight", "bias"];
  let assemblyFormat = [{
    $x (`weight` `(` $weight^ `:` type($weight) `)`)? (`bias` `(` $bias^ `:` type($bias) `)`)?
    (`eps` `(` $runtime_eps^ `)`)? attr-dict `:` type($x) `->` type($y) (`,` type($mean)^ `,` type($rstd))?
  }];
  let hasVerifier = 1;
}

def Norm_BatchStatsOp : Norm_NamedOp<"batch_stats"> {
  let summary = "Mean and variance over some axes";
  let description = [{
    Semantics, with n over the `axes` of `x` and N their number of elements:

        mean = sum_n(x) / N
        var  = sum_n((x - mean)^2) / max(N - correction, 0)

    With a `correction` of 0 the variance is biased, which batch normalization normalizes by; with 1 it is unbiased, which goes into
    running statistics. This is PyTorch's `var_mean`. Over no elements both are NaN; where `correction` is N or more, `var` is NaN
    if all squares are 0 and else Inf. Types, the order of sums, NaN and Inf are as in `norm.layer_norm`.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `mean` and `var` have the shape of the other axes of `x`.
    - C3: `correction` is not negative.

    Example:

    ```mlir
    %mean, %var = norm.batch_stats %x {axes = array<i64: 0, 2, 3>} : tensor<?x256x56x56xbf16> -> tensor<256xf32>, tensor<256xf32>
    ```
  }];
  let arguments = (ins
    Norm_FloatTensor:$x,
    Norm_Axes:$axes,
    DefaultValuedAttr<I64Attr, "0">:$correction
  );
  let results = (outs Norm_FloatTensor:$mean, Norm_FloatTensor:$var);
  let shapes = (by_name Norm_OtherAxes<"axes">:$mean, Norm_OtherAxes<"axes">:$var);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($mean) `,` type($var)";
  let hasVerifier = 1;
}

#endif // NORM_STATISTICS_OPS_TD
