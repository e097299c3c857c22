"""Counters and logs in a jitted body: kept once per compile where nothing can depend on them."""

import pytest

import torchlike as torch
from torchlike.jit.bytecode import only_records

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
