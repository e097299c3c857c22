"""Counters and logs in a jitted body: kept once per compile where nothing can depend on them."""

import collections
from types import SimpleNamespace

import pytest

import torchlike as torch
from torchlike._jit.capture.bytecode import only_records

total = 0


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * 2


def test_the_body_runs_once_per_compile(caplog):
    calls, seen, layer = 0, [], Layer()

    @torch.jit
    def f(x):
        nonlocal calls
        global total
        calls += 1
        total += 1
        seen.append(tuple(x.shape))
        return layer(x)

    for n in (2, 2, 3, 3, 2):
        assert f(torch.ones(n)).tolist() == [2] * n
    assert (f.compiles, calls, layer.calls) == (2, 2, 2)
    assert seen == [(2,), (3,)]
    for name in ("calls", "total", "seen"):
        assert f"`{name}`" in caplog.text
    assert len(caplog.records) == 1


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_what_is_read_works_as_in_eager():
    k, items = 0, []

    def counts(x):
        nonlocal k
        k += 1
        return x * k

    def measures(x):
        items.append(1)
        return x * len(items)

    for body in (counts, measures):
        f = torch.jit(body)
        assert [f(torch.ones(1)).item() for _ in range(4)] == [1, 2, 3, 4]


USES = {
    "n += 1": True,
    "n.append(x); y = 2": True,
    "o.n.append(x)": True,
    "o.n += 1": True,
    "n += x": False,
    "n = n + 1": False,
    "n = 3": False,
    "y = n": False,
    "n.append(n)": False,
    "y = n.append(1)": False,
    "n.append(1) or x": False,
    "f(n.append(1))": False,
    "n.pop()": False,
    "o.n = 1": False,
    "del n": False,
    "x": True,
}


@pytest.mark.parametrize(("body", "expected"), USES.items(), ids=USES)
def test_uses(body, expected):
    space = {}
    exec(f"def f(x, o):\n    global n\n    {body}", space)
    assert only_records(space["f"].__code__, "n") is expected


def test_with_a_fallback_they_go_on_at_each_call(caplog):
    calls, seen, layer, latest = 0, [], Layer(), collections.deque(maxlen=100)
    shapes = set()

    @torch.compile
    def f(x):
        nonlocal calls
        global total
        calls += 1
        calls -= 3
        total += 1
        seen.append(tuple(x.shape))
        seen.extend(["a", 1])
        latest.append(len(x))
        shapes.add(tuple(x.shape))
        return layer(x)

    before = total
    for n in (2, 2, 3, 3, 2):
        assert f(torch.ones(n)).tolist() == [2] * n
    assert f.compiles == 2
    assert (calls, layer.calls, total - before) == (-10, 5, 5)
    assert seen == [x for n in (2, 2, 3, 3, 2) for x in ((n,), "a", 1)]
    assert list(latest) == [2, 2, 3, 3, 2]
    assert shapes == {(2,), (3,)}
    assert not caplog.records
    seen.clear()  # between calls they are the script's
    calls = 7
    f(torch.ones(2))
    assert (calls, seen) == (5, [(2,), "a", 1])


def test_objects_and_classes_count_on():
    class Counter:
        everywhere = 0

        def __init__(self):
            self.n = 0

        def step(self):
            self.n += 2
            Counter.everywhere += 1

    counter = Counter()

    @torch.compile
    def f(x):
        counter.step()
        return x + 1

    for _ in range(4):
        f(torch.ones(2))
    assert (f.compiles, counter.n, Counter.everywhere) == (1, 8, 4)


@pytest.mark.parametrize("change", ["total *= 2", "total += 0.5"])
def test_numbers_that_are_more_than_counters_go_on_by_one_more_program(change):
    space = {"total": 1.5}
    exec(f"def f(x):\n    global total\n    {change}\n    return x * 2", space)
    f, x = torch.compile(space["f"]), torch.ones(2)
    expected = {"total": 1.5}
    for _ in range(5):
        f(x)
        exec(change, expected)
        assert space["total"] == expected["total"]
    assert (f.compiles, f.ran_eagerly) == (2, False)


@pytest.mark.parametrize("change", ["words += 'a'", "latest.appendleft(1)"])
def test_what_cannot_be_done_again_runs_eagerly(change):
    space = {"words": "", "latest": collections.deque()}
    name = change.split()[0].split(".")[0]
    exec(f"def f(x):\n    global {name}\n    {change}\n    return x * 2", space)
    f = torch.compile(space["f"])
    x = torch.ones(2)
    for _ in range(3):
        f(x)
    with pytest.warns(RuntimeWarning, match=f"runs eagerly.*{name}"):
        f(x)
    f(x)
    expected = {"words": "", "latest": collections.deque()}
    for _ in range(5):
        exec(change, expected)
    assert space[name] == expected[name]
    assert (f.compiles, f.ran_eagerly) == (4, True)


def test_a_full_log_loses_its_oldest_entry():
    latest = collections.deque(maxlen=3)

    @torch.compile
    def f(x):
        latest.append(len(x))
        return x * 2

    sizes = (1, 2, 3, 4, 5, 6, 5, 1, 6, 2)
    for i, n in enumerate(sizes, 1):
        f(torch.ones(n))
        assert list(latest) == list(sizes[:i][-3:])
        assert not f.ran_eagerly


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_what_a_program_of_one_call_keeps_is_the_argument():
    state = SimpleNamespace(held=None, optimizer=None)
    weight = torch.nn.Parameter(torch.ones(2))

    def step(x):
        state.held = x
        state.optimizer = torch.optim.SGD([weight], lr=0.1)  # made anew: for this call alone
        return x * 2

    compiled = torch.compile(step)
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        compiled(x)
        assert state.held is x


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_a_program_of_one_call_finds_what_a_place_held_before():
    weight = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    state = SimpleNamespace(held=weight, optimizer=None)

    def step(x):
        y = x * state.held
        state.held = x
        state.optimizer = torch.optim.SGD([weight], lr=0.1)
        return y, weight

    found, same = torch.compile(step)(torch.tensor([1.0, 2.0]))
    assert found.tolist() == [3.0, 8.0]
    assert same is weight
    assert state.held.tolist() == [1.0, 2.0]
