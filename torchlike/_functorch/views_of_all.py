"""The view of all examples that a function under ``vmap`` made of one.

A result that is a view of an argument shares memory with it outside of the ``vmap`` too: the steps
of its chain are made once more, of the tensor that is mapped over, one dimension further on.
"""

from __future__ import annotations

from collections.abc import Callable

from torchlike._core import modes
from torchlike._core.views import (
    Alias,
    Conj,
    Diagonal,
    Expand,
    Geometry,
    Imag,
    Neg,
    Permute,
    Real,
    Reshape,
    Select,
    Slice,
    Step,
    UnfoldStep,
    View,
    ViewAsComplex,
    ViewAsReal,
    split_dynamic,
    step,
    view_strides,
)
from torchlike._ops.shape.views.view_factory import make_view
from torchlike.tensor import Tensor


def _permuted(s: Step, g: Geometry) -> list[Step]:
    return [step(Permute, (0, *(d + 1 for d in s.params[0])))]


def _further(s: Step, g: Geometry) -> list[Step]:
    """Return the step with its first parameter, a dimension, one further."""
    return [step(type(s), s.params[0] + 1, *s.params[1:])]


def _diagonal(s: Step, g: Geometry) -> list[Step]:
    offset, dim1, dim2 = s.params
    return [step(Diagonal, offset, dim1 + 1, dim2 + 1)]


def _reshaped(s: Step, g: Geometry) -> list[Step] | None:
    return _to(g, (g.size[0], *s.params[0]))


def _to(g: Geometry, size: tuple[int, ...]) -> list[Step] | None:
    stride = view_strides(g.size, g.stride, size)
    return None if stride is None else [step(Reshape, size, stride)]


def _expanded(s: Step, g: Geometry) -> list[Step] | None:
    size = s.params[0]
    new = len(size) - len(g.size) + 1
    wider = _to(g, (g.size[0], *(1,) * new, *g.size[1:])) if new else []
    return None if wider is None else [*wider, step(Expand, (g.size[0], *size))]


def _same(s: Step, g: Geometry) -> list[Step]:
    return [s]


_OF_ALL: dict[type[Step], Callable[[Step, Geometry], list[Step] | None]] = {
    Permute: _permuted,
    Select: _further,
    Slice: _further,
    UnfoldStep: _further,
    Diagonal: _diagonal,
    Reshape: _reshaped,
    Expand: _expanded,
    **dict.fromkeys((Alias, Conj, Imag, Neg, Real, ViewAsComplex, ViewAsReal), _same),
}


def view_of_all(rows: Tensor, view: View) -> Tensor | None:
    """Return a view of ``rows``, whose first dimension is the mapped one, that has for each row the
    view of one example; None where memory has no such view, or a step depends on the example, and
    for what is recorded: there the result has the history that it got inside."""
    if rows.requires_grad and modes.current.grad_enabled:
        return None
    found = rows
    for s, dynamic in zip(view.steps, split_dynamic(view.steps, view.dynamic), strict=True):
        of_all = _OF_ALL.get(type(s))
        steps = None if of_all is None else of_all(s, found._geometry)
        if steps is None or not all(type(i) is int for i in dynamic):
            return None
        for further in steps:
            values = dynamic if further.dynamic else ()
            found = make_view(found, further, values, f"{type(further).__name__}Backward0")
    return found
