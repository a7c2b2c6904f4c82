"""Kernels built ahead of time on tensors without memory, and launched without a compiler, by the stand-in for the driver."""

import json
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from stub_torch import take_hosts_tensors

import norma
import norma.torch as nt
from norma import bundles
from norma.torch import kernels, launches


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setattr(kernels, "_functions", {})
    for op in vars(launches).values():
        if isinstance(op, kernels.Op):
            monkeypatch.setattr(op, "_caches", {})


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Makes this a machine with a GPU and without a compiler, whose cache is empty."""

    def without_compiler():
        take_hosts_tensors(monkeypatch.setattr)
        monkeypatch.setenv("NORMA_NORMAC", str(tmp_path / "none"))
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setenv("NORMA_CACHE_DIR", str(tmp_path / "empty"))

    return without_compiler


def without_gradients(device):
    x, w = (torch.empty(shape, dtype=torch.bfloat16, device=device) for shape in ((4, 640), (640,)))
    y = nt.rms_norm(x, (640,), w)
    nt.add_rms_norm(y, x, (640,), w)
    nt.layer_norm(x, (640,), w, w)
    q, scale = nt.quantize(x, (1, 128))
    nt.dequantize(q, scale, (1, 128))
    nt.rms_norm_quantize(x, (640,), w, block=(1, 0))
    nt.router(torch.empty(4, 64, device=device), 8)


def with_gradients(device):
    x = torch.empty(4, 8, 320, dtype=torch.bfloat16, device=device, requires_grad=True)
    w = torch.nn.Parameter(torch.empty(320, dtype=torch.bfloat16, device=device))
    y, h = nt.add_rms_norm(nt.rms_norm(x, (320,), w), x, (320,), w)
    y = nt.layer_norm(nt.softmax(y, 1) + nt.log_softmax(h, -1), (320,), w)
    values, _ = nt.top_k(y, 4)
    labels = torch.zeros(32, dtype=torch.int64, device=device)
    loss = nt.cross_entropy(y.view(32, 320), labels) + values.float().sum()
    loss.backward()
    assert (x.grad.shape, w.grad.shape) == (x.shape, w.shape)


@pytest.mark.parametrize("calls", [without_gradients, with_gradients])
def test_calls_of_what_was_built_need_no_compiler(tmp_path, launched, machine, calls):
    folder = tmp_path / "bundles"
    with nt.prebuild(folder, "sm_90a"):
        calls("meta")
    assert launched() == []
    machine()
    with pytest.raises(norma.CompilerNotFoundError):
        calls("cpu")
    norma.use_bundles(folder)
    calls("cpu")
    assert launched()


def test_what_was_not_built_is_told(tmp_path, machine):
    with nt.prebuild(tmp_path / "bundles", "sm_90a"):
        nt.softmax(torch.empty(4, 64, device="meta"), -1)
    machine()
    norma.use_bundles(tmp_path / "bundles")
    with pytest.raises(norma.CompilerNotFoundError, match=r"no compiler: .*; its bundle is not in .*bundles either"):
        nt.softmax(torch.empty(4, 65), -1)


def test_a_kernel_is_built_once_for_each_target(tmp_path):
    with nt.prebuild(tmp_path, ["sm_80", "sm_90a"]):
        for rows in (1, 7):
            nt.softmax(torch.empty(rows, 64, device="meta"), -1)
    paths = sorted(path.relative_to(tmp_path).parts for path in tmp_path.glob("*/*/manifest.json"))
    assert [target for _, target, _ in paths] == ["sm_80", "sm_90a"]
    assert paths[0][0] == paths[1][0] and paths[0][0].startswith("softmax_")


def test_both_kinds_of_forward_are_built(tmp_path):
    with nt.prebuild(tmp_path, "sm_90a"):
        nt.rms_norm(torch.empty(4, 64, device="meta"), (64,))
    described = [json.loads(path.read_bytes())["functions"][0] for path in tmp_path.glob("*/*/manifest.json")]
    outputs = sorted([output["name"] for output in function["outputs"]] for function in described)
    assert outputs == [["y"], ["y", "rstd"]]


def test_models_that_use_torchs_functions_are_built_with_replace(tmp_path, launched, machine):
    norm = torch.nn.RMSNorm(64)
    with nt.prebuild(tmp_path, "sm_90a"), nt.replace():
        norm.to("meta")(torch.empty(4, 64, device="meta")).sum().backward()
    machine()
    norma.use_bundles(tmp_path)
    with nt.replace(fallback=False):
        F.rms_norm(torch.randn(4, 64), (64,), torch.ones(64))
    assert len(launched()) == 1


def test_tensors_without_memory_are_refused_outside_of_the_context():
    x = torch.empty(4, 64, device="meta")
    with pytest.raises(norma.UnsupportedError, match="expected input on a GPU, got it on meta"):
        nt.softmax(x, -1)
    assert bundles.searched() == ()


def test_the_example_builds_what_it_uses(tmp_path, monkeypatch, launched, machine):
    program = Path(__file__).parents[4] / "examples" / "python" / "ahead_of_time.py"
    # The stand-in's tensors are the host's.
    text = program.read_text().replace('"cuda"', '"cpu"')
    for action in ("build", "run"):
        monkeypatch.setattr(sys, "argv", [program.name, action, str(tmp_path / "bundles")])
        exec(compile(text, program, "exec"), {})
        machine()
    assert len(launched()) == 1
