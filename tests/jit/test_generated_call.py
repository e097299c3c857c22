"""Calls that are written out: from the second on, and the general way where need be."""

import gc
import weakref
from pathlib import Path

import pytest

import torchlike as torch
from torchlike._jit.program.program import Program


@pytest.fixture
def general(monkeypatch):
    """Counts the calls that take the general way."""
    calls = []
    original = Program.call

    def counted(self, *args):
        calls.append(self)
        return original(self, *args)

    monkeypatch.setattr(Program, "call", counted)
    return calls


def counter():
    total = torch.zeros(3)

    @torch.jit
    def add(x):
        total.add_(x)
        return x * 2, {"total": total, "three": 3}

    return total, add


def warm_counter():
    """A counter that stands at 2, its calls written out."""
    total, add = counter()
    add(torch.ones(3))
    add(torch.ones(3))
    return total, add


def test_the_second_call_is_written_out(general):
    total, add = counter()
    for i in range(1, 5):
        doubled, named = add(torch.ones(3))
        assert doubled.tolist() == [2.0] * 3
        assert named["total"] is total
        assert (named["three"], total.tolist(), total._version) == (3, [float(i)] * 3, i)
    assert (add.compiles, general) == (1, [])


def test_a_held_array_is_not_donated(general):
    total, add = warm_counter()
    held = total.jax()
    add(torch.ones(3))
    assert (held.tolist(), total.tolist(), len(general)) == ([2.0] * 3, [3.0] * 3, 1)
    del held
    add(torch.ones(3))
    assert (total.tolist(), len(general)) == ([4.0] * 3, 1)


def test_a_shared_numpy_array_is_written_through(general):
    total, add = warm_counter()
    array = total.numpy()
    add(torch.ones(3))
    array += 10
    add(torch.ones(3))
    assert array.tolist() == total.tolist() == [14.0] * 3
    assert len(general) == 2


def test_a_numpy_array_as_argument(general):
    total, add = counter()
    x = torch.ones(3)
    add(x)
    add(x)
    array = x.numpy()
    array[:] = 5
    add(x)
    assert total.tolist() == [7.0] * 3


def test_training_steps_are_written_out(general):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)

    @torch.jit
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    x = torch.randn(16, 4)
    losses = []
    for _ in range(6):
        losses.append(step(x).item())
        schedule.step()
    assert losses[-1] < losses[0]
    assert len(set(losses)) == 6
    before = len(general)
    step(x)
    assert (len(general), step.compiles) == (before, 1)
    assert model[0].weight.grad is not None


def test_slots_change_places(general):
    class Pair(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("a", torch.ones(2))
            self.register_buffer("b", torch.zeros(2))

    pair = Pair()

    @torch.jit
    def swap():
        pair.a, pair.b = pair.b * 1, pair.a + 1

    seen = []
    for _ in range(5):
        swap()
        seen.append((pair.a.tolist()[0], pair.b.tolist()[0]))
    assert (swap.compiles, general) == (1, [])
    assert seen == [(0.0, 2.0), (2.0, 1.0), (1.0, 3.0), (3.0, 2.0), (2.0, 4.0)]


def test_results_that_are_views_and_parameters():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    state = torch.zeros(2, 2)

    @torch.jit
    def f(x):
        state.add_(1)
        with torch.no_grad():
            weight.mul_(2)
        return state[0], weight, x, x.t() * 1

    x = torch.arange(4.0).reshape(2, 2)
    for i in range(1, 5):
        row, w, same, transposed = f(x)
        assert (w is weight, same is x) == (True, True)
        row.add_(0)
        assert (row.tolist(), weight[0, 0].item()) == ([float(i)] * 2, 2.0**i)
        assert transposed.stride() == (1, 2)
    row += 5
    assert state.tolist() == [[9.0, 9.0], [4.0, 4.0]]


def test_a_deleted_variable_is_missed():
    def make():
        scale = 2.0

        @torch.jit
        def f(x):
            return x * scale

        def forget():
            nonlocal scale
            del scale

        return f, forget

    f, forget = make()
    for _ in range(3):
        assert f(torch.ones(1)).item() == 2
    forget()
    with pytest.raises(NameError, match="scale"):
        f(torch.ones(1))


def test_nothing_is_kept_alive_by_a_cycle():
    total, add = counter()
    for _ in range(3):
        add(torch.ones(3))
    cell = weakref.ref(total._storage)
    program = weakref.ref(add.latest)
    gc.collect()
    gc.disable()
    try:
        add.reset()
        assert program() is None
        del total, add
    finally:
        gc.enable()
    gc.collect()
    assert cell() is None


def test_a_hidden_tensor_that_gets_a_history_is_noticed():
    scale = torch.ones(2)

    @torch.jit
    def f(x):
        return x * scale

    x = torch.ones(2)
    for _ in range(3):
        assert not f(x).requires_grad
    leaf = torch.ones(2, requires_grad=True)
    scale.mul_(leaf * 3)
    f(x).sum().backward()
    assert leaf.grad.tolist() == [3.0] * 2


def test_a_hidden_tensor_as_argument_is_one_memory():
    total, add = counter()
    for _ in range(3):
        add(torch.ones(3))
    doubled, _ = add(total)
    assert (total.tolist(), doubled.tolist()) == ([6.0] * 3, [12.0] * 3)
    add(torch.ones(3))
    assert total.tolist() == [7.0] * 3


def test_written_functions_count_as_the_library(general):
    _, add = warm_counter()
    package = str(Path(torch.__file__).parent)
    for written in (add.latest.state.call, add.latest.state.guard):
        assert written.__code__.co_filename.startswith(package)
        assert written.__module__ == "torchlike._jit.program.generated_call"
