"""Random functions of shared, written and exchanged tensors, called four times with changes in
between: jitted they leave everything as they do eagerly."""

import linecache
import random
from types import SimpleNamespace

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn

#: Tensors that a function reaches: views, closures, attributes, arguments, elements.
PLACES = ("a", "b", "v", "m.h", "m.p", "x", "y", "l[0]", "l[1]", "d['k']")
STATEMENTS = (
    "{t}.mul_(0.5)",
    "{t}.add_({u}.mean())",
    "{t}[0] = {u}.sum() * 0.1",
    "{t}.copy_({u}.mean())",
    "{new} = {t} + {u}.mean()",
    "{new} = {t}[1:]",
    "{new} = {t}.clone()",
    "{new} = torch.rand({t}.shape[0])",
    "{new} = w.grad.clone() if w.grad is not None else {t} * 1",
    "m.h = {t} * 0.5 + {u}.mean()",
    "m.h, m.p = m.p, m.h",
    "m.p = {t}",
    "m.h = {t}",
    "m.h = m.h + c.s",
    "((w * {t}.mean()) ** 2).sum().backward()",
    "w.grad = None; ((w * {t}.mean()) ** 2).sum().backward(); {u}.add_(w.grad.mean() * 0.1)",
    "if {t}.sum() > 1: q = {u} * 2\n    else: q = {u} * 3\n    {t}.add_(q.mean())",
)
CALLS = ("x0, y0", "x0, x0", "x0, x0[0:4]", "a, y0", "m.h, y0", "x0, v", "out, y0")
CHANGES = (
    "pass",
    "a.mul_(1.5)",
    "m.h = torch.ones(4) * 0.3",
    "c.s = c.s + 1",
    "w.grad = None",
    "m.p = m.h",
    "l[0] = torch.full((4,), 0.7)",
    "v.add_(0.1)",
    "d['k'] = a",
)


def source_of(seed):
    """A function ``f`` of that seed, and a ``run`` that calls it."""
    chance = random.Random(seed)
    names, body = list(PLACES), []
    for k in range(chance.randint(2, 6)):
        statement = chance.choice(STATEMENTS)
        t, u = chance.choice(names), chance.choice(names)
        body.append(statement.format(t=t, u=u, new=f"t{k}"))
        if "{new}" in statement:
            names.append(f"t{k}")
    lines = ["def make(a, b, v, m, c, l, d, w, torch):", "  def f(x, y):"]
    lines += [f"    {s}" for s in body]
    lines += [f"    return {', '.join(chance.sample(names, 3))}", "  return f", ""]
    lines += ["def run(f, note, a, b, v, m, c, l, d, w, torch, x0, y0):", "  out = x0"]
    for _ in range(4):
        lines += [
            f"  results = f({chance.choice(CALLS)})",
            "  note(*results, a, b, v, m.h, m.p, w.grad)",
            "  out = results[0] if results[0].shape == (4,) else x0",
            f"  {chance.choice(CHANGES)}",
            "  results[-1].detach().mul_(1.1)",
            "  note(a, b, v, m.h, m.p, x0, y0, l[0], l[1], d['k'])",
        ]
    return "\n".join(lines)


def outcome(source, name, wrap):
    torch.manual_seed(0)
    a, b, m = torch.arange(4.0) * 0.1, torch.ones(4), nn.Module()
    m.h = m.p = torch.ones(4) * 2
    state = {
        "a": a,
        "b": b,
        "v": a[:],
        "m": m,
        "c": SimpleNamespace(s=0.1),
        "l": [torch.ones(4) * 0.2, b],
        "d": {"k": torch.ones(4) * 0.4},
        "w": torch.ones(4, requires_grad=True),
        "torch": torch,
    }
    space, notes = {}, []
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), space)

    def note(*tensors):
        notes.append([None if t is None else t.detach().tolist() for t in tensors])

    f = wrap(space["make"](**state))
    space["run"](f, note, **state, x0=torch.arange(4.0) * 0.3, y0=torch.ones(4) * 0.6)
    return notes


@pytest.mark.filterwarnings("ignore:torchlike.jit")
@pytest.mark.sampled(every=26, rest="full")
@pytest.mark.parametrize("seed", range(60))
def test_a_random_function_is_as_in_eager(seed):
    source = source_of(seed)
    name = f"<random function {seed}>"
    eager, jitted = outcome(source, name, lambda f: f), outcome(source, name, torch.jit)
    for wanted, found in zip(eager, jitted, strict=True):
        for a, b in zip(wanted, found, strict=True):
            assert b == (a if a is None else pytest.approx(a, rel=1e-4, abs=1e-6, nan_ok=True)), (
                source
            )


def forks(x):
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return x + torch.rand(2)


def seeds_and_fails(x):
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    return x * float(x.sum() + torch.rand(1))


def draws_and_fails(x):
    random.random(), np.random.rand()
    return x * float(x.sum() + torch.rand(1))


@pytest.mark.filterwarnings("ignore:torchlike.jit")
@pytest.mark.parametrize("body", [forks, seeds_and_fails, draws_and_fails])
@pytest.mark.parametrize("fallback", [None, "eager"])
def test_a_capture_that_fails_leaves_the_streams_as_they_were(body, fallback):
    """What falls back draws once, not once more for the capture."""
    x = torch.ones(2)

    def run(f):
        torch.manual_seed(0)
        random.seed(0)
        np.random.seed(0)
        found = []
        for _ in range(2):
            try:
                found.append(f(x).tolist())
            except torch.jit.JitCaptureError:
                assert fallback is None
            found += [torch.rand(1).item(), random.random(), np.random.rand()]
        return found

    def fails(x):
        raise torch.jit.JitCaptureError

    expected = fails if fallback is None else body
    assert run(torch.jit(body, fallback=fallback)) == run(expected)
