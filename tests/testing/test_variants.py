"""Variants: each runs the function so, and gives the same; the fixture, the option, the plugin."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike as torch
from torchlike.testing import Variant, variants
from torchlike.testing.variants import VARIANTS, named_variants

ROOT = Path(torch.__file__).parents[1]
X = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])


@variants("eager", "compiled", "jit", "warmup", "vmap")
def test_results_and_gradients(variant):
    x = X.clone().requires_grad_()
    f = variant(lambda x: {"y": (x.sin() * x, 3), "total": torch.softmax(x, -1)})
    for _ in range(4):
        found = f(x)
        (gradient,) = torch.autograd.grad(found["y"][0].sum(), x)
        torch.testing.assert_close(found["y"][0], X.sin() * X, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(gradient, X.cos() * X + X.sin(), rtol=1e-5, atol=1e-6)
        assert found["y"][1] == 3


@variants("eager", "compiled", "jit", "warmup", "vmap")
def test_writes_reach_the_callers_tensor(variant):
    x = X.clone()
    f = variant(lambda x: x[0].mul_(2))
    f(x)
    f(x)
    assert x.tolist() == [[4.0, -8.0, 12.0], [0.5, 0.0, -1.0]]


@variants()
def test_usual_variants(variant):
    assert variant.name in ("eager", "jit")
    f = variant(torch.sin)
    assert hasattr(f, "compiles") == (variant.name == "jit")


def test_eager_and_compiled_are_what_they_say():
    seen = []

    def look(x):
        seen.append(torch.compiler.get_first_calls())
        return x

    before = torch.compiler.get_first_calls()
    Variant("eager")(look)(X)
    Variant("compiled")(look)(X)
    assert seen == ["numpy", "compiled"]
    assert torch.compiler.get_first_calls() == before


def test_warmup_runs_eagerly_at_first():
    f = Variant("warmup")(torch.sin)
    eager = []
    for _ in range(3):
        f(X)
        eager.append(f.ran_eagerly)
    assert eager == [True, True, False]


class WrongRule(torch.autograd.Function):
    """The identity, mapped by a rule that counts the examples."""

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g

    @staticmethod
    def vmap(info, in_dims, x):
        return x + torch.arange(float(info.batch_size))[:, None, None], 0


def test_vmap_notices_lanes_that_differ():
    with pytest.raises(AssertionError, match="two results for two equal inputs"):
        Variant("vmap")(WrongRule.apply)(X)
    with pytest.raises(ValueError, match="give one"):
        Variant("vmap")(lambda: X)()


def test_names():
    assert [v.name for v in named_variants(("all",))] == list(VARIANTS)
    assert [v.name for v in named_variants(("jit", "jit", "eager"))] == ["jit", "eager"]
    assert repr(Variant("jit")) == "Variant('jit')"
    with pytest.raises(ValueError, match="unknown variant 'fast': one of eager, compiled, jit"):
        variants("fast")


SUITE = """
import torchlike as torch
from torchlike.testing import variants

@variants("eager", "jit")
def test_own(variant):
    assert variant(torch.sin)(torch.zeros(4)).tolist() == [0.0] * 4

def test_usual(variant):
    assert variant(lambda x: x.sum())(torch.ones(4, 2)).item() == 8

class TestMethods:
    @variants("vmap")
    def test_method(self, variant):
        assert variant(torch.neg)(torch.ones(2)).tolist() == [-1.0] * 2

def test_other():
    pass
"""


def run_pytest(folder, *arguments, **environment):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "torchlike_command.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-v",
        *arguments,
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@pytest.mark.full
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            (),
            {
                "test_own[eager]",
                "test_own[jit]",
                "test_usual[eager]",
                "test_usual[jit]",
                "TestMethods::test_method[vmap]",
                "test_other",
            },
        ),
        (
            ("--torchlike-variants=warmup,devices",),
            {
                "test_own[warmup]",
                "test_own[devices]",
                "test_usual[warmup]",
                "test_usual[devices]",
                "TestMethods::test_method[warmup]",
                "TestMethods::test_method[devices]",
                "test_other",
            },
        ),
    ],
)
def test_the_option(tmp_path, said, expected):
    (tmp_path / "test_suite.py").write_text(SUITE)
    flags = "--xla_force_host_platform_device_count=2"
    done = run_pytest(tmp_path, *said, XLA_FLAGS=flags)
    assert done.returncode == 0, done.stdout
    lines = [line for line in done.stdout.splitlines() if " PASSED" in line]
    assert {line.split("::", 1)[1].split()[0] for line in lines} == expected


@pytest.mark.full
def test_an_unknown_variant_on_the_command_line(tmp_path):
    (tmp_path / "test_suite.py").write_text(SUITE)
    done = run_pytest(tmp_path, "--torchlike-variants=fast")
    assert done.returncode != 0
    assert "unknown variant 'fast'" in done.stdout + done.stderr


FOREIGN = """
import sys
import pytest

@pytest.fixture(params=[1, 2])
def variant(request):
    return request.param

def test_own_fixture(variant):
    assert variant in (1, 2)

@pytest.mark.parametrize("variant", "ab")
def test_own_parameters(variant):
    assert variant in "ab"

def test_nothing_is_imported():
    assert "torchlike" not in sys.modules
    assert "jax" not in sys.modules
"""


@pytest.mark.exhaustive
def test_other_projects_notice_nothing(tmp_path):
    (tmp_path / "test_foreign.py").write_text(FOREIGN)
    done = run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout


PROFILED = """
import json, sys
from hypothesis import settings

def test_profile():
    now = settings()
    with open("profile.json", "w") as file:
        json.dump([now.deadline is None, now.derandomize], file)
"""


@pytest.mark.parametrize("ci", ["", "true"])
def test_the_profile(ci, monkeypatch):
    settings = pytest.importorskip("hypothesis").settings
    profile = pytest.importorskip("torchlike.testing.strategies.profile")
    monkeypatch.setenv("CI", ci)
    profile.register_profile()
    found = settings.get_profile("torchlike")
    assert found.deadline is None
    assert found.derandomize == bool(ci)


@pytest.mark.full
@pytest.mark.parametrize("ci", ["", "true"])
def test_the_profile_on_the_command_line(tmp_path, ci):
    pytest.importorskip("hypothesis")
    (tmp_path / "test_profiled.py").write_text(PROFILED)
    done = run_pytest(tmp_path, "--hypothesis-profile=torchlike", CI=ci)
    assert done.returncode == 0, done.stdout
    assert json.loads((tmp_path / "profile.json").read_text()) == [True, bool(ci)]
