"""Formulas of views, joins, indexing and reductions."""

from __future__ import annotations

import sys
from typing import Any

from torchlike.ops._aten.composites.shapes import reshape
from torchlike.ops._aten.derivatives.rules import formula, summed_to
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def _size(t: Tensor) -> list[int]:
    return list(t.shape)


formula(
    "view.default",
    "_unsafe_view",
    "_reshape_alias",
    saves=False,
    self=lambda g, a: reshape(g, _size(a.self)),
)
formula("t", saves=False, self=lambda g, a: aten.t.default(g))
formula("transpose.int", saves=False, self=lambda g, a: aten.transpose.int(g, a.dim0, a.dim1))
formula("squeeze", saves=False, self=lambda g, a: _unsqueezed(g, a.self, None))
formula("squeeze.dim", saves=False, self=lambda g, a: _unsqueezed(g, a.self, [a.dim]))
formula("squeeze.dims", saves=False, self=lambda g, a: _unsqueezed(g, a.self, a.dim))
formula("unsqueeze", saves=False, self=lambda g, a: aten.squeeze.dim(g, a.dim))
formula("expand", saves=False, self=lambda g, a: summed_to(g, a.self.shape))
formula("detach", saves=False)


def _unsqueezed(g: Tensor, x: Tensor, dims: Any) -> Tensor:
    n = x.dim()
    places = range(n) if dims is None else sorted(d % max(n, 1) for d in dims)
    for d in places:
        if n and x.shape[d] == 1:
            g = aten.unsqueeze.default(g, d)
    return g


def _permuted_back(g: Tensor, a: Any) -> Tensor:
    n = len(a.dims)
    back = [0] * n
    for i, d in enumerate(a.dims):
        back[d % n] = i
    return aten.permute.default(g, back)


formula("permute", saves=False, self=_permuted_back)
formula(
    "select.int",
    saves=False,
    self=lambda g, a: aten.select_backward.default(g, _size(a.self), a.dim, a.index),
)
formula(
    "slice.Tensor",
    saves=False,
    self=lambda g, a: aten.slice_backward.default(
        g, _size(a.self), a.dim, a.start or 0, sys.maxsize if a.end is None else a.end, a.step
    ),
)


def _parts(g: Tensor, a: Any) -> list[Tensor]:
    dim = a.dim % max(t.dim() for t in a.tensors)
    found, start = [], 0
    for t in a.tensors:
        n = t.shape[dim]
        found.append(aten.slice.Tensor(g, dim, start, start + n))
        start += n
    return found


formula("cat", saves=False, tensors=_parts)
formula(
    "stack",
    saves=False,
    tensors=lambda g, a: [aten.select.int(g, a.dim, i) for i in range(len(a.tensors))],
)


def _filled(g: Any, a: Any) -> list[Tensor]:
    """Return the cotangents of all parts, zeros for those that have none."""
    like = next(c for c in g if c is not None)
    return [
        aten.zeros.default(list(n), dtype=like.dtype, layout=like.layout, device=like.device)
        if c is None
        else c
        for c, n in zip(g, a.sizes, strict=True)
    ]


formula(
    "split.Tensor",
    "split_with_sizes",
    every=True,
    saves=False,
    self=lambda g, a: aten.cat.default(_filled(g, a), *([a.dim] if a.dim else [])),
)
formula(
    "unbind.int",
    every=True,
    saves=False,
    self=lambda g, a: aten.stack.default(_filled(g, a), *([a.dim] if a.dim else [])),
)
formula(
    "index_select",
    self=lambda g, a: aten.index_add.default(_new_zeros(g, a.self), a.dim, a.index, g),
)
formula(
    "gather", self=lambda g, a: aten.scatter_add.default(_new_zeros(g, a.self), a.dim, a.index, g)
)
formula(
    "index.Tensor",
    self=lambda g, a: aten.index_put.default(_new_zeros(g, a.self), a.indices, g, True),
)


def _new_zeros(g: Tensor, like: Tensor) -> Tensor:
    return aten.new_zeros.default(
        g, _size(like), dtype=like.dtype, layout=like.layout, device=like.device
    )


formula(
    "tril",
    saves=False,
    self=lambda g, a: aten.tril.default(g, *([a.diagonal] if a.diagonal else [])),
)
formula(
    "triu",
    saves=False,
    self=lambda g, a: aten.triu.default(g, *([a.diagonal] if a.diagonal else [])),
)
formula("flip", saves=False, self=lambda g, a: aten.flip.default(g, a.dims))
formula("roll", saves=False, self=lambda g, a: aten.roll.default(g, [-s for s in a.shifts], a.dims))


# -- reductions ------------------------------------------------------------------------------------


def _spread(g: Tensor, a: Any) -> Tensor:
    """Expand the gradient of a sum to the size of what was summed."""
    size = _size(a.self)
    if size and a.dim and not a.keepdim:
        for d in sorted(d % len(size) for d in a.dim):
            g = aten.unsqueeze.default(g, d)
    return aten.expand.default(g, size)


formula("sum.default", saves=False, self=lambda g, a: aten.expand.default(g, _size(a.self)))
formula("sum.dim_IntList", saves=False, self=_spread)
formula(
    "mean.default",
    saves=False,
    self=lambda g, a: aten.div.Scalar(aten.expand.default(g, _size(a.self)), a.self.numel()),
)


def _mean(g: Tensor, a: Any) -> Tensor:
    count = 1
    for d in a.dim if a.dim else range(a.self.dim()):
        count *= a.self.shape[d]
    return aten.div.Scalar(_spread(g, a), count)


formula("mean.dim", saves=False, self=_mean)
formula(
    "cumsum",
    saves=False,
    self=lambda g, a: aten.flip.default(
        aten.cumsum.default(aten.flip.default(g, [a.dim]), a.dim), [a.dim]
    ),
)


def _at_indices(g: Any, a: Any) -> Tensor:
    """Put the gradient of ``max`` along a dimension where the maximum was."""
    g, places = g[0], a.second
    size = _size(a.self)
    if not a.keepdim:
        g, places = aten.unsqueeze.default(g, a.dim), aten.unsqueeze.default(places, a.dim)
    zeros = aten.new_zeros.default(g, size, pin_memory=False)
    return aten.scatter.src(zeros, a.dim, places, g)


formula(
    "max.dim",
    "min.dim",
    every=True,
    result=(1,),
    self=lambda g, a: None if g[0] is None else _at_indices(g, a),
)


def _evenly(g: Tensor, a: Any) -> Tensor:
    """Divide the gradient of ``amax`` evenly among all elements equal to the maximum."""
    result = a.result
    dims = a.dim or []
    if dims and not a.keepdim:
        places = {d % a.self.dim() for d in dims}
        size = [1 if d in places else n for d, n in enumerate(a.self.shape)]
        g, result = aten.view.default(g, size), aten.view.default(result, size)
    mask = aten.eq.Tensor(a.self, result)
    count = aten.sum.dim_IntList(mask, list(dims), True) if dims else aten.sum.default(mask)
    return aten.mul.Tensor(aten.div.Tensor(g, count), mask)


formula("amax", "amin", result=True, self=_evenly)
formula("max.default", "min.default", result=True, self=lambda g, a: _of_all(g, a))


def _of_all(g: Tensor, a: Any) -> Tensor:
    mask = aten.eq.Tensor(a.self, a.result)
    return aten.mul.Tensor(aten.div.Tensor(g, aten.sum.default(mask)), mask)
