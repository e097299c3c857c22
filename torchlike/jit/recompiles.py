"""Why a function was compiled again: a log, and one warning when it happens too often.

``TORCHLIKE_LOGS=recompiles`` prints each recompilation; otherwise they go to the logger
``torchlike.recompiles`` at level INFO.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from torchlike import errors, logs
from torchlike.jit.arguments import TRACED
from torchlike.jit.naming import leaf_names, structure_difference

#: After so many recompilations of one function, warn once. As PyTorch's compiler's limit.
WARN_AFTER = 8

logger = logs.logger("recompiles")

_MODES = ("grad mode", "the default dtype", "inference mode or autocast", "the default device")
_PARTS = ("shape", "dtype", "memory order", "view", "requires_grad", "being a leaf",
          "sharing of memory with another argument", "type", "attributes",
          "hooks")  # fmt: skip
#: Those of which two values say something in a line.
_SAID = frozenset(("shape", "dtype", "requires_grad", "type"))


def key_difference(old: Sequence[Any], new: Sequence[Any], parameters: Sequence[str]) -> str:
    """What differs between the keys of two calls, in words. ``parameters``: see `naming`."""
    if old[0] != new[0]:
        return structure_difference(old[0], new[0], parameters)
    n = len(_MODES) + 1
    for what, a, b in zip(_MODES, old[1:n], new[1:n], strict=True):
        if a != b:
            return f"{what} changed: {a} → {b}"
    names = leaf_names(new[0], parameters)
    for name, a, b in zip(names, old[n:], new[n:], strict=True):
        if a == b:
            continue
        if is_tensor_key(a) and is_tensor_key(b):
            part = next(k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
            what = _PARTS[part]
            values = f": {_said(a[part])} → {_said(b[part])}" if what in _SAID else ""
            return f"the {what} of argument `{name}` changed{values}"
        return f"argument `{name}` changed: {shown(a)} → {shown(b)}"
    return ""


def is_tensor_key(key: Any) -> bool:
    """Whether this stands in a key for a tensor."""
    return isinstance(key, tuple) and len(key) == len(_PARTS)


def _said(value: Any) -> str:
    return value.__qualname__ if isinstance(value, type) else str(value)


def shown(key: Any) -> str:
    """What stands in a key for an argument, in words."""
    if is_tensor_key(key):
        return "a tensor"
    if isinstance(key, tuple):
        kind: Any = key[0]
        value: Any = key[1] if len(key) == 2 else key[1:]
        if value == TRACED:
            return f"a traced {kind.__name__}"
        return repr(float.fromhex(value) if kind is float else value)
    return repr(key)


class Recompiles:
    """The recompilations of one function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reasons: Counter[str] = Counter()

    def note(self, reason: str) -> None:
        """Log a recompilation; the eighth warns, naming what changed most often."""
        logger.info("Recompiling %s: %s", self.name, reason)
        self.reasons[reason.partition(": ")[0]] += 1
        if self.reasons.total() == WARN_AFTER:
            worst, count = self.reasons.most_common(1)[0]
            errors.warn_user(
                f"torchlike.jit: {self.name} was compiled {WARN_AFTER + 1} times; {count} times "
                f"because {worst}. {_remedy(worst)} TORCHLIKE_LOGS=recompiles shows each."
            )


def _remedy(reason: str) -> str:
    if reason.startswith("the shape"):
        return "Pad the input to a few fixed shapes (torchlike.jit.pad_to_bucket)."
    if reason.startswith(("the length of", "the keys of")):
        return (
            "Each length of a list or dictionary is compiled for: keep what grows in a tensor of "
            "its full length, written in place."
        )
    if reason.startswith("argument"):
        return (
            "Each value of a Python argument is compiled for: pass a changing number as a tensor."
        )
    if reason.startswith("`"):
        return (
            "Each value of it is compiled for: keep a changing number in a tensor and fill_() it."
        )
    return "Each such state is compiled for."
