"""A patch: one thing that the package changes in its process beyond its own modules.

Standard library only: some are applied before JAX and NumPy are imported.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

#: All declarations, by name, in the order of the files that declare them.
PATCHES: dict[str, Patch] = {}

_ABSENT: Any = object()


def _nothing() -> None:
    return None


@dataclasses.dataclass(eq=False)
class Patch:
    """What is changed, when, why, and how that is undone; and the record of what was done.

    `replace`, `set_item`, `set_option`, `insert`, `at_exit` and `at_fork` make the change and
    remember how to take it back; `note` remembers a change that the caller makes.
    """

    name: str
    #: What is replaced, and by what: Markdown.
    changes: str
    _: dataclasses.KW_ONLY
    when: str
    why: str
    #: The files, below the package, that do it.
    files: tuple[str, ...]
    #: Why it is not undone, or by whom it is; "" where `undo` does it.
    permanent: str = ""
    #: The versions of JAX that it was tried with; "" where it is none of JAX's.
    seen: str = ""
    _undos: list[Callable[[bool], None]] = dataclasses.field(default_factory=list, init=False)

    @property
    def is_applied(self) -> bool:
        """Whether the change has been made in this process, and not taken back."""
        return bool(self._undos)

    # -- making the change -------------------------------------------------------------------------

    def replace(self, owner: Any, attribute: str, value: Any) -> None:
        """Set an attribute of somebody else's object."""
        before = vars(owner).get(attribute, _ABSENT)

        def undo(is_strict: bool) -> None:
            if vars(owner).get(attribute, _ABSENT) is not value:
                self._has_changed(attribute, is_strict)
            elif before is _ABSENT:
                delattr(owner, attribute)
            else:
                setattr(owner, attribute, before)

        setattr(owner, attribute, value)
        self._undos.append(undo)

    def set_item(self, mapping: MutableMapping[str, str], key: str, value: str) -> None:
        """Set an entry of somebody else's mapping, such as ``os.environ``."""
        before = mapping.get(key)

        def undo(is_strict: bool) -> None:
            if mapping.get(key) != value:
                self._has_changed(key, is_strict)
            elif before is None:
                del mapping[key]
            else:
                mapping[key] = before

        mapping[key] = value
        self._undos.append(undo)

    def set_option(self, config: Any, name: str, value: Any) -> None:
        """Set an option of JAX's by ``config.update``."""
        before = getattr(config, name)
        config.update(name, value)
        self.note(functools.partial(config.update, name, before))

    def insert(self, items: list[Any], item: Any) -> None:
        """Put something first in somebody else's list, such as ``sys.meta_path``."""
        items.insert(0, item)

        def undo(is_strict: bool) -> None:
            items[:] = [x for x in items if x is not item]

        self._undos.append(undo)

    def at_exit(self, function: Callable[[], object]) -> None:
        """Have a function called when the process ends."""
        atexit.register(function)
        self.note(functools.partial(atexit.unregister, function))

    def at_fork(
        self,
        after_in_child: Callable[[], object] = _nothing,
        before: Callable[[], object] = _nothing,
    ) -> None:
        """Have a function called in each forked process, or before in the one that forks. Windows
        has none."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=before, after_in_child=after_in_child)
        self.note()

    def note(self, undo: Callable[[], object] | None = None) -> None:
        """Note that the change was made otherwise, and what takes it back."""

        def take_back(is_strict: bool) -> None:
            if undo is not None:
                undo()

        self._undos.append(take_back)

    @contextlib.contextmanager
    def replacing(self, owner: Any, attribute: str, value: Any) -> Iterator[None]:
        """Set an attribute for the length of a ``with`` block."""
        before = getattr(owner, attribute)
        setattr(owner, attribute, value)
        try:
            yield
        finally:
            setattr(owner, attribute, before)

    # -- taking it back ----------------------------------------------------------------------------

    def undo(self) -> bool:
        """Take the change back; return whether there was one. RuntimeError where it is permanent,
        or somebody has replaced what it set."""
        if not self._undos:
            return False
        if self.permanent:
            raise RuntimeError(f"The patch {self.name!r} cannot be undone: {self.permanent}")
        self._take_back(is_strict=True)
        return True

    def restore(self) -> None:
        """Take the change back but where somebody has replaced what it set: for the code that made
        it."""
        self._take_back(is_strict=False)

    def _take_back(self, is_strict: bool) -> None:
        while self._undos:
            self._undos[-1](is_strict)
            self._undos.pop()

    def _has_changed(self, what: str, is_strict: bool) -> None:
        if is_strict:
            raise RuntimeError(
                f"The patch {self.name!r} cannot be undone: something else has replaced {what} "
                "since. Undo that first."
            )


@dataclasses.dataclass(eq=False)
class DeclaredPatch(Patch):
    """A patch that `PATCHES` lists, and the page of what importing changes."""

    def __post_init__(self) -> None:
        assert self.name not in PATCHES, self.name
        PATCHES[self.name] = self


def undo(name: str) -> bool:
    """Take a patch back by its name; return whether it had been applied. KeyError for an unknown
    name; RuntimeError where it is permanent, or something else has replaced what it set."""
    if name not in PATCHES:
        raise KeyError(f"No patch is named {name!r}; there are {', '.join(sorted(PATCHES))}.")
    return PATCHES[name].undo()
