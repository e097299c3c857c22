"""torchvision and torchaudio on top of the shim: the real packages, at the releases that fit.

What their compiled parts do, torchlike provides (``torchlike.library.vision``) or refuses by name.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from torchlike.porting.children import without_alias
from torchlike.porting.shim.changes import ShimRefusedError
from torchlike.porting.shim.environment import Environment
from torchlike.version import __version__ as TORCH

#: The releases that go with the PyTorch that torchlike follows. Later ones ask for a later torch,
#: and pip would fetch that.
VERSIONS = {"torchvision": "0.28.0", "torchaudio": "2.11.0"}


def install(environment: Environment, names: Sequence[str]) -> list[str]:
    """Install the packages that are not there yet; return what is new, dependencies too.

    Raises:
        ShimRefusedError: that failed, or what was installed cannot be imported; nothing is left.
    """
    before = _names(environment)
    wanted = [f"{name}=={VERSIONS[name]}" for name in names if name not in before]
    if not wanted:
        return []
    try:
        with tempfile.TemporaryDirectory() as folder:
            constraints = Path(folder) / "constraints.txt"
            constraints.write_text(f"torch=={TORCH}\n")  # or nothing
            _run_installer("install", ["--constraint", str(constraints), *wanted])
        code = "import torch; " + "; ".join(f"import {name}" for name in names)
        found = _run([sys.executable, "-c", code])
        if found.returncode != 0:
            raise ShimRefusedError(f"{' and '.join(names)} cannot be imported:\n{found.stderr}")
    except BaseException:
        _uninstall(_names(environment) - before)
        raise
    return sorted(_names(environment) - before)


def remove(environment: Environment, names: Iterable[str]) -> dict[str, list[str]]:
    """Uninstall the packages of ``names``, but for those that others want.

    Returns:
        Those that stay, and who wants them.
    """
    present = _names(environment)
    going = {name for name in names if name in present}
    staying: dict[str, list[str]] = {}
    while True:
        wanted = {
            name: askers
            for name, askers in _askers(environment, going).items()
            if name in going and name not in staying
        }
        if not wanted:
            break
        staying.update(wanted)
        going -= wanted.keys()
    _uninstall(going)
    return staying


def _askers(environment: Environment, going: set[str]) -> dict[str, list[str]]:
    """Return, for each package, the ones that require it and are not going themselves."""
    askers: dict[str, list[str]] = {}
    for name, distribution in _named(environment):
        if name in going:
            continue
        for requirement in distribution.requires or ():
            named = re.match(r"[\w.-]+", requirement)
            if named is not None and "extra" not in requirement.partition(";")[2]:
                askers.setdefault(_canonical(named[0]), []).append(name)
    return askers


def _names(environment: Environment) -> set[str]:
    return {name for name, _ in _named(environment)}


def _named(environment: Environment) -> Iterator[tuple[str, Distribution]]:
    """Yield the distributions by name. Half of one, which a killed process left, has none."""
    for distribution in distributions(path=[str(environment.packages)]):
        name = distribution.metadata["Name"]
        if name is not None:
            yield _canonical(name), distribution


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _uninstall(names: set[str]) -> None:
    if names:
        _run_installer("uninstall", sorted(names))


def _run_installer(command: str, words: list[str]) -> None:
    """Run pip, or uv where the environment has no pip."""
    agree = ["-y"] if command == "uninstall" else []
    if importlib.util.find_spec("pip") is not None:
        start = [sys.executable, "-m", "pip", command, *agree]
    elif (uv := shutil.which("uv")) is not None:
        start = [uv, "pip", command, "--python", sys.executable]
    else:
        raise ShimRefusedError(
            f"there is neither pip nor uv here to {command} {' '.join(words)}: python -m ensurepip"
        )
    found = _run([*start, *words])
    if found.returncode != 0:
        raise ShimRefusedError(f"{' '.join(start + words)} failed:\n{found.stdout}{found.stderr}")


def _run(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, env=without_alias(os.environ))
