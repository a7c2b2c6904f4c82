"""The extension module: loads bundles and launches their functions."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

#: The version of the package.
__version__: str

@final
class Bundle:
    """Compiled functions, for one target or several. ``bundle["name"]`` returns one of them."""

    @staticmethod
    def open(folder: str | os.PathLike[str], *, ptx_fallback: bool = False) -> Bundle:
        """Loads the bundle in a folder that normac wrote. With ``ptx_fallback``, functions run by PTX on devices that no cubin fits;
        the driver compiles the PTX."""
    @staticmethod
    def from_files(files: dict[str, bytes], *, ptx_fallback: bool = False) -> Bundle:
        """Creates a bundle from memory: the contents of its files by their paths in its folder. ``ptx_fallback`` is as for
        :meth:`open`."""
    @property
    def functions(self) -> list[str]:
        """The names of its functions."""
    @property
    def targets(self) -> list[str]:
        """The targets that it was compiled for, such as ``["sm_90a"]``."""
    def __getitem__(self, name: str) -> Function: ...
    def __contains__(self, name: str) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
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
        """Launches the kernels on tensors of any framework that supports DLPack, and returns the outputs.

        Inputs are passed by position or by name, scalars by name. Outputs are ``out``, one tensor or a tuple; or the results of
        ``allocator(shape, dtype, device)`` for each; or new tensors of the first input's type, if its framework offers an
        allocator, as torch does. ``stream`` is a pointer or a framework's stream object; by default the kernels are launched on the
        current stream of the inputs' framework, or on the default stream if the framework does not tell its current one.

        A launch is not recorded for gradients, so tensors of torch that require grad are refused unless torch does not record either, as
        within ``torch.no_grad()``. Outputs that are given count as modified in place.
        """
    def launch_viewed(self, *tensors: Any) -> None:
        """Launches the kernels on dense tensors, inputs and then outputs. Each tensor is viewed with the shape that the function
        expects, whatever its own: ``(batch, tokens, 4096)`` as rows of 4096. This is the launch with the least overhead."""
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> Sequence[TensorDescription]:
        """Descriptions of the inputs."""
    @property
    def outputs(self) -> Sequence[TensorDescription]:
        """Descriptions of the outputs."""
    @property
    def scalars(self) -> Sequence[str]:
        """The names of the scalars that a call may set."""

@final
class Framework:
    """The parts of a framework that calls use to allocate and recognize tensors."""

    def __init__(
        self,
        types: Sequence[type],
        empty_strided: Callable[..., Any],
        empty_like: Callable[..., Any],
        dtypes: dict[str, Any],
    ):
        """``types`` are the exact types whose objects are plain tensors; ``empty_strided(shape, strides, dtype=, device=)`` and
        ``empty_like(tensor, dtype=)`` allocate; ``dtypes`` maps MLIR's names of element types to the framework's."""

@final
class SignatureCache:
    """Maps the signatures of an op's tensors to the compiled functions that serve them.

    A signature contains all dims of the tensors except the leading dims of the first one, which only determine the number of its rows.
    It also contains which tensors are absent.
    """

    def __init__(self, framework: Framework, row_dims: int): ...
    def call(self, *tensors: Any | None) -> tuple[Any, ...] | None:
        """Launches the function for these tensors and returns its new outputs. Returns ``None`` if there is no such function
        yet, or if the tensors are not dense and aligned as it requires. A tensor that is ``None`` is absent."""
    def add(self, function: Function, *tensors: Any | None) -> tuple[Any, ...]:
        """Launches a function on tensors as :meth:`call` does, and stores it for their signature. Raises an error if the tensors do not
        fit the function."""

@final
class TensorDescription:
    """A function's requirements for a tensor."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str:
        """The type of the elements, in MLIR's spelling."""
    @property
    def shape(self) -> Sequence[int | str]:
        """The extent of each dim, or the expression that determines it."""
    @property
    def align(self) -> int:
        """The alignment of the first element, in bytes."""

def target_of_device(device: int = 0) -> str:
    """The best target for GPU ``device``, such as ``"sm_90a"``."""
