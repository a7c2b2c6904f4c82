"""Between two layers of a mixture of experts: a norm whose result is quantized to 8 bits, and a router: needs torch and a GPU."""

import torch

import norma.torch

torch.manual_seed(0)
x, residual = (torch.randn(512, 7168, device="cuda", dtype=torch.bfloat16) for _ in range(2))
weight = torch.ones(7168, device="cuda", dtype=torch.bfloat16)

q, scale, h = norma.torch.add_rms_norm_quantize(
    x, residual, (7168,), weight, eps=1e-6, block=(1, 128), scale_layout="column_major"
)

y = norma.torch.dequantize(q, scale, (1, 128), scale_layout="column_major")
expected = norma.torch.rms_norm(h, (7168,), weight, eps=1e-6)
# A float of 8 bits is off by a sixteenth at most.
torch.testing.assert_close(y, expected, rtol=0.07, atol=1e-3)

matrix = torch.randn(2048, 7168, device="cuda", dtype=torch.bfloat16)

of_matrix, scales = norma.torch.quantize(matrix, (128, 128))

assert scales.shape == (16, 56)
mx, mx_scale = norma.torch.quantize(matrix, (1, 32), scale_dtype=torch.float8_e8m0fnu, round_down=True)
assert mx_scale.shape == (2048, 224)

logits = torch.randn(512, 256, device="cuda")
bias = torch.randn(256, device="cuda")

weights, experts = norma.torch.router(logits, 8, scoring="sigmoid", bias=bias, scale=2.5)

torch.testing.assert_close(weights.sum(-1), torch.full((512,), 2.5, device="cuda"))
assert torch.equal(experts.long(), torch.topk(logits.sigmoid() + bias, 8).indices)
