"""Random functions of operations that check values, in branches, loops, transforms and backward:
compiled, they give what eager code gives, or its error, and leave the same state."""

import random

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike._runtime.first_calls import inlined

#: Sizes of the vector that a function works on, and of the vector of indices.
N, K = 5, 3


def _select(x, i):
    return x.index_select(0, i).sum() + x


def _take(x, i):
    return x + x[i].sum()


def _gather(x, i):
    return x * (1 + x.gather(0, i).mean())


def _write(x, i):
    x = x.clone()
    x[i] = 0.5
    return x


def _scatter(x, i):
    return x.scatter(0, i, 0.25)


def _add(x, i):
    return x.index_add(0, i, x[:K])


def _embedded(x, i):
    return x + F.embedding(i, x[:, None]).sum()


def _hot(x, i):
    return x + F.one_hot(i, N).sum(0)


def _loss(x, i):
    return x - F.cross_entropy(x.expand(K, N), i)


def _factor(x, i):
    # Positive definite unless an index is negative.
    return x + torch.linalg.cholesky(torch.eye(2) * (i.min() + 0.5)).sum()


def _asserted(x, i):
    torch._assert_async((i < N).all())
    return x


OPERATIONS = [
    _select,
    _take,
    _gather,
    _write,
    _scatter,
    _add,
    _embedded,
    _hot,
    _loss,
    _factor,
    _asserted,
]


def _branch(draw, depth):
    yes, no, at = drawn(draw, depth), drawn(draw, depth), draw.uniform(-3, 8)
    return lambda x, i: torch.cond(x.sum() > at, yes, no, (x, i))


def _loop(draw, depth):
    body, turns = drawn(draw, depth), draw.randint(1, 3)

    def loop(x, i):
        def turn(k, x):
            return k + 1, body(x, i) * 0.5

        return torch.while_loop(lambda k, x: k < turns, turn, (torch.tensor(0), x))[1]

    return loop


def _unrolled(draw, depth):
    body, shift = drawn(draw, depth), draw.randint(0, 1)

    def unrolled(x, i):
        for k in range(3):
            x = body(x, i + shift * k) * 0.5
        return x

    return unrolled


def _mapped(draw, depth):
    operation = draw.choice([_select, _take, _gather, _scatter, _embedded])
    return lambda x, i: torch.vmap(lambda j: operation(x, j))(torch.stack([i, i.flip(0)])).mean(0)


def _differentiated(draw, depth):
    operation = draw.choice([_select, _take, _gather, _write, _loss])

    def differentiated(x, i):
        y = x.detach().requires_grad_()
        operation(y, i).square().sum().backward()
        return x + y.grad

    return differentiated


def drawn(draw, depth=2):
    """Draw a function of a vector and of indices."""
    kinds = [_unrolled, _mapped, _differentiated] if depth == 2 else []
    if depth and draw.random() < 0.5:
        return draw.choice([_branch, _loop, *kinds])(draw, depth - 1)
    return draw.choice(OPERATIONS)


class Program:
    """Runs some of such functions one behind the other, and writes state between them."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.steps = [drawn(draw) for _ in range(draw.randint(1, 3))]
        self.written = draw.randrange(len(self.steps))
        self.array = np.zeros(N, np.float32)
        self.state = torch.from_numpy(self.array) if draw.random() < 0.3 else torch.zeros(N)

    def __call__(self, x, i):
        for k, step in enumerate(self.steps):
            x = step(x, i)
            if k == self.written:
                self.state.mul_(0.5).add_(x)
        return x + self.state


def said(function, *given):
    """Return what a call gives, or what it raises."""
    try:
        found = function(*given).tolist()
        torch.cpu.synchronize()
    except (IndexError, RuntimeError) as error:
        return type(error), str(error).partition("\n  Found by")[0]
    return found


def check(seed):
    """Compare a random program's calls, eager and compiled; gives how many were refused."""
    eager, other = Program(seed), Program(seed)
    compiled = torch.jit(other)
    draw = np.random.default_rng(seed)
    refused = 0
    for turn in range(4):
        x = torch.tensor(draw.uniform(0, 1, N).astype(np.float32))
        low, high = (0, N) if turn != 2 else (-1, N + 2)
        i = torch.tensor(draw.integers(low, high, K))
        before = eager.state.clone()
        wanted, found = said(eager, x, i), said(compiled, x, i)
        if isinstance(wanted, tuple):
            refused += 1
            eager.state.copy_(before)  # eager code has written before it raised
            assert found == wanted, seed
        else:
            assert not isinstance(found, tuple), (seed, found)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=str(seed))
        np.testing.assert_allclose(
            other.state.tolist(), eager.state.tolist(), rtol=1e-4, atol=1e-5, err_msg=str(seed)
        )
    assert compiled.compiles == 1
    return refused


def test_random_programs():
    assert sum(map(check, range(8))) > 2


@pytest.mark.full
def test_many_random_programs():
    assert sum(map(check, range(1000, 3000))) > 500


def values(seed):
    """Return what the calls of a random function, compiled, give or raise, and its state then."""
    function, draw = Program(seed), np.random.default_rng(seed)
    compiled = torch.jit(function)
    found = []
    for turn in range(3):
        x = torch.tensor(draw.uniform(0, 1, N).astype(np.float32))
        i = torch.tensor(draw.integers(0, N + (turn == 2), K))
        found.append(said(compiled, x, i))
    assert compiled.compiles == 1
    return [*found, function.state.tolist()]


@pytest.mark.parametrize("seeds", [range(4), pytest.param(range(4, 80), marks=pytest.mark.full)])
def test_equations_that_are_taken_over_compute_what_those_that_jax_inlines_do(monkeypatch, seeds):
    for seed in seeds:
        found = values(seed)
        with monkeypatch.context() as patch:
            patch.setattr(inlined, "program_traced", lambda: None)
            expected = values(seed)
        for a, b in zip(found, expected, strict=True):
            if isinstance(b, tuple):  # an error
                assert a == b, seed
            else:
                np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=str(seed))
