"""What is refused, by the same exception and in the same words as PyTorch."""

from __future__ import annotations

import math
import operator
import warnings

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.attention.bias")  # PyTorch imports it for nobody

#: Dimensions that there are not, given with indices that are none either.
NO_DIMENSION = {
    "gather": lambda t: t.gather(t.ones(2, 5), -7, t.tensor([[9]])),
    "take_along_dim": lambda t: t.take_along_dim(t.ones(2, 5), t.tensor([[9]]), -7),
    "index_select": lambda t: t.index_select(t.ones(2, 5), 2, t.tensor([9])),
    "scatter": lambda t: t.ones(2, 5).scatter(-7, t.tensor([[9]]), 1.0),
    "index_add": lambda t: t.ones(2, 5).index_add(-7, t.tensor([9]), t.ones(2, 5)),
    "index_fill": lambda t: t.ones(2, 5).index_fill(7, t.tensor([9]), 1),
    "index_copy": lambda t: t.ones(2, 5).index_copy(7, t.tensor([9]), t.ones(2, 5)),
}
#: Numbers out of range: the dimension is counted as the index is written.
OUT_OF_RANGE = {
    "index: second": lambda t: t.ones(2, 5)[:, 5],
    "index: after a number": lambda t: t.ones(2, 5)[0, 9],
    "index: after None": lambda t: t.ones(2, 5)[0, None, 9],
    "index: after an ellipsis": lambda t: t.ones(2, 3, 5)[..., 9],
    "index: before an ellipsis": lambda t: t.ones(2, 3, 5)[0, 3, ...],
    "index: of nothing": lambda t: t.ones(2, 0)[0, 0],
    "index: list of nothing": lambda t: t.ones(10, 0)[:, [0, 1]],
    "unravel_index": lambda t: t.unravel_index(t.tensor(0.5), (2, 2)),
}
#: Shapes that are not broadcast to: a write does not take off dimensions of size 1.
OTHER_SHAPES = {
    f"copy_: {shape} into {into}": lambda t, into=into, shape=shape: t.zeros(into).copy_(
        t.ones(shape)
    )
    for into, shape in [
        ((3,), (1, 3)),
        ((), (1,)),
        ((2, 3), (1, 1, 1)),
        ((1, 3), (1, 2, 3)),
        ((3,), (1, 0)),
        ((0,), (2, 3)),
        ((2, 3), (2,)),
    ]
}
#: One of the two is a number, the other is not.
NUMBERS_AND_VECTORS = {
    f"{name}: {shape} into {into}": lambda t, name=name, into=into, shape=shape, rest=rest: getattr(
        t.zeros(into), name
    )(0, t.tensor([0]), t.ones(shape), *rest)
    for name, rest in [("index_add", ()), ("index_add_", ()), ("index_reduce", ("amax",))]
    for into, shape in [((4,), ()), ((), (1,))]
}
REFUSALS = {
    **NO_DIMENSION,
    **OUT_OF_RANGE,
    **OTHER_SHAPES,
    **NUMBERS_AND_VECTORS,
    "cumsum_: bool": lambda t: t.ones(2, dtype=t.bool).cumsum_(0),
    "cumprod_: bool": lambda t: t.ones(2, dtype=t.bool).cumprod_(0),
    "cumsum_: no dimension": lambda t: t.ones(0, 3, dtype=t.bool).cumsum_(2),
    "unique: 0-dim": lambda t: t.unique(t.tensor(1), dim=0),
    "unique: nothing twice": lambda t: t.unique(t.zeros(0, 0), dim=0),
    "unique: nothing beside": lambda t: t.unique(t.zeros(2, 0), dim=0),
    "index_reduce": lambda t: t.ones(3).index_reduce(0, t.tensor([9]), t.ones(1), "mean"),
    "index_reduce: max": lambda t: t.ones(3).index_reduce(0, t.tensor([1]), t.ones(1), "max"),
    "scatter_reduce: complex": lambda t: t.scatter_reduce(
        t.ones(3).cfloat(), 0, t.tensor([0]), t.ones(1).cfloat(), "amax"
    ),
    "scatter_reduce: bool": lambda t: t.scatter_reduce(
        t.ones(3).bool(), 0, t.tensor([0]), t.ones(1).bool(), "mean"
    ),
    "attention: mask and hint": lambda t: t.nn.functional.scaled_dot_product_attention(
        t.ones(2, 3), t.ones(2, 3), t.ones(2, 3), t.ones(2, 2), is_causal=True
    ),
    "attention: a bias and a hint": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.ones(1, 1, 2, 3)] * 3, t.nn.attention.bias.causal_upper_left(2, 2), is_causal=True
    ),
    "attention: complex": lambda t: t.nn.functional.scaled_dot_product_attention(
        *[t.ones(2, 3).cfloat()] * 3
    ),
    "mean": lambda t: t.mean(t.ones(3), dtype=t.int32),
    "nanmean": lambda t: t.nanmean(t.ones(3), dtype=t.int32),
    "nanmean: integers": lambda t: t.nanmean(t.ones(3).long()),
    "slice": lambda t: t.ones(3)[1:2.5],
    "slice: step": lambda t: t.ones(3)[::2.0],
    "slice: zero": lambda t: t.ones(3)[::0],
    "slice: negative": lambda t: t.ones(3)[::-1],
    "cumsum: bool": lambda t: t.cumsum(t.ones(3), 0, dtype=t.bool),
    "cumprod: bool": lambda t: t.ones(3).cumprod(0, dtype=t.bool),
    "split: negative": lambda t: t.zeros(10).split([-1, 11]),
    "split: sum": lambda t: t.zeros(10).split([5, 6]),
    "split: 0-dim": lambda t: t.tensor(3).split(1),
    "chunk: 0-dim": lambda t: t.tensor(3).chunk(1),
    "expand: negative": lambda t: t.zeros(1, 3).expand(-2, 3),
    "expand: leading": lambda t: t.zeros(1, 3).expand(2, -2, 3),
    "expand: -1 leading": lambda t: t.zeros(1, 3).expand(-1, 1, 3),
    "broadcast_to": lambda t: t.broadcast_to(t.zeros(1, 3), (-2, 3)),
    "as_strided: stride": lambda t: t.as_strided(t.zeros(9), (3,), (-1,), 5),
    "as_strided: size": lambda t: t.zeros(9).as_strided((-3,), (1,)),
    "as_strided: offset": lambda t: t.zeros(9).as_strided((3,), (1,), -1),
    "tensordot: -1": lambda t: t.tensordot(t.ones(2, 3), t.ones(3, 2), -1),
    "tensordot: 3": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 3), 3),
    "tensordot: sizes": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 3), 1),
    "tensordot: pair": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 3), ([0], [1])),
    "tensordot: lists": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 3), ([0, 1], [1])),
    "tensordot: range": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 3), ([5], [1])),
    "tensordot: twice": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 3), ([0, 0], [0, 0])),
    "tensordot: dtypes": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 3).double(), ([0], [0])),
    "gcd": lambda t: t.gcd(t.tensor([1.0]), t.tensor([2.0])),
    "gcd: mixed": lambda t: t.gcd(t.tensor([1.0]).half(), t.tensor([2])),
    "lcm": lambda t: t.lcm(t.tensor([True]), t.tensor([True])),
    "logcumsumexp": lambda t: t.logcumsumexp(t.tensor([1, 2]), 0),
    "logcumsumexp: bool": lambda t: t.logcumsumexp(t.tensor([True]), 0),
    "fftfreq": lambda t: t.fft.fftfreq(-1),
    "floor": lambda t: t.floor(t.tensor([True])),
    "ceil": lambda t: t.ceil(t.tensor([True])),
    "trunc": lambda t: t.trunc(t.tensor([True])),
    "floor_": lambda t: t.tensor([True]).floor_(),
    "round": lambda t: t.round(t.tensor([True])),
    "frac": lambda t: t.frac(t.tensor([1])),
    "~": lambda t: ~t.tensor([1.0]),
    "&=": lambda t: operator.iand(t.tensor([1, 2]), 2.5),
    "|=": lambda t: operator.ior(t.tensor([1, 2]), t.tensor([1.0])),
    "<<=": lambda t: operator.ilshift(t.tensor([1, 2]), 2.5),
    "& of floats": lambda t: t.tensor([1, 2]) & 2.5,
    "&= of floats": lambda t: operator.iand(t.tensor([1.0]), 2),
    "index_select": lambda t: t.arange(4.0).index_select(0, t.tensor([-1])),
    "index_select: rows": lambda t: t.ones(2, 3).index_select(0, t.tensor([-1])),
    "index_select: columns": lambda t: t.ones(2, 3).index_select(1, t.tensor([-1])),
    "index_select: beyond": lambda t: t.ones(2, 3).index_select(-1, t.tensor([3])),
    "index_select: 0-dim": lambda t: t.tensor(1.0).index_select(0, t.tensor([0, 0])),
    "inner": lambda t: t.inner(t.ones(2, 3), t.ones(2, 2)),
    "inner: dtypes": lambda t: t.inner(t.ones(2), t.ones(2).double()),
    "addmm: inner": lambda t: t.addmm(t.ones(2, 2), t.ones(2, 3), t.ones(2, 3)),
    "addmm: size": lambda t: t.addmm(t.ones(3, 2), t.ones(2, 3), t.ones(3, 3)),
    "addmm: dims": lambda t: t.addmm(t.ones(2, 2, 2), t.ones(2, 3), t.ones(3, 3)),
    "addmm: vector": lambda t: t.addmm(t.ones(2, 2), t.ones(2), t.ones(3, 3)),
    "addmm: dtypes": lambda t: t.addmm(t.ones(2, 2), t.ones(2, 3), t.ones(3, 2).double()),
    "addmv": lambda t: t.addmv(t.ones(3), t.ones(2, 3), t.ones(3)),
    "addmv: dims": lambda t: t.addmv(t.ones(2, 2), t.ones(2, 3), t.ones(3)),
    "addr": lambda t: t.addr(t.ones(3, 3), t.ones(2), t.ones(2)),
    "addbmm": lambda t: t.addbmm(t.ones(2, 2), t.ones(2, 2, 3), t.ones(2, 2, 3)),
    "baddbmm": lambda t: t.baddbmm(t.ones(2, 2), t.ones(2, 2, 3), t.ones(2, 2, 3)),
    "einsum: sizes": lambda t: t.einsum("ij,jk->ik", t.ones(2, 3), t.ones(2, 3)),
    "einsum: fewer": lambda t: t.einsum("ij,jk", t.ones(2, 3)),
    "einsum: more": lambda t: t.einsum("ij", t.ones(2, 3), t.ones(3, 2)),
    "einsum: dims": lambda t: t.einsum("ij", t.ones(2)),
    "einsum: dims under dots": lambda t: t.einsum("...ijk", t.ones(2, 3)),
    "einsum: none": lambda t: t.einsum("", t.ones(2, 3)),
    "einsum: output": lambda t: t.einsum("ij->k", t.ones(2, 3)),
    "einsum: output twice": lambda t: t.einsum("ij->ii", t.ones(2, 3)),
    "einsum: letter": lambda t: t.einsum("i1->i", t.ones(2, 3)),
    "einsum: arrow": lambda t: t.einsum("ij->i->j", t.ones(2, 3)),
    "einsum: diagonal": lambda t: t.einsum("ii->i", t.ones(2, 3)),
    "einsum: dot": lambda t: t.einsum("i.j->ij", t.ones(2, 3)),
    "einsum: dot in output": lambda t: t.einsum("ij->i.", t.ones(2, 3)),
    "einsum: dots twice": lambda t: t.einsum("...i...->i", t.ones(2, 3)),
    "einsum: dots": lambda t: t.einsum("...ij,...jk->...ik", t.ones(4, 2, 3), t.ones(5, 3, 2)),
    "einsum: dtypes": lambda t: t.einsum("ij,jk->ik", t.ones(2, 3), t.ones(3, 2).double()),
    "mask: none": lambda t: filled(t, t.ones(3, 4) > 0, t.zeros(0, dtype=t.int64)),
    "mask: too few of another dtype": lambda t: filled(t, t.ones(3, 4) > 0, t.tensor([1, 2])),
    "index: too many of another dtype": lambda t: filled(t, t.tensor([0, 1]), t.ones(3, 4).int()),
    "out: meta": lambda t: t.exp(t.ones(3), out=t.empty(3, device="meta")),
    "out: of meta": lambda t: t.add(*[t.ones(3, device="meta")] * 2, out=t.empty(3)),
    "out: cat to meta": lambda t: t.cat([t.ones(3)] * 2, out=t.empty(6, device="meta")),
    "view_as_complex: 0-dim": lambda t: t.view_as_complex(t.tensor(1.0)),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_words(name):
    errors = []
    for library in (torch, torchlike):
        with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)) as caught:
            REFUSALS[name](library)
        errors.append((caught.type, str(caught.value)))
    assert errors[1] == errors[0]


WORKING = {
    "cumsum_: no bools": lambda t: t.ones(0, 3, dtype=t.bool).cumsum_(1),
    "cumprod_: no bools": lambda t: t.ones(3, 0, dtype=t.bool).cumprod_(0),
    "cumsum_: one bool": lambda t: t.tensor(True).cumsum_(0),
    "cumsum: no bools": lambda t: t.cumsum(t.ones(0, dtype=t.bool), 0, dtype=t.bool),
    "x[:] = longer": lambda t: filled(t, slice(None), t.ones(1, 1, 3, 4)),
    "index_copy: a number": lambda t: t.zeros(4).index_copy(0, t.tensor([1]), t.tensor(2.0)),
    "index": lambda t: t.arange(12).view(3, 4)[np.array(1)],
    "index: two": lambda t: t.arange(12).view(3, 4)[np.array(1), np.array(2)].stride(),
    "index: mask": lambda t: t.arange(12).view(3, 4)[np.array(1, np.uint8)],
    "slice": lambda t: t.arange(6)[t.tensor(1) : t.tensor(5) : np.int64(2)],
    "floor of -0.0": lambda t: [
        t.tensor([-0.0, 0.0, -0.0, 5.0, -0.0]) // t.tensor([3.0, -3.0, -3.0, math.inf, math.inf]),
        t.div(t.tensor([-0.0, -0.5]), 2.0, rounding_mode="floor"),
    ],
    "logcumsumexp": lambda t: t.logcumsumexp(t.zeros(0, 3, dtype=t.complex64), 0),
    "fftfreq": lambda t: t.fft.fftfreq(0),
    "rfftfreq": lambda t: t.fft.rfftfreq(0),
    "expand": lambda t: t.zeros(1).expand(0),
    "&=": lambda t: operator.iand(t.tensor([5], dtype=t.uint8), t.tensor(300)),
    "bitwise_and_": lambda t: t.tensor([5]).bitwise_and_(other=t.tensor([4])),
    "tensordot": lambda t: t.tensordot(t.ones(2, 3), t.ones(3, 2), ([-1], [-2])),
    "tensordot: outer": lambda t: t.tensordot(t.ones(2, 3), t.ones(3, 2), 0),
    "tensordot: one": lambda t: t.tensordot(t.ones(2, 3), t.ones(2, 1), ([0, 1], [0, 1])),
    "einsum: repeated": lambda t: t.einsum("ij,jk->ik", t.ones(2, 1), t.ones(3, 2)),
    "einsum: promoted": lambda t: t.einsum("i,j->ij", t.ones(2), t.ones(3).double()),
    "einsum: summed": lambda t: t.einsum("ij,k->ik", t.ones(2, 3), t.ones(3).double()),
    "einsum: dots": lambda t: t.einsum("i...->...", t.ones(2, 3)),
    "einsum: numbers": lambda t: t.einsum(",", t.tensor(1.0), t.tensor(2.0)),
    "addmm": lambda t: t.addmm(t.ones(1), t.ones(2, 3), t.ones(3, 2)),
    "addmv": lambda t: t.addmv(t.tensor(1.0), t.ones(2, 3), t.ones(3)),
}


@pytest.mark.parametrize("name", WORKING)
def test_what_works_beside_it(name):
    theirs, mine = (WORKING[name](library) for library in (torch, torchlike))
    assert repr(mine) == repr(theirs)


def bytes_of(t, *values):
    return t.tensor(values, dtype=t.uint8)


def filled(t, index, value):
    x = t.arange(12.0).reshape(3, 4)
    x[index] = value
    return x


MASKS_OF_BYTES = {
    "one": lambda t: t.arange(5)[bytes_of(t, 1, 0, 1, 0, 0)],
    "two": lambda t: t.ones(3, 4)[bytes_of(t, 1, 0, 1), bytes_of(t, 1, 0, 0, 1)],
    "written": lambda t: filled(t, bytes_of(t, 1, 0, 0), t.arange(4.0)),
    "index_put": lambda t: t.ones(3).index_put((bytes_of(t, 1, 0, 1),), t.tensor(1.0), True),
    "a number": lambda t: filled(t, t.tensor(1, dtype=t.uint8), 5),
    "zero": lambda t: filled(t, t.tensor(0, dtype=t.uint8), 5),
}


@pytest.mark.parametrize("name", MASKS_OF_BYTES)
def test_masks_of_bytes_warn(name):
    found = []
    for library in (torch, torchlike):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            result = MASKS_OF_BYTES[name](library)
        found.append((repr(result), [str(w.message).partition(" (Trig")[0] for w in said]))
    assert found[0] == found[1]
