"""``zeros(layout=…)`` and kin: sparse tensors without elements."""

from __future__ import annotations

import pytest

from tests.parity import oracle
from tests.parity.sparse.test_compressed import run

CASES = [f"t.zeros(2, 3, layout=t.sparse_{name})" for name in ("csr", "csc", "coo", "bsr")] + [
    "repr(t.zeros(2, 3, layout=t.sparse_csr))",
    "repr(t.zeros(2, 3, layout=t.sparse_coo))",
    "repr(t.zeros(2, 2, layout=t.sparse_csc, dtype=t.int64))",
    "t.empty(2, 3, layout=t.sparse_coo)",
    "t.zeros(3, layout=t.sparse_csr)",
    "t.zeros(2, 2, 2, layout=t.sparse_csr)",
    "t.zeros(0, 3, layout=t.sparse_csr)",
    "t.zeros_like(csr)",
    "t.zeros_like(coo)",
    "t.zeros_like(csc, dtype=t.float64)",
    "t.zeros_like(batched)",
    "t.zeros_like(a, layout=t.sparse_csr)",
    "t.zeros_like(a, layout=t.sparse_coo)",
    "csr.new_zeros(2, 2)",
    "coo.new_zeros(2, 2)",
    "a.new_zeros(2, 2, layout=t.sparse_csr)",
    "csr.new_zeros(2, 2, dtype=t.int64)",
    "repr(t.zeros(2, 3, layout=t.sparse_csr, requires_grad=True))",
    "repr(csr)",
    "repr(coo)",
    "repr(coo.double())",
    "repr(bsr)",
    "repr(coo.requires_grad_() * 2)",
    "repr(csc.to(t.int64))",
    "t.zeros(2, 2, layout=t.sparse_csr).to_dense()",
    "(t.zeros(4, 4, layout=t.sparse_csr) + csr).to_dense()",
]


@pytest.mark.sampled(every=6, rest="full")
@pytest.mark.parametrize("text", CASES)
def test_as_pytorch(text):
    oracle.compare(run(text))


CONVERSIONS = [
    "t._convert_indices_from_coo_to_csr(index(0, 0, 2, 3), 5)",
    "t._convert_indices_from_coo_to_csr(index(1, 1).int(), 3, out_int32=True)",
    "t._convert_indices_from_csr_to_coo(csr.crow_indices(), csr.col_indices())",
    "t._convert_indices_from_csr_to_coo(csr.crow_indices(), csr.col_indices(), transpose=True)",
]


@pytest.mark.parametrize("text", CONVERSIONS)
def test_indices(text):
    oracle.compare(run(text))
