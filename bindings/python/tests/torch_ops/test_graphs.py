"""What tracers see: results of fake tensors, schemas, and whole ops in compiled graphs."""

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

import norma.torch as nt
from norma.torch import library


def cases():
    x, weight, labels = torch.randn(4, 6), torch.randn(6), torch.tensor([1, 2, 3, 4])
    rstd, lse = torch.rsqrt(x.square().mean(-1) + 1e-6), torch.logsumexp(x, -1)
    mean = x.mean(-1)
    centred = torch.rsqrt((x - mean[:, None]).square().mean(-1) + 1e-6)
    x_, weight_ = x.clone().requires_grad_(), weight.clone().requires_grad_()
    options = -100, 0.0, 0.0, 0.0
    total = torch.tensor(4.0)
    e4m3, e8m0, e2m1, f32 = torch.float8_e4m3fn, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2, torch.float32
    wide, one = torch.randn(2, 3, 128), torch.ones(())
    return {
        "rms_norm": (x_, weight_, 1, 1e-6, 0.0, None),
        "add_rms_norm": (x_, x.clone().requires_grad_(), weight_, 1, 1e-6, 0.0, None),
        "rms_norm_grad": (x, x, weight, rstd, None, 1, 1e-6, 0.0, True),
        "layer_norm": (x_, weight_, weight.clone().requires_grad_(), 1, 1e-6, None),
        "layer_norm_grad": (x, x, weight, mean, centred, 1, 1e-6, torch.float32, None),
        "softmax": (x_, 1, None),
        "log_softmax": (x_, 0, None),
        "softmax_grad": (x, x.softmax(-1), 1, torch.float32),
        "log_softmax_grad": (x, x.log_softmax(-1), 1, torch.float32),
        "top_k": (x_, 3),
        "top_k_grad": (torch.randn(4, 3), torch.tensor([[0, 5, 2]] * 4), 6, torch.bfloat16),
        "cross_entropy": (x_, labels, None, "mean", None, *options),
        "cross_entropy_grad": (torch.ones(()), x, labels, lse, total, None, "mean", *options),
        "quantize": (x, None, None, [1, 4], e4m3, f32, "linear", False, False),
        "quantize of rows": (wide, None, None, [1, 0], torch.int8, f32, "linear", True, True),
        "quantize of squares": (wide, None, None, [2, 100], e4m3, f32, "column_major", False, False),
        "quantize of columns": (wide, None, None, [1, 100], e4m3, f32, "column_major", False, False),
        "quantize of a tensor": (wide, one, None, [], e4m3, f32, "linear", False, False),
        "quantize to 4 bits": (wide, None, one, [1, 16], e2m1, e4m3, "linear", False, False),
        "dequantize": (x.to(e4m3), torch.ones(4, 2), None, [1, 4], "linear", torch.bfloat16),
        "dequantize from squares": (wide.to(e4m3), torch.ones(2, 2, 2).to(e8m0), None, [2, 100], "column_major", f32),
        "dequantize from 4 bits": (wide.to(torch.int8).view(e2m1), torch.ones(2, 3, 8), None, [1, 32], "linear", f32),
        "rms_norm_quantize": (
            x,
            None,
            weight,
            None,
            None,
            1,
            1e-6,
            0.0,
            [1, 4],
            e4m3,
            f32,
            "linear",
            False,
            False,
            None,
        ),
        "rms_norm_quantize of a sum": (
            *(wide, wide, None, None, None, 2, 1e-6, 0.0),
            *([1, 100], e4m3, f32, "column_major", False, False, torch.bfloat16),
        ),
        "rms_norm_quantize with a scale": (
            *(wide, wide, None, one, None, 1, 1e-6, 0.0),
            *([], e4m3, f32, "linear", False, False, None),
        ),
        "router": (x, weight, 3, "sigmoid", True, 2.5),
    }


OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.mark.parametrize("name", cases())
# opcheck traces with functions that torch itself calls deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_ops_are_what_they_say(references, name):
    # torch does not compute with numbers of 8 bits, as its test of schemas does with inputs.
    is_wide = all(tensor.dtype.itemsize > 1 for tensor in cases()[name] if isinstance(tensor, torch.Tensor))
    utils = [util for util in OPCHECKS if is_wide or util != "test_schema"]
    torch.library.opcheck(getattr(library, name.split()[0]), cases()[name], test_utils=utils)


def test_fake_tensors_of_a_gpu_need_none():
    with FakeTensorMode():
        x = torch.empty(2, 3, 8, device="cuda", dtype=torch.bfloat16)
        y = nt.rms_norm(x, (8,))
        assert (y.device.type, y.dtype, y.shape) == ("cuda", torch.bfloat16, x.shape)
        loss = nt.cross_entropy(x[0], torch.zeros(3, device="cuda", dtype=torch.int64))
        assert loss.shape == ()
        q, scale, h, y = nt.add_rms_norm_quantize(
            x, x, (8,), block=(1, 3), scale_layout="column_major", output_dtype=torch.float32
        )
        assert (q.device.type, q.dtype, q.shape) == ("cuda", torch.float8_e4m3fn, x.shape)
        assert (scale.shape, scale.stride(), h.dtype, y.dtype) == ((2, 3, 3), (3, 1, 6), x.dtype, torch.float32)
        assert nt.dequantize(q, scale, (1, 3), scale_layout="column_major").shape == x.shape
        q, scale = nt.quantize(
            torch.empty(130, 64, device="cuda"),
            (1, 16),
            torch.float4_e2m1fn_x2,
            scale_dtype=torch.float8_e8m0fnu,
            scale_layout="swizzled_128x4",
        )
        assert (q.shape, scale.shape) == ((130, 32), (2, 1, 32, 4, 4))
        weights, experts = nt.router(x, 3)
        assert (weights.dtype, experts.dtype, weights.shape, experts.shape) == (
            *(torch.float32, torch.int32),
            *((2, 3, 3), (2, 3, 3)),
        )


def graph_of(function, *inputs):
    """The graphs into which torch.compile compiles a function, forward and backward, and the function's result."""
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    from torch._dynamo.backends.common import aot_autograd

    torch._dynamo.reset()
    compiled = torch.compile(function, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep), fullgraph=True)
    result = compiled(*inputs)
    return graphs, result


def ops(graph):
    return [str(node.target) for node in graph.graph.nodes if "norma" in str(node.target)]


@pytest.mark.filterwarnings("ignore")
def test_compiled_graphs_keep_ops_whole(references):
    x = torch.randn(3, 8, requires_grad=True)
    weight = torch.randn(8, requires_grad=True)

    def model(x, weight):
        y = F.rms_norm(x, (8,), weight, 1e-6) * 2
        return F.softmax(y, -1)

    with nt.replace():
        graphs, result = graph_of(model, x, weight)
    torch.testing.assert_close(result, model(x, weight))
    result.square().sum().backward()
    forward, backward = graphs
    assert ops(forward) == ["norma.rms_norm.default", "norma.softmax.default"]
    assert ops(backward) == ["norma.softmax_grad.default", "norma.rms_norm_grad.default"]
    compiled = x.grad.clone()
    x.grad = None
    with nt.replace():
        model(x, weight).square().sum().backward()
    torch.testing.assert_close(compiled, x.grad)


@pytest.mark.filterwarnings("ignore")
def test_dynamic_shapes_are_one_graph(references):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: nt.rms_norm(x, (8,)), backend="aot_eager", dynamic=True, fullgraph=True)
    for rows in (3, 5, 9):
        x = torch.randn(rows, 8)
        torch.testing.assert_close(compiled(x), nt.rms_norm(x, (8,)))
    assert len(references) == 2


@pytest.mark.filterwarnings("ignore")
def test_quantization_of_dynamic_shapes_is_one_graph(references):
    def model(x, weight):
        q, scale, h = nt.add_rms_norm_quantize(x, x, (96,), weight, 1e-6, block=(1, 64), scale_layout="column_major")
        square, scales = nt.quantize(h, (2, 64))
        weights, experts = nt.router(h, 4, scoring="sigmoid")
        back = nt.dequantize(q, scale, (1, 64), torch.float32, scale_layout="column_major")
        return back + nt.dequantize(square, scales, (2, 64), torch.float32), weights, experts

    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager", dynamic=True, fullgraph=True)
    weight = torch.randn(96)
    for rows in (3, 6, 9):
        x = torch.randn(rows, 96)
        for got, expected in zip(compiled(x, weight), model(x, weight), strict=True):
            torch.testing.assert_close(got, expected)
    assert len(references) == 5
