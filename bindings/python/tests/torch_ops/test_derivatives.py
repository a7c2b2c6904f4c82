"""Derivatives that Norma's functions do not have: they are torch's within `replace`, and otherwise errors, never zeros."""

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
import torch.nn.functional as F

import norma
import norma.torch as nt

# Torch compiles its own rules for derivatives in forward mode in a way that it calls deprecated.
pytestmark = pytest.mark.filterwarnings(
    "ignore:.torch.jit:DeprecationWarning", "ignore:Attempted to insert a get_attr:UserWarning"
)

LABELS = torch.tensor([1, 2, 3])
OURS = {
    "rms_norm": lambda x: nt.rms_norm(x, (8,)),
    "layer_norm": lambda x: nt.layer_norm(x, (8,)),
    "softmax": lambda x: nt.softmax(x, -1),
    "log_softmax": lambda x: nt.log_softmax(x, -1),
    "cross_entropy": lambda x: nt.cross_entropy(x, LABELS),
}
#: The same as calls of torch's functions, which `replace` makes Norma's.
THEIRS = {
    "rms_norm": lambda x: F.rms_norm(x, (8,), eps=torch.finfo(torch.float32).eps),
    "layer_norm": lambda x: F.layer_norm(x, (8,)),
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "cross_entropy": lambda x: F.cross_entropy(x, LABELS),
}
WITHOUT = {
    "add_rms_norm": lambda x: nt.add_rms_norm(x, x, (8,))[0],
    "top_k": lambda x: nt.top_k(x, 2)[0],
    "router": lambda x: nt.router(x, 2)[0],
    "quantize": lambda x: nt.quantize(x, (1, 4))[1],
}
TRANSFORMS = {
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x.cos(),))[1],
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x),
    "linearize": lambda f, x: torch.func.linearize(f, x)[1](x.cos()),
    "grad": lambda f, x: torch.func.grad(lambda x: f(x).square().sum())(x),
    "hessian": lambda f, x: torch.func.hessian(lambda x: f(x).square().sum())(x),
}


@pytest.fixture
def x():
    return torch.randn(3, 8)


@pytest.mark.parametrize("name", OURS)
def test_gradients_have_no_gradients_though_the_loss_comes_last(references, path, name, x):
    x.requires_grad_()
    loss = OURS[name](x)
    (dx,) = torch.autograd.grad(loss, x, torch.ones_like(loss), create_graph=True)
    assert dx.requires_grad
    expected = "expected first derivatives of functions of norma.torch, .*, got a second one"
    with pytest.raises(norma.UnsupportedError, match=expected):
        torch.autograd.grad(dx.sum(), x, retain_graph=True, allow_unused=True)
    with pytest.raises(norma.UnsupportedError, match=expected):
        dx.sum().backward()


def test_gradients_have_no_gradients_by_what_the_loss_multiplies(references, path, x):
    factor = torch.randn(3, 8, requires_grad=True)
    y = nt.softmax(x.requires_grad_(), -1) * factor
    (dx,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(norma.UnsupportedError, match="expected first derivatives"):
        torch.autograd.grad(dx.sum(), factor)


def test_a_hessian_is_an_error(references, x):
    with nt.replace(), pytest.raises(norma.UnsupportedError, match="expected first derivatives"):
        torch.autograd.functional.hessian(lambda x: F.cross_entropy(x, LABELS), x)


def test_gradients_that_depend_on_no_input_can_be_recorded(references, x):
    x.requires_grad_()
    (dx,) = torch.autograd.grad(nt.top_k(x, 2)[0].sum(), x, create_graph=True)
    assert not dx.requires_grad
    bias = torch.randn(8, requires_grad=True)
    (dbias,) = torch.autograd.grad(nt.layer_norm(x.detach(), (8,), None, bias).sum(), bias, create_graph=True)
    assert not dbias.requires_grad


def test_checkpoints_are_unpacked_once(references, x):
    x.requires_grad_()
    run = torch.utils.checkpoint.checkpoint(lambda x: nt.layer_norm(x, (8,)).square().sum(), x, use_reentrant=False)
    (dx,) = torch.autograd.grad(run, x)
    (expected,) = torch.autograd.grad(F.layer_norm(x, (8,)).square().sum(), x)
    torch.testing.assert_close(dx, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [*OURS, *WITHOUT])
def test_a_dual_tensor_is_refused(references, path, name, x):
    call = (OURS | WITHOUT)[name]
    call(x)
    with forward_ad.dual_level():
        # Others are not.
        call(x)
        for dual in (forward_ad.make_dual(x, x.cos()), forward_ad.make_dual(x.clone().requires_grad_(), x.cos())):
            with (
                torch.set_grad_enabled(name in OURS),
                pytest.raises(norma.UnsupportedError, match=f"{name} does not comp"),
            ):
                call(dual)


def test_a_dual_weight_is_refused(references, x):
    weight = torch.ones(8)
    with forward_ad.dual_level(), pytest.raises(norma.UnsupportedError, match="got a dual tensor"):
        nt.rms_norm(x, (8,), forward_ad.make_dual(weight, weight))


def test_a_dual_gradient_is_refused(references, x):
    y = nt.softmax(x.requires_grad_(), -1)
    with forward_ad.dual_level(), pytest.raises(norma.UnsupportedError, match="softmax_grad does not compute"):
        torch.autograd.grad(y, x, forward_ad.make_dual(torch.ones(3, 8), torch.ones(3, 8)))


def test_an_op_refuses_a_dual_tensor(references, x):
    with forward_ad.dual_level(), pytest.raises(norma.UnsupportedError, match="softmax does not compute"):
        torch.ops.norma.softmax(forward_ad.make_dual(x, x), 1, None)


@pytest.mark.parametrize("name", THEIRS)
def test_replaced_functions_of_dual_tensors_are_torchs(references, name, x):
    call = THEIRS[name]

    def tangent():
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(call(forward_ad.make_dual(x, x.cos()))).tangent

    expected = tangent()
    with nt.replace():
        torch.testing.assert_close(tangent(), expected)
    with (
        nt.replace(fallback=False),
        pytest.raises(norma.UnsupportedError, match=f"cannot replace {name}: expected tensors"),
    ):
        tangent()
    assert references == []


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", THEIRS)
def test_transforms_that_take_derivatives_use_torchs_functions(references, name, transform, x):
    take = TRANSFORMS[transform]
    with pytest.raises(norma.UnsupportedError, match=name):
        take(OURS[name], x)
    expected = take(THEIRS[name], x)
    with nt.replace():
        torch.testing.assert_close(take(THEIRS[name], x), expected)
    with nt.replace(fallback=False), pytest.raises(norma.UnsupportedError, match=f"cannot replace {name}"):
        take(THEIRS[name], x)
    # A linearization first computes the result, of which no derivative is taken.
    assert [function.name for function in references] == [name] * (transform == "linearize")


@pytest.mark.parametrize("name", WITHOUT)
def test_transforms_of_functions_without_a_replacement_are_refused(references, name, x):
    with pytest.raises(norma.UnsupportedError, match=f"{name}|rms_norm"):
        TRANSFORMS["jvp"](WITHOUT[name], x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transform", ["jvp", "grad"])
def test_compiled_transforms_use_torchs_functions(references, transform, x):
    expected = TRANSFORMS[transform](THEIRS["softmax"], x)
    torch._dynamo.reset()
    with nt.replace():
        compiled = torch.compile(lambda x: TRANSFORMS[transform](THEIRS["softmax"], x), backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(x), expected)
    assert references == []


@pytest.mark.filterwarnings("ignore")
def test_vmap_calls_the_op(references):
    x = torch.randn(2, 3, 8)
    torch.testing.assert_close(torch.func.vmap(OURS["softmax"])(x), x.softmax(-1))
    assert [function.name for function in references] == ["softmax"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("known", [False, True])
def test_a_batch_of_gradients_is_refused(references, known, x):
    x.requires_grad_()
    y = nt.softmax(x, -1)
    if known:
        torch.autograd.grad(y, x, torch.ones(3, 8), retain_graph=True)
    with pytest.raises(norma.UnsupportedError, match="expected one gradient in a backward of norma.torch, got a batch"):
        torch.autograd.grad(y, x, torch.randn(2, 3, 8), is_grads_batched=True)
