"""Operands of one process beside arrays of all processes: where they are found, by whom refused.

JAX takes a process' own array beside one on a mesh of several processes for the same in all of
them, and checks nothing. So each compiled form asks here when JAX has no executable for a call's
operands, and nowhere else: a call that is refused leaves nothing in JAX's cache, and the hot path
is as it was. The room of meshes provides the check once a mesh spans processes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import NamedSharding

from torchlike._runtime.jax_private.equations import interpret, subjaxprs
from torchlike._runtime.provided import Provided


class _Replicating(threading.local):
    """How many `replicating` this thread is in."""

    depth = 0


_allowed = _Replicating()


@contextlib.contextmanager
def replicating() -> Iterator[None]:
    """Take such an operand, within a `with` block, for one that is the same in all processes."""
    _allowed.depth += 1
    try:
        yield
    finally:
        _allowed.depth -= 1


def is_replicating() -> bool:
    """Return whether this thread is inside `replicating`."""
    return _allowed.depth > 0


#: ``refuse(op)`` raises, or returns where such operands are allowed now.
refuse = Provided("refuses an op of operands of one process beside those of all", lambda op: None)
#: ``alike(made, model)`` is a new tensor where the tensor lies that it was made after.
alike = Provided("moves a new tensor to its model's mesh", lambda made, model: made)
#: ``own_draws(t, draw)`` has ``draw`` fill the process' own part of ``t``, and says whether it did.
own_draws = Provided("draws the parts of tensors over processes", lambda t, draw: False)
#: ``delivered(storages, arrays)`` sees what a program is about to write into cells.
delivered = Provided("notes which tensors stay ordinary", lambda storages, arrays: None)
#: ``ordinary_results(inputs, made)`` are the numbers of the cells that a program makes, of these
#: arrays, and that are to leave the mesh.
ordinary_results = Provided("tells a program's ordinary results", lambda inputs, made: ())
#: ``leave_mesh(storage)`` has an ordinary tensor's contents leave the mesh.
leave_mesh = Provided("has an ordinary tensor leave the mesh", lambda storage: None)


def place_of(storage: Any) -> Any:
    """Return where the contents of a cell lie on a mesh, as a guard compares it: the sharding, and
    with it placements that it does not say; None on no mesh."""
    found = None if storage.is_ordinary else getattr(storage.cell, "sharding", None)
    if not isinstance(found, NamedSharding):
        return None
    said = getattr(storage, "declared", None)
    return found if said is None else (found, said)


def spans_processes(x: Any) -> bool:
    """Return whether an operand is an array that other processes hold parts of."""
    return (
        isinstance(x, jax.Array) and not isinstance(x, core.Tracer) and not x.is_fully_addressable
    )


def check_saved(x: Any) -> None:
    """Raise NotImplementedError for values that are to be pickled, and of which other processes
    hold parts."""
    if spans_processes(x):
        raise NotImplementedError(
            "saving a DTensor whose mesh spans processes: use torch.distributed.checkpoint, or "
            "save full_tensor() or to_local()"
        )


def is_own(x: Any) -> bool:
    """Return whether an operand is an array of several elements that this process alone knows."""
    size = getattr(x, "size", 1)
    return size != 1 and not isinstance(x, core.Tracer) and not spans_processes(x)


def own_values(x: Any) -> np.ndarray:
    """Return the values of an operand, for checks: of an array that spans processes those that this
    one holds, in one dimension."""
    if not refuse.is_provided or not spans_processes(x):
        return np.asarray(x)
    return np.concatenate([np.asarray(s.data).reshape(-1) for s in x.addressable_shards])


def met(op: str, operands: Sequence[Any]) -> bool:
    """Return whether an op has both, where that is allowed; raise the error where it is not."""
    if not refuse.is_provided or not any(map(spans_processes, operands)):
        return False
    if not any(map(is_own, operands)):
        return False
    if not _allowed.depth:
        refuse(op)
    return True


def met_in_program(program: Any, operands: Sequence[Any], drawn: frozenset[int]) -> bool:
    """Return whether one of the steps of a whole program (a jaxpr) has both; raise the error where
    that is not allowed.

    ``operands`` are those behind the program's constants. Those at ``drawn`` are torchlike's own,
    such as the masks of dropout.
    """
    if not refuse.is_provided or not any(map(spans_processes, operands)):
        return False
    kinds: list[str | None] = [
        None if i in drawn else _ALL if spans_processes(x) else _OWN if is_own(x) else None
        for i, x in enumerate(operands)
    ]
    if _OWN not in kinds:
        return False
    constants: list[str | None] = [None] * (len(program.invars) - len(kinds))
    step = _first_mixed(program, constants + kinds)[1]
    if step is not None and not _allowed.depth:
        refuse(step)
    return step is not None


_ALL, _OWN = "all", "own"
#: Steps that pass each operand on as it is.
_TUPLES = ("optimization_barrier",)


def _first_mixed(program: Any, given: list[str | None]) -> tuple[list[str | None], str | None]:
    """Return (whose each result is, the name of the first step that mixes or None)."""
    steps: list[str] = []

    def run(eqn: Any, operands: list[str | None]) -> list[str | None]:
        results = _kinds_of(eqn, operands, steps)
        return [
            None if found is _OWN and v.aval.size == 1 else found
            for v, found in zip(eqn.outvars, results, strict=True)
        ]

    results = interpret(program, (None,) * len(program.constvars), given, run, lambda v: None)
    return results, next(iter(steps), None)


def _kinds_of(eqn: Any, operands: list[str | None], steps: list[str]) -> list[str | None]:
    """Return whose each result of a step is, and add the step's name to ``steps`` where it
    mixes."""
    inner = _inner(eqn)
    if inner is not None:
        results, step = _first_mixed(inner, operands)
        if step is not None:
            steps.append(step)
        return results
    if eqn.primitive.name == "sharding_constraint":
        return [_ALL]
    if eqn.primitive.name in _TUPLES:
        return operands
    if _ALL in operands and _OWN in operands:
        steps.append(eqn.primitive.name)
    of = _ALL if _ALL in operands else _OWN if _OWN in operands else None
    return [of] * len(eqn.outvars)


def _inner(eqn: Any) -> Any:
    """Return the program that a step runs on its own operands, once or more often, if it does."""
    n = len(eqn.invars), len(eqn.outvars)
    return next((p for p in subjaxprs(eqn) if (len(p.invars), len(p.outvars)) == n), None)
