"""``torch.torch_version``: a version as a string that compares as versions do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from torchlike.version import __version__ as _version

__all__ = ["TorchVersion"]

#: PEP 440 without epochs: release, pre-release, post-release, development release, local label.
_FORM = re.compile(
    r"\s*v?(?P<release>\d+(\.\d+)*)"
    r"([-_.]?(?P<pre>a|b|c|rc|alpha|beta|pre|preview)[-_.]?(?P<pre_n>\d*))?"
    r"([-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_n>\d*))?"
    r"([-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?"
    r"(\+(?P<local>[a-z0-9]+([-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def _key(text: str) -> tuple[Any, ...] | None:
    """What orders versions as PEP 440 says; None for what is no version."""
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    release = [int(n) for n in found["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    pre, post, dev = found["pre"], found["post"], found["dev"]
    number = {name: int(found[f"{name}_n"] or 0) for name in ("pre", "post", "dev")}
    if pre is not None:
        stage = (_PRE[pre.lower()], number["pre"])
    else:
        # A development release of the release itself comes before its pre-releases.
        stage = (-1, 0) if dev is not None and post is None else (3, 0)
    labels = re.split(r"[-_.]", found["local"].lower()) if found["local"] else []
    local = tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in labels)
    return (tuple(release), stage, number["post"] if post else -1,
            number["dev"] if dev else float("inf"), bool(labels), local)  # fmt: skip


def _compare(name: str) -> Callable[[Any, Any], Any]:
    def method(self: TorchVersion, other: Any) -> Any:
        # A tuple of numbers, or another package's Version, which is its text.
        parts = (other,) if isinstance(other, str) or not isinstance(other, Iterable) else other
        mine, theirs = _key(str(self)), _key(".".join(str(part) for part in parts))
        if mine is None or theirs is None:
            return getattr(str, name)(str(self), other)
        return getattr(tuple, name)(mine, theirs)

    method.__name__ = name
    return method


class TorchVersion(str):
    """A version that compares with strings, tuples of numbers and ``packaging``'s versions:
    ``TorchVersion("2.13.0") > (2, 9)``. With what is no version it compares as a string."""

    __slots__ = ()

    __gt__, __lt__, __ge__, __le__ = (
        _compare(name) for name in ("__gt__", "__lt__", "__ge__", "__le__")
    )
    __eq__ = _compare("__eq__")
    __hash__ = str.__hash__


__version__ = TorchVersion(_version)
