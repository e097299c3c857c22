"""Guards: what a capture took for granted, compared again at each call of its program.

Everything that a program depends on and that no key of the call tells is a `Guard`: a global
variable, the gradient that a parameter has, which tensors share memory. A program has one
`GuardSet`. Whether the program fits a call, the source of its generated guard, and the words that
say why it does not fit are three loops over that set's one list. A new kind of guard is a new
subclass, and a line in `guards_of` (``../capture/capture.py``), or in the capture's observer, that
makes one.
"""

from __future__ import annotations

import itertools
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

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

    def describe(self) -> str:
        """Describe what is guarded; where a kind says no more, by what its class says of all."""
        first = (type(self).__doc__ or type(self).__name__).partition("\n\n")[0]
        return " ".join(first.split()).rstrip(".")


_G = TypeVar("_G", bound=Guard)


class GuardSet:
    """All guards of one program."""

    __slots__ = ("_checks", "_compared", "_late_checks", "epoch", "guards")

    def __init__(
        self,
        guards: Iterable[Guard],
        merge: Callable[[Iterable[Guard]], list[Guard]] = list,
    ) -> None:
        """Take the guards of a program. ``merge`` puts together those that are compared at each
        call."""
        found = list(guards)
        #: Those compared at each call come first.
        self.guards: list[Guard] = sorted(found, key=lambda guard: guard.follows_epoch)
        self._compared = merge([g for g in self.guards if not g.follows_epoch])
        self._checks = [g.check for g in self._compared]
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
        for guard in self._compared:
            source = guard.expression(name)
            if source is None:
                source = f"{name(guard.check)}({ARGUMENTS if guard.of_arguments else ''})"
            found.append(source)
        return found

    def explain(self, arguments: Sequence[Tensor] | None) -> str:
        """Describe what changed first; "" where all guards hold. With None, of all but the
        arguments."""
        for guard in dict.fromkeys((*self.guards, *self._compared)):
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


# -------------------------------------------------------------------------------------------------
# Plain Python values: when two are the same to a graph, and the base of the guards on them.


VALUES = (int, float, complex, bool, str, bytes, type(None), np.generic)


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()


def same(a: Any, b: Any) -> bool:
    """Return whether two objects are the same to a graph: plain values by value (0.0 is not -0.0, 1
    is not True, NaN is NaN), everything else by identity."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b) or not issubclass(kind, VALUES):
        return False
    if isinstance(a, float) and not isinstance(a, np.generic):
        return a.hex() == b.hex()
    if kind is complex:
        return repr(a) == repr(b)
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return bool(a == b)


def equal_tuples(a: Any, b: Any) -> bool:
    """Return whether two values are equal tuples of plain values, such as an optimizer's
    ``betas``."""
    return type(a) is tuple and type(b) is tuple and len(a) == len(b) and all(map(same, a, b))


def describe(value: Any) -> str:
    """Describe a value in a few words, for messages."""
    if isinstance(value, weakref.ProxyTypes):  # nothing else can be asked of one that is dead
        return f"{type(value).__name__} object at {id(value):#x}"
    if isinstance(value, Tensor):
        return f"tensor of shape {list(value.shape)} at {id(value):#x}"
    if isinstance(value, (*VALUES, list, tuple, dict, set, _Missing)):
        text = repr(value) if not _holds_tensors(value) else f"{type(value).__name__} of tensors"
        return text if len(text) <= 60 else text[:57] + "..."
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else f"{type(value).__name__} object at {id(value):#x}"


def _holds_tensors(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (list, tuple, dict, set)) and any(
        not isinstance(x, VALUES) for x in itertools.islice(items, 1000)
    )


class ValueGuard(Guard):
    """Base: a value that Python keeps somewhere, its label for messages, and who owns it.

    It is compared at each call, at ~50 ns, so each kind is one tight method.
    """

    __slots__ = ("label", "owner")

    def __init__(self, owner: Any, label: str) -> None:
        self.owner = owner
        self.label = label

    def describe(self) -> str:
        return f"`{self.label}` is {describe(self.before())}"

    @property
    def holder(self) -> Any:
        """The object that has it."""
        return self.owner

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"`{self.label}` changed: {describe(self.before())} → {describe(self.now())}"

    def before(self) -> Any:
        """Return the value as it was."""
        raise NotImplementedError

    def now(self) -> Any:
        """Return the value as it is."""
        raise NotImplementedError

    def restore(self) -> None:
        """Put the value back as it was."""
        raise NotImplementedError


# -------------------------------------------------------------------------------------------------
# Guards on variables: globals, attributes, closures.


class VariableGuard(ValueGuard):
    """Base: one value under a name, which can be bound anew."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        """Bind it to a value, or (MISSING) to none."""
        raise NotImplementedError

    def restore(self) -> None:
        self.put(self.before())


class NameGuard(VariableGuard):
    """A name in a dictionary that Python looks names up in: globals, an instance, a class."""

    __slots__ = ("name", "space", "value")

    def __init__(self, owner: Any, space: Any, name: str, value: Any, label: str) -> None:
        super().__init__(owner, label)
        self.space = space
        self.name = name
        self.value = value

    def now(self) -> Any:
        return self.space.get(self.name, MISSING)

    def before(self) -> Any:
        return self.value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        now = self.space.get(self.name, MISSING)
        return now is self.value or same(now, self.value)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.space.get)}({self.name!r}, {name(MISSING)}) is {name(self.value)}"

    def put(self, value: Any) -> None:
        if isinstance(self.space, types.MappingProxyType):
            if value is MISSING:
                delattr(self.owner, self.name)
            else:
                setattr(self.owner, self.name, value)
        elif value is MISSING:
            self.space.pop(self.name, None)
        else:
            self.space[self.name] = value


class MemberGuard(VariableGuard):
    """An attribute kept in ``__slots__``."""

    __slots__ = ("descriptor", "value")

    def __init__(self, owner: Any, descriptor: Any, label: str) -> None:
        super().__init__(owner, label)
        self.descriptor = descriptor
        self.value = self.now()

    def now(self) -> Any:
        try:
            return self.descriptor.__get__(self.owner)
        except AttributeError:
            return MISSING

    def before(self) -> Any:
        return self.value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return same(self.now(), self.value)

    def put(self, value: Any) -> None:
        if value is MISSING:
            self.descriptor.__delete__(self.owner)
        else:
            self.descriptor.__set__(self.owner, value)


class CellGuard(VariableGuard):
    """A variable that functions share (a closure)."""

    __slots__ = ("value",)

    def __init__(self, cell: types.CellType, label: str) -> None:
        super().__init__(cell, label)
        self.value = self.now()

    def now(self) -> Any:
        try:
            return self.owner.cell_contents
        except ValueError:
            return MISSING

    def before(self) -> Any:
        return self.value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        now = self.now()
        return now is self.value or same(now, self.value)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        if self.value is MISSING:
            return None
        return f"{name(self.owner)}.cell_contents is {name(self.value)}"

    def put(self, value: Any) -> None:
        if value is MISSING:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value
