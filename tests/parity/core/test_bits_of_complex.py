"""``view(dtype)`` to and from complex dtypes against PyTorch: reading, writing through, errors."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.oracle import compare  # noqa: E402

_REALS = [[1.0, 2.0, 3.0, -4.0], [0.0, 0.5, -1.0, 0.0]]
_FROM = ("complex64", "complex128", "float32", "float64", "int64", "uint8")
_TO = ("complex64", "complex128", "float32", "float64", "int64", "int32", "float16")


def _made(T: Any, dtype: str) -> Any:
    reals = T.tensor(_REALS, dtype=T.float64)
    if dtype.startswith("complex"):
        return T.view_as_complex(reals.reshape(2, 2, 2)).to(getattr(T, dtype))
    return reals.abs().to(getattr(T, dtype)).repeat(1, 4)


def _run(T: Any, source: str, target: str) -> Any:
    x = _made(T, source)
    if not {source, target} & {"complex64", "complex128"}:
        return None
    try:
        v = x.view(getattr(T, target))
    except RuntimeError as error:
        return str(error)
    seen = v.dtype.itemsize, tuple(v.shape), v.stride(), str(v.tolist())
    v[0, 0] = 3
    v[1:].zero_()
    return seen, x.tolist()


@pytest.mark.parametrize("target", _TO)
@pytest.mark.parametrize("source", _FROM)
def test_read_and_write(source: str, target: str) -> None:
    assert _run(torchlike, source, target) == _run(torch, source, target)


@pytest.mark.parametrize("target", ["float32", "int64", "complex128"])
def test_without_dimensions(target: str) -> None:
    found = []
    for T in (torch, torchlike):
        try:
            found.append(T.tensor(1 + 2j).view(getattr(T, target)).item())
        except RuntimeError as error:
            found.append(str(error))
    assert found[1] == found[0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_no_gradient_passes(dtype: str) -> None:
    """Not even where the dtype stays what it is."""

    def behaviour(T: Any) -> Any:
        x = T.ones(2, 4, dtype=getattr(T, dtype), requires_grad=True)
        return [
            (v.requires_grad, v.grad_fn is None, v._base is x)
            for v in (x.view(x.dtype), x.view(T.float32), x.view(T.int32))
        ]

    compare(behaviour)
