"""Operands on several devices.

A program of JAX's runs on one device and refuses operands that are committed to another. PyTorch
lets a single number on the CPU stand beside tensors on a GPU, and indices into them; a captured
function as a whole takes what its first lines move to the GPU. So a call that JAX has refused for
its devices is tried once more, with those operands from the CPU as plain values, which go where
the others are. A call on one device pays nothing.

Without any operand that is committed a program runs on JAX's default device, not on the CPU, where
PyTorch's tensors are unless somebody says otherwise; so a captured one is told (`Placed`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike._runtime import platforms, targets

#: Ops that index: indices on the CPU into tensors elsewhere.
INDEXING = frozenset(("index", "index_put", "index_put_", "_unsafe_index", "_index_put_impl_"))


def refused(error: Exception) -> bool:
    """Return whether JAX refused operands for their devices."""
    return "incompatible devices" in str(error)


def call(
    miss: Callable[..., Any],
    args: Any,
    kwargs: Any = None,
    *,
    op: str | None = None,
    is_program: bool = False,
) -> tuple[Any, ...]:
    """Return the result of JAX's ``cache_miss`` for arguments, some of which may be the CPU's
    beside others.

    ``op`` names what is called; ``is_program`` says that it is a whole captured function, whose
    operands may all be moved. ValueError where JAX still refuses.
    """
    kwargs = kwargs or {}
    try:
        with _target_of((args, kwargs)):
            return miss(*args, **kwargs)
    except ValueError as error:
        if not refused(error):
            raise
    kinds = "biu" if op in INDEXING else ""
    moves = functools.partial(_as_values, kinds=kinds, is_program=is_program)
    args, kwargs = jax.tree.map(moves, (args, kwargs))
    return miss(*args, **kwargs)[0], None, True  # to be asked again: others may be on one device


def _target_of(operands: Any) -> AbstractContextManager[Any]:
    """Trace for the CPU, within a `with` block, what has operands on the CPU, though JAX's default
    is another: an accelerator's kernels are in no program for it."""
    arrays = [x for x in jax.tree.leaves(operands) if isinstance(x, jax.Array)]
    if arrays and not platforms.cpu_is_default() and all(map(_is_on_cpu, arrays)):
        return targets.platform("cpu")
    return contextlib.nullcontext()


def _as_values(leaf: Any, kinds: str, is_program: bool) -> Any:
    if not isinstance(leaf, jax.Array) or isinstance(leaf, core.Tracer):
        return leaf
    if (not leaf.ndim or is_program or leaf.dtype.kind in kinds) and _is_on_cpu(leaf):
        return np.asarray(leaf)
    return leaf


def _is_on_cpu(x: Any) -> bool:
    if not isinstance(x, jax.Array) or isinstance(x, core.Tracer):
        return False
    there = x.sharding.device_set
    return len(there) == 1 and platforms.is_cpu(next(iter(there)))


class Placed:
    """A captured function's program on the device where its capture has put it: the CPU, unless it
    met tensors elsewhere or moved some there."""

    def __init__(self, program: Any, device: Any) -> None:
        self._program = program
        self._device = device
        self._is_default = device == jax.local_devices()[0]
        #: The operands that the first call had on the CPU and the program has not.
        self._from_cpu: list[int] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._program, name)

    def __call__(self, *args: Any) -> Any:
        if self._from_cpu is None:
            on_cpu = [_is_on_cpu(a) for a in args]
            there = platforms.is_cpu(self._device)
            self._from_cpu = [] if there else [i for i, moves in enumerate(on_cpu) if moves]
        if self._from_cpu:
            given = list(args)
            for i in self._from_cpu:
                if _is_on_cpu(given[i]):  # a cell that was written has moved
                    given[i] = np.asarray(given[i])
            args = tuple(given)
        if self._is_default:
            return self._program(*args)
        with jax.default_device(self._device):
            return self._program(*args)
