"""Guards for code that compares argument objects (``x is self.weight``).

Of ``x is self.weight``, ``any(x is t for t in known)`` and ``table[x]`` a capture finds the answer
with the argument as itself (see ``Tracing.arguments_that_are_state``), and its program is for calls
in which the answer is the same. So it is with ``x._base`` of an argument.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence

from torchlike._core.storage import Storage
from torchlike._jit.capture.slots import Slot
from torchlike._jit.guards.guard import Guard
from torchlike.tensor import Tensor


class IdentityGuard(Guard):
    """What the arguments of a call are among the tensors that the code can reach: the same as in
    the capture."""

    __slots__ = ("_bases", "_expected", "_slots", "_strangers")
    of_arguments = True

    def __init__(
        self,
        arguments: Sequence[Tensor],
        reached: Iterable[Tensor] | None,
        rebound: Iterable[Slot],
        fixed: Iterable[Storage],
        asks_for_bases: bool,
    ) -> None:
        """Guard what the arguments are among the tensors that the code can reach: ``reached``, and
        what the slots ``rebound`` hold; None where it compares none. ``fixed``: memory that the
        program uses anyway, by which arguments are told already. ``asks_for_bases``: whether the
        code may ask what an argument is a view of."""
        #: Views, and the tensors that they must be views of (None: of none).
        self._bases: list[tuple[int, weakref.ref[Tensor] | None]] = [
            (i, None if t._base is None else weakref.ref(t._base))
            for i, t in enumerate(arguments)
            if t._view is not None and asks_for_bases
        ]
        if reached is None:
            self._slots, self._expected, self._strangers = [], {}, {}
            return
        positions = _positions(arguments)
        #: Slots, and which argument (-1: none) their tensor must be.
        self._slots: list[tuple[Slot, int]] = [
            (s, positions.get(id(s.initial), -1)) for s in rebound
        ]
        reached = list(reached)
        known = {id(t): weakref.ref(t) for t in reached}
        #: The tensors that some arguments must be, and those that the others must not be.
        self._expected = {i: known[id(t)] for i, t in enumerate(arguments) if id(t) in known}
        used = set(map(id, fixed))
        self._strangers = {id(t): known[id(t)] for t in reached if id(t._storage) not in used}

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        for i, base in self._bases:
            if arguments[i]._base is not (None if base is None else base()):
                return False
        for i, t in enumerate(arguments):
            expected = self._expected.get(i)
            if expected is not None:
                if expected() is not t:
                    return False
            elif (stranger := self._strangers.get(id(t))) is not None and stranger() is t:
                return False
        if self._slots:
            positions = _positions(arguments)
            for slot, which in self._slots:
                if positions.get(id(slot.value(arguments)), -1) != which:
                    return False
        return True

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return "an argument is (or is no longer) the same tensor as one that the code reaches"

    @property
    def asks(self) -> bool:
        """Whether there is anything to compare."""
        return bool(self._bases or self._slots or self._expected or self._strangers)


def _positions(arguments: Sequence[Tensor]) -> dict[int, int]:
    """Return the position at which each argument comes first: {id: position}."""
    found: dict[int, int] = {}
    for i, t in enumerate(arguments):
        found.setdefault(id(t), i)
    return found
