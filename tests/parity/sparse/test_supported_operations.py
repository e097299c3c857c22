"""What PyTorch's page on torch.sparse lists, of each layout: PyTorch's results and refusals."""

from __future__ import annotations

import warnings

import pytest

import torchlike
from tests.parity import oracle
from tests.parity.sparse.supported_cases import cases
from tests.parity.sparse.test_compressed import DENSE, described

BATCH = [[[1.0, 0], [0, 2]], [[0, 3], [4, 0]]]


def scope(t):
    a = t.tensor(DENSE)
    b = t.tensor(BATCH)
    at = t.tensor([[0, 1, 3, 0, 2], [1, 0, 3, 1, 2]])
    spd = t.diag(t.arange(1.0, 13)) + 0.1
    return {
        "t": t,
        "d": t.arange(16.0).reshape(4, 4) / 8 - 1,
        "v": t.tensor([1.0, -2, 0.5, 3]),
        "i": lambda *x: t.tensor(x),
        "coo": a.to_sparse(),
        "csr": a.to_sparse_csr(),
        "dup": t.sparse_coo_tensor(at, t.tensor([0.25, 0.5, -0.5, 0.125, 0.75]), (4, 4)),
        "csc": a.to_sparse_csc(),
        "bsr": a.to_sparse_bsr((2, 2)),
        "bsc": a.to_sparse_bsc((2, 2)),
        "batch": b.to_sparse(),
        "batch_csr": b.to_sparse_csr(),
        "hybrid": b.to_sparse(2),
        "hybrid_csr": b.to_sparse_csr(dense_dim=1),
        "cube": t.arange(8.0).reshape(2, 2, 2),
        "spd": spd,
        "wide": t.tensor([[1.0, 0], [0, 0], [2, 3]]).to_sparse(),
        "none": t.zeros(4, 4).to_sparse(),
        "ints": (a * 2).to(t.int64).to_sparse(),
        "di": t.arange(16).reshape(4, 4),
        "bools": (a > 2).to_sparse(),
        "complexes": t.complex(a, a + 1).to_sparse(),
        "repr": repr,
        "str": str,
        "len": len,
        "list": list,
        "hash": hash,
        "bool": bool,
        "flags": lambda: flags(t),
    }


def flags(t):
    """What ``check_sparse_tensor_invariants`` switches."""
    checks = t.sparse.check_sparse_tensor_invariants
    with checks(True):
        inside = checks.is_enabled()
        with checks(False):
            inner = checks.is_enabled()
    checks.enable()
    enabled = checks.is_enabled()
    checks.disable()
    return inside, inner, enabled, checks.is_enabled(), checks(lambda: checks.is_enabled())()


def run(layout, text):
    def function(t):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = scope(t)
            names["S"] = names.get(layout)
            return described(eval(text, names))

    return function


#: Where PyTorch's result is another one, and why; what is refused here.
OTHERWISE = {
    ("csc", "t.sparse.mm(S, S)"): "PyTorch's has no elements",
    ("csc", "t.addmm(S, S, S)"): "PyTorch's has elements missing",
    ("dup", "S * S"): "PyTorch multiplies the terms of an element that stands there twice",
    ("dup", "S.mul_(S)"): "the same",
    ("dup", "S.sparse_mask(S)"): "PyTorch gives terms back, not their sum",
    ("bsr", "S.resize_as_(S)"): "PyTorch gives values without blocks",
    ("bsc", "S.resize_as_(S)"): "the same",
    ("csr", "S.new_ones(2, 2)"): "PyTorch's indices are not initialised",
    ("csc", "S.new_ones(2, 2)"): "the same",
    ("", "t.lobpcg(spd.to_sparse_csr(), k=1)[0]"): "refused",
    **{(layout, "S.resize_(5, 5)"): "refused" for layout in ("csr", "csc", "bsr", "bsc")},
    **{(layout, "t.pca_lowrank(S, 2)[1]"): "refused" for layout in ("coo", "dup")},
}


@pytest.mark.sampled(every=40, rest="full")
@pytest.mark.parametrize(("layout", "text"), cases())
def test_as_pytorch(layout, text):
    """Where PyTorch refuses, this refuses too, or computes what is meant."""
    theirs, ours = (oracle.outcome(run(layout, text), lib) for lib in oracle.LIBRARIES)
    if isinstance(theirs, oracle.Raised):
        assert ours.words if isinstance(ours, oracle.Raised) else _is_meant(layout, text, ours)
    elif (layout, text) not in OTHERWISE:
        oracle.same(ours, theirs)


#: What tells a sparse tensor from a dense one, or is random.
ASKING = (
    "names",
    "nbytes",
    "type",
    "rand_like",
    "t_()",
    "transpose_",
    "sampled",
    "'",
    "new_",
    "to_dense",
    "S.conti",
    "t.sparse.",
    "svd_lowrank",
)


def _is_meant(layout, text, ours):
    """Whether a result that PyTorch does not give is the dense tensor's, where that has it."""
    if not layout or any(part in text for part in ASKING):
        return True
    names = scope(torchlike)
    names["S"] = names[layout].to_dense()
    expected = eval(text, names)
    names = scope(torchlike)
    names["S"] = names[layout]
    found = eval(text, names)
    pairs = (
        zip(found, expected, strict=True)
        if isinstance(found, (list, tuple))
        else [(found, expected)]
    )
    for mine, dense in pairs:
        oracle.close(oracle.as_numpy(mine), oracle.as_numpy(dense), "float32")
    return True
