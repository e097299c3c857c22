"""``dynamic_shapes`` of an export that was written as a specification of ``dynamic_spec``."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from torchlike.export.dynamic_dims import Dim
from torchlike.fx.experimental._spec_binding import (
    CallLeaf,
    check_bound,
    check_kind,
    is_dynamic,
    numbers_at,
    places,
)
from torchlike.fx.experimental._spec_numbers import (
    SpecTerm,
    SpecVariable,
    affine,
    relations,
    value_of,
)
from torchlike.fx.experimental.dynamic_spec import ParamsSpec, ShapesSpec, TensorSpec, whole_spec
from torchlike.utils import _pytree as pytree

#: A comparison -> whether it is an equality, whether its sides change places, whether it holds.
_AS_GUARDS = {
    operator.eq: (True, False, True),
    operator.ne: (True, False, False),
    operator.ge: (False, False, True),
    operator.lt: (False, False, False),
    operator.le: (False, True, True),
    operator.gt: (False, True, False),
}


def is_specification(dynamic_shapes: Any) -> bool:
    """True for a ShapesSpec or a ParamsSpec."""
    return isinstance(dynamic_shapes, (ShapesSpec, ParamsSpec))


class SpecifiedShapes:
    """What a specification says of an example call: the leaves of its arguments, each with the
    dimensions that may differ.

    Raises:
      ValueError: it does not fit the arguments.
      NotImplementedError: a size is made of variables other than as ``2 * n + 1`` is.
    """

    def __init__(
        self, spec: Any, fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self.spec = whole_spec(spec)
        self._dims: dict[SpecVariable, Dim] = {}
        bare: set[SpecVariable] = set()
        leaves, structure = pytree.tree_flatten((args, dict(kwargs)))
        marked = pytree.tree_unflatten([CallLeaf(i, x) for i, x in enumerate(leaves)], structure)
        said: list[Any] = [None] * len(leaves)
        terms: list[tuple[str, SpecTerm]] = []
        for place in places(self.spec, fn, *marked, whole=True):
            value = place.value(leaves)
            check_kind(place, value)
            entries: dict[int, Any] = {}
            for d, (entry, _, shown) in enumerate(numbers_at(place, value)):
                if is_dynamic(entry):
                    entries[d] = self._dim(entry)
                    number = entry.node.expr
                    if isinstance(number, SpecVariable):
                        bare.add(number)
                    else:
                        terms.append((f"Eq({shown}, {number!r})", number))
            said[place.index] = entries if isinstance(place.spec, TensorSpec) else entries.get(0)
        conditions = [condition.node.expr for condition in self.spec.assumptions]
        check_bound(terms + [(repr(c), c) for c in conditions], bare)
        self._relations = [pair for condition in conditions for pair in relations(condition)]
        #: Each leaf, with the entry of ``dynamic_shapes`` for it.
        self.pairs = list(zip(leaves, said, strict=True))

    def _dim(self, entry: Any) -> Any:
        variable, scale, offset = affine(entry.node.expr) or (None, 0, 0)
        if variable is None or scale <= 0:
            raise NotImplementedError(
                f"torch.export.export(dynamic_shapes=): a dimension of size {entry!r}. Use "
                "instead: a positive multiple of one variable and a number, or a variable of its "
                "own and an assumption that ties them."
            )
        dim = self._dims.get(variable)
        if dim is None:
            names = {d.__name__ for d in self._dims.values()}
            plain = variable.name.isidentifier() and variable.name not in names
            name = variable.name if plain else f"n{len(names)}_{id(variable)}"
            dim = self._dims[variable] = Dim(name, min=variable.min, max=variable.max)
        return dim if (scale, offset) == (1, 0) else dim * scale + offset

    def assumed(self, symbols: Mapping[str, Any]) -> list[tuple[bool, str, str, bool]]:
        """Return what is assumed as relations of ``InputGuards``, in symbols that are given by the
        names of dimensions."""
        values = {v: symbols[dim.__name__] for v, dim in self._dims.items()}
        #: A Dim says by ``min=2`` that it is dynamic; here it is meant.
        least = [(operator.ge, v, 2) for v in values if v.min == 2]
        made = []
        for sign, *sides in (*self._relations, *least):
            is_equality, swapped, holds = _AS_GUARDS[sign]
            left, right = (str(value_of(side, values)) for side in sides)
            made.append((is_equality, *((right, left) if swapped else (left, right)), holds))
        return made


def refuse_assumptions(said: SpecifiedShapes) -> SpecifiedShapes:
    """Return it. NotImplementedError where something is assumed, which only an ExportedProgram
    checks."""
    if said.spec.assumptions:
        raise NotImplementedError(
            "dynamic_shapes=ShapesSpec(assumptions=): this program does not check them. Use "
            "instead: torch.export.export, or min and max of the variables."
        )
    return said
