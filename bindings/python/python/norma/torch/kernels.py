"""Compiled functions by what they are compiled for, and their launches on torch's tensors."""

from collections.abc import Callable
from typing import Any

import torch

from norma import Function, target_of_device
from norma.compilation import bundle_of
from norma.compiler import Request
from norma.errors import ArgumentError

#: The functions of this process, by device, program and what the program is made for. Threads may fill it at a time: they find the
#: same functions.
_functions: dict[tuple[Any, ...], Function] = {}
_targets: dict[int, str] = {}


def kernel(device: int, program: Callable[..., str], *made_for: Any) -> Function:
    """The function of a program for a device, compiled at the first call."""
    key = (device, program, made_for)
    function = _functions.get(key)
    if function is None:
        function = _functions[key] = _compile(device, program(*made_for))
    return function


def _compile(device: int, source: str) -> Function:
    target = _targets.get(device)
    if target is None:
        target = _targets[device] = target_of_device(device)
    bundle = bundle_of(Request(source, (target,)))
    return bundle[bundle.functions[0]]


def launch(function: Function, *tensors: torch.Tensor) -> None:
    """Launches a function on dense tensors, inputs and then outputs, on the current stream of their device.

    Kernels read vectors, whose tensors must be aligned; a slice that is not, which is rare, is copied.
    """
    try:
        function.launch_viewed(*tensors)
    except ArgumentError:
        inputs = function.inputs
        aligned = [
            tensor.clone() if tensor.data_ptr() % described.align else tensor
            for tensor, described in zip(tensors, inputs, strict=False)
        ]
        if all(new is old for new, old in zip(aligned, tensors, strict=False)):
            raise
        function.launch_viewed(*aligned, *tensors[len(inputs) :])
