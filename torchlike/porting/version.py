"""The version of torchlike itself; ``torchlike.__version__`` names the PyTorch it follows."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """Return torchlike's version as pyproject.toml has it, or ``(not installed)`` when run from a
    bare source tree."""
    try:
        return version("torchlike")
    except PackageNotFoundError:
        return "(not installed)"
