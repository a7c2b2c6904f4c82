"""Norma's kernels as ops of torch: with gradients, in eager mode, under ``torch.compile`` and in CUDA graphs.

``rms_norm``, ``layer_norm``, ``softmax``, ``log_softmax`` and ``cross_entropy`` take what their namesakes in
``torch.nn.functional`` take, ``top_k`` what ``torch.topk`` takes, and ``add_rms_norm`` adds a residual on the way; ``RMSNorm`` and
``LayerNorm`` are modules. In a model that exists, :func:`replace` puts those of ``torch.nn.functional`` in the place of torch's::

    with norma.torch.replace():
        loss = model(tokens).loss
        loss.backward()

A kernel is compiled when the first tensors of its types and row length come, and kept (:mod:`norma.cache`); any number of rows uses it.
Kernels run on torch's current stream. Tensors are float32, float16 or bfloat16, on a GPU, and are made contiguous where they are not; all
arithmetic is in float32, and each result is rounded once. Where Norma has no kernel, functions here raise
:class:`norma.UnsupportedError`. Gradients are kernels too and have no gradients of their own. Under autocast, results have the types
that torch's would have. This needs torch 2.11 or newer.
"""

import torch

if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    # Without it a call would not know torch's current stream.
    raise ImportError(
        f"norma.torch needs a torch with DLPack's exchange API, as 2.11 is, got torch {torch.__version__}"
    )

from norma.torch.functional import add_rms_norm, cross_entropy, layer_norm, log_softmax, rms_norm, softmax, top_k
from norma.torch.modules import LayerNorm, RMSNorm
from norma.torch.replacement import replace

__all__ = [
    "LayerNorm",
    "RMSNorm",
    "add_rms_norm",
    "cross_entropy",
    "layer_norm",
    "log_softmax",
    "replace",
    "rms_norm",
    "softmax",
    "top_k",
]
