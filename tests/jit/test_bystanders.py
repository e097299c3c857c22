"""What a function can reach and does not touch does not keep its program from being kept."""

import contextlib
import dataclasses
import logging
import sys
import types
import warnings
from collections import OrderedDict

import pytest

import torchlike as torch
from torchlike._jit.capture.bytecode import reads_of

LOGGER = logging.getLogger(__name__)
LOGGER.addHandler(logging.StreamHandler(open("/dev/null", "w")))  # noqa: SIM115


def count():
    yield from (1.0, 2.0, 3.0, 4.0)


@contextlib.contextmanager
def region():
    yield


class Holder:
    def __init__(self, **fields):
        vars(self).update(fields)

    @region()
    def unused(self):
        return 0


def kept(f, calls=4):
    """Call a compiled function that must be kept: one compilation and no warning."""
    compiled = torch.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [compiled(torch.full((2,), float(i))).tolist() for i in range(calls)]
    assert found == [f(torch.full((2,), float(i))).tolist() for i in range(calls)]
    assert compiled.compiles == 1


def test_a_closure_made_inside_over_a_tensor_made_inside():
    def masked(mask):
        def inner(x):
            return x * mask

        return inner

    def apply(fn, x):
        return fn(x)

    kept(lambda x: apply(masked(x > 1), x))


def test_a_logger_and_a_file_that_is_written():
    holder = Holder(out=sys.__stderr__, scale=2.0)

    def f(x):
        LOGGER.debug("called")
        return x * sum(v for v in vars(holder).values() if isinstance(v, float))

    kept(f)


def test_a_generator_that_nobody_resumes():
    holder = Holder(numbers=count(), scale=2.0)
    next(holder.numbers)

    def f(x):
        assert vars(holder)
        return x * holder.scale

    kept(f)
    assert next(holder.numbers) == 2.0


def test_a_generator_that_is_resumed_is_not_frozen():
    holder = Holder(numbers=count())

    @torch.jit
    def f(x):
        return x * next(holder.numbers)

    with pytest.warns(RuntimeWarning, match=r"iterator `holder\.numbers`"):
        assert [f(torch.ones(1)).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_a_generator_that_is_used_up_inside_is_not_frozen():
    holder = Holder(numbers=count())

    @torch.jit
    def f(x):
        return x * sum(holder.numbers)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [f(torch.ones(1)).item() for _ in range(3)] == [10.0, 0.0, 0.0]


def test_an_attribute_that_a_function_did_not_have_is_seen():
    def scale():
        return 2.0

    @torch.jit
    def f(x):
        return x * (scale.factor if hasattr(scale, "factor") else scale())

    assert f(torch.ones(1)).item() == 2.0
    scale.factor = 5.0
    assert f(torch.ones(1)).item() == 5.0
    scale.factor = 6.0
    assert f(torch.ones(1)).item() == 6.0
    del scale.factor
    assert f(torch.ones(1)).item() == 2.0


class Computed:
    names = types.MappingProxyType({"width": "size"})

    def __init__(self):
        self.size = 2.0

    def __getattribute__(self, key):
        names = object.__getattribute__(self, "names")
        return super().__getattribute__(names.get(key, key))


def test_attributes_that_an_object_looks_up_itself_are_seen():
    config = Computed()

    @torch.jit
    def f(x):
        return x * config.width

    for size in (2.0, 3.0):
        config.size = size
        assert f(torch.ones(1)).item() == size
    Computed.names = {"width": "depth"}
    config.depth = 7.0
    assert f(torch.ones(1)).item() == 7.0


@dataclasses.dataclass
class Point:
    x: float = 1.0


def replaced(text, point, fields, obj):
    return text.replace("a", "b"), getattr(obj, fields[0].name), point


def replaced_by_module(point):
    return dataclasses.replace(point, x=2.0)


def element(items, name):
    return getattr(items[0].inner, name)


def test_what_code_may_look_up_by_computed_names():
    found = reads_of(replaced.__code__)
    assert (found.whole, found.whole_of) == (False, (("obj", ()),))
    assert reads_of(replaced_by_module.__code__).whole
    assert reads_of(element.__code__).whole
    asked = reads_of(Computed.__getattribute__.__code__)
    assert (asked.whole, asked.whole_of) == (False, (("self", ()),))


def test_a_module_made_inside():
    target = torch.tensor([1, 0])
    kept(lambda x: torch.nn.CrossEntropyLoss(ignore_index=-1)(torch.outer(x, x + 1), target))


def test_a_module_made_inside_and_kept_outside_is_not_frozen():
    holder = Holder(loss=None)
    made = []

    @torch.jit
    def f(x):
        holder.loss = torch.nn.L1Loss()
        return holder.loss(x, x + 1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            f(torch.ones(2))
            made.append(holder.loss)
    assert len(set(made)) == 3


def decorated(func):
    def wrapper(self, x):
        return func(self, x)

    return wrapper


class Decorated(torch.nn.Module):
    @decorated
    def forward(self, x):
        return self.one(x) + self.two(x)

    @decorated
    def one(self, x):
        return x * 2

    @decorated
    def two(self, x):
        return x + 1


def test_methods_with_one_decorator():
    module = Decorated()
    kept(lambda x: module(x))
    kept(module)


def test_a_shared_variable_that_the_body_assigns_is_seen():
    def counter():
        n = 0

        def up():
            nonlocal n
            n += 1
            return n

        return up

    up, other = counter(), counter()
    other()

    @torch.jit
    def f(x):
        return x * up() * other()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [f(torch.ones(1)).item() for _ in range(3)] == [2.0, 6.0, 12.0]


class Makes(OrderedDict):
    """A table of classes that gives instances."""

    def __getitem__(self, key):
        return super().__getitem__(key)()


def test_a_table_that_makes_what_it_gives():
    table = Makes(linear=Holder, other=torch.nn.ReLU)

    def f(x):
        assert table
        return table["other"](x - 1)

    kept(f)
    compiled = torch.jit(f)
    assert compiled(torch.zeros(1)).item() == 0
    table["other"] = torch.nn.Sigmoid
    assert compiled(torch.ones(1)).item() == 0.5
