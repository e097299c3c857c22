"""``torch.torch_version``: a version as a string that compares as versions do."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from packaging.version import InvalidVersion, Version

from torchlike.version import __version__ as _version

__all__ = ["TorchVersion"]


def _parsed(value: object) -> Version:
    """Parse a string, a tuple of numbers or another package's version to a version of
    ``packaging``."""
    parts = [value] if isinstance(value, str) or not isinstance(value, Iterable) else value
    return Version(".".join(str(part) for part in parts))


def _compare(name: str) -> Callable[[TorchVersion, object], bool]:
    def method(self: TorchVersion, other: object) -> bool:
        try:
            return getattr(_parsed(str(self)), name)(_parsed(other))
        except InvalidVersion:
            return getattr(str, name)(str(self), other)

    method.__name__ = name
    return method


class TorchVersion(str):
    """A version that compares with strings, tuples of numbers and ``packaging``'s versions:
    ``TorchVersion("2.13.0") > (2, 9)``. With what is no version it compares as a string."""

    __slots__ = ()
    __module__ = "torchlike.torch_version"  # where PyTorch has it, and files name it

    __gt__, __lt__, __ge__, __le__ = (
        _compare(name) for name in ("__gt__", "__lt__", "__ge__", "__le__")
    )
    __eq__ = _compare("__eq__")
    __hash__ = str.__hash__


__version__ = TorchVersion(_version)
