"""Decides which numbers among a call's arguments are part of its key, and which are traced.

A number is static at first: the graph is made for its value. When the same argument has made the
function compile again twice by changing its value, it is traced from then on (see ``scalars``);
where its value turns out to be needed in Python it stays static for good.

So it is with the offset of a view in its base (the 4 of ``x[:, 4:5]``), once it has changed: steps
take the numbers that indexing gave them as arrays, so one program reads from wherever a view
begins. It is needed where the program gives out a view on the argument's memory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchlike._runtime.trees import leaf_counts
from torchlike.tensor import Tensor

#: After so many recompilations caused by one number, it is traced.
TRACE_AFTER = 2
#: So with the offset of a view, which costs the program nothing.
TRACE_OFFSET_AFTER = 1
#: Stands for a traced number's value in a key, and for the numbers that say where a view begins.
TRACED = "any value"
#: Where in the signature of a tensor its view stands: the steps, and their numbers.
_VIEW = 3
_NUMBERS = frozenset((int, float))


class Numbers:
    """The numbers among one function's arguments, by structure of the call and leaf."""

    def __init__(
        self, fn: Callable[..., Any], static_argnums: Any, static_argnames: Any, dynamic: Any
    ) -> None:
        if dynamic not in (None, True, False):
            raise ValueError(f"dynamic must be True, False or None, not {dynamic!r}")
        self.dynamic = dynamic
        try:
            self._parameters = list(inspect.signature(fn).parameters.values())
        except (TypeError, ValueError):
            self._parameters = []
        self._names = frozenset(_strings(static_argnames))
        self._numbers = frozenset(_ints(static_argnums))
        self._check(fn)
        #: Whether a call has to look here before its key is complete.
        self.active = bool(dynamic or self._names or self._numbers)
        self._traced: dict[Any, set[int]] = {}
        self._refused: set[tuple[Any, int]] = set()
        self._changes: dict[tuple[Any, int], int] = {}
        self._static: dict[Any, frozenset[int]] = {}

    def _check(self, fn: Any) -> None:
        """Raise ValueError where a static argument is named that the function does not have."""
        if not self._parameters:
            return
        name = getattr(fn, "__qualname__", type(fn).__name__)
        names = {p.name for p in self._parameters}
        takes_any = {p.kind for p in self._parameters}
        for unknown in self._names - names:
            if inspect.Parameter.VAR_KEYWORD not in takes_any:
                raise ValueError(f"static_argnames: {name}() has no argument '{unknown}'")
        for i in self._numbers:
            if not -len(names) <= i < len(names) and (
                inspect.Parameter.VAR_POSITIONAL not in takes_any
            ):
                raise ValueError(f"static_argnums: {name}() has no argument {i}")

    def rewrite(self, key: list[Any], first: int, leaves: Sequence[Any], structure: Any) -> Any:
        """Take traced numbers' values out of a key whose leaves begin at ``first``.

        Returns which leaves are traced. TypeError for a tensor in a static argument's place.
        """
        static = self._static_leaves(structure)
        for i in static:
            if isinstance(leaves[i], Tensor):
                raise TypeError(
                    f"argument {i} was declared static and is a tensor: static arguments are plain "
                    "Python values, which the graph is compiled for"
                )
        marked = self._traced.get(structure, ())
        wanted: Iterable[int] = range(len(leaves)) if self.dynamic else marked
        traced = [
            i
            for i in wanted
            if type(leaves[i]) in _NUMBERS
            and i not in static
            and (structure, i) not in self._refused
        ]
        for i in traced:
            key[first + i] = (type(leaves[i]), TRACED)
        for i in marked:
            if isinstance(leaves[i], Tensor) and leaves[i]._view is not None:
                key[first + i] = with_offset(key[first + i], TRACED)
                traced.append(i)
        return traced

    def changed(self, old: Any, new: Any, first: int) -> None:
        """Count a recompilation for each number, or offset of a view, where their values are all
        that changed."""
        if self.dynamic is False or len(old) != len(new) or old[:first] != new[:first]:
            return
        at = [i for i, (a, b) in enumerate(zip(old[first:], new[first:], strict=True)) if a != b]
        structure = new[0]
        moved = {i for i in at if _is_moved(old[first + i], new[first + i])}
        for i in at:
            if i in moved:
                continue
            a, b = old[first + i], new[first + i]
            kinds = {x[0] if isinstance(x, tuple) and len(x) == 2 else None for x in (a, b)}
            if len(kinds) > 1 or not kinds <= _NUMBERS:
                return
        static = self._static_leaves(structure)
        for i in at:
            where = structure, i
            self._changes[where] = self._changes.get(where, 0) + 1
            after = TRACE_OFFSET_AFTER if i in moved else TRACE_AFTER
            if self._changes[where] >= after and where not in self._refused | static:
                self._traced.setdefault(structure, set()).add(i)
                self.active = True

    def refuse(self, structure: Any, positions: Iterable[int]) -> None:
        """Note that the values of these leaves are needed in Python, and trace them no more."""
        for i in positions:
            self._refused.add((structure, i))
            self._traced.get(structure, set()).discard(i)

    def is_needed(self, structure: Any, leaf: int) -> bool:
        """Return whether the value of a number among the arguments was found to be needed in
        Python."""
        return (structure, leaf) in self._refused

    def _static_leaves(self, structure: Any) -> frozenset[int]:
        """Return the leaves that belong to arguments declared static."""
        if not (self._names or self._numbers):
            return frozenset()
        found = self._static.get(structure)
        if found is None:
            n_positional, names, counts = leaf_counts(structure)
            static, at = set(), 0
            for j, count in enumerate(counts):
                name = self._parameter(j) if j < n_positional else names[j - n_positional]
                if name in self._names or self._index(j, n_positional, name) in self._indices():
                    static |= set(range(at, at + count))
                at += count
            found = self._static[structure] = frozenset(static)
        return found

    def _parameter(self, i: int) -> str:
        return self._parameters[i].name if i < len(self._parameters) else ""

    def _index(self, j: int, n_positional: int, name: str) -> int:
        if j < n_positional:
            return j
        return next((k for k, p in enumerate(self._parameters) if p.name == name), -1)

    def _indices(self) -> frozenset[int]:
        n = len(self._parameters)
        return frozenset(i + n if i < 0 else i for i in self._numbers)


def with_offset(signature: Any, offset: Any) -> Any:
    """Return the signature of a tensor whose view has these numbers."""
    steps, _ = signature[_VIEW]
    return (*signature[:_VIEW], (steps, offset), *signature[_VIEW + 1 :])


def _is_moved(old: Any, new: Any) -> bool:
    """Return whether two signatures are of one tensor's view at two offsets."""
    if not (isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new) > _VIEW + 1):
        return False
    a, b = old[_VIEW], new[_VIEW]
    both = isinstance(a, tuple) and isinstance(b, tuple)
    return both and with_offset(old, None) == with_offset(new, None) and TRACED not in (a[1], b[1])


def _strings(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    found = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(x, str) for x in found):
        raise TypeError(f"static_argnames must be a string or several, not {given!r}")
    return found


def _ints(given: Any) -> tuple[int, ...]:
    if given is None:
        return ()
    found = (given,) if isinstance(given, int) else tuple(given)
    if not all(isinstance(x, int) and not isinstance(x, bool) for x in found):
        raise TypeError(f"static_argnums must be an int or several, not {given!r}")
    return found
