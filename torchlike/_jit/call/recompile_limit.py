"""How often ``torch.compile`` compiles one function anew before it says that this is enough.

PyTorch counts programs, of which one serves all sizes and numbers from the second on that differs
from the first in them; 0 and 1 are sizes of their own. Here each size has a program, and is not
counted for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._jit.call.tracer import MODES_IN_KEY, Call
from torchlike._jit.guards.keys import without_objects
from torchlike.tensor import Tensor


class TorchDynamoException(RuntimeError):
    """What goes wrong while a program is captured."""


class InternalTorchDynamoError(TorchDynamoException):
    """An error that another one caused, which it names."""


class FailOnRecompileLimitHit(Exception):
    """A function that must be one graph was compiled for too many kinds of calls."""


#: ``torch._dynamo.config.recompile_limit``.
_default = 8


def set_recompile_limit(most: int) -> None:
    """Set for how many kinds of calls functions that do not say are compiled."""
    global _default
    _default = most


class RecompileLimit(NamedTuple):
    """The limit of one function.

    Attributes:
      most: the ``recompile_limit`` it was given; None for the setting of all.
      raises: whether a call beyond it raises. Otherwise it runs eagerly, if ``most`` was given.
    """

    most: float | None = None
    raises: bool = False

    @classmethod
    def of(cls, most: Any, fullgraph: Any) -> RecompileLimit:
        """Return the limit of ``torch.compile(recompile_limit=most, fullgraph=fullgraph)``. Raises
        TypeError where ``most`` is no number."""
        if most is not None and not isinstance(most, (int, float)):
            raise TypeError(f"recompile_limit must be an int or None, not {type(most).__name__}")
        return cls(most, bool(fullgraph))


class KindsOfCalls:
    """Counts for what kinds of calls a function is compiled; ``dynamic`` as ``torch.compile`` takes
    it."""

    def __init__(self, limit: RecompileLimit, dynamic: bool | None) -> None:
        self._limit, self._dynamic = limit, dynamic
        #: By what calls have in common that differ in sizes and numbers: which sizes were 0 or 1,
        #: with the first sizes and numbers and whether there were others.
        self._kinds: dict[Any, dict[Any, tuple[Any, bool]]] = {}

    def clear(self) -> None:
        """Forget all calls."""
        self._kinds.clear()

    def is_beyond(self, call: Call) -> bool:
        """Count a call that no program fits, and return whether it is to run eagerly.

        Raises FailOnRecompileLimitHit where the function must be compiled.
        """
        most, raises = self._limit
        if most is None:
            if not raises:
                return False
            most = _default
        kind, ones, sizes = _parts(call)
        if self._dynamic is False:
            ones = sizes
        of_kind = self._kinds.get(kind, {})
        first, others = of_kind.get(ones, (sizes, False))
        varies = others or (sizes != first and self._dynamic is None)
        is_new = ones not in of_kind or (varies and not any(v for _, v in of_kind.values()))
        if not is_new or self._count() < most:
            self._kinds.setdefault(kind, of_kind)[ones] = first, varies
            return False
        if raises:
            raise FailOnRecompileLimitHit("Hard failure due to fullgraph=True")
        return True

    def _count(self) -> int:
        return sum(
            len(of_kind) + any(others for _, others in of_kind.values())
            for of_kind in self._kinds.values()
        )


def _parts(call: Call) -> tuple[Any, Any, Any]:
    """Return what a call has in common with those that differ from it in sizes and numbers; which
    of its sizes are 0 or 1; and the sizes and numbers."""
    kind: list[Any] = []
    ones: list[Any] = []
    sizes: list[Any] = []
    alike = without_objects(call.key, MODES_IN_KEY)
    for leaf, part in zip(call.leaves, alike[MODES_IN_KEY:], strict=True):
        if isinstance(leaf, Tensor):
            shape = tuple(leaf.shape)
            kind.append((type(leaf), len(shape), leaf.dtype, leaf.requires_grad))
            ones.append(tuple([n if n <= 1 else None for n in shape]))
            sizes.append(shape)
        elif type(leaf) in (int, float):
            kind.append(type(leaf))
            sizes.append(leaf)
        else:
            kind.append(part)
    return (*alike[:MODES_IN_KEY], *kind), tuple(ones), tuple(sizes)
