"""Declares JAX's private names, and finds them. Needs no JAX."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from torchlike._runtime import logs
from torchlike._runtime.patches import Patch

log = logs.logger("jax")

#: The versions of JAX in which all that is declared here was found, unless a name says otherwise.
SEEN = "0.10.2, 0.12.0"

#: All declarations, by where they are.
NAMES: dict[str, PrivateName] = {}


@dataclass(frozen=True)
class PrivateName:
    """A name that JAX promises to nobody.

    Attributes:
      where: where it is: `jax._src.pjit.fun_name`. An attribute of objects is written with the
        object: `jax.jit(f)._cache_miss`.
      purpose: what it is needed for, and what is done where it is missing: half sentences.
      seen: the versions of JAX that have it.
    """

    where: str
    purpose: str
    without: str
    seen: str = SEEN

    def find(self, otherwise: Callable[[], Any] | None = None) -> Any:
        """Return the object; where this JAX lacks it say so in the log, and return
        ``otherwise()``, or None."""
        try:
            return self._look_up()
        except (ImportError, AttributeError):
            log.warning(
                "JAX %s has no %s (%s): %s", _version(), self.where, self.purpose, self.without
            )
            return None if otherwise is None else otherwise()

    def require(self) -> Any:
        """Return the object. NotImplementedError where this JAX lacks it."""
        try:
            return self._look_up()
        except (ImportError, AttributeError) as error:
            raise NotImplementedError(
                f"JAX {_version()} has no {self.where}, by which torchlike does this: "
                f"{self.purpose}. {self.without[:1].upper()}{self.without[1:]}"
            ) from error

    def exists(self) -> bool:
        """Return whether this JAX has it, and say nothing."""
        try:
            self._look_up()
        except (ImportError, AttributeError):
            return False
        return True

    def replace(self, patch: Patch, value: Any) -> None:
        """Set it to ``value``, as that patch; leave a JAX alone that lacks it, and say so in the
        log."""
        if self.find() is not None:
            module, _, attribute = self.where.rpartition(".")
            patch.replace(importlib.import_module(module), attribute, value)

    def _look_up(self) -> Any:
        module, _, attribute = self.where.rpartition(".")
        return getattr(importlib.import_module(module), attribute)


def declare(where: str, purpose: str, without: str, seen: str = SEEN) -> PrivateName:
    """Declare a private name of JAX's, once, and return the declaration."""
    assert where not in NAMES, where
    NAMES[where] = PrivateName(where, purpose, without, seen)
    return NAMES[where]


def _version() -> str:
    """Return the version of JAX, which may not be imported."""
    return metadata.version("jax")
