"""When calls are recorded, and when what recurs becomes a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._extensions.deferred import prices
from torchlike._extensions.deferred.calls import Call

#: Nodes of the tree of calls, after which it is begun anew.
_MOST_NODES = 50_000


class Policy:
    """Calls are recorded from the second time on, and a piece is compiled when it has been run one
    by one for as long as compiling it takes."""

    def records_unknown(self, times: int) -> bool:
        """Return whether a call is recorded of which nothing is known but that it was met so
        often."""
        return times > 0

    def price(self, calls: Sequence[Call]) -> prices.Price:
        """Return what it takes to run calls, one by one and as a program, and to compile them."""
        return prices.of(calls)

    def is_due(self, piece: Any) -> bool:
        """Return whether a piece is to be run as a program from now on."""
        return piece.price.pays and piece.runs * piece.price.one_by_one >= piece.price.compiling

    def program(self, piece: Any, inputs: Sequence[Any]) -> Any:
        """Return the program of a piece that is due."""
        return piece.jitted()


class AtOnce(Policy):
    """Everything is recorded, and each piece is compiled at its first flush: for accelerators, and
    for tests."""

    def records_unknown(self, times: int) -> bool:
        return True

    def is_due(self, piece: Any) -> bool:
        return True


class OneByOne(AtOnce):
    """Everything is recorded and nothing compiled: for tests."""

    def is_due(self, piece: Any) -> bool:
        return False


current: Policy = Policy()


class _Tree:
    root = Call(None, None, None, (), None)
    nodes = 0


def root() -> Call:
    """Return the node from which all chains begin."""
    if _Tree.nodes > _MOST_NODES:
        _Tree.root, _Tree.nodes = Call(None, None, None, (), None), 0
    return _Tree.root


def count_node() -> None:
    """Count a new node of the tree."""
    _Tree.nodes += 1
