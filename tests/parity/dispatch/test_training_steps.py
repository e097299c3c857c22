"""A training step whose operators a mode sees has the loss, gradients and buffers that it has
without one, and PyTorch's."""

import contextlib
import importlib

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


def network(t):
    nn, f = t.nn, t.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.bn, self.gn = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
            self.l, self.ln, self.e = nn.Linear(16, 8), nn.LayerNorm(8), nn.Embedding(5, 8)
            self.at = nn.MultiheadAttention(8, 2, batch_first=True)
            self.lstm, self.o = nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 3)

        def forward(self, x, i):
            h = f.max_pool2d(f.relu(self.gn(self.bn(self.conv(x)))), 2).flatten(1)
            h = self.ln(f.gelu(self.l(h)))[:, None] + self.e(i)
            h = self.at(h, h, h, need_weights=False)[0] + h
            return self.o(self.lstm(h)[0].mean(1))

    return Net()


def step(t, seen):
    """The loss, and gradients and buffers by name."""
    dispatch = importlib.import_module(f"{t.__name__}.utils._python_dispatch")

    class Seeing(dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    calls = []
    model, rng = network(t), np.random.default_rng(1)

    def random(*size):
        return t.tensor((rng.standard_normal(size) * 0.3).astype("f"))

    with t.no_grad():
        for p in model.parameters():
            p.copy_(random(*p.shape))
    x, i, y = random(3, 2, 6, 6), t.tensor([[0, 1], [2, 3], [4, 0]]), t.tensor([0, 1, 2])
    with Seeing() if seen else contextlib.nullcontext():
        loss = t.nn.functional.cross_entropy(model(x, i), y)
        loss.backward()
    assert bool(calls) is seen
    named = {n: p.grad.numpy() for n, p in model.named_parameters()}
    return {
        "loss": loss.detach().numpy(),
        **named,
        **{n: b.numpy().copy() for n, b in model.named_buffers()},
    }


def test_a_mode_changes_nothing():
    expected, plain, seen = step(torch, True), step(torchlike, False), step(torchlike, True)
    for name, value in expected.items():
        np.testing.assert_allclose(plain[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(seen[name], value, rtol=1e-5, atol=1e-6, err_msg=name)
