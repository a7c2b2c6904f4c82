"""RMSNorm of torch's tensors, with a compiled kernel and with the op of `norma.torch`: needs torch and a GPU."""

import torch

import norma
import norma.torch

x = torch.randn(16384, 4096, device="cuda", dtype=torch.bfloat16)
weight = torch.ones(4096, device="cuda", dtype=torch.bfloat16)

bundle = norma.compile("examples/rms_norm.mlir")  # or norma.load("folder") of what normac wrote
y = bundle["rms_norm"](x, weight)  # on torch's current stream

z = norma.torch.rms_norm(x, (4096,), weight, eps=1e-6)
assert torch.equal(y, z)

graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = bundle["rms_norm"](x, weight)
graph.replay()
assert torch.equal(y, z)
