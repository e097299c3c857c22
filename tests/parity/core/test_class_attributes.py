"""Ops as class attributes of modules: PyTorch's are builtins, which are not bound."""

from __future__ import annotations

import pytest

import torchlike

torch = pytest.importorskip("torch")


def network(t):
    class Parent(t.nn.Module):
        convolve = t.nn.functional.conv1d
        act = t.tanh
        add = t.add

        def __init__(self):
            super().__init__()
            self.weight = t.nn.Parameter(t.arange(6.0).reshape(1, 2, 3) / 7)

        def forward(self, x):
            y = self.act(self.convolve(x, weight=self.weight, padding=1))
            return self.add(y, self.own(x), alpha=2)

        def own(self, x):
            return x.mean()

    class Child(Parent):
        act = t.sigmoid

    return Parent(), Child()


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_ops_are_not_bound(which, jitted):
    def told(t):
        net = network(t)[which]
        x = t.linspace(-1, 1, 10).reshape(1, 2, 5)
        y = (t.jit(net) if jitted and t is torchlike else net)(x)
        y.square().sum().backward()
        return y.tolist(), net.weight.grad.tolist()

    for ours, theirs in zip(told(torchlike), told(torch), strict=True):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs), rtol=1e-5, atol=1e-6)


def test_on_the_class_it_is_the_function():
    for t in (torchlike, torch):
        net = type(network(t)[0])
        assert net.act is t.tanh
        assert net.convolve(t.ones(1, 1, 3), t.ones(1, 1, 3)).item() == 3
