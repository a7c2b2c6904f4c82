"""The extension module: loads bundles and launches their functions."""

import os
from collections.abc import Callable, Sequence
from typing import Any, final

@final
class Bundle:
    """Functions that were compiled, for one target or several. ``bundle["name"]`` is one of them."""

    @staticmethod
    def open(folder: str | os.PathLike[str], *, ptx_fallback: bool = False) -> Bundle:
        """Loads the bundle in a folder that normac wrote. With ``ptx_fallback``, functions run by PTX, which the driver compiles, on
        devices that no cubin fits."""
    @staticmethod
    def from_files(files: dict[str, bytes], *, ptx_fallback: bool = False) -> Bundle:
        """Takes a bundle from memory: the contents of its files by their paths from its folder. ``ptx_fallback`` is as for a
        folder."""
    @property
    def functions(self) -> list[str]:
        """The names of its functions."""
    @property
    def targets(self) -> list[str]:
        """What it was compiled for, such as ``["sm_90a"]``."""
    def __getitem__(self, name: str) -> Function: ...
    def __contains__(self, name: str) -> bool: ...
    def __len__(self) -> int: ...

@final
class Function:
    """A compiled function. Calling it launches its kernels."""

    def __call__(
        self,
        *inputs: Any,
        out: Any | tuple[Any, ...] | list[Any] | None = None,
        stream: Any | None = None,
        allocator: Callable[[tuple[int, ...], str, int], Any] | None = None,
        **named: Any,
    ) -> Any:
        """Launches the kernels on tensors of any framework that speaks DLPack; returns the outputs.

        The inputs come by position or by name, and so do scalars, by name. Outputs are ``out``, one tensor or a tuple; or what
        ``allocator(shape, dtype, device)`` returns for each; or new tensors of the first input's type, where that offers an
        allocator, as torch's does. ``stream`` is a pointer or an object of a framework's; without it the work goes to the
        stream that the inputs' framework works on, or to the default stream where the framework does not say.
        """
    def launch_viewed(self, *tensors: Any) -> None:
        """Launches the kernels on dense tensors, inputs and then outputs, each seen with the shape that the function has for it,
        whatever its own: ``(batch, tokens, 4096)`` as rows of 4096. This is the shortest way to a launch."""
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> Sequence[TensorDescription]:
        """What the inputs must be."""
    @property
    def outputs(self) -> Sequence[TensorDescription]:
        """What the outputs must be."""
    @property
    def scalars(self) -> Sequence[str]:
        """The names of the scalars that a call may set."""

@final
class Framework:
    """A framework's tensors, as far as a call needs to know them."""

    def __init__(
        self,
        types: Sequence[type],
        empty_strided: Callable[..., Any],
        empty_like: Callable[..., Any],
        dtypes: dict[str, Any],
    ):
        """``types`` are those whose objects are tensors and nothing more; ``empty_strided(shape, strides, dtype=, device=)`` and
        ``empty_like(tensor, dtype=)`` allocate; ``dtypes`` are the framework's types of elements by their names in MLIR."""

@final
class SignatureCache:
    """The functions that serve calls of one op, by the signatures of their tensors.

    All but the leading dims of the first tensor belong to a signature, which number its rows. A tensor that is not there does too.
    """

    def __init__(self, framework: Framework, row_dims: int): ...
    def call(self, *tensors: Any | None) -> tuple[Any, ...] | None:
        """Launches the function that serves such tensors on new outputs, which are returned; ``None`` where there is no such function
        yet, or where these tensors are not dense and aligned as it needs them. A tensor that is ``None`` is not there."""
    def add(self, function: Function, *tensors: Any | None) -> tuple[Any, ...]:
        """Launches a function on tensors as :meth:`call` does, and keeps it for those of their signature. Raises what is wrong with
        the tensors."""

@final
class TensorDescription:
    """What a function's kernels take a tensor for."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str:
        """The type of the elements, as MLIR spells it."""
    @property
    def shape(self) -> Sequence[int | str]:
        """Of each dim the extent, or the expression that it is."""
    @property
    def align(self) -> int:
        """The alignment of the first element, in bytes."""

def target_of_device(device: int = 0) -> str:
    """The target that GPU ``device`` runs best, such as ``"sm_90a"``."""
