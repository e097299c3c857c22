"""Why a function was compiled again: a log, and one warning when it happens too often.

``TORCHLIKE_LOGS=recompiles`` prints each recompilation; otherwise they go to the logger
``torchlike.recompiles`` at level INFO.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

from torchlike.environment_variables import LOGS
from torchlike.jit.arguments import TRACED

#: After so many recompilations of one function, warn once. As PyTorch's compiler's limit.
WARN_AFTER = 8

logger = logging.getLogger("torchlike.recompiles")


class _Stderr(logging.StreamHandler[Any]):
    """Writes to whatever ``sys.stderr`` is at the moment."""

    @property
    def stream(self) -> Any:
        return sys.stderr

    @stream.setter
    def stream(self, value: Any) -> None:
        pass  # the base class sets it once, which would keep an earlier stderr


if LOGS.said():
    logger.addHandler(_Stderr())
    logger.setLevel(logging.INFO)
    logger.propagate = False

_MODES = ("the structure of the arguments", "grad mode", "the default dtype",
          "inference mode or autocast", "the default device")  # fmt: skip
_PARTS = ("shape", "dtype", "memory order", "view", "requires_grad", "being a leaf",
          "sharing of memory with another argument", "type", "attributes",
          "hooks")  # fmt: skip


def key_difference(old: Sequence[Any], new: Sequence[Any], names: Sequence[str]) -> str:
    """What differs between the keys of two calls, in words."""
    for what, a, b in zip(_MODES, old, new, strict=False):
        if a != b:
            return f"{what} changed" + ("" if what == _MODES[0] else f": {a} → {b}")
    arguments = zip(old[len(_MODES) :], new[len(_MODES) :], strict=False)
    for i, (a, b) in enumerate(arguments):
        if a == b:
            continue
        name = f"argument `{names[i]}`" if i < len(names) else f"argument {i}"
        if _is_tensor(a) and _is_tensor(b):
            part = next(k for k, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
            return f"the {_PARTS[part]} of {name} changed: {a[part]} → {b[part]}"
        return f"{name} changed: {_shown(a)} → {_shown(b)}"
    return "the arguments changed"


def _is_tensor(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == len(_PARTS)


def _shown(key: Any) -> str:
    if _is_tensor(key):
        return "a tensor"
    if isinstance(key, tuple):
        kind, value = key[0], key[1]
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
            warnings.warn(
                f"torchlike.jit: {self.name} was compiled {WARN_AFTER + 1} times; {count} times "
                f"because {worst}. {_remedy(worst)} TORCHLIKE_LOGS=recompiles shows each.",
                RuntimeWarning,
                stacklevel=5,
            )


def _remedy(reason: str) -> str:
    if reason.startswith("the shape"):
        return "Pad the input to a few fixed shapes (torchlike.jit.pad_to_bucket)."
    if reason.startswith("argument"):
        return (
            "Each value of a Python argument is compiled for: pass a changing number as a tensor."
        )
    if reason.startswith("`"):
        return (
            "Each value of it is compiled for: keep a changing number in a tensor and fill_() it."
        )
    return "Each such state is compiled for."
