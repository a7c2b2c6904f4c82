"""Softmax of rows whose columns are divided among the GPUs of one machine: needs torch, and as many GPUs as the kernels are compiled for.

    normac softmax --shape m,8192 --dtype bf16 --devices 2 -o softmax
    torchrun --nproc-per-node 2 examples/python/sharded_softmax.py
"""

import torch
import torch.distributed as dist

import norma
import norma.torch.sharded

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
ranks = dist.get_world_size()

torch.manual_seed(0)
whole = torch.randn(16384, 8192, device="cuda", dtype=torch.bfloat16)
x, expected = (rows.chunk(ranks, 1)[dist.get_rank()].contiguous() for rows in (whole, whole.softmax(-1)))

softmax = norma.torch.sharded.Function(norma.load("softmax"), "softmax")
y = softmax(x=x)  # each rank has its own columns

torch.testing.assert_close(y, expected)
dist.destroy_process_group()
