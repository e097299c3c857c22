"""What a capture has reached, and of it what weak references alone lead to: that must stay free to
die, however the guards and the capture know of it."""

from __future__ import annotations

import _weakref
import types
import weakref
from typing import Any

from torchlike._jit.guards.values import ValueGuard
from torchlike._jit.guards.weak import AliveGuard, holds
from torchlike.tensor import Tensor

PROXIES = frozenset((weakref.ProxyType, weakref.CallableProxyType))


class Reached:
    """What was reached from names in the code, and how."""

    def __init__(self) -> None:
        self.guards: dict[Any, ValueGuard] = {}
        #: Tensors that were reached, for their requires_grad.
        self.tensors: dict[int, Tensor] = {}
        #: Modules (of nn) that were reached by name: their owner guards their plain attributes.
        self.modules: dict[int, Any] = {}
        #: Tensors whose attributes of the user's count: {id: (tensor, label)}. Most have none.
        self._noted_on: dict[int, tuple[Tensor, str]] = {}
        self._functions: dict[int, list[types.FunctionType]] = {}
        #: Everything visited: {id: (object, label, depth)}.
        self._visited: dict[int, tuple[Any, str, int]] = {}
        #: Objects whose attributes are followed by name.
        self._objects: dict[int, tuple[Any, str, int]] = {}
        self._spaces: dict[int, tuple[Any, dict[str, Any]]] = {}
        #: Ids of visited objects that may have been made by the capture itself.
        self._unrooted: set[int] = set()
        self._rooted = True
        #: What live weak references refer to: {id: (reference, label)}; ids of objects that are
        #: reached by no other way, and whether such are being visited.
        self.weak: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._weakly_reached: set[int] = set()
        self._weakly = False

    def visit(self, value: Any, label: str, depth: int = 0) -> None:
        """Follow a value that user code can reach."""
        raise NotImplementedError

    def _is_known(self, key: int) -> bool:
        """Return whether a value has been visited in as good a way as now. If not, it counts as
        reached in this way from here on."""
        if key in self._visited:
            if not self._rooted or not (
                key in self._unrooted or (key in self._weakly_reached and not self._weakly)
            ):
                return True
            self._unrooted.discard(key)  # reached from a root after all, and so is what it holds
            if not self._weakly:
                self._weakly_reached.discard(key)
        elif self._weakly:
            self._weakly_reached.add(key)
        if not self._rooted:
            self._unrooted.add(key)
        return False

    def _reach_as(self, value: Any) -> None:
        """Have what an object holds be reached in the way that the object is."""
        self._rooted = id(value) not in self._unrooted
        self._weakly = id(value) in self._weakly_reached

    def _reference(self, value: Any, label: str, depth: int) -> None:
        self._referent(_weakref.ReferenceType.__call__(value), f"{label}()", depth)

    def _proxied(self, value: Any, label: str, depth: int) -> None:
        try:
            referent = value.__sizeof__.__self__
        except (ReferenceError, AttributeError):
            return
        self._referent(referent, label, depth)

    def _referent(self, value: Any, label: str, depth: int) -> None:
        """Follow what is referred to weakly: it may die, and no guard may keep it alive."""
        if value is None:
            return
        if self._rooted:
            ref = weakref.ref(value)
            self.weak.setdefault(id(value), (ref, label))
            self.guards.setdefault((id(value), AliveGuard), AliveGuard(ref, label))
        before, self._weakly = self._weakly, True
        self.visit(value, label, depth + 1)
        self._weakly = before

    def weak_referents(self) -> dict[int, weakref.ref[Any]]:
        """Return the weak references to what guards may not keep alive, by ids. A program holds
        modules and tensors that are reached in other ways as well."""
        return {
            key: ref
            for key, (ref, _) in self.weak.items()
            if key in self._weakly_reached or not _is_held(ref())
        }

    def why_held(self, key: int) -> str:
        """Return the reason why a program cannot be kept that holds what is reached by a weak
        reference alone."""
        ref, label = self.weak[key]
        return (
            f"it can follow the weak reference `{label}` to a {type(ref()).__name__}, which a "
            "compiled program would keep alive; pass it as an argument"
        )

    def let_go(self) -> None:
        """Hold no longer what weak references refer to: a capture that is over would, until garbage
        is collected."""
        for table in (
            self._visited,
            self._objects,
            self._spaces,
            self._noted_on,
            self.tensors,
            self.modules,
        ):
            for key in self.weak:
                table.pop(key, None)
        self._functions = {
            code: [fn for fn in functions if id(fn) not in self.weak]
            for code, functions in self._functions.items()
        }
        refs = {key: ref for key, (ref, _) in self.weak.items()}
        self.guards = {k: g for k, g in self.guards.items() if not holds(g, refs)}


def _is_held(value: Any) -> bool:
    """Return whether a program holds an object that its code uses: a tensor, a module, an
    optimizer."""
    if issubclass(type(value), Tensor):
        return True
    try:
        space = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return False
    return "_parameters" in space or "param_groups" in space
