"""An op on each tensor of a list, in one compiled call, for gradients and foreach functions.

On 41 gradients of a small GPT the calls, one at a time, took 4 ms of a step of 22.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from torchlike._core import modes, overrides
from torchlike._core.dispatch.executable import Executable, unwatched
from torchlike._core.dispatch.inplace import in_place_executable
from torchlike._core.dispatch.spec import OpSpec
from torchlike._core.storage import Storage
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import DECLINED
from torchlike._runtime.inlining import AT_ONCE
from torchlike.tensor import Tensor

#: (plain, donating) by the executable for one tensor and the number of tensors.
_compiled: dict[
    tuple[Executable, int], tuple[first_calls.CompiledForm, first_calls.CompiledForm]
] = {}


def at_once(tensors: Sequence[Tensor]) -> bool:
    """Return whether one compiled call may take all of them: plain tensors with values on one
    device, of which nothing else (a capture, a transform, a protocol) wants to see each."""
    current = modes.current
    if current.capture is not None or current.levels or overrides.are_enabled() or len(tensors) < 2:
        return False
    device = tensors[0]._storage.device
    for t in tensors:
        storage = t._storage
        if type(t) is not Tensor or t._view is not None or type(storage) is not Storage:
            return False
        if storage.host is not None or storage.strides is not None:
            return False
        cell = storage.cell
        if type(cell) is not np.ndarray and not isinstance(cell, jax.Array):
            return False
        if storage.device != device:
            return False
    return True


def update_all(spec: OpSpec, targets: Sequence[Tensor], others: Sequence[Any]) -> None:
    """Run the in-place form of an op on each of ``targets``, all with the other operands
    ``others`` (0-dim tensors and numbers). The op has no static arguments."""
    values = [*targets, *(o for o in others if isinstance(o, Tensor))]
    distinct = len({id(t._storage) for t in values}) == len(values)
    inference = modes.current.inference or not any(t._inference for t in targets)
    recorded = modes.current.grad_enabled and any(t.requires_grad for t in values)
    if not distinct or not inference or recorded or not at_once(values):
        for target in targets:
            getattr(target, f"{spec.name}_")(*others)
        return
    exe = in_place_executable(spec, 0, (), (), 1 + len(others))
    plain, donating = _forms(exe, len(targets))
    storages = [t._storage for t in targets]
    sole = all(s.is_sole_owner() for s in storages)
    cells = tuple([s.cell for s in storages])
    rest = tuple([o._storage.cell if isinstance(o, Tensor) else o for o in others])
    new = DECLINED
    if any(type(a) is np.ndarray for a in (*cells, *rest)):
        new = plain.by_numpy(cells, rest)
        if new is DECLINED:
            cells = tuple([s.concrete() for s in storages])
            rest = tuple([o._read() if isinstance(o, Tensor) else o for o in others])
    if new is DECLINED:
        new = (donating if sole else plain)(cells, rest)
    for storage, array in zip(storages, new, strict=True):
        storage.write(array)


def _forms(exe: Executable, n: int) -> tuple[first_calls.CompiledForm, first_calls.CompiledForm]:
    found = _compiled.get((exe, n))
    if found is None:

        def each(targets: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple([exe.pure(t, *others) for t in targets])

        name = f"{exe.options[0].name}_ of many"
        plain = first_calls.jit(unwatched(each), name=name, inline=AT_ONCE)
        found = plain, first_calls.jit(each, name=name, like=plain, donate_argnums=0)
        _compiled[exe, n] = found
    return found
