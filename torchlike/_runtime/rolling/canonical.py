"""`Canonical` numbers equations: two have one number if they compute the same of their operands."""

from __future__ import annotations

import types
from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from torchlike._runtime.jax_private.jaxprs import is_literal, kinds

#: Parameters that say where a part lies. They may differ from turn to turn (see ``offsets_of``).
_PLACES = {"slice": ("start_indices", "limit_indices", "strides"), "pad": ("padding_config",)}


class Canonical:
    """The numbers of equations and of the programs within them. ``exact`` ones tell equations apart
    by the numbers written into them, and by where a part lies."""

    def __init__(self, exact: bool = False) -> None:
        self._exact = exact
        self._numbers: dict[Hashable, int] = {}
        #: By identity, and with the object, so that no other gets its id.
        self._programs: dict[int, tuple[Any, int]] = {}
        #: Functions that are being looked at, which may refer to themselves.
        self._open: set[int] = set()

    def number(self, eqn: Any, kind: Hashable) -> int:
        """Return the number of an equation, apart from which operands it has and where a part lies.

        Equations of another ``kind`` have other numbers.
        """
        if eqn.effects:
            return self._number(object())
        places: tuple[str, ...] = ()
        if self._exact:
            kind = kind, tuple(map(_written, eqn.invars))
        elif offsets_of(eqn) is not None:
            places = _PLACES[eqn.primitive.name]
        params = tuple(
            (name, self._key(value))
            for name, value in sorted(eqn.params.items())
            if name not in places
        )
        avals = tuple(v.aval for v in eqn.invars), tuple(v.aval for v in eqn.outvars)
        return self._number((eqn.primitive, params, avals, kind))

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _key(self, value: Any) -> Hashable:
        if isinstance(value, (kinds().Jaxpr, kinds().ClosedJaxpr)):
            found = self._programs.get(id(value))
            if found is None:
                found = self._programs[id(value)] = value, self._number(self._program(value))
            return "program", found[1]
        if isinstance(value, (tuple, list)):
            return type(value), tuple(map(self._key, value))
        if isinstance(value, dict):
            return dict, tuple((self._key(k), self._key(v)) for k, v in value.items())
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, (np.ndarray, jax.Array)):
            return "array", id(value)
        if isinstance(value, np.integer):
            return int, int(value)
        if isinstance(value, (float, complex, np.generic)):  # 0.0 and -0.0 are two
            return type(value), np.asarray(value).tobytes()
        try:
            hash(value)
        except TypeError:
            return "object", id(value)
        return type(value), value

    def _function(self, function: types.FunctionType) -> Hashable:
        """Return the key of a function: two are one if one line of source made them of the same
        values."""
        if not function.__closure__ or id(function) in self._open:
            return function
        self._open.add(id(function))
        try:
            held = tuple(self._key(cell.cell_contents) for cell in function.__closure__)
        except ValueError:  # a variable that is not bound yet
            return function
        finally:
            self._open.discard(id(function))
        return function.__code__, held, self._key(function.__defaults__)

    def _program(self, program: Any) -> Hashable:
        # From JAX 0.12 on a jaxpr has its constants itself, and is its own `jaxpr`.
        if isinstance(program, kinds().ClosedJaxpr) and program.jaxpr is not program:
            return self._key(program.jaxpr), tuple(map(id, program.consts))
        names: dict[Any, int] = {}

        def name(v: Any) -> Hashable:
            if is_literal(v):
                return _written(v), v.aval
            return names.setdefault(v, len(names)), v.aval

        leading = tuple(map(name, [*program.constvars, *program.invars]))
        body = tuple(
            (
                object() if eqn.effects else eqn.primitive,
                tuple(map(name, eqn.invars)),
                tuple(map(name, eqn.outvars)),
                tuple((k, self._key(v)) for k, v in sorted(eqn.params.items())),
            )
            for eqn in program.eqns
        )
        constants = tuple(map(id, getattr(program, "consts", ())))
        return leading, body, tuple(map(name, program.outvars)), constants


def _written(v: Any) -> bytes | None:
    """Return a number written into a program as its bytes; None of a variable."""
    return np.asarray(v.val).tobytes() if is_literal(v) else None


def offsets_of(eqn: Any) -> tuple[int, ...] | None:
    """Return the offsets of the part that an equation cuts out (``slice``; ``pad`` by less than
    nothing) or fills (``pad``); None of others."""
    if eqn.primitive.name == "slice":
        strides = eqn.params["strides"]
        if strides is None or all(s == 1 for s in strides):
            return tuple(map(int, eqn.params["start_indices"]))
    if eqn.primitive.name == "pad":
        config = eqn.params["padding_config"]
        if any(inner for _, _, inner in config):
            return None
        if all(low >= 0 and high >= 0 for low, high, _ in config):
            return tuple(int(low) for low, _, _ in config)
        if all(low <= 0 and high <= 0 for low, high, _ in config):
            return tuple(-int(low) for low, _, _ in config)
    return None
