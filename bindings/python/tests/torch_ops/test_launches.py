"""What calls in eager mode launch, and on which tensors: torch's tensors of the host, with the stand-in for the driver."""

import pytest
import torch
from stub_torch import take_hosts_tensors

import norma
import norma.torch as nt
from norma.torch import kernels, launches


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    take_hosts_tensors(monkeypatch.setattr)
    monkeypatch.setattr(kernels, "_functions", {})
    for op in vars(launches).values():
        if isinstance(op, kernels.Op):
            monkeypatch.setattr(op, "_caches", {})


def symbols(lines):
    return [line.split()[0] for line in lines]


def addresses(line):
    return [int(word, 16) for word in line.split("parameters ")[1].split()]


def test_one_function_serves_any_number_of_rows(launched):
    weight = torch.randn(64)
    for shape in ((3, 64), (5, 64), (2, 4, 64), (0, 64)):
        x = torch.randn(shape)
        y = nt.rms_norm(x, (64,), weight)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        if x.numel():
            assert addresses(launched()[-1])[:3] == [x.data_ptr(), weight.data_ptr(), y.data_ptr()]
    assert symbols(launched()) == ["rms_norm_0"] * 3 and len(kernels._functions) == 1


def test_gradients_have_the_types_and_shapes_of_what_they_are_of(launched):
    x = torch.randn(4, 8, 8, dtype=torch.bfloat16, requires_grad=True)
    weight = torch.nn.Parameter(torch.randn(8, 8))
    for _ in range(2):
        y = nt.rms_norm(x, (8, 8), weight)
        dx, dweight = torch.autograd.grad(y, (x, weight), torch.ones_like(y))
        assert (dx.shape, dx.dtype, dweight.shape, dweight.dtype) == (x.shape, x.dtype, weight.shape, weight.dtype)
    assert symbols(launched()).count("rms_norm_0") == 2 and len(kernels._functions) == 2


def test_what_is_not_dense_or_aligned_is_copied(launched):
    wide = torch.randn(3, 128)
    nt.rms_norm(wide[:, :64].contiguous(), (64,))
    nt.rms_norm(wide[:, :64], (64,))
    nt.rms_norm(torch.randn(3 * 64 + 1)[1:].view(3, 64), (64,))
    assert len(launched()) == 3
    assert all(addresses(line)[0] % 16 == 0 for line in launched())


def test_a_known_function_takes_no_tensors_of_another_kind(launched):
    x, weight = torch.randn(8, 64), torch.randn(64)
    nt.rms_norm(x, (64,), weight)
    for call in (
        lambda: nt.rms_norm(x, (64,), torch.randn(65)),
        lambda: nt.rms_norm(x, (64,), torch.randn(1, 64)),
        lambda: nt.rms_norm(x.double(), (64,), weight),
        lambda: nt.rms_norm(x, (64,), weight.double()),
        lambda: nt.rms_norm(x, (8, 64), weight),
        lambda: nt.rms_norm(x, (32,), weight[:32]),
        lambda: nt.add_rms_norm(x, x[:4], (64,), weight),
    ):
        with pytest.raises(norma.UnsupportedError):
            call()
    assert len(launched()) == 1


def test_a_mean_of_losses_is_one_call_of_two_kernels(launched):
    logits = torch.randn(6, 50, requires_grad=True)
    target = torch.randint(0, 50, (6,))
    loss = nt.cross_entropy(logits, target)
    assert (loss.shape, loss.dtype) == ((), torch.float32)
    assert symbols(launched()) == ["cross_entropy_0", "cross_entropy_1"]
    loss.backward()
    assert logits.grad.shape == logits.shape
    assert symbols(launched())[2:] == ["cross_entropy_grad_0"]
