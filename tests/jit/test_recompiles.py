"""The log of recompilations, the warning, and jit.explain."""

import functools
import logging
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import torchlike as torch

LOGGER = "torchlike.recompiles"


def reasons(caplog):
    return [r.getMessage() for r in caplog.records if r.name == LOGGER]


def change_attribute(box, f):
    f(torch.ones(2))
    box.k = 3.0
    f(torch.ones(2))


def change_shape(box, f):
    f(torch.ones(2))
    f(torch.ones(3))


def change_grad_mode(box, f):
    f(torch.ones(2))
    with torch.no_grad():
        f(torch.ones(2))


def change_argument(box, f):
    f(torch.ones(2), 1.5)
    f(torch.ones(2), 2.5)


def change_requires_grad(box, f):
    f(torch.ones(2))
    f(torch.ones(2, requires_grad=True))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (change_attribute, "`box.k` changed: 2.0 → 3.0"),
        (change_shape, "the shape of argument `x` changed: (2,) → (3,)"),
        (change_grad_mode, "grad mode changed: True → False"),
        (change_argument, "argument `n` changed: 1.5 → 2.5"),
        (change_requires_grad, "the requires_grad of argument `x` changed: False → True"),
    ],
)
def test_the_log_names_what_changed(caplog, change, words):
    box = SimpleNamespace(k=2.0)

    @torch.jit
    def f(x, n=1.0):
        return x * box.k * n

    with caplog.at_level(logging.INFO, LOGGER):
        change(box, f)
    (message,) = reasons(caplog)
    assert words in message


def test_a_first_compilation_is_none_too_many(caplog):
    with caplog.at_level(logging.INFO, LOGGER):
        torch.jit(lambda x: x)(torch.ones(1))
    assert reasons(caplog) == []


def test_a_module_and_an_optimizer_are_named(caplog):
    model = torch.nn.Dropout(0.5)
    w = torch.ones(1, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)

    @torch.jit
    def step(x):
        opt.zero_grad()
        (model(x) * w).sum().backward()
        opt.step()

    with caplog.at_level(logging.INFO, LOGGER):
        step(torch.ones(1))
        step(torch.ones(1))
        model.eval()
        step(torch.ones(1))
        opt.param_groups[0]["nesterov"] = True
        step(torch.ones(1))
    said = reasons(caplog)
    assert len(said) == 2
    assert "Dropout.training` changed: True → False" in said[0]
    assert "`SGD.nesterov` changed: False → True" in said[1]


def test_the_eighth_recompilation_warns_once_with_a_remedy():
    f = torch.jit(lambda x, k: x * k, dynamic=False)
    for k in range(8):
        f(torch.ones(1), float(k))
    with pytest.warns(RuntimeWarning, match=r"compiled 9 times.*argument `k`.*as a tensor"):
        f(torch.ones(1), 8.0)
    f(torch.ones(1), 9.0)


def told(f, calls):
    """The warning that the ninth compilation gives."""
    *first, last = calls
    for call in first:
        f(*call)
    with pytest.warns(RuntimeWarning, match="was compiled 9 times") as found:
        f(*last)
    return str(found[0].message)


def test_the_dimension_the_sizes_and_the_remedy_are_named():
    f = torch.jit(lambda tokens, mask: (tokens * mask).sum())
    sizes = (3, 9, 4, 30, 5, 6, 7, 8, 11)
    said = told(f, [(torch.ones(2, n), torch.ones(n)) for n in sizes])
    assert (
        "8 times because the shape of argument `tokens` changed: dimension 1 of `tokens` was 3, 9, "
        "4, …, 11 (9 sizes), dimension 0 of `mask` was 3, 9, 4, …, 11 (9 sizes). Each size is "
        "compiled for. Pad to a few outside of the function, `tokens = torchlike.jit.pad_to_bucket("
        "tokens, 1); mask = torchlike.jit.pad_to_bucket(mask, 0)`, and mask what must not count"
    ) in said
    assert "Or, as it grows" not in said


def test_what_grows_may_be_kept_at_its_full_length():
    tokens, f = torch.ones(2, 12), torch.jit(lambda cache: cache["k"][0].sum())
    said = told(f, [({"k": [tokens[:, :n]]},) for n in range(1, 10)])
    assert "dimension 1 of `cache['k'][0]` was 1, 2, 3, …, 9 (9 sizes)" in said
    assert "torchlike.jit.pad_to_bucket(cache['k'][0], 1)" in said
    assert "Or, as it grows: Keep a tensor of the full length" in said
    assert "index_copy_" in said


def test_numbers_of_dimensions_are_named():
    f = torch.jit(lambda x: x.sum())
    said = told(f, [(torch.ones(*[1] * n),) for n in range(1, 10)])
    assert "`x` had 1, 2, 3, …, 9 dimensions. Each number of dimensions" in said


def test_state_that_grows_is_named_with_its_shapes():
    class Cache(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = torch.zeros(1, 2)

        def forward(self, x):
            self.keys = torch.cat([self.keys, x])
            return self.keys.sum()

    said = told(torch.jit(Cache()), [(torch.ones(1, 2),)] * 9)
    assert "the shape of `Cache.keys` changed: (1, 2), (2, 2), (3, 2), …, (9, 2) (9 shapes)" in said
    assert "Keep a tensor of the full length" in said


def test_a_number_that_is_a_size_is_to_be_rounded_up():
    f = torch.jit(lambda n: torch.ones(n).sum())
    assert "round it up, torchlike.jit.bucket_of(n)" in told(f, [(n,) for n in range(1, 10)])


def test_views_that_differ_by_their_base_are_to_be_cloned():
    f = torch.jit(lambda x: x.sum())
    said = told(f, [(torch.ones(n, 2)[0],) for n in range(1, 10)])
    assert "because the shape of the base of argument `x` changed: (1, 2), (2, 2), (3, 2)" in said
    assert "view.clone()" in said


def test_sizes_are_told_where_calls_warm_up():
    f = torch.jit(lambda x: x.sum(), warmup=1)
    said = told(f, [(torch.ones(n),) for n in range(1, 10)])
    assert "dimension 0 of `x` was 1, 2, 3, …, 9 (9 sizes)" in said


@pytest.mark.exhaustive
def test_the_environment_variable_prints_the_log():
    code = (
        "import torchlike as torch\n"
        "f = torch.jit(lambda x: x)\n"
        "f(torch.ones(1)); f(torch.ones(2))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**__import__("os").environ, "TORCHLIKE_LOGS": "recompiles"},
    )
    assert "Recompiling <lambda>: the shape of argument `x`" in done.stderr


def test_explain_a_training_step():
    model = torch.nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    scale = 2.0
    before = model.weight.tolist()

    def step(x):
        opt.zero_grad()
        loss = (model(x) * scale).sum()
        loss.backward()
        opt.step()
        return loss

    found = torch.jit.explain(step)(torch.ones(4, 3))
    names = {e.name: e for e in found.inputs}
    assert names["Linear.weight"].shape == (2, 3)
    assert names["Linear.weight"].donated
    assert "exp_avg of Linear.weight" in names
    assert names["lr"].role == "per-call value"
    assert {"Linear.weight", "Linear.weight.grad"} <= {e.name for e in found.outputs}
    assert "scale" in found.guards
    assert found.flops > 0
    assert found.argument_bytes > 0
    assert found.not_kept == ""
    assert found.result.shape == ()
    assert model.weight.tolist() != before  # the step was taken
    text = str(found)
    assert "Linear.weight" in text
    assert "flops" in text


def test_explain_names_what_backward_keeps_and_why_a_program_is_not_kept():
    w = torch.ones(2, requires_grad=True)
    found = torch.jit.explain(lambda x: (w * x).exp().sum())(torch.ones(2))
    assert found.has_backward
    assert any(e.role == "kept for backward" for e in found.outputs)
    history = []
    found = torch.jit.explain(lambda x: history.append(1))(torch.ones(2))
    assert "`history`" in found.not_kept


def test_a_traced_number_that_becomes_another_kind_is_named(caplog):
    caplog.set_level(logging.INFO, LOGGER)

    @torch.jit
    def f(x, n):
        return x * n

    for n in (1, 2, 3, 4):
        f(torch.ones(2), n)
    for n in (1.5, 2.5, 3.5, 4.5):
        assert f(torch.ones(2), n).tolist() == [n, n]
    assert "Recompiling" in caplog.text
    assert "argument `n` changed: a traced int → a traced float" in caplog.text


SCALE = 1.0


def test_a_global_that_changes_is_named_rather_than_an_argument(caplog, monkeypatch):
    @torch.jit(dynamic=False)
    def f(x, k):
        return x * SCALE * k

    with caplog.at_level(logging.INFO, LOGGER):
        for i in range(3):
            monkeypatch.setitem(globals(), "SCALE", float(i))
            f(torch.ones(2), 0.5)
        monkeypatch.setitem(globals(), "SCALE", 7.0)
        f(torch.ones(2), 1.5)
    said = reasons(caplog)
    assert said[:2] == [
        "Recompiling test_a_global_that_changes_is_named_rather_than_an_argument.<locals>.f: "
        f"`SCALE` changed: {i}.0 → {i + 1}.0"
        for i in range(2)
    ]
    assert said[2].endswith("`SCALE` changed: 2.0 → 7.0 and argument `k` changed: 0.5 → 1.5")


def test_the_warning_blames_the_global_also_where_an_argument_changes(monkeypatch):
    f = torch.jit(lambda x, k: x * SCALE * k, dynamic=False)
    for i in range(8):
        monkeypatch.setitem(globals(), "SCALE", float(i))
        f(torch.ones(2), float(i))
    monkeypatch.setitem(globals(), "SCALE", 8.0)
    with pytest.warns(RuntimeWarning, match=r"8 times because `SCALE` changed.*fill_\(\)") as told:
        f(torch.ones(2), 8.0)
    assert told[0].filename == __file__


def nested(x, y=None, *rest, named=None):
    return x


one = torch.ones(2)
held = [one]


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (((one,), {}), ((one, one), {}), "the number of positional arguments changed: 1 → 2"),
        (((one,), {}), ((one,), {"named": 1}), "the keywords of the call changed: none → 'named'"),
        (((one, [one]), {}), ((one, [one, one]), {}), "the length of argument `y` changed: 1 → 2"),
        (((one, one), {}), ((one, [one]), {}), "argument `y` changed: a single value → a list"),
        (((one, [one]), {}), ((one, (one,)), {}), "argument `y` changed: a list → a tuple"),
        (
            ((one, {"a": one}), {}),
            ((one, {"a": one, "b": one}), {}),
            "the keys of argument `y` changed: 'b' is new",
        ),
        (
            ((one, {"a": one}), {}),
            ((one, {"b": one}), {}),
            "the keys of argument `y` changed: 'a' is gone, 'b' is new",
        ),
        (
            ((one, {"a": one, "b": 1}), {}),
            ((one, {"b": 1, "a": one}), {}),
            "the keys of argument `y` changed: their order",
        ),
        (
            ((one,), {"named": {"a": [one]}}),
            ((one,), {"named": {"a": [one, 1]}}),
            "the length of argument `named['a']` changed: 1 → 2",
        ),
        (
            ((one, 1, [held]), {}),
            ((one, 1, [held, held]), {}),
            "the length of argument `rest[0]` changed: 1 → 2",
        ),
        (
            ((one, held, [one]), {}),
            ((one, held, held), {}),
            "argument `rest[0]` is now the same list as another one",
        ),
        (
            ((one, {"k": [one, 1.5]}), {}),
            ((one, {"k": [one, 2.5]}), {}),
            "argument `y['k'][1]` changed: 1.5 → 2.5",
        ),
        (
            ((one, {"k": [one]}), {}),
            ((one, {"k": [one.double()]}), {}),
            "the dtype of argument `y['k'][0]` changed: float32 → float64",
        ),
        (((one, 1, 2, "a"), {}), ((one, 1, 2, "b"), {}), "argument `rest[1]` changed: 'a' → 'b'"),
    ],
)
def test_what_of_the_arguments_changed(caplog, first, second, words):
    f = torch.jit(nested)
    with caplog.at_level(logging.INFO, LOGGER):
        for args, kwargs in (first, second):
            f(*args, **kwargs)
    assert reasons(caplog) == [f"Recompiling nested: {words}"]


def test_a_modules_and_a_wrapped_functions_arguments_have_their_names(caplog):
    wrapped = torch.jit(functools.wraps(nested)(lambda *args, **kwargs: nested(*args, **kwargs)))
    with caplog.at_level(logging.INFO, LOGGER):
        for f in (torch.jit(torch.nn.Linear(2, 2)), wrapped):
            f(torch.ones(1, 2))
            f(torch.ones(3, 2))
    assert ["`input`" in reasons(caplog)[0], "`x`" in reasons(caplog)[1]] == [True, True]


def test_explain_shows_the_attributes_of_modules_that_code_names():
    class Repeated(torch.nn.Linear):
        def forward(self, x):
            for _ in range(self.turns):
                x = super().forward(x)
            return x

    layer = Repeated(2, 2)
    layer.turns, layer.unnamed = 3, 4
    found = torch.jit.explain(torch.jit(layer))(torch.ones(1, 2))
    values = dict(zip(found.guards, found.guard_values, strict=True))
    assert values["Repeated.turns"] == "3"
    assert not {"Repeated.unnamed", "Repeated.in_features"} & values.keys()


def test_explain_names_arguments_and_shows_values_and_times():
    @torch.jit
    def f(x, cache, *rest, lr=0.1, **more):
        cache["k"].add_(x)
        return x * SCALE * lr + rest[0] + more["bias"] + cache["k"]

    def call():
        return x, {"k": x * 1, "n": 3}, x + 1

    x = torch.ones(2)
    found = torch.jit.explain(f)(*call(), lr=0.5, bias=x - 1)
    names = {e.name for e in found.inputs if e.role == "argument"}
    assert names == {"x", "cache['k']", "rest[0]", "bias"}
    assert ("written argument", "cache['k']") in [(e.role, e.name) for e in found.outputs]
    assert found.static_arguments == {"cache['n']": "3", "lr": "0.5"}
    assert dict(zip(found.guards, found.guard_values, strict=True))["SCALE"] == "1.0"
    assert found.capture_seconds > 0
    assert found.call_seconds >= found.capture_seconds
    text = str(found)
    for words in ("cache['k']", "static argument", "0.5", "SCALE", "1.0", "this call"):
        assert words in text


def test_explain_names_traced_numbers():
    f = torch.jit(lambda x, step: x * step * 2, dynamic=True)
    found = torch.jit.explain(f)(torch.ones(2), 3.0)
    (number,) = (e for e in found.inputs if e.role == "number")
    assert number.name in ("step", "computed from the arguments")
    assert found.static_arguments == {}


class Head(torch.nn.Module):
    """A module of a user's, with one of each kind of attribute."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.scale = 2
        self.act = torch.relu
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x):
        return self.act(self.layer(x)) * self.scale + self.shift


CHANGES_OF_MODULES = {
    "a value": (lambda m: setattr(m, "scale", 3), "`Head.scale` changed: 2 → 3"),
    "a function": (lambda m: setattr(m, "act", torch.tanh), "`Head.act` changed: relu → tanh"),
    "a child": (
        lambda m: setattr(m, "layer", torch.nn.Linear(2, 2)),
        "`Head.layer` was bound to another Linear",
    ),
    "a child in its table": (
        lambda m: m._modules.update(layer=torch.nn.Linear(2, 2)),
        "`Head.layer` was bound to another Linear",
    ),
    "a parameter": (
        lambda m: setattr(m.layer, "bias", torch.nn.Parameter(torch.zeros(2))),
        "`Linear.bias` was bound to another tensor",
    ),
    "a buffer": (
        lambda m: setattr(m, "shift", torch.zeros(2)),
        "`Head.shift` was bound to another tensor",
    ),
    "a flag": (
        lambda m: m.layer.weight.requires_grad_(False),
        "requires_grad of `Linear.weight` changed: True → False",
    ),
    "a mode": (lambda m: m.layer.eval(), "`Linear.training` changed: True → False"),
    "a hook": (
        lambda m: m.layer.register_forward_hook(lambda *a: None),
        "the hooks of Linear changed",
    ),
    "another child": (
        lambda m: m.add_module("more", torch.nn.ReLU()),
        "`Head.more` was added",
    ),
    "data": (
        lambda m: setattr(m.layer.weight, "data", torch.zeros(2, 2)),
        "the .data of a tensor was replaced",
    ),
}


@pytest.mark.sampled(every=7)
@pytest.mark.parametrize("change", CHANGES_OF_MODULES)
def test_what_of_a_module_changed(caplog, change):
    module, (make, words) = Head(), CHANGES_OF_MODULES[change]
    f, x = torch.jit(lambda x: module(x)), torch.ones(1, 2)
    f(x)
    f(x)
    make(module)
    with caplog.at_level("INFO", logger="torchlike.recompiles"):
        found = f(x)
    assert caplog.messages[0].endswith(f": {words}")
    np.testing.assert_allclose(found.detach(), module(x).detach(), rtol=1e-5)
    assert f.compiles == 2


@pytest.mark.filterwarnings("ignore:torchlike.jit. .* was compiled")
def test_values_that_go_on_changing_are_not_compiled_for_without_end():
    array = np.zeros(1, np.float32)
    f = torch.compile(lambda x: x * float(array[0]))
    x = torch.ones(1)

    def count():
        for i in range(40):
            array[0] = i
            assert f(x).item() == i

    with pytest.warns(RuntimeWarning, match=r"compiled no more, .*8 values.*`array` changed"):
        count()
    assert f.compiles <= 12
    array[0] = 3
    assert f(x).item() == 3
    assert not f.ran_eagerly  # those that there are stay
