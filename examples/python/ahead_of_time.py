"""Builds the bundles of a layer without a GPU, and uses them without a compiler: `ahead_of_time.py build FOLDER`, and then
`ahead_of_time.py run FOLDER` on a machine with torch and a GPU."""

import sys

import torch

import norma.torch

action, folder = sys.argv[1:]
norm = norma.torch.RMSNorm(4096, eps=1e-6, dtype=torch.bfloat16)
if action == "build":
    with norma.torch.prebuild(folder, targets=["sm_90a", "sm_100a"]):
        norm.to("meta")(torch.empty(1, 4096, dtype=torch.bfloat16, device="meta"))
else:
    norma.use_bundles(folder)
    y = norm.to("cuda")(torch.randn(16384, 4096, dtype=torch.bfloat16, device="cuda"))
    assert y.shape == (16384, 4096)
