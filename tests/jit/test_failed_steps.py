"""A compiled call that fails a check of values changes nothing, and the program goes on."""

import subprocess
import sys

import jax
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nn
from torchlike._runtime import late_checks

OPTIMIZERS = {
    "SGD": lambda ps: torch.optim.SGD(ps, lr=0.1),
    "momentum": lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda ps: torch.optim.Adam(ps, lr=0.1),
    "AMSGrad": lambda ps: torch.optim.AdamW(ps, lr=0.1, amsgrad=True),
    "RMSprop": lambda ps: torch.optim.RMSprop(ps, lr=0.1, momentum=0.9, centered=True),
    "Adagrad": lambda ps: torch.optim.Adagrad(ps, lr=0.1),
    "Adadelta": lambda ps: torch.optim.Adadelta(ps, lr=0.1),
    "Adamax": lambda ps: torch.optim.Adamax(ps, lr=0.1),
    "NAdam": lambda ps: torch.optim.NAdam(ps, lr=0.1),
    "RAdam": lambda ps: torch.optim.RAdam(ps, lr=0.1),
    "ASGD": lambda ps: torch.optim.ASGD(ps, lr=0.1),
    "Rprop": lambda ps: torch.optim.Rprop(ps, lr=0.1),
}
IDS = torch.tensor([1, 2, 3])
GOOD, BAD = torch.tensor([0, 1, 4]), torch.tensor([0, 1, 5])


class Training:
    """Trains a model with parameters, buffers and random numbers."""

    def __init__(self, make=OPTIMIZERS["Adam"], dropout=0.0, compiled=True, **options):
        torch.manual_seed(0)
        self.net = nn.Sequential(
            nn.Embedding(10, 8), nn.BatchNorm1d(8), nn.Dropout(dropout), nn.Linear(8, 5)
        )
        self.optimizer = make(self.net.parameters())
        self.run = torch.jit(self.step, **options) if compiled else self.step

    def step(self, ids, labels):
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.net(ids), labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def state(self):
        found = [*self.net.state_dict().values()]
        for of_parameter in self.optimizer.state.values():
            found += [v for v in of_parameter.values() if isinstance(v, torch.Tensor)]
        return [np.array(t.detach().numpy()) for t in found]


def same(a, b):
    return len(a) == len(b) and all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_that_failed_changes_nothing(optimizer):
    training, reference = (Training(OPTIMIZERS[optimizer]) for _ in range(2))
    for _ in range(3):
        training.run(IDS, GOOD)
        reference.run(IDS, GOOD)
    before = training.state()
    for wrong in ((IDS, BAD), (IDS + 7, GOOD)):
        with pytest.raises(IndexError, match=r"out of bounds|out of range"):
            training.run(*wrong).item()
        assert same(training.state(), before)
    for _ in range(2):
        training.run(IDS, GOOD)
        reference.run(IDS, GOOD)
    assert same(training.state(), reference.state())
    assert training.run.compiles == 1


def test_a_bad_label_in_the_fiftieth_batch():
    training, until = Training(), Training()
    for turn in range(60):
        try:
            loss = training.run(IDS, BAD if turn == 49 else GOOD).item()
        except IndexError as error:
            failed = turn, str(error)
            assert same(training.state(), until.state())
        else:
            assert np.isfinite(loss)
            until.run(IDS, GOOD)
    assert failed[0] == 49
    assert failed[1].startswith(
        "Target 5 is out of bounds.\n  Found by a check inside Training.step"
    )
    first = Training.step.__code__.co_firstlineno
    assert f"(test_failed_steps.py:{first + 2})" in failed[1]
    assert same(training.state(), until.state())


def test_it_is_told_at_a_later_call_where_nobody_reads():
    training = Training()
    training.run(IDS, GOOD)
    training.run(IDS, BAD)

    def go_on():
        for _ in range(20):
            training.run(IDS, GOOD)
            assert len(late_checks.queue) <= late_checks._MOST + 1

    with pytest.raises(IndexError, match="Target 5"):
        go_on()
    torch.cpu.synchronize()  # told once


def test_it_is_no_error_of_a_function_that_is_captured_next():
    f = torch.jit(lambda x, i: x[i])
    f(torch.ones(3), torch.tensor([1]))

    @torch.compile
    def other(x):
        return x * torch.tensor([2, 3]).tolist()[1]

    f(torch.ones(3), torch.tensor([4])).jax().block_until_ready()
    with pytest.raises(IndexError, match="index 4 is out of bounds"):
        other(torch.ones(2))
    assert other(torch.ones(2)).tolist() == [3, 3]
    assert not other.ran_eagerly


def test_synchronize_tells():
    f = torch.jit(lambda x, i: x[i])
    f(torch.ones(3), torch.tensor([1]))
    f(torch.ones(3), torch.tensor([4]))
    with pytest.raises(IndexError, match="index 4 is out of bounds for dimension 0 with size 3"):
        torch.cpu.synchronize()
    torch.cpu.synchronize()


def gradients(training):
    return [None if p.grad is None else p.grad.tolist() for p in training.net.parameters()]


@pytest.mark.parametrize("calls", [1, 3], ids=["general", "generated"])
def test_a_step_that_fails_leaves_no_gradient_where_it_was_to_make_one(calls):
    training = Training()
    for _ in range(calls):
        training.run(IDS, GOOD)
    assert None not in gradients(training)
    with pytest.raises(IndexError, match="Target 5"):
        training.run(IDS, BAD).item()
    assert gradients(training) == [None] * 5
    training.run(IDS, GOOD)
    assert None not in gradients(training)


@pytest.mark.parametrize("calls", [1, 3], ids=["general", "generated"])
def test_a_step_that_fails_leaves_a_gradient_that_it_would_have_added_to(calls):
    net = nn.Linear(3, 2)
    step = torch.jit(lambda x, y: F.cross_entropy(net(x), y).backward())
    ones, good = torch.ones(2, 3), torch.tensor([0, 1])
    for _ in range(calls + 1):
        step(ones, good)
    before = [p.grad.tolist() for p in net.parameters()]
    step(ones, torch.tensor([0, 2]))
    with pytest.raises(IndexError, match="Target 2"):
        torch.cpu.synchronize()
    assert [p.grad.tolist() for p in net.parameters()] == before


def test_a_gradient_that_somebody_bound_since_stays():
    training = Training()
    training.run(IDS, GOOD)
    training.run(IDS, GOOD)
    training.run(IDS, BAD)
    weight = training.net[3].weight
    weight.grad = own = torch.ones(5, 8)
    with pytest.raises(IndexError, match="Target 5"):
        torch.cpu.synchronize()
    assert weight.grad is own
    assert training.net[3].bias.grad is None


def test_the_gradients_of_an_argument_are_taken_back():
    @torch.jit
    def f(x, i):
        x.grad = None
        (x[i] * 2).sum().backward()

    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        f(x, torch.tensor([1]))
    assert x.grad.tolist() == [0, 2, 0]
    f(x, torch.tensor([3]))
    with pytest.raises(IndexError, match="index 3"):
        torch.cpu.synchronize()
    assert x.grad is None


class GatheredByGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.index_select(0, g.long())


def test_a_backward_that_fails_leaves_gradients_as_they_were():
    f = torch.jit(lambda x: GatheredByGradient.apply(x))
    x = torch.ones(3, requires_grad=True)
    good, bad = torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 1.0, 3.0])
    for _ in range(2):
        f(x).backward(good)
    assert x.grad.tolist() == [0, 2, 4]
    with pytest.raises(IndexError, match="index out of range in self"):
        f(x).backward(bad)
    assert x.grad.tolist() == [0, 2, 4]


def test_a_first_call_that_fails_leaves_nothing_behind():
    training = Training(dropout=0.5)
    before, random = training.state(), torch.get_rng_state()
    with pytest.raises(IndexError, match="Target 5"):
        training.run(IDS, BAD)
    assert not any(t.any() for held in training.optimizer.state.values() for t in held.values())
    assert all(p.grad is None for p in training.net.parameters())
    assert same(training.state()[: len(before)], before)
    assert torch.equal(torch.get_rng_state(), random)
    other = Training(dropout=0.5)
    torch.set_rng_state(random)
    training.run(IDS, GOOD)
    torch.set_rng_state(random)
    other.run(IDS, GOOD)
    assert same(training.state(), other.state())


def test_random_generators_go_back():
    training = Training(dropout=0.5)
    training.run(IDS, GOOD)
    random = torch.get_rng_state()
    with pytest.raises(IndexError):
        training.run(IDS, BAD).item()
    assert torch.equal(torch.get_rng_state(), random)
    training.run(IDS, BAD)
    torch.rand(3)
    drawn = torch.get_rng_state()
    with pytest.raises(IndexError):
        torch.cpu.synchronize()
    assert torch.equal(torch.get_rng_state(), drawn)  # what others drew stays drawn


def test_memory_of_numpy_and_slots_stay():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.h = torch.zeros(2)
            self.array = np.zeros(3, np.float32)
            self.shared = torch.from_numpy(self.array)

        def forward(self, x, i):
            self.h = self.h + 1
            self.shared.add_(1)
            return x[i]

    module = Counting()
    f = torch.jit(module)
    x = torch.ones(3)
    for _ in range(3):
        f(x, torch.tensor([0]))
    with pytest.raises(IndexError):
        f(x, torch.tensor([3])).tolist()
    assert module.h.tolist() == [3, 3]
    assert module.array.tolist() == [3, 3, 3]
    f(x, torch.tensor([1]))
    assert module.h.tolist() == [4, 4]


def branch(x, i):
    if x.sum() > 0:
        return x[i]
    return x[i * 0]


def loop(x, i):
    while x.sum() < 100:
        x = x + x[i].sum().abs() + 1
    return x


def counted(x, i):
    for k in range(3):
        x = x + x[i + k].sum()
    return x


def mapped(x, i):
    return torch.vmap(lambda j: x.index_select(0, j))(i[:, None])


class Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, i):
        ctx.save_for_backward(i)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.index_select(0, ctx.saved_tensors[0]).sum() * torch.ones_like(g), None


def in_backward(x, i):
    x = x.detach().requires_grad_()
    Gathered.apply(x, i).sum().backward()
    return x.grad


def recomputed(x, i):
    return torch.utils.checkpoint.checkpoint(lambda x: x[i] * 2, x, use_reentrant=False)


@pytest.mark.parametrize(
    "function", [branch, loop, counted, mapped, in_backward, recomputed], ids=lambda f: f.__name__
)
def test_inside_branches_loops_transforms_and_backward(function):
    f = torch.jit(function)
    x = torch.ones(4)
    expected = function(x, torch.tensor([1])).tolist()
    assert f(x, torch.tensor([1])).tolist() == expected
    with pytest.raises(IndexError) as eager:
        function(x, torch.tensor([4]))
    with pytest.raises(IndexError) as compiled:
        f(x, torch.tensor([4])).tolist()
    assert str(compiled.value).partition("\n")[0] == str(eager.value)
    assert f(x, torch.tensor([1])).tolist() == expected
    assert f.compiles == 1


def test_a_branch_that_is_not_taken_says_nothing():
    assert torch.jit(branch)(-torch.ones(4), torch.tensor([4])).tolist() == [-1.0]


def test_a_branch_that_gives_nothing_is_checked():
    def f(x):
        if x.sum() > 0:
            torch._assert_async((x < 2).all(), "too large")
        return x

    compiled = torch.jit(f)
    assert compiled(torch.ones(2)).tolist() == [1, 1]
    assert compiled(-3 * torch.ones(2)).tolist() == [-3, -3]
    with pytest.raises(RuntimeError, match="too large"):
        compiled(torch.full((2,), 3.0)).tolist()


def test_a_backward_that_runs_later_is_checked_too():
    f = torch.jit(lambda x, i: Gathered.apply(x, i).sum())
    x = torch.ones(3, requires_grad=True)
    f(x, torch.tensor([1])).backward()
    assert x.grad.tolist() == [1, 1, 1]

    def step():
        f(x, torch.tensor([3])).backward()
        x.grad.tolist()

    with pytest.raises(IndexError, match="index out of range in self"):
        step()


def test_an_eager_optimizer_takes_no_step_on_a_failed_gradient():
    net = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    loss_of = torch.jit(lambda x, y: F.cross_entropy(net(x), y))
    loss_of(torch.ones(2, 3), torch.tensor([0, 1])).backward()
    before = [p.tolist() for p in net.parameters()]
    with pytest.raises(IndexError, match="Target 2"):
        loss_of(torch.ones(2, 3), torch.tensor([0, 2])).backward()
    optimizer.zero_grad()
    optimizer.step()
    assert [p.tolist() for p in net.parameters()] == before


def test_the_first_check_that_fails_is_told():
    f = torch.jit(lambda x, i, j: x[i] + x.gather(0, j))
    ok, bad = torch.tensor([0]), torch.tensor([5])
    x = torch.ones(3)
    for i, j, words in (
        (ok, bad, "index 5 is out"),
        (bad, ok, "index 5 is"),
        (bad, bad, "index 5"),
    ):
        with pytest.raises((IndexError, RuntimeError), match=words) as raised:
            f(x, i, j).tolist()
        assert raised.type is (RuntimeError if i is ok else IndexError)


def test_modules_and_torch_compile():
    embedding = nn.Embedding(3, 2)
    f = torch.compile(embedding)
    f(torch.tensor([1]))
    with pytest.raises(IndexError, match="index out of range in self"):
        f(torch.tensor([3])).tolist()
    assert f(torch.tensor([2])).shape == (1, 2)


def test_switched_off(monkeypatch):
    i = torch.tensor([4])
    assert torch.jit(lambda x: x[i], checks=False)(torch.ones(3)).isnan().all()
    monkeypatch.setenv("TORCHLIKE_CHECKS", "off")
    assert torch.jit(lambda x: x[i])(torch.ones(3)).isnan().all()
    with pytest.raises(IndexError):
        torch.jit(lambda x: x[i], checks=True)(torch.ones(3))


def test_programs_without_checks_have_no_word():
    f = torch.jit(lambda x: x * 2)
    f(torch.ones(3))
    (programs,) = f._programs.values()
    assert programs[0].words is None


def test_it_is_told_when_the_process_ends():
    code = """
import torchlike as torch
f = torch.jit(lambda x, i: x[i])
f(torch.ones(3), torch.tensor([1]))
f(torch.ones(3), torch.tensor([4]))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert "IndexError: index 4 is out of bounds for dimension 0 with size 3" in ran.stderr


def test_many_turns_that_are_rolled_into_a_loop():
    cell = nn.RNNCell(4, 4)
    table = nn.Embedding(5, 4)

    def run(ids):
        h = torch.zeros(1, 4)
        for k in range(120):
            h = cell(table(ids[k : k + 1]), h)
        return h.sum()

    f = torch.jit(run)
    ids = torch.arange(120) % 5
    np.testing.assert_allclose(f(ids).item(), run(ids).item(), rtol=1e-5)
    ids[77] = 5
    with pytest.raises(IndexError, match="index out of range in self"):
        f(ids).item()


def _at(cache, position, k):
    cache[:, position] = k


def _at_many(cache, position, k):
    cache[:, position[None]] = k[:, None]


def _sliced(cache, position, k):
    cache[:, 3:4] = k[:, None]
    cache[:, 7] = k


def _copied(cache, position, k):
    cache.index_copy_(1, position[None], k[:, None])


def _added(cache, position, k):
    cache.index_add_(1, position[None], k[:, None])


def _whole(cache, position, k):
    cache.mul_(2).add_(1)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("is_view", [False, True])
@pytest.mark.parametrize(
    "write", [_at, _at_many, _sliced, _copied, _added, _whole], ids=lambda f: f.__name__
)
def test_large_state_of_which_a_part_is_written(write, is_view):
    cache = torch.arange(4 * 600 * 32.0).reshape(4, 600, 32)
    if not is_view:
        cache = cache.clone()
    table = torch.arange(40.0).reshape(10, 4)[:, :1].expand(10, 32).contiguous()

    def step(ids, position):
        write(cache, position, F.embedding(ids, table))
        return cache[:, position].sum()

    f = torch.jit(step)
    position = torch.tensor(5)
    for ids in ([1, 2, 3, 4], [9, 9, 0, 1]):
        before = cache.clone()
        expected = step(torch.tensor(ids), position)
        after = cache.clone()
        cache.copy_(before)
        assert f(torch.tensor(ids), position).equal(expected)
        assert cache.equal(after)
    with pytest.raises(IndexError):
        f(torch.tensor([1, 2, 3, 10]), position).item()
    assert cache.equal(after)
    (programs,) = f._programs.values()
    text = str(jax.make_jaxpr(programs[0].forward)(*programs[0].inputs.avals))
    whole = f"f32[{'76800' if is_view else '4,600,32'}] = select_n" in text
    assert whole is (write is _whole)
