#!/usr/bin/env python3
"""Checks sharded functions on the GPUs of one machine: run it as it is, `python sharded_check.py [RANKS]`, with 2 ranks where not said.

Each function is run by all ranks on shards, and whole on the first GPU. Results are compared with torch's in float64 too. A line for each
check begins with PASS or FAIL; the last line is `N passed, N failed`.
"""

import os
import socket
import sys
import traceback
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
import torch.nn.functional as F

import norma
import norma.torch.sharded as sharded

ROWS = 1000
#: Roundings of a result's type that it may be off, of the size of the largest element.
TOLERANCE = {torch.float32: 256.0, torch.bfloat16: 4.0}


@dataclass
class Check:
    """A function, how its tensors lie on ranks, and what torch says of it."""

    name: str
    source: str
    inputs: object
    reference: object
    #: The tensors that are sharded, by the axis.
    axes: dict[str, int] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)
    columns: int = 4096

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
    return torch.randn(ROWS, columns, device="cuda").bfloat16()


def vector(columns):
    return torch.randn(columns, device="cuda").bfloat16()


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
        lambda n: {"x": rows(n), "labels": torch.randint(0, n, (ROWS,), device="cuda")},
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
    """How many roundings of its type the result is off, of the size of the largest element."""
    unit = torch.finfo(got.dtype).eps * max(expected.abs().max().item(), 1e-6)
    return (got.double() - expected.double()).abs().max().item() / unit


def in_tuple(results):
    return results if isinstance(results, tuple) else (results,)


def check(one, rank, ranks):
    """What is wrong; nothing where all is right."""
    torch.manual_seed(1)
    inputs = one.inputs(one.columns)
    for tensor in inputs.values():
        dist.broadcast(tensor, 0)
    function = sharded.Function(norma.compile(one.text(ranks)), "f")
    shards = {name: shard(tensor, one.axes.get(name), rank, ranks) for name, tensor in inputs.items()}
    results = in_tuple(function(offset=rank * one.columns // ranks, **shards))
    whole = in_tuple(norma.compile(one.text(None))["f"](**inputs))
    wide = (tensor.double() if tensor.is_floating_point() else tensor for tensor in inputs.values())
    wrong = []
    for name, got, alone, expected in zip(one.outputs, results, whole, one.reference(*wide), strict=True):
        axis = one.axes.get(name)
        for what, other in (("one GPU's", alone), ("torch's", expected)):
            off = error(got, shard(other, axis, rank, ranks))
            if not off <= TOLERANCE[got.dtype]:
                wrong.append(f"rank {rank}: {name} is off {what} by {off:.3g} roundings")
        if axis is None:
            first = got.clone()
            dist.broadcast(first, 0)
            if not torch.equal(first, got):
                wrong.append(f"rank {rank}: {name} has other bits than on rank 0")
    return wrong


def work(rank, ranks, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank))
    failed = 0
    for one in CHECKS:
        try:
            wrong = check(one, rank, ranks)
        except Exception:
            wrong = [f"rank {rank}: {traceback.format_exc()}"]
        found = [None] * ranks
        dist.all_gather_object(found, wrong)
        wrong = [line for lines in found for line in lines]
        failed += bool(wrong)
        if rank == 0:
            print("FAIL" if wrong else "PASS", one.name, *wrong, sep="\n  " if wrong else " ", flush=True)
    if rank == 0:
        print(f"{len(CHECKS) - failed} passed, {failed} failed", flush=True)
    dist.destroy_process_group()
    if failed:
        sys.exit(1)


def main():
    ranks = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    if torch.cuda.device_count() < ranks:
        print(f"FAIL expected {ranks} GPUs, got {torch.cuda.device_count()}")
        return 1
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Compiled once, before the ranks ask for it.
    for one in CHECKS:
        norma.compile(one.text(ranks))
        norma.compile(one.text(None))
    multiprocessing.spawn(work, (ranks, port), nprocs=ranks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
