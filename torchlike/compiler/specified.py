"""Compiled calls of which a specification says how their sizes belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.call.recompile_limit import InternalTorchDynamoError
from torchlike._jit.guards.keys import Numbers
from torchlike._runtime.trees import unflatten_call
from torchlike.fx.experimental._spec_binding import CallLeaf, SpecPlace, check, is_dynamic, places
from torchlike.fx.experimental.dynamic_spec import (
    ShapesSpec,
    TensorSpec,
    spec_for,
    whole_spec,
)


class SpecifiedNumbers(Numbers):
    """The numbers among a function's arguments, of which an IntVar is traced from the first call
    on. Each call is checked, before a program is looked for."""

    def __init__(self, spec: ShapesSpec, fn: Callable[..., Any], *options: Any) -> None:
        super().__init__(fn, *options)
        self._spec, self._fn = spec, fn
        self._places: dict[Any, list[SpecPlace]] = {}
        self.active = True

    def rewrite(self, key: list[Any], first: int, leaves: Sequence[Any], structure: Any) -> Any:
        try:
            found = self._places.get(structure)
            if found is None:
                found = self._places[structure] = self._found(leaves, structure)
            check(self._spec, found, leaves)
        except ValueError as error:
            raise InternalTorchDynamoError(f"ValueError: {error}") from error
        for place in found:
            if not isinstance(place.spec, TensorSpec) and not place.path and is_dynamic(place.spec):
                self._traced.setdefault(structure, set()).add(place.index)
        return super().rewrite(key, first, leaves, structure)

    def _found(self, leaves: Sequence[Any], structure: Any) -> list[SpecPlace]:
        """Return the places of which the specification speaks in calls of this structure."""
        marked = [CallLeaf(i, leaf) for i, leaf in enumerate(leaves)]
        args, kwargs = unflatten_call(structure, marked)
        return places(self._spec, self._fn, args, kwargs, whole=False)


def spec_of(model: Any, given: Any, name: str) -> ShapesSpec:
    """Return the specification of a function or module: what is given under a name, or attached to
    it. TypeError for what is none; ValueError where there are two."""
    spec = given if model is None else spec_for(model, given)
    older = name == "shapes_spec" and not isinstance(spec, ShapesSpec)
    make: Any = ShapesSpec if older else whole_spec  # which have PyTorch's words of either name
    return make(spec)
