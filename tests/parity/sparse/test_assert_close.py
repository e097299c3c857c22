"""``torch.testing.assert_close`` of sparse tensors, in each layout, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.parity.oracle import compare

OTHERS = {
    "the same": [[1.0, 0.0], [0.0, 1.0]],
    "other values": [[2.0, 0.0], [0.0, 1.0]],
    "other places": [[1.0, 1.0], [0.0, 0.0]],
    "more values": [[1.0, 1.0], [0.0, 1.0]],
}


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("other", OTHERS)
def test_sparse(layout: str, other: str) -> None:
    def behaviour(t: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = [
                getattr(x, f"to_sparse_{layout}" if layout != "coo" else "to_sparse")()
                for x in (t.eye(2), t.tensor(OTHERS[other]))
            ]
        return t.testing.assert_close(*made)

    compare(behaviour)


@pytest.mark.parametrize("check_layout", [True, False])
def test_beside_a_dense_one(check_layout: bool) -> None:
    compare(
        lambda t: t.testing.assert_close(
            t.eye(2).to_sparse_csr(), t.eye(2), check_layout=check_layout
        )
    )
