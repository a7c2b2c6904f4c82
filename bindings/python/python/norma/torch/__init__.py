"""Norma's kernels as ops of torch: with gradients, in eager mode, under ``torch.compile`` and in CUDA graphs.

``rms_norm``, ``layer_norm``, ``softmax``, ``log_softmax`` and ``cross_entropy`` have the arguments of their namesakes in
``torch.nn.functional``, ``top_k`` those of ``torch.topk``, and ``add_rms_norm`` also adds a residual; ``RMSNorm`` and
``LayerNorm`` are modules. Without gradients, for inference, ``quantize`` and ``dequantize`` scale to 8 or 4 bits and back,
``rms_norm_quantize`` and ``add_rms_norm_quantize`` are norms whose results are quantized in the same kernel, and ``router`` selects
experts. In an existing model, :func:`replace` substitutes Norma's functions for those of ``torch.nn.functional``::

    with norma.torch.replace():
        loss = model(tokens).loss
        loss.backward()

A kernel is compiled when tensors of its types and row length first occur, and cached (:mod:`norma.cache`); it serves any number of rows.
:func:`prebuild` compiles kernels ahead of time, for machines without a compiler.
Kernels run on torch's current stream. Tensors are float32, float16 or bfloat16, on a GPU, and are made contiguous if necessary; all
arithmetic is in float32, and each result is rounded once. If Norma has no kernel, functions here raise
:class:`norma.UnsupportedError`. Gradients are kernels too and have no gradients of their own; derivatives in forward mode and by transforms
of ``torch.func`` are errors as well. Under autocast, results have the types that torch's would have. This needs torch 2.11 or newer.
"""

import torch

if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    # Without this API a call would not know torch's current stream.
    raise ImportError(
        f"norma.torch needs a torch with DLPack's exchange API, as 2.11 is, got torch {torch.__version__}"
    )

from norma.torch.functional import (
    add_rms_norm,
    add_rms_norm_quantize,
    cross_entropy,
    dequantize,
    layer_norm,
    log_softmax,
    quantize,
    rms_norm,
    rms_norm_quantize,
    router,
    softmax,
    top_k,
)
from norma.torch.modules import LayerNorm, RMSNorm
from norma.torch.prebuilding import prebuild
from norma.torch.replacement import replace

__all__ = [
    "LayerNorm",
    "RMSNorm",
    "add_rms_norm",
    "add_rms_norm_quantize",
    "cross_entropy",
    "dequantize",
    "layer_norm",
    "log_softmax",
    "prebuild",
    "quantize",
    "replace",
    "rms_norm",
    "rms_norm_quantize",
    "router",
    "softmax",
    "top_k",
]
