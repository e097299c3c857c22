"""What ``grad_fn._saved_*`` gives, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from torchlike.testing import assert_close  # noqa: E402

A, B = [[0.5, -1.5, 2.0], [1.0, 0.25, -0.75]], [[2.0, 1.5, -1.0], [0.5, 3.0, 0.75]]


def _operands(lib: Any) -> tuple[Any, Any, Any, Any, Any]:
    a, b = lib.tensor(A, requires_grad=True), lib.tensor(B, requires_grad=True)
    image = lib.arange(32.0).reshape(1, 2, 4, 4).requires_grad_()
    weight = lib.linspace(-1, 1, 36).reshape(2, 2, 3, 3).requires_grad_()
    return a, b, image, weight, lib.tensor([1, 0])


CASES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "mul": (lambda lib, a, b, *_: a * b, ("self", "other")),
    "mul by a constant": (lambda lib, a, b, *_: a * b.detach(), ("self", "other")),
    "mul by a number": (lambda lib, a, *_: a * 2, ("self", "other")),
    "mul_": (lambda lib, a, b, *_: (a * 1).mul_(b), ("self", "other")),
    "div": (lambda lib, a, b, *_: a / b, ("self", "other")),
    "pow": (lambda lib, a, *_: a**3, ("self", "exponent")),
    "pow of a tensor": (lambda lib, a, b, *_: b.abs() ** a, ("self", "exponent")),
    "exp": (lambda lib, a, *_: a.exp(), ("result",)),
    "exp_": (lambda lib, a, *_: (a * 1).exp_(), ("result",)),
    "sigmoid": (lambda lib, a, *_: a.sigmoid(), ("result",)),
    "relu": (lambda lib, a, *_: a.relu(), ("result",)),
    "mm": (lambda lib, a, b, *_: a.mm(b.t()), ("self", "mat2")),
    "matmul": (lambda lib, a, b, *_: a @ b.t().detach(), ("self", "mat2")),
    "sum": (lambda lib, a, *_: a.sum(), ("self_sym_sizes",)),
    "sum over a dimension": (
        lambda lib, a, *_: a.sum(1, keepdim=True),
        ("self_sym_sizes", "dim", "keepdim"),
    ),
    "log_softmax": (lambda lib, a, *_: a.log_softmax(1), ("result", "dim")),
    "conv": (
        lambda lib, a, b, image, weight, index: lib.nn.functional.conv2d(image, weight),
        ("input", "weight", "groups"),
    ),
    "index_select": (
        lambda lib, a, b, image, weight, index: a.index_select(0, index),
        ("index", "dim", "self_sym_sizes"),
    ),
    "max": (lambda lib, a, *_: a.max(), ("self",)),
    "max over a dimension": (lambda lib, a, *_: a.max(1)[0], ("dim", "keepdim")),
    "add": (lambda lib, a, b, *_: lib.add(a, b, alpha=3), ("alpha",)),
    "log": (lambda lib, a, b, *_: b.log(), ("self",)),
    "where": (lambda lib, a, b, *_: lib.where(a > 0, a, b), ("condition",)),
    "atan2": (lambda lib, a, b, *_: lib.atan2(a, b), ("self", "other")),
}


def _plain(value: Any) -> Any:
    if isinstance(value, (torch.Tensor, torchlike.Tensor)):
        return value.tolist(), value.requires_grad, str(value.dtype), value.is_leaf
    return value


@pytest.mark.parametrize("case", CASES)
def test_saved(case: str) -> None:
    f, names = CASES[case]
    theirs, ours = f(torch, *_operands(torch)), f(torchlike, *_operands(torchlike))
    for name in names:
        expected, found = (getattr(y.grad_fn, f"_saved_{name}") for y in (theirs, ours))
        if isinstance(expected, torch.Tensor) and expected.is_floating_point():
            assert_close(found.detach(), torchlike.tensor(expected.tolist(), dtype=found.dtype))
            assert _plain(found)[1:] == _plain(expected)[1:]
        else:
            assert _plain(found) == _plain(expected)


@pytest.mark.parametrize("case", CASES)
def test_freed(case: str) -> None:
    f, names = CASES[case]
    results = []
    for lib in (torch, torchlike):
        y = f(lib, *_operands(lib))
        y.sum().backward()
        freed = {}
        for name in names:
            try:
                getattr(y.grad_fn, f"_saved_{name}")
                freed[name] = ""
            except RuntimeError as error:
                freed[name] = str(error)
        results.append(freed)
    assert results[0] == results[1]
