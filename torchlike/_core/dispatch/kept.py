"""``grad_fn._saved_self`` and its kin: what a node keeps, under PyTorch's names.

The names are those of the op's parameters, ``self`` for ``input``; ``result`` is the output of an
op whose gradient is computed from that. Static arguments have theirs too.

Differs from PyTorch: there are the attributes of what this node keeps. An operand that is never
kept has its shape, ``_saved_self_sym_sizes``; a negative dimension is given as such. Strides, and
what a kernel leaves for its backward (the ``indices`` of ``max``, the statistics of a norm), are
not there, nor is anything of a view.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from torchlike._core.dispatch.schema import Dims, StaticNumber

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
    if exe.facts is None:
        return {}
    spec, _, lengths = exe.facts
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
            elif node.avals[exe.dropped.index(place)] is not None:
                found[name + _SIZES] = "sizes", place
    for place, position in enumerate(schema.static_positions):
        if schema.names[position] not in _UNSAVED:
            found[schema.names[position]] = "static", place
    return found


def order_of_saving(exe: Executable) -> list[int]:
    """Return the places among what an executable keeps in the order in which PyTorch's node saves
    them: by name, so that ``a * b`` packs ``other`` before ``self``."""
    places = list(range(len(exe.kept) if exe.rule is None else 1))
    if exe.rule is None and exe.facts is not None and not exe.facts[2]:
        spec = exe.facts[0]
        own = [spec.schema.names[spec.schema.operand_positions[i]] for i in exe.kept]
        names = [spec.saved_names.get(name, name) for name in own]
        places.sort(key=names.__getitem__)
    return places


def _ever_kept(exe: Executable, spec: OpSpec) -> set[int]:
    """Return the positions of the operands that the node keeps, or would if other gradients were
    wanted."""
    ever = set(exe.kept)
    if spec.kept_for is not None:
        n = len(exe.kept) + len(exe.dropped)
        for i in range(n):
            needed = spec.kept_for(i, n)
            if len(needed) < n:  # all of them: indices and masks, of which no gradient is wanted
                ever.update(needed)
    return ever


def is_scalar(exe: Any, place: int) -> bool:
    """Return whether PyTorch keeps a number given for an operand as a number, rather than as a
    tensor."""
    return not exe.facts[0].wrapped_mask >> place & 1


def static_of(exe: Any, place: int) -> object:
    """Return a static argument as the user gave it, one dimension as a tuple."""
    spec, statics, _ = exe.facts
    value = statics[place]
    if isinstance(value, StaticNumber):
        return value.value
    kind = spec.schema.kinds[spec.schema.static_positions[place]]
    return (value,) if kind is _DIMS and isinstance(value, int) else value
