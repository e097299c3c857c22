"""Guards: what a capture took for granted, compared again at each call of its program.

Everything that a program depends on and that no key of the call tells is a `Guard`: a global
variable, the gradient that a parameter has, which tensors share memory. A program has one
`GuardSet`. Whether the program fits a call, the source of its generated guard, and the words that
say why it does not fit are three loops over that set's one list. A new kind of guard is a new
subclass, and a line in ``collect`` (or in the capture's observer) that makes one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from torchlike._core import modes
from torchlike.tensor import Tensor

#: The variable that holds the call's tensors in generated source.
ARGUMENTS = "arguments"


class Guard:
    """One thing that a program depends on."""

    __slots__ = ()

    #: Whether all that can change it moves ``modes.epoch``: it is compared only after that moved.
    follows_epoch: ClassVar[bool] = False
    #: Whether it looks at the arguments of the call.
    of_arguments: ClassVar[bool] = False

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        """Return whether what is guarded is as it was during the capture. ``arguments`` are the
        tensors of the call.

        Guards are checked in the order of their list, so one may rely on those before it.
        """
        raise NotImplementedError

    def expression(self, name: Callable[[Any], str]) -> str | None:
        """Return source that is true only if ``check(arguments)`` is; None for a call of ``check``.

        ``name`` gives an object a name in the source. An error counts as false.
        """
        return None

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        """Describe what changed, where ``check`` is false, for the message of a recompilation."""
        raise NotImplementedError


_G = TypeVar("_G", bound=Guard)


class GuardSet:
    """All guards of one program."""

    __slots__ = ("_checks", "_late_checks", "epoch", "guards")

    def __init__(self, guards: Iterable[Guard]) -> None:
        found = list(guards)
        #: Those compared at each call come first.
        self.guards: list[Guard] = sorted(found, key=lambda guard: guard.follows_epoch)
        self._checks = [g.check for g in self.guards if not g.follows_epoch]
        self._late_checks = [g.check for g in self.guards if g.follows_epoch]
        #: What ``modes.epoch`` was when the late ones were last found to hold.
        self.epoch: int = modes.epoch.count

    def check(self, arguments: Sequence[Tensor]) -> bool:
        """Return whether all guards hold. Where a method of the user's raises when values are
        compared, they do not."""
        try:
            for check in self._checks:
                if not check(arguments):
                    return False
            now = modes.epoch.count
            if self.epoch != now:
                for check in self._late_checks:
                    if not check(arguments):
                        return False
                self.epoch = now
        except Exception:
            return False
        return True

    def expressions(self, name: Callable[[Any], str]) -> list[str]:
        """Return sources of which all are true only if ``check`` is, and only where the epoch has
        not moved."""
        found = [f"{name(modes.epoch)}.count == {name(self)}.epoch"]
        for guard in self.guards:
            if guard.follows_epoch:
                break
            source = guard.expression(name)
            if source is None:
                source = f"{name(guard.check)}({ARGUMENTS if guard.of_arguments else ''})"
            found.append(source)
        return found

    def explain(self, arguments: Sequence[Tensor] | None) -> str:
        """Describe what changed first; "" where all guards hold. With None, of all but the
        arguments."""
        for guard in self.guards:
            if guard.of_arguments and arguments is None:
                continue
            try:
                if not guard.check(arguments or ()):
                    return guard.explain(arguments or ())
            except Exception as error:
                return f"what cannot be compared any more ({type(error).__name__}: {error})"
        return ""

    def of(self, kind: type[_G]) -> list[_G]:
        """Return the guards of one kind."""
        return [g for g in self.guards if isinstance(g, kind)]

    def __len__(self) -> int:
        return len(self.guards)
