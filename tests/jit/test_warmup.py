"""``warmup=k``: the first k calls run eagerly, a program is compiled meanwhile, results are the
same."""

import logging
import os
import subprocess
import sys
import threading

import chex
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nn
from torchlike._core.errors import JitCaptureError
from torchlike._jit import warmup

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
    mlp, dropout_and_batch_norm, scheduled, accumulated, evaluated_between, only_the_forward,
    an_optimizer_made_inside,
]  # fmt: skip


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
        "state": state, "losses": np.array(losses), "gradients": gradients,
        "random": torch.get_rng_state().numpy(),
    }  # fmt: skip


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


def test_calls_that_ran_eagerly_are_counted_for_each_shape():
    f = torch.jit(lambda x: x * 2 + 1, warmup=2)
    eager = []
    for size in (3, 3, 4, 3, 3, 4, 4, 5, 4):
        x = torch.arange(size).float()
        assert f(x).tolist() == (x * 2 + 1).tolist()
        eager.append(f.ran_eagerly)
    assert eager == [True, True, True, False, False, True, False, True, False]
    assert f.compiles == 2  # 5 came once


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


def test_xla_compiles_in_another_thread(monkeypatch):
    threads, original = [], warmup.Compilation._do

    def noted(self):
        threads.append(threading.current_thread().name)
        return original(self)

    monkeypatch.setattr(warmup.Compilation, "_do", noted)
    f = torch.jit(lambda x: x.sin().sum(), warmup=2)
    for _ in range(2):
        f(torch.ones(3))
    for thread in threading.enumerate():
        if thread.name == "torchlike.jit.warmup":
            thread.join()
    assert threads == ["torchlike.jit.warmup"]
    f(torch.ones(3))
    assert not f.ran_eagerly


def test_the_call_that_runs_the_program_compiles_nothing(tmp_path):
    code = """
import sys, threading
import torchlike as torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Dropout(0.5), torch.nn.Linear(5, 2))
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
forward = torch.jit(lambda x: net(x), warmup=2)
@torch.jit(warmup=2)
def step(x, y):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss
def outside(x, y):
    torch.nn.functional.cross_entropy(forward(x), y).backward()
for f in (step, outside):
    for _ in range(2):
        f(x, y)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join()
    print("then", file=sys.stderr)
    f(x, y)
    print("end", file=sys.stderr)
"""
    env = {
        **os.environ,
        "TORCHLIKE_CACHE_DIR": str(tmp_path),
        "JAX_LOG_COMPILES": "1",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Finished XLA compilation of jit(program)") == 2
    assert done.stderr.count("Finished XLA compilation of jit(backward)") == 1
    for part in done.stderr.split("then\n")[1:]:
        assert "Finished XLA compilation of jit(program)" not in part.partition("end\n")[0]
        assert "Finished XLA compilation of jit(backward)" not in part.partition("end\n")[0]


def test_print_and_counters_come_once_a_call(capsys):
    seen = []

    def f(x):
        print("called")  # noqa: T201
        print("to a file", file=sys.stderr)  # noqa: T201
        seen.append(1)
        return x + 1

    compiled = torch.compile(f, options={"warmup": 3})
    for _ in range(5):
        compiled(torch.ones(2))
    said = capsys.readouterr()
    assert said.out == "called\n" * 5
    assert said.err == "to a file\n" * 5
    assert len(seen) == 5


def test_a_modules_counter_is_no_other_program():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    for compiled in (
        torch.jit(Counting(), warmup=2),
        torch.compile(Counting(), options={"warmup": 2}).forward,
    ):
        for n in (2, 2, 2, 3, 3, 3, 2, 3):
            assert compiled(torch.ones(n)).tolist() == [2] * n
        assert compiled.compiles == 2
        assert not compiled.ran_eagerly


def test_a_number_that_counts_up_is_traced():
    f = torch.jit(lambda x, i: x * i, warmup=2)
    for i in range(8):
        assert f(torch.ones(2), i).tolist() == [i, i]
    assert f.compiles == 1
    assert not f.ran_eagerly


def test_a_python_value_that_changes_is_another_kind():
    scale = [2.0]
    f = torch.jit(lambda x: x * scale[0], warmup=2)
    eager = []
    for value in (2, 2, 2, 3, 3, 3, 2):
        scale[0] = float(value)
        assert f(torch.ones(1)).item() == value
        eager.append(f.ran_eagerly)
    assert eager == [True, True, False, True, True, False, False]
    assert f.compiles == 2


def test_what_cannot_be_kept_compiles_after_the_warm_up():
    calls = [0]

    def f(x):
        calls[0] += 1
        return x * calls[0]

    compiled = torch.jit(f, warmup=2)
    with pytest.warns(RuntimeWarning, match="was compiled 3 times and cannot be kept"):
        got = [compiled(torch.ones(1)).item() for _ in range(6)]
    assert got == [1, 2, 3, 4, 5, 6]
    assert compiled.compiles == 5  # the second call was traced, and is not made twice


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_what_cannot_be_undone_is_done_once(k, capsys):
    """A trace that took from an iterator is the call."""
    numbers = iter(range(10))

    def f(x):
        print("called")  # noqa: T201
        return x + next(numbers)

    compiled = torch.jit(f, warmup=k)
    assert [compiled(torch.zeros(1)).item() for _ in range(8)] == list(range(8))
    assert capsys.readouterr().out == "called\n" * 8


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_structure_that_the_first_call_makes(k):
    class Running(nn.Module):
        def forward(self, x):
            if not hasattr(self, "total"):
                self.register_buffer("total", torch.zeros(2))
            self.total += x
            return self.total * 1

    module = torch.jit(Running(), warmup=k)
    for i in range(1, 8):
        assert module(torch.ones(2)).tolist() == [i, i]
    assert not module.ran_eagerly


def test_a_function_that_falls_back():
    def f(x):
        return x * 2 if x.sum().item() > 0 else x

    compiled = torch.compile(f, options={"warmup": 2})
    assert compiled(torch.ones(1)).item() == 2
    with pytest.warns(RuntimeWarning, match="runs eagerly, because it cannot be compiled"):
        assert compiled(torch.ones(1)).item() == 2
    assert compiled(-torch.ones(1)).item() == -1
    assert compiled.compiles == 0


def test_modules_of_a_function_that_falls_back_warm_up_too():
    inner = nn.Sequential(nn.Linear(2, 2), nn.Tanh())

    def f(x):
        y = inner(x)
        return y * 2 if y.sum().item() > 100 else y

    compiled = torch.compile(f, options={"warmup": 2})
    x = torch.ones(1, 2)
    expected = inner(x)
    compiled(x)
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        compiled(x)
    for _ in range(4):
        torch.testing.assert_close(compiled(x), expected)
    (part,) = compiled._module_fallback._compiled.values()
    assert part.compiles == 1
    assert not part.ran_eagerly


@pytest.mark.parametrize("wrap", [
    lambda f: torch.jit(f, warmup=2),
    lambda f: torch.compile(f, fullgraph=True, options={"warmup": 2}),
])  # fmt: skip
def test_fullgraph_raises_where_it_traces(wrap):
    w = torch.zeros(1)

    def f(x):
        w.add_(1)
        return float(x.sum())

    compiled = wrap(f)
    assert compiled(torch.ones(2)) == 2
    with pytest.raises(JitCaptureError, match=r"test_warmup\.py"):
        compiled(torch.ones(2))
    assert w.item() == 1  # what was traced is undone, and nothing ran


def test_an_error_of_the_body_is_raised():
    def f(x):
        if x.shape[0] == 3:
            raise KeyError("three")
        return x + 1

    for compiled in (torch.jit(f, warmup=2), torch.compile(f, options={"warmup": 2})):
        for size in (2, 3, 2, 3, 2, 3):
            if size == 3:
                with pytest.raises(KeyError, match="three"):
                    compiled(torch.ones(3))
            else:
                assert compiled(torch.ones(2)).tolist() == [2, 2]


def test_an_error_of_xla_is_raised_by_the_call_that_waits(monkeypatch):
    def broken(self, *args):
        def work():
            raise RuntimeError("no code for this")

        return work

    monkeypatch.setattr("torchlike._jit.compile.program.Program.compiling", broken)
    f = torch.jit(lambda x: x + 1, warmup=2)
    assert f(torch.ones(1)).item() == 2
    assert f(torch.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="no code for this"):
        f(torch.ones(1))
    assert f(torch.ones(1)).item() == 2  # begins anew
    assert f.ran_eagerly


def test_two_functions_warm_up_at_once():
    w, v = torch.zeros(3, requires_grad=True), torch.zeros(3)
    f = torch.jit(lambda x: (w * x).sum(), warmup=2)
    g = torch.jit(lambda x: v.add_(x).sum(), warmup=3)
    total = 0.0
    for i in range(6):
        x = torch.full((3,), float(i))
        f(x).backward()
        total += 3 * i
        assert g(x).item() == total
    assert w.grad.tolist() == [15.0] * 3
    assert (f.compiles, g.compiles) == (1, 1)
    assert not f.ran_eagerly
    assert not g.ran_eagerly


def test_threads_that_call_one_function():
    total = torch.zeros(())
    lock = threading.Lock()
    f = torch.jit(lambda x: x * 2 + total, warmup=4)
    results, errors = [], []

    def work():
        try:
            for _ in range(5):
                y = f(torch.ones(())).item()
                with lock:
                    results.append(y)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    assert results == [2.0] * 20
    assert f.compiles == 1


def test_within_another_capture_it_is_part_of_that():
    inner = torch.jit(lambda x: x * 3, warmup=5)
    outer = torch.jit(lambda x: inner(x) + 1)
    assert outer(torch.ones(1)).item() == 4
    assert outer.compiles == 1
    assert inner.compiles == 0


def test_compiled_functions_that_it_calls_are_eager_meanwhile():
    inner = torch.jit(lambda x: x * 3)
    outer = torch.jit(lambda x: inner(x) + 1, warmup=2)
    for _ in range(4):
        assert outer(torch.ones(1)).item() == 4
    assert inner.compiles == 0
    assert outer.compiles == 1
    assert inner(torch.ones(1)).item() == 3
    assert inner.compiles == 1


def test_state_written_and_donated():
    cache = torch.zeros(4)
    held = cache.view(2, 2)

    def f(x):
        cache[1:3].add_(x)
        return cache * 1

    compiled = torch.jit(f, warmup=2)
    for i in range(1, 6):
        assert compiled(torch.ones(2)).tolist() == [0, i, i, 0]
        assert held.tolist() == [[0, i], [i, 0]]
    assert compiled.compiles == 1


def test_a_random_stream_goes_on():
    def run(wrap):
        torch.manual_seed(3)
        f = wrap(lambda x: x + torch.rand(2) + torch.randn(2))
        return torch.stack([f(torch.zeros(2)) for _ in range(6)]), torch.rand(3)

    for got, expected in zip(run(lambda f: torch.jit(f, warmup=3)), run(lambda f: f), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-7)


def test_inputs_that_want_gradients():
    f = torch.jit(lambda x: (x**3).sum(), warmup=2)
    for i in range(5):
        x = torch.full((2,), float(i), requires_grad=True)
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        torch.testing.assert_close(g, 3 * x.detach() ** 2, check_stride=False)
        (h,) = torch.autograd.grad(g.sum(), x)
        torch.testing.assert_close(h, 6 * x.detach())
    assert f.compiles == 1


def test_an_optimized_module_and_a_module_compiled_in_place():
    x = torch.ones(1, 2)
    for compile in (
        lambda m: torch.compile(m, options={"warmup": 2}),
        lambda m: (m.compile(options={"warmup": 2}), m)[1],
    ):
        module = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        expected = module(x)
        compiled = compile(module)
        inner = compiled.__dict__.get("forward") or compiled.__dict__["_compiled_call_impl"]
        eager = []
        for _ in range(4):
            torch.testing.assert_close(compiled(x), expected)
            eager.append(inner.ran_eagerly)
        assert eager == [True, True, False, False]


def test_the_setting_for_all_functions():
    torch.jit.set_warmup(1)
    try:
        f, g = torch.jit(lambda x: x + 1), torch.jit(lambda x: x + 1, warmup=0)
    finally:
        torch.jit.set_warmup(0)
    f(torch.ones(1)), g(torch.ones(1))
    assert f.ran_eagerly
    assert not g.ran_eagerly


@pytest.mark.parametrize("stance", ["fail_on_recompile", "eager_on_recompile"])
def test_under_a_stance_a_program_that_is_being_compiled_is_one(stance):
    f = torch.jit(lambda x: x + 1, warmup=3)
    f(torch.ones(1)), f(torch.ones(1))
    with torch.compiler.set_stance(stance):
        f(torch.ones(1))
        assert f.ran_eagerly
        f(torch.ones(1))
        assert not f.ran_eagerly
        if stance == "fail_on_recompile":
            with pytest.raises(RuntimeError, match="Detected recompile"):
                f(torch.ones(2))
        else:
            f(torch.ones(2))
            f(torch.ones(2))
            f(torch.ones(2))
            f(torch.ones(2))
            assert f.ran_eagerly


def test_reset_forgets_what_is_being_compiled():
    f = torch.jit(lambda x: x + 1, warmup=2)
    f(torch.ones(1)), f(torch.ones(1))
    f.reset()
    f(torch.ones(1))
    assert f.ran_eagerly


def test_explain_says_so():
    f = torch.jit(lambda x: x + 1, warmup=1)
    assert "warms up" in torch.jit.explain(f)(torch.ones(1)).not_kept
    assert torch.jit.explain(f)(torch.ones(1)).not_kept == ""


def test_a_recompilation_is_told(caplog):
    f = torch.jit(lambda x: x + 1, warmup=1)
    with caplog.at_level(logging.INFO, "torchlike.recompiles"):
        f(torch.ones(2)), f(torch.ones(2)), f(torch.ones(3)), f(torch.ones(3))
    (message,) = [r.getMessage() for r in caplog.records if r.name == "torchlike.recompiles"]
    assert "(2,) → (3,)" in message


@pytest.mark.parametrize(
    ("bad", "error", "words"),
    [
        (-1, ValueError, "warmup must be a number of calls, 0 or more, not -1"),
        (1.5, TypeError, "warmup must be an int, a number of calls, not float"),
        ("2", TypeError, "not str"),
        (True, TypeError, "not bool"),
    ],
)
def test_bad_numbers(bad, error, words):
    for ask in (
        lambda: torch.jit(lambda x: x, warmup=bad),
        lambda: torch.compile(lambda x: x, options={"warmup": bad}),
        lambda: torch.jit.set_warmup(bad),
    ):
        with pytest.raises(error, match=words):
            ask()


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "f(x); f(x)"])
def test_a_process_may_end_meanwhile(ending, tmp_path):
    code = f"""
import torchlike as torch
def body(x):
    for i in range(60):
        x = (x @ x).sin() + i
    return x
f, g = torch.jit(body, warmup=2), torch.jit(lambda x: body(x) * 2, warmup=2)
x = torch.ones(8, 8)
f(x), f(x), g(x), g(x)
{ending}
"""
    env = {**os.environ, "TORCHLIKE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=env, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
