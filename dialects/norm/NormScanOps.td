//===- NormScanOps.td - scans along an axis -----------------------------------===//

#ifndef NORM_SCAN_OPS_TD
#define NORM_SCAN_OPS_TD

include "norm/NormOpBase.td"

def Norm_CumsumOp : Norm_NamedOp<"cumsum"> {
  let summary = "Cumulative sum along an axis";
  let description = [{
    Semantics, with i and j along the `axis` of `x`:

    ```
    y_i = sum_{j <= i}(x_j)        y_i = sum_{j < i}(x_j)   with exclusive
    y_i = sum_{j >= i}(x_j)        y_i = sum_{j > i}(x_j)   with reverse, and with exclusive as well
    ```

    Sums may be taken in any order of additions that keeps the order of the elements. An infinity or NaN is in every sum that it is
    part of, and in no other.

    Floats are widened to f32, or to f64 where `x` or `y` is of f64, in which all arithmetic is. Integers are widened to the type of
    `y`, in which arithmetic wraps. Each element is rounded once, to the type of `y`.

    Constraints:
    - C1: `axis` is an axis of `x`; a negative one counts from the end.
    - C2: `y` has the shape of `x`.
    - C3: `y` is of floats where `x` is, and of integers, no narrower than those of `x`, where `x` is of those.

    Examples:

    ```mlir
    %y = norm.cumsum %x : tensor<?x4096xbf16> -> tensor<?x4096xf32>
    %offsets = norm.cumsum %lengths {exclusive, axis = 0} : tensor<?xi32> -> tensor<?xi32>
    ```
  }];
  let arguments = (ins Norm_NumberTensor:$x, DefaultValuedAttr<I64Attr, "-1">:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Norm_NumberTensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($y)";
  let hasVerifier = 1;
}

#endif // NORM_SCAN_OPS_TD
