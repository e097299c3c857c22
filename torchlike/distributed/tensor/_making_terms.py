"""Ops that make terms: products along a dimension that is cut, sums over one, and kin.

Along a dimension of the mesh such an op makes terms where all that is cut along it is cut in a
dimension that the op reduces: ``x @ w`` with the columns of ``x`` and the rows of ``w``. What is
whole there is cut the same way, which costs nothing. One program computes both the terms and what
they make up, so that nothing is computed twice.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._core.dispatch.executable import Executable
from torchlike._runtime.mixed_operands import is_own, spans_processes
from torchlike.distributed.device_mesh import DeviceMesh, mesh_of
from torchlike.distributed.tensor._specs import entries_of
from torchlike.distributed.tensor._terms import reductions_of, total
from torchlike.distributed.tensor.placement_types import Partial, Placement, Replicate

Shape = tuple[int, ...]


class Making(NamedTuple):
    """What an op reduces: the dimensions of its operands by labels, those of them that are reduced,
    and how. Operands at ``addends`` are not reduced: each term has its share of them."""

    labels: Sequence[Sequence[Hashable]]
    reduced: frozenset[Hashable]
    how: str = "sum"
    addends: tuple[int, ...] = ()


Rule = Callable[[list[Shape], tuple[Any, ...]], Making | None]
_K = frozenset("k")


def _product(shapes: list[Shape], statics: Any) -> Making:
    a, b = (len(s) for s in shapes[:2])
    n = max(a, b, 2) - 2
    batch = tuple(range(-n, 0))
    left = (*batch[n - (a - 2) :], "m", "k") if a > 1 else ("k",)
    right = (*batch[n - (b - 2) :], "k", "n") if b > 1 else ("k",)
    return Making([left, right], _K)


def _linear(shapes: list[Shape], statics: Any) -> Making:
    left = (*range(len(shapes[0]) - 1), "k")
    right = ("n", "k") if len(shapes[1]) > 1 else ("k",)
    return Making([left, right, ("n",)], _K, addends=(2,))


def _added_product(shapes: list[Shape], statics: Any) -> Making:
    made = _product(shapes[1:], statics)
    out = (*made.labels[0][:-1], *made.labels[1][-1:])
    return Making([out[len(out) - len(shapes[0]) :], *made.labels], _K, addends=(0,))


def _einsum(shapes: list[Shape], statics: Any) -> Making | None:
    left, arrow, right = statics[0].replace(" ", "").partition("->")
    terms = left.split(",")
    if (
        not arrow
        or "." in left
        or any(len(t) != len(s) for t, s in zip(terms, shapes, strict=True))
    ):
        return None
    return Making(terms, frozenset(left) - frozenset(right) - {","})


def _over_dimensions(how: str) -> Rule:
    def rule(shapes: list[Shape], statics: tuple[Any, ...]) -> Making:
        n = len(shapes[0])
        given = statics[0] if statics else None
        dims = (given,) if isinstance(given, int) else given or range(n)
        return Making([range(n)], frozenset(d % n for d in dims) if n else frozenset(), how)

    return rule


def _loss(shapes: list[Shape], statics: tuple[Any, ...]) -> Making | None:
    how = {"mean": "avg", "sum": "sum"}.get(statics[0])
    if how is None or len(shapes) != 2 or shapes[0] != shapes[1]:
        return None
    dims = range(len(shapes[0]))
    return Making([dims, dims], frozenset(dims), how)


#: By the names of ops.
RULES: dict[str, Rule] = {
    **dict.fromkeys(("mm", "matmul", "bmm", "mv", "dot"), _product),
    "linear": _linear,
    **dict.fromkeys(("addmm", "baddbmm"), _added_product),
    "einsum_op": _einsum,
    **dict.fromkeys(("sum", "any"), _over_dimensions("sum")),
    "mean": _over_dimensions("avg"),
    **dict.fromkeys(("prod", "all"), _over_dimensions("product")),
    **dict.fromkeys(("amax", "max_all"), _over_dimensions("max")),
    **dict.fromkeys(("amin", "min_all"), _over_dimensions("min")),
    **dict.fromkeys(("mse_loss_op", "l1_loss_op"), _loss),
}


class TermsMade(NamedTuple):
    """A result with terms, between the op's form and the tensor that has it."""

    array: Any
    stacked: jax.Array
    placements: tuple[Placement, ...]
    mesh: DeviceMesh


class _Last(threading.local):
    made: TermsMade | None = None


last = _Last()


def is_eager() -> bool:
    """Return whether operations of this thread run at once, rather than becoming a program."""
    watcher = modes.current.watcher
    return watcher is None or watcher.is_eager


class TermMaking:
    """The compiled forward of an op of ``RULES``, for operands of several processes."""

    __slots__ = ("__weakref__", "_exe", "_form", "_programs", "_rule")

    def __init__(self, exe: Executable, rule: Rule) -> None:
        self._exe, self._rule, self._form = exe, rule, exe.first.form()
        self._programs: dict[Hashable, Any] = {}

    def __call__(self, *arrays: Any) -> Any:
        if not is_eager() or not any(map(spans_processes, arrays)):
            return self._form(*arrays)
        key = tuple([_signature(a) for a in arrays])
        if key not in self._programs:
            self._programs[key] = self._program(arrays)
        found = self._programs[key]
        if found is None or any(map(is_own, arrays)):
            return self._form(*arrays)
        program, placements, mesh = found
        out, stacked = program(*arrays)
        self._exe.is_large = False  # or another form would be called
        last.made = TermsMade(out, stacked, placements, mesh)
        return out

    def _program(self, arrays: Sequence[Any]) -> Any:
        """Return (program, placements, mesh), or None where the op makes no terms of these."""
        at = [i for i, a in enumerate(arrays) if isinstance(a, jax.Array)]
        meshes = {
            a.sharding.mesh
            for a in arrays
            if isinstance(getattr(a, "sharding", None), NamedSharding)
        }
        if len(meshes) != 1:
            return None
        mesh = mesh_of(meshes.pop())
        making = self._rule([arrays[i].shape for i in at], self._exe.options[1])
        if making is None or (
            making.addends and not jnp.issubdtype(arrays[at[0]].dtype, jnp.inexact)
        ):
            return None  # integers have no shares
        cuts = [_cuts(arrays[i], labels) for i, labels in zip(at, making.labels, strict=False)]
        along = [_reduced(cuts, making, set(axes)) for axes in mesh.axes]
        placements = tuple(Replicate() if x is None else Partial(making.how) for x in along)
        if along == [None] * mesh.ndim:
            return None
        terms = _terms(self._exe.pure, making, cuts, along, at, mesh)

        def program(*arrays: Any) -> Any:
            stacked = terms(arrays)
            return total(stacked, reductions_of(placements)), stacked

        return jax.jit(program), placements, mesh


def _signature(a: Any) -> Hashable:
    return (a.shape, a.dtype, a.sharding) if isinstance(a, jax.Array) else type(a)


def _cuts(array: Any, labels: Sequence[Hashable]) -> dict[Hashable, tuple[str, ...]]:
    """Return the axes along which an operand's labelled dimensions are cut."""
    sharding = array.sharding
    if not isinstance(sharding, NamedSharding):
        return dict.fromkeys(labels, ())
    return dict(zip(labels, entries_of(sharding, array.ndim), strict=True))


def _reduced(
    cuts: Sequence[dict[Hashable, tuple[str, ...]]], making: Making, axes: set[str]
) -> Hashable | None:
    """Return the label of the reduced dimension that is cut along some axes, where nothing else
    is."""
    labels = {label for own in cuts for label, along in own.items() if axes & set(along)}
    if len(labels) != 1 or not labels <= making.reduced:
        return None
    return labels.pop()


def _terms(
    pure: Any, making: Making, cuts: Any, along: Sequence[Any], at: Sequence[int], mesh: DeviceMesh
) -> Callable[[Sequence[Any]], jax.Array]:
    """Return the function of the operands that gives the stacked terms; operands at ``at`` are
    arrays."""
    front = [axes for label, axes in zip(along, mesh.axes, strict=True) if label is not None]
    own = {a for axes in front for a in axes}
    count = math.prod(mesh.jax_mesh.shape[a] for a in own)
    entry = {
        label: next(
            tuple(a for a in found[label] if a in own)
            for found in cuts
            if set(found.get(label, ())) & own
        )
        for label in along
        if label is not None
    }
    specs = [PartitionSpec(*[entry.get(label) for label in labels]) for labels in making.labels]

    def run(operands: Sequence[Any]) -> jax.Array:
        def body(*own_parts: Any) -> jax.Array:
            given = list(operands)
            for k, (i, part) in enumerate(zip(at, own_parts, strict=True)):
                given[i] = (part / count).astype(part.dtype) if k in making.addends else part
            out = pure(*given)
            return out.reshape((1,) * len(front) + out.shape)

        return jax.shard_map(
            body,
            mesh=mesh.jax_mesh,
            in_specs=tuple(specs[: len(at)]),
            out_specs=PartitionSpec(*front),
            axis_names=own,
            check_vma=False,
        )(*[operands[i] for i in at])

    return run
