"""Modules, and the replacement of torch's functions."""

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
    with nt.replace(fallback=False), pytest.raises(norma.UnsupportedError, match="got torch.float64"):
        F.softmax(x, 1)
    assert references == []
