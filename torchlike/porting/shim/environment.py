"""The Python environment that a shim is put into, and which torch is there."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from torchlike.porting.shim import contents


@dataclass(frozen=True)
class Environment:
    """Where packages are put, and where Python looks for them.

    Attributes:
      packages: the folder of the environment's packages.
      path: the folders in which Python finds packages, those of other environments among them.
      activated: the environment that the shell has activated, if that is another one.
      scripts: the folder of its commands, where a file that is marked as executable is one.
    """

    prefix: str
    packages: Path
    path: tuple[str, ...]
    is_virtual: bool
    activated: str | None = None
    scripts: Path | None = None
    python: str = sys.executable

    @property
    def torchrun(self) -> Path | None:
        """Where the shim's console script belongs; None where it has no place, or where another
        file has it."""
        if self.scripts is None:
            return None
        path = self.scripts / contents.SCRIPT
        return path if contents.is_our_script(path) or not os.path.lexists(path) else None

    def placed(self) -> tuple[str, str] | None:
        """Return the console script's path as seen from the packages, and its text."""
        if self.torchrun is None:
            return None
        relative = Path(os.path.relpath(self.torchrun, self.packages)).as_posix()
        return relative, contents.script(self.python)

    def torches(self) -> list[Found]:
        """Return each torch that Python or pip would find, in the order in which they would."""
        found: dict[Path, Found] = {}
        for distribution in self.distributions("torch"):
            package = Path(str(distribution.locate_file(contents.PACKAGE)))
            ours = (distribution.read_text("INSTALLER") or "").strip() == contents.INSTALLER
            found[package] = Found(package, distribution.version, ours, True)
        for folder in self.path:
            package = Path(folder) / contents.PACKAGE
            if package not in found and _is_package(package):
                found[package] = Found(package, None, contents.is_ours(package), False)
        order = {os.path.realpath(folder): i for i, folder in reversed([*enumerate(self.path)])}
        return sorted(
            found.values(),
            key=lambda one: order.get(os.path.realpath(one.package.parent), len(order)),
        )

    def distributions(self, name: str) -> list[Distribution]:
        """Return the distributions of that name on the path."""
        return list(distributions(name=name, path=list(self.path)))


@dataclass(frozen=True)
class Found:
    """A torch: its folder, its version where pip knows it, and whether it is the shim."""

    package: Path
    version: str | None
    is_shim: bool
    #: Does pip know it?
    is_distribution: bool

    def __str__(self) -> str:
        kind = "torchlike's torch" if self.is_shim else "torch"
        return f"{kind} {self.version or '(unknown to pip)'} in {self.package.parent}"


def _is_package(package: Path) -> bool:
    return package.is_dir() or package.with_suffix(".py").is_file()


def here() -> Environment:
    """Return the environment of this Python."""
    said = os.environ.get("VIRTUAL_ENV")
    return Environment(
        prefix=sys.prefix,
        packages=Path(sysconfig.get_path("purelib")),
        path=_path(),
        is_virtual=sys.prefix != sys.base_prefix or _is_conda(Path(sys.prefix)),
        activated=said if said and not _is_same(said, sys.prefix) else None,
        scripts=Path(sysconfig.get_path("scripts")) if os.name == "posix" else None,
    )


def has_pytorch() -> bool:
    """Return whether the torch that a process of this Python imports is real PyTorch."""
    found = here().torches()
    return bool(found) and not found[0].is_shim


def _path() -> tuple[str, ...]:
    """Return Python's path without the folder that it was started in."""
    return tuple(
        folder
        for folder in sys.path
        if folder and os.path.isdir(folder) and not _is_same(folder, os.getcwd())
    )


def _is_conda(prefix: Path) -> bool:
    return (prefix / "conda-meta").is_dir() and prefix.parent.name == "envs"


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)
