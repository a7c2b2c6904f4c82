"""Compares the router with softmax, sigmoid, top-k and a gather of torch."""

import pytest
import torch

import norma
import norma.torch as nt


def theirs(logits, k, scoring="softmax", bias=None, renormalize=True, scale=1.0):
    logits = logits.double()
    scores = logits.softmax(-1) if scoring == "softmax" else logits.sigmoid()
    places = torch.topk(scores if bias is None else scores + bias.double(), k, -1).indices
    weights = scores.gather(-1, places)
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    return weights * scale, places


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scoring", ["softmax", "sigmoid"])
@pytest.mark.parametrize("bias_dtype", [None, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("renormalize, scale", [(True, 1.0), (True, 2.5), (False, 1.0), (False, 0.5)])
def test_router(references, path, dtype, scoring, bias_dtype, renormalize, scale):
    # No two logits of a row are equal, because torch may select either of equal ones; those of 8 bits are exact.
    logits = (torch.rand(5, 40).argsort(-1) / 8 - 2).to(dtype)
    bias = None if bias_dtype is None else (torch.rand(40) * 0.5).to(bias_dtype)
    options = {"scoring": scoring, "bias": bias, "renormalize": renormalize, "scale": scale}
    weights, indices = nt.router(logits, 6, **options)
    expected, places = theirs(logits, 6, **options)
    assert (weights.dtype, indices.dtype) == (torch.float32, torch.int32)
    assert torch.equal(indices.long(), places)
    torch.testing.assert_close(weights.double(), expected, rtol=1e-6, atol=1e-7)
    assert [len(function.described["kernels"]) for function in references] == [1]


@pytest.mark.parametrize(
    "shape, k", [((2, 3, 8), 8), ((9,), 1), ((0, 8), 2), ((1, 256), 8), ((2, 0, 8), 2), ((7, 1), 1)]
)
@pytest.mark.parametrize("has_bias", [False, True])
def test_shapes(references, path, shape, k, has_bias):
    logits, bias = torch.randn(shape), torch.randn(shape[-1]) if has_bias else None
    weights, indices = nt.router(logits, k, scoring="sigmoid", bias=bias)
    expected, places = theirs(logits, k, "sigmoid", bias)
    assert weights.shape == indices.shape == (*shape[:-1], k) and torch.equal(indices.long(), places)
    torch.testing.assert_close(weights.double(), expected, rtol=1e-6, atol=1e-7)


def test_a_bias_has_no_part_in_weights(references, path):
    logits = torch.tensor([[3.0, 2.0, 1.0, 0.0]])
    weights, indices = nt.router(logits, 2, bias=torch.tensor([0.0, 0.0, 0.0, 9.0]))
    assert indices.tolist() == [[3, 0]]
    of_chosen = torch.tensor([[0.0, 3.0]]).softmax(-1)
    torch.testing.assert_close(weights, of_chosen)


def test_scores_of_zero_have_weights_of_zero(references, path):
    weights, indices = nt.router(torch.full((1, 4), -200.0), 2, scoring="sigmoid")
    assert weights.abs().max() < 1e-20 and indices.tolist() == [[0, 1]]


def test_equal_scores_are_in_order(references):
    assert nt.router(torch.zeros(1, 8), 3)[1].tolist() == [[0, 1, 2]]


def test_strides_are_made_dense(references, path):
    logits = torch.randn(8, 5).t()
    weights, indices = nt.router(logits, 3)
    expected, places = theirs(logits, 3)
    assert torch.equal(indices.long(), places)
    torch.testing.assert_close(weights.double(), expected, rtol=1e-6, atol=1e-7)


X = torch.ones(3, 8)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: nt.router(X, 9), "expected k between 1 and 8 of 8 experts, got 9"),
        (lambda: nt.router(X, 0), "expected k between 1 and 8 of 8 experts, got 0"),
        (lambda: nt.router(torch.ones(2, 200), 129), "expected k between 1 and 128 of 200 experts, got 129"),
        (lambda: nt.router(X, 2, scoring="max"), "expected scoring to be 'softmax' or 'sigmoid', got 'max'"),
        (lambda: nt.router(X, 2, scale=float("nan")), "expected scale to be finite in float32, got nan"),
        (lambda: nt.router(X, 2, bias=X[0, :7]), r"expected bias to have shape \(8,\), got \(7,\)"),
        (lambda: nt.router(X, 2, bias=X[0].double()), "expected bias to be float32, float16 or bfloat16"),
        (lambda: nt.router(X, 2, bias=X[0].to("meta")), "expected bias on a GPU, got it on meta"),
        (lambda: nt.router(X.long(), 2), "expected logits to be float32, float16 or bfloat16, got torch.int64"),
        (lambda: nt.router(X.to("meta"), 2), "expected logits on a GPU, got it on meta"),
        (lambda: nt.router(X[0, 0], 1), "expected logits to have a dim of experts, got a number"),
        (lambda: nt.router(X.clone().requires_grad_(), 2), "expected tensors without gradients"),
        (lambda: nt.router(X, 2, bias=torch.nn.Parameter(X[0])), "expected tensors without gradients"),
    ],
)
def test_what_there_is_no_kernel_for_is_refused(references, path, call, message):
    with pytest.raises(norma.UnsupportedError, match=message):
        call()
    assert references == []
