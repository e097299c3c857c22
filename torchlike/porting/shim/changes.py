"""Putting the shim into an environment, and taking it away: whole, or not at all."""

from __future__ import annotations

import csv
import importlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torchlike._runtime import processes
from torchlike.porting.shim import contents
from torchlike.porting.shim.environment import Environment

#: What the folders are called in which the files are made; the number of the process follows.
_BESIDE = ".torchlike-shim-"
_PARTS = (contents.PACKAGE, contents.DIST_INFO)


class ShimRefusedError(Exception):
    """The environment is not one that the shim may go into, or come out of."""


def check(environment: Environment, anywhere: bool) -> None:
    """Raise ShimRefusedError where the shim may not be."""
    others = [found for found in environment.torches() if not found.is_shim]
    if others:
        raise ShimRefusedError(
            f"there is {others[0]}: two packages of one name would corrupt each other. Take it "
            "away (pip uninstall torch), or use a virtual environment without it"
        )
    if anywhere:
        return
    if environment.activated is not None:
        raise ShimRefusedError(
            f"the active environment is {environment.activated}, and this torchlike is that of "
            f"{environment.prefix}: run the command of the environment that is meant, or say "
            "--anywhere to take this one"
        )
    if not environment.is_virtual:
        raise ShimRefusedError(
            f"{environment.prefix} is not a virtual environment, and every program that uses this "
            "Python would get torchlike for torch: make one (python -m venv), or say --anywhere"
        )


def install(environment: Environment, *, anywhere: bool = False) -> bool:
    """Put the shim into an environment.

    Returns:
        Whether anything had to be done.

    Raises:
        ShimRefusedError: real PyTorch is there, or the environment is not virtual and not
            ``anywhere``, or its folder cannot be written. Nothing has been changed then.
    """
    check(environment, anywhere)
    packages = environment.packages
    if is_whole(environment):
        return False
    brought = read_brought(packages)
    try:
        _remove_leftovers(environment)
        own = f"{_BESIDE}{os.getpid()}-"
        with tempfile.TemporaryDirectory(prefix=own, dir=packages) as folder:
            made = Path(folder)
            for path, text in contents.files(environment.placed()).items():
                (made / path).parent.mkdir(exist_ok=True)
                (made / path).write_text(text, encoding="utf-8")
            write_brought(made, brought)
            remove(environment)  # of an older torchlike, or the half of one
            with _all_or_none(environment):
                _place_script(environment, made)
                for part in _PARTS:
                    (made / part).rename(packages / part)
    except OSError as error:
        raise ShimRefusedError(f"{packages} cannot be written: {error}") from None
    importlib.invalidate_caches()
    return True


def _place_script(environment: Environment, beside: Path) -> None:
    """Write the console script, whole; never over a file of somebody else's."""
    path, placed = environment.torchrun, environment.placed()
    if path is None or placed is None:
        return
    made = beside / contents.SCRIPT
    made.write_text(placed[1], encoding="utf-8")
    made.chmod(0o755)
    path.parent.mkdir(exist_ok=True)
    try:
        os.link(made, path)  # which a file that has come meanwhile makes fail, as rename does not
    except FileExistsError:
        raise ShimRefusedError(f"{path} has appeared, and is not torchlike's") from None


@contextmanager
def _all_or_none(environment: Environment) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for part in _PARTS:
            shutil.rmtree(environment.packages / part, ignore_errors=True)
        _remove_script(environment)
        raise


def _remove_script(environment: Environment) -> Path | None:
    """Remove the console script if it is the shim's, and say where it was."""
    path = environment.torchrun
    if path is None or not contents.is_our_script(path):
        return None
    path.unlink()
    return path


def is_whole(environment: Environment) -> bool:
    """Return whether the shim of this torchlike is there, with every file as it should be."""
    packages, placed = environment.packages, environment.placed()
    try:
        if placed is not None and (packages / placed[0]).read_text(encoding="utf-8") != placed[1]:
            return False
        return all(
            path.endswith(contents.BROUGHT) or (packages / path).read_text(encoding="utf-8") == text
            for path, text in contents.files(placed).items()
        )
    except OSError:
        return False


def remove(environment: Environment) -> list[Path]:
    """Take the shim away, with what Python compiled of it.

    Returns:
        The folders that were removed, and the console script; none where there was no shim.

    Raises:
        OSError: a file cannot be removed.
    """
    packages = environment.packages
    removed: list[Path] = []
    ours = [info for info in packages.glob("torch-*.dist-info") if _is_ours(info)]
    package = packages / contents.PACKAGE
    if contents.is_ours(package):
        _remove_file(package / "__init__.py")
        removed.append(package)
    for info in ours:
        for path in _recorded(info):
            if path.parent == info:
                _remove_file(path)
        removed.append(info)
    for folder in removed:
        with suppress(OSError):  # somebody else's files are in it
            folder.rmdir()
    script = _remove_script(environment)
    left = _remove_leftovers(environment)
    importlib.invalidate_caches()
    return [*removed, *left] if script is None else [*removed, *left, script]


def leftovers(environment: Environment) -> list[Path]:
    """Return what processes have left that were killed while they installed or removed the shim:
    folders in which its files were made, and folders of its own that hold nothing but compiled
    files."""
    found = []
    for path in environment.packages.glob(f"{_BESIDE}*"):
        process = path.name.removeprefix(_BESIDE).partition("-")[0]
        if not (process.isdigit() and processes.runs(int(process))):
            found.append(path)
    package = environment.packages / contents.PACKAGE
    infos = environment.packages.glob("torch-*+torchlike*.dist-info")
    found += [path for path in (package, *infos) if path.is_dir() and _is_empty(path)]
    return sorted(found)


def _is_empty(folder: Path) -> bool:
    """True for a folder without files but what Python compiled of the shim's."""
    inside = [path for path in folder.rglob("*") if not path.is_dir()]
    return all(
        path.parent == folder / "__pycache__" and path.name.startswith("__init__.")
        for path in inside
    )


def _remove_leftovers(environment: Environment) -> list[Path]:
    found = leftovers(environment)
    for path in found:
        shutil.rmtree(path)
    return found


def _is_ours(info: Path) -> bool:
    try:
        return (info / "INSTALLER").read_text(encoding="utf-8").strip() == contents.INSTALLER
    except OSError:
        return False


def _recorded(info: Path) -> list[Path]:
    """Return the files of a distribution; what RECORD lists, INSTALLER last: by it the rest is
    known."""
    try:
        with open(info / "RECORD", newline="", encoding="utf-8") as file:
            paths = [info.parent / row[0] for row in csv.reader(file) if row]
    except OSError:
        paths = [info / "INSTALLER"]
    return sorted(paths, key=lambda path: path.name == "INSTALLER")


def _remove_file(path: Path) -> None:
    path.unlink(missing_ok=True)
    cache = path.parent / "__pycache__"
    for compiled in cache.glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
    with suppress(OSError):
        cache.rmdir()


def read_brought(packages: Path) -> list[str]:
    """Return the distributions that came with the shim."""
    try:
        text = (packages / contents.DIST_INFO / contents.BROUGHT).read_text(encoding="utf-8")
    except OSError:
        return []
    return text.split()


def write_brought(packages: Path, names: list[str]) -> None:
    """Say which distributions came with the shim."""
    path = packages / contents.DIST_INFO / contents.BROUGHT
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
