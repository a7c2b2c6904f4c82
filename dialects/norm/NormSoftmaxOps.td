//===- NormSoftmaxOps.td - softmax and its relatives -----------------------===//

#ifndef NORM_SOFTMAX_OPS_TD
#define NORM_SOFTMAX_OPS_TD

include "norm/NormOpBase.td"

/// An op on logits along some axes.
class Norm_OfLogitsOp<string mnemonic> : Norm_NamedOp<mnemonic, [AttrSizedOperandSegments]> {
  let arguments = (ins
    Norm_UpToF32Tensor:$x,
    Optional<Norm_UpToF32Tensor>:$mask,
    Optional<Norm_TruthTensor>:$keep,
    Optional<Norm_LabelTensor>:$lengths,
    Optional<Norm_RuntimeNumber>:$runtime_scale,
    Optional<Norm_RuntimeNumber>:$runtime_softcap,
    Norm_Axes:$axes,
    Norm_Number<"1.0">:$scale,
    Norm_Number<"0.0">:$softcap,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$causal
  );
  let results = (outs Norm_UpToF32Tensor:$y);
  let shapes = (by_name
    Norm_OtherAxes<"axes">:$lengths,
    Norm_InPlaceOf<"scale">:$runtime_scale,
    Norm_InPlaceOf<"softcap">:$runtime_softcap
  );
  let assemblyFormat = [{
    $x (`mask` `(` $mask^ `:` type($mask) `)`)? (`keep` `(` $keep^ `:` type($keep) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)? (`scale` `(` $runtime_scale^ `)`)?
    (`softcap` `(` $runtime_softcap^ `)`)? attr-dict `:` type($x) `->` type($y)
  }];
  let hasVerifier = 1;
}

def Norm_SoftmaxOp : Norm_OfLogitsOp<"softmax"> {
  let summary = "Softmax";
  let description = [{
    The logits s are formed from `x` in this order, each step if it is asked for:

        s = x * scale
        s = softcap * tanh(s / softcap)       unless softcap is 0
        s = s + mask                          a number for each element, or one for several: as NumPy broadcasts
        s = -inf where keep is 0              likewise
        s = -inf where k > q                  causal: q and k are the indices along the two axes that `causal` names
        s = -inf where n >= lengths           n is the index along the axis: elements from there on do not exist, and their y is 0

    `scale` and `softcap` may be numbers that each call sets, such as a temperature's reciprocal: the operands `runtime_scale` and
    `runtime_softcap`, which `scale(...)` and `softcap(...)` take, stand for the attributes then, and nothing checks them.

    Semantics, with n over the `axes` of `x`:

        y = exp(s - max_n(s)) / sum_n(exp(s - max_n(s)))

    Operands are widened to f32, in which all arithmetic is, and the result is rounded once. The sum may be taken in any order.
    As in PyTorch, NaN or +Inf among the logits that share a sum make all of them NaN, and so does -Inf in all of them, as where
    all are masked; else -Inf gives 0.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `mask` and `keep` broadcast to `x`: aligned at the last axis, each of their axes is as long as that of `x`, or 1.
    - C3: `y` has the shape of `x`.
    - C4: `scale` is finite, and `softcap` is finite and not negative.
    - C5: `causal` names no axis or two different ones of `x`; negative ones count from the end.
    - C6: `lengths` has the shape of the other axes of `x`, and `axes` then names one axis.
    - C7: `scale` has its default where `runtime_scale` is there, and `softcap` where `runtime_softcap` is.

    Examples, of attention scores and of logits whose temperature each call sets:

    ```mlir
    %p = norm.softmax %s {scale = 0.125 : f32, causal = array<i64: -2, -1>}
         : tensor<?x16x1024x1024xbf16> -> tensor<?x16x1024x1024xbf16>
    %q = norm.softmax %x scale(%t) : tensor<?x32000xbf16> -> tensor<?x32000xbf16>
    ```
  }];
}

def Norm_LogSoftmaxOp : Norm_OfLogitsOp<"log_softmax"> {
  let summary = "Logarithm of softmax";
  let description = [{
    Semantics, with n over the `axes` of `x`, and the logits s formed as in `norm.softmax`:

        y = (s - max_n(s)) - log(sum_n(exp(s - max_n(s))))

    Types are as in `norm.softmax`. NaN or +Inf among the logits that share a sum make all of them NaN, and so does -Inf in all of
    them; else -Inf gives -Inf.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `mask` and `keep` broadcast to `x`: aligned at the last axis, each of their axes is as long as that of `x`, or 1.
    - C3: `y` has the shape of `x`.
    - C4: `scale` is finite, and `softcap` is finite and not negative.
    - C5: `causal` names no axis or two different ones of `x`; negative ones count from the end.
    - C6: `lengths` has the shape of the other axes of `x`, and `axes` then names one axis.
    - C7: `scale` has its default where `runtime_scale` is there, and `softcap` where `runtime_softcap` is.

    Example: `%y = norm.log_softmax %x : tensor<?x1000xbf16> -> tensor<?x1000xf32>`
  }];
}

def Norm_LogSumExpOp : Norm_OfLogitsOp<"logsumexp"> {
  let summary = "Logarithm of the sum of exponentials";
  let description = [{
    Semantics, with n over the `axes` of `x`, and the logits s formed as in `norm.softmax`:

        y = max_n(s) + log(sum_n(exp(s - max_n(s))))

    and y = max_n(s) where that is infinite, as in PyTorch: -Inf of logits that are all -Inf, and of none at all. Types are as in
    `norm.softmax`. NaN among the logits that share a sum makes it NaN.

    Constraints:
    - C1: `axes` names at least one axis of `x`, none twice; negative ones count from the end.
    - C2: `mask` and `keep` broadcast to `x`: aligned at the last axis, each of their axes is as long as that of `x`, or 1.
    - C3: `y` has the shape of the other axes of `x`.
    - C4: `scale` is finite, and `softcap` is finite and not negative.
    - C5: `causal` names no axis or two different ones of `x`; negative ones count from the end.
    - C6: `lengths` has the shape of the other axes of `x`, and `axes` then names one axis.
    - C7: `scale` has its default where `runtime_scale` is there, and `softcap` where `runtime_softcap` is.

    Example: `%y = norm.logsumexp %x {softcap = 30.0 : f32} : tensor<?x32000xbf16> -> tensor<?xf32>`
  }];
  let shapes = (by_name
    Norm_OtherAxes<"axes">:$lengths,
    Norm_InPlaceOf<"scale">:$runtime_scale,
    Norm_InPlaceOf<"softcap">:$runtime_softcap,
    Norm_OtherAxes<"axes">:$y
  );
}

#endif // NORM_SOFTMAX_OPS_TD
