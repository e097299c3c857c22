"""Calls like the one before are recognized by written-out code, and no others."""

import contextlib

import numpy as np
import pytest

import torchlike as torch
from torchlike._core import modes


def _recognizing(fn, *args):
    """``fn`` jitted and called until its program knows such calls."""
    jitted = torch.jit(fn)
    for _ in range(3):
        jitted(*args)
    assert jitted.latest.state.inline_cache
    assert jitted.compiles == 1
    return jitted


def _pair():
    return torch.arange(4.0), torch.ones(4)


def _tagged(x):
    x.tag = 2.0
    return x


def _seen_by_numpy(x):
    x.numpy()
    return x


OTHERS = {
    "shape": lambda x: torch.arange(6.0).reshape(2, 3)[0][:1].clone(),
    "dtype": lambda x: x.double(),
    "a view": lambda x: torch.arange(8.0)[::2],
    "strides": lambda x: torch.arange(16.0).reshape(4, 4).t()[0],
    "requires grad": lambda x: x.requires_grad_(),
    "has a history": lambda x: x.requires_grad_() * 2,
    "a parameter": lambda x: torch.nn.Parameter(x),
    "an attribute": _tagged,
    "a host buffer": _seen_by_numpy,
    "a number": lambda x: 2.0,
    "a list": lambda x: [x, x],
}


def _use(x, y):
    if isinstance(x, list):
        return x[0] + x[1] + y
    return x * y * getattr(x, "tag", 1.0) + (1 if torch.is_grad_enabled() else 2)


@pytest.mark.parametrize("how", OTHERS)
def test_another_argument_is_noticed(how):
    x, y = _pair()
    jitted = _recognizing(_use, x, y)
    for _ in range(3):
        other = OTHERS[how](torch.arange(4.0) + 1)
        found, expected = jitted(other, y), _use(other, y)
        assert found.dtype == expected.dtype
        assert found.requires_grad == expected.requires_grad
        np.testing.assert_array_equal(found.detach().numpy(), expected.detach().numpy())
        assert jitted(x, y).tolist() == _use(x, y).tolist()
    assert jitted.compiles == 2 - (how == "a host buffer")


def test_keywords_and_their_absence():
    x, y = _pair()
    jitted = _recognizing(lambda x, y=None: x if y is None else x - y, x, y)
    assert jitted(x, y=y).tolist() == (x - y).tolist()
    assert jitted(x).tolist() == x.tolist()
    assert jitted(y=x, x=y).tolist() == (y - x).tolist()


def test_arguments_that_become_one():
    x, y = _pair()

    def write(x, y):
        x.add_(1)
        return y * 2

    jitted = _recognizing(write, x, y)
    z = torch.zeros(4)
    assert jitted(z, z).tolist() == [2.0] * 4
    same = _recognizing(write, z, z)
    assert same(torch.zeros(4), torch.zeros(4)).tolist() == [0.0] * 4


@pytest.mark.parametrize(
    "mode",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: torch.device("cpu"),
        contextlib.nullcontext,
    ],
)
def test_modes_are_asked(mode):
    x, y = torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.ones(2, 2)

    def fn(x, y):
        return (x @ y) + (1 if torch.is_grad_enabled() else 2), torch.zeros(1)

    jitted = _recognizing(fn, x, y)
    with mode():
        (found, made), (expected, made_too) = jitted(x, y), fn(x, y)
    assert found.dtype == expected.dtype
    assert made.device == made_too.device
    assert found.tolist() == expected.tolist()
    assert jitted(x, y)[0].tolist() == fn(x, y)[0].tolist()


def test_the_default_dtype_is_asked():
    x, y = _pair()
    jitted = _recognizing(lambda x, y: x + y.sum() + torch.zeros(1), x, y)
    torch.set_default_dtype(torch.float64)
    try:
        assert jitted(x, y).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert jitted(x, y).dtype == torch.float32


class State:
    def __init__(self, shift=0.0):
        self.layers = [torch.zeros(2) + shift, torch.ones(2)]
        self.more = {"by": 2.0, "at": torch.ones(2)}


def _update(x, state, *, scale=None, more=()):
    by = state.more["by"] if scale is None else scale
    state.layers[0] = state.layers[0] + x * by
    for y in more:
        x = x + y * len(state.more)
    return x + sum(state.layers) + state.more["at"]


def _shared(state):
    state.layers[1] = state.layers[0]


def _one_list(state):
    state.other = state.layers


def _written(state):
    state.layers[0].add_(1)


def _renamed(state):
    state.more = {"at": state.more["at"], "by": state.more["by"]}


CHANGES = {
    "nothing": lambda state: None,
    "a number": lambda state: state.more.update(by=3.0),
    "a dtype": lambda state: state.layers.__setitem__(1, torch.ones(2).double()),
    "a length": lambda state: state.layers.append(torch.ones(2)),
    "an entry": lambda state: state.more.update(z=1),
    "an attribute": lambda state: setattr(state, "z", 1),
    "a value": lambda state: _written(state),
    "one tensor twice": _shared,
    "one list twice": _one_list,
    "another order": _renamed,
    "no tensor": lambda state: state.more.update(at=1.0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_objects_and_keywords_are_looked_into(change):
    jitted, x = torch.compile(_update), torch.ones(2)
    for k in range(4):
        jitted(x, State(k), scale=None, more=[x, x + 1])
    given = (x, State(9)), {"scale": None, "more": [x, x + 1]}
    assert jitted.latest.state.inline_cache(*given, modes.current.__dict__) is not None
    for _ in range(2):
        states = State(5.0), State(5.0)
        for state in states:
            CHANGES[change](state)
        found, expected = (
            f(x, state, scale=None, more=[x, x + 1])
            for f, state in zip((jitted, _update), states, strict=True)
        )
        assert found.tolist() == expected.tolist()
        for ours, theirs in zip(states[0].layers, states[1].layers, strict=True):
            assert ours.tolist() == theirs.tolist()
        for options in ({"scale": 4.0}, {"more": [x]}, {"more": (x, x)}, {"scale": True}):
            a, b = State(), State()
            assert jitted(x, a, **options).tolist() == _update(x, b, **options).tolist()
            assert a.layers[0].tolist() == b.layers[0].tolist()


def test_methods_of_two_instances():
    class Scaled:
        def __init__(self, by):
            self.by = by

        @torch.jit
        def __call__(self, x):
            return x * self.by

    two, three = Scaled(2.0), Scaled(3.0)
    x = torch.ones(2)
    for _ in range(4):
        assert two(x).tolist() == [2.0, 2.0]
    assert Scaled.__dict__["__call__"].latest.state.inline_cache
    for _ in range(4):
        assert three(x).tolist() == [3.0, 3.0]
        assert two(x).tolist() == [2.0, 2.0]
    two.by = 5.0
    assert two(x).tolist() == [5.0, 5.0]


def test_what_is_forgotten_is_not_recognized():
    x, y = _pair()
    jitted = _recognizing(_use, x, y)
    jitted.reset()
    jitted(x, y)
    assert jitted.compiles == 2


DATA = torch.arange(640.0).reshape(40, 16)


def test_slices_of_data_are_recognized_wherever_they_begin():
    def f(x, y):
        return x * 2 + y

    jitted = _recognizing(f, DATA[4:8], DATA[8:12])
    recognize = jitted.latest.state.inline_cache
    current = modes.current.__dict__
    for i in range(0, 32, 4):
        args = DATA[i : i + 4], DATA[32:36]
        assert recognize(args, {}, current) is not None
        torch.testing.assert_close(jitted(*args), f(*args), rtol=0, atol=0)
    assert jitted.compiles == 1


OF_OTHER_KINDS = {
    "of a row less": lambda: DATA[1:4],
    "of steps": lambda: DATA[0:8:2],
    "of columns": lambda: DATA[:, :4].t(),
    "of other data": lambda: torch.ones(44, 16)[:4],
    "no view": lambda: torch.ones(4, 16),
    "requires grad": lambda: DATA[:4].detach().requires_grad_(),
    "with a history": lambda: torch.ones(40, 16, requires_grad=True)[:4],
    "of a base that got a history": lambda: _of_a_base_with_history(),
    "an attribute": lambda: _tagged(DATA[:4]),
}


def _of_a_base_with_history():
    base = torch.ones(40, 16)
    view = base[:4]
    base.mul_(torch.full((), 2.0, requires_grad=True))
    return view


@pytest.mark.parametrize("kind", OF_OTHER_KINDS)
def test_a_slice_of_another_kind_is_noticed(kind):
    def f(x):
        return x * getattr(x, "tag", 1.0) + x.stride(0) + x.requires_grad

    jitted = _recognizing(f, DATA[4:8])
    x = OF_OTHER_KINDS[kind]()
    assert jitted.latest.state.inline_cache((x,), {}, modes.current.__dict__) is None
    found, expected = jitted(x), f(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert found.requires_grad == expected.requires_grad


def test_a_string_that_nobody_reads_is_recognized_as_any():
    compiled = torch.compile(lambda x, name: x * 2, options={"warmup": 0})
    for name in "abcd":
        compiled(torch.ones(2), name)
    recognize, current = compiled.latest.state.inline_cache, modes.current.__dict__
    assert recognize((torch.ones(2), "e"), {}, current) is not None
    assert recognize((torch.ones(2), 2.0), {}, current) is None
    assert compiled.compiles == 2
