"""When calls are recorded, and when what recurs becomes a program."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import SingleDeviceSharding

from torchlike._extensions.deferred.account import Account
from torchlike._extensions.deferred.calls import DeferredCall, known
from torchlike._runtime import background, logs, platforms, progress

if TYPE_CHECKING:
    from torchlike._extensions.deferred.pieces import DeferredPiece

log = logs.logger("first_calls")
#: Programs of the same calls. Calls that differ again and again run one by one.
MOST_ALIKE = 3
_NO_MORE = (
    "there are %d programs of the same %d calls for operands of other sizes, or for other results; "
    "the calls that begin at %s run one by one for further ones (pad to a few sizes)"
)
#: Nodes of the tree of calls, after which it is begun anew.
_MOST_NODES = 50_000


class Policy:
    """Calls are recorded once they recur. When running them one by one has lost about what
    compiling a piece of them takes, that is compiled in the background; from a time on that is
    fixed then, and not before, it runs as a program. Times are estimates (`Account`)."""

    listens = begins_listening = True
    #: Whether a chain may begin with the read of a view, which is kept where it runs at once.
    defers_reads = False
    #: What recording may cost before anything is heard (µs).
    allowance = 0.0

    def __init__(self) -> None:
        #: How many programs there are of the same calls, for operands of other sizes or for other
        #: results.
        self._alike: Counter[Hashable] = Counter()

    def records_unknown(self, times: int) -> bool:
        """Return whether a call is recorded of which nothing is known but that it was met so
        often."""
        return times > 0

    def program(self, piece: DeferredPiece, inputs: list[Any], account: Account) -> Any:
        """Return the program of a piece that is about to run with these inputs; None where it is to
        run one by one."""
        if piece.task is None:
            if piece.runs > 1 and self._buys(piece, account):
                piece.ready = account.ready
                compiled = functools.partial(_compiled, piece.jitted(inputs), _avals(inputs))
                piece.task = background.submit(compiled, "a piece of deferred calls")
            return None
        return None if account.clock < piece.ready else piece.task.result()

    def _buys(self, piece: DeferredPiece, account: Account) -> bool:
        if not piece.is_priced and account.missing_for(piece.price.compiling, piece.due()) > 0:
            return False
        price = piece.priced()
        if not price.pays:
            return False
        kind = piece.kind
        if self._alike[kind] == MOST_ALIKE:
            self._alike[kind] += 1
            log.warning(_NO_MORE, MOST_ALIKE, len(kind), piece.line)
        if self._alike[kind] > MOST_ALIKE or not account.buys(price.compiling, piece.due()):
            return False
        self._alike[kind] += 1
        return True


class AsAsked(Policy):
    """Of a thread whose script asked for compilation, of what cannot be captured: calls are
    recorded from the first on, and a piece is compiled from its second run on, a limited number of
    them. What has to be compiled after those, and what never recurs, is as `Policy` has it."""

    begins_listening = False
    allowance = 2e6
    #: How many programs are compiled unbought.
    _MOST = 32

    def _buys(self, piece: DeferredPiece, account: Account) -> bool:
        price = piece.priced()
        if account.bought < self._MOST and price.pays:
            account.take(price.compiling)
            return True
        return super()._buys(piece, account)


class AtOnce(Policy):
    """Everything is recorded, and each piece is compiled at its first flush: for tests."""

    listens = begins_listening = False
    defers_reads = True

    def records_unknown(self, times: int) -> bool:
        return True

    def program(self, piece: DeferredPiece, inputs: list[Any], account: Account) -> Any:
        return piece.jitted(inputs)


class OnAccelerators(AtOnce):
    """Of a thread that computes on an accelerator, where NumPy stands in for nothing, and a call
    that is compiled alone takes about as long as a whole piece: a piece of new calls is compiled at
    its first flush.

    Of *variants*, whose calls were nearly all compiled before, a few are compiled at once, as the
    first steps have some; others run one by one until they recur, so that a script whose steps all
    differ compiles each call once more at most."""

    #: The part of a variant's calls that may be new.
    _NEW = 0.25
    #: Variants compiled at their first flush; how many more make another one wait a run longer.
    _AT_ONCE, _PATIENCE = 8, 4

    def __init__(self) -> None:
        super().__init__()
        self._variants = 0

    def program(self, piece: DeferredPiece, inputs: list[Any], account: Account) -> Any:
        if piece.new_calls() <= self._NEW:
            more = self._variants - self._AT_ONCE
            if more >= 0 and piece.runs <= 1 + more // self._PATIENCE:
                return None
            self._variants += 1
        with progress.told(f"compiling {len(piece.kind):,} operations from {piece.line} on"):
            places = (x.sharding for x in inputs if isinstance(x, jax.Array))
            there = next(places, None) or SingleDeviceSharding(platforms.default_device())
            return _compiled(piece.jitted(inputs, out_shardings=there), _avals(inputs))


class OneByOne(AtOnce):
    """Everything is recorded and nothing compiled: for tests."""

    def program(self, piece: DeferredPiece, inputs: list[Any], account: Account) -> Any:
        return None


def _avals(inputs: Sequence[Any]) -> list[Any]:
    """Return what a program is compiled for: the background holds no array."""
    return [
        jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=getattr(x, "weak_type", False))
        if hasattr(x, "shape")
        else x
        for x in inputs
    ]


def _compiled(jitted: Any, operands: list[Any]) -> Any:
    return jitted.lower(*operands).compile()


current: Policy = Policy()
ASKED = AsAsked()
ON_ACCELERATORS = OnAccelerators()
_BY_NAME = {"deferred": Policy, "deferred-at-once": AtOnce, "deferred-one-by-one": OneByOne}


def named(name: str) -> Policy | None:
    """Return the policy that ``TORCHLIKE_EAGER`` names; None for that of calling at once."""
    made = _BY_NAME.get(name)
    return None if made is None else made()


class _Tree:
    root = DeferredCall(None, None, None, (), None)
    nodes = 0


def root() -> DeferredCall:
    """Return the node from which all chains begin."""
    if _Tree.nodes > _MOST_NODES:
        _Tree.root, _Tree.nodes = DeferredCall(None, None, None, (), None), 0
        known.forget()
    return _Tree.root


def count_node() -> None:
    """Count a new node of the tree."""
    _Tree.nodes += 1
