"""torchlike's plugin for pytest: the fixture ``variant``, its option, a profile of hypothesis.

pytest imports it in every project of the environment. It therefore stands outside of the package,
whose import brings JAX and turns its 64-bit types on, and imports that where a test asks for it.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

_OPTION = "--torchlike-variants"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option; "" stands for what each test says."""
    parser.getgroup("torchlike").addoption(
        _OPTION,
        default="",
        metavar="NAMES",
        help="run tests with the fixture `variant` in these variants: all, or some of eager, "
        "compiled, jit, warmup, vmap, devices, separated by commas",
    )


@pytest.hookimpl(tryfirst=True)  # before hypothesis's own plugin loads the profile
def pytest_configure(config: pytest.Config) -> None:
    """Register the profile where the command line asks for it."""
    if config.getoption("--hypothesis-profile", None) == "torchlike":
        importlib.import_module("torchlike.testing.strategies")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each variant."""
    if "variant" not in metafunc.fixturenames or _is_parametrized(metafunc):
        return
    module: Any = importlib.import_module("torchlike.testing.variants")
    said = tuple(n for n in str(metafunc.config.getoption(_OPTION)).split(",") if n)
    own = getattr(metafunc.function, "torchlike_variants", ())
    try:
        found = module.named_variants(said or own)
    except ValueError as error:
        raise pytest.UsageError(f"{_OPTION}: {error}") from None
    metafunc.parametrize("variant", found, ids=[v.name for v in found])


def _is_parametrized(metafunc: pytest.Metafunc) -> bool:
    """Return whether the test, or a fixture of its own project, says what ``variant`` is."""
    marks = metafunc.definition.iter_markers("parametrize")
    names = [n.strip() for mark in marks for n in _names(mark.args[0])]
    fixtures = metafunc._arg2fixturedefs.get("variant", ())
    return "variant" in names or bool(fixtures)


def _names(said: Any) -> list[str]:
    return said.split(",") if isinstance(said, str) else list(said)
