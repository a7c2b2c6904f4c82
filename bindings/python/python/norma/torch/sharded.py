"""Functions whose tensors are sharded over the GPUs of a process group.

If arguments of a function have ``norm.devices``, its bundle contains the functions that one GPU runs: ``<name>_partial``, which reduces
its shards to states, and ``<name>_rest``, which takes the states of all GPUs. Here they are one call, with ``torch.distributed`` between
them::

    softmax = norma.torch.sharded.Function(bundle, "softmax")
    y = softmax(x=x)  # on each rank its own columns

Shards are in the order of the ranks. Results that are not sharded have the same bits on every rank.
"""

from typing import Any

import torch
import torch.distributed as dist

import norma
from norma.errors import ArgumentError, FunctionNotFoundError


class Function:
    """A function that all ranks of ``group`` (by default the default group) call together.

    Raises:
        FunctionNotFoundError: the bundle has no sharded function with this name.
        ArgumentError: it is compiled for a number of ranks other than the group's.
    """

    def __init__(self, bundle: norma.Bundle, name: str, group: dist.ProcessGroup | None = None):
        names = [f"{name}_partial"]
        while f"{name}_partial{len(names) + 1}" in bundle:
            names.append(f"{name}_partial{len(names) + 1}")
        names.append(f"{name}_rest")
        if missing := [run for run in names if run not in bundle]:
            raise FunctionNotFoundError(f"there is no sharded function '{name}': the bundle has no {', '.join(missing)}")
        self._name = name
        self._group = group
        self._runs = [bundle[run] for run in names]
        self._told = {state.name for run in self._runs[:-1] for state in run.outputs}
        ranks = dist.get_world_size(group)
        for given in self._runs[-1].inputs:
            if given.name in self._told and given.shape[0] != ranks:
                raise ArgumentError(f"'{name}' is compiled for {given.shape[0]} ranks, and the group has {ranks}")

    def __call__(self, *, offset: int | None = None, **shards: torch.Tensor) -> Any:
        """Returns this rank's results, given its shards by the names of the function's arguments.

        ``offset`` is the coordinate of the first element of this rank's shard along the sharded axis. It is required by functions that
        compute with coordinates, such as a cross-entropy with labels.
        """
        has_offset = any("offset" in run.scalars for run in self._runs)
        if has_offset and offset is None:
            raise ArgumentError(f"expected offset=, where this rank's shard begins, for '{self._name}', got none")
        known = {given.name for run in self._runs for given in run.inputs} - self._told
        if unknown := shards.keys() - known:
            expected = ", ".join(sorted(known))
            raise ArgumentError(f"'{self._name}' takes {expected}, got '{min(unknown)}'")
        tensors = dict(shards)
        for run in self._runs:
            named = {given.name: tensors[given.name] for given in run.inputs if given.name in tensors}
            scalars = {"offset": offset} if "offset" in run.scalars else {}
            results = run(**named, **scalars)
            if run is self._runs[-1]:
                return results
            results = results if isinstance(results, tuple) else (results,)
            for described, state in zip(run.outputs, results, strict=True):
                tensors[described.name] = self._gather(state)
        raise AssertionError("a sharded function has a last run")

    def _gather(self, state: torch.Tensor) -> torch.Tensor:
        """The states of all ranks, in order along a new first axis."""
        ranks = dist.get_world_size(self._group)
        # Concatenated along the existing first axis, the form that every backend supports.
        told = state.new_empty((ranks * state.shape[0], *state.shape[1:]))
        dist.all_gather_into_tensor(told, state, group=self._group)
        return told.view(ranks, *state.shape)
