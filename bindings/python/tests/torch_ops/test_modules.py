"""Modules, and the replacement of torch's functions."""

import inspect
import typing

import pytest
import torch
import torch.nn.functional as F

import norma
import norma.torch as nt


def test_modules_take_torchs_state(references):
    x = torch.randn(4, 16)
    for ours, theirs in ((nt.RMSNorm, torch.nn.RMSNorm), (nt.LayerNorm, torch.nn.LayerNorm)):
        module, original = ours(16, eps=1e-5), theirs(16, eps=1e-5)
        torch.nn.init.normal_(original.weight)
        module.load_state_dict(original.state_dict())
        torch.testing.assert_close(module(x), original(x))
    assert [function.name for function in references] == ["rms_norm", "layer_norm"]


def test_an_offset_keeps_weights_around_zero(references):
    module, x = nt.RMSNorm(16, weight_offset=1.0), torch.randn(4, 16)
    assert torch.equal(module.weight, torch.zeros(16))
    torch.testing.assert_close(module(x), F.rms_norm(x, (16,)))


def test_an_offset_is_shown_and_needs_a_weight(references):
    assert (
        repr(nt.RMSNorm(16, weight_offset=1.0))
        == "RMSNorm((16,), eps=None, elementwise_affine=True, weight_offset=1.0)"
    )
    assert repr(nt.RMSNorm(16)) == repr(torch.nn.RMSNorm(16))
    with pytest.raises(norma.UnsupportedError, match="expected elementwise_affine for weight_offset 1.0, got False"):
        nt.RMSNorm(16, elementwise_affine=False, weight_offset=1.0)


def test_constructors_declare_their_types():
    signature = inspect.signature(nt.RMSNorm.__init__)
    parameters = [name for name in signature.parameters if name != "self"]
    assert set(typing.get_type_hints(nt.RMSNorm.__init__)) == {*parameters, "return"}


def test_modules_of_torch_may_become_norms_of_norma(references):
    module, x = torch.nn.RMSNorm(16, eps=1e-5), torch.randn(4, 16)
    expected = module(x)
    module.__class__ = nt.RMSNorm
    torch.testing.assert_close(module(x), expected)
    assert [function.name for function in references] == ["rms_norm"]


def test_replace_swaps_functions_and_puts_them_back(references):
    originals = F.rms_norm, F.layer_norm, F.softmax, F.log_softmax, F.cross_entropy
    x, module = torch.randn(4, 16), torch.nn.LayerNorm(16)
    expected = module(x), F.softmax(x, 1)
    with nt.replace():
        torch.testing.assert_close((module(x), torch.nn.Softmax(1)(x)), expected)
        loss = torch.nn.CrossEntropyLoss()(x, torch.tensor([1, 2, 3, 4]))
    torch.testing.assert_close(loss, F.cross_entropy(x, torch.tensor([1, 2, 3, 4])))
    assert [function.name for function in references] == ["layer_norm", "softmax", "cross_entropy"]
    assert originals == (F.rms_norm, F.layer_norm, F.softmax, F.log_softmax, F.cross_entropy)


def test_replace_takes_names_and_nests(references):
    original = F.softmax
    with nt.replace("rms_norm"):
        assert F.softmax is original
        with nt.replace():
            assert F.softmax is not original
        F.rms_norm(torch.randn(2, 8), (8,))
    assert F.softmax is original
    with pytest.raises(ValueError, match="expected names among .*, got 'gelu'"), nt.replace("gelu"):
        pass
    with pytest.raises(KeyError), nt.replace():
        raise KeyError
    assert F.softmax is original


def test_leaving_a_context_restores_the_one_around_it(references):
    x = torch.randn(4, 16, dtype=torch.float64)
    original = F.softmax
    with nt.replace():
        with nt.replace(fallback=False):
            with pytest.raises(norma.UnsupportedError), nt.replace("rms_norm"):
                F.softmax(x, 1)
        torch.testing.assert_close(F.softmax(x, 1), torch.softmax(x, 1))
        with nt.replace("softmax", fallback=False):
            pass
        torch.testing.assert_close(F.softmax(x, 1), torch.softmax(x, 1))
    assert F.softmax is original


def test_contexts_may_be_left_in_any_order(references):
    x = torch.randn(4, 16, dtype=torch.float64)
    original = F.softmax
    first, second = nt.replace(fallback=False), nt.replace()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    torch.testing.assert_close(F.softmax(x, 1), torch.softmax(x, 1))
    second.__exit__(None, None, None)
    assert F.softmax is original


def test_calls_without_a_kernel_fall_back_unless_told_not_to(references):
    x = torch.randn(4, 16, dtype=torch.float64)
    with nt.replace():
        torch.testing.assert_close(F.softmax(x, 1), torch.softmax(x, 1))
    expected = "cannot replace softmax: expected input to be float32, float16 or bfloat16, got torch.float64"
    with nt.replace(fallback=False), pytest.raises(norma.UnsupportedError, match=expected):
        F.softmax(x, 1)
    assert references == []


class Special(torch.Tensor):
    """A subclass with rules of its own for torch's functions."""

    @classmethod
    def __torch_function__(cls, function, types, arguments=(), named=None):
        if function is cls.known:
            return "a rule of its own"
        return super().__torch_function__(function, types, arguments, named or {})


def test_tensors_with_rules_of_their_own_are_left_to_them(references):
    x = torch.randn(4, 16).as_subclass(Special)
    Special.known = F.softmax
    with nt.replace():
        assert F.softmax(x, 1) == "a rule of its own"
    assert references == []


@pytest.mark.filterwarnings("ignore")
def test_tensors_of_other_layouts_fall_back(references):
    rows = [torch.randn(2, 8), torch.randn(3, 8)]
    jagged = torch.nested.nested_tensor(rows, layout=torch.jagged)
    strided = torch.nested.nested_tensor(rows)
    named = torch.randn(4, 8, names=("rows", "columns"))
    with nt.replace():
        for row, of in zip(F.softmax(jagged, -1).unbind(), rows, strict=True):
            torch.testing.assert_close(row, torch.softmax(of, -1))
        weight = torch.ones(8)
        for row, of in zip(F.layer_norm(strided, (8,), weight, weight).unbind(), rows, strict=True):
            torch.testing.assert_close(row, F.layer_norm(of, (8,), weight, weight))
        assert F.softmax(named, -1).names == ("rows", "columns")
    for x in (jagged, strided, named):
        with pytest.raises(norma.UnsupportedError, match="expected input "), nt.replace(fallback=False):
            F.softmax(x, -1)


@pytest.mark.filterwarnings("ignore")
def test_sharded_tensors_fall_back(references, tmp_path):
    dist = pytest.importorskip("torch.distributed.tensor")
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    try:
        mesh = dist.init_device_mesh("cpu", (1,))
        x, weight = torch.randn(4, 8), torch.ones(8)
        sharded = dist.distribute_tensor(x, mesh, [dist.Shard(0)])
        everywhere = dist.distribute_tensor(weight, mesh, [dist.Replicate()])
        with nt.replace():
            y = F.rms_norm(sharded, (8,), everywhere, 1e-5)
        assert type(y) is dist.DTensor
        torch.testing.assert_close(y.full_tensor(), F.rms_norm(x, (8,), weight, 1e-5))
        for call in (
            lambda: nt.rms_norm(sharded, (8,), everywhere),
            lambda: nt.RMSNorm(8)(sharded),
            lambda: nt.rms_norm(x, (8,), everywhere),
        ):
            with pytest.raises(norma.UnsupportedError, match="to be a plain tensor, got one of type DTensor"):
                call()
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.rms_norm(x, (16,), eps=-1e-6),
        lambda x: F.layer_norm(x, (16,), eps=float("inf")),
    ],
)
def test_options_without_a_kernel_fall_back(references, call):
    x = torch.randn(4, 16) * 10
    expected = call(x)
    with nt.replace():
        torch.testing.assert_close(call(x), expected)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: F.softmax(x, dims=1), r"softmax\(\) got an unexpected keyword argument 'dims'"),
        (lambda x: F.rms_norm(x, (16,), epsilon=1), r"rms_norm\(\) got an unexpected keyword argument 'epsilon'"),
        (lambda x: F.softmax(x, dim=True), r"softmax\(\) received an invalid combination"),
        (lambda x: F.rms_norm(x, 16), r"rms_norm\(\): argument 'normalized_shape'"),
        (
            lambda x: F.cross_entropy(x, torch.zeros(4).long(), ignore_index=1.5),
            "'ignore_index' .* must be int, not float",
        ),
    ],
)
def test_calls_that_do_not_fit_have_torchs_errors(references, call, message):
    with nt.replace(), pytest.raises(TypeError, match=message):
        call(torch.randn(4, 16))


def test_symbolic_tracers_record_torchs_functions(references):
    def model(x):
        return torch.nn.functional.softmax(x, -1)

    original = F.softmax
    with nt.replace():
        graph = torch.fx.symbolic_trace(model).graph
    assert [node.target for node in graph.nodes if node.op == "call_function"] == [original]
