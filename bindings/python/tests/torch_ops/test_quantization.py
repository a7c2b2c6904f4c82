"""Compares quantization, and norms that are quantized, with sums over blocks that are written out."""

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import norma
import norma.torch as nt

E4M3, E5M2, E8M0 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu
E2M1 = torch.float4_e2m1fn_x2
#: The largest number of each type.
LIMITS = {E4M3: 448.0, E5M2: 57344.0, torch.int8: 127.0}


def each_block(shape, block):
    """The slices of the blocks of a matrix, with the place of each."""
    rows, columns = block[0] or shape[0], block[1] or shape[1]
    for i, row in enumerate(range(0, shape[0], rows)):
        for j, column in enumerate(range(0, shape[1], columns)):
            yield (i, j), (slice(row, row + rows), slice(column, column + columns))


def quantized(x, block, dtype, round_scale=lambda scale: scale.float()):
    """What a matrix is quantized to, and the scales of its blocks, with a dim for each of its own."""
    counts = [-(-extent // (size or extent)) for extent, size in zip(x.shape, block, strict=True)]
    q, scale = torch.empty(x.shape, dtype=dtype), torch.empty(counts)
    for place, at in each_block(x.shape, block):
        scale[place] = round_scale(x[at].double().abs().max() / LIMITS[dtype]).float()
        divided = x[at].double() / scale[place].double()
        q[at] = (divided.round() if dtype == torch.int8 else divided).clamp(-LIMITS[dtype], LIMITS[dtype]).to(dtype)
    return q, scale


def same(got, expected):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    assert torch.equal(got.double(), expected.double())


def up_to_a_power_of_two(scale):
    return 2.0 ** torch.ceil(torch.log2(scale))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("block", [(1, 0), (1, 32), (1, 128), (128, 128), (3, 16)])
@pytest.mark.parametrize("shape", [(5, 256), (1, 96), (130, 40), (300, 129)])
def test_blocks(references, path, dtype, block, shape):
    x = torch.randn(shape).to(dtype)
    q, scale = nt.quantize(x, block)
    expected_q, expected_scale = quantized(x, block, E4M3)
    same(q, expected_q)
    same(scale, expected_scale.squeeze(1) if block[1] == 0 else expected_scale)
    back = nt.dequantize(q, scale, block, torch.float32)
    # A float with 3 bits of mantissa is off by a sixteenth at most, or by half of the smallest one, 2^-9.
    largest = torch.empty(x.shape)
    for place, at in each_block(x.shape, block):
        largest[at] = expected_scale[place]
    assert ((back - x.float()).abs() <= x.float().abs() / 16 * 1.001 + largest * 2**-10).all()


@pytest.mark.parametrize("dtype", [E5M2, torch.int8])
def test_types(references, path, dtype):
    x = torch.randn(4, 96)
    q, scale = nt.quantize(x, (1, 32), dtype)
    expected_q, expected_scale = quantized(x, (1, 32), dtype)
    same(q, expected_q)
    same(scale, expected_scale)


@pytest.mark.parametrize("scale_dtype, options", [(E8M0, {}), (torch.float32, {"power_of_two": True})])
def test_scales_that_are_powers_of_two(references, path, scale_dtype, options):
    x = torch.randn(5, 100)
    q, scale = nt.quantize(x, (1, 32), scale_dtype=scale_dtype, **options)
    expected_q, expected_scale = quantized(x, (1, 32), E4M3, up_to_a_power_of_two)
    assert scale.dtype == scale_dtype and torch.equal(scale.float(), expected_scale)
    same(q, expected_q)
    _, low = nt.quantize(x, (1, 32), scale_dtype=scale_dtype, round_down=True, **options)
    largest = torch.stack([part.abs().amax(1) for part in x.split(32, 1)], 1)
    assert torch.equal(low.float(), 2.0 ** (torch.floor(torch.log2(largest)) - 8))


@pytest.mark.parametrize("scale_shape", [(), (1,)])
def test_a_scale_of_the_whole_tensor_is_given(references, path, scale_shape):
    x, scale = torch.randn(2, 3, 40, dtype=torch.bfloat16), torch.full(scale_shape, 0.01)
    q, returned = nt.quantize(x, (), scale=scale)
    assert returned is scale
    same(q, (x.double() / scale.double()).clamp(-448, 448).to(E4M3))
    same(nt.dequantize(q, scale, ()), (q.double() * scale.double()).to(torch.bfloat16))


def test_scales_of_blocks_may_be_given(references, path):
    for block, shape in (((1, 0), (2, 3)), ((1, 16), (2, 3, 3)), ((2, 16), (2, 2, 3))):
        x, scale = torch.randn(2, 3, 40), torch.rand(shape) + 0.5
        q, returned = nt.quantize(x, block, torch.int8, scale=scale)
        assert returned is scale
        wide = scale[..., None] if block[1] == 0 else scale.repeat_interleave(16, -1)[..., :40]
        wide = wide.repeat_interleave(2, 1)[:, :3] if block[0] == 2 else wide
        same(q, (x.double() / wide.double()).round().to(torch.int8))


@pytest.mark.parametrize(
    "shape, block",
    [
        *(
            (shape, block)
            for shape in ((2, 3, 40), (2, 2, 3, 40), (0, 40), (2, 0, 40))
            for block in ((1, 16), (2, 16), (1, 0))
        ),
        ((40,), (1, 16)),
        ((40,), (1, 0)),
    ],
)
def test_dims_before_rows(references, path, shape, block):
    x = torch.randn(shape)
    q, scale = nt.quantize(x, block)
    leading = (*shape[:-2], -(-shape[-2] // block[0])) if len(shape) > 1 else ()
    assert q.shape == x.shape and scale.shape == (*leading, *([3] if block[1] else []))
    if x.numel():
        matrices = x.view(-1, *shape[-2:]) if len(shape) > 1 else x.view(1, 1, 40)
        expected = [quantized(matrix, block, E4M3) for matrix in matrices]
        same(q, torch.stack([one for one, _ in expected]).view(shape))
        same(scale, torch.stack([one for _, one in expected]).view(scale.shape))
    back = nt.dequantize(q, scale, block, torch.float32)
    assert back.shape == x.shape and ((back - x).abs() <= x.abs() / 16 + 0.01).all()


@pytest.mark.parametrize(
    "shape, block",
    [
        *(
            (shape, block)
            for shape in ((6, 576), (2, 3, 576), (2, 2, 3, 576), (0, 576))
            for block in ((1, 128), (2, 128))
        ),
        ((576,), (1, 128)),
    ],
)
def test_column_major_scales_have_the_shape_of_linear_ones(references, path, shape, block):
    x = torch.randn(shape)
    q, scale = nt.quantize(x, block)
    other_q, other = nt.quantize(x, block, scale_layout="column_major")
    same(other_q, q)
    same(other, scale)
    if len(shape) > 1 and x.numel():
        assert other.stride()[-2:] == (1, scale[..., 0].numel() if block[0] == 1 else scale.shape[-2])
    same(nt.dequantize(q, other, block, scale_layout="column_major"), nt.dequantize(q, scale, block))
    same(nt.dequantize(q, scale, block, scale_layout="column_major"), nt.dequantize(q, scale, block))


def test_swizzled_scales(references, path):
    x = torch.randn(2, 75, 256)
    _, linear = nt.quantize(x, (1, 32), scale_dtype=E8M0)
    q, scale = nt.quantize(x, (1, 32), scale_dtype=E8M0, scale_layout="swizzled_128x4")
    assert scale.shape == (2, 2, 32, 4, 4) and scale.dtype == E8M0
    rows = linear.float().view(150, 8)
    for r in range(150):
        for c in range(8):
            assert scale[r // 128, c // 4, r % 32, r % 128 // 32, c % 4].float() == rows[r, c]
    same(
        nt.dequantize(q, scale, (1, 32), scale_layout="swizzled_128x4"),
        nt.dequantize(q, linear, (1, 32)),
    )


CODES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def unpacked(q):
    """The numbers of float4_e2m1fn_x2; the element of the even column is in the low bits."""
    bits = q.view(torch.uint8).long()
    codes = torch.stack([bits % 16, bits // 16], -1).flatten(-2)
    return torch.tensor(CODES)[codes % 8] * torch.where(codes < 8, 1.0, -1.0)


def test_floats_of_4_bits(references, path):
    # The scale of these is 1, and ties are rounded to the even code.
    x = torch.tensor([[6.0, -0.3, 0.25, 0.75, 1.2, -1.25, 2.5, 3.5, 5.0, -5.1, 0.0, 4.4, 1.75, 1.74, -2.0, 3.0]])
    q, scale = nt.quantize(x, (1, 16), E2M1)
    assert (q.dtype, q.shape, scale.tolist()) == (E2M1, (1, 8), [[1.0]])
    expected = [6.0, -0.5, 0.0, 1.0, 1.0, -1.0, 2.0, 4.0, 4.0, -6.0, 0.0, 4.0, 2.0, 1.5, -2.0, 3.0]
    assert unpacked(q).tolist() == [expected]
    assert nt.dequantize(q, scale, (1, 16), torch.float32).tolist() == [expected]


def test_nvfp4_and_mxfp4(references, path):
    x = torch.randn(2, 3, 64, dtype=torch.bfloat16)
    tensor_scale = x.float().abs().max() / (448 * 6)
    q, scale = nt.quantize(x, (1, 16), E2M1, scale_dtype=E4M3, tensor_scale=tensor_scale)
    assert (q.shape, scale.shape, scale.dtype) == ((2, 3, 32), (2, 3, 4), E4M3)
    largest = x.float().unflatten(-1, (4, 16)).abs().amax(-1)
    same(scale, (largest.double() / 6 / tensor_scale.double()).to(E4M3))
    factor = (scale.double() * tensor_scale.double()).repeat_interleave(16, -1)
    # Numbers below 6 have neighbours at most 2 apart; rounding the scale may saturate by a sixteenth.
    assert ((unpacked(q) * factor - x.double()).abs() <= factor * 1.001).all()
    back = nt.dequantize(q, scale, (1, 16), torch.float32, tensor_scale=tensor_scale)
    torch.testing.assert_close(back.double(), unpacked(q) * factor)
    q, scale = nt.quantize(x, (1, 32), E2M1, scale_dtype=E8M0, round_down=True)
    assert scale.shape == (2, 3, 2)
    largest = x.float().unflatten(-1, (2, 32)).abs().amax(-1)
    assert torch.equal(scale.float(), 2.0 ** (torch.floor(torch.log2(largest)) - 2))
    q, scale = nt.quantize(
        torch.randn(130, 128), (1, 16), E2M1, scale_dtype=E4M3, scale_layout="swizzled_128x4", tensor_scale=tensor_scale
    )
    assert (q.shape, scale.shape) == ((130, 64), (2, 2, 32, 4, 4))


def test_strides_are_made_dense(references, path):
    x = torch.randn(96, 6).t()
    q, scale = nt.quantize(x, (1, 32))
    same(q, quantized(x, (1, 32), E4M3)[0])
    turned = q.t().contiguous().t(), scale.t().contiguous().t()
    assert not any(tensor.is_contiguous() for tensor in turned)
    same(nt.dequantize(*turned, (1, 32)), nt.dequantize(q, scale, (1, 32)))


def test_a_kernel_serves_any_number_of_rows(references):
    x = torch.randn(700, 96)
    for rows in (1, 5, 700):
        nt.quantize(x[:rows], (1, 32))
        nt.quantize(x[:rows], (128, 32))
        nt.quantize(x[None, :rows], (128, 32))
        nt.add_rms_norm_quantize(x[:rows], x[:rows], (96,), block=(1, 32))
        nt.router(x[:rows], 4)
    assert [function.name for function in references] == ["quantize"] * 3 + ["add_rms_norm_quantize", "router"]


def normalized(x, weight, eps, offset=0.0):
    y = x.double() * (x.double().square().mean(-1, keepdim=True) + eps).rsqrt()
    return (y if weight is None else y * (weight.double() + offset)).float()


def close(q, scale, y, block):
    """Compares what was quantized with the rows, whose last bit may be another than that of the reference."""
    expected_q, expected_scale = quantized(y, block, E4M3)
    torch.testing.assert_close(scale, expected_scale.squeeze(1) if block[1] == 0 else expected_scale)
    off = (q.float() - expected_q.float()).abs()
    assert (off <= expected_q.float().abs() / 8 + 2**-9).all() and (off > 0).float().mean() < 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("block", [(1, 0), (1, 32), (1, 128)])
@pytest.mark.parametrize("output_dtype", [None, torch.bfloat16, torch.float32])
def test_rms_norm_quantize(references, path, dtype, block, output_dtype):
    x, weight = torch.randn(2, 3, 576).to(dtype), torch.randn(576).to(dtype)
    options = {"block": block, "output_dtype": output_dtype, "weight_offset": 1.0}
    q, scale, *y = nt.rms_norm_quantize(x, (576,), weight, 1e-5, **options)
    expected = normalized(x, weight, 1e-5, 1.0)
    assert q.shape == x.shape and scale.shape == (2, 3, *([-(-576 // block[1])] if block[1] else []))
    close(q.view(6, -1), scale.flatten(0, 1), expected.view(6, -1), block)
    assert len(y) == (output_dtype is not None)
    for each in y:
        assert each.dtype == output_dtype
        torch.testing.assert_close(each, expected.to(output_dtype))


@pytest.mark.parametrize("output_dtype", [None, torch.bfloat16])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_add_rms_norm_quantize(references, path, output_dtype, rows):
    x, residual = (torch.randint(-8, 8, (rows, 96)).bfloat16() for _ in range(2))
    weight = torch.randn(96)
    q, scale, h, *y = nt.add_rms_norm_quantize(
        x, residual, (96,), weight, 1e-5, block=(1, 32), output_dtype=output_dtype
    )
    same(h, x + residual)
    assert len(y) == (output_dtype is not None) and (q.shape, scale.shape) == ((rows, 96), (rows, 3))
    if rows:
        expected = normalized(h, weight, 1e-5)
        close(q, scale, expected, (1, 32))
        for each in y:
            torch.testing.assert_close(each, expected.to(output_dtype))


def test_norms_have_every_option_of_quantize(references, path):
    x, scale = torch.randn(2, 3, 4, 64), torch.tensor(0.02)
    y = nt.rms_norm(x, (4, 64)).double()
    q, returned = nt.rms_norm_quantize(x, (4, 64), block=(), scale=scale)
    assert returned is scale and q.shape == x.shape
    torch.testing.assert_close(q.double(), (y / scale.double()).clamp(-448, 448).to(E4M3).double())
    q, scale = nt.rms_norm_quantize(x, (4, 64), block=(1, 32), scale_dtype=E8M0, scale_layout="swizzled_128x4")
    assert (q.shape, scale.shape) == (x.shape, (1, 2, 32, 4, 4))
    q, scale, h = nt.add_rms_norm_quantize(
        x,
        x,
        (4, 64),
        block=(1, 16),
        dtype=E2M1,
        scale_dtype=E4M3,
        tensor_scale=torch.tensor(0.01),
        scale_layout="column_major",
    )
    assert (q.shape, q.dtype) == ((2, 3, 4, 32), E2M1) and (scale.shape, scale.stride()) == ((2, 3, 16), (3, 1, 6))
    same(h, x + x)
    q, scale = nt.rms_norm_quantize(x, (64,), block=(1, 0), dtype=torch.int8, power_of_two=True, round_down=True)
    assert (q.dtype, scale.shape) == (torch.int8, (2, 3, 4)) and torch.equal(
        torch.frexp(scale)[0], torch.full((2, 3, 4), 0.5)
    )


EACH = {
    "a row": {"block": (1, 0)},
    "blocks of 128": {"block": (1, 128)},
    "blocks of 128, column-major": {"block": (1, 128), "scale_layout": "column_major"},
    "the tensor": {"block": (), "scale": torch.ones(())},
    "mxfp8": {"block": (1, 32), "scale_dtype": E8M0},
    "mxfp4": {"block": (1, 32), "dtype": E2M1, "scale_dtype": E8M0, "round_down": True},
    "nvfp4": {
        "block": (1, 16),
        "dtype": E2M1,
        "scale_dtype": E4M3,
        "tensor_scale": torch.ones(()),
        "scale_layout": "swizzled_128x4",
    },
}


@pytest.mark.parametrize("options", EACH.values(), ids=EACH)
@pytest.mark.parametrize("columns", [576, 4096])
def test_norms_are_one_kernel(references, options, columns):
    x, weight = torch.randn(2, columns, dtype=torch.bfloat16), torch.randn(columns, dtype=torch.bfloat16)
    options = options | {"output_dtype": torch.bfloat16}
    nt.rms_norm_quantize(x, (columns,), weight, **options)
    nt.add_rms_norm_quantize(x, x, (columns,), weight, **options)
    assert [len(function.described["kernels"]) for function in references] == [1, 1]


@pytest.mark.parametrize("options", [*EACH.values(), {"block": (128, 128)}], ids=[*EACH, "squares"])
@pytest.mark.parametrize("columns", [576, 4096])
def test_quantization_is_one_kernel(references, options, columns):
    nt.quantize(torch.randn(2, columns, dtype=torch.bfloat16), **options)
    assert [len(function.described["kernels"]) for function in references] == [1]


X = torch.ones(3, 64)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: nt.quantize(X.double(), (1, 32)),
            "expected input to be float32, float16 or bfloat16, got torch.float64",
        ),
        (lambda: nt.quantize(X.to("meta"), (1, 32)), "expected input on a GPU, got it on meta"),
        (lambda: nt.quantize(X, 32), r"expected block to be \(\) or \(rows, columns\).*, got 32"),
        (lambda: nt.quantize(X, (1, 32.0)), r"expected block to be .*, got \(1, 32.0\)"),
        (lambda: nt.quantize(X, (1, 1, 32)), r"expected block to be .*, got \(1, 1, 32\)"),
        (lambda: nt.quantize(X, (0, 32)), r"expected block to be .*, got \(0, 32\)"),
        (lambda: nt.quantize(X, (1, -1)), r"expected block to be .*, got \(1, -1\)"),
        (lambda: nt.quantize(X[0], (2, 32)), r"expected at least 2 dims for blocks of 2 rows, got \(64,\)"),
        (lambda: nt.quantize(X[:, :0], (1, 32)), r"expected rows of at least one element, got \(3, 0\)"),
        (lambda: nt.quantize(X[0, 0], (1, 32)), r"expected rows of at least one element, got \(\)"),
        (lambda: nt.quantize(X, (1, 32), torch.uint8), "expected dtype to be torch.float8_e4m3fn, .*, got torch.uint8"),
        (
            lambda: nt.quantize(X, (1, 32), scale_dtype=torch.float16),
            "expected scale_dtype to be .*, got torch.float16",
        ),
        (lambda: nt.quantize(X, (1, 32), scale_layout="row"), "expected scale_layout to be 'linear', .*, got 'row'"),
        (lambda: nt.quantize(X, ()), "expected a scale for a block of the whole tensor, got none"),
        (lambda: nt.quantize(X, (), scale=X), r"expected scale to have shape \(\), got \(3, 64\)"),
        (lambda: nt.quantize(X, (1, 0), scale=X[0, :1]), r"expected scale to have shape \(3,\), got \(1,\)"),
        (lambda: nt.quantize(X, (), scale=X[0, 0].half()), "expected scale to be torch.float32, got torch.float16"),
        (lambda: nt.quantize(X, (), scale=X[0, 0].to("meta")), "expected scale on a GPU, got it on meta"),
        (lambda: nt.quantize(X, (), scale=X[0, 0], scale_dtype=E8M0), "only for scales that are computed, got"),
        (lambda: nt.quantize(X.view(3, 1, 1, 64), (2, 32), scale=X), r"expected scale to have shape \(3, 1, 1, 2\)"),
        (
            lambda: nt.quantize(X, (1, 32), tensor_scale=X[0, 0]),
            "expected scales of torch.float8_e4m3fn for tensor_scale",
        ),
        (
            lambda: nt.quantize(X, (1, 32), scale_dtype=E4M3, tensor_scale=X[0]),
            r"expected tensor_scale to have shape \(\), got \(64,\)",
        ),
        (
            lambda: nt.quantize(X, (1, 32), scale_dtype=E8M0, power_of_two=True),
            "expected scales of torch.float32 for power_of",
        ),
        (lambda: nt.quantize(X, (1, 32), round_down=True), "expected scales that are powers of two for round_down"),
        (lambda: nt.quantize(X[:, :63], (1, 32), E2M1), "expected rows and blocks of an even number of columns"),
        (lambda: nt.quantize(X, (1, 31), E2M1), "expected rows and blocks of an even number of columns"),
        (
            lambda: nt.quantize(X, (1, 0), scale_layout="column_major"),
            "expected blocks of several columns for scale_layout",
        ),
        (lambda: nt.quantize(X, (1, 32), scale_layout="swizzled_128x4"), "expected scales of 8 bits for scale_layout"),
        (
            lambda: nt.quantize(X, (2, 16), scale_dtype=E8M0, scale_layout="swizzled_128x4"),
            "expected blocks of 1 row for scale_layout",
        ),
        (
            lambda: nt.quantize(X, (1, 32), scale_dtype=E8M0, scale_layout="swizzled_128x4"),
            "expected a multiple of 4 blocks in a row, as padding is not written, got 2",
        ),
        (lambda: nt.quantize(X.clone().requires_grad_(), (1, 32)), "expected tensors without gradients"),
        (lambda: nt.dequantize(X, X, (1, 32)), "expected the type of input to be .*, got torch.float32"),
        (lambda: nt.dequantize(X.to(E4M3), X, (1, 32)), r"expected scale to have shape \(3, 2\), got \(3, 64\)"),
        (lambda: nt.dequantize(X.to(E4M3), X.half(), (1, 1)), "expected the type of scale to be .*, got torch.float16"),
        (
            lambda: nt.dequantize(X.to(E4M3), X[:, :2], (1, 32), E4M3),
            "expected dtype to be .*, got torch.float8_e4m3fn",
        ),
        (
            lambda: nt.dequantize(X.to(E4M3), X[:, :3], (1, 32), scale_layout="column_major"),
            r"expected scale to have shape \(3, 2\), got \(3, 3\)",
        ),
        (lambda: nt.dequantize(X.to(E4M3).to("meta"), X[:, :2], (1, 32)), "expected input on a GPU, got it on meta"),
        (lambda: nt.rms_norm_quantize(X, (63,), block=(1, 32)), r"expected input's last dims to be \(63,\)"),
        (lambda: nt.rms_norm_quantize(X, (64,), block=(2, 32)), "expected blocks of 1 row of what is normalized"),
        (lambda: nt.rms_norm_quantize(X, (64,), block=(1, 32), output_dtype=E4M3), "expected output_dtype to be"),
        (lambda: nt.rms_norm_quantize(X, (64,), X[0, :7], block=(1, 32)), r"expected weight to have shape \(64,\)"),
        (
            lambda: nt.rms_norm_quantize(X, (64,), torch.nn.Parameter(X[0]), block=(1, 0)),
            "expected tensors without gradients",
        ),
        (lambda: nt.add_rms_norm_quantize(X, X.half(), (64,), block=(1, 32)), "expected residual to be torch.float32"),
        (
            lambda: nt.rms_norm_quantize(torch.ones(3, 4, 3), (4, 3), block=(1, 4), dtype=E2M1),
            "expected a last dim of even extent",
        ),
    ],
)
def test_what_there_is_no_kernel_for_is_refused(references, path, call, message):
    with pytest.raises(norma.UnsupportedError, match=message):
        call()
    assert references == []


def test_parameters_are_quantized_where_no_gradients_are_recorded(references, path):
    x = torch.nn.Parameter(torch.randn(4, 64))
    with torch.no_grad():
        q, _ = nt.quantize(x, (1, 32))
    same(q, quantized(x.detach(), (1, 32), E4M3)[0])


def test_other_tensors_of_a_known_signature_are_refused(references):
    x, scale = torch.randn(4, 64), torch.ones(4)
    nt.quantize(x, (1, 0), scale=scale)
    for wrong in (scale[:3], scale.half(), torch.ones(4, 1)):
        with pytest.raises(norma.UnsupportedError, match="expected scale to"):
            nt.quantize(x, (1, 0), scale=wrong)
    assert json.dumps(references[0].described["inputs"]).count('"scale"') == 1


def test_a_norm_is_quantized_as_the_unfused_functions_do(references):
    x, residual, weight = torch.randn(4, 96), torch.randn(4, 96), torch.randn(96)
    y, h = nt.add_rms_norm(x, residual, (96,), weight, 1e-6)
    expected, expected_scale = nt.quantize(y, (1, 32))
    q, scale, fused = nt.add_rms_norm_quantize(x, residual, (96,), weight, 1e-6, block=(1, 32))
    same(q, expected)
    same(scale, expected_scale)
    same(fused, h)
    torch.testing.assert_close(y, F.rms_norm(x + residual, (96,), weight, 1e-6))


def test_the_example_of_the_book_runs(references):
    program = Path(__file__).parents[4] / "examples" / "python" / "quantized_norm.py"
    exec(compile(program.read_text().replace('"cuda"', '"cpu"'), program, "exec"), {})
    names = ["add_rms_norm_quantize", "dequantize", "rms_norm", "quantize", "quantize", "router"]
    assert [function.name for function in references] == names
