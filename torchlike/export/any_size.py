"""Programs of forward alone, for other compilers, whose dimensions may have any size.

The trace has symbols for such sizes. What it asks of them (is this one 1? are these two equal?) is
decided by the example, as ``torch.export`` does it: the program is for sizes that decide alike. A
decision between two ways to compute the same, such as attention in blocks from some length on, is
told where other sizes would decide otherwise.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax import export as jax_export

from torchlike._runtime.first_calls.symbolic_sizes import SizeGuard, decisions
from torchlike._runtime.jax_private.symbolic_sizes import is_symbolic, value, variables
from torchlike._runtime.trees import flatten_call
from torchlike.serialization.stablehlo.artifact import Artifact, Unexportable, built
from torchlike.tensor import Tensor

#: CallSizes of 1 are taken apart by broadcasting; a program for any size is traced for more.
LEAST = 2


@dataclass(frozen=True)
class CallSizes:
    """The sizes of tensors among a call's arguments.

    Attributes:
      rows: for each tensor a number or an expression of symbols, as text, for each dimension.
      at_hand: what each symbol is in the example.
      most: the largest size that a symbol may stand for, where one was said.
    """

    rows: Sequence[Sequence[int | str]]
    at_hand: Mapping[str, int]
    most: Mapping[str, int]

    def shapes(self) -> list[tuple[Any, ...]]:
        """Return the rows as shapes for JAX."""
        bounds = [f"{name} >= {LEAST}" for name in self.at_hand]
        bounds += [f"{name} <= {n}" for name, n in self.most.items()]
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
    for guard in guards:
        other = next((some for some in _others(guard, sizes) if not guard.check(some)), None)
        if other is not None:
            _refuse_or_tell(artifact.about["name"], guard, other)
    return artifact, shapes


#: At which a decision is tried.
_TRIED = (LEAST, 3, 4, 7, 8, 16, 31, 64, 100, 1009, 4096, 65537)


def _others(guard: SizeGuard, sizes: CallSizes) -> Iterator[dict[str, int]]:
    """Yield other sizes that the program is for, one symbol at a time."""
    known = {n for side in guard[1:3] if is_symbolic(side) for n in variables(side)}
    for name in sorted(known & sizes.at_hand.keys()):
        most = sizes.most.get(name)
        tried = [n for n in _TRIED if most is None or n <= most] + ([most] if most else [])
        for n in tried:
            yield {**sizes.at_hand, name: n}


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
