"""Caches the compiled functions of each op, and calls them on torch's tensors."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from norma import Function, target_of_device
from norma._runtime import Framework, SignatureCache
from norma.compilation import bundle_of
from norma.compiler import Request
from norma.errors import UnsupportedError
from norma.torch.programs import TYPES, Source

#: Types whose tensors are plain: memory with a shape.
PLAIN = (Tensor, Parameter)


def _framework() -> Framework:
    return Framework(PLAIN, torch.empty_strided, torch.empty_like, {name: dtype for dtype, name in TYPES.items()})


_TORCH = _framework()

#: The functions of this process, by device and source. Several threads may fill it at the same time: they find equal
#: functions.
_functions: dict[tuple[int, Source], Function] = {}
_targets: dict[int, str] = {}


class Written(Exception):
    """Ends a call on tensors of the device ``meta``, on which nothing can be launched, with the programs of such calls."""

    def __init__(self, sources: tuple[Source, ...]):
        super().__init__()
        self.sources = sources


class Op:
    """An op's functions; each is compiled when a call first needs it.

    ``program`` writes the source for the extents of a row, the types of the tensors (``None`` for an absent one) and the options.
    ``refuse`` returns the reason why there is no kernel for tensors and options, or ``None`` if there is one. It is called once for each
    signature: later calls with the same options and similar tensors skip it. If ``has_gradients``, the last option says whether the
    function also returns what gradients are computed from.
    """

    def __init__(
        self,
        program: Callable[..., Source],
        refuse: Callable[..., str | None] = lambda *_: None,
        has_gradients: bool = False,
    ):
        self._program = program
        self._refuse = refuse
        self._has_gradients = has_gradients
        self._caches: dict[tuple[int, tuple[Any, ...]], SignatureCache] = {}

    def __call__(self, row_dims: int, options: tuple[Any, ...], *tensors: Tensor | None) -> tuple[Tensor, ...]:
        """The function's results; tensors are in the order of its arguments. A row is the last ``row_dims`` dims of the first one."""
        cache = self._caches.get((row_dims, options))
        if cache is not None and not tensors[0].is_meta:
            results = cache.call(*tensors)
            if results is None and (dense := _dense(tensors)):
                results = cache.call(*dense)
            if results is not None:
                return results
        return self._call_first(row_dims, options, tensors)

    def _call_first(self, row_dims: int, options: tuple[Any, ...], tensors: tuple[Tensor | None, ...]):
        if reason := self._refuse(row_dims, options, *tensors):
            raise UnsupportedError(reason)
        first = tensors[0]
        if first.is_meta:
            kinds = [(*options[:-1], wanted) for wanted in (False, True)] if self._has_gradients else [options]
            raise Written(tuple(self._source(row_dims, kind, tensors) for kind in kinds))
        function = _function(first.get_device(), self._source(row_dims, options, tensors))
        cache = self._caches.setdefault((row_dims, options), SignatureCache(_TORCH, row_dims))
        inputs = iter(function.inputs)
        readable = [tensor if tensor is None else _readable(tensor, next(inputs).align) for tensor in tensors]
        return cache.add(function, *readable)

    def _source(self, row_dims: int, options: tuple[Any, ...], tensors: tuple[Tensor | None, ...]) -> Source:
        first = tensors[0]
        row = tuple(first.shape[first.dim() - row_dims :])
        types = (None if tensor is None else tensor.dtype for tensor in tensors)
        return self._program(row, *types, *options)


def _function(device: int, source: Source) -> Function:
    function = _functions.get((device, source))
    if function is None:
        function = _functions[device, source] = _compile(device, source)
    return function


def _compile(device: int, source: Source) -> Function:
    target = _targets.get(device)
    if target is None:
        target = _targets[device] = target_of_device(device)
    bundle = bundle_of(Request(source.text, (target,), source.schedules))
    return bundle[bundle.functions[0]]


def _dense(tensors: tuple[Tensor | None, ...]) -> list[Tensor | None] | None:
    """The tensors, contiguous; ``None`` if one of them cannot be, for which there is no kernel."""
    try:
        return [None if tensor is None else tensor.contiguous() for tensor in tensors]
    except (AttributeError, RuntimeError):
        return None


def _readable(tensor: Tensor, align: int) -> Tensor:
    """The tensor in a form that kernels can read: dense, and aligned for vectors. A slice that is not (a rare case) is copied."""
    if type(tensor) not in PLAIN:
        raise UnsupportedError(f"expected plain tensors, as the first one is, got one of type {type(tensor).__name__}")
    tensor = tensor.contiguous()
    return tensor.clone() if tensor.data_ptr() % align else tensor
