#!/usr/bin/env python3
"""Measures the host's cost of a call, in microseconds: Norma beside torch, and beside Liger and QuACK if they are installed.

Tensors are small, so that the GPU keeps up and the host is measured; the queue is drained before it fills. Each figure is the
median over ROUNDS of the mean of CALLS calls, and libraries take turns within a round. A star marks a figure where the GPU needed
another tenth of that time or more after the host was done: such a figure may be limited by the GPU.

Two rows separate the cost of forward and backward that is not a library's own: the launch of a gradient without autograd, and
autograd's engine with a function that launches nothing.

On a machine without a GPU, the stand-in for CUDA's driver accepts the launches and does nothing (``tests/conftest.py`` says where it
has to be), and tensors are the host's. The figures are then the thread's own time, the minimum over the rounds, and of Norma only,
because torch would compute.
"""

import ctypes
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F

import norma
import norma.torch as nt
from norma.torch import launches

ROUNDS, CALLS = 50, 200
ROWS, WIDTH = 8, 1024
HAS_GPU = torch.cuda.is_available()
DEVICE = "cuda" if HAS_GPU else "cpu"


@dataclass
class Figure:
    """Microseconds per call: until the host is done, and until the GPU is done."""

    host: float
    all: float

    def __str__(self) -> str:
        return f"{self.host:10.2f}{'*' if self.all > 1.1 * self.host else ' '}"


def measured(calls: list[Callable[[], object]]) -> list[Figure]:
    """Measures each call."""
    clock = time.perf_counter if HAS_GPU else time.thread_time
    for call in calls:
        for _ in range(20):
            call()
    synchronize()
    means: list[list[Figure]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, found in zip(calls, means, strict=True):
            start = clock()
            for _ in range(CALLS):
                call()
            host = clock() - start
            synchronize()
            found.append(Figure(host / CALLS * 1e6, (clock() - start) / CALLS * 1e6))
    middle = statistics.median if HAS_GPU else min
    return [Figure(middle(one.host for one in found), middle(one.all for one in found)) for found in means]


def synchronize() -> None:
    if HAS_GPU:
        torch.cuda.synchronize()


def peer(module: str, name: str) -> Callable | None:
    """A function of a library, or ``None`` if the library is not installed."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return None


class Nothing(torch.autograd.Function):
    """An autograd function that returns existing tensors in both directions."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        return x, weight


def rows() -> list[tuple[str, Callable[[], object], Callable[[], object] | None]]:
    """The calls to measure: a name, Norma's call, and torch's."""
    dtype = torch.bfloat16
    x = torch.randn(ROWS, WIDTH, device=DEVICE, dtype=dtype)
    weight, bias = (torch.randn(WIDTH, device=DEVICE, dtype=dtype) for _ in range(2))
    target = torch.randint(0, WIDTH, (ROWS,), device=DEVICE)
    with_grad, weight_with_grad, bias_with_grad = (t.clone().requires_grad_() for t in (x, weight, bias))
    grad, y = torch.randn_like(x), torch.empty_like(x)
    source = f"""
    func.func @rms_norm(%x: tensor<?x{WIDTH}xbf16> {{norm.name = "x"}}, %w: tensor<{WIDTH}xbf16> {{norm.name = "w"}})
        -> (tensor<?x{WIDTH}xbf16> {{norm.name = "y"}}) {{
      %y = norm.rms_norm %x weight(%w : tensor<{WIDTH}xbf16>) : tensor<?x{WIDTH}xbf16> -> tensor<?x{WIDTH}xbf16>
      return %y : tensor<?x{WIDTH}xbf16>
    }}
    """
    function = norma.compile(source, target=None if HAS_GPU else "sm_90a")["rms_norm"]
    found = [
        ("torch.empty_like", lambda: torch.empty_like(x), None),
        ("launch alone", lambda: function.launch_viewed(x, weight, y), None),
        ("bundle's function, result given", lambda: function(x, weight, out=y), None),
        ("bundle's function", lambda: function(x, weight), None),
    ]
    if HAS_GPU:
        op = torch.ops.norma.rms_norm
        found.append(("rms_norm as an op of graphs", lambda: op(x, weight, 1, 1e-6, 0.0, None), None))

    def both(name, call, inputs, out_grad):
        """Rows for a function of both libraries: without gradients, with gradients recorded, and forward and backward."""
        plain = [tensor.detach() for tensor in inputs]

        def forward_and_backward(library):
            return lambda: torch.autograd.grad(call(library, *inputs), inputs, out_grad)

        return [
            (name, lambda: call(nt, *plain), lambda: call(F, *plain)),
            (f"{name}, recorded", lambda: call(nt, *inputs), lambda: call(F, *inputs)),
            (f"{name}, forward and backward", forward_and_backward(nt), forward_and_backward(F)),
        ]

    rstd = torch.ones(ROWS, device=DEVICE)
    of_rms_norm = grad, x, weight, rstd, None, 1, 1e-6, 0.0, True
    found += [
        ("rms_norm's gradient, launched alone", lambda: launches.rms_norm_grad(*of_rms_norm), None),
        (
            "autograd alone, forward and backward",
            lambda: torch.autograd.grad(Nothing.apply(with_grad, weight_with_grad), (with_grad, weight_with_grad), grad),
            None,
        ),
    ]
    found += both(
        "rms_norm", lambda lib, x, w: lib.rms_norm(x, (WIDTH,), w, 1e-6), (with_grad, weight_with_grad), grad
    )
    inputs = with_grad, weight_with_grad, bias_with_grad
    found += both("layer_norm", lambda lib, x, w, b: lib.layer_norm(x, (WIDTH,), w, b), inputs, grad)
    found += both("softmax", lambda lib, x: lib.softmax(x, -1), (with_grad,), grad)
    found += both("cross_entropy", lambda lib, x: lib.cross_entropy(x, target), (with_grad,), None)
    peers = []
    if liger := peer("liger_kernel.ops.rms_norm", "LigerRMSNormFunction"):
        peers.append(("Liger", lambda x, w: liger.apply(x, w, 1e-6)))
    if quack := peer("quack", "rmsnorm"):
        peers.append(("QuACK", lambda x, w: quack(x, w, eps=1e-6)))
    inputs = with_grad, weight_with_grad
    for name, call in peers:
        found += [
            (f"rms_norm, {name}", partial(call, x, weight), None),
            (f"rms_norm, {name}, recorded", partial(call, *inputs), None),
            (
                f"rms_norm, {name}, forward and backward",
                lambda call=call: torch.autograd.grad(call(*inputs), inputs, grad),
                None,
            ),
        ]
    return found


def main() -> None:
    if HAS_GPU:
        print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, {ROWS} rows of {WIDTH} bfloat16")
    else:
        sys.path.append(str(Path(__file__).parents[1] / "tests"))
        from stub_torch import take_hosts_tensors

        take_hosts_tensors()
        ctypes.CDLL("libcuda.so.1").norma_stub_record(False)
        print(f"torch {torch.__version__}, STUBBED DRIVER, tensors of the host, {ROWS} rows of {WIDTH} bfloat16")
    print(f"{'':44}{'norma':>10}{'torch':>11}   microseconds of the host for a call")
    for name, ours, theirs in rows():
        cells = measured([ours, theirs] if theirs and HAS_GPU else [ours])
        print(f"{name:44}{''.join(map(str, cells))}", flush=True)


if __name__ == "__main__":
    main()
