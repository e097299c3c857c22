"""A specification of shapes beside a call: which argument each part of it speaks of, and whether
what it says holds."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from torchlike._compat.symbolic import SymInt, expression_of
from torchlike.fx.experimental._spec_numbers import SpecTerm, SpecVariable, value_of
from torchlike.fx.experimental.dynamic_spec import (
    DictSpec,
    ObjectSpec,
    SeqSpec,
    ShapesSpec,
    TensorSpec,
)
from torchlike.tensor import Tensor


@dataclass(frozen=True)
class CallLeaf:
    """What stands in a call's tree for the leaf of this number, or for an attribute of it."""

    index: int
    value: Any
    path: tuple[str, ...] = ()


class SpecPlace(NamedTuple):
    """A leaf, or an attribute of it, of which something is said."""

    index: int
    path: tuple[str, ...]
    spec: Any
    #: What the program's text would call it: ``x``, ``args[0]``, ``x['k'].weight``.
    shown: str
    #: Where it is said: ``shapes_spec['x']``.
    said: str

    def value(self, leaves: Sequence[Any]) -> Any:
        """Return what stands there in a call with these leaves. ValueError where an attribute is
        missing."""
        found = leaves[self.index]
        for name in self.path:
            _check_attributes([name], found, self.said)
            found = getattr(found, name)
        return found


def places(
    spec: ShapesSpec, fn: Any, args: Sequence[Any], kwargs: dict[str, Any], whole: bool
) -> list[SpecPlace]:
    """Return the places of which a specification speaks, in a call whose leaves are `CallLeaf`.

    ValueError for a part of the specification that is no such container as the argument; and, with
    ``whole``, for a name that the call does not have.
    """
    params = spec._params
    if params is None:
        return []
    signature = inspect.signature(getattr(fn, "forward", fn))
    by_position = [
        p.name
        for p in signature.parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    names = by_position[: len(args)] + list(kwargs)
    known = params._named.keys() | (params._keywords or {}).keys()
    if whole and not known <= set(names):
        raise ValueError(
            f"ParamsSpec has entries {sorted(known - set(names))!r} that do not match any argument "
            "passed to export(). Spec keys must be forward parameter names that were actually "
            f"passed. Inputs received: {names!r}."
        )
    found: list[SpecPlace] = []
    for name, value in (*zip(by_position, args, strict=False), *kwargs.items()):
        said = params._named.get(name)
        if said is None and name in kwargs:
            said = (params._keywords or {}).get(name)
        found += _walk(said, value, name, f"shapes_spec[{name!r}]")
    others = zip(params._positional or (), args[len(by_position) :], strict=False)
    for i, (said, value) in enumerate(others):
        found += _walk(said, value, f"args[{i}]", f"shapes_spec['*args'][{i}]")
    return found


def _walk(spec: Any, value: Any, shown: str, said: str) -> Iterator[SpecPlace]:
    """Yield the places below an argument."""
    if spec is None:
        return
    owner = value.value if isinstance(value, CallLeaf) else value
    kind = type(owner).__name__
    parts: Iterable[tuple[str, Any, Any]]
    if isinstance(spec, SeqSpec):
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"{said}: SeqSpec expected list/tuple, got {kind}")
        if len(spec) > len(value):
            raise ValueError(
                f"{said}: SeqSpec has {len(spec)} entries beyond runtime sequence length "
                f"{len(value)}"
            )
        parts = [(f"[{i}]", spec._specs[i], value[i]) for i in range(len(spec))]
    elif isinstance(spec, DictSpec):
        if not isinstance(value, dict):
            raise ValueError(f"{said}: DictSpec expected dict, got {kind}")
        unknown = [key for key in spec if key not in value]
        if unknown:
            raise ValueError(
                f"{said}: DictSpec has entries {sorted(unknown, key=repr)!r} that do not match any "
                f"key in the runtime dict. Runtime keys: {sorted(value, key=repr)!r}"
            )
        parts = [(f"[{key!r}]", of, value[key]) for key, of in spec.items()]
    elif isinstance(spec, ObjectSpec):
        _check_attributes(spec, owner, said)
        parts = [(f".{name}", of, _attribute(value, name)) for name, of in spec.items()]
    elif isinstance(value, CallLeaf):
        yield SpecPlace(value.index, value.path, spec, shown, said)
        return
    else:
        raise ValueError(
            f"{said}: spec is {type(spec).__name__} but the actual arg is {kind}, not "
            f"{'a Tensor' if isinstance(spec, TensorSpec) else 'int'}."
        )
    for suffix, of, part in parts:
        yield from _walk(of, part, shown + suffix, said + suffix)


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, CallLeaf):
        return CallLeaf(owner.index, getattr(owner.value, name), (*owner.path, name))
    return getattr(owner, name)


def _check_attributes(names: Iterable[str], owner: Any, said: str) -> None:
    missing = sorted(name for name in names if not hasattr(owner, name))
    if missing:
        raise ValueError(
            f"{said}: ObjectSpec has entries {missing!r} that do not match any attribute on the "
            f"runtime object of type {type(owner).__name__}."
        )


def check_kind(place: SpecPlace, value: Any) -> None:
    """Raise ValueError where a tensor is meant and another value stands there, or an int."""
    if isinstance(place.spec, TensorSpec):
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{place.said}: spec is TensorSpec but the actual arg is {type(value).__name__}, "
                "not a Tensor."
            )
    elif not isinstance(value, int):
        raise ValueError(
            f"{place.said}: spec is {type(place.spec).__name__} (scalar spec) but the actual arg "
            f"is {type(value).__name__}, not int."
        )


def numbers_at(place: SpecPlace, value: Any) -> Iterator[tuple[Any, int, str]]:
    """Yield what is said of each size of a tensor, or of an int, with the size and its name.

    ValueError for a tensor of other dimensions, and a size that is not the number that it has to
    be.
    """
    if not isinstance(place.spec, TensorSpec):
        if type(place.spec) is int and value != place.spec:
            raise ValueError(
                f"shapes_spec declared L['{place.shown}'] as static with value {place.spec}, but "
                f"got {value} at trace time"
            )
        yield place.spec, value, place.shown
        return
    if len(place.spec) != value.dim():
        raise ValueError(
            f"TensorSpec has {len(place.spec)} dims but tensor L['{place.shown}'] has "
            f"{value.dim()} dims"
        )
    for d, (entry, size) in enumerate(zip(place.spec, value.shape, strict=True)):
        if type(entry) is int and entry != size:
            raise ValueError(
                f"shapes_spec declares dim {d} as static with value {entry}, but got {size}"
            )
        yield entry, size, f"{place.shown}.size()[{d}]"


def is_dynamic(entry: Any) -> bool:
    """Return whether a number may differ between calls."""
    return isinstance(entry, SymInt)


def check(spec: ShapesSpec, found: Sequence[SpecPlace], leaves: Sequence[Any]) -> None:
    """Check the leaves of a call.

    Raises:
      ValueError: a number or a rank is not what it has to be; a variable has no value in this call.
      AssertionError: a size is out of range, or not what other sizes make it.
      RuntimeError: what is assumed does not hold.
    """
    values: dict[SpecVariable, int] = {}
    names: dict[SpecVariable, str] = {}
    derived: list[tuple[SpecTerm, int, str]] = []
    for place in found:
        value = place.value(leaves)
        if isinstance(place.spec, TensorSpec) != isinstance(value, Tensor):
            if isinstance(value, Tensor):
                check_kind(place, value)
            continue  # None, where a tensor may be left out
        if not isinstance(value, Tensor) and type(value) is not int:
            continue
        for entry, size, shown in numbers_at(place, value):
            number = expression_of(entry)
            if isinstance(number, SpecTerm):
                derived.append((number, size, shown))
            elif isinstance(number, SpecVariable):
                _meet(number, size, shown, values, names)
    check_bound([(f"Eq({shown}, {t!r})", t) for t, _, shown in derived], values)
    for term, size, shown in derived:
        _guard(value_of(term, values) == size, f"{shown} == {_named(term, names)}")
    conditions = [condition.node.expr for condition in spec.assumptions]
    check_bound([(repr(term), term) for term in conditions], values)
    for term in conditions:
        if not value_of(term, values):
            raise RuntimeError(f"Runtime assertion failed for expression {_named(term, names)}")


def _meet(
    variable: SpecVariable,
    size: int,
    shown: str,
    values: dict[SpecVariable, int],
    names: dict[SpecVariable, str],
) -> None:
    """Give a variable its value where it is met first; compare with it where it has one."""
    if variable in values:
        _guard(values[variable] == size, f"{shown} == {names[variable]}")
    least, most = variable.min, variable.max
    _guard(least is None or size >= least, f"{shown} >= {least}")
    _guard(most is None or size <= most, f"{shown} <= {most}")
    values[variable], names[variable] = size, names.get(variable, shown)


def check_bound(terms: Sequence[tuple[str, SpecTerm]], values: Iterable[SpecVariable]) -> None:
    """Raise ValueError where a term, with its text, has a variable without a value."""
    known = set(values)
    pending = [
        (shown, sorted({v.name for v in term.variables() if v not in known}))
        for shown, term in terms
    ]
    lines = [f"  - {shown}  (unbound: {names})" for shown, names in pending if names]
    if lines:
        unbound = sorted({name for _, names in pending for name in names})
        raise ValueError(
            f"shapes_spec: {len(lines)} pending check(s) reference unbound IntVar(s) {unbound}. "
            "Every IntVar used in a derived expression or assumption must also appear as a "
            "bare-IntVar slot somewhere in the spec. Offending checks:\n" + "\n".join(lines)
        )


def _guard(holds: bool, said: str) -> None:
    if not holds:
        raise AssertionError(f"Guard failed: {said}")


def _named(term: SpecTerm, names: dict[SpecVariable, str]) -> str:
    """Return a term's text with the names of sizes in the place of variables."""
    text = repr(term)
    for variable, name in names.items():
        text = text.replace(variable.shown, name)
    return text
