#!/usr/bin/env python3
"""Compares norma with torch on a GPU: run `python gpu_check.py` without arguments; the last line is `N passed, N failed`.

Results and gradients are compared with torch's in float64. A float16 or bfloat16 result is rounded once, from arithmetic in float32, so
its error may be up to TOLERANCE units in the last place of its type at the largest element; a float32 result may also differ by the
effect of summing in another order.
"""

import os
import runpy
import sys
import threading
import traceback
from pathlib import Path

import torch
import torch.nn.functional as F

import norma
import norma.torch as nt

FLOATS = (torch.float32, torch.float16, torch.bfloat16)
#: Relative to the largest element, in units in the last place of the type; a sum in float32 is rounded many times.
TOLERANCE = {torch.float32: 64.0, torch.float16: 4.0, torch.bfloat16: 4.0}
WIDTHS = (64, 100, 1024, 4096, 4095, 8192)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def draw(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(shape, device="cuda") * scale).to(dtype)


def close(got, expected, what):
    assert got.shape == expected.shape, f"{what}: expected shape {tuple(expected.shape)}, got {tuple(got.shape)}"
    got, expected, unit = got.double(), expected.double(), torch.finfo(got.dtype).eps * TOLERANCE[got.dtype]
    if got.numel() == 0:
        return
    error = (got - expected).abs().max().item()
    bound = unit * max(expected.abs().max().item(), 1e-3)
    assert error <= bound, f"{what}: off by {error:.3g}, expected at most {bound:.3g}"


def compare(ours, theirs, inputs, what):
    """Compares values and gradients of two functions of the same inputs."""
    mine = [x.detach().clone().requires_grad_() for x in inputs]
    wide = [x.detach().double().requires_grad_() for x in inputs]
    got, expected = ours(*mine), theirs(*wide)
    if isinstance(got, torch.Tensor):
        got, expected = (got,), (expected,)
    for index, (one, other) in enumerate(zip(got, expected, strict=True)):
        close(one, other, f"{what}, result {index}")
    grads = [draw(*one.shape, dtype=one.dtype) for one in got]
    torch.autograd.backward(got, grads)
    torch.autograd.backward(expected, [grad.double() for grad in grads])
    for index, (one, other) in enumerate(zip(mine, wide, strict=True)):
        close(one.grad, other.grad, f"{what}, gradient {index}")


@check
def rms_norm():
    for dtype in FLOATS:
        for width in WIDTHS:
            for rows in (1, 37, 1000):
                inputs = draw(rows, width, dtype=dtype), draw(width, dtype=dtype)
                compare(
                    lambda x, w: nt.rms_norm(x, (width,), w, 1e-5),
                    lambda x, w: F.rms_norm(x, (width,), w, 1e-5),
                    inputs,
                    f"rms_norm {dtype} {rows}x{width}",
                )
    x = draw(2, 3, 16, 32)
    compare(lambda x: nt.rms_norm(x, (16, 32), None, 1e-5), lambda x: F.rms_norm(x, (16, 32), None, 1e-5), (x,), "dims")


@check
def add_rms_norm():
    for dtype in FLOATS:
        # Sums of small integers are exact, so float64 gives the same ones.
        x, residual = (torch.randint(-8, 8, (3, 50, 4096), device="cuda").to(dtype) for _ in range(2))

        def theirs(x, residual, weight):
            h = x + residual
            return F.rms_norm(h, (4096,), weight, 1e-5), h

        inputs = x, residual, draw(4096, dtype=dtype)
        compare(lambda x, r, w: nt.add_rms_norm(x, r, (4096,), w, 1e-5), theirs, inputs, f"add_rms_norm {dtype}")


@check
def layer_norm():
    for dtype in FLOATS:
        for width in WIDTHS:
            inputs = draw(200, width, dtype=dtype), draw(width, dtype=dtype), draw(width, dtype=dtype)
            compare(
                lambda x, w, b: nt.layer_norm(x, (width,), w, b),
                lambda x, w, b: F.layer_norm(x, (width,), w, b),
                inputs,
                f"layer_norm {dtype} {width}",
            )


@check
def softmax_and_its_logarithm():
    for name in ("softmax", "log_softmax"):
        for dtype in FLOATS:
            for shape, dim in (((200, 1000), -1), ((4, 4095), 1), ((5, 33, 70), 1), ((9, 128), 0)):
                compare(
                    lambda x: getattr(nt, name)(x, dim=dim),
                    lambda x: getattr(F, name)(x, dim=dim),
                    (draw(*shape, dtype=dtype, scale=3.0),),
                    f"{name} {dtype} {shape} along {dim}",
                )


@check
def cross_entropy():
    for dtype in FLOATS:
        for shape in ((300, 1000), (64, 32000), (8, 50, 7)):
            rows = (shape[0], *shape[2:])
            target = torch.randint(0, shape[1], rows, device="cuda")
            target.view(-1)[::5] = -100
            for options in ({}, {"reduction": "none"}, {"reduction": "sum", "label_smoothing": 0.1}):
                compare(
                    lambda x: nt.cross_entropy(x, target, **options),
                    lambda x: F.cross_entropy(x, target, **options),
                    (draw(*shape, dtype=dtype, scale=2.0),),
                    f"cross_entropy {dtype} {shape} {options}",
                )


def of_blocks(x, block):
    """The largest magnitudes of the blocks of a matrix, and what spreads a number of each block over its elements."""
    (rows, columns), (r, c) = x.shape, (block[0], block[1] or x.shape[1])
    wide = F.pad(x.double().abs(), (0, -columns % c, 0, -rows % r))
    amax = (
        wide.unflatten(0, (-1, r)).unflatten(-1, (-1, c)).amax((1, 3)) if rows else wide.new_empty(0, -(-columns // c))
    )
    return amax, lambda of: of.double().repeat_interleave(r, 0)[:rows].repeat_interleave(c, 1)[:, :columns]


#: The largest finite number of each type, its largest relative error, and half of its smallest positive number.
QUANTIZED = {
    torch.float8_e4m3fn: (448.0, 2**-4, 2**-10),
    torch.float8_e5m2: (57344.0, 2**-3, 2**-17),
    torch.int8: (127.0, 0.0, 0.5),
}


def quantized_well(q, scale, x, block, what, expected_scale=None):
    """Whether q times scale is as close to the rows x, in float64, as the type allows; x may itself have an error of some ulp."""
    limit, relative, absolute = QUANTIZED[q.dtype]
    amax, spread = of_blocks(x, block)
    expected_scale = (amax / limit).clamp(min=2.0**-126) if expected_scale is None else expected_scale(amax, limit)
    scale = scale.view(expected_scale.shape)
    assert scale.is_cuda and q.shape == x.shape, f"{what}: expected {tuple(x.shape)}, got {tuple(q.shape)}"
    torch.testing.assert_close(scale.double(), expected_scale, rtol=1e-5, atol=0.0, msg=lambda text: f"{what}: {text}")
    error = (q.double() * spread(scale) - x.double()).abs()
    bound = x.double().abs() * (relative + 1e-5) + spread(scale) * (absolute + limit * 1e-5)
    assert (error <= bound).all(), f"{what}: off by up to {(error - bound).max().item():.3g} more than rounding"


def powers_of_two(amax, limit):
    return 2.0 ** torch.ceil(torch.log2(amax / limit))


@check
def quantization():
    for dtype in FLOATS:
        for rows, columns in ((1, 4096), (300, 576), (129, 100), (0, 256), (37, 7168)):
            x = draw(rows, columns, dtype=dtype)
            for block in ((1, 0), (1, 32), (1, 128), (128, 128)):
                for to in QUANTIZED:
                    what = f"quantize {dtype} {rows}x{columns} in {block} to {to}"
                    q, scale = nt.quantize(x, block, to)
                    assert scale.dtype == torch.float32 and q.dtype == to, what
                    quantized_well(q, scale, x, block, what)
                    back = nt.dequantize(q, scale, block, torch.float32)
                    _, spread = of_blocks(x, block)
                    close(back, q.double() * spread(scale.view(of_blocks(x, block)[0].shape)), f"{what}, and back")
                q, scale = nt.quantize(x, block, scale_dtype=torch.float8_e8m0fnu)
                quantized_well(q, scale, x, block, f"E8M0 {dtype} {rows}x{columns} in {block}", powers_of_two)
                if block[1]:
                    other, columns_first = nt.quantize(x, block, scale_layout="column_major")
                    q, scale = nt.quantize(x, block)
                    assert torch.equal(columns_first, scale) and torch.equal(other.double(), q.double())
                    back = nt.dequantize(q, columns_first, block, scale_layout="column_major")
                    assert torch.equal(back, nt.dequantize(q, scale, block)), "column-major scales"
    x, scale = draw(4, 5, 576, dtype=torch.bfloat16), torch.tensor(0.01, device="cuda")
    q, _ = nt.quantize(x, (), scale=scale)
    expected = (x.double() / scale.double()).clamp(-448, 448)
    assert ((q.double() - expected).abs() <= expected.abs() / 16 + 2**-10).all(), "a given scale"
    weights = draw(3, 200, 300)
    q, scale = nt.quantize(weights, (128, 128))
    for index in range(3):
        quantized_well(q[index], scale[index], weights[index], (128, 128), "matrices of a batch")
    assert torch.equal(nt.dequantize(q, scale, (128, 128))[2], nt.dequantize(q[2], scale[2], (128, 128)))


@check
def four_bits_and_swizzled_scales():
    values = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], device="cuda", dtype=torch.float64)
    for rows in (1, 130, 300):
        x = draw(rows, 1024, dtype=torch.bfloat16)
        tensor_scale = x.float().abs().max() / (448 * 6)
        for block, scale_dtype, options in (
            ((1, 16), torch.float8_e4m3fn, {"tensor_scale": tensor_scale}),
            ((1, 32), torch.float8_e8m0fnu, {"round_down": True}),
        ):
            what, factor = f"{scale_dtype} of {rows} rows", options.get("tensor_scale", torch.ones((), device="cuda"))
            q, scale = nt.quantize(x, block, torch.float4_e2m1fn_x2, scale_dtype=scale_dtype, **options)
            bits = q.view(torch.uint8).long()
            codes = torch.stack([bits % 16, bits // 16], -1).flatten(-2)
            numbers = values[codes % 8] * torch.where(codes < 8, 1.0, -1.0)
            _, spread = of_blocks(x, block)
            step = spread(scale) * factor.double()
            # Neighbours are at most 2 apart, and scales that are rounded down saturate what is between 6 and 8.
            bound = 2.001 if "round_down" in options else 1.001
            assert ((numbers * step - x.double()).abs() <= bound * step).all(), what
            given = {name: value for name, value in options.items() if name == "tensor_scale"}
            close(nt.dequantize(q, scale, block, torch.float32, **given), numbers * step, f"{what}, and back")
            other, swizzled = nt.quantize(
                x, block, torch.float4_e2m1fn_x2, scale_dtype=scale_dtype, scale_layout="swizzled_128x4", **options
            )
            assert torch.equal(other.view(torch.uint8), q.view(torch.uint8)), what
            plain = swizzled.view(torch.uint8).permute(0, 3, 2, 1, 4).reshape(-1, scale.shape[1])[:rows]
            assert torch.equal(plain, scale.view(torch.uint8)), f"swizzled scales of {what}"
            back = nt.dequantize(other, swizzled, block, scale_layout="swizzled_128x4", **given)
            assert torch.equal(back, nt.dequantize(q, scale, block, **given)), f"swizzled scales of {what}, and back"


@check
def quantized_norms():
    for dtype in FLOATS:
        for rows, columns in ((1, 4096), (300, 576), (37, 100), (64, 7168), (0, 512)):
            x, residual = (torch.randint(-8, 8, (rows, columns), device="cuda").to(dtype) for _ in range(2))
            weight = draw(columns, dtype=dtype)
            expected = F.rms_norm((x + residual).double(), (columns,), weight.double(), 1e-5)
            for block in ((1, 0), (1, 32), (1, 128)):
                what = f"add_rms_norm_quantize {dtype} {rows}x{columns} in {block}"
                q, scale, h, y = nt.add_rms_norm_quantize(
                    x, residual, (columns,), weight, 1e-5, block=block, output_dtype=torch.bfloat16
                )
                assert torch.equal(h, x + residual), what
                close(y, expected, what)
                quantized_well(q, scale, expected, block, what)
                q, scale = nt.rms_norm_quantize(h, (columns,), weight, 1e-5, block=block)
                quantized_well(q, scale, expected, block, f"{what}, without the sum")
            given = torch.tensor(0.02, device="cuda")
            q, _, h = nt.add_rms_norm_quantize(x, residual, (columns,), weight, 1e-5, block=(), scale=given)
            wanted = (expected / given.double()).clamp(-448, 448)
            assert ((q.double() - wanted).abs() <= wanted.abs() * (2**-4 + 1e-5) + 2**-9).all(), (
                f"a given scale, {dtype}"
            )


@check
def routers():
    for dtype in FLOATS:
        for tokens, experts, k in ((1, 8, 2), (1000, 128, 8), (333, 256, 8), (64, 384, 6), (0, 16, 4), (50, 60, 60)):
            logits, bias = draw(tokens, experts, dtype=dtype), draw(experts, scale=0.1)
            for scoring in ("softmax", "sigmoid"):
                for with_bias in (False, True):
                    for renormalize, scale in ((True, 1.0), (True, 2.5), (False, 1.0)):
                        what = f"router {dtype} {tokens}x{experts}, {k} by {scoring}, bias {with_bias}, {renormalize}"
                        options = {"scoring": scoring, "renormalize": renormalize, "scale": scale}
                        weights, places = nt.router(logits, k, bias=bias if with_bias else None, **options)
                        scores = getattr(torch, scoring)(logits.double(), *((-1,) if scoring == "softmax" else ()))
                        chosen = scores + bias.double() if with_bias else scores
                        # Of scores that differ by a rounding either may come first.
                        found = chosen.gather(-1, places.long())
                        torch.testing.assert_close(found, torch.topk(chosen, k).values, rtol=1e-5, atol=1e-6)
                        ordered = places.sort(-1).values
                        assert (ordered.diff(dim=-1) > 0).all(), f"{what}: an expert is chosen twice"
                        wanted = scores.gather(-1, places.long())
                        wanted = wanted / wanted.sum(-1, keepdim=True) if renormalize else wanted
                        torch.testing.assert_close(weights.double(), wanted * scale, rtol=1e-4, atol=1e-6)


@check
def quantization_in_graphs():
    weight, bias = draw(1024, dtype=torch.bfloat16), draw(1024)

    def model(x):
        q, scale, h = nt.add_rms_norm_quantize(x, x, (1024,), weight, 1e-5, block=(1, 128), scale_layout="column_major")
        back = nt.dequantize(q, scale, (1, 128), scale_layout="column_major")
        return (back, h, *nt.router(h, 8, scoring="sigmoid", bias=bias))

    compiled = torch.compile(model, fullgraph=True)
    for rows in (16, 33, 70):
        x = draw(rows, 1024, dtype=torch.bfloat16)
        for index, (got, expected) in enumerate(zip(compiled(x), model(x), strict=True)):
            assert torch.equal(got, expected), f"torch.compile differs from a call in result {index}"
    x = draw(64, 1024, dtype=torch.bfloat16)
    model(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = model(x)
    x.copy_(draw(64, 1024, dtype=torch.bfloat16))
    graph.replay()
    for index, (got, expected) in enumerate(zip(captured, model(x), strict=True)):
        assert torch.equal(got, expected), f"a replay differs from a call in result {index}"


@check
def empty_tensors():
    x = draw(0, 4096).requires_grad_()
    weight = draw(4096).requires_grad_()
    nt.rms_norm(x, (4096,), weight).sum().backward()
    torch.cuda.synchronize()
    assert x.grad.shape == (0, 4096) and not weight.grad.any(), "a weight's gradient over no rows is zero"
    assert nt.softmax(draw(0, 100), -1).shape == (0, 100)


@check
def strides_and_alignment():
    x = draw(64, 2 * 4096, dtype=torch.bfloat16)[:, 4096:]
    close(nt.rms_norm(x, (4096,), eps=1e-5), F.rms_norm(x.double(), (4096,), eps=1e-5), "rows apart")
    x = draw(64 * 4096 + 1, dtype=torch.bfloat16)[1:].view(64, 4096)
    close(nt.rms_norm(x, (4096,), eps=1e-5), F.rms_norm(x.double(), (4096,), eps=1e-5), "rows that are not aligned")


@check
def compiled_graphs():
    weight = draw(4096, dtype=torch.bfloat16)

    def model(x, weight):
        y = nt.rms_norm(x * 2, (4096,), weight, 1e-5)
        return nt.softmax(y + 1, -1).float().square().sum()

    compiled = torch.compile(model, fullgraph=True)
    for rows in (16, 33, 70):
        x = draw(rows, 4096, dtype=torch.bfloat16)
        mine, wide = x.clone().requires_grad_(), x.clone().requires_grad_()
        got, expected = compiled(mine, weight), model(wide, weight)
        torch.testing.assert_close(got, expected, rtol=1e-2, atol=1e-5)
        got.backward()
        expected.backward()
        torch.testing.assert_close(mine.grad, wide.grad, rtol=5e-2, atol=1e-5)


@check
def cuda_graphs():
    x, weight = (
        draw(512, 4096, dtype=torch.bfloat16).requires_grad_(),
        draw(4096, dtype=torch.bfloat16).requires_grad_(),
    )
    grad = draw(512, 4096, dtype=torch.bfloat16)

    def step():
        y = nt.rms_norm(x, (4096,), weight, 1e-5)
        return (y, *torch.autograd.grad(y, (x, weight), grad))

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for _ in range(3):
        with torch.no_grad():
            x.copy_(draw(512, 4096, dtype=torch.bfloat16))
        graph.replay()
        for index, (got, expected) in enumerate(zip(captured, step(), strict=True)):
            assert torch.equal(got, expected), f"a replay differs from a call in result {index}"
    # A function that was never called before is loaded while a stream is captured.
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        nt.layer_norm(x.detach(), (4096,))


@check
def streams_and_threads():
    inputs = [draw(2048, 4096) for _ in range(4)]
    expected = [F.rms_norm(x, (4096,), eps=1e-5) for x in inputs]
    torch.cuda.synchronize()
    results = [None] * len(inputs)

    def work(index):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(50):
                results[index] = nt.rms_norm(inputs[index], (4096,), eps=1e-5)
            torch.cuda.current_stream().synchronize()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for got, wanted in zip(results, expected, strict=True):
        close(got, wanted, "a stream's result")
    # This compiles the function before the sleep, which is shorter than a compilation.
    nt.softmax(inputs[0], -1)
    # A kernel waits for earlier work of its own stream, not of the default stream.
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        y = nt.softmax(inputs[0], -1)
        assert not stream.query(), "expected the kernel to wait on its stream"
    stream.synchronize()
    close(y, F.softmax(inputs[0], -1), "softmax behind a sleep")


@check
def bundles_take_tensors_of_torch():
    source = """
    func.func @scale(%x: tensor<?x4096xf32> {norm.name = "x"}, %w: tensor<4096xf32> {norm.name = "w"})
        -> (tensor<?x4096xf32> {norm.name = "y"}) {
      %y = norm.rms_norm %x weight(%w : tensor<4096xf32>) : tensor<?x4096xf32> -> tensor<?x4096xf32>
      return %y : tensor<?x4096xf32>
    }
    """
    function = norma.compile(source)["scale"]
    x, w = draw(100, 4096), draw(4096)
    expected = F.rms_norm(x.double(), (4096,), w.double(), 1e-6)
    close(function(x, w), expected, "a new output")
    out = torch.empty_like(x)
    assert function(x, w=w, out=out) is out
    close(out, expected, "a given output")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    y = function(x, w, stream=stream)
    stream.synchronize()
    close(y, expected, "another stream")


@check
def wrong_tensors_are_refused():
    x, weight = draw(8, 4096), draw(4096)
    function = norma.compile(
        'func.func @f(%x: tensor<?x4096xf32> {norm.name = "x"}) -> (tensor<?x4096xf32> {norm.name = "y"}) {\n'
        "  %y = norm.rms_norm %x : tensor<?x4096xf32> -> tensor<?x4096xf32>\n  return %y : tensor<?x4096xf32>\n}\n"
    )["f"]
    for call, kind, text in (
        (lambda: function(x.bfloat16()), norma.ArgumentError, "expected 'x' to be of type f32, got bf16"),
        (lambda: function(x.cpu()), norma.ArgumentError, "expected 'x' to be in the memory of a GPU"),
        (lambda: function(x[:, :100]), norma.ArgumentError, "expected dim 1 of 'x' to be 4096, got 100"),
        (lambda: function(x.t()), norma.ArgumentError, "'x'"),
        (lambda: function(x, out=x[:4]), norma.ArgumentError, "expected dim 0 of 'y'"),
        (lambda: function(x, out=x), norma.ArgumentError, "expected output 'y' not to overlap 'x'"),
        (lambda: nt.rms_norm(x.cpu(), (4096,)), norma.UnsupportedError, "expected input on a GPU, got it on cpu"),
        (lambda: nt.rms_norm(x, (4096,), weight.double()), norma.UnsupportedError, "expected weight to be"),
        (lambda: nt.softmax(x.double(), -1), norma.UnsupportedError, "expected input to be float32"),
    ):
        try:
            call()
        except kind as error:
            assert text in str(error), f"expected a message with {text!r}, got {error!s}"
        else:
            raise AssertionError(f"expected {kind.__name__} about {text!r}")
    torch.cuda.synchronize()


@check
def replacement_and_modules():
    x = draw(32, 1024, dtype=torch.bfloat16)
    model = torch.nn.Sequential(torch.nn.LayerNorm(1024), torch.nn.Linear(1024, 64), torch.nn.Softmax(-1))
    model = model.to("cuda", torch.bfloat16)
    expected = model(x)
    with nt.replace(fallback=False):
        close(model(x), expected, "a model")
    module = nt.RMSNorm(1024, eps=1e-5, device="cuda", dtype=torch.bfloat16)
    close(module(x), F.rms_norm(x.double(), (1024,), eps=1e-5), "a module")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert nt.layer_norm(x, (1024,)).dtype == F.layer_norm(x, (1024,)).dtype == torch.float32


@check
def examples():
    """Runs the programs that README and the book show; this script must lie in its repository."""
    repository = Path(__file__).resolve().parents[3]
    os.chdir(repository)
    for name in ("rms_norm.py", "quantized_norm.py"):
        program = repository / "examples" / "python" / name
        assert program.exists(), f"expected {program}, which this script is run beside"
        runpy.run_path(str(program))


def main():
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, target {norma.target_of_device()}")
    failed = 0
    for function in CHECKS:
        try:
            function()
            torch.cuda.synchronize()
            print(f"ok      {function.__name__}", flush=True)
        except Exception:  # A failing check must not prevent the others from running.
            failed += 1
            print(f"FAILED  {function.__name__}", flush=True)
            traceback.print_exc(limit=4)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
