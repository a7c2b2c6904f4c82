"""Normalizations and reductions, compiled to NVIDIA kernels.

Compile a program, or load what was compiled ahead of time, and call its functions on tensors of any framework that speaks
DLPack::

    import norma, torch

    bundle = norma.compile("examples/rms_norm.mlir")     # or norma.load("folder")
    y = bundle["rms_norm"](x, weight)                    # on torch's current stream

:mod:`norma.torch` provides the ops of ``torch.nn.functional`` that Norma supports, with gradients, for eager mode, ``torch.compile`` and
CUDA graphs.

Launching needs only NVIDIA's driver. Compiling starts ``normac``, which is searched where the variable ``NORMA_NORMAC`` says,
beside this package, and on ``PATH``; compiled bundles are cached (:mod:`norma.cache`). With :func:`use_bundles`, bundles that were
compiled ahead of time are found without a compiler. Everything may be used from several threads.
"""

from norma._runtime import Bundle, Function, TensorDescription, __version__, target_of_device
from norma.bundles import use_bundles
from norma.compilation import compile, load
from norma.errors import (
    ArgumentError,
    BundleError,
    CompileError,
    CompilerNotFoundError,
    DriverError,
    Error,
    FunctionNotFoundError,
    UnsupportedError,
)

__all__ = [
    "ArgumentError",
    "Bundle",
    "BundleError",
    "CompileError",
    "CompilerNotFoundError",
    "DriverError",
    "Error",
    "Function",
    "FunctionNotFoundError",
    "TensorDescription",
    "UnsupportedError",
    "__version__",
    "compile",
    "load",
    "target_of_device",
    "use_bundles",
]
