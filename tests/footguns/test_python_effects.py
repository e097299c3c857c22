"""Side effects in Python: made at each call as in eager execution, or there is an error.

A function with such an effect is right at every call, because it is compiled anew each time; from
the third time on a warning names the element.
"""

import itertools
import os
import random
import time
import uuid
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import torchlike as torch

COUNT = 0


def one():
    return torch.ones(2)


def effect_attribute():
    box = SimpleNamespace(n=0)

    def f(x):
        box.n += 1
        return x * box.n

    return f, lambda: box.n, r"`box\.n` \(\d → \d\)"


def effect_attribute_of_self():
    class Model:
        def __init__(self):
            self.step_count = 0

        def __call__(self, x):
            self.step_count += 1
            return x * self.step_count

    m = Model()
    return m, lambda: m.step_count, r"\.step_count"


def effect_attribute_of_a_module():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.step_count = 0

        def forward(self, x):
            self.step_count += 1
            return x * self.step_count

    m = Model()
    return m, lambda: m.step_count, r"Model\.step_count"


def effect_global():
    global COUNT
    COUNT = 0

    def f(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    return f, lambda: COUNT, r"`COUNT`"


def effect_nonlocal():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x * n

    return f, lambda: n, r"`n`"


def effect_nonlocal_in_a_helper():
    n = 0

    def helper():
        nonlocal n
        n += 1
        return n

    return lambda x: x * helper(), lambda: n, r"`n`"


def effect_list():
    history = []

    def f(x):
        history.append(len(history) + 1)
        return x * history[-1]

    return f, lambda: len(history), r"`history`"


def effect_list_of_an_attribute():
    box = SimpleNamespace(log=[])

    def f(x):
        box.log.append(1)
        return x * len(box.log)

    return f, lambda: len(box.log), r"`box\.log`"


def effect_dictionary():
    counts = {}

    def f(x):
        counts["n"] = counts.get("n", 0) + 1
        return x * counts["n"]

    return f, lambda: counts["n"], r"`counts`"


def effect_function_attribute():
    def f(x):
        f.calls += 1
        return x * f.calls

    f.calls = 0
    return f, lambda: f.calls, r"\.calls`"


def effect_class_attribute():
    class Counter:
        n = 0

    def f(x):
        Counter.n += 1
        return x * Counter.n

    return f, lambda: Counter.n, r"`Counter\.n`"


def effect_default_argument():
    def f(x, seen=[]):  # noqa: B006 - that is the footgun
        seen.append(1)
        return x * len(seen)

    f.__defaults__[0].clear()
    return f, lambda: len(f.__defaults__[0]), "a default of"


def effect_iterator():
    numbers = iter(range(1, 100))
    return lambda x: x * next(numbers), None, "iterator `numbers`"


def effect_counter():
    numbers = itertools.count(1)
    return lambda x: x * next(numbers), None, "iterator `numbers`"


def effect_generator():
    numbers = (i for i in range(1, 100))
    return lambda x: x * next(numbers), None, "iterator `numbers`"


def effect_iterator_in_a_for_loop():
    numbers = iter(range(1, 100))

    def f(x):
        for k in numbers:  # noqa: B007 - takes one
            break
        return x * k

    return f, None, "iterator `numbers`"


def effect_numpy_array():
    a = np.zeros(1)

    def f(x):
        a[0] += 1
        return x * float(a[0])

    return f, lambda: int(a[0]), "`a`"


def effect_numpy_generator():
    rng = SimpleNamespace(n=0)
    generator = np.random.default_rng(0)

    def f(x):
        rng.n += 1
        return x * rng.n + 0 * float(generator.random())

    return f, lambda: rng.n, "generator|rng"


EFFECTS = [v for k, v in list(globals().items()) if k.startswith("effect_")]


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda e: e.__name__[7:])
def test_an_effect_happens_at_every_call_and_the_third_compilation_says_so(effect):
    f, read, words = effect()
    jitted = torch.jit(f)
    assert jitted(one()).tolist() == [1, 1]
    assert jitted(one()).tolist() == [2, 2]
    with pytest.warns(RuntimeWarning, match=words):
        assert jitted(one()).tolist() == [3, 3]
    assert jitted(one()).tolist() == [4, 4]
    if read is not None:
        assert read() == 4


def test_an_effect_happens_once_where_the_body_must_run_twice():
    # An argument that is also state is found out after the first run.
    w = torch.ones(2)
    history = []

    def f(x):
        history.append(1)
        w.add_(1)
        return x * 1

    jitted = torch.jit(f)
    assert jitted(w).tolist() == [2, 2]
    assert history == [1]


@pytest.mark.parametrize(
    "call",
    [
        lambda: time.time(),
        lambda: time.perf_counter(),
        lambda: random.random(),
        lambda: random.Random(),
        lambda: np.random.rand(),
        lambda: os.urandom(1)[0],
        lambda: uuid.uuid4().int % 7,
        lambda: __import__("datetime").datetime.now().microsecond,
    ],
    ids=["time", "perf_counter", "random", "Random", "np.rand", "urandom", "uuid", "datetime"],
)
def test_clocks_and_foreign_random_numbers_are_never_frozen(call):
    def f(x):
        v = call()
        return x * (v if isinstance(v, (int, float)) else 1.0)

    jitted = torch.jit(f)
    jitted(one())
    jitted(one())
    with pytest.warns(RuntimeWarning, match="frozen"):
        jitted(one())
    assert jitted.compiles == 3


def test_a_cache_filled_by_the_first_call_is_kept_from_the_second():
    cache = {}

    def f(x):
        if "k" not in cache:
            cache["k"] = 2.0
        return x * cache["k"]

    jitted = torch.jit(f)
    for _ in range(4):
        assert jitted(one()).tolist() == [2, 2]
    assert jitted.compiles == 2
    cache["k"] = 3.0
    assert jitted(one()).tolist() == [3, 3]


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_a_value_that_every_call_sets_alike_is_set_again_when_it_was_changed():
    box = SimpleNamespace(last=None)

    def f(x):
        box.last = x.shape[0]
        return x * 1

    jitted = torch.jit(f)
    for n in (2, 2, 3, 3, 2, 2, 3):
        jitted(torch.ones(n))
        assert box.last == n


def test_local_objects_are_free_to_change():
    class Accumulator:
        def __init__(self):
            self.total = 0
            self.parts = []

        def add(self, v):
            self.total = self.total + v
            self.parts.append(v)

    def helper(parts, table, x):
        parts.append(x)
        table["n"] = table.get("n", 0) + 1

    def f(x):
        a = Accumulator()
        parts, table, n = [], {}, 0

        def count():
            nonlocal n
            n += 1

        for i in range(3):
            a.add(x * i)
            helper(parts, table, x)
            count()
        return a.total + len(a.parts) + len(parts) + table["n"] + n

    jitted = torch.jit(f)
    for _ in range(3):
        assert jitted(one()).tolist() == f(one()).tolist()
    assert jitted.compiles == 1


def test_a_list_argument_is_changed():
    @torch.jit
    def f(x, out):
        out.append(x * 2)

    for _ in range(3):
        out = []
        f(one(), out)
        assert [t.tolist() for t in out] == [(one() * 2).tolist()]
    assert f.compiles == 1


def test_a_dictionary_argument_is_changed():
    @torch.jit
    def f(batch):
        batch["y"] = batch.pop("x") * 2
        return batch

    for _ in range(3):
        batch = {"x": one()}
        assert f(batch) is batch
        assert list(batch) == ["y"]
        assert batch["y"].tolist() == (one() * 2).tolist()
    assert f.compiles == 1


def test_an_exception_inside_leaves_everything_as_it_was():
    w = torch.ones(2, requires_grad=True)
    buffer = torch.zeros(2)
    history = []
    box = SimpleNamespace(n=0)
    torch.manual_seed(3)
    fail = True

    def f():
        history.append(1)
        box.n += 1
        buffer.add_(torch.rand(2))
        (w * 2).sum().backward()
        if fail:
            raise KeyError("mine")
        return buffer * 1

    before = torch.get_rng_state().tolist()
    jitted = torch.jit(f)
    with pytest.raises(KeyError, match="mine"):
        jitted()
    assert buffer.tolist() == [0, 0]
    assert w.grad is None
    assert (history, box.n) == ([], 0)
    assert torch.get_rng_state().tolist() == before
    fail = False
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    assert jitted().tolist() == expected


def test_the_profiler_and_garbage_collection_are_as_before():
    import cProfile
    import gc
    import sys

    seen = []

    def profile(frame, event, arg):
        seen.append(event)

    sys.setprofile(profile)
    torch.jit(lambda x: x * 2)(one())
    assert sys.getprofile() is profile
    sys.setprofile(None)
    assert seen
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        torch.jit(lambda x: x * (1 // 0))(one())
    assert gc.isenabled()
    assert sys.getprofile() is None
    profiler = cProfile.Profile()
    profiler.enable()
    torch.jit(lambda x: x * 3)(one())
    sum(range(3))
    profiler.disable()
    assert any("sum" in str(entry.code) for entry in profiler.getstats())


@pytest.mark.parametrize("reads_state", [False, True])
def test_modes_that_are_left_set(reads_state):
    """A program would not set them; nor does a second capture begin with what the first left."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def f(x):
        y = x * w + (w if reads_state else 0)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        return y, y * w

    def run(call):
        found = []
        for k in range(4):
            try:
                y, z = call(w if reads_state else torch.ones(2) * k)
                found += [torch.is_grad_enabled(), torch.get_default_dtype(), z.requires_grad]
            finally:
                torch.set_grad_enabled(True)
                torch.set_default_dtype(torch.float32)
            w.grad = None
            y.sum().backward()
            found += [z.tolist(), w.grad.tolist()]
        return found

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert run(torch.jit(f)) == run(f)
    assert "it sets the grad mode and the default dtype for good" in str(seen[0].message)
