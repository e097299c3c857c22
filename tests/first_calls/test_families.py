"""Programs traced with symbols for sizes: when they hold, and that they are right."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import families, symbolic_sizes
from torchlike._runtime.first_calls.settings import settings
from torchlike._runtime.first_calls.statistics import record_of


@pytest.fixture
def form(request):
    """Makes a form whose calls are counted under the test's name."""

    def make(function):
        found = first_calls.jit(function, name=request.node.nodeid)
        found.record = record_of(request.node.nodeid)
        return found

    return make


def ramp(*shape):
    return jnp.asarray(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


class Counted:
    """A function that counts its traces."""

    def __init__(self, function):
        self.function, self.traces = function, 0

    def __call__(self, *args):
        self.traces += 1
        return self.function(*args)


@pytest.fixture
def unchecked(monkeypatch, caplog):
    """As outside of tests: a trace of its own only now and then. Where a test fails, the log says
    what the family could not do."""
    caplog.set_level(logging.DEBUG, "torchlike.first_calls")
    monkeypatch.setattr(settings, "check", False)


def test_a_third_size_is_not_traced(unchecked):
    function = Counted(lambda x: jnp.tanh(x) + x.sum(0))
    form = first_calls.jit(function)
    for n in (5, 6, 7):
        form(ramp(n, 3))
    assert function.traces == 2
    np.testing.assert_allclose(form(ramp(9, 3)), jax.jit(function.function)(ramp(9, 3)), rtol=1e-6)


def test_what_grows_from_one_is_a_family_from_two_on(unchecked):
    """1 is no symbol: 1, 2, the family, and the trace that its 4th program is held against."""
    function = Counted(lambda cache, new: jnp.concatenate([cache, new]) * 2)
    form = first_calls.jit(function)
    for n in range(1, 20):
        assert form(ramp(n, 3), ramp(1, 3)).shape == (n + 1, 3)
    assert function.traces == 4


def test_sizes_of_one_are_a_family_beside_others(unchecked):
    """Single columns and many, by turns: each kind has its two traces, and no more."""
    function = Counted(lambda x: jnp.tanh(x) + x.sum(0))
    form = first_calls.jit(function)
    for n in (5, 6, 7):
        form(ramp(n, 1))
        form(ramp(n, n))
    assert function.traces == 4


def test_the_fourth_program_is_held_against_a_trace_of_its_own(unchecked):
    function = Counted(lambda x: x + 1)
    form = first_calls.jit(function)
    for n in range(5, 9):
        form(ramp(n))
    assert function.traces == 2
    form(ramp(9))
    assert function.traces == 3


def test_sizes_that_jax_has_met_are_no_guards(unchecked):
    """Its table of avals compares a symbol with any that has the same seven bits of a hash."""
    met = [jax.core.ShapedArray((n,), jnp.dtype("float32")) for n in range(2, 2000)]
    for _ in range(20):
        function = Counted(lambda x: x + 1)
        form = first_calls.jit(function)
        for n in range(5, 8):
            form(ramp(n))
        assert function.traces == 2
        ((family,),) = [form.by_numpy.__self__._families.values()]
        (generic,) = family._generics
        assert generic._guards == []
    assert len(met) == 1998


BRANCHES = {
    "equality": lambda x: x * 2 if x.shape[0] == 8 else x + 1,
    "inequality": lambda x: x * 2 if x.shape[0] > 7 else x + 1,
    "two sizes": lambda x: x * 2 if x.shape[0] == x.shape[1] else x + 1,
    "product": lambda x: x * 2 if x.shape[0] * x.shape[1] >= 50 else x + 1,
    "remainder": lambda x: x * 2 if x.shape[0] % 2 == 0 else x + 1,
    "truth": lambda x: x * 2 if x.shape[0] - 8 else x + 1,
    "minimum": lambda x: x * min(x.shape[0], 8),
    "in a tuple": lambda x: x * 2 if x.shape[0] in (6, 9) else x + 1,
    "of shapes": lambda x: x * 2 if x.shape == (8, 8) else x + 1,
    "part": lambda x: x[: x.shape[0] // 2].sum() + x,
    "rest": lambda x: x[3:].sum() if x.shape[0] - 3 != 1 else x.sum(),
    "mean": lambda x: x / x.shape[0],
    "square": lambda x: x.reshape(-1, 2) if x.size % 2 == 0 else x,
}


@pytest.mark.parametrize("name", BRANCHES)
def test_decisions_about_sizes_are_guards(name, form):
    form = form(BRANCHES[name])
    for n in (5, 6, 7, 8, 9, 10, 4, 12, 2, 1, 0):
        for m in (5, 8):
            x = ramp(n, m)
            np.testing.assert_allclose(form(x), BRANCHES[name](np.asarray(x)), rtol=1e-6)


def test_sizes_of_one_and_none_are_traced(form):
    form = form(lambda x, y: x + y)
    for n in (4, 5, 1, 0, 6):
        assert form(ramp(n, 3), ramp(1, 3)).shape == (n, 3)


def test_sizes_that_agree_by_chance_get_another_trace(form):
    form = form(lambda x, y: x.sum() + y)
    for shapes in ((4, 4), (5, 5), (6, 7), (8, 3)):
        x, y = (ramp(n) for n in shapes)
        np.testing.assert_allclose(form(x, y), x.sum() + y, rtol=1e-6)


def test_a_function_that_needs_numbers_is_traced_for_each_size(form):
    form = form(lambda x: sum(x[i] for i in range(x.shape[0])))
    for n in (3, 4, 5, 6):
        assert form(ramp(n)) == sum(range(n))
    assert form.record.specialised == 0


def test_a_difference_gives_the_family_up(unchecked, monkeypatch, caplog, form):
    monkeypatch.setattr(settings, "strict", False)
    monkeypatch.setattr(families, "_CHECKED", frozenset((2,)))
    # What no guard sees: a size in a dictionary.
    table = {7: 100.0}
    form = form(lambda x: x + table.get(x.shape[0], 1.0))
    with caplog.at_level(logging.WARNING, "torchlike._runtime.first_calls"):
        found = [form(ramp(n))[0].item() for n in (5, 6, 7, 8, 7)]
    assert found == [1.0, 1.0, 100.0, 1.0, 100.0]
    assert "each size is traced from now on" in caplog.text


def test_large_sizes_of_a_family_are_compiled(form):
    form = form(lambda x: x @ x)
    for n in (4, 5, 6, 1400):
        form(ramp(n, n))
    assert form.record.compiled == 1
    assert form.record.specialised == 3


def sizes(function):
    return [function(n) for n in (5, 6, 7, 9)]


@pytest.mark.sampled(every=18)
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("view", lambda x: x.view(2, -1) * 1),
        ("expand", lambda x: x[None].expand(3, -1, -1) * 1),
        ("slice", lambda x: x[1:-1] * 1),
        ("select", lambda x: x[2] * 1),
        ("flip", lambda x: x.flip(0)),
        ("cat", lambda x: torch.cat([x, x[:2]])),
        ("softmax", lambda x: torch.softmax(x, 0)),
        ("layer norm", lambda x: F.layer_norm(x, (4,))),
        ("cross entropy", lambda x: F.cross_entropy(x, torch.zeros(len(x), dtype=torch.int64))),
        ("mask", lambda x: x[x > 0.1]),
        ("tril", lambda x: x.tril()),
        ("attention", lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True)),
        ("max pool", lambda x: F.max_pool1d(x.t()[None], 2)),
        ("batch norm", lambda x: F.batch_norm(x, None, None, training=True)),
        ("cumsum", lambda x: x.cumsum(0)),
        ("std", lambda x: x.std(0)),
        ("index add", lambda x: x.index_add(0, torch.tensor([1, 1]), x[:2])),
    ],
)
def test_operations_of_growing_tensors_and_their_gradients(name, function):
    """Against each size compiled; the programs are checked against their own traces, too."""

    def both(x):
        x = x.detach().requires_grad_()
        y = function(x)
        (y * torch.arange(1.0, y.numel() + 1).reshape(y.shape)).sum().backward()
        return y.detach(), x.grad

    def at(n, run):
        # float64: norms of a ramp have gradients that cancel.
        x = torch.linspace(-1, 1, 4 * n, dtype=torch.float64).reshape(n, 4)
        return [t.numpy() for t in run(x)]

    found = sizes(lambda n: at(n, both))
    # How many elements a mask chooses is no size of a program.
    compiled = both if name == "mask" else torch.jit(both, dynamic=False)
    with torch.compiler.set_first_calls("compiled"):
        expected = sizes(lambda n: at(n, compiled))
    for pair, other in zip(found, expected, strict=True):
        for a, b in zip(pair, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(b).max())


@pytest.mark.exhaustive
def test_sequences_of_growing_length(request):
    lstm = torch.nn.LSTM(3, 4)
    before = record_of("RecurrentBackward0").specialised
    for n in (5, 6, 7):
        x = torch.randn(n, 2, 3, requires_grad=True)
        lstm(x)[0].sum().backward()
        with torch.compiler.set_first_calls("compiled"):
            y = x.detach().requires_grad_()
            lstm(y)[0].sum().backward()
        np.testing.assert_allclose(x.grad, y.grad, rtol=1e-4, atol=1e-6)
    assert record_of("RecurrentBackward0").specialised >= before + 2


def test_sizes_are_evaluated_as_jax_evaluates_them():
    found = symbolic_sizes.symbols(["n0", "n1"])
    a, b = found["n0"], found["n1"]
    sizes = {"n0": 7, "n1": 5}
    for size in (a, a + 1, 5 - a, 2 * a * b - 3 * a * a + 7, -2 * a * b * b - 11, a // 2 + b % 3):
        assert symbolic_sizes.value(size, sizes) == int(size._evaluate(sizes))
