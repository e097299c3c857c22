"""One trace for all sizes: programs whose signatures differ in sizes alone.

The first signature of a family is traced with its numbers. With the second, the sizes that differ
become symbols (``symbolic_sizes``), and the program is traced once more; from then on a signature
that decides alike only puts numbers in, 0.05 to 0.3 ms instead of a trace.

A family is trusted as far as it was checked: a program is compared with a trace of its own when
the family has made 4, 32, 256, ... of them. One difference, and the family is given up.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torchlike._runtime import logs
from torchlike._runtime.first_calls import cost
from torchlike._runtime.first_calls.cost import Worth
from torchlike._runtime.first_calls.interpreter import EvaluationPlan
from torchlike._runtime.first_calls.rules import NoNumpyRule
from torchlike._runtime.first_calls.settings import LEAST
from torchlike._runtime.first_calls.tracing import traced
from torchlike._runtime.lazy import LazyModule

#: JAX's symbolic sizes are imported with the first family.
log = logs.logger("first_calls")

symbolic_sizes: Any = LazyModule("torchlike._runtime.first_calls.symbolic_sizes")

#: Traces with symbols that a family gets: sizes may agree by chance in the first two signatures.
_TRIES = 3
#: Sizes of dimensions beyond this are traced: their product may overflow.
_MOST = 1 << 31
#: Which of a family's programs are compared with a trace of their own.
_CHECKED = frozenset(4 * 8**k for k in range(10))

Shape = tuple[int, ...]


class FormTemplate(NamedTuple):
    """Makes a form for sizes that are not those of its operands."""

    #: The function for these sizes.
    make: Callable[[tuple[Any, ...]], Callable[..., Any]]
    sizes: tuple[int, ...]


class Specialised(NamedTuple):
    """A program of a family, for one signature."""

    plan: EvaluationPlan
    sizes: dict[str, int]
    worth: Worth
    dtypes: list[Any]
    avals: list[Any]
    structure: Any


class Generic:
    """A program whose sizes are symbols."""

    def __init__(
        self,
        template: FormTemplate,
        tree: Any,
        leaves: Sequence[Any],
        old: list[Shape | None],
        new: list[Shape | None],
    ) -> None:
        """Trace the program with symbols for the sizes that differ. ``old``, ``new``: shapes of the
        leaves (None for numbers), the template's sizes last."""
        names: dict[tuple[int, int], str] = {}
        for before, now in zip(old, new, strict=True):
            for a, b in zip(before or (), now or (), strict=True):
                if a != b:
                    names.setdefault((a, b), f"n{len(names)}")
        self._pattern = [
            None
            if now is None
            else tuple([names.get((a, b), b) for a, b in zip(before or (), now, strict=True)])
            for before, now in zip(old, new, strict=True)
        ]
        symbols = symbolic_sizes.symbols(list(names.values()))
        *shapes, sizes = [
            None if p is None else tuple([symbols.get(n, n) for n in p]) for p in self._pattern
        ]
        assert sizes is not None
        present = {name: b for (_, b), name in names.items()}
        with symbolic_sizes.decisions.by(present) as decided:
            closed = traced(template.make(sizes), tree, shapes, leaves)
        self._guards = list(decided.guards)
        self._structure = closed.structure
        self._dtypes = [aval.dtype for aval in closed.in_avals]
        self._avals = closed.out_avals
        self._closed = closed
        self._plan = EvaluationPlan(
            closed, (symbolic_sizes.of_jax.Expression, symbolic_sizes.value)
        )
        self._shapes = list(
            {
                size
                for eqn in closed.jaxpr.eqns
                for v in (*eqn.invars, *eqn.outvars)
                for size in v.aval.shape
                if symbolic_sizes.is_symbolic(size)
            }
        )
        self.uses = 0

    def match(self, shapes: list[Shape | None]) -> dict[str, int] | None:
        """Return the numbers for which the symbols stand in these shapes, or None where the program
        is not for them."""
        sizes: dict[str, int] = {}
        for pattern, shape in zip(self._pattern, shapes, strict=True):
            for symbol, size in zip(pattern or (), shape or (), strict=True):
                if type(symbol) is str:
                    if sizes.setdefault(symbol, size) != size or size < LEAST:
                        return None
                elif symbol != size:
                    return None
        # An expression that is 0 or 1 would have been told from others without a comparison, and
        # checks of what memory can be had (memory_size) pass symbols by.
        for size in self._shapes:
            if not LEAST <= symbolic_sizes.value(size, sizes) <= _MOST:
                return None
        return sizes if all(guard.check(sizes) for guard in self._guards) else None

    def specialised(self, sizes: dict[str, int]) -> Specialised:
        avals = []
        for aval in self._avals:
            shape = tuple([symbolic_sizes.value(n, sizes) for n in aval.shape])
            if math.prod(shape) > _MOST:
                raise NoNumpyRule("a result of that size")
            avals.append(aval.update(shape=shape))

        def value(size: Any) -> int:
            return symbolic_sizes.value(size, sizes)

        worth = cost.worth(self._closed.jaxpr, value)
        return Specialised(self._plan, sizes, worth, self._dtypes, avals, self._structure)


class Family:
    """Signatures that differ in sizes alone."""

    def __init__(self, first: list[Shape | None]) -> None:
        self._first = first
        self._generics: list[Generic] = []
        self._tries = 0

    def find(
        self,
        name: str,
        template: FormTemplate,
        tree: Any,
        leaves: Sequence[Any],
        shapes: list[Shape | None],
    ) -> tuple[Specialised, bool] | None:
        """Return the program for these shapes and whether it is to be checked, or None."""
        for generic in self._generics:
            sizes = generic.match(shapes)
            if sizes is not None:
                break
        else:
            if self._tries == _TRIES:
                return None
            self._tries += 1
            found = self._traced(name, template, tree, leaves, shapes)
            # JAX asks each symbol whether it is an integer, and keeps the frame that it asked from
            # in a cycle: with it ours and the user's, who would wonder what holds his arrays.
            gc.collect(1)
            if found is None:
                return None
            generic, sizes = found
            self._generics.append(generic)
        try:
            specialised = generic.specialised(sizes)
        except NoNumpyRule:
            return None
        generic.uses += 1
        return specialised, generic.uses in _CHECKED

    def _traced(
        self,
        name: str,
        template: FormTemplate,
        tree: Any,
        leaves: Sequence[Any],
        shapes: list[Shape | None],
    ) -> tuple[Generic, dict[str, int]] | None:
        """Trace a program with symbols and return it with their numbers here, or None where there
        is none."""
        try:
            generic = Generic(template, tree, leaves, self._first, shapes)
            sizes = generic.match(shapes)
        except Exception as error:  # whatever code does that was written for numbers
            log.debug("%s is traced for each size: %s: %s", name, type(error).__name__, error)
            return None
        return None if sizes is None else (generic, sizes)

    def give_up(self) -> None:
        self._generics, self._tries = [], _TRIES
