//===- NormSoftmaxGradOps.td - gradients of softmax, its logarithm and losses ==//

#ifndef NORM_SOFTMAX_GRAD_OPS_TD
#define NORM_SOFTMAX_GRAD_OPS_TD

include "norm/NormOpBase.td"

/// The gradient of an op on logits, as a function of the op's own result.
class Norm_OfResultGradOp<string mnemonic> : Norm_NamedOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = (ins
    Norm_UpToF32Tensor:$y,
    Norm_UpToF32Tensor:$dy,
    Optional<Norm_LabelTensor>:$lengths,
    Optional<Norm_RuntimeNumber>:$runtime_scale,
    Norm_Axes:$axes,
    Norm_Number<"1.0">:$scale
  );
  let results = (outs Norm_UpToF32Tensor:$dx);
  let shapes = (by_name Norm_OtherAxes<"axes">:$lengths, Norm_InPlaceOf<"scale">:$runtime_scale);
  let assemblyFormat = [{
    $y `dy` `(` $dy `:` type($dy) `)` (`lengths` `(` $lengths^ `:` type($lengths) `)`)? (`scale` `(` $runtime_scale^ `)`)?
    attr-dict `:` type($y) `->` type($dx)
  }];
  let hasVerifier = 1;
}

def Norm_SoftmaxGradOp : Norm_OfResultGradOp<"softmax_grad"> {
  let summary = "Gradient of softmax";
  let description = [{
    `y` is the result of `norm.softmax` and `dy` the gradient of a loss with respect to it; `dx` is that with respect to its operand.
    Semantics, with n over the `axes` of `y`:

        dx = y * (dy - sum_n(y * dy)) * scale

    `y` contains the effect of masks: where they exclude a logit it is 0, and so is `dx`. The gradient of a `softcap`
    needs the logits, and is not included. `runtime_scale` is as in `norm.softmax`. `lengths`, if given, says how many elements each row
    has: those from there on do not exist, the sum leaves them out, and their dx is 0. Operands are widened to f32, in which all arithmetic
    is, and the result is rounded once. The sum may be taken in any order. NaN and Inf among the elements that share a sum reach all of
    them.

    Constraints:
    - C1: `axes` names at least one axis of `y`, none twice; negative ones count from the end.
    - C2: `dy` and `dx` have the shape of `y`.
    - C3: `scale` is finite.
    - C4: `scale` has its default where `runtime_scale` is there.
    - C5: `lengths` has the shape of the other axes of `y`, and `axes` then names one axis.

    Example: `%dx = norm.softmax_grad %y dy(%dy : tensor<?x1024xbf16>) : tensor<?x1024xbf16> -> tensor<?x1024xbf16>`
  }];
}

def Norm_LogSoftmaxGradOp : Norm_OfResultGradOp<"log_softmax_grad"> {
  let summary = "Gradient of the logarithm of softmax";
  let description = [{
    `y` is the result of `norm.log_softmax` and `dy` the gradient of a loss with respect to it; `dx` is that with respect to its
    operand. Semantics, with n over the `axes` of `y`:

        dx = (dy - exp(y) * sum_n(dy)) * scale

    Types, `lengths` and the order of sums are as in `norm.softmax_grad`, and so is what is said of masks and `softcap`. NaN and Inf in `dy` reach
    all elements that share its sum, and NaN in `y` its own.

    Constraints:
    - C1: `axes` names at least one axis of `y`, none twice; negative ones count from the end.
    - C2: `dy` and `dx` have the shape of `y`.
    - C3: `scale` is finite.
    - C4: `scale` has its default where `runtime_scale` is there.
    - C5: `lengths` has the shape of the other axes of `y`, and `axes` then names one axis.

    Example: `%dx = norm.log_softmax_grad %y dy(%dy : tensor<?x1000xf32>) : tensor<?x1000xf32> -> tensor<?x1000xbf16>`
  }];
}

def Norm_CrossEntropyGradOp : Norm_NamedOp<"cross_entropy_grad", [AttrSizedOperandSegments]> {
  let summary = "Gradient of cross-entropy";
  let description = [{
    `dloss` is the gradient with respect to the losses of `norm.cross_entropy`, one for each row or one number for all, as the
    gradient of their sum has it, and `dlogits` that with respect to its logits. Semantics, in the words of `norm.cross_entropy`:

        p       = exp(s - lse)
        ds_c    = (1 - e) * w_l * (p_c - [c = l]) + e / C * (p_c * sum_c(w_c) - w_c) + 2 * z_loss * lse * p_c
        dlogits = dloss * ds, or dloss * ds * (1 - (s / softcap)^2) unless softcap is 0

    `lse` is what the forward op returned; without it, it is computed again, in a pass of its own over the logits. `dlogits` is 0 where
    the label is `ignore_index`, whatever the logits are, and NaN where it is another number that is no class, or where `lse` is
    infinite or NaN. A forward op that is asked for `dlogits` computes the same in its own pass for a `dloss` of 1.
    Numbers that each call sets are as in `norm.cross_entropy`.

    Constraints:
    - C1: `axis` is an axis of `logits`; a negative one counts from the end.
    - C2: `labels`, `dloss` unless it is one number, and `lse` have the shape of the other axes of `logits`.
    - C3: `weight` has one element for each class.
    - C4: `dlogits` has the shape of `logits`.
    - C5: `label_smoothing` is between 0 and 1; `z_loss` and `softcap` are finite and not negative.
    - C6: `label_smoothing`, `z_loss` and `softcap` have their defaults where `runtime_label_smoothing`, `runtime_z_loss` and
      `runtime_softcap` are there.

    Example:

    ```mlir
    %d = norm.cross_entropy_grad %x labels(%l : tensor<?xi64>) dloss(%g : tensor<?xf32>) lse(%lse : tensor<?xf32>)
         : tensor<?x32000xbf16> -> tensor<?x32000xbf16>
    ```
  }];
  let arguments = (ins
    Norm_UpToF32Tensor:$logits,
    Norm_LabelTensor:$labels,
    Norm_UpToF32Tensor:$dloss,
    Optional<Norm_UpToF32Tensor>:$lse,
    Optional<Norm_UpToF32Tensor>:$weight,
    Optional<Norm_RuntimeNumber>:$runtime_label_smoothing,
    Optional<Norm_RuntimeNumber>:$runtime_z_loss,
    Optional<Norm_RuntimeNumber>:$runtime_softcap,
    DefaultValuedAttr<I64Attr, "-1">:$axis,
    DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
    Norm_Number<"0.0">:$label_smoothing,
    Norm_Number<"0.0">:$z_loss,
    Norm_Number<"0.0">:$softcap
  );
  let results = (outs Norm_UpToF32Tensor:$dlogits);
  let shapes = (by_name
    Norm_OtherAxes<"axis">:$labels,
    Norm_OtherAxes<"axis">:$dloss,
    Norm_OtherAxes<"axis">:$lse,
    Norm_NamedAxes<"axis">:$weight,
    Norm_InPlaceOf<"label_smoothing">:$runtime_label_smoothing,
    Norm_InPlaceOf<"z_loss">:$runtime_z_loss,
    Norm_InPlaceOf<"softcap">:$runtime_softcap
  );
  let usual = ["lse"];
  let assemblyFormat = [{
    $logits `labels` `(` $labels `:` type($labels) `)` `dloss` `(` $dloss `:` type($dloss) `)`
    (`lse` `(` $lse^ `:` type($lse) `)`)? (`weight` `(` $weight^ `:` type($weight) `)`)?
    (`label_smoothing` `(` $runtime_label_smoothing^ `)`)?
    (`z_loss` `(` $runtime_z_loss^ `)`)? (`softcap` `(` $runtime_softcap^ `)`)?
    attr-dict `:` type($logits) `->` type($dlogits)
  }];
  let hasVerifier = 1;
}

#endif // NORM_SOFTMAX_GRAD_OPS_TD
