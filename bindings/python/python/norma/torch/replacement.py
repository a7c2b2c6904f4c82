"""Substitutes Norma's functions for torch's in existing models."""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator

import torch.nn.functional as F

from norma.errors import UnsupportedError
from norma.torch import functional, support

#: The functions that can be replaced: Norma's function, and a check of the arguments on which the existence of a kernel
#: depends.
_FUNCTIONS: dict[str, tuple[Callable, Callable]] = {
    "rms_norm": (
        functional.rms_norm,
        lambda input, normalized_shape, weight=None, eps=None: support.rms_norm(input, normalized_shape, weight, 0.0),
    ),
    "layer_norm": (
        functional.layer_norm,
        lambda input, normalized_shape, weight=None, bias=None, eps=1e-5: support.layer_norm(
            input, normalized_shape, weight, bias
        ),
    ),
    "softmax": (
        functional.softmax,
        lambda input, dim=None, _stacklevel=3, dtype=None: support.softmax(input, dim, dtype),
    ),
    "log_softmax": (
        functional.log_softmax,
        lambda input, dim=None, _stacklevel=3, dtype=None: support.softmax(input, dim, dtype),
    ),
    "cross_entropy": (
        functional.cross_entropy,
        lambda input,
        target,
        weight=None,
        size_average=None,
        ignore_index=-100,
        reduce=None,
        reduction="mean",
        label_smoothing=0.0: support.cross_entropy(
            input, target, weight, size_average, reduce, reduction, label_smoothing, 0.0, 0.0
        ),
    ),
}

#: The number of active contexts, and torch's functions from before the first one.
_lock = threading.Lock()
_depth = 0
_originals: dict[str, Callable] = {}


@contextlib.contextmanager
def replace(*names: str, fallback: bool = True) -> Iterator[None]:
    """While the context is active, the functions of ``torch.nn.functional`` with these names (by default all that Norma has) are Norma's,
    also in modules of ``torch.nn``.

    A call for which Norma has no kernel goes to torch's function; without ``fallback`` it raises :class:`norma.UnsupportedError`. The
    replacement applies to all threads. Contexts may be nested; torch's functions are restored when the last one is left.
    """
    for name in names:
        if name not in _FUNCTIONS:
            raise ValueError(f"expected names among {', '.join(_FUNCTIONS)}, got '{name}'")
    global _depth
    with _lock:
        _depth += 1
        for name in names or _FUNCTIONS:
            original = _originals.setdefault(name, getattr(F, name))
            setattr(F, name, _replacement(name, original, fallback))
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                for name, original in _originals.items():
                    setattr(F, name, original)
                _originals.clear()


def _replacement(name: str, original: Callable, fallback: bool) -> Callable:
    function, why_not = _FUNCTIONS[name]

    @functools.wraps(original)
    def replaced(*arguments, **named):
        reason = why_not(*arguments, **named)
        if reason is None:
            return function(*arguments, **named)
        if fallback:
            return original(*arguments, **named)
        raise UnsupportedError(reason)

    return replaced
