"""Dropout of nested tensors drops by the order of memory, which a transpose does not change."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.oracle import compare  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
MOVED = [
    "n",
    "n.transpose(1, 2)",
    "n.transpose(2, 3)",
    "n.transpose(1, 3)",
    "n.transpose(1, 2) * 1",
    "n.transpose(1, 2).transpose(2, 3)",
    "n.transpose(1, 2).transpose(1, 2)",
    "n.transpose(1, 2).contiguous()",
    "n.transpose(1, 2).clone()",
]


def _nested(t: Any, **options: Any) -> Any:
    parts = [t.arange(12.0).reshape(2, 3, 2) + 1, t.arange(24.0).reshape(4, 3, 2) + 1]
    return t.nested.nested_tensor(parts, **options)


@pytest.mark.parametrize("text", MOVED)
def test_what_is_dropped(text: str) -> None:
    def dropped(t: Any) -> Any:
        n = eval(text, {"n": _nested(t)})
        t.manual_seed(5)
        return list(t.nn.functional.dropout(n, 0.5).unbind()), t.rand(2)

    compare(dropped)


def test_the_gradient() -> None:
    """Where an element was kept, back in its place. (PyTorch's backward refuses the strides.)"""
    n = _nested(torchlike, requires_grad=True)
    out = torchlike.nn.functional.dropout(n.transpose(1, 2), 0.5)
    found = torchlike.autograd.grad(sum(p.sum() for p in out.unbind()), n)[0]
    for given, kept in zip(found.unbind(), out.unbind(), strict=True):
        assert (given == 2 * (kept.transpose(0, 1) != 0)).all()


def test_compiled() -> None:
    n = _nested(torchlike)
    found = []
    for act in (lambda n: n, torchlike.jit(lambda n: torchlike.nn.functional.dropout(n, 0.5))):
        torchlike.manual_seed(5)
        moved = act(n.transpose(1, 2))
        found.append(moved if found else torchlike.nn.functional.dropout(moved, 0.5))
    eager, compiled = ([p.tolist() for p in t.unbind()] for t in found)
    assert eager == compiled
