"""Dictionaries of optimizers and modules that a user writes to directly, past every method."""

import copy

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn


class Training:
    """Two linear layers of which the optimizer has the first, and a batch norm."""

    def __init__(self, wrap, kind=torch.optim.Adam):
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(2, 2), nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)
        self.optimizer = kind(self.first.parameters(), lr=0.1)
        self.step = wrap(self._step)

    def _step(self, x):
        for module in (self.first, self.second, self.norm):
            module.zero_grad()
        made = self.first(x) * self.second(x) * self.second._buffers.get("scale", 1.0)
        loss = (self.norm(made) - x).pow(2).sum() + made.pow(2).sum()
        loss.backward()
        self.optimizer.step()
        return loss

    def look(self):
        modules = (self.first, self.second, self.norm)
        values = [t for m in modules for t in m.state_dict().values()]
        for state in self.optimizer.state.values():
            values += [t for t in state.values() if t is not None]
        return [np.array(t.tolist()) for t in values]


def state_cleared(t):
    t.optimizer.state.clear()


def state_popped(t):
    t.optimizer.state.pop(t.first.weight)


def state_of_a_parameter_replaced(t):
    old = t.optimizer.state[t.first.weight]
    t.optimizer.state[t.first.weight] = {k: v.clone() + 1 for k, v in old.items()}


def state_tensor_replaced(t):
    state = t.optimizer.state[t.first.bias]
    state["exp_avg"] = torch.ones(2)


def parameters_of_a_group_replaced(t):
    t.optimizer.param_groups[0]["params"] = list(t.second.parameters())


def parameter_of_a_group_exchanged(t):
    t.optimizer.param_groups[0]["params"][1] = t.second.bias


def buffer_bound(t):
    t.norm._buffers["running_mean"] = torch.full((2,), 3.0)


def parameter_bound(t):
    t.second._parameters["weight"] = nn.Parameter(torch.ones(2, 2))


def parameter_taken_away(t):
    t.second._parameters["bias"] = None


def first_buffer_bound(t):
    t.second._buffers["scale"] = torch.tensor(2.0)


def tables_copied(t):
    t.second._parameters = dict(t.second._parameters)
    t.second._parameters["weight"] = nn.Parameter(torch.ones(2, 2))


CHANGES = [
    state_cleared,
    state_popped,
    state_of_a_parameter_replaced,
    state_tensor_replaced,
    parameters_of_a_group_replaced,
    parameter_of_a_group_exchanged,
    buffer_bound,
    parameter_bound,
    parameter_taken_away,
    first_buffer_bound,
    tables_copied,
]


def _batches(seed):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.standard_normal((n, 2)).astype(np.float32)) for n in (4, 3)]


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
def test_a_direct_write_is_seen_by_every_program(change):
    eager, jitted = Training(lambda f: f), Training(torch.jit)
    for round_ in range(3):
        for x in _batches(round_):
            losses = [t.step(x.clone()).item() for t in (eager, jitted)]
            assert losses[1] == pytest.approx(losses[0], rel=1e-5)
        if round_ == 1:
            change(eager)
            change(jitted)
            # The smaller batch first: its program must not make the other one's fit again.
            x = _batches(9)[1]
            losses = [t.step(x.clone()).item() for t in (eager, jitted)]
            assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for ours, expected in zip(jitted.look(), eager.look(), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_without_a_write_nothing_is_compiled_again():
    jitted = Training(torch.jit)
    for round_ in range(4):
        for x in _batches(round_):
            jitted.step(x)
    # Each shape once with the optimizer's state made and (the first) once before that.
    assert jitted.step.compiles <= 3
    before = jitted.step.compiles
    copy.deepcopy(jitted.optimizer.state_dict())
    jitted.norm.state_dict()
    for x in _batches(7):
        jitted.step(x)
    assert jitted.step.compiles == before


def test_a_buffer_that_the_function_binds_is_no_direct_write():
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("h", torch.zeros(2))
            self.register_buffer("fixed", torch.ones(2))

        def forward(self, x):
            self.h = self.h * 0.5 + x * self.fixed
            return self.h.sum()

    module = Running()
    jitted = torch.jit(module)
    for expected in (2.0, 3.0, 3.5):
        assert jitted(torch.ones(2)).item() == expected
    assert jitted.compiles == 1
    module._buffers["fixed"] = torch.zeros(2)
    assert jitted(torch.ones(2)).item() == 1.75
    module._buffers["h"] = torch.full((2,), 4.0)
    assert jitted(torch.ones(2)).item() == 4.0
    assert jitted.compiles == 2


def test_defaults_by_keyword_are_a_dictionary():
    def scaled(x, *, k=3.0):
        return x * k

    @torch.jit
    def f(x):
        return scaled(x)

    assert f(torch.ones(1)).item() == 3.0
    scaled.__kwdefaults__["k"] = 7.0
    assert f(torch.ones(1)).item() == 7.0
    assert f(torch.ones(1)).item() == 7.0
    assert f.compiles == 2
