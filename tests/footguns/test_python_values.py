"""Plain Python values that a jitted function reads: a change is seen, or there is an error."""

import dataclasses
import functools
import os
import sys
import types
from collections import OrderedDict, deque
from types import SimpleNamespace

import numpy as np
import pytest

import torchlike as torch

ALPHA = 2.0
TABLE = {"a": 1.0, "b": 2.0}
SCALES = [1.0, 2.0]
_CURRENT = SimpleNamespace(value=3.0)


def value(t):
    return t.detach().reshape(-1)[0].item()


def one():
    return torch.ones(2)


def scaled(x):
    return x * ALPHA


def twice_removed(x):
    return scaled(x) + 0


def set_global(name, new):
    globals()[name] = new


def current():
    return _CURRENT


class Config:
    def __init__(self, alpha):
        self.alpha = alpha


@pytest.fixture(autouse=True)
def _globals():
    before = {k: globals()[k] for k in ("ALPHA", "TABLE", "SCALES", "_CURRENT", "scaled")}
    yield
    globals().update(before)
    TABLE.clear()
    TABLE.update(a=1.0, b=2.0)
    SCALES[:] = [1.0, 2.0]
    _CURRENT.value = 3.0


# Each case: (function of a tensor, change, what it gives on ones before and after).


def case_global():
    return lambda x: x * ALPHA, lambda: set_global("ALPHA", 5.0), 2.0, 5.0


def case_global_of_a_helper():
    return lambda x: scaled(x), lambda: set_global("ALPHA", 5.0), 2.0, 5.0


def case_global_two_helpers_down():
    return lambda x: twice_removed(x), lambda: set_global("ALPHA", 5.0), 2.0, 5.0


def case_helper_bound_anew():
    return lambda x: scaled(x), lambda: set_global("scaled", lambda x: x * 7), 2.0, 7.0


def case_helper_bound_anew_two_down():
    return lambda x: twice_removed(x), lambda: set_global("scaled", lambda x: x * 7), 2.0, 7.0


def case_global_dictionary():
    return lambda x: x * TABLE["a"], lambda: TABLE.update(a=4.0), 1.0, 4.0


def case_dictionary_gets_a_key():
    return lambda x: x * sum(TABLE.values()), lambda: TABLE.update(c=4.0), 3.0, 7.0


def case_dictionary_changes_order():
    def reorder():
        TABLE["a"] = TABLE.pop("a")

    return lambda x: x * next(v for v in TABLE.values()), reorder, 1.0, 2.0


def case_global_list():
    return lambda x: x * sum(SCALES), lambda: SCALES.append(4.0), 3.0, 7.0


def case_list_element():
    return lambda x: x * SCALES[1], lambda: SCALES.__setitem__(1, 9.0), 2.0, 9.0


def case_closure():
    k = 2.0

    def change():
        nonlocal k
        k = 3.0

    return lambda x: x * k, change, 2.0, 3.0


def case_closure_of_a_helper():
    k = 2.0

    def helper(x):
        return x * k

    def change():
        nonlocal k
        k = 3.0

    return lambda x: helper(x), change, 2.0, 3.0


def case_closure_of_a_helper_in_a_dictionary():
    k = 2.0

    def helper(x):
        return x * k

    helpers = {"h": helper}

    def change():
        nonlocal k
        k = 3.0

    return lambda x: helpers["h"](x), change, 2.0, 3.0


def case_closure_of_a_helper_reached_through_c():
    k = 2.0

    def helper(x):
        return x * k

    def change():
        nonlocal k
        k = 3.0

    return functools.lru_cache(lambda: helper), change, 2.0, 3.0


def case_attribute():
    config = Config(2.0)
    return lambda x: x * config.alpha, lambda: setattr(config, "alpha", 3.0), 2.0, 3.0


def case_attribute_read_in_a_method():
    class Scaler:
        def __init__(self):
            self.k = 2.0

        def __call__(self, x):
            return self.inner(x)

        def inner(self, x):
            return x * self.k

    s = Scaler()
    return s, lambda: setattr(s, "k", 3.0), 2.0, 3.0


def case_attribute_of_an_attribute():
    outer = SimpleNamespace(config=Config(2.0))
    return lambda x: x * outer.config.alpha, lambda: setattr(outer.config, "alpha", 3.0), 2.0, 3.0


def case_attribute_of_a_local():
    def f(x):
        c = current()
        return x * c.value

    return f, lambda: setattr(_CURRENT, "value", 8.0), 3.0, 8.0


def case_attribute_of_a_result():
    return lambda x: x * current().value, lambda: setattr(_CURRENT, "value", 8.0), 3.0, 8.0


def case_attribute_of_a_cached_result():
    @functools.lru_cache
    def config():
        return Config(2.0)

    config()
    return lambda x: x * config().alpha, lambda: setattr(config(), "alpha", 3.0), 2.0, 3.0


def case_attribute_by_getattr():
    config = Config(2.0)
    name = "alpha"
    return lambda x: x * getattr(config, name), lambda: setattr(config, "alpha", 3.0), 2.0, 3.0


def case_attribute_by_vars():
    config = Config(2.0)

    def f(x):
        c = config
        return x * vars(c)["alpha"]

    return f, lambda: setattr(config, "alpha", 3.0), 2.0, 3.0


def case_attribute_that_appears():
    config = SimpleNamespace()

    def f(x):
        return x * (config.k if hasattr(config, "k") else 2.0)

    return f, lambda: setattr(config, "k", 3.0), 2.0, 3.0


def case_attribute_with_a_default():
    config = SimpleNamespace()
    return lambda x: x * getattr(config, "k", 2.0), lambda: setattr(config, "k", 3.0), 2.0, 3.0


def case_slots():
    class Slotted:
        __slots__ = ("k",)

    s = Slotted()
    s.k = 2.0
    return lambda x: x * s.k, lambda: setattr(s, "k", 3.0), 2.0, 3.0


def case_property():
    class Lazy:
        def __init__(self):
            self._k = 2.0

        @property
        def k(self):
            return self._k

    s = Lazy()
    return lambda x: x * s.k, lambda: setattr(s, "_k", 3.0), 2.0, 3.0


def case_class_attribute():
    class Fixed:
        k = 2.0

    return lambda x: x * Fixed.k, lambda: setattr(Fixed, "k", 3.0), 2.0, 3.0


def case_class_attribute_of_an_instance():
    class Fixed:
        k = 2.0

    s = Fixed()
    return lambda x: x * s.k, lambda: setattr(Fixed, "k", 3.0), 2.0, 3.0


def case_instance_attribute_hides_the_class():
    class Fixed:
        k = 2.0

    s = Fixed()
    return lambda x: x * s.k, lambda: setattr(s, "k", 3.0), 2.0, 3.0


def case_method_exchanged():
    class Scaler:
        def scale(self, x):
            return x * 2

    s = Scaler()
    return lambda x: s.scale(x), lambda: setattr(Scaler, "scale", lambda self, x: x * 5), 2.0, 5.0


def case_method_exchanged_on_the_instance():
    class Scaler:
        def scale(self, x):
            return x * 2

    s = Scaler()
    return lambda x: s.scale(x), lambda: setattr(s, "scale", lambda x: x * 5), 2.0, 5.0


def case_operator_of_a_class():
    class Factor:
        def __init__(self, k):
            self.k = k

        def __rmul__(self, x):
            return x * self.k

    class Held:
        def __init__(self, k):
            self.k = k

        def __call__(self, x):
            return x * self.k

    h = Held(2.0)
    return lambda x: h(x), lambda: setattr(h, "k", 3.0), 2.0, 3.0


def case_default_argument_mutated():
    def f(x, scales=[2.0]):  # noqa: B006 - that is the footgun
        return x * scales[0]

    return f, lambda: f.__defaults__[0].__setitem__(0, 3.0), 2.0, 3.0


def case_default_argument_of_a_helper_exchanged():
    def helper(x, k=2.0):
        return x * k

    return lambda x: helper(x), lambda: setattr(helper, "__defaults__", (3.0,)), 2.0, 3.0


def case_code_exchanged():
    def helper(x):
        return x * 2

    def other(x):
        return x * 3

    return lambda x: helper(x), lambda: setattr(helper, "__code__", other.__code__), 2.0, 3.0


def case_function_attribute():
    def helper(x):
        return x * helper.k

    helper.k = 2.0
    return lambda x: helper(x), lambda: setattr(helper, "k", 3.0), 2.0, 3.0


def case_partial():
    config = Config(2.0)

    def scale(c, x):
        return x * c.alpha

    part = functools.partial(scale, config)
    return lambda x: part(x), lambda: setattr(config, "alpha", 3.0), 2.0, 3.0


def case_decorated():
    k = 2.0

    def noisy(fn):
        @functools.wraps(fn)
        def wrapper(*args):
            return fn(*args) * k

        return wrapper

    @noisy
    def f(x):
        return x

    def change():
        nonlocal k
        k = 3.0

    return f, change, 2.0, 3.0


def case_context_manager_decorated():
    k = 2.0

    @torch.no_grad()
    def helper(x):
        return x * k

    def change():
        nonlocal k
        k = 3.0

    return lambda x: helper(x), change, 2.0, 3.0


def case_dataclass():
    @dataclasses.dataclass
    class Settings:
        k: float = 2.0

    s = Settings()
    return lambda x: x * s.k, lambda: setattr(s, "k", 3.0), 2.0, 3.0


def case_nested_containers():
    tree = {"layers": [{"k": 2.0}]}
    return (
        lambda x: x * tree["layers"][0]["k"],
        lambda: tree["layers"][0].update(k=3.0),
        2.0,
        3.0,
    )


def case_list_of_objects():
    configs = [Config(1.0), Config(2.0)]

    def f(x):
        for c in configs:
            x = x * c.alpha
        return x

    return f, lambda: setattr(configs[1], "alpha", 3.0), 2.0, 3.0


def case_deque():
    d = deque([2.0])
    return lambda x: x * d[0], lambda: d.appendleft(3.0), 2.0, 3.0


def case_set():
    names = {"double"}
    return lambda x: x * (2 if "double" in names else 3), lambda: names.clear(), 2.0, 3.0


def case_ordered_dict_subclass():
    d = OrderedDict(k=2.0)
    return lambda x: x * d["k"], lambda: d.update(k=3.0), 2.0, 3.0


def case_user_module():
    config = types.ModuleType("footguns_config")
    config.__file__ = os.path.join(os.path.dirname(__file__), "footguns_config.py")
    config.K = 2.0
    return lambda x: x * config.K, lambda: setattr(config, "K", 3.0), 2.0, 3.0


def case_module_imported_inside():
    config = types.ModuleType("footguns_imported")
    config.__file__ = os.path.join(os.path.dirname(__file__), "footguns_imported.py")
    config.K = 2.0
    sys.modules["footguns_imported"] = config

    def f(x):
        from footguns_imported import K

        return x * K

    return f, lambda: setattr(config, "K", 3.0), 2.0, 3.0


def case_environment_variable():
    os.environ["TORCHLIKE_FOOTGUN"] = "2"
    return (
        lambda x: x * float(os.environ["TORCHLIKE_FOOTGUN"]),
        lambda: os.environ.update(TORCHLIKE_FOOTGUN="3"),
        2.0,
        3.0,
    )


def case_environment_variable_by_getenv():
    os.environ["TORCHLIKE_FOOTGUN"] = "2"
    return (
        lambda x: x * float(os.getenv("TORCHLIKE_FOOTGUN")),
        lambda: os.environ.update(TORCHLIKE_FOOTGUN="3"),
        2.0,
        3.0,
    )


def case_numpy_array():
    a = np.array([2.0, 1.0], np.float32)
    return lambda x: x * torch.from_numpy(a), lambda: a.__setitem__(0, 3.0), 2.0, 3.0


def case_numpy_array_copied():
    a = np.array([2.0, 1.0], np.float32)
    return lambda x: x * torch.tensor(a), lambda: a.__setitem__(0, 3.0), 2.0, 3.0


def case_numpy_array_computed_with():
    a = np.array([2.0, 1.0], np.float32)
    return lambda x: x * float(a.max()), lambda: a.__setitem__(0, 3.0), 2.0, 3.0


def case_branch():
    flag = SimpleNamespace(on=True)
    return lambda x: x * 2 if flag.on else x * 3, lambda: setattr(flag, "on", False), 2.0, 3.0


def case_sign_of_zero():
    box = SimpleNamespace(z=0.0)
    return lambda x: 1 / (x * box.z), lambda: setattr(box, "z", -0.0), np.inf, -np.inf


def case_none_to_number():
    box = SimpleNamespace(k=None)
    return lambda x: x * (2 if box.k is None else box.k), lambda: setattr(box, "k", 3.0), 2.0, 3.0


def case_attribute_deleted():
    box = SimpleNamespace(k=3.0)

    def f(x):
        try:
            return x * box.k
        except AttributeError:
            return x * 2

    return f, lambda: delattr(box, "k"), 3.0, 2.0


def case_instance_dictionary_replaced():
    config = Config(2.0)
    return lambda x: x * config.alpha, lambda: setattr(config, "__dict__", {"alpha": 3.0}), 2.0, 3.0


def case_user_attribute_of_a_tensor():
    w = torch.ones(2)
    w.scale = 2.0
    return lambda x: x * w * w.scale, lambda: setattr(w, "scale", 3.0), 2.0, 3.0


def case_generator_function():
    def factors():
        yield from SCALES

    def f(x):
        for k in factors():
            x = x * k
        return x

    return f, lambda: SCALES.append(2.0), 2.0, 4.0


def case_match_on_attributes():
    config = Config(2.0)

    def f(x):
        match config:
            case Config(alpha=a):
                return x * a

    return f, lambda: setattr(config, "alpha", 3.0), 2.0, 3.0


CASES = [v for k, v in list(globals().items()) if k.startswith("case_")]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.__name__[5:])
def test_a_change_between_calls_is_seen(case, monkeypatch):
    monkeypatch.setenv("TORCHLIKE_FOOTGUN", "")  # which cases set; gone afterwards
    f, change, before, after = case()
    if hasattr(f, "cache_info"):
        get = f
        f = lambda x: get()(x)  # noqa: E731
    jitted = torch.jit(f)
    for _ in range(2):
        assert value(jitted(one())) == before
    assert jitted.compiles == 1, "the second call must find the first one's program"
    change()
    for _ in range(2):
        assert value(jitted(one())) == after
        assert value(f(one())) == after
    assert jitted.compiles == 2


def test_numpy_memory_shared_before_is_an_input():
    a = np.array([2.0, 1.0], np.float32)
    t = torch.from_numpy(a)
    f = torch.jit(lambda x: x * t)
    assert value(f(one())) == 2
    a[0] = 3
    assert value(f(one())) == 3
    assert f.compiles == 1


def test_going_back_to_an_earlier_value_finds_its_program_again():
    box = SimpleNamespace(k=2.0)
    f = torch.jit(lambda x: x * box.k)
    for k in (2.0, 3.0, 2.0, 3.0):
        box.k = k
        assert value(f(one())) == k
    assert f.compiles == 2
