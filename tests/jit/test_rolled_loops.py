"""Loops that a capture has unrolled become one ``lax.scan``, and give the same numbers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.extend.core import jaxpr_as_fun

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nn
from torchlike._jit.program import program as builder
from torchlike._runtime.rolling import roll
from torchlike._runtime.rolling.repeats import Repeat, repeats

#: Sums and products in the same order, but fused otherwise.
TOLERANCE: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-13}


class _Sizes:
    """How many equations programs had before and after."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def __call__(self, closed: Any, *rest: Any) -> Any:
        found = roll.rolled(closed, *rest)
        self.seen.append((len(closed.jaxpr.eqns), len(found.jaxpr.eqns)))
        return found


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> _Sizes:
    """Small programs are rolled, too."""
    monkeypatch.setattr(roll, "LEAST_EQUATIONS", 0)
    found = _Sizes()
    monkeypatch.setattr(builder, "rolled", found)
    return found


def _parameters(*modules: nn.Module) -> list[Any]:
    return [p for m in modules for p in m.parameters()]


# Each makes a step from a number of turns: it returns tensors, gradients among them.


def _recurrent(turns: int) -> Callable[[], Any]:
    """With a gradient for what is sliced."""
    w = torch.rand(5, 5, dtype=torch.double).requires_grad_()
    u = torch.rand(3, 5, dtype=torch.double).requires_grad_()
    x = torch.rand(4, turns, 3, dtype=torch.double).requires_grad_()

    def step() -> Any:
        h = torch.zeros(4, 5, dtype=torch.double)
        for t in range(turns):
            h = torch.tanh(x[:, t] @ u + h @ w)
        loss = h.square().sum()
        return loss, *torch.autograd.grad(loss, (w, u, x))

    return step


def _gru(turns: int) -> Callable[[], Any]:
    """Sizes with which XLA's code is wrong where a turn reads what it computes with."""
    cell, out = nn.GRUCell(3, 5).double(), nn.Linear(5, 2).double()
    x = torch.rand(turns, 4, 3, dtype=torch.double)
    y = torch.rand(turns, 4, 2, dtype=torch.double)

    def step() -> Any:
        h, loss = torch.zeros(4, 5, dtype=torch.double), 0
        for now, wanted in zip(x.unbind(0), y, strict=True):
            h = cell(now, h)
            loss = loss + F.mse_loss(out(h), wanted)
        return loss, *torch.autograd.grad(loss, _parameters(cell, out))

    return step


def _two_cells(turns: int) -> Callable[[], Any]:
    """Two cells and the outputs joined, trained."""
    first, second = nn.LSTMCell(1, 3).double(), nn.LSTMCell(3, 3).double()
    x = torch.rand(2, turns, dtype=torch.double)
    optimizer = torch.optim.SGD(_parameters(first, second), lr=0.1)

    def step() -> Any:
        optimizer.zero_grad()
        a = b = (torch.zeros(2, 3, dtype=torch.double), torch.zeros(2, 3, dtype=torch.double))
        outputs = []
        for now in x.split(1, dim=1):
            a = first(now, a)
            b = second(a[0], b)
            outputs.append(b[0])
        loss = torch.cat(outputs, 1).square().mean()
        loss.backward()
        optimizer.step()
        return loss, *(p.detach() for p in _parameters(first, second))

    return step


def _runge_kutta(turns: int) -> Callable[[], Any]:
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2)).double()
    start = torch.rand(3, 2, dtype=torch.double).requires_grad_()

    def step() -> Any:
        y, path = start, []
        for _ in range(turns):
            k = net(y)
            y = y + 0.05 * (k + net(y + 0.1 * k))
            path.append(y)
        loss = torch.stack(path).square().mean()
        return loss, *torch.autograd.grad(loss, [start, *net.parameters()])

    return step


def _diffusion(turns: int) -> Callable[[], Any]:
    """Coefficients that are no sequence, and random numbers in each turn."""
    net = nn.Linear(6, 5).double()
    betas = [1e-3 * (i + 1) ** 1.3 for i in range(turns)]

    def step() -> Any:
        torch.manual_seed(1)
        with torch.no_grad():
            x = torch.ones(4, 5, dtype=torch.double)
            for t in reversed(range(turns)):
                when = torch.full((4, 1), t / turns, dtype=torch.double)
                x = (x - betas[t] * net(torch.cat([x, when], 1)).tanh()) / (1 - betas[t]) ** 0.5
                x = x + betas[t] ** 0.5 * torch.randn(4, 5, dtype=torch.double)
            return (x,)

    return step


def _inner_optimizer(turns: int) -> Callable[[], Any]:
    """Gradients of gradients."""
    w = torch.rand(4, 3, dtype=torch.double).requires_grad_()
    rate = torch.tensor(0.1, dtype=torch.double).requires_grad_()
    x, y = torch.rand(6, 4, dtype=torch.double), torch.rand(6, 3, dtype=torch.double)

    def step() -> Any:
        v = w
        for _ in range(turns):
            (g,) = torch.autograd.grad(((x @ v).tanh() - y).square().mean(), v, create_graph=True)
            v = v - rate * g
        loss = ((x @ v).tanh() - y).square().mean()
        return loss, *torch.autograd.grad(loss, (w, rate))

    return step


def _written_in_place(turns: int) -> Callable[[], Any]:
    cell = nn.RNNCell(3, 5).double()
    x = torch.rand(4, turns, 3, dtype=torch.double)

    def step() -> Any:
        out = torch.zeros(4, turns, 5, dtype=torch.double)
        h = torch.zeros(4, 5, dtype=torch.double)
        for t in range(turns):
            h = cell(x[:, t], h)
            out[:, t] = h
        loss = out.square().sum()
        return loss, out.detach(), *torch.autograd.grad(loss, _parameters(cell))

    return step


STEPS = [
    _recurrent,
    _gru,
    _two_cells,
    _runge_kutta,
    _diffusion,
    _inner_optimizer,
    _written_in_place,
]


def _run(make: Callable[[int], Any], turns: int, compiled: bool) -> Any:
    torch.manual_seed(0)
    step = make(turns)
    if not compiled:
        return step()
    step = torch.jit(step, warmup=0)
    found = step()
    assert step.compiles == 1
    return found


@pytest.mark.sampled(every=9)
@pytest.mark.parametrize("make", STEPS)
def test_rolled_steps_are_eager_ones(make: Callable[[int], Any], sizes: _Sizes) -> None:
    rolled, eager = _run(make, 24, True), _run(make, 24, False)
    before, after = sizes.seen[0]
    assert after < before / 2
    for a, b in zip(rolled, eager, strict=True):
        scale = max(float(b.abs().max()), 1e-3)
        np.testing.assert_allclose(a.detach() / scale, b.detach() / scale, **TOLERANCE)


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("make", STEPS)
def test_the_number_of_equations_does_not_grow_with_the_turns(
    make: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    after = [_equations(make, turns, monkeypatch)[1] for turns in (30, 60)]
    # Random numbers and what is gathered of them are operands, one a turn.
    assert after[1] - after[0] <= (2 * 30 if make is _diffusion else 0)


class _Traced(Exception):
    pass


def _equations(
    make: Callable[[int], Any], turns: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, int]:
    """How many equations a step has, and how many once it is rolled; it is not compiled."""
    found: list[tuple[int, int]] = []

    def count(closed: Any, *rest: Any) -> Any:
        found.append((len(closed.jaxpr.eqns), len(roll.rolled(closed, *rest).jaxpr.eqns)))
        raise _Traced

    monkeypatch.setattr(roll, "LEAST_EQUATIONS", 0)
    monkeypatch.setattr(builder, "rolled", count)
    with pytest.raises(_Traced):
        _run(make, turns, True)
    return found[0]


@pytest.mark.exhaustive
def test_a_call_whose_backward_comes_later(sizes: _Sizes) -> None:
    """Forward and backward are two programs: each has a loop."""
    torch.manual_seed(0)
    cell = nn.RNNCell(3, 5).double()
    x = torch.rand(24, 4, 3, dtype=torch.double)

    def states() -> Any:
        h, found = torch.zeros(4, 5, dtype=torch.double), []
        for now in x:
            h = cell(now, h)
            found.append(h)
        return torch.stack(found)

    gradients = []
    for function in (states, torch.jit(states, warmup=0)):
        cell.zero_grad()
        function().square().sum().backward()
        gradients.append([p.grad.clone() for p in cell.parameters() if p.grad is not None])
    assert sizes.seen[0][1] < sizes.seen[0][0] / 2
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.exhaustive
def test_float32(sizes: _Sizes) -> None:
    torch.manual_seed(0)
    cell = nn.LSTMCell(3, 5)
    x = torch.rand(20, 4, 3)

    def step() -> Any:
        state = torch.zeros(4, 5), torch.zeros(4, 5)
        for now in x:
            state = cell(now, state)
        loss = state[0].square().sum()
        return loss, *torch.autograd.grad(loss, list(cell.parameters()))

    for a, b in zip(torch.jit(step, warmup=0)(), step(), strict=True):
        np.testing.assert_allclose(a.detach(), b.detach(), rtol=1e-5, atol=1e-6)
    assert sizes.seen[0][1] < sizes.seen[0][0] / 2


class _Layers(nn.Module):
    """Equal layers of different weights."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU()) for _ in range(layers)
        )

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer(x)
        return x


def _training_of_layers(layers: int) -> Callable[[], Any]:
    model = _Layers(layers)
    optimizer = torch.optim.AdamW(model.parameters())
    x = torch.rand(64, 8)

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_layers_of_different_weights_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """To stack weights would copy them."""
    before, after = _equations(_training_of_layers, 12, monkeypatch)
    assert before == after > 500


def test_short_programs_are_left() -> None:
    closed = jax.make_jaxpr(_unrolled(["state"], "last", 12))(*_operands(12))
    assert roll.rolled(closed, roll.Outside(), "f") is closed


def test_effects_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll, "LEAST_EQUATIONS", 0)

    def told(x: Any) -> Any:
        for _ in range(30):
            x = jnp.sin(x)
            jax.debug.print("{}", x)
        return x

    closed = jax.make_jaxpr(told)(1.0)
    assert roll.rolled(closed, roll.Outside(), "f") is closed


def test_the_log(
    sizes: _Sizes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "torchlike.rolled"):
        _run(_recurrent, 24, True)
    told = [r.getMessage() for r in caplog.records if r.name == "torchlike.rolled"]
    assert any("turns of" in text for text in told)
    assert "equations in place of" in told[-1]


# -- random loops ----------------------------------------------------------------------------------


def _operands(turns: int) -> Any:
    random = np.random.RandomState(turns)
    return (
        random.rand(3, turns),
        random.rand(3, 3),
        [random.rand(3) for _ in range(turns)],
        random.rand(3, 3),
    )


def _unrolled(sources: list[str], result: str, turns: int) -> Callable[..., Any]:
    """A loop whose turns read ``sources``, and of which ``result`` is used."""
    coefficients = np.random.RandomState(0).rand(turns)

    def run(x: Any, w: Any, noise: Any, matrix: Any) -> Any:
        before = [jnp.sin(x[:, t] * 2 + w[0]) for t in range(turns)]
        state, states, outputs = jnp.cos(x[:, 0]), [w[2], w[1], jnp.cos(x[:, 0])], []
        for t in range(turns):
            back = turns - 1 - t
            values: dict[str, Callable[[], Any]] = {
                "state": lambda s=state: s,
                "two turns ago": lambda: states[-2],
                "three turns ago": lambda: states[-3],
                "column": lambda t=t: lax.slice(x, (0, t), (3, t + 1))[:, 0],
                "column, backward": lambda b=back: lax.slice(x, (0, b), (3, b + 1))[:, 0],
                "index": lambda t=t: lax.dynamic_slice(x, (0, t), (3, 1))[:, 0],
                "integers": lambda t=t: jnp.full((3,), 2 * t + 1).astype(x.dtype) * 0.01,
                "numbers": lambda t=t: float(coefficients[t]) * w[0],
                "constant": lambda: w[1],
                "operand": lambda t=t: noise[t],
                "padded": lambda t=t, b=back, s=state: lax.pad(s[:1], 0.5, [(t, b, 0)])[:3],
                "made before": lambda t=t: before[t],
                "made before, backward": lambda b=back: before[b],
            }
            total = state
            for source in sources:
                total = jnp.where(total > 0.4, total * 0.7, total + values[source]())
            state = jnp.tanh(matrix @ total)
            states.append(state)
            outputs.append(state * total)
        return {
            "last": lambda: state + states[-2],
            "stacked": lambda: jnp.stack(outputs, 1),
            "joined, backward": lambda: jnp.concatenate(outputs[::-1]),
            "summed": lambda: sum(outputs),
            "single": lambda: outputs[turns // 3] * 2 + state,
        }[result]()

    return run


SOURCES = [
    "state",
    "two turns ago",
    "three turns ago",
    "column",
    "column, backward",
    "index",
    "integers",
    "numbers",
    "constant",
    "operand",
    "padded",
    "made before",
    "made before, backward",
]
RESULTS = ["last", "stacked", "joined, backward", "summed", "single"]


def _holds(sources: list[str], result: str, turns: int, gradients: bool) -> None:
    run = _unrolled(sources, result, turns)

    def program(*operands: Any) -> Any:
        if not gradients:
            return run(*operands)
        value, back = jax.vjp(run, *operands)
        return value, back(jnp.cos(value))

    leaves, structure = jax.tree.flatten(_operands(turns))
    closed = jax.make_jaxpr(lambda *a: jax.tree.leaves(program(*jax.tree.unflatten(structure, a))))(
        *leaves
    )
    found = roll.rolled(closed, roll.Outside(), "f")
    assert found is not closed
    assert [v.aval for v in found.jaxpr.outvars] == [v.aval for v in closed.jaxpr.outvars]
    for a, b in zip(jaxpr_as_fun(found)(*leaves), jaxpr_as_fun(closed)(*leaves), strict=True):
        np.testing.assert_allclose(a, b, **TOLERANCE)


@pytest.fixture
def any_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roll, "LEAST_EQUATIONS", 0)
    monkeypatch.setattr(roll, "_LARGEST_SHARE", 0.9)


LOOPS = {
    "sources": st.lists(st.sampled_from(SOURCES), min_size=1, max_size=4),
    "result": st.sampled_from(RESULTS),
    "turns": st.integers(16, 24),
    "gradients": st.booleans(),
}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("sources", "result", "gradients"),
    [
        (SOURCES[:4], "stacked", True),
        (SOURCES[4:8], "joined, backward", False),
        pytest.param(SOURCES[8:], "summed", True, marks=pytest.mark.full),
        pytest.param(SOURCES, "single", False, marks=pytest.mark.full),
    ],
)
@pytest.mark.usefixtures("any_program")
def test_sources(sources: list[str], result: str, gradients: bool) -> None:
    _holds(sources, result, 16, gradients)


@pytest.mark.full
@pytest.mark.usefixtures("any_program")
def test_random_loops() -> None:
    @given(**LOOPS)
    @settings(max_examples=60, deadline=None)
    def holds(sources: list[str], result: str, turns: int, gradients: bool) -> None:
        _holds(sources, result, turns, gradients)

    holds()


@pytest.mark.parametrize("period", [1, 2, 3])
def test_repeats(period: int) -> None:
    turn = np.arange(period)
    numbers = np.concatenate([[7, 8], np.tile(turn, 10), [9]])
    assert repeats(numbers, 8, 100)[0] == Repeat(2, period, 10 * period)
    assert repeats(numbers[: 7 * period], 8, 100) == []
