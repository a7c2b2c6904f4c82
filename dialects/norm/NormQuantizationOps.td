//===- NormQuantizationOps.td - scaling to few bits and back ----------------===//

#ifndef NORM_QUANTIZATION_OPS_TD
#define NORM_QUANTIZATION_OPS_TD

include "norm/NormOpBase.td"

/// For each axis of the first operand the number of neighbours that share a scale, 0 for all; if empty, all elements share one.
def Norm_Block : DefaultValuedAttr<DenseI64ArrayAttr, "{}">;

def Norm_QuantizeOp : Norm_NamedOp<"quantize", [AttrSizedOperandSegments, AttrSizedResultSegments]> {
  let summary = "Scaling to 8 or 4 bits";
  let description = [{
    `block` gives for each axis of `x` the number of neighbours that share a scale. 0 stands for all elements along the
    axis, which the scales then do not have; n gives the scales one element along the axis for each n neighbours, and
    one for those that are left at the end if n does not divide the extent: 576 elements have 5 blocks of 128, of which the
    last has 64.
    Without `block` the whole tensor has one scale. `array<i64: 1, 0>` gives each row one, `array<i64: 1, 32>` each 32
    neighbours of a row, `array<i64: 128, 128>` each square.

    Semantics, with n over the elements of a block and L the largest finite number of q's type, 448, 57344 or 127, or of e2m1, 6:

        amax  = max_n(abs(x))
        scale = static_scale, or max(amax / L, 2^-126) without it
        q     = x / scale

    With `power_of_two` the computed scale is a power of two, as a scale of f8E8M0FNU always is, whose bits are its
    biased exponent; a `scale` of i8 has these bits. It is rounded up, so that nothing saturates. With `round_down` it
    is the scale of the Microscaling Formats (OCP MX specification 1.0, section 6.3), with which the largest elements of
    a block may saturate:

        scale = max(2^(floor(log2(amax)) - floor(log2(L))), 2^-126)

    Blocks of 32 neighbours, `array<i64: 1, 32>`, are MXFP8's, and with `e2m1` MXFP4's; those of i8 are MXINT8's with the 2^-6 of its
    elements in the scale.

    A `scale` of f8E4M3FN is rounded to the nearest, saturates, and is at least 2^-9, the smallest positive number of
    that type; `q` is computed with the rounded scale. As the range of that type is short, `tensor_scale`, which all
    blocks share, multiplies it; without it that factor is 1:

        scale = max(amax / L / tensor_scale, 2^-9)
        q     = x / (scale * tensor_scale)

    Blocks of 16 neighbours, `array<i64: 1, 16>`, with `e2m1` and a `scale` of f8E4M3FN are NVFP4's, where `tensor_scale` is the largest
    magnitude of the tensor divided by 448 * 6.

    A computed scale that is not finite before it is rounded to its type becomes NaN, which is 255 in E8M0.

    q is rounded once, to the nearest, ties to even, and saturates: what is beyond the largest finite number becomes
    that, and i8 is between -128 and 127. NaN stays NaN, and becomes -128 in i8. Operands are widened to f32, in which
    all arithmetic is. `amax` may be asked for with a static scale too, as delayed scaling, by earlier maxima, needs it.

    With `e2m1` the numbers are floats of 4 bits, and each i8 of `q` holds two neighbours along the last axis, the one with the even
    coordinate in its low bits. Such a float has a sign, two bits of an exponent and one of a mantissa: 0, 0.5, 1, 1.5, 2, 3, 4 and 6 have
    the codes 0 to 7, and their negatives, -0 too, those from 8 on. It has neither infinities nor NaN; NaN becomes 6, as PTX converts
    it. `q` then has half as many elements along the last axis as `x`.

    `scale_layout` says where the result `scale` has the scale of row r and column c of blocks, the last two of the axes that
    it has R and C blocks along; axes before these are the same in every layout.

        linear           scale[..., r, c], of R x C
        column_major     scale[..., c, r], of C x R
        swizzled_128x4   scale[..., r / 128, c / 4, r mod 32, (r mod 128) / 32, c mod 4], of ceil(R / 128) x ceil(C / 4) x 32 x 4 x 4

    The last one is the order in which the matrix kernels of cuBLASLt and CUTLASS read the scales of MXFP8, MXFP4 and NVFP4
    (cuBLAS documentation, 1D block scaling factors layout): a tile of 128 rows and 4 columns is 512 contiguous bytes. Where
    R is no multiple of 128, or C none of 4, the last tiles have padding, which is not written: it holds what was in memory
    before. What reads whole tiles may need zeros there; memory that was set to zero once keeps them.

    Constraints:
    - C1: `block` is empty or has a number for each axis of `x`, none negative.
    - C2: `q` has the shape of `x`, with `e2m1` packed.
    - C3: either `static_scale` or the result `scale` is there.
    - C4: `static_scale`, `scale` and `amax` have the shape of the blocks of `x`, `scale` in its layout.
    - C5: `power_of_two` is given with a `scale` of f32 only.
    - C6: `round_down` is given with a `scale` that is a power of two.
    - C7: `e2m1` is given with a `q` of i8 only, and `x` has a last axis of a static, even extent, whose number in `block` is even.
    - C8: `tensor_scale` is one number, given with a `scale` of f8E4M3FN only.
    - C9: a `scale_layout` other than `linear` is given with a `scale` of at least two axes, and `swizzled_128x4` with one of 8 bits.

    Examples:

    ```mlir
    %q = norm.quantize %x static_scale(%s : tensor<f32>) : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN>
    %q, %s = norm.quantize %x {block = array<i64: 1, 32>, round_down}
             : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN> scale(tensor<?x128xf8E8M0FNU>)
    %q, %s = norm.quantize %x tensor_scale(%t : tensor<f32>) {block = array<i64: 1, 16>, e2m1}
             : tensor<?x4096xbf16> -> tensor<?x2048xi8> scale(tensor<?x256xf8E4M3FN>)
    %q, %s = norm.quantize %x scale_layout(swizzled_128x4) {block = array<i64: 1, 32>}
             : tensor<?x4096xbf16> -> tensor<?x4096xf8E4M3FN> scale(tensor<?x32x32x4x4xf8E8M0FNU>)
    ```
  }];
  let arguments = (ins
    Norm_UpToF32Tensor:$x,
    Optional<Norm_F32Tensor>:$static_scale,
    Optional<Norm_F32Tensor>:$tensor_scale,
    Norm_Block:$block,
    DefaultValuedAttr<Norm_ScaleLayout, "::mlir::norm::ScaleLayout::Linear">:$scale_layout,
    UnitAttr:$power_of_two,
    UnitAttr:$round_down,
    UnitAttr:$e2m1
  );
  let results = (outs Norm_QuantizedTensor:$q, Optional<Norm_BlockScaleTensor>:$scale, Optional<Norm_F32Tensor>:$amax);
  let shapes = (by_name
    Norm_Blocks<"block">:$static_scale,
    Norm_OneNumber:$tensor_scale,
    Norm_Packed<"e2m1">:$q,
    Norm_Scales<"block", "scale_layout">:$scale,
    Norm_Blocks<"block">:$amax
  );
  let usual = ["scale"];
  let assemblyFormat = [{
    $x (`static_scale` `(` $static_scale^ `:` type($static_scale) `)`)?
    (`tensor_scale` `(` $tensor_scale^ `:` type($tensor_scale) `)`)? (`scale_layout` `(` $scale_layout^ `)`)? attr-dict
    `:` type($x) `->` type($q) (`scale` `(` type($scale)^ `)`)? (`amax` `(` type($amax)^ `)`)?
  }];
  let hasVerifier = 1;
}

def Norm_DequantizeOp : Norm_NamedOp<"dequantize"> {
  let summary = "Scaling back from 8 or 4 bits";
  let description = [{
    Semantics, where `scale` has an element for each block of `y`, as `block` says in the words of `norm.quantize`:

        y = q * scale

    A `scale` of f8E8M0FNU, or of i8 as its bits s, is 2^(s - 127), and NaN for 255. One of f8E4M3FN may be multiplied by `tensor_scale`,
    which all blocks share:

        y = q * (scale * tensor_scale)

    `scale_layout` says where `scale` has the scale of a block, as it does for `norm.quantize`. Padding is not read.

    With `e2m1` each i8 of `q` holds two floats of 4 bits, as `norm.quantize` packs them, and `y` has twice as many elements along the
    last axis. Operands are widened to f32, in which products are, and the result is rounded once.

    Constraints:
    - C1: `block` is empty or has a number for each axis of `y`, none negative.
    - C2: `y` has the shape of `q`, with `e2m1` unpacked.
    - C3: `scale` has the shape of the blocks of `y`, in its layout.
    - C4: `e2m1` is given with a `q` of i8 only, which has a last axis of a static extent, whose number in `block` is even.
    - C5: `tensor_scale` is one number, given with a `scale` of f8E4M3FN only.
    - C6: a `scale_layout` other than `linear` is given for blocks along at least two axes, and `swizzled_128x4` with a `scale` of 8 bits.

    Examples:

    ```mlir
    %y = norm.dequantize %q scale(%s : tensor<?x32xf32>) {block = array<i64: 1, 128>} : tensor<?x4096xi8> -> tensor<?x4096xbf16>
    %y = norm.dequantize %q scale(%s : tensor<?x256xf8E4M3FN>) tensor_scale(%t : tensor<f32>) {block = array<i64: 1, 16>, e2m1}
         : tensor<?x2048xi8> -> tensor<?x4096xbf16>
    ```
  }];
  let arguments = (ins
    Norm_QuantizedTensor:$q,
    Norm_BlockScaleTensor:$scale,
    Optional<Norm_F32Tensor>:$tensor_scale,
    Norm_Block:$block,
    DefaultValuedAttr<Norm_ScaleLayout, "::mlir::norm::ScaleLayout::Linear">:$scale_layout,
    UnitAttr:$e2m1
  );
  let results = (outs Norm_UpToF32Tensor:$y);
  let shapes = (by_name
    Norm_Scales<"block", "scale_layout", "e2m1">:$scale,
    Norm_OneNumber:$tensor_scale,
    Norm_Unpacked<"e2m1">:$y
  );
  let assemblyFormat = [{
    $q `scale` `(` $scale `:` type($scale) `)` (`tensor_scale` `(` $tensor_scale^ `:` type($tensor_scale) `)`)?
    (`scale_layout` `(` $scale_layout^ `)`)? attr-dict `:` type($q) `->` type($y)
  }];
  let hasVerifier = 1;
}

#endif // NORM_QUANTIZATION_OPS_TD
