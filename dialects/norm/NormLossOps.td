//===- NormLossOps.td - losses ----------------------------------------------===//

#ifndef NORM_LOSS_OPS_TD
#define NORM_LOSS_OPS_TD

include "norm/NormOpBase.td"

def Norm_CrossEntropyOp : Norm_NamedOp<"cross_entropy", [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Cross-entropy of logits and labels";
  let description = [{
    Semantics, with c over the classes, which lie along `axis` of `logits`, C their number, l the label, w = `weight`, or 1
    without it, and e = `label_smoothing`:

        s    = logits, or softcap * tanh(logits / softcap) unless softcap is 0
        lse  = log(sum_c(exp(s_c)))
        loss = (1 - e) * w_l * (lse - s_l) + e / C * sum_c(w_c * (lse - s_c)) + z_loss * lse^2

    Without a `reduction` there is a loss for each row; with `sum` there is the sum over all rows, and with `mean` that
    sum divided by the sum of w_l over the rows whose label is not ignored, which over no such rows is NaN.
    `row_weight`, if asked for, is the weight of each row in that mean: w_l, 0 where the label is ignored, and NaN where
    it is no class.

    This is PyTorch's `cross_entropy`, with a z-loss, which no weight scales. Terms whose factor `1 - e`, `e` or
    `z_loss` is 0 are left out, so that a logit of -Inf does no harm without smoothing. `dlogits`, if asked for, is the
    gradient of each row's loss with respect to its own logits, whatever the `reduction`; a caller that takes their mean
    scales it.

        p       = exp(s - lse)
        ds_c    = (1 - e) * w_l * (p_c - [c = l]) + e / C * (p_c * sum_c(w_c) - w_c) + 2 * z_loss * lse * p_c
        dlogits = ds, or ds * (1 - (s / softcap)^2) unless softcap is 0

    Where the label is `ignore_index`, `loss` and `dlogits` are 0, whatever the logits are. Where it is another number that is no
    class, or where the largest s is infinite or NaN, both are NaN. `lse` does not depend on labels; where the largest s is
    infinite it is that. Operands are widened to f32, in which all arithmetic is, and each result is rounded once. Sums may be
    taken in any order.

    `label_smoothing`, `z_loss` and `softcap` may be numbers that each call sets: the operands `runtime_label_smoothing`,
    `runtime_z_loss` and `runtime_softcap` stand for the attributes then, and nothing checks them.

    Constraints:
    - C1: `axis` is an axis of `logits`; a negative one counts from the end.
    - C2: `labels` has the shape of the other axes of `logits`.
    - C3: `weight` has one element for each class.
    - C4: `loss`, without a reduction, `lse` and `row_weight` have the shape of the other axes of `logits`.
    - C5: `dlogits` has the shape of `logits`.
    - C6: `label_smoothing` is between 0 and 1; `z_loss` and `softcap` are finite and not negative.
    - C7: `loss` is one number where it is reduced.
    - C8: `label_smoothing`, `z_loss` and `softcap` have their defaults where `runtime_label_smoothing`, `runtime_z_loss` and
      `runtime_softcap` are there.

    Example:

    ```mlir
    %loss, %d = norm.cross_entropy %x labels(%l : tensor<?xi64>) {label_smoothing = 0.1 : f32}
                : tensor<?x32000xbf16> -> tensor<?xf32> dlogits(tensor<?x32000xbf16>)
    %mean = norm.cross_entropy %x labels(%l : tensor<?xi64>) reduction(mean) : tensor<?x32000xbf16> -> tensor<f32>
    ```
  }];
  let arguments = (ins
    Norm_UpToF32Tensor:$logits,
    Norm_LabelTensor:$labels,
    Optional<Norm_UpToF32Tensor>:$weight,
    Optional<Norm_RuntimeNumber>:$runtime_label_smoothing,
    Optional<Norm_RuntimeNumber>:$runtime_z_loss,
    Optional<Norm_RuntimeNumber>:$runtime_softcap,
    DefaultValuedAttr<I64Attr, "-1">:$axis,
    DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
    DefaultValuedAttr<Norm_LossReduction, "::mlir::norm::LossReduction::None">:$reduction,
    Norm_Number<"0.0">:$label_smoothing,
    Norm_Number<"0.0">:$z_loss,
    Norm_Number<"0.0">:$softcap
  );
  let results = (outs
    Norm_UpToF32Tensor:$loss,
    Optional<Norm_UpToF32Tensor>:$lse,
    Optional<Norm_UpToF32Tensor>:$row_weight,
    Optional<Norm_UpToF32Tensor>:$dlogits
  );
  let shapes = (by_name
    Norm_OtherAxes<"axis">:$labels,
    Norm_NamedAxes<"axis">:$weight,
    Norm_InPlaceOf<"label_smoothing">:$runtime_label_smoothing,
    Norm_InPlaceOf<"z_loss">:$runtime_z_loss,
    Norm_InPlaceOf<"softcap">:$runtime_softcap,
    Norm_ReducedRows<"axis", "reduction">:$loss,
    Norm_OtherAxes<"axis">:$lse,
    Norm_OtherAxes<"axis">:$row_weight
  );
  let assemblyFormat = [{
    $logits `labels` `(` $labels `:` type($labels) `)` (`weight` `(` $weight^ `:` type($weight) `)`)?
    (`label_smoothing` `(` $runtime_label_smoothing^ `)`)?
    (`z_loss` `(` $runtime_z_loss^ `)`)? (`softcap` `(` $runtime_softcap^ `)`)?
    (`reduction` `(` $reduction^ `)`)? attr-dict `:` type($logits) `->` type($loss) (`lse` `(` type($lse)^ `)`)?
    (`row_weight` `(` type($row_weight)^ `)`)? (`dlogits` `(` type($dlogits)^ `)`)?
  }];
  let hasVerifier = 1;
}

#endif // NORM_LOSS_OPS_TD
