"""Training with ``warmup=k``: losses, parameters, optimizer state and random numbers as eagerly."""

import chex
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nn

STEPS = 8


def watched(function):
    """The function, and a list that grows with each of its eager calls."""
    runs = []

    def seen(*args, **kwargs):
        runs.append(1)
        return function(*args, **kwargs)

    return seen, runs


def mlp(wrap):
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, wrap(step), lambda: None


def dropout_and_batch_norm(wrap):
    model = nn.Sequential(
        nn.Linear(6, 16, bias=False),
        nn.BatchNorm1d(16),
        nn.Dropout(0.5),
        nn.ReLU(),
        nn.Linear(16, 3),
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x + 0.1 * torch.randn_like(x)), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, wrap(step), lambda: None


def scheduled(wrap):
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.5, total_steps=2 * STEPS)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, wrap(step), scheduler.step


def accumulated(wrap):
    """Only backward is compiled: the optimizer steps, and clears, after every third call."""
    model = nn.Linear(6, 3)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    calls = [0]

    def micro(x, y):
        loss = F.cross_entropy(model(x), y) / 3
        loss.backward()
        return loss

    def after():
        calls[0] += 1
        if calls[0] % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()

    return model, optimizer, wrap(micro), after


def evaluated_between(wrap):
    """A guard fails between calls: ``model.training``."""
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    calls = [0]

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        if model.training:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss

    def after():
        calls[0] += 1
        model.train(calls[0] % 3 != 0)

    return model, optimizer, wrap(step), after


def only_the_forward(wrap):
    """The loss and its backward are outside: two programs, the second joined to the tape."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 3))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    forward = wrap(lambda x: model(x))

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step.compiled = forward
    return model, optimizer, step, lambda: None


def an_optimizer_made_inside(wrap):
    model, made = nn.Linear(6, 3), []

    def step(x, y):
        if not made:
            made.append(torch.optim.Adam(model.parameters(), lr=0.01))
        made[0].zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        made[0].step()
        return loss

    return model, None, wrap(step), lambda: None


CASES = [
    mlp,
    dropout_and_batch_norm,
    scheduled,
    accumulated,
    evaluated_between,
    only_the_forward,
    an_optimizer_made_inside,
]


def trained(case, wrap, sizes=(4,) * STEPS):
    torch.manual_seed(0)
    model, optimizer, step, after = case(wrap)
    rng = np.random.default_rng(0)
    losses = []
    for size in sizes:
        x = torch.from_numpy(rng.standard_normal((size, 6)).astype(np.float32))
        y = torch.from_numpy(rng.integers(0, 3, size))
        losses.append(step(x, y).item())
        after()
    state = {name: t.detach().numpy() for name, t in model.state_dict().items()}
    for i, (_, kept) in enumerate(optimizer.state.items() if optimizer else ()):
        state |= {f"{i}.{k}": np.asarray(v) for k, v in kept.items()}
    gradients = [p.grad.numpy() for p in model.parameters() if p.grad is not None]
    return step, {
        "state": state,
        "losses": np.array(losses),
        "gradients": gradients,
        "random": torch.get_rng_state().numpy(),
    }


@pytest.mark.sampled(every=30, rest="full")
@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("case", CASES)
def test_a_training_is_what_it_is_eagerly(case, k):
    _, eager = trained(case, lambda f: f)
    runs = []

    def wrap(f):
        seen, what = watched(f)
        runs.append(what)
        return torch.jit(seen, warmup=k)

    step, warmed = trained(case, wrap)
    chex.assert_trees_all_close(warmed, eager, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(warmed["random"], eager["random"])
    step = getattr(step, "compiled", step)
    assert not step.ran_eagerly or case in (evaluated_between, accumulated)
    assert len(runs[0]) >= k
    if case in (mlp, scheduled, only_the_forward) or (case is dropout_and_batch_norm and k > 1):
        assert step.compiles == 1
        assert len(runs[0]) == k  # what the trace appended is undone


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("case", [mlp, dropout_and_batch_norm])
def test_shapes_that_change_in_the_midst_of_it(case):
    sizes = (4, 4, 7, 4, 4, 7, 7, 7, 2, 4)
    _, eager = trained(case, lambda f: f, sizes)
    step, warmed = trained(case, lambda f: torch.jit(f, warmup=3), sizes)
    chex.assert_trees_all_close(warmed, eager, rtol=1e-5, atol=1e-6)
    assert step.compiles == 2


def test_the_first_calls_are_eager_bit_for_bit():
    _, eager = trained(dropout_and_batch_norm, lambda f: f, (4,) * 3)
    _, warmed = trained(dropout_and_batch_norm, lambda f: torch.jit(f, warmup=3), (4,) * 3)
    chex.assert_trees_all_equal(warmed, eager)
