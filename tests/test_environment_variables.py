"""The table of environment variables, and that what they say is heeded or refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike
from torchlike._runtime import environment_variables
from torchlike._runtime.environment_variables import (
    ALLOCATOR,
    CACHE_DIR,
    CHILDREN,
    COMPILE,
    LOGS,
)

PACKAGE = Path(torchlike.__file__).parent


@pytest.mark.parametrize(
    ("variable", "text", "said"),
    [
        (COMPILE, "off", ("off",)),
        (COMPILE, "", ()),
        (LOGS, "recompiles", ("recompiles",)),
        (LOGS, "+recompiles, recompiles,", ("recompiles", "recompiles")),
        (ALLOCATOR, "system", ("system",)),
        (CACHE_DIR, "/a,b", ("/a,b",)),
    ],
)
def test_what_they_may_say(variable, text, said):
    assert variable.get({variable.name: text}) == said
    assert variable.get({}) == ()


@pytest.mark.parametrize(
    ("variable", "text", "words"),
    [
        (COMPILE, "all", "TORCHLIKE_COMPILE is 'all'; it must be one of off, regions, modules"),
        (
            LOGS,
            "recompile",
            "TORCHLIKE_LOGS is 'recompile'; it must be one of recompiles, first_calls, "
            "kernels, rolled, checks",
        ),
        (
            LOGS,
            "recompiles,graph",
            "TORCHLIKE_LOGS is 'recompiles,graph'; it must be one of recompiles, first_calls, "
            "kernels, rolled, checks",
        ),
        (ALLOCATOR, "System", "TORCHLIKE_ALLOCATOR is 'System'; it must be system"),
    ],
)
def test_what_they_may_not_say(variable, text, words):
    with pytest.raises(ValueError, match=f"^{words}$"):
        variable.get({variable.name: text})


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("name", ["TORCHLIKE_LOGS", "TORCHLIKE_XLA_FLAGS"])
def test_importing_refuses_what_it_does_not_know(name):
    result = subprocess.run(
        [sys.executable, "-c", "import torchlike"],
        capture_output=True,
        text=True,
        env={**os.environ, name: "no"},
    )
    assert result.stderr.splitlines()[-1].startswith(f"ValueError: {name} is 'no'; it must be ")


def test_none_is_read_that_is_not_in_the_table():
    names = {variable.name for variable in environment_variables.ALL}
    reads = ('environ.get("TORCHLIKE_', 'environ["TORCHLIKE_', 'getenv("TORCHLIKE_')
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.parent.name == "at_start":  # runs where nobody has imported torchlike yet
            text = text.replace(f'environ.get("{CHILDREN.name}")', "")
        assert not any(read in text for read in reads), file
    assert len(names) == len(environment_variables.ALL)
