#!/usr/bin/env python3
"""What a call costs the host, in microseconds: Norma beside torch, and beside Liger and QuACK where they are installed.

Tensors are small, so that the GPU keeps up and the host is what is measured; the queue is drained before it fills. Each figure is the
median over ROUNDS of the mean of CALLS calls.
"""

import importlib
import statistics
import time

import torch
import torch.nn.functional as F

import norma
import norma.torch as nt

ROUNDS, CALLS = 50, 200
ROWS, WIDTH, CLASSES = 8, 1024, 1024


def microseconds(call):
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    means = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        means.append((time.perf_counter() - start) / CALLS * 1e6)
        torch.cuda.synchronize()
    return statistics.median(means)


def peer(module, name):
    """A function of a library that may not be installed."""
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return None


def main():
    dtype = torch.bfloat16
    x = torch.randn(ROWS, WIDTH, device="cuda", dtype=dtype)
    weight, bias = (torch.randn(WIDTH, device="cuda", dtype=dtype) for _ in range(2))
    target = torch.randint(0, CLASSES, (ROWS,), device="cuda")
    recorded = x.clone().requires_grad_()
    recorded_weight = weight.clone().requires_grad_()
    grad = torch.randn_like(x)
    y = torch.empty_like(x)

    source = f"""
    func.func @rms_norm(%x: tensor<?x{WIDTH}xbf16> {{norm.name = "x"}}, %w: tensor<{WIDTH}xbf16> {{norm.name = "w"}})
        -> (tensor<?x{WIDTH}xbf16> {{norm.name = "y"}}) {{
      %y = norm.rms_norm %x weight(%w : tensor<{WIDTH}xbf16>) : tensor<?x{WIDTH}xbf16> -> tensor<?x{WIDTH}xbf16>
      return %y : tensor<?x{WIDTH}xbf16>
    }}
    """
    function = norma.compile(source)["rms_norm"]

    def backward(op):
        return torch.autograd.grad(op(), (recorded, recorded_weight), grad)

    def plain(library):
        return lambda: library.rms_norm(x, (WIDTH,), weight, 1e-6)

    def forward(library):
        return lambda: library.rms_norm(recorded, (WIDTH,), recorded_weight, 1e-6)

    rows = [
        ("torch.empty_like", lambda: torch.empty_like(x)),
        ("rms_norm: launch alone, norma", lambda: function.launch_viewed(x, weight, y)),
        ("rms_norm: bundle, out given, norma", lambda: function(x, weight, out=y)),
        ("rms_norm: bundle, norma", lambda: function(x, weight)),
        ("rms_norm, norma", plain(nt)),
        ("rms_norm, torch", plain(F)),
        ("rms_norm as an op of graphs, norma", lambda: torch.ops.norma.rms_norm(x, weight, 1, 1e-6, 0.0, None)),
        ("rms_norm, gradients recorded, norma", forward(nt)),
        ("rms_norm, gradients recorded, torch", forward(F)),
        ("rms_norm, forward and backward, norma", lambda: backward(forward(nt))),
        ("rms_norm, forward and backward, torch", lambda: backward(forward(F))),
        ("layer_norm, norma", lambda: nt.layer_norm(x, (WIDTH,), weight, bias)),
        ("layer_norm, torch", lambda: F.layer_norm(x, (WIDTH,), weight, bias)),
        ("softmax, norma", lambda: nt.softmax(x, -1)),
        ("softmax, torch", lambda: F.softmax(x, -1)),
        ("cross_entropy, norma", lambda: nt.cross_entropy(x, target)),
        ("cross_entropy, torch", lambda: F.cross_entropy(x, target)),
    ]
    if liger := peer("liger_kernel.ops.rms_norm", "LigerRMSNormFunction"):
        rows.append(("rms_norm, Liger", lambda: liger.apply(x, weight, 1e-6)))
    if quack := peer("quack", "rmsnorm"):
        rows.append(("rms_norm, QuACK", lambda: quack(x, weight, eps=1e-6)))

    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, {ROWS} rows of {WIDTH} bfloat16")
    for name, call in rows:
        print(f"{microseconds(call):8.2f} us  {name}", flush=True)


if __name__ == "__main__":
    main()
