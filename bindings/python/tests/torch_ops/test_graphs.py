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
    }


@pytest.mark.parametrize("name", cases())
# opcheck traces with functions that torch itself calls deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_ops_are_what_they_say(references, name):
    torch.library.opcheck(getattr(library, name), cases()[name])


def test_fake_tensors_of_a_gpu_need_none():
    with FakeTensorMode():
        x = torch.empty(2, 3, 8, device="cuda", dtype=torch.bfloat16)
        y = nt.rms_norm(x, (8,))
        assert (y.device.type, y.dtype, y.shape) == ("cuda", torch.bfloat16, x.shape)
        loss = nt.cross_entropy(x[0], torch.zeros(3, device="cuda", dtype=torch.int64))
        assert loss.shape == ()


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
