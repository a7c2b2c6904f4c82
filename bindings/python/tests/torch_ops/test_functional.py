"""Compares the replacements of torch's functions with torch's: values and gradients, in eager mode and in graphs."""

import math

import pytest
import torch
import torch.nn.functional as F

import norma
import norma.torch as nt

FLOATS = [torch.float32, torch.float16, torch.bfloat16]


LABELS = torch.tensor([1, 2, 3])


class Special(torch.Tensor):
    """A subclass, which may have rules of its own for torch's functions."""


def draw(*shape, dtype=torch.float32, scale=1.0, offset=0.0):
    return (torch.randn(*shape) * scale + offset).to(dtype)


def check(ours, theirs, inputs, out_grads=1):
    """Compares the results of two functions of `inputs`, and their gradients; `theirs` is evaluated in float64."""
    ours_in = [x.detach().clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    wide_in = [x.detach().double().requires_grad_() if x.is_floating_point() else x for x in inputs]
    ours_out, wide_out = ours(*ours_in), theirs(*wide_in)
    if isinstance(ours_out, torch.Tensor):
        ours_out, wide_out = (ours_out,), (wide_out,)
    for got, expected in zip(ours_out, wide_out, strict=True):
        assert got.shape == expected.shape
        torch.testing.assert_close(got.double(), expected, **tolerance(got.dtype))
    grads = [torch.randn(got.shape).to(got.dtype) for got in ours_out]
    torch.autograd.backward(ours_out, grads)
    torch.autograd.backward(wide_out, [grad.double() for grad in grads])
    for got, expected in zip(ours_in, wide_in, strict=True):
        if got.is_floating_point():
            assert got.grad.dtype == got.dtype and got.grad.shape == got.shape
            torch.testing.assert_close(got.grad.double(), expected.grad, **tolerance(got.dtype))


def tolerance(dtype):
    # A result is rounded once; sums of rounded results, such as a weight's gradient, have an error of a few roundings more.
    unit = torch.finfo(dtype).eps
    return {"rtol": 4 * unit, "atol": 8 * unit}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape, normalized", [((3, 40), (40,)), ((2, 3, 4, 5), (4, 5)), ((7,), (7,)), ((0, 8), (8,))])
def test_rms_norm(references, path, dtype, shape, normalized):
    x, weight = draw(*shape, dtype=dtype), draw(*normalized, dtype=dtype)
    check(
        lambda x, w: nt.rms_norm(x, normalized, w, 1e-5),
        lambda x, w: F.rms_norm(x, normalized, w, 1e-5),
        (x, weight),
    )
    assert [function.name for function in references] == ["rms_norm", "rms_norm_grad"]


def test_rms_norm_options(references, path):
    x, weight = draw(5, 12, scale=1e-3), draw(12, dtype=torch.bfloat16)
    check(lambda x: nt.rms_norm(x, (12,)), lambda x: F.rms_norm(x, (12,), None, torch.finfo(torch.float32).eps), (x,))
    check(
        lambda x, w: nt.rms_norm(x, [12], w, 1e-2, weight_offset=1.0),
        lambda x, w: F.rms_norm(x, [12], w + 1, 1e-2),
        (x, weight),
    )
    torch.testing.assert_close(nt.rms_norm(x.bfloat16(), (12,)), F.rms_norm(x.bfloat16(), (12,)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_add_rms_norm(references, path, dtype):
    # Sums of small integers are exact, so float64 gives the same ones.
    x, residual = (torch.randint(-8, 8, (2, 3, 16)).to(dtype) for _ in range(2))
    weight = draw(16, dtype=dtype)

    def theirs(x, residual, weight):
        h = x + residual
        return F.rms_norm(h, (16,), weight, 1e-5), h

    check(lambda x, r, w: nt.add_rms_norm(x, r, (16,), w, 1e-5), theirs, (x, residual, weight))


def test_add_rms_norm_passes_on_a_gradient_of_the_sum_alone(references, path):
    x, residual = (draw(3, 16).requires_grad_() for _ in range(2))
    _, h = nt.add_rms_norm(x, residual, (16,))
    h.sum().backward()
    assert torch.equal(x.grad, torch.ones(3, 16)) and torch.equal(residual.grad, x.grad)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("has_weight, has_bias", [(True, True), (True, False), (False, False), (False, True)])
def test_layer_norm(references, path, dtype, has_weight, has_bias):
    inputs = [draw(4, 3, 24, dtype=dtype, offset=2.0)]
    inputs += [draw(24, dtype=dtype) for has in (has_weight, has_bias) if has]

    def call(function):
        def called(x, *rest):
            rest = list(rest)
            weight = rest.pop(0) if has_weight else None
            return function(x, (24,), weight, rest.pop(0) if has_bias else None, 1e-5)

        return called

    check(call(nt.layer_norm), call(F.layer_norm), inputs)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    "shape, dim", [((3, 10), -1), ((2, 5, 7), 1), ((6, 4), 0), ((9,), 0), ((2, 0, 4), 2), ((3, 4, 1), 1)]
)
def test_softmax(references, path, name, dtype, shape, dim):
    check(
        lambda x: getattr(nt, name)(x, dim=dim),
        lambda x: getattr(F, name)(x, dim=dim),
        (draw(*shape, dtype=dtype, scale=3.0),),
    )


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_to_another_type(references, path, name):
    x = draw(4, 30, dtype=torch.bfloat16)
    for dtype in FLOATS:
        ours, theirs = (getattr(module, name)(x, -1, dtype=dtype) for module in (nt, F))
        torch.testing.assert_close(ours, theirs)
    wide = x.clone().requires_grad_()
    getattr(nt, name)(wide, -1, dtype=torch.float32).square().sum().backward()
    assert wide.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("shape", [(6, 11), (2, 11, 3), (11,)])
@pytest.mark.parametrize("weighted, smoothing", [(False, 0.0), (True, 0.0), (True, 0.2), (False, 0.1)])
def test_cross_entropy(references, path, reduction, shape, weighted, smoothing):
    logits = draw(*shape, scale=3.0)
    target = torch.randint(0, 11, (shape[0], *shape[2:]) if len(shape) > 1 else ())
    if len(shape) > 1:
        target.view(-1)[1] = 5
    weight = torch.rand(11) + 0.5 if weighted else None
    options = {"reduction": reduction, "label_smoothing": smoothing, "ignore_index": 5}
    check(
        lambda x: nt.cross_entropy(x, target, weight, **options),
        lambda x: F.cross_entropy(x, target, None if weight is None else weight.double(), **options),
        (logits,),
    )


def test_cross_entropy_has_the_logits_type(references, path):
    logits = draw(4, 9, dtype=torch.bfloat16)
    target = torch.tensor([0, 1, 2, -100], dtype=torch.int64)
    assert nt.cross_entropy(logits, target).dtype == torch.bfloat16
    assert nt.cross_entropy(logits[:0], target[:0]).isnan()


def test_z_loss_and_softcap(references, path):
    target = torch.tensor([3, 0, 8])

    def theirs(x):
        s = 5 * torch.tanh(x / 5)
        return (F.cross_entropy(s, target, reduction="none") + 0.1 * torch.logsumexp(s, 1) ** 2).mean()

    check(lambda x: nt.cross_entropy(x, target, z_loss=0.1, softcap=5.0), theirs, (draw(3, 9, scale=4.0),))


def test_gradients_that_are_not_wanted_are_not_computed(references, path):
    x, weight = draw(3, 8).requires_grad_(), draw(8)
    nt.rms_norm(x, (8,), weight).sum().backward()
    nt.layer_norm(x, (8,), weight, draw(8)).sum().backward()
    outputs = [[tensor["name"] for tensor in function.described["outputs"]] for function in references]
    assert outputs == [["y", "rstd"], ["dx"], ["y", "mean", "rstd"], ["dx"]]
    with torch.no_grad():
        nt.rms_norm(x, (8,), weight)
    expected = ["y"] if path == "eager" else ["y", "rstd"]
    assert [tensor["name"] for tensor in references[-1 if path == "eager" else 0].described["outputs"]] == expected


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape, k, dim", [((5, 40), 8, -1), ((2, 3, 7), 7, 2), ((6, 4, 5), 3, 1), ((9,), 1, 0), ((0, 8), 2, -1)]
)
def test_top_k(references, path, dtype, shape, k, dim):
    # No two elements of a row are equal, because torch may select either of equal ones.
    x = torch.rand(shape).argsort(dim).to(dtype)

    def values(x):
        found, places = nt.top_k(x, k, dim)
        assert places.dtype == torch.int64 and torch.equal(places, torch.topk(x, k, dim).indices)
        assert not places.requires_grad
        return found

    check(values, lambda x: torch.topk(x, k, dim).values, (x,))
    assert [function.name for function in references] == ["top_k", "top_k_grad"]


def test_results_of_top_k_have_names(references, path):
    for dim in (0, 1):
        found = nt.top_k(torch.tensor([[1.0, 3.0], [2.0, 0.0]]), 1, dim)
        values, indices = found
        assert found.values is values and found.indices is indices


def test_equal_ones_of_top_k_are_in_order(references):
    values, places = nt.top_k(torch.tensor([[1.0, 3.0, 3.0, 2.0, 3.0]]), 3)
    assert values.tolist() == [[3.0, 3.0, 3.0]] and places.tolist() == [[1, 2, 4]]


def test_strides_are_made_dense(references, path):
    x = draw(8, 6).t()
    assert not x.is_contiguous()
    check(
        lambda x: nt.rms_norm(x.t().t(), (8,)), lambda x: F.rms_norm(x, (8,), eps=torch.finfo(torch.float32).eps), (x,)
    )
    # The gradient of a sum has the same value everywhere.
    y = draw(3, 8).requires_grad_()
    nt.softmax(y, 1).sum().backward()
    assert y.grad.abs().max() < 1e-6


def test_a_kernel_serves_any_number_of_rows(references):
    for rows in (1, 5, 700):
        nt.rms_norm(draw(rows, 8), (8,))
    nt.rms_norm(draw(2, 3, 8), (8,))
    assert len(references) == 1 and references[0].calls == 4
    nt.rms_norm(draw(3, 9), (9,))
    nt.rms_norm(draw(3, 8), (8,), eps=1e-3)
    nt.rms_norm(draw(3, 8).half(), (8,))
    assert len(references) == 4


def test_autocast_widens_what_torchs_does(references, path):
    x = draw(3, 8, dtype=torch.bfloat16).requires_grad_()
    torch.set_autocast_enabled("cuda", True)
    try:
        dtypes = [
            nt.layer_norm(x, (8,)).dtype,
            nt.softmax(x, -1).dtype,
            nt.log_softmax(x, -1).dtype,
            nt.cross_entropy(x, torch.tensor([1, 2, 3])).dtype,
            nt.rms_norm(x, (8,)).dtype,
        ]
    finally:
        torch.set_autocast_enabled("cuda", False)
    assert dtypes == [torch.float32] * 4 + [torch.bfloat16]


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda x: nt.rms_norm(x.double(), (8,)),
            "expected input to be float32, float16 or bfloat16, got torch.float64",
        ),
        (lambda x: nt.rms_norm(x, (7,)), r"expected input's last dims to be \(7,\), got \(3, 8\)"),
        (lambda x: nt.rms_norm(x, (8,), x[0, :7]), r"expected weight to have shape \(8,\), got \(7,\)"),
        (lambda x: nt.rms_norm(x, (8,), weight_offset=1.0), "expected a weight for weight_offset 1.0, got none"),
        (lambda x: nt.rms_norm(x[:, :0], (0,)), "expected rows of at least one element"),
        (lambda x: nt.add_rms_norm(x, x.half(), (8,)), "expected residual to be torch.float32"),
        (lambda x: nt.softmax(x), "expected a dim, got none"),
        (lambda x: nt.softmax(x, 2), "expected a dim of an input of 2 dims, got 2"),
        (lambda x: nt.top_k(x, 9), "expected k between 1 and 8 of rows of 8, got 9"),
        (lambda x: nt.top_k(x, 0), "expected k between 1 and 8"),
        (lambda x: nt.top_k(x, 2, largest=False), "expected the largest, got largest=False"),
        (lambda x: nt.top_k(x, 2, 2), "expected a dim of an input of 2 dims, got 2"),
        (lambda x: nt.cross_entropy(x, x), "expected target to hold labels of int64 or int32, got torch.float32"),
        (lambda x: nt.cross_entropy(x, torch.tensor([1])), r"expected target to have shape \(3,\), got \(1,\)"),
        (lambda x: nt.cross_entropy(x, torch.tensor([1, 1, 1]), reduction="max"), "got 'max'"),
        (lambda x: nt.rms_norm(x.to("meta"), (8,)), "expected input on a GPU, got it on meta"),
        (lambda x: nt.rms_norm(x, 8), "expected normalized_shape to be a sequence of extents, got 8"),
        (lambda x: nt.rms_norm(x, (8,), eps=-1e-6), "expected eps to be at least 0 and finite in float32, got -1e-06"),
        (
            lambda x: nt.layer_norm(x, (8,), eps=math.inf),
            "expected eps to be at least 0 and finite in float32, got inf",
        ),
        (lambda x: nt.layer_norm(x, (8,), eps=1e39), "expected eps to be at least 0 and finite in float32, got 1e.39"),
        (lambda x: nt.add_rms_norm(x, x, (8,), eps=math.nan), "expected eps to be at least 0 and finite .*, got nan"),
        (
            lambda x: nt.rms_norm(x, (8,), x[0], weight_offset=math.nan),
            "expected weight_offset to be finite in float32, got nan",
        ),
        (lambda x: nt.softmax(x, True), "expected dim to be an integer, got True"),
        (lambda x: nt.softmax(x, 1.0), "expected dim to be an integer, got 1.0"),
        (lambda x: nt.top_k(x, True), "expected k to be an integer, got True"),
        (lambda x: nt.top_k(x, 2, dim=1.0), "expected dim to be an integer, got 1.0"),
        (lambda x: nt.router(x, True), "expected k to be an integer, got True"),
        (lambda x: nt.cross_entropy(x, LABELS, ignore_index=1.5), "expected ignore_index to be an integer, got 1.5"),
        (lambda x: nt.cross_entropy(x, LABELS, ignore_index=2**70), "expected ignore_index to be a number of 64 bits"),
        (lambda x: nt.cross_entropy(x, LABELS, z_loss=math.inf), "expected z_loss to be at least 0 and finite"),
        (lambda x: nt.cross_entropy(x, LABELS, softcap=math.inf), "expected softcap to be at least 0 and finite"),
        (lambda x: nt.rms_norm(None, (8,)), "expected input to be a tensor of torch, got None"),
        (lambda x: nt.softmax(x.numpy(), 1), "expected input to be a tensor of torch, got numpy.ndarray"),
        (lambda x: nt.cross_entropy(x, [1, 2, 3]), "expected target to be a tensor of torch, got builtins.list"),
        (lambda x: nt.add_rms_norm(x, None, (8,)), "expected residual to be a tensor of torch, got None"),
        (lambda x: nt.rms_norm(x, (8,), x[0].numpy()), "expected weight to be a tensor of torch, got numpy.ndarray"),
        (
            lambda x: nt.softmax(x.as_subclass(Special), 1),
            "expected input to be a plain tensor, got one of type Special",
        ),
        (
            lambda x: nt.rms_norm(x, (8,), x[0].as_subclass(Special)),
            "expected weight to be a plain tensor, got one of type Special",
        ),
        (lambda x: nt.softmax(x.to_sparse(), 1), "expected input to be a dense tensor, got torch.sparse_coo"),
    ],
)
def test_what_there_is_no_kernel_for_is_refused(references, call, message):
    with pytest.raises(norma.UnsupportedError, match=message):
        call(draw(3, 8))
    assert references == []
