//===- NormReductionOps.td - reductions over axes ---------------------------===//

#ifndef NORM_REDUCTION_OPS_TD
#define NORM_REDUCTION_OPS_TD

include "norm/NormOpBase.td"

def Norm_ReduceAxesOp : Norm_NamedOp<"reduce_axes"> {
  let summary = "Reduction over some axes";
  let description = [{
    Semantics, with n over the `axes` of `x` and N their number of elements:

    | kind | y | over no elements |
    |---|---|---|
    | `sum` | sum_n(x) | 0 |
    | `mean` | sum_n(x) / N | NaN |
    | `prod` | prod_n(x) | 1 |
    | `max`, `min` | the largest, the smallest x | -Inf, +Inf; of integers the smallest, the largest number |
    | `amax` | the largest abs(x) | -Inf; of integers the smallest number |
    | `sum_sq` | sum_n(x^2) | 0 |
    | `norm` | sqrt(sum_n(x^2)) | 0 |
    | `var` | sum_n((x - mean)^2) / max(N - correction, 0) | NaN |
    | `any`, `all` | whether some, whether every x is not 0; NaN is not | false, true |
    | `argmax`, `argmin` | where the first largest, the first smallest x is | the largest number |

    `mean`, if asked for beside `var`, is sum_n(x) / N. With `keepdims` the named axes stay, with one element each; without, they
    are gone. Where `axes` names none, each element is reduced alone, as NumPy has it: its sum is itself. Sums and products may be
    taken in any order. `max`, `min` and `amax` are NaN if any x is, and put +0 above -0; `argmax` and `argmin` are where the first NaN is, and 0 and -0 tie.
    Over several axes, the place is an index in their row-major order, whatever the order of `axes`: over all axes it is NumPy's
    `argmax` without an axis.

    Floats are widened to f32, or to f64 where `x` or a result is of f64, in which all arithmetic is. Integers are widened to the
    type of `y`, in which arithmetic wraps. Each result is rounded once, to its own type.

    Constraints:
    - C1: `axes` names axes of `x`, none twice; negative ones count from the end.
    - C2: `y` and `mean` have the shape of the other axes of `x`; with `keepdims` that of `x` with 1 for the named axes.
    - C3: `y` is of integers for `argmax` and `argmin`, i32 or i64; of i1 or i8, as truth, for `any` and `all`; else of floats where
      `x` is, and of integers, no narrower than those of `x`, where `x` is of those.
    - C4: `mean`, `sum_sq`, `norm` and `var` take floats, and only `any` and `all` take i1.
    - C5: `argmax` and `argmin` of i32 are over less than 2^31 elements, as far as their number is known.
    - C6: only `var` has the result `mean` and a `correction` other than 0, which is not negative.

    Examples:

    ```mlir
    %sum = norm.reduce_axes sum %x : tensor<?x4096xbf16> -> tensor<?xf32>
    %place = norm.reduce_axes argmax %x {keepdims} : tensor<?x4096xbf16> -> tensor<?x1xi32>
    %var, %mean = norm.reduce_axes var %x {axes = array<i64: 0>, correction = 1} : tensor<?x64xf32> -> tensor<64xf32> mean(tensor<64xf32>)
    ```
  }];
  let arguments = (ins
    Norm_AxisReduction:$kind,
    Norm_ReducibleTensor:$x,
    Norm_Axes:$axes,
    UnitAttr:$keepdims,
    DefaultValuedAttr<I64Attr, "0">:$correction
  );
  let results = (outs Norm_ReducibleTensor:$y, Optional<Norm_FloatTensor>:$mean);
  let shapes = (by_name Norm_OtherAxes<"axes", "keepdims">:$y, Norm_OtherAxes<"axes", "keepdims">:$mean);
  let assemblyFormat = "$kind $x attr-dict `:` type($x) `->` type($y) (`mean` `(` type($mean)^ `)`)?";
  let hasVerifier = 1;
}

def Norm_TopKOp : Norm_NamedOp<"top_k"> {
  let summary = "The largest of each row, sorted";
  let description = [{
    Semantics: of the elements of each row along `axis` the k first in this order: NaN before all numbers, larger before smaller, and
    of equal ones, as 0 and -0 are, the one with the smaller index. This is PyTorch's `topk`, which leaves the order of equal ones open.

        values[j]  = the j-th of them
        indices[j] = its index along the axis

    Nothing is rounded. A NaN among the values may be any NaN, and a zero is +0. If a row, of a size that only a run
    knows, has less than k elements, the values behind them are -Inf, of integers the smallest number, and the indices
    the largest number.

    The elements are found one after the other, each by a pass over the row, so that the running time grows with k, and
    the program does not. The gradient is `norm.top_k_grad`.

    Constraints:
    - C1: `axis` is an axis of `x`; a negative one counts from the end.
    - C2: `k` is between 1 and 128, and no more than a static number of elements along `axis`, of which there are less than 2^31.
    - C3: `values` and `indices` have the shape of `x` with `k` elements along `axis`.
    - C4: `values` is of the element type of `x`.

    Example, of the experts that a router chooses:

    ```mlir
    %v, %i = norm.top_k %x {k = 8 : i64} : tensor<?x128xbf16> -> tensor<?x8xbf16>, tensor<?x8xi32>
    ```
  }];
  let arguments = (ins Norm_SortableTensor:$x, I64Attr:$k, DefaultValuedAttr<I64Attr, "-1">:$axis);
  let results = (outs Norm_SortableTensor:$values, Norm_LabelTensor:$indices);
  let shapes = (by_name Norm_AxisOf<"axis", "k">:$values, Norm_AxisOf<"axis", "k">:$indices);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

def Norm_TopKGradOp : Norm_NamedOp<"top_k_grad"> {
  let summary = "Gradient of the largest of each row";
  let description = [{
    `indices` is the result of `norm.top_k`, or any other indices along `axis`, and `dvalues` the gradient of a loss
    with respect to the elements taken from there; `dx` is the gradient with respect to the rows, which have `elements`
    elements. Semantics, with j over the axis:

        dx[n] = sum_j(indices[j] == n ? dvalues[j] : 0)

    So `dx` is 0 where nothing was taken from. An index outside of the row, as those behind the end of a short row are,
    counts nowhere. Operands are widened to f32, in which sums are, taken in any order, and the result is rounded once.
    NaN and Inf reach the element of their index alone.

    Constraints:
    - C1: `axis` is an axis of `dvalues`; a negative one counts from the end.
    - C2: `elements` is between 1 and 2^31 - 1.
    - C3: `indices` has the shape of `dvalues`, and `dx` has it with `elements` elements along `axis`.

    Example:

    ```mlir
    %dx = norm.top_k_grad %dv indices(%i : tensor<?x8xi32>) {elements = 128 : i64} : tensor<?x8xbf16> -> tensor<?x128xbf16>
    ```
  }];
  let arguments = (ins
    Norm_UpToF32Tensor:$dvalues,
    Norm_LabelTensor:$indices,
    I64Attr:$elements,
    DefaultValuedAttr<I64Attr, "-1">:$axis
  );
  let results = (outs Norm_UpToF32Tensor:$dx);
  let shapes = (by_name Norm_AxisOf<"axis", "elements">:$dx);
  let assemblyFormat = [{
    $dvalues `indices` `(` $indices `:` type($indices) `)` attr-dict `:` type($dvalues) `->` type($dx)
  }];
  let hasVerifier = 1;
}

#endif // NORM_REDUCTION_OPS_TD
