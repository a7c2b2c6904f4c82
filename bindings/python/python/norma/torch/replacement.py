"""Substitutes Norma's functions for torch's in existing models."""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch.nn.functional as F
from torch.overrides import handle_torch_function, has_torch_function

from norma.errors import UnsupportedError
from norma.torch import functional, support

# What the functions that can be replaced take, by torch's names, which are those in the errors of calls that do not fit. Each returns the
# reason why a call is not Norma's.


def rms_norm(input, normalized_shape, weight=None, eps=None):
    return support.rms_norm(input, normalized_shape, weight, functional.FLOAT32_EPS if eps is None else eps, 0.0)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return support.layer_norm(input, normalized_shape, weight, bias, eps)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return support.softmax("softmax", input, dim, dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    return support.softmax("log_softmax", input, dim, dtype)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    numbers = label_smoothing, 0.0, 0.0
    return support.cross_entropy(input, target, weight, size_average, reduce, ignore_index, reduction, *numbers)


#: Norma's functions, and the checks of their arguments.
_FUNCTIONS: dict[str, tuple[Callable, Callable]] = {
    check.__name__: (getattr(functional, check.__name__), check)
    for check in (rms_norm, layer_norm, softmax, log_softmax, cross_entropy)
}

#: The active contexts, the innermost last: for each name that a context replaces, whether calls may fall back to torch's function.
_lock = threading.Lock()
_active: list[dict[str, bool]] = []
#: Torch's functions from before the first context that replaced them.
_originals: dict[str, Callable] = {}


@contextlib.contextmanager
def replace(*names: str, fallback: bool = True) -> Iterator[None]:
    """While the context is active, the functions of ``torch.nn.functional`` with these names (by default all that Norma has) are Norma's,
    also in modules of ``torch.nn``.

    A call for which Norma has no kernel goes to torch's function; without ``fallback`` it raises :class:`norma.UnsupportedError`. The
    replacement applies to all threads. Contexts may be nested: the innermost one that names a function applies to it, and when it is left,
    the next one does; torch's function is restored when the last one is left.
    """
    for name in names:
        if name not in _FUNCTIONS:
            raise ValueError(f"expected names among {', '.join(_FUNCTIONS)}, got '{name}'")
    context = dict.fromkeys(names or _FUNCTIONS, fallback)
    with _lock:
        _active.append(context)
        _apply(context)
    try:
        yield
    finally:
        with _lock:
            # Contexts of several threads may be left in any order, and equal ones are not the same.
            _active[:] = [other for other in _active if other is not context]
            _apply(context)


def _apply(names: Iterable[str]) -> None:
    """Makes these functions what the active contexts say."""
    for name in names:
        fallbacks = [context[name] for context in _active if name in context]
        if fallbacks:
            original = _originals.setdefault(name, getattr(F, name))
            setattr(F, name, _replacement(name, original, fallbacks[-1]))
        else:
            setattr(F, name, _originals.pop(name))


def _fall_back(original: Callable, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Calls torch's function. It would tell tensors with rules of their own the function that its name stands for now, which they do not
    know, so they are asked here."""
    values = (*arguments, *named.values())
    if has_torch_function(values):
        return handle_torch_function(original, values, *arguments, **named)
    return original(*arguments, **named)


def _replacement(name: str, original: Callable, fallback: bool) -> Callable:
    function, why_not = _FUNCTIONS[name]

    @functools.wraps(original)
    def replaced(*arguments, **named):
        reason = why_not(*arguments, **named)
        if reason is None:
            return function(*arguments, **named)
        if fallback:
            return _fall_back(original, arguments, named)
        raise UnsupportedError(f"cannot replace {name}: {reason}")

    return replaced
