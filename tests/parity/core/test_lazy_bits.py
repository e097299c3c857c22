"""Conjugated and negated views against PyTorch: what they say of themselves, and sharing memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.oracle import compare  # noqa: E402

VIEWS: dict[str, Callable[[Any], Any]] = {
    "conj": lambda x: x.conj(),
    "conj.conj": lambda x: x.conj().conj(),
    "conj.real": lambda x: x.conj().real,
    "conj.imag": lambda x: x.conj().imag,
    "conj.imag[1:]": lambda x: x.conj().imag[1:],
    "conj.conj.imag": lambda x: x.conj().conj().imag,
    "conj.view.conj": lambda x: x.conj().view(3, 1).conj(),
    "imag": lambda x: x.imag,
}
ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "bits": lambda T, v: (v.is_conj(), v.is_neg()),
    "values": lambda T, v: v.tolist(),
    "resolved": lambda T, v: (v.resolve_neg().is_neg(), v.resolve_conj().is_conj()),
    "resolved memory": lambda T, v: v.resolve_neg().data_ptr() == v.data_ptr(),
    "numpy": lambda T, v: v.numpy().tolist(),
    "numpy by force": lambda T, v: v.numpy(force=True).tolist(),
    "as bits": lambda T, v: v.view(T.int32).tolist() if not v.is_complex() else None,
    "as other numbers": lambda T, v: v.view(T.complex128).tolist() if v.is_complex() else None,
    "as itself": lambda T, v: v.view(v.dtype).tolist(),
    "as real": lambda T, v: T.view_as_real(v).tolist() if v.is_complex() else None,
    "exported": lambda T, v: T.from_dlpack(v).tolist() if v.is_conj() else None,
}


def _answer(T: Any, view: str, asked: str) -> Any:
    x = T.tensor([1 + 2j, 3 - 4j, 0.5 + 0j])
    try:
        return ASKED[asked](T, VIEWS[view](x))
    except (RuntimeError, BufferError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("view", VIEWS)
def test_what_a_view_says(view: str, asked: str) -> None:
    ours, theirs = _answer(torchlike, view, asked), _answer(torch, view, asked)
    assert str(ours) == str(theirs)  # -0.0 is not 0.0


@pytest.mark.parametrize(
    "view", ["conj.conj", "conj.real", "conj.conj.imag", "conj.view.conj", "imag"]
)
@pytest.mark.parametrize("before", [False, True], ids=["alone", "beside an array"])
def test_arrays_share_memory(view: str, before: bool) -> None:
    found = []
    for T in (torchlike, torch):
        x = T.tensor([1 + 2j, 3 - 4j, 0.5 + 0j])
        if before:
            x.numpy()
        array = VIEWS[view](x).numpy()
        array[0] = 9
        x[1] = 7 + 8j
        found.append((x.tolist(), array.tolist()))
    assert found[0] == found[1]


def _of_a_negated(t: Any) -> Any:
    y = t._neg_view(t.ones(2))
    return y, y[1:], y.clone(), t._neg_view(y), y.resolve_neg()


NEGATED: dict[str, Callable[[Any], Any]] = {
    "values": lambda t: t._neg_view(t.tensor([1.0, -2.0])),
    "bits": lambda t: [v.is_neg() for v in _of_a_negated(t)],
    "written through": lambda t: (lambda x: (t._neg_view(x).mul_(3), x))(t.arange(3.0)),
    "complex": lambda t: t._neg_view(t.tensor([1 + 2j])).conj().imag,
    "gradient": lambda t: (lambda w: t.autograd.grad(t._neg_view(w).exp().sum(), w))(
        t.arange(3.0, requires_grad=True)
    ),
    "as another dtype": lambda t: t._neg_view(t.tensor([1])).view(t.float64),
    "conj": lambda t: (t._conj(t.tensor([1 + 2j])), t._conj(t.tensor([1 + 2j])).is_conj()),
}


@pytest.mark.parametrize("name", NEGATED)
def test_negated(name: str) -> None:
    compare(NEGATED[name])
