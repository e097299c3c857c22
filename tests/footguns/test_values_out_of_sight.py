"""Values that are read by library code, through names that are computed, or from objects that are
not plain containers: a change between calls is seen."""

import array
import collections
import ctypes
import enum
import functools
import operator
import queue
import threading
import types
import weakref
from types import SimpleNamespace

import numpy as np
import pytest

import torchlike as torch
from torchlike import nn

CONFIG = SimpleNamespace(a=2.0)
CONFIGS = [SimpleNamespace(a=2.0)]


def one():
    return torch.ones(2)


def value(t):
    return t.detach().reshape(-1)[0].item()


@pytest.fixture(autouse=True)
def _globals():
    CONFIG.a = CONFIGS[0].a = 2.0
    yield
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.set_warn_always(False)
    torch.set_autocast_dtype("cpu", torch.bfloat16)


# Each case: (function of a tensor, change): the function gives 2 on ones before and 5 after.


def case_a_class_that_shadows_its_base():
    class Base(nn.Module):
        scale = 2.0

    class Derived(Base):
        def forward(self, x):
            return x * self.scale

    return Derived(), lambda: setattr(Derived, "scale", 5.0)


def case_lru_cache_cleared():
    k = [2.0]

    @functools.lru_cache
    def factor(n):
        return n * k[0]

    factor(1)

    def change():
        k[0] = 5.0
        factor.cache_clear()

    return lambda x: x * factor(1), change


def case_chain_map():
    c = collections.ChainMap({"a": 1.0}, {"b": 2.0})
    return lambda x: x * c["b"], lambda: c.maps[1].update(b=5.0)


def case_chain_map_shadowed():
    c = collections.ChainMap({}, {"b": 2.0})
    return lambda x: x * c["b"], lambda: c.update(b=5.0)


def case_user_dict():
    c = collections.UserDict(a=2.0)
    return lambda x: x * c["a"], lambda: c.update(a=5.0)


def case_a_class_derived_from_user_dict():
    class Settings(collections.UserDict):
        pass

    c = Settings(a=2.0)
    return lambda x: x * c["a"], lambda: c.update(a=5.0)


def case_mapping_proxy():
    d = {"a": 2.0}
    c = types.MappingProxyType(d)
    return lambda x: x * c["a"], lambda: d.update(a=5.0)


def case_a_view_of_a_dictionary():
    d = {"a": 2.0}
    values = d.values()
    return lambda x: x * sum(values), lambda: d.update(a=5.0)


def case_globals():
    globals()["NAMED"] = 2.0
    return lambda x: x * globals()["NAMED"], lambda: globals().update(NAMED=5.0)


def case_array():
    a = array.array("d", [2.0])
    return lambda x: x * a[0], lambda: a.__setitem__(0, 5.0)


def case_bytearray():
    a = bytearray([2])
    return lambda x: x * a[0], lambda: a.__setitem__(0, 5)


def case_memoryview():
    a = bytearray([2])
    seen = memoryview(a)
    return lambda x: x * seen[0], lambda: a.__setitem__(0, 5)


def case_ctypes():
    c = ctypes.c_int(2)
    return lambda x: x * c.value, lambda: setattr(c, "value", 5)


def case_weak_dictionary():
    class Key:
        pass

    k = Key()
    d = weakref.WeakKeyDictionary({k: 2.0})
    return lambda x: x * d[k], lambda: d.__setitem__(k, 5.0)


def case_event():
    e = threading.Event()
    return lambda x: x * (5 if e.is_set() else 2), e.set


def case_single_dispatch():
    @functools.singledispatch
    def g(x):
        return x * 2

    return lambda x: g(x), lambda: g.register(torch.Tensor, lambda x: x * 5)


def case_attrgetter():
    c, get = SimpleNamespace(k=2.0), operator.attrgetter("k")
    return lambda x: x * get(c), lambda: setattr(c, "k", 5.0)


def case_computed_name_on_a_module():
    m = nn.Module()
    m.k0 = 2.0
    return lambda x: x * getattr(m, f"k{0}"), lambda: setattr(m, "k0", 5.0)


def case_computed_name_on_a_global():
    n = "a"
    return lambda x: x * getattr(CONFIG, n), lambda: setattr(CONFIG, "a", 5.0)


def case_computed_name_on_an_element():
    n = "a"
    return lambda x: x * getattr(CONFIGS[0], n), lambda: setattr(CONFIGS[0], "a", 5.0)


def case_computed_name_on_an_attribute():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.config, self.name = SimpleNamespace(a=2.0), "a"

        def forward(self, x):
            return x * getattr(self.config, self.name)

    m = Net()
    return m, lambda: setattr(m.config, "a", 5.0)


def case_computed_name_on_a_result():
    c, n = SimpleNamespace(a=2.0), "a"

    def get():
        return c

    return lambda x: x * getattr(get(), n), lambda: setattr(c, "a", 5.0)


def case_an_attribute_added_under_vars():
    c = SimpleNamespace(a=2.0)
    return lambda x: x * sum(vars(c).values()), lambda: setattr(c, "b", 3.0)


def case_an_attribute_of_a_parameter():
    m = nn.Linear(1, 1)
    m.weight.factor = 2.0
    return lambda x: x * m.weight.factor, lambda: setattr(m.weight, "factor", 5.0)


def case_a_list_of_a_library_module():
    m = nn.AvgPool1d(1)
    m.stride = [1]
    x = torch.tensor([[2.0, 2.0, 5.0, 5.0]])
    return lambda _: m(x)[0, 1:], lambda: m.stride.__setitem__(0, 2)


def case_the_shape_of_a_tensor_in_a_closure():
    t = torch.ones(2, 5)
    return lambda x: x * t.shape[0], t.t_


def case_the_data_of_a_tensor_in_a_closure():
    t = torch.ones(2)
    return lambda x: x * t.numel(), lambda: setattr(t, "data", torch.ones(5))


def case_a_mark_that_a_tensor_did_not_have():
    w = torch.nn.Parameter(torch.ones(2))
    return lambda x: x * (5.0 if getattr(w, "marked", False) else 2.0), lambda: setattr(
        w, "marked", True
    )


def case_a_mark_that_a_modules_parameter_did_not_have():
    m = nn.Linear(2, 2)
    return lambda x: x * max(5.0 if hasattr(p, "marked") else 2.0 for p in m.parameters()), (
        lambda: setattr(m.bias, "marked", True)
    )


def case_a_mark_that_is_missed():
    w = torch.nn.Parameter(torch.ones(2))

    def f(x):
        try:
            return x * w.factor
        except AttributeError:
            return x * 2

    return f, lambda: setattr(w, "factor", 5)


def case_a_switch_of_torchlike():
    deterministic = torch.are_deterministic_algorithms_enabled
    return (
        lambda x: x * (5.0 if deterministic() else 2.0),
        lambda: torch.use_deterministic_algorithms(True),
    )


def case_the_precision_of_products():
    precision = torch.get_float32_matmul_precision
    return (
        lambda x: x * (5.0 if precision() == "high" else 2.0),
        lambda: torch.set_float32_matmul_precision("high"),
    )


def case_whether_warnings_are_always_given():
    return (
        lambda x: x * (5.0 if torch.is_warn_always_enabled() else 2.0),
        lambda: torch.set_warn_always(True),
    )


def case_the_lower_dtype_that_autocast_would_have():
    def f(x):
        with torch.autocast("cpu"):
            return (
                torch.ones(1, 2)
                @ torch.tensor([[1.0], [1.0]])
                * (2.5 if torch.get_autocast_dtype("cpu") is torch.float16 else 1)
            )

    return f, lambda: torch.set_autocast_dtype("cpu", torch.float16)


CASES = [v for k, v in list(globals().items()) if k.startswith("case_")]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__[5:])
def test_a_change_between_calls_is_seen(case):
    f, change = case()
    jitted = torch.jit(f)
    for _ in range(2):
        assert value(jitted(one())) == 2
    assert jitted.compiles == 1, "the second call must find the first one's program"
    change()
    for _ in range(2):
        assert value(jitted(one())) == 5
        assert value(f(one())) == 5
    assert jitted.compiles == 2


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_a_mark_on_a_tensor_is_made_at_each_call():
    m = nn.Linear(2, 2)

    @torch.jit
    def f(x):
        for p in m.parameters():
            p.uses = getattr(p, "uses", 0) + 1
        return x * m.bias.uses

    assert [value(f(one())) for _ in range(4)] == [1, 2, 3, 4]
    assert m.weight.uses == 4


def test_a_mark_on_a_tensor_that_is_made_once():
    w = torch.ones(2)

    @torch.jit
    def f(x):
        if not hasattr(w, "seen"):
            w.seen = True
            return x * 10
        return x * 2

    assert [value(f(one())) for _ in range(4)] == [10, 2, 2, 2]
    assert f.compiles == 2


def test_a_mark_on_what_is_made_inside_is_no_state():
    @torch.jit
    def f(x):
        m, y = nn.Linear(2, 2), x * 2
        m.weight.marked = y.marked = True
        return y * (m.weight.marked and y.marked and not hasattr(m.bias, "marked"))

    for _ in range(3):
        assert value(f(one())) == 2
    assert f.compiles == 1


def test_a_mark_on_an_argument_is_refused():
    def f(x):
        x.marked = True
        return x * 2

    with pytest.raises(torch.jit.JitCaptureError, match="setting the attribute `marked`"):
        torch.jit(f)(one())


def test_a_default_dtype_of_autocast_is_the_programs():
    def f(x):
        with torch.autocast("cpu"):
            return x @ x

    x, f = torch.ones(2, 2), torch.jit(f)
    for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
        torch.set_autocast_dtype("cpu", dtype)
        for _ in range(2):
            assert f(x).dtype is dtype
    assert f.compiles == 2


def test_a_switch_that_the_function_sets_is_set_at_each_call():
    @torch.jit
    def f(x):
        torch.use_deterministic_algorithms(True)
        return x * (5.0 if torch.are_deterministic_algorithms_enabled() else 2.0)

    for _ in range(2):
        torch.use_deterministic_algorithms(False)
        assert value(f(one())) == 5
        assert torch.are_deterministic_algorithms_enabled()


def test_products_have_the_precision_of_the_call():
    f = torch.jit(lambda x: x @ x)
    for precision in ("highest", "high", "highest"):
        torch.set_float32_matmul_precision(precision)
        f(torch.ones(2, 2))
    assert f.compiles == 2


def test_a_computed_name_watches_its_object_alone():
    class Trainer:
        def __init__(self):
            self.activation, self.step, self.log = "relu", 0, {}

        def run(self, x):
            return getattr(torch, self.activation)(x)

    trainer = Trainer()
    f = torch.jit(lambda x: trainer.run(x))
    for i in range(3):
        f(one())
        trainer.step += 1
        trainer.log[i] = i
    assert f.compiles == 1


def test_an_object_made_inside_may_change_under_computed_names():
    def read(o, name):
        return getattr(o, name)

    @torch.jit
    def f(x):
        o, total = SimpleNamespace(a=1.0), 0.0
        for name in ("a", "b", "c"):
            setattr(o, name, 2.0)
            total += read(o, name)
        return x * total

    for _ in range(3):
        assert value(f(one())) == 6
    assert f.compiles == 1


def test_a_string_with_attributes_is_no_plain_value():
    class Name(str):
        factor: float

    a, b = Name("n"), Name("n")
    a.factor, b.factor = 2.0, 5.0
    f = torch.jit(lambda x, name: x * name.factor)
    assert (value(f(one(), a)), value(f(one(), b)), value(f(one(), a))) == (2, 5, 2)


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_a_queue_gives_each_element_once():
    q = queue.Queue()
    for i in range(4):
        q.put(i)
    f = torch.jit(lambda x: x * q.get())
    assert [value(f(one())) for _ in range(4)] == [0, 1, 2, 3]
    assert q.empty()


def test_other_results_remembered_by_a_cache_change_nothing():
    @functools.lru_cache
    def factor(n):
        return float(n)

    factor(2)
    f = torch.jit(lambda x: x * factor(2))
    for n in range(3, 6):
        assert value(f(one())) == 2
        factor(n)
    assert f.compiles == 1


@pytest.mark.parametrize("where", ["module", "all modules", "optimizer", "all optimizers"])
def test_hooks_registered_after_the_capture(where):
    def train(wrap):
        torch.manual_seed(0)
        model = nn.Linear(2, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)

        @wrap
        def step(x):
            opt.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            opt.step()
            return loss

        def weaken(*_):
            for p in model.parameters():
                p.grad.mul_(0.1)

        register = {
            "module": lambda: model.register_forward_hook(lambda m, i, o: o * 2),
            "all modules": lambda: nn.modules.module.register_module_forward_hook(
                lambda m, i, o: o * 2
            ),
            "optimizer": lambda: opt.register_step_pre_hook(weaken),
            "all optimizers": lambda: torch.optim.optimizer.register_optimizer_step_pre_hook(
                weaken
            ),
        }[where]
        losses = [step(one()), step(one())]
        handle = register()
        losses += [step(one()), step(one())]
        handle.remove()
        return [x.item() for x in [*losses, step(one())]]

    np.testing.assert_allclose(train(lambda f: f), train(torch.jit), rtol=1e-5)


class Color(enum.Enum):
    RED = 1


def test_what_a_function_makes_and_returns_is_new_at_each_call():
    outside, numbers = {1}, np.ones(2)

    @torch.jit
    def f(x):
        return (
            x,
            {1, 2},
            np.zeros(2),
            collections.deque([1]),
            bytearray(b"a"),
            {"k": {3}},
            collections.Counter("aa"),
            outside,
            numbers,
            Color.RED,
            torch.float32,
        )

    for _ in range(3):
        _, a, b, c, d, e, counts, *rest = f(one())
        assert (a, b.tolist(), list(c), d) == ({1, 2}, [0.0, 0.0], [1], b"a")
        assert (e, counts) == ({"k": {3}}, {"a": 2})
        assert rest[0] is outside
        assert rest[1] is numbers
        a.add(9)
        b += 1
        c.append(2)
        d.extend(b"b")
        e["k"].add(4)
        counts["b"] += 1
    assert f.compiles == 1


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_an_object_that_a_function_makes_and_returns_is_new_at_each_call():
    class Result:
        def __init__(self):
            self.n = 0

    f = torch.jit(lambda x: (x, Result()))
    for _ in range(3):
        _, r = f(one())
        assert r.n == 0
        r.n += 1
    assert f.compiles == 1

    class Slotted:
        __slots__ = ("n",)

        def __init__(self):
            self.n = 0

    f = torch.jit(lambda x: (x, Slotted()))
    for _ in range(3):
        _, r = f(one())
        assert r.n == 0
        r.n += 1
    assert "of type Slotted" in f.latest.why_not


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_a_seed_set_inside_is_set_at_every_call():
    def f(x):
        torch.manual_seed(5)
        return x + torch.rand(2)

    def own(x):
        return x + torch.rand(2, generator=torch.Generator().manual_seed(3))

    for function in (f, own):
        jitted = torch.jit(function)
        found = [jitted(one()).tolist() for _ in range(3)]
        assert found == [function(one()).tolist()] * 3


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_the_state_of_a_generator_read_inside_is_the_present_one():
    def f(x):
        return torch.get_rng_state().sum(), torch.initial_seed()

    jitted = torch.jit(f)
    for seed in (1, 2):
        torch.manual_seed(seed)
        for _ in range(2):
            wanted, found = f(one()), jitted(one())
            assert (found[0].item(), found[1]) == (wanted[0].item(), wanted[1])
            torch.rand(3)


def gradient_of(y, w, f):
    w.grad = None
    loss = f(torch.arange(4.0))
    loss.backward(retain_graph=True)
    return [loss.item(), *w.grad.tolist()]


@pytest.mark.parametrize("kind", ["result", "leaf", "view"])
def test_the_history_of_a_tensor_in_a_closure_changed_in_place(kind):
    def run(wrap):
        w = torch.ones(4, requires_grad=True)
        y = w * 2 if kind == "result" else torch.zeros(4)
        seen = y[:] if kind == "view" else y
        f = wrap(lambda x: (seen * x).sum() + (w * 0).sum())
        found = [gradient_of(y, w, f)]
        if kind == "result":
            y.mul_(3)
        else:
            y.add_(w)
        return [*found, gradient_of(y, w, f)]

    assert run(torch.jit) == run(lambda f: f)
