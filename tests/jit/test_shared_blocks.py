"""Programs run as blocks, of which equal ones share an executable, until the whole one follows."""

import os
import signal
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike._jit.call import programs
from torchlike._jit.program.program import _block
from torchlike._runtime.blocks import cutting, tiers
from torchlike._runtime.blocks.plan import planned
from torchlike._runtime.blocks.shared import SharedBlocks
from torchlike._runtime.blocks.tiers import WholeFollows
from torchlike._runtime.first_calls import cost
from torchlike._runtime.first_calls.cost import SharedBlocksCost
from torchlike._runtime.jaxprs import placeholder


@pytest.fixture
def small_is_large(monkeypatch):
    """Few operations are many: programs run as blocks, each of which costs nothing to compile, from
    the third call on; the whole one follows at the sixth."""
    monkeypatch.setattr(programs, "_MOST_AT_FIRST", 10)
    for name, value in {
        "_SMALL": 20,
        "_MOST_MEANWHILE": 2,
        "_BLOCK": 0.0,
        "_BLOCKS_SHARE": 2.0,
    }.items():
        monkeypatch.setattr(cost, name, value)
    monkeypatch.setattr(SharedBlocksCost, "whole_begins", property(lambda self: 1))
    monkeypatch.setattr(SharedBlocksCost, "whole_from", property(lambda self: 3))
    monkeypatch.setattr(cutting, "_LEAST_TURN", 1)


def stack(layers, donated=2):
    """Return a training step of equal layers, as a jaxpr, its arguments, and the function."""
    rng = np.random.default_rng(0)
    weights = [jnp.asarray(rng.normal(size=(8, 8)), jnp.float32) for _ in range(layers)]
    moments = [jnp.full_like(w, 0.5) for w in weights]

    def layer(x, w):
        y = x - x.mean(-1, keepdims=True)
        y = y / jnp.sqrt((y * y).mean(-1, keepdims=True) + 1e-5)
        return x + jnp.tanh(y @ w) * jax.nn.sigmoid(y @ w.T)

    def step(weights, moments, x):
        def loss(weights):
            y = x
            for w in weights:
                y = layer(y, w)
            return (y**2).mean()

        value, gradients = jax.value_and_grad(loss)(weights)
        moments = [0.9 * m + g * g for m, g in zip(moments, gradients, strict=True)]
        new = [
            w - 0.1 * g / (jnp.sqrt(m) + 1e-8) - 0.01 * jnp.sign(w) * jnp.abs(m).clip(0, 1)
            for w, m, g in zip(weights, moments, gradients, strict=True)
        ]
        return [*new, *moments], value

    def flat(*args):
        written, value = step(args[:layers], args[layers:-1], args[-1])
        return (*written, value, args[-1], value, 3)

    args = (*weights, *moments, jnp.linspace(-1, 1, 32, dtype=jnp.float32).reshape(4, 8))
    return jax.make_jaxpr(flat)(*args).jaxpr, args, flat


def copies(args):
    return [jnp.array(a) for a in args]


def test_the_number_of_blocks_does_not_grow_with_depth(monkeypatch):
    monkeypatch.setattr(cutting, "_LEAST_TURN", 1)
    monkeypatch.setattr(cutting, "_LEAST_SAVED", 8)
    plans = {n: planned(stack(n)[0], range(2 * n)) for n in (3, 12, 24)}
    sizes = {n: sum(len(b.jaxpr.eqns) for b in plan.blocks) for n, plan in plans.items()}
    assert len(plans[24].blocks) == len(plans[12].blocks) <= len(plans[3].blocks) + 1
    assert sizes[24] <= 1.3 * sizes[3]
    assert len(plans[24].places) - len(plans[12].places) >= 24  # forward and backward of 12 layers


def test_blocks_give_what_the_program_gives_and_take_the_memory_of_what_is_written(compilations):
    jaxpr, args, function = stack(6)
    expected = jax.jit(function)(*args)
    plan = planned(jaxpr, range(12))
    blocks = SharedBlocks(plan, [], "step", _block)
    given = copies(args)
    before = len(compilations)
    blocks.compile(list(map(placeholder, given)))
    assert len(compilations) - before == len(plan.blocks) < len(plan.places)
    found = blocks(given)
    before = len(compilations)
    blocks(copies(args))
    assert len(compilations) == before  # nothing but the number among the outputs, once
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert jnp.asarray(a).dtype == b.dtype
    assert [a.is_deleted() for a in given] == [True] * 12 + [False]
    assert found[13] is given[-1]


def test_values_are_given_up_when_the_last_block_has_read_them():
    plan = planned(stack(4)[0], ())
    readers = {}
    for at, place in enumerate(plan.places):
        readers |= dict.fromkeys(place.inputs, at)
    outputs = {v for v in plan.outputs if isinstance(v, int)}
    for at, place in enumerate(plan.places):
        assert set(place.dead) == {v for v in place.inputs if readers[v] == at} - outputs


def test_programs_without_equal_parts_are_no_blocks():
    jaxpr = jax.make_jaxpr(lambda x: jnp.sin(x) * jnp.cos(x) + 1)(jnp.ones(3)).jaxpr
    assert planned(jaxpr, ()) is None


def test_numbers_in_the_text_and_places_of_parts_tell_blocks_apart():
    def f(x):
        for i in range(4):
            for _ in range(12):
                x = jnp.sin(x * 2.0) + x[:1] * (1.0 if i % 2 else -0.0)
                x = jnp.cos(x) - x[i : i + 1]
        return x

    x = jnp.linspace(0, 1, 8)
    plan = planned(jax.make_jaxpr(f)(x).jaxpr, ())
    np.testing.assert_allclose(SharedBlocks(plan, [], "f", _block)([x])[0], f(x), rtol=1e-5)


class Net(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding = nn.Embedding(10, 6)
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(6) for _ in range(layers))
        self.dropout = nn.Dropout(0.2)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + self.dropout(torch.tanh(layer(norm(x)))) * torch.sigmoid(x)
        return x.square().mean()


def training(layers=4):
    torch.manual_seed(0)
    model = Net(layers)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(ids):
        optimizer.zero_grad()
        loss = model(ids)
        loss.backward()
        optimizer.step()
        return loss

    return model, step, torch.tensor([[1, 2, 3], [4, 5, 6]])


def record_of(calls):
    """Return the record of the report on the program that was compiled last."""
    assert calls
    return torch.compiler.report().programs[-1]


def ran(step, ids, calls):
    return [(step(ids).item(), getattr(step, "ran_eagerly", None)) for _ in range(calls)]


@pytest.mark.usefixtures("small_is_large")
def test_a_training_step_runs_in_three_tiers():
    model, step, ids = training()
    expected = [loss for loss, _ in ran(step, ids, 10)]
    weights = [p.detach().numpy() for p in model.parameters()]
    draws = torch.rand(3)
    model, step, ids = training()
    compiled = torch.compile(step)
    first = ran(compiled, ids, 5)
    record = record_of(first)
    assert record.blocks[0] < record.blocks[1]
    assert not record.is_whole
    told = f"in {record.blocks[1]} blocks, {record.blocks[0]} of them distinct, whole from call"
    assert told in record.state
    found = first + ran(compiled, ids, 5)
    assert record.is_whole
    assert f"whole since call {record.eager_calls + 4}" in record.state
    assert [eagerly for _, eagerly in found] == [True] * record.eager_calls + [False] * (
        10 - record.eager_calls
    )
    np.testing.assert_allclose([loss for loss, _ in found], expected, rtol=1e-5)
    for p, w in zip(model.parameters(), weights, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), w, rtol=1e-4, atol=1e-6)
    assert torch.rand(3).tolist() == draws.tolist()


@pytest.mark.usefixtures("small_is_large")
def test_state_is_as_it_was_after_a_check_of_values_has_failed():
    model, step, ids = training()
    compiled = torch.compile(step)
    ran(compiled, ids, 4)
    assert record_of(compiled).is_used
    before = [p.detach().numpy().copy() for p in model.parameters()]
    draws = torch.get_rng_state().tolist()
    with pytest.raises(IndexError, match="index out of range"):
        compiled(torch.tensor([[1, 2, 17], [4, 5, 6]])).item()
    for p, w in zip(model.parameters(), before, strict=True):
        assert p.detach().numpy().tolist() == w.tolist()
    assert torch.get_rng_state().tolist() == draws
    assert not record_of(compiled).is_whole
    assert np.isfinite(compiled(ids).item())


@pytest.mark.usefixtures("small_is_large")
def test_the_old_values_of_weights_are_given_up_and_those_that_others_hold_are_not():
    model, step, ids = training()
    compiled = torch.compile(step)
    ran(compiled, ids, 3)
    weight, held = model.layers[0].weight, model.layers[1].weight.detach().jax()
    old, copy = weight._storage.cell, np.array(held)
    pointer = old.unsafe_buffer_pointer()
    del old
    compiled(ids).item()
    assert weight._storage.cell.unsafe_buffer_pointer() == pointer
    assert np.array(held).tolist() == copy.tolist()
    assert not record_of(compiled).is_whole


@pytest.mark.usefixtures("small_is_large")
def test_a_forward_by_blocks_is_a_node_whose_backward_runs_by_blocks():
    def gradients(model, f, ids):
        found = []
        for _ in range(5):
            model.zero_grad()
            loss = f(ids)
            loss.backward(retain_graph=True)
            loss.backward()
            found.append([p.grad.tolist() for p in model.parameters()])
        return found, loss

    torch.manual_seed(0)
    model = Net(4).eval()
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    expected, _ = gradients(model, model.forward, ids)
    compiled = torch.compile(model.forward)
    found, loss = gradients(model, compiled, ids)
    record = record_of(found)
    assert record.is_used
    assert record.blocks[1] > 8
    assert type(loss.grad_fn).__name__ == "CompiledNode"
    for a, b in zip(found, expected, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)
    again = torch.autograd.grad(compiled(ids), model.layers[0].weight, create_graph=True)[0]
    eager = torch.autograd.grad(model(ids), model.layers[0].weight, create_graph=True)[0]
    again, eager = (
        torch.autograd.grad(g.square().sum(), model.layers[1].weight)[0] for g in (again, eager)
    )
    np.testing.assert_allclose(again, eager, rtol=1e-3, atol=1e-6)  # of gradients of 1e-3


@pytest.mark.usefixtures("small_is_large")
def test_who_says_so_waits_for_the_whole_program():
    _, step, ids = training()
    before = len(torch.compiler.report().programs)
    compiled = torch.compile(step, fullgraph=True, options={"warmup": 0})
    assert not any(eagerly for _, eagerly in ran(compiled, ids, 2))
    assert len(torch.compiler.report().programs) == before


@pytest.mark.usefixtures("small_is_large")
def test_the_whole_program_can_be_looked_at():
    _, step, ids = training()
    compiled = torch.compile(step)
    ran(compiled, ids, 4)
    program = compiled.program_that_ran()
    assert "stablehlo" in program.stablehlo()
    assert program.cost().instructions > 0
    assert len(program.jaxpr().in_avals) == len(program.avals)


@pytest.fixture
def hears_interruptions():
    """Hear SIGINT, which a shell has what it starts in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("small_is_large", "hears_interruptions")
def test_an_interruption_comes_when_the_outputs_are_delivered(monkeypatch):
    model, step, ids = training()
    compiled = torch.compile(step)
    ran(compiled, ids, 3)
    run = SharedBlocks._run
    places = []

    def interrupted(self, place, values):
        run(self, place, values)
        places.append(place)
        if len(places) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(SharedBlocks, "_run", interrupted)
    handler = signal.getsignal(signal.SIGINT)

    def called_and_waited():
        compiled(ids)
        time.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        called_and_waited()
    assert len(places) > 5
    assert signal.getsignal(signal.SIGINT) is handler
    assert all(np.isfinite(p.detach().numpy()).all() for p in model.parameters())
    monkeypatch.undo()
    assert np.isfinite(compiled(ids).item())


def test_the_whole_program_follows_where_handing_arrays_on_is_much_of_a_call():
    brief = SharedBlocksCost(compiling=1e9, whole=1e10, work=1e8, passing=2e7)
    assert (brief.whole_begins, brief.whole_from) == (500, 605)
    long = brief._replace(work=1e9)
    assert (long.whole_begins, long.whole_from) == (None, None)
    assert brief.pays
    assert not brief._replace(compiling=8e9).pays


def test_the_whole_program_is_compiled_before_the_call_that_uses_it(monkeypatch):
    begun, done = [], []

    class Task:
        def result(self):
            done.append(1)

    def submit(work, name):
        begun.append(name)
        return Task()

    monkeypatch.setattr(tiers.background, "submit", submit)
    cost = SharedBlocksCost(1e9, 2e8, 1e8, 1e8)  # begins behind 2 calls, is there behind 4
    follows = WholeFollows(lambda: None, cost, "f")
    assert [(follows.is_due(), len(begun)) for _ in range(5)] == [
        *[(False, 0)] * 2,
        *[(False, 1)] * 2,
        (True, 1),
    ]
    assert done == [1]
