#!/usr/bin/env python3
"""Checks sharded functions on the GPUs of one machine: `python sharded_check.py [RANKS] [--only CHECK]`; the default is 2 ranks.

Each function is run by all ranks on shards, and whole on each GPU. Results are compared with each other and with torch's in float64. Every
check has its own processes, so that a failing check does not affect the others. A line for each check begins with PASS or FAIL; the last
line is `N passed, N failed`. The script needs torch with NCCL, as many GPUs as ranks, and a compiler (NORMA_NORMAC, or normac in the
wheel).

With `--dry-run` it needs no GPU: the stand-in for CUDA's driver launches nothing (``conftest.py`` says where it has to be), ranks
communicate with gloo, and only the types and shapes of results are checked.
"""

import argparse
import ctypes
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch.nn.functional as F
from stub_torch import take_hosts_tensors

import norma
import norma.torch.sharded as sharded

ROWS = 1000
#: How long ranks wait for each other, including the time in which one of them loads kernels.
PATIENCE = timedelta(minutes=2)
#: The target for which the stand-in's kernels are compiled.
STAND_IN_TARGET = "sm_90a"
#: The error of a result that is accepted, in roundings of its type at the largest element.
TOLERANCE = {torch.float32: 256.0, torch.bfloat16: 4.0}


@dataclass
class Check:
    """A function, how its tensors are sharded, and torch's reference for it."""

    name: str
    source: str
    inputs: object
    reference: object
    #: The axis of each tensor that is sharded.
    axes: dict[str, int] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)
    columns: int = 4096

    def compiled(self, ranks: int | None, target: str | None) -> norma.Function | sharded.Function:
        """The function of shards, or the whole function if ``ranks`` is ``None``."""
        bundle = norma.compile(self.text(ranks), target=target)
        return bundle["f"] if ranks is None else sharded.Function(bundle, "f")

    def text(self, ranks: int | None) -> str:
        devices = "" if ranks is None else f", norm.devices = array<i64: 1, {ranks}>"
        return self.source.replace("@DEVICES", devices).replace("@N", str(self.columns))


RMS_NORM = """
func.func @f(%x: tensor<?x@Nxbf16> {norm.name = "x"@DEVICES}, %w: tensor<@Nxbf16> {norm.name = "w"})
    -> (tensor<?x@Nxbf16> {norm.name = "y"}) {
  %y = norm.rms_norm %x weight(%w : tensor<@Nxbf16>) {eps = 1.0e-5 : f32} : tensor<?x@Nxbf16> -> tensor<?x@Nxbf16>
  return %y : tensor<?x@Nxbf16>
}
"""

LAYER_NORM = """
func.func @f(%x: tensor<?x@Nxbf16> {norm.name = "x"@DEVICES}, %w: tensor<@Nxbf16> {norm.name = "w"}, %b: tensor<@Nxbf16> {norm.name = "b"})
    -> (tensor<?x@Nxbf16> {norm.name = "y"}) {
  %y = norm.layer_norm %x weight(%w : tensor<@Nxbf16>) bias(%b : tensor<@Nxbf16>) {eps = 1.0e-5 : f32}
       : tensor<?x@Nxbf16> -> tensor<?x@Nxbf16>
  return %y : tensor<?x@Nxbf16>
}
"""

SOFTMAX = """
func.func @f(%x: tensor<?x@Nxbf16> {norm.name = "x"@DEVICES}) -> (tensor<?x@Nxbf16> {norm.name = "y"}) {
  %y = norm.softmax %x : tensor<?x@Nxbf16> -> tensor<?x@Nxbf16>
  return %y : tensor<?x@Nxbf16>
}
"""

CROSS_ENTROPY = """
func.func @f(%x: tensor<?x@Nxbf16> {norm.name = "x"@DEVICES}, %labels: tensor<?xi64> {norm.name = "labels"})
    -> (tensor<?xf32> {norm.name = "loss"}, tensor<?x@Nxbf16> {norm.name = "dx"}) {
  %loss, %dx = norm.cross_entropy %x labels(%labels : tensor<?xi64>) : tensor<?x@Nxbf16> -> tensor<?xf32> dlogits(tensor<?x@Nxbf16>)
  return %loss, %dx : tensor<?xf32>, tensor<?x@Nxbf16>
}
"""

RMS_NORM_GRAD = """
func.func @f(%x: tensor<?x@Nxbf16> {norm.name = "x"@DEVICES}, %dy: tensor<?x@Nxbf16> {norm.name = "dy"},
             %w: tensor<@Nxbf16> {norm.name = "w"}, %rstd: tensor<?xf32> {norm.name = "rstd"})
    -> (tensor<?x@Nxbf16> {norm.name = "dx"}, tensor<@Nxf32> {norm.name = "dw"}) {
  %dx, %dw = norm.rms_norm_grad %x dy(%dy : tensor<?x@Nxbf16>) weight(%w : tensor<@Nxbf16>) rstd(%rstd : tensor<?xf32>)
             : tensor<?x@Nxbf16> -> tensor<?x@Nxbf16> dweight(tensor<@Nxf32>)
  return %dx, %dw : tensor<?x@Nxbf16>, tensor<@Nxf32>
}
"""

SOFTMAX_GRAD = """
func.func @f(%y: tensor<?x@Nxbf16> {norm.name = "y"@DEVICES}, %dy: tensor<?x@Nxbf16> {norm.name = "dy"})
    -> (tensor<?x@Nxbf16> {norm.name = "dx"}) {
  %dx = norm.softmax_grad %y dy(%dy : tensor<?x@Nxbf16>) : tensor<?x@Nxbf16> -> tensor<?x@Nxbf16>
  return %dx : tensor<?x@Nxbf16>
}
"""


def rows(columns):
    return torch.randn(ROWS, columns).bfloat16()


def vector(columns):
    return torch.randn(columns).bfloat16()


def rstd_of(x):
    return (x.double().pow(2).mean(-1) + 1e-5).rsqrt()


def rms_norm_grad(x, dy, w, rstd):
    h, g = x * rstd[:, None], dy * w
    dx = (g - h * (g * h).mean(-1, keepdim=True)) * rstd[:, None]
    return dx, (dy * h).sum(0)


def cross_entropy(x, labels):
    gradient = torch.softmax(x, -1)
    gradient[torch.arange(len(labels), device=x.device), labels] -= 1
    return F.cross_entropy(x, labels, reduction="none"), gradient


def rms_norm_grad_inputs(columns):
    x = rows(columns)
    return {"x": x, "dy": rows(columns), "w": vector(columns), "rstd": rstd_of(x).float()}


CHECKS = (
    Check(
        "rms_norm",
        RMS_NORM,
        lambda n: {"x": rows(n), "w": vector(n)},
        lambda x, w: (F.rms_norm(x, x.shape[-1:], w, 1e-5),),
        {"x": 1, "w": 0, "y": 1},
    ),
    Check(
        "layer_norm",
        LAYER_NORM,
        lambda n: {"x": rows(n), "w": vector(n), "b": vector(n)},
        lambda x, w, b: (F.layer_norm(x, x.shape[-1:], w, b, 1e-5),),
        {"x": 1, "w": 0, "b": 0, "y": 1},
    ),
    Check("softmax", SOFTMAX, lambda n: {"x": rows(n)}, lambda x: (torch.softmax(x, -1),), {"x": 1, "y": 1}),
    Check(
        "cross_entropy",
        CROSS_ENTROPY,
        lambda n: {"x": rows(n), "labels": torch.randint(0, n, (ROWS,))},
        cross_entropy,
        {"x": 1, "dx": 1},
        ("loss", "dx"),
        columns=32768,
    ),
    Check(
        "rms_norm_grad",
        RMS_NORM_GRAD,
        rms_norm_grad_inputs,
        rms_norm_grad,
        {"x": 1, "dy": 1, "w": 0, "dx": 1, "dw": 0},
        ("dx", "dw"),
    ),
    Check(
        "softmax_grad",
        SOFTMAX_GRAD,
        lambda n: {"y": torch.softmax(rows(n).float(), -1).bfloat16(), "dy": rows(n)},
        lambda y, dy: (y * (dy - (y * dy).sum(-1, keepdim=True)),),
        {"y": 1, "dy": 1, "dx": 1},
        ("dx",),
    ),
)


def shard(tensor, axis, rank, ranks):
    return tensor if axis is None else tensor.chunk(ranks, axis)[rank].contiguous()


def error(got, expected):
    """The error of the result in roundings of its type at the largest element."""
    unit = torch.finfo(got.dtype).eps * max(expected.abs().max().item(), 1e-6)
    return (got.double() - expected.double()).abs().max().item() / unit


def in_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def microseconds(call):
    """The time of a call until its GPU is done: the median of several."""
    times = []
    for _ in range(30):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times[10:])


def check(one, rank, ranks, is_dry):
    """Runs a check; returns how long it takes, and raises what is wrong."""
    device = torch.device("cpu") if is_dry else torch.device("cuda", rank)
    target = STAND_IN_TARGET if is_dry else None
    # All ranks draw the same inputs.
    torch.manual_seed(1)
    inputs = {name: tensor.to(device) for name, tensor in one.inputs(one.columns).items()}
    function = one.compiled(ranks, target)
    shards = {name: shard(tensor, one.axes.get(name), rank, ranks) for name, tensor in inputs.items()}
    shards["offset"] = rank * one.columns // ranks
    alone = one.compiled(None, target)
    results, whole = in_tuple(function(**shards)), in_tuple(alone(**inputs))
    wide = (tensor.double() if tensor.is_floating_point() else tensor for tensor in inputs.values())
    wrong = []
    for name, got, of_one, expected in zip(one.outputs, results, whole, one.reference(*wide), strict=True):
        axis = one.axes.get(name)
        of_shard = shard(of_one, axis, rank, ranks)
        if (got.shape, got.dtype) != (of_shard.shape, of_shard.dtype):
            wrong.append(f"{name} is {got.dtype} {tuple(got.shape)}, expected {of_shard.dtype} {tuple(of_shard.shape)}")
            continue
        if is_dry:
            continue
        for what, other in (("one GPU's", of_shard), ("torch's", shard(expected, axis, rank, ranks))):
            off = error(got, other)
            if not off <= TOLERANCE[got.dtype]:
                wrong.append(f"{name} is off {what} by {off:.3g} roundings")
        if axis is None:
            first = got.clone()
            dist.broadcast(first, 0)
            if not torch.equal(first, got):
                wrong.append(f"{name} has other bits than on rank 0")
    if wrong:
        raise AssertionError("\n".join(f"rank {rank}: {line}" for line in wrong))
    if is_dry:
        return "with nothing computed"
    together, by_one = microseconds(lambda: function(**shards)), microseconds(lambda: alone(**inputs))
    return f"{together:.1f} us by {ranks} GPUs, {by_one:.1f} us by one"


def work(rank, ranks, number, folder, is_dry):
    """Runs one check on one rank. Rank 0 prints its success; a failure raises."""
    if is_dry:
        take_hosts_tensors()
        ctypes.CDLL("libcuda.so.1").norma_stub_record(False)
    else:
        # NVLink multicast needs a fabric manager, and gathering a few bytes per row does not benefit from it.
        os.environ["NCCL_NVLS_ENABLE"] = "0"
        torch.cuda.set_device(rank)
    dist.init_process_group(
        "gloo" if is_dry else "nccl",
        init_method=f"file://{folder}/ranks-{number}",
        rank=rank,
        world_size=ranks,
        timeout=PATIENCE,
        device_id=None if is_dry else torch.device("cuda", rank),
    )
    found = check(CHECKS[number], rank, ranks, is_dry)
    # No rank leaves while others still wait for its data.
    dist.barrier()
    if rank == 0:
        print("PASS", CHECKS[number].name, found, flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description="Checks sharded functions on the GPUs of one machine.")
    parser.add_argument("ranks", nargs="?", type=int, default=2, metavar="RANKS")
    parser.add_argument("--dry-run", action="store_true", help="launch on the stand-in for the driver, and compute nothing")
    parser.add_argument("--only", choices=[one.name for one in CHECKS], help="the only check to run")
    options = parser.parse_args()
    if not options.dry_run and torch.cuda.device_count() < options.ranks:
        print(f"FAIL expected {options.ranks} GPUs, got {torch.cuda.device_count()}")
        return 1
    chosen = [number for number, one in enumerate(CHECKS) if options.only in (None, one.name)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in chosen:
            one = CHECKS[number]
            try:
                # The program is compiled once, before the ranks ask for it.
                for ranks in (options.ranks, None):
                    norma.compile(one.text(ranks), target=STAND_IN_TARGET if options.dry_run else None)
                multiprocessing.spawn(work, (options.ranks, number, folder, options.dry_run), nprocs=options.ranks)
            except Exception as reason:
                failed += 1
                print("FAIL", one.name, reason, flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
