"""Compiles the kernels of a model ahead of time, on a machine that needs no GPU."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from torch.utils._python_dispatch import TorchDispatchMode

from norma import bundles
from norma.compilation import files_of, targets_of
from norma.compiler import Compiler, Request
from norma.torch import library, support
from norma.torch.kernels import Written
from norma.torch.programs import Source


@contextlib.contextmanager
def prebuild(folder: str | os.PathLike[str], targets: str | Sequence[str]) -> Iterator[None]:
    """While the context is active, calls of the functions here on tensors of torch's device ``meta`` compile the kernels that such calls
    on a GPU need, for each of the targets, and write their bundles into the folder, for :func:`norma.use_bundles`::

        with norma.torch.prebuild("bundles", targets=["sm_90a", "sm_100a"]):
            x = torch.empty(1, 4096, dtype=torch.bfloat16, device="meta", requires_grad=True)
            norma.torch.softmax(x, -1).sum().backward()

    Tensors of that device have no memory: the results are of the right shapes and types, and nothing runs. A whole model can be called,
    with :func:`replace` where it uses torch's functions. Forward calls build their kernels with and without gradients; kernels of a
    backward are built by calling it. The kernels serve eager mode, ``torch.compile`` and CUDA graphs, and any number of rows. Bundles
    that the folder has are replaced. The context applies to calls of its thread; meanwhile no other thread may call the functions here
    on tensors of that device.

    Raises:
        CompilerNotFoundError: there is no compiler.
    """
    mode = _Prebuild(Path(folder), targets_of(targets), Compiler.find())
    support.prebuilding += 1
    try:
        with mode:
            yield
    finally:
        support.prebuilding -= 1


class _Prebuild(TorchDispatchMode):
    """Sees each op that reaches a device, and compiles what Norma's ops would launch there."""

    def __init__(self, folder: Path, targets: tuple[str, ...], compiler: Compiler):
        super().__init__()
        self._folder = folder
        self._targets = targets
        self._compiler = compiler
        self._built: set[Source] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.namespace == "norma":
            try:
                library.IMPLEMENTATIONS[func._opname](*args, **(kwargs or {}))
            except Written as written:
                for source in written.sources:
                    self._build(source)
        return func(*args, **(kwargs or {}))

    def _build(self, source: Source) -> None:
        if source in self._built:
            return
        for target in self._targets:
            files = files_of(Request(source.text, (target,), source.schedules), self._compiler)
            name = json.loads(files["manifest.json"])["functions"][0]["name"]
            digest = hashlib.sha256(json.dumps(source).encode()).hexdigest()[:12]
            bundles.write(self._folder / f"{name}_{digest}" / target, files)
        self._built.add(source)
