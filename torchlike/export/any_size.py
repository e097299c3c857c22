"""Programs of forward alone, for other compilers, whose dimensions may have any size.

The trace has symbols for such sizes. What it asks of them (is this one 1? are these two equal?) is
decided by the example, as ``torch.export`` does it: the program is for sizes that decide alike. A
decision between two ways to compute the same, such as attention in blocks from some length on, is
told where other sizes would decide otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jax import export as jax_export

from torchlike._runtime.first_calls.symbolic_sizes import SizeGuard, decisions
from torchlike._runtime.jax_private.symbolic_sizes import is_symbolic, value, variables
from torchlike._runtime.trees import flatten_call
from torchlike.serialization.stablehlo.artifact import Artifact, Unexportable, built
from torchlike.tensor import Tensor

#: CallSizes of 1 are taken apart by broadcasting; a program for any size is traced for more.
LEAST = 2


class SizeRange(NamedTuple):
    """Which sizes a symbol may stand for; ``most`` is None for any.

    ``inferred``: the range was left to the model, as by ``Dim.DYNAMIC``, and may be smaller.
    """

    least: int = LEAST
    most: int | None = None
    inferred: bool = False

    @classmethod
    def of(cls, least: int | None, most: int | None, inferred: bool = False) -> SizeRange:
        """Return the range of a dimension, of which None stands for any size."""
        return cls(max(least or LEAST, LEAST), most, inferred)

    def has(self, size: int) -> bool:
        """Return whether a size is within the range."""
        return size >= self.least and (self.most is None or size <= self.most)


@dataclass(frozen=True)
class CallSizes:
    """The sizes of tensors among a call's arguments.

    Attributes:
      rows: for each tensor a number or an expression of symbols, as text, for each dimension.
      at_hand: what each symbol is in the example.
      ranges: which sizes each symbol may stand for.
    """

    rows: Sequence[Sequence[int | str]]
    at_hand: Mapping[str, int]
    ranges: Mapping[str, SizeRange]

    def shapes(self) -> list[tuple[Any, ...]]:
        """Return the rows as shapes for JAX."""
        bounds = [f"{name} >= {r.least}" for name, r in self.ranges.items()]
        bounds += [f"{name} <= {r.most}" for name, r in self.ranges.items() if r.most is not None]
        scope = jax_export.SymbolicScope(bounds)

        def size(entry: int | str) -> Any:
            return (
                jax_export.symbolic_shape(f"{entry},", scope=scope)[0]
                if isinstance(entry, str)
                else entry
            )

        return [tuple(map(size, row)) for row in self.rows]


def forward_for(
    fn: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    state: Any,
    sizes: CallSizes,
    checks: bool,
) -> tuple[Artifact, list[tuple[Any, ...]]]:
    """Return the program of ``fn(*args, **kwargs)``, without a backward, and the shapes of the
    tensors among its arguments.

    Raises:
      Unexportable: it writes state, draws random numbers, or takes one size for granted.
    """
    shapes = sizes.shapes()
    with decisions.by(sizes.at_hand) as decided:
        artifact = built(fn, args, kwargs, state, shapes, checks)
        guards = list(decided.guards)
    sizes = _narrowed(artifact.about["name"], guards, sizes)
    for guard in guards:
        if (other := _failed(guard, sizes)) is not None:
            _refuse_or_tell(artifact.about["name"], guard, other)
    return artifact, shapes


#: At which a decision is tried.
_TRIED = (LEAST, 3, 4, 7, 8, 16, 31, 64, 100, 1009, 4096, 65537)


def _failed(guard: SizeGuard, sizes: CallSizes) -> dict[str, int] | None:
    """Return other sizes that the program is for and for which a guard decides otherwise."""
    for name in _symbols(guard, sizes):
        within = sizes.ranges[name]
        ends = [n for n in (within.least, within.most) if n is not None]
        for n in filter(within.has, (*_TRIED, *ends)):
            other = {**sizes.at_hand, name: n}
            if not guard.check(other):
                return other
    return None


def _symbols(guard: SizeGuard, sizes: CallSizes) -> list[str]:
    known = {n for side in guard[1:3] if is_symbolic(side) for n in variables(side)}
    return sorted(known & sizes.ranges.keys())


def _narrowed(name: str, guards: Sequence[SizeGuard], sizes: CallSizes) -> CallSizes:
    """Return the sizes with the ranges that the model asks for, where it was left to it. They are
    told."""
    ranges = dict(sizes.ranges)
    for guard in guards:
        names = _symbols(guard, sizes)
        if guard.is_equality or len(names) != 1 or not ranges[names[0]].inferred:
            continue
        (symbol,) = names
        within, good = ranges[symbol], sizes.at_hand[symbol]
        while (other := _failed(guard, CallSizes((), sizes.at_hand, ranges))) is not None:
            if value(guard.left, other) >= value(guard.right, other):
                break  # a way to compute, which is told
            last = last_alike(guard, symbol, good, other[symbol])
            bounds = {"most": last} if other[symbol] > good else {"least": last}
            ranges[symbol] = ranges[symbol]._replace(**bounds)
        if (found := ranges[symbol]) != within:
            few = f"{found.least} <= " if found.least != within.least else ""
            many = f" <= {found.most}" if found.most is not None else ""
            warnings.warn(
                f"the program of {name} is for {few}{symbol}{many} alone, which the model asks for",
                UserWarning,
                stacklevel=5,
            )
    return CallSizes(sizes.rows, sizes.at_hand, ranges)


def last_alike(guard: SizeGuard, symbol: str, good: int, bad: int) -> int:
    """Return the size of a guard's only symbol nearest to ``bad`` up to which the guard decides as
    for ``good``."""
    while abs(bad - good) > 1:
        between = (good + bad) // 2
        if guard.check({symbol: between}):
            good = between
        else:
            bad = between
    return good


def _refuse_or_tell(name: str, guard: SizeGuard, sizes: Mapping[str, int]) -> None:
    left, right = guard.left, guard.right
    if guard.is_equality and not guard.holds:
        return  # in general they differ; where they do not, the general program is right as well
    sign = "==" if guard.is_equality else ">=" if guard.holds else "<"
    elsewhere = ", ".join(f"{k} = {n}" for k, n in sizes.items())
    if guard.is_equality or value(left, sizes) < value(right, sizes):
        raise Unexportable(
            f"{name} takes for granted that {left} {sign} {right}, as in the example, which does "
            f"not hold for {elsewhere}: give the dimension a range (Dim(min=, max=)), or an "
            "example of the usual sizes"
        )
    warnings.warn(
        f"the program of {name} is the one for {left} {sign} {right}, also where that does not "
        f"hold ({elsewhere}): a function may have chosen by it how it computes. Dim(..., max=) "
        "says that such sizes do not come",
        UserWarning,
        stacklevel=4,
    )


def fixed(args: Any, kwargs: Any) -> CallSizes:
    """Return the sizes of a call whose dimensions are all fixed."""
    return CallSizes([tuple(t.shape) for t in tensors_of(args, kwargs)], {}, {})


def tensors_of(args: Any, kwargs: Any) -> list[Tensor]:
    """Return the tensors among arguments, in order."""
    return [x for x in flatten_call(args, kwargs)[0] if isinstance(x, Tensor)]
