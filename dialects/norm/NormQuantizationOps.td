//===- NormQuantizationOps.td - scaling to few bits and back ----------------===//

#ifndef NORM_QUANTIZATION_OPS_TD
#define NORM_QUANTIZATION_OPS_TD

include "norm/NormOpBase.td"

/// For each axis of the first operand how many neighbours share a scale, 0 for all; empty, all elements share one.
def Norm_Block : DefaultValuedAttr<DenseI64ArrayAttr, "{}">;

def Norm_QuantizeOp : Norm_NamedOp<"quantize", [AttrSizedResultSegments]> {
  let summary = "Scaling to 8 bits";
  let description = [{
    `block` says for each axis of `x` how many neighbours share a scale: 0 for all along the axis, which is then no axis of the
    scales, and n for each n of them, which make one element of the scales' axis. Without `block` the whole tensor has one scale.
    `array<i64: 1, 0>` gives each row one, `array<i64: 1, 32>` each 32 neighbours of a row, `array<i64: 128, 128>` each square.

    Semantics, with n over the elements of a block and L the largest finite number of q's type, 448, 57344 or 127:

        amax  = max_n(abs(x))
        scale = static_scale, or max(amax / L, 2^-126) without it
        q     = x / scale

    With `power_of_two` the computed scale is a power of two, as one of f8E8M0FNU always is, whose bits are its biased exponent; a
    `scale` of i8 has these bits. It is rounded up, so that nothing saturates. With `round_down` it is that of the Microscaling Formats
    (OCP MX specification 1.0, section 6.3), of which the largest elements of a block may saturate:

        scale = max(2^(floor(log2(amax)) - floor(log2(L))), 2^-126)

    Blocks of 32 neighbours, `array<i64: 1, 32>`, are MXFP8's; those of i8 are MXINT8's with the 2^-6 of its elements in the scale.
    Where a computed scale is no finite number it is NaN, in E8M0 255.

    q is rounded once, to the nearest, ties to even, and saturates: what is beyond the largest finite number becomes that, and i8 is
    between -128 and 127. NaN stays NaN, and becomes -128 in i8. Operands are widened to f32, in which all arithmetic is.
    `amax`, if asked for, is there with a static scale too, as scaling by earlier maxima needs it.

    Constraints:
    - C1: `block` is empty or has a number for each axis of `x`, none negative; those above 1 divide a static extent.
    - C2: `q` has the shape of `x`.
    - C3: either `static_scale` or the result `scale` is there.
    - C4: `static_scale`, `scale` and `amax` have the shape of the blocks of `x`.
    - C5: `power_of_two` is given with a `scale` of f32 only.
    - C6: `round_down` is given with a `scale` that is a power of two.

    Examples:

    ```mlir
    %q = norm.quantize %x static_scale(%s : tensor<f32>) : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>
    %q, %s = norm.quantize %x {block = array<i64: 1, 32>, round_down}
             : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN> scale(tensor<?x128xf8E8M0FNU>)
    ```
  }];
  let arguments = (ins
    Norm_UpToF32Tensor:$x,
    Optional<Norm_F32Tensor>:$static_scale,
    Norm_Block:$block,
    UnitAttr:$power_of_two,
    UnitAttr:$round_down
  );
  let results = (outs Norm_QuantizedTensor:$q, Optional<Norm_BlockScaleTensor>:$scale, Optional<Norm_F32Tensor>:$amax);
  let shapes = (by_name
    Norm_Blocks<"block">:$static_scale,
    Norm_Blocks<"block">:$scale,
    Norm_Blocks<"block">:$amax
  );
  let usual = ["scale"];
  let assemblyFormat = [{
    $x (`static_scale` `(` $static_scale^ `:` type($static_scale) `)`)? attr-dict
    `:` type($x) `->` type($q) (`scale` `(` type($scale)^ `)`)? (`amax` `(` type($amax)^ `)`)?
  }];
  let hasVerifier = 1;
}

def Norm_DequantizeOp : Norm_NamedOp<"dequantize"> {
  let summary = "Scaling back from 8 bits";
  let description = [{
    Semantics, where `scale` has an element for each block of `q`, as `block` says in the words of `norm.quantize`:

        y = q * scale

    A `scale` of f8E8M0FNU, or of i8 as its bits s, is 2^(s - 127), and NaN for 255. Operands are widened to f32, in which the product is, and the
    result is rounded once.

    Constraints:
    - C1: `block` is empty or has a number for each axis of `q`, none negative; those above 1 divide a static extent.
    - C2: `y` has the shape of `q`.
    - C3: `scale` has the shape of the blocks of `q`.

    Example:

    ```mlir
    %y = norm.dequantize %q scale(%s : tensor<?x32xf32>) {block = array<i64: 1, 128>} : tensor<?x4096xi8> -> tensor<?x4096xbf16>
    ```
  }];
  let arguments = (ins Norm_QuantizedTensor:$q, Norm_BlockScaleTensor:$scale, Norm_Block:$block);
  let results = (outs Norm_UpToF32Tensor:$y);
  let shapes = (by_name Norm_Blocks<"block">:$scale);
  let assemblyFormat = "$q `scale` `(` $scale `:` type($scale) `)` attr-dict `:` type($q) `->` type($y)";
  let hasVerifier = 1;
}

#endif // NORM_QUANTIZATION_OPS_TD
