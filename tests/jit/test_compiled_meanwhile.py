"""Large functions run eagerly at first, while a thread compiles them: where nothing is said."""

import contextlib
import logging
import random
import threading

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn
from torchlike._core.errors import JitCaptureError
from torchlike._jit.call import programs
from torchlike._jit.call.tracer import FunctionTracer
from torchlike._jit.program.program import Draft
from torchlike._runtime import background, compilation_cache, progress
from torchlike._runtime.first_calls import cost


@pytest.fixture(autouse=True)
def nothing_on_disk(monkeypatch):
    """Keep what earlier tests have compiled from deciding how many calls run eagerly."""
    monkeypatch.setattr(compilation_cache, "is_kept", lambda compile: False)


@pytest.fixture
def small_is_large(monkeypatch):
    """Thirty operations are many, and four calls take as long as compiling them."""
    monkeypatch.setattr(programs, "_MOST_AT_FIRST", 10)
    monkeypatch.setattr(cost, "_SMALL", 20)
    monkeypatch.setattr(cost, "_MOST_MEANWHILE", 4)


def long(x, n=30):
    for i in range(n):
        x = x * 0.5 + i if i % 2 else x.sin()
    return x


def eager_calls(f, *args, n=7):
    found = []
    for _ in range(n):
        f(*args)
        found.append(f.ran_eagerly)
    return found


WRAPS = {"jit": torch.jit, "compile": torch.compile}


@pytest.fixture(params=WRAPS)
def wrap(request):
    return WRAPS[request.param]


@pytest.mark.usefixtures("small_is_large")
def test_a_large_function_is_used_from_a_call_on_that_is_known_beforehand(wrap):
    f = wrap(lambda x: long(x))
    x = torch.linspace(0, 1, 5)
    expected = long(x)
    results = [f(x) for _ in range(6)]
    assert not f.ran_eagerly
    for found in results:
        torch.testing.assert_close(found, expected)
    assert f.compiles == 1
    assert eager_calls(wrap(lambda x: long(x) * 2), x) == [True] * 4 + [False] * 3


@pytest.mark.usefixtures("small_is_large")
def test_a_small_function_is_compiled_at_once_and_so_is_one_that_says_so(wrap):
    assert eager_calls(wrap(lambda x: long(x, 6)), torch.ones(3), n=1) == [False]
    at_once = torch.compile(long, fullgraph=True, options={"warmup": 0})
    assert eager_calls(at_once, torch.ones(3), n=1) == [False]


@pytest.mark.usefixtures("small_is_large")
def test_few_operations_of_many_equations_are_traced_once(wrap, monkeypatch):
    monkeypatch.setattr(programs, "_MOST_AT_FIRST", 100)
    runs = []

    def f(x):
        runs.append(1)
        return long(x)

    compiled = wrap(f)
    assert eager_calls(compiled, torch.ones(3)) == [True] * 4 + [False] * 3
    assert compiled.compiles == 1
    # Each eager call counts; a trace is undone. torch.compile counts in later calls, too.
    assert len(runs) == (4 if wrap is torch.jit else 7)


@pytest.mark.usefixtures("small_is_large")
def test_a_function_that_turns_out_small_is_compiled_at_the_second_call(wrap, monkeypatch):
    monkeypatch.setattr(cost, "_SMALL", 100)
    assert eager_calls(wrap(long), torch.ones(3), n=3) == [True, False, False]


class Cache:
    """State that a first call may make, and others for each generation."""

    def __init__(self, held=None):
        self.held, self.at = held, torch.zeros(1, dtype=torch.int64)

    def update(self, x):
        if self.held is None:
            self.held = torch.zeros(8)
        self.held.index_copy_(0, self.at, x)
        self.at += 1
        return self.held


def decode(x, cache):
    return long(cache.update(x)).sum()


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize("lazily", [True, False])
def test_fresh_objects_share_what_is_being_compiled(lazily):
    f = torch.compile(decode)
    for i in range(4):
        ours, theirs = (Cache(None if lazily else torch.zeros(8)) for _ in range(2))
        for k in range(3):
            x = torch.full((1,), float(i + k))
            assert f(x, ours).item() == pytest.approx(decode(x, theirs).item(), rel=1e-5)
            assert ours.held.tolist() == theirs.held.tolist()
            assert ours.at.tolist() == theirs.at.tolist()
    # For objects that have their state, and for those that make it or the first, as itself.
    assert f.compiles == 2
    assert not f.ran_eagerly


class Grown:
    held = None

    def update(self, x):
        self.held = x if self.held is None else torch.cat([self.held, x])
        return self.held


@pytest.fixture
def traces(monkeypatch):
    """The calls that are traced, by the shapes of their first tensor."""
    found, trace = [], FunctionTracer.program_of

    def noted(self, call, *how, **options):
        found.append(tuple(call.tensors[0].shape))
        return trace(self, call, *how, **options)

    monkeypatch.setattr(FunctionTracer, "program_of", noted)
    return found


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_a_large_function_on_objects_that_grow_is_traced_once(traces):
    f = torch.compile(decode)
    for _ in range(3):
        ours, theirs = Grown(), Grown()
        for k in range(6):
            x = torch.full((1,), float(k))
            assert f(x, ours).item() == pytest.approx(decode(x, theirs).item(), rel=1e-5)
    assert len(traces) <= 4  # the first and the second call, the first again as it makes the state
    assert f.compiles <= 1


@pytest.mark.usefixtures("small_is_large")
def test_a_large_function_is_traced_for_sizes_that_come_again(wrap, traces):
    f = wrap(long)
    for n in (5, 6, 7, 6, 8):
        torch.testing.assert_close(f(torch.ones(n)), long(torch.ones(n)))
    assert traces == [(5,), (6,)]


def trained(wrap, steps=8):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.3), nn.Tanh(), nn.Linear(6, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.randn(5, 4)

    def step(x):
        optimizer.zero_grad()
        loss = long(model(x)).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    compiled = wrap(step)
    losses = [compiled(x).item() for _ in range(steps)]
    state = [p.detach().numpy() for p in model.parameters()]
    return compiled, np.array(losses), state, torch.get_rng_state().numpy()


@pytest.mark.usefixtures("small_is_large")
def test_training_is_what_it_is_eagerly_is_compiled_once_and_repeats(wrap):
    _, losses, state, random = trained(lambda f: f)
    step, found, found_state, found_random = trained(wrap)
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    for a, b in zip(found_state, state, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found_random, random)
    assert step.compiles == 1
    assert not step.ran_eagerly
    _, again, again_state, _ = trained(wrap)
    np.testing.assert_array_equal(again, found)
    for a, b in zip(again_state, found_state, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("small_is_large")
def test_the_call_that_takes_over_waits(monkeypatch):
    """The thread has not begun: the call compiles."""
    monkeypatch.setattr(background._worker, "add", lambda task: None)
    f = torch.jit(long)
    assert eager_calls(f, torch.ones(3)) == [True] * 4 + [False] * 3
    assert torch.compiler.report().programs[-1].waited > 0


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_what_cannot_be_undone_is_done_once(wrap):
    numbers = iter(range(100))

    def at_first(x):
        return long(x * 0 + next(numbers)) * 0 + 1

    f = wrap(at_first)
    for _ in range(5):
        assert f(torch.zeros(2)).tolist() == [1, 1]
    assert next(numbers) == 5


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_python_random_goes_on_as_eagerly():
    def f(x):
        return long(x) * 0 + random.random()

    random.seed(1)
    expected = [random.random() for _ in range(3)]
    random.seed(1)
    compiled = torch.jit(f)
    assert [compiled(torch.zeros(())).item() for _ in range(3)] == pytest.approx(expected)


@pytest.mark.usefixtures("small_is_large")
def test_loops_on_values_are_compiled_at_once():
    def f(x):
        while x.sum() < 100:
            x = x * 2
        return long(x)

    assert eager_calls(torch.jit(f), torch.ones(3), n=2) == [False, False]


@pytest.mark.usefixtures("small_is_large")
def test_what_prints_prints_once_a_call(wrap, capsys):
    def f(x):
        print("before")  # noqa: T201
        x = long(x)
        print("behind")  # noqa: T201
        return x

    compiled = wrap(f)
    n = 6
    eager = sum(eager_calls(compiled, torch.ones(2), n=n))
    told = n if wrap is torch.compile else eager
    assert capsys.readouterr().out == "before\nbehind\n" * told


@pytest.mark.usefixtures("small_is_large")
def test_user_code_cannot_catch_the_end_of_a_trace(wrap):
    def f(x):
        for i in range(30):
            with contextlib.suppress(BaseException):
                x = x.sin() + i
        return x

    assert eager_calls(wrap(f), torch.ones(2)) == [True] * 4 + [False] * 3


@pytest.mark.usefixtures("small_is_large")
def test_what_cannot_be_compiled_says_so_at_the_second_call():
    def f(x):
        x = long(x)
        return x * float(x.sum())

    jitted, compiled = torch.jit(f), torch.compile(f)
    jitted(torch.ones(2))
    with pytest.raises(JitCaptureError, match="test_compiled_meanwhile"):
        jitted(torch.ones(2))
    compiled(torch.ones(2))
    with pytest.warns(RuntimeWarning, match="cannot be compiled"):
        compiled(torch.ones(2))
    assert compiled.ran_eagerly


@pytest.mark.usefixtures("small_is_large")
def test_a_program_that_does_not_fit_when_its_call_comes_waits_for_one_that_does(wrap):
    scale = [2.0]
    f = wrap(lambda x: long(x) * scale[0])
    x = torch.ones(2)
    eager = []
    for value in (2.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 2.0):
        scale[0] = value
        torch.testing.assert_close(f(x), long(x) * value)
        eager.append(f.ran_eagerly)
    assert eager == [True] * 4 + [True] * 4 + [False, False]
    assert f.compiles == 2


@pytest.mark.usefixtures("small_is_large")
def test_an_error_of_the_compiler_is_raised_by_the_call_that_takes_over(monkeypatch):
    def broken(self):
        raise RuntimeError("no code for this")

    monkeypatch.setattr("torchlike._runtime.blocks.tiers.Compilation.work", broken)
    f = torch.jit(long)
    eager_calls(f, torch.ones(2), n=4)
    with pytest.raises(RuntimeError, match="no code for this"):
        f(torch.ones(2))


@pytest.mark.usefixtures("small_is_large")
def test_where_operations_are_compiled_nothing_runs_eagerly():
    with torch.compiler.set_first_calls("compiled"):
        assert eager_calls(torch.jit(long), torch.ones(3), n=1) == [False]


def test_calls_meanwhile_compile_no_operation():
    torch.compiler.reset()

    def compiled():
        return sum(row.compiled for row in torch.compiler.report().rows)

    f, x = torch.jit(torch.erf, warmup=100), torch.ones(50_000)
    before = compiled()
    for _ in range(60):
        f(x)
    assert compiled() == before
    for _ in range(60):
        x.erf()
    assert compiled() == before + 1


@pytest.mark.usefixtures("small_is_large")
def test_a_function_that_has_begun_may_be_compiled_under_a_stance_that_forbids_others():
    f = torch.jit(long)
    f(torch.ones(2))
    with torch.compiler.set_stance("fail_on_recompile"):
        assert eager_calls(f, torch.ones(2), n=4) == [True] * 3 + [False]
        with pytest.raises(RuntimeError, match="Detected recompile"):
            f(torch.ones(3))


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_sizes_that_are_being_compiled_count():
    f = torch.compile(long)
    for size in range(1, 13):
        eager_calls(f, torch.ones(size), n=3)
    assert f.compiles == 8


@pytest.mark.usefixtures("small_is_large")
def test_explain_says_where_the_program_is():
    explained = torch.jit.explain(torch.jit(long))(torch.ones(2))
    assert "torch.compiler.report() tells" in explained.not_kept


@pytest.mark.usefixtures("small_is_large")
def test_the_report_tells():
    @torch.jit
    def told_in_the_report(x):
        return long(x)

    eager_calls(told_in_the_report, torch.ones(2), n=3)
    text = str(torch.compiler.report())
    assert "takes over at call 5, of which there were 3" in text
    eager_calls(told_in_the_report, torch.ones(2), n=2)
    report = torch.compiler.report()
    assert "taken over at call 5" in str(report)
    assert report.programs[-1].name.endswith("told_in_the_report")
    assert report.programs[-1].seconds > 0


def test_what_is_on_disk_is_used_sooner(monkeypatch):
    monkeypatch.setattr(programs, "_MOST_AT_FIRST", 10)
    monkeypatch.setattr(cost, "_SMALL", 20)
    monkeypatch.setattr(cost, "_WHOLE", 1e7)  # so that few calls are made in any case

    def calls(kept):
        monkeypatch.setattr(compilation_cache, "is_kept", lambda compile: kept)
        f = torch.jit(lambda x: long(x))
        while not f.compiles or f.ran_eagerly:
            f(torch.ones(3))
        return torch.compiler.report().programs[-1].eager_calls

    cold, kept = calls(False), calls(True)
    assert cold > 20
    assert kept == -(-cold // 4)
    assert calls(False) == cold


def test_with_the_figures_that_hold():
    """Three hundred operations run eagerly at first, ninety are compiled at once."""
    f = torch.jit(lambda x: long(x, 300))
    f(torch.ones(3)), f(torch.ones(3))
    assert f.ran_eagerly
    program = torch.compiler.report().programs[-1]
    assert program.equations > 600
    assert 50 < program.eager_calls < 200
    g = torch.jit(lambda x: long(x, 60))
    g(torch.ones(3))
    assert not g.ran_eagerly


def test_that_compiling_takes_long_is_told(monkeypatch):
    monkeypatch.setattr(progress, "first", 0.0)
    seen, release = [], threading.Event()

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(record.getMessage())
            release.set()

    handler = Handler()
    logging.getLogger("torchlike.jit").addHandler(handler)
    try:
        with progress.told("compiling train_step: 2,310 equations"):
            assert release.wait(30)
    finally:
        logging.getLogger("torchlike.jit").removeHandler(handler)
    assert seen[0] == "torchlike.jit: compiling train_step: 2,310 equations, 0 s so far"


@pytest.mark.usefixtures("small_is_large")
def test_the_call_that_is_traced_runs_eagerly_on_host_values_that_it_owns():
    state, owned = torch.zeros(3), []

    def f(x):
        state.add_(long(x))
        if not torch.compiler.is_compiling():
            storage = state._storage
            owned.append((type(storage.cell) is np.ndarray, storage.is_sole_owner()))
        return state.sum()

    compiled = torch.compile(f)
    assert eager_calls(compiled, torch.ones(3), n=4) == [True] * 4
    assert owned == [(True, True)] * 4


@pytest.mark.usefixtures("small_is_large")
def test_the_calling_thread_builds_no_program(monkeypatch):
    threads, built = [], Draft.program

    def noted(self):
        threads.append(threading.current_thread() is threading.main_thread())
        return built(self)

    monkeypatch.setattr(Draft, "program", noted)
    f = torch.jit(long)
    eager_calls(f, torch.ones(3), n=2)
    f._warm_up._pending(f._cache.latest_key)[0]._compilation.result()
    assert threads == [False]


@pytest.mark.usefixtures("small_is_large")
@pytest.mark.parametrize(("every", "programs_made"), [(1, 1), (2, 2)])
def test_gradients_that_are_none_again_at_later_calls(every, programs_made):
    """As where the script steps and zeroes outside: from the second on they get a program."""
    weight = torch.ones(5, requires_grad=True)

    @torch.compile
    def learn(x):
        long(x * weight).sum().backward()

    eager, expected = [], torch.autograd.grad(long(torch.ones(5) * weight).sum(), weight)[0]
    for i in range(24):
        learn(torch.ones(5))
        eager.append(learn.ran_eagerly)
        calls = i % every + 1
        torch.testing.assert_close(weight.grad, calls * expected)
        if calls == every:
            weight.grad = None
    assert (eager[0], eager[-4:]) == (True, [False] * 4)
    assert learn.compiles <= programs_made + 1  # one is put off
