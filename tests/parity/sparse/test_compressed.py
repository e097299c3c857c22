"""Tensors in compressed layouts: making, converting, computing, gradients, files, errors."""

from __future__ import annotations

import io
import itertools
import warnings

import pytest
import torch

import torchlike
from tests.parity import oracle

DENSE = [[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 5], [0, 0, 0, 6]]
BATCH = [[[1.0, 0], [0, 2]], [[0, 3], [4, 0]]]

pytestmark = pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|BSR|BSC)", "ignore:.*beta state")


def described(result):
    """A sparse tensor as its layout and parts, anything else as it is."""
    if isinstance(result, (tuple, list)):
        return [described(r) for r in result]
    layout = str(getattr(result, "layout", "")).removeprefix("torch.")
    if not layout.startswith("sparse"):
        return result
    if layout == "sparse_coo":
        parts = result._indices(), result._values()
    elif layout in ("sparse_csr", "sparse_bsr"):
        parts = result.crow_indices(), result.col_indices(), result.values()
    else:
        parts = result.ccol_indices(), result.row_indices(), result.values()
    return [layout, tuple(result.shape), *(part.detach() for part in parts)]


def scope(t):
    a = t.tensor(DENSE)
    b = t.tensor(BATCH)
    return {
        "t": t,
        "a": a,
        "b": b,
        "repr": repr,
        "csr": a.to_sparse_csr(),
        "csc": a.to_sparse_csc(),
        "bsr": a.to_sparse_bsr((2, 2)),
        "bsc": a.to_sparse_bsc((2, 1)),
        "coo": a.to_sparse(),
        "batched": b.to_sparse_csr(),
        "hybrid": b.to_sparse_csr(dense_dim=1),
        "diagonals": t.tensor([[1.0, 2, 3], [4, 5, 6]]),
        "csr_": t.sparse_csr,
        "csc_": t.sparse_csc,
        "bsr_": t.sparse_bsr,
        "index": lambda *x: t.tensor(x),
    }


def run(text):
    def function(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return described(eval(text, {}, scope(t)))

    return function


LAYOUTS = ("csr", "csc", "bsr", "bsc")
VALUES = [
    *LAYOUTS,
    "batched",
    "hybrid",
    "a.to_sparse_bsr(2)",
    "coo.to_sparse_csr()",
    "coo.to_sparse_csc()",
    "coo.to_sparse_bsr((2, 2))",
    "csr.to_sparse_csc()",
    "csc.to_sparse_csr()",
    "csr.to_sparse_bsr((2, 2))",
    "csr.to_sparse()",
    "csc.to_sparse()",
    "bsr.to_sparse()",
    "bsc.to_sparse()",
    "batched.to_dense()",
    "hybrid.to_dense()",
    "csr.to_sparse(2)",
    "a.to_sparse(layout=csr_)",
    "a.to_sparse(layout=bsr_, blocksize=(2, 2))",
    "csr.to_sparse(layout=csc_)",
    "csr.t()",
    "bsr.t()",
    "csr.transpose(0, 1)",
    "csc.t()",
    "csr.mT",
    "csr[1]",
    "csr[0, 1]",
    "csc[1]",
    "csr.select(1, 0)",
    "batched[0]",
    "list(csr)",
    "csr.is_sparse",
    "csr.is_sparse_csr",
    "csc.is_sparse_csr",
    "csr.sparse_dim()",
    "hybrid.dense_dim()",
    "bsr.dense_dim()",
    "csr._nnz()",
    "bsr._nnz()",
    "csr.numel()",
    "csr.dim()",
    "csr.element_size()",
    "csr.dtype",
    "str(csr.layout)",
    "len(csr)",
    "csr.clone()",
    "csr.detach()",
    "csr.data",
    "csr.double()",
    "csr.half()",
    "csr.int()",
    "csr.bool()",
    "csr.to('cpu')",
    "csr.type(t.float64)",
    "csr.is_floating_point()",
    "repr(csr)",
    "repr(bsr)",
    "repr(csc.double())",
    "repr(batched)",
    "csr + csr",
    "csr.add(csr, alpha=2)",
    "csr + a",
    "a + csr",
    "csr * csr",
    "csr * a",
    "a * csr",
    "csr * 3",
    "3 * csr",
    "csr * t.tensor(3.0)",
    "csr * csc",
    "csr * (a * (a > 2)).to_sparse_csr()",
    "csr + (a.t()).to_sparse_csr()",
    "csr @ a",
    "a @ csr",
    "csr @ a[0]",
    "a[0] @ csr",
    "csc @ a",
    "a @ csc",
    "bsr @ a",
    "csr @ csr",
    "(csr @ csr.t()).to_dense()",
    "t.mm(csr, a)",
    "t.mv(csr, a[0])",
    "csr.mv(a[0])",
    "csr.matmul(a)",
    "t.sparse.mm(csr, a)",
    "t.sparse.mm(a, csr)",
    "t.sparse.mm(csr, a, 'sum')",
    "t.sparse.mm(csr, a, 'mean')",
    "t.sparse.mm(csr, a, 'amax')",
    "t.sparse.mm(csr, a, 'amin')",
    "t.addmm(a, csr, a)",
    "t.addmm(csr, csr, csr)",
    "t.sparse.addmm(a, csr, a)",
    "t.addmm(a, csr, a, beta=0.5, alpha=2)",
    "t.nn.functional.linear(a, csr)",
    "t.nn.functional.linear(csr, a)",
    "t.sparse.sampled_addmm(csr, a, a)",
    "t.sparse.sampled_addmm(csr, a, a, beta=0.5, alpha=2.0)",
    "csr.sum()",
    "csr.sum(0, keepdim=True)",
    "csr.sum(1, keepdim=True)",
    "csr.sum((0, 1), keepdim=True)",
    "a.sparse_mask(csr)",
    "csr.sparse_mask(csr)",
    "csr.mul_(2)",
    "csr.add_(csr)",
    "csr.abs_()",
    "csr.neg_()",
    "csr.copy_(csr * 2)",
    "csr.zero_()",
    "a.add_(csr)",
    "t.is_same_size(csr, csr)",
    "t.sparse.spdiags(diagonals, index(0, 1), (3, 3))",
    "t.sparse.spdiags(diagonals, index(-1, 2), (3, 4))",
    "t.sparse.spdiags(diagonals, index(0, 1), (3, 3), layout=csr_)",
    "t.sparse.spdiags(diagonals, index(-1, 1), (4, 3), layout=csc_)",
    "t.sparse.softmax(coo, 1)",
    "t.sparse.softmax(coo, 0)",
    "t.sparse.log_softmax(coo, 1)",
    "t.sparse.softmax(b.to_sparse(), 2)",
    "t.sparse.softmax(b.to_sparse(1), 1)",
    "t.sparse.softmax(coo.double(), 1, dtype=t.float64)",
    "t.sparse_csr_tensor([0, 2, 3], [0, 1, 1], [1.0, 2, 3])",
    "t.sparse_csr_tensor([0, 2, 3], [0, 1, 1], [1, 2, 3], dtype=t.float64)",
    "t.sparse_csr_tensor(crow_indices=index(0, 2, 3), col_indices=index(0, 1, 1), "
    "values=t.ones(3), size=(2, 5))",
    "t.sparse_csr_tensor(index(0, 2, 3).int(), index(0, 1, 1).int(), t.ones(3))",
    "t.sparse_csc_tensor(ccol_indices=index(0, 2, 3), row_indices=index(0, 1, 1), "
    "values=t.ones(3))",
    "t.sparse_bsr_tensor(index(0, 1, 2), index(0, 1), t.ones(2, 2, 3))",
    "t.sparse_bsc_tensor(index(0, 1, 2), index(0, 1), t.ones(2, 2, 3), (4, 6))",
    "t.sparse_compressed_tensor(index(0, 2, 3), index(0, 1, 1), t.ones(3), layout=csc_)",
    "t.sparse_csr_tensor(index(0, 1, 1), index(1), t.ones(1, 2), (2, 2, 2))",
    "t.sparse_csr_tensor(index(0, 0, 0), t.zeros(0, dtype=t.int64), t.zeros(0), (2, 3)).to_dense()",
]
VALUES += [
    f"csr.{name}()"
    for name in (
        "neg",
        "abs",
        "sqrt",
        "sign",
        "sgn",
        "relu",
        "isnan",
        "isinf",
        "isneginf",
        "signbit",
        "sin",
        "sinh",
        "tan",
        "tanh",
        "atan",
        "log1p",
        "expm1",
        "floor",
        "ceil",
        "round",
        "trunc",
        "frac",
        "erf",
        "deg2rad",
        "rad2deg",
        "angle",
        "positive",
    )
]


@pytest.mark.parametrize("text", VALUES)
def test_value(text):
    oracle.compare(run(text))


ERRORS = [
    "a.to_sparse_bsr((3, 2))",
    "a.to_sparse(layout=bsr_)",
    "csr.to_sparse(1)",
    "bsr.to_sparse_csr()",
    "a.crow_indices()",
    "coo.crow_indices()",
    "a.col_indices()",
    "a.values()",
    "csr.row_indices()",
    "csr.ccol_indices()",
    "csc.crow_indices()",
    "csc.col_indices()",
    "csr.indices()",
    "csr.coalesce()",
    "csr.is_coalesced()",
    "csr.stride()",
    "csr.is_contiguous()",
    "csr.numpy()",
    "csc.numpy()",
    "csr.sum(0)",
    "csr + csc",
    "csr - csr",
    "csr - a",
    "a - csr",
    "csr / 2",
    "csr[0:1]",
    "csr * a[0]",
    "csr @ a[:2]",
    "csr.to_dense(dtype=t.float64)",
    "bool(csr)",
    "t.sparse_compressed_tensor(index(0, 1), index(0), t.ones(1))",
    "t.sparse_compressed_tensor(index(0, 1), index(0), t.ones(1), layout=t.strided)",
    "t.tensor([[[1.0, 0], [0, 2]], [[0, 0], [4, 0]]]).to_sparse_csr()",
    "t.sparse.spdiags(diagonals, index(0), (3, 3))",
    "t.sparse.spdiags(diagonals, index(1, 1), (3, 3))",
    "t.sparse.spdiags(diagonals, index(0, 1), (3,))",
    "t.sparse.sum(csr)",
    "csr.copy_(csc)",
    "csr.copy_(coo)",
    "csr.copy_(a)",
    "t._validate_sparse_csr_tensor_args(index(0, 2), index(1, 0), t.ones(2), (1, 2))",
    "t._validate_sparse_bsc_tensor_args(index(0, 1), index(5), t.ones(1, 1, 1), (2, 1))",
    "t._validate_sparse_compressed_tensor_args(index(1, 2), index(0), t.ones(1), (1, 1), csr_)",
]


@pytest.mark.parametrize("text", ERRORS)
def test_error(text):
    oracle.refused(run(text))


PARTS = [
    ([1, 2, 3], [0, 1, 1], (2, 2)),
    ([0, 2, 4], [0, 1, 1], (2, 2)),
    ([0, 3, 3], [0, 1, 1], (2, 2)),
    ([0, 2, 3], [0, 2, 1], (2, 2)),
    ([0, 2, 3], [0, -1, 1], (2, 2)),
    ([0, 2, 3], [1, 0, 1], (2, 2)),
    ([0, 2, 1], [0, 1, 1], (2, 2)),
    ([0, 2, 3], [0, 1], (2, 2)),
    ([0, 2, 3], [0, 1, 1], (3, 2)),
    ([0, 2, 3], [0, 1, 1], (2,)),
    ([0.0, 2, 3], [0, 1, 1], (2, 2)),
    ([0, 2, 3], [[0, 1, 1]], (2, 2)),
]


@pytest.mark.parametrize(
    ("layout", "case"), [*itertools.product(("csr", "csc"), range(len(PARTS)))]
)
def test_parts_that_do_not_fit(layout, case):
    outer, inner, size = PARTS[case]

    def made(t):
        make = getattr(t, f"sparse_{layout}_tensor")
        return make(t.tensor(outer), t.tensor(inner), t.ones(3), size, check_invariants=True)

    oracle.compare(lambda t: described(made(t)))


UNSORTED = [
    "u",
    "u.to_dense()",
    "u.to_sparse_csc()",
    "u.t().to_dense()",
    "u @ a[:3]",
    "(u + u).to_dense()",
    "(u @ u.t()).to_dense()",
    "u.sum()",
    "t.addmm(a[:2], u, a[:3])",
]


@pytest.mark.parametrize("text", UNSORTED)
def test_indices_in_another_order(text):
    """As SciPy's matrices have them: the order is checked on request alone."""

    def function(t):
        u = t.sparse_csr_tensor(t.tensor([0, 2, 3]), t.tensor([2, 0, 1]), t.ones(3).cumsum(0))
        return described(eval(text, {"u": u, **scope(t)}))

    oracle.compare(function)


GRADIENTS = [
    "(x @ a).square().sum()",
    "(a @ x).square().sum()",
    "(x @ a[0]).square().sum()",
    "(x * 3).to_dense().square().sum()",
    "x.to_dense().pow(3).sum()",
    "x.sin().to_dense().sum()",
    "t.sparse.mm(x, a, 'mean').square().sum()",
    "(x * a).to_dense().square().sum()",
    "t.addmm(a, x, a).square().sum()",
    "x.values().square().sum()",
]


@pytest.mark.parametrize("text", GRADIENTS)
@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_gradient(text, layout):
    """Of the values, through a function of the tensor; PyTorch's by way of a dense product."""

    def ours():
        values = scope(torchlike)[layout].values().clone().requires_grad_()
        x = scope(torchlike)[layout]._with(values)
        eval(text, {}, {"t": torchlike, "a": torchlike.tensor(DENSE), "x": x}).backward()
        return values.grad

    x = scope(torch)[layout].to_dense().requires_grad_()
    a = torch.tensor(DENSE)
    pattern = a != 0
    dense = {
        "(x * a).to_dense().square().sum()": "(x * a).square().sum()",
        "(x * 3).to_dense().square().sum()": "(x * 3).square().sum()",
        "x.to_dense().pow(3).sum()": "x.pow(3).sum()",
        "x.sin().to_dense().sum()": "x.sin().sum()",
        "x.values().square().sum()": "x.square().sum()",
        "t.sparse.mm(x, a, 'mean').square().sum()": "((x @ a) / n[:, None]).square().sum()",
    }
    given = {"t": torch, "a": a, "x": x, "n": pattern.sum(1).float()}
    eval(dense.get(text, text), {}, given).backward()
    assert x.grad is not None
    expected = x.grad[pattern] if layout == "csr" else x.grad.t()[pattern.t()]
    oracle.same(ours(), expected)


def test_a_gradient_is_of_the_layout():
    x = torchlike.tensor(DENSE).to_sparse_csr().requires_grad_()
    torchlike.sparse.mm(x, torchlike.ones(4, 2)).sum().backward()
    oracle.same(
        described(x.grad),
        described((torch.tensor(DENSE).to_sparse_csr() * 0).abs())[:4] + [torch.full((6,), 2.0)],
    )


def test_the_gradient_of_a_dense_tensor_made_sparse_is_whole():
    def gradient(t):
        dense = t.tensor(DENSE, requires_grad=True)
        (dense.to_sparse_csr() @ t.ones(4, 2)).sum().backward()
        return dense.grad

    oracle.compare(gradient)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("text", ["x @ a", "(x * 2) @ a", "x.to_dense()", "x.t() @ a", "x.sum()"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_jitted(text, layout):
    def function(x, a):
        return eval(text, {}, {"x": x, "a": a})

    given = scope(torchlike)
    compiled = torchlike.jit(function)
    for factor in (1.0, 2.0):
        x = given[layout] * factor
        oracle.close(compiled(x, given["a"]).numpy(), function(x, given["a"]).numpy(), "float32")
    assert compiled.compiles == 1


@pytest.mark.parametrize("name", [*LAYOUTS, "batched", "hybrid"])
def test_files_in_both_directions(name):
    for source, target in ((torch, torchlike), (torchlike, torch), (torchlike, torchlike)):
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source.save(scope(source)[name], file)
            file.seek(0)
            loaded = target.load(file)
            expected = described(scope(torch)[name])
        if target is torchlike:
            oracle.same(described(loaded), expected)
        else:
            assert repr(described(loaded)) == repr(expected)
