"""``x[…, mask, …] = value`` against PyTorch: one value is a fill (eager and jitted), many are an
index_put; values, gradients of both, and the errors."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

_RNG = np.random.default_rng(0)
X = _RNG.standard_normal((3, 4, 5)).astype(np.float32)
WHOLE, ROWS, PLANE, LAST = X > 0.3, X[:, 0, 0] > -0.5, X[..., 0] > 0, X[0, 0] > 0
NONE = np.zeros(3, bool)

#: The index, as a function of the library.
ITEMS: dict[str, Any] = {
    "whole": lambda T: T.from_numpy(WHOLE),
    "rows": lambda T: T.from_numpy(ROWS),
    "plane": lambda T: T.from_numpy(PLANE),
    "nothing": lambda T: T.from_numpy(NONE),
    "last": lambda T: (Ellipsis, T.from_numpy(LAST)),
    "second": lambda T: (slice(None), T.from_numpy(PLANE[0])),
    "with slices": lambda T: (slice(0, 2), T.from_numpy(PLANE[0]), slice(None, None, 2)),
    "with an int": lambda T: (1, T.from_numpy(PLANE[1])),
    "int behind": lambda T: (T.from_numpy(ROWS), 2),
    "with None": lambda T: (None, T.from_numpy(ROWS), Ellipsis, 0),
    "middle plane": lambda T: (slice(None), T.from_numpy(WHOLE[0])),
    "bytes": lambda T: T.from_numpy(ROWS.astype(np.uint8)),
    "zero-dim": lambda T: T.tensor(True),
    "zero-dim false": lambda T: (slice(None), T.tensor(False)),
    "of NumPy": lambda T: ROWS,
    "with an index": lambda T: (T.from_numpy(ROWS), T.tensor([1])),
    "two masks": lambda T: (T.from_numpy(ROWS), T.from_numpy(PLANE[0])),
    "too short": lambda T: T.from_numpy(LAST),
    "too many": lambda T: (0, T.from_numpy(WHOLE)),
}

VALUES: dict[str, Any] = {
    "number": lambda T: 7.5,
    "int": lambda T: 2,
    "0-dim": lambda T: T.tensor(1.5, requires_grad=True),
    "1 element": lambda T: T.tensor([1.5], requires_grad=True),
    "double": lambda T: T.tensor(2.5, dtype=T.float64),
    "of NumPy": lambda T: np.float64(3.5),
}


def _write(T: Any, base: Any, item: Any, value: Any) -> tuple[Any, ...]:
    x = base * 2
    x[item] = value
    out = (x * T.arange(60.0).reshape(3, 4, 5)).sum()
    return x, out


def _run(T: Any, item: str, value: str, jitted: bool) -> Any:
    base = T.tensor(X, requires_grad=True)
    given, index = VALUES[value](T), ITEMS[item](T)
    write = lambda *args: _write(T, *args)  # noqa: E731
    try:
        x, out = (torchlike.jit(write) if jitted else write)(base, index, given)
        out.backward()
    except (IndexError, RuntimeError) as error:
        return type(error).__name__, str(error)
    grad = given.grad.tolist() if hasattr(given, "grad") and given.grad is not None else None
    return x.tolist(), x.grad_fn.name(), base.grad.tolist(), grad


@pytest.mark.sampled(every=5)
@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8", "ignore:expandable")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("item", ITEMS)
def test_one_value(item: str, value: str) -> None:
    expected = _run(torch, item, value, False)
    found = _run(torchlike, item, value, False)
    if isinstance(expected[0], str):
        assert found[0] == expected[0]
        return
    assert found[:3] == expected[:3]
    assert (found[3] is None) == (expected[3] is None)
    if found[3] is not None:
        np.testing.assert_allclose(found[3], expected[3], rtol=1e-6)


#: Not where the number of indices depends on values, nor where an argument would be frozen.
COMPILED = [item for item in ITEMS if item not in ("with an index", "two masks", "of NumPy")]


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8", "ignore:expandable")
@pytest.mark.sampled(every=9, rest="full")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("item", COMPILED)
def test_one_value_in_a_program(item: str, value: str) -> None:
    found = _run(torchlike, item, value, False)
    again = _run(torchlike, item, value, True)
    if isinstance(found[0], str):
        assert again[0] == found[0]
        return
    assert again[0] == found[0]
    assert again[2] == found[2]


@pytest.mark.parametrize("item", ["zero-dim", "zero-dim false"])
def test_a_program_refuses_another_dtype_in_the_same_words(item: str) -> None:
    expected = _run(torch, item, "double", False)
    assert expected[0] == "RuntimeError"
    assert _run(torchlike, item, "double", True) == expected


def test_a_graph_has_any_mask() -> None:
    @torchlike.jit
    def step(x: Any, limit: Any) -> Any:
        y = x.clone()
        y[x > limit] = 0
        y[..., x[0] < 0] = -1.0
        return y

    for seed in range(4):
        torchlike.manual_seed(seed)
        x = torchlike.randn(4, 6)
        y = torch.tensor(x.numpy())
        z = y.clone()
        z[y > 0.5] = 0
        z[..., y[0] < 0] = -1.0
        assert step(x, torchlike.tensor(0.5)).tolist() == z.tolist()
    assert step.compiles == 1


@pytest.mark.parametrize("lib", [torch, torchlike], ids=["torch", "torchlike"])
def test_many_values_go_in_order(lib: Any) -> None:
    x = lib.zeros(4)
    x[lib.tensor([True, False, True, True])] = lib.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [1.0, 0.0, 2.0, 3.0]
    with contextlib.suppress(RuntimeError, IndexError):
        x[lib.tensor([True, False, True, True])] = lib.tensor([1.0, 2.0])
    assert x.tolist() == [1.0, 0.0, 2.0, 3.0]
