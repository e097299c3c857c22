"""The log of recompilations, the warning, and jit.explain."""

import logging
import subprocess
import sys
from types import SimpleNamespace

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


def test_the_environment_variable_prints_the_log():
    code = (
        "import torchlike as torch\n"
        "f = torch.jit(lambda x: x)\n"
        "f(torch.ones(1)); f(torch.ones(2))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**__import__("os").environ, "TORCHLIKE_LOGS": "recompiles"},
    )  # fmt: skip
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
    assert names["lr"].role == "host value"
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
