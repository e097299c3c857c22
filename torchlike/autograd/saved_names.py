"""``grad_fn._saved_self`` and its kin: what a node keeps, under PyTorch's names.

The names are those of the op's parameters, ``self`` for ``input``; ``result`` is the output of an
op whose gradient is computed from that. Static arguments have theirs too.

Differs from PyTorch: there are the attributes of what this node keeps. An operand that is never
kept has its shape, ``_saved_self_sym_sizes``; a negative dimension is given as such. Strides, and
what a kernel leaves for its backward (the ``indices`` of ``max``, the statistics of a norm), are
not there, nor is anything of a view.
"""

from __future__ import annotations

import functools
import typing
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from torchlike._core.dispatch.record import OpNode, class_shown, rejoined, unwritten
from torchlike._core.dispatch.schema import Dims, StaticNumber
from torchlike._core.tape import Node
from torchlike._runtime.provided import Provided
from torchlike.tensor import wrap

if TYPE_CHECKING:
    from torchlike._core.dispatch.executable import Executable
    from torchlike._core.dispatch.record import OpNode
    from torchlike._core.dispatch.spec import OpSpec

#: Static arguments that no node of PyTorch's keeps.
_UNSAVED = frozenset(("dtype", "layout"))
_DIMS: object = typing.get_args(Dims)[1]
_SIZES = "_sym_sizes"


def names_of(node: OpNode) -> dict[str, tuple[str, int]]:
    """Return the names of what a node has saved: name -> ("operand", position), ("sizes",
    position), ("static", position) or ("result", 0)."""
    exe = node.exe
    if exe.options is None:
        return {}
    spec, _, lengths = exe.options
    schema = spec.schema
    found: dict[str, tuple[str, int]] = {}
    if exe.rule is not None:
        found["result"] = "result", 0
    elif not lengths:
        ever = _ever_kept(exe, spec)
        for place, position in enumerate(schema.operand_positions):
            own = schema.names[position]
            name = spec.saved_names.get(own, own)
            if place in ever:
                found[name] = "operand", place
            elif node.avals[exe.unsaved.index(place)] is not None:
                found[name + _SIZES] = "sizes", place
    for place, position in enumerate(schema.static_positions):
        if schema.names[position] not in _UNSAVED:
            found[schema.names[position]] = "static", place
    return found


def order_of_saving(exe: Executable) -> list[int]:
    """Return the places among what an executable keeps in the order in which PyTorch's node saves
    them: by name, so that ``a * b`` packs ``other`` before ``self``."""
    places = list(range(len(exe.saved) if exe.rule is None else 1))
    if exe.rule is None and exe.options is not None and not exe.options[2]:
        spec = exe.options[0]
        own = [spec.schema.names[spec.schema.operand_positions[i]] for i in exe.saved]
        names = [spec.saved_names.get(name, name) for name in own]
        places.sort(key=names.__getitem__)
    return places


def _ever_kept(exe: Executable, spec: OpSpec) -> set[int]:
    """Return the positions of the operands that the node keeps, or would if other gradients were
    wanted."""
    ever = set(exe.saved)
    if spec.kept_for is not None:
        n = len(exe.saved) + len(exe.unsaved)
        for i in range(n):
            needed = spec.kept_for(i, n)
            if len(needed) < n:  # all of them: indices and masks, of which no gradient is wanted
                ever.update(needed)
    return ever


def is_scalar(exe: Any, place: int) -> bool:
    """Return whether PyTorch keeps a number given for an operand as a number, rather than as a
    tensor."""
    return not exe.options[0].wrapped_mask >> place & 1


def static_of(exe: Any, place: int) -> object:
    """Return a static argument as the user gave it, one dimension as a tuple."""
    spec, statics, _ = exe.options
    value = statics[place]
    if isinstance(value, StaticNumber):
        return value.value
    kind = spec.schema.kinds[spec.schema.static_positions[place]]
    return (value,) if kind is _DIMS and isinstance(value, int) else value


# -- nodes as users see them -----------------------------------------------------------------------

_SAVED, _RAW_SAVED = "_saved_", "_raw_saved_"


class SavedNames:
    """What a node saved, as attributes.

    Not OpNode's own: a class with ``__getattr__`` looks up every attribute the slow way, which took
    backward 9 % longer (chain of products, 5.1 -> 5.5 µs a node).
    """

    __slots__ = ()

    def __getattr__(self: Any, name: str) -> Any:
        """Return the saved value of ``_saved_self``, ``_raw_saved_self`` and the like; see py.
        RuntimeError once they were freed."""
        found = None
        raw = name.startswith(_RAW_SAVED)
        if raw or name.startswith(_SAVED):
            found = names_of(self).get(name.removeprefix(_RAW_SAVED if raw else _SAVED))
        if found is None or (raw and found[0] not in ("operand", "result")):
            raise AttributeError(f"'{self.short_name()}' object has no attribute '{name}'")
        kind, place = found
        if raw:
            own = name.removeprefix(_RAW_SAVED)
            if kind == "operand":
                place = self.exe.saved.index(place) if place in self.exe.saved else None
            return raw_saved(self, own, place)
        if kind == "static":
            return static_of(self.exe, place)
        if kind == "sizes":
            return self.avals[self.exe.unsaved.index(place)][0]
        if kind == "result":
            return rejoined(self.kept_values()[0], (self, 0))
        if place not in self.exe.saved:
            return None
        value = self.kept_values()[self.exe.saved.index(place)]
        if value is None:
            return None
        if not hasattr(value, "shape"):
            return value if is_scalar(self.exe, place) else wrap(jnp.asarray(value))
        edge = dict(zip(self.exe.wanted, self.edges, strict=True)).get(place)
        if edge is None:
            return wrap(value)
        leaf = unwritten(value, edge)
        return rejoined(value, edge) if leaf is None else leaf

    def __dir__(self: Any) -> list[str]:
        return [*super().__dir__(), *(_SAVED + name for name in names_of(self))]


class ShownNode(SavedNames, OpNode):
    """An OpNode that the user has asked for."""

    __slots__ = ()


raw_saved = Provided("shows what a node (node, name, place) saved, as it is kept")
_shown: dict[type[Node], type[Node]] = {OpNode: ShownNode}


def show_as(kind: type[Node], shown: type[Node]) -> None:
    """Have nodes of a class be shown to users as those of another."""
    _shown[kind] = shown


@functools.cache
def named_class(kind: type[Node], name: str) -> type:
    """Make a subclass of ``kind`` under the name of the node: what draws graphs writes
    ``type(grad_fn).__name__``."""
    return type(name, (kind,), {"__slots__": ()})


@class_shown.by
def _class_shown(kind: type[Node], name: str) -> type | None:
    shown = _shown.get(kind)
    return None if shown is None else named_class(shown, name)
