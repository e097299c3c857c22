"""When calls are recorded, and when what recurs becomes a program."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax

from torchlike._extensions.deferred.calls import DeferredCall
from torchlike._runtime import background

if TYPE_CHECKING:
    from torchlike._extensions.deferred.pieces import DeferredPiece

#: Nodes of the tree of calls, after which it is begun anew.
_MOST_NODES = 50_000
#: Chains in a row that had not been met before, after which a queue rests, and for how many calls.
MOST_NEW = 64
REST = 2_000


class Policy:
    """Calls are recorded from the second time on. When a piece has run one by one for about as long
    as compiling it takes, it is compiled in the background; from a run on that is fixed then, and
    not before, it runs as a program."""

    rests = True

    def records_unknown(self, times: int) -> bool:
        """Return whether a call is recorded of which nothing is known but that it was met so
        often."""
        return times > 0

    def program(self, piece: DeferredPiece, inputs: list[Any]) -> Any:
        """Return the program of a piece that is about to run with these inputs; None where it is to
        run one by one."""
        price = piece.price
        due = price.compiling / price.one_by_one
        if not price.pays or piece.runs < due:
            return None
        if piece.task is None:
            compiled = functools.partial(_compiled, piece.jitted(inputs), _avals(inputs))
            piece.task = background.submit(compiled, "a piece of deferred calls")
            return None
        return None if piece.runs < 2 * math.ceil(due) else piece.task.result()


class AtOnce(Policy):
    """Everything is recorded, and each piece is compiled at its first flush: for accelerators, and
    for tests."""

    rests = False

    def records_unknown(self, times: int) -> bool:
        return True

    def program(self, piece: DeferredPiece, inputs: list[Any]) -> Any:
        return piece.jitted(inputs)


class OneByOne(AtOnce):
    """Everything is recorded and nothing compiled: for tests."""

    def program(self, piece: DeferredPiece, inputs: list[Any]) -> Any:
        return None


def _avals(inputs: Sequence[Any]) -> list[Any]:
    """Return what a program is compiled for: the background holds no array."""
    return [
        jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))
        if hasattr(x, "shape")
        else x
        for x in inputs
    ]


def _compiled(jitted: Any, avals: list[Any]) -> Any:
    return jitted.lower(*avals).compile()


current: Policy = Policy()
_BY_NAME = {"deferred": Policy, "deferred-at-once": AtOnce, "deferred-one-by-one": OneByOne}


def choose(name: str) -> bool:
    """Choose the policy that ``TORCHLIKE_EAGER`` names; return whether there is one."""
    global current
    if name in _BY_NAME:
        current = _BY_NAME[name]()
    return name in _BY_NAME


class _Tree:
    root = DeferredCall(None, None, None, (), None)
    nodes = 0


def root() -> DeferredCall:
    """Return the node from which all chains begin."""
    if _Tree.nodes > _MOST_NODES:
        _Tree.root, _Tree.nodes = DeferredCall(None, None, None, (), None), 0
    return _Tree.root


def count_node() -> None:
    """Count a new node of the tree."""
    _Tree.nodes += 1
