"""``torch.export.dynamic_shapes``: which sizes of an exported program's arguments may differ."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from jax import export as jax_export

from torchlike._dynamo.exc import UserError, UserErrorType
from torchlike._runtime.trees import flatten_call
from torchlike.export.any_size import CallSizes, SizeRange
from torchlike.export.dynamic_dims import Dim, DimHint, dims
from torchlike.export.specified import SpecifiedShapes, is_specification, refuse_assumptions
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

__all__ = ["AdditionalInputs", "Dim", "ShapesCollection", "dims"]


class ShapesCollection:
    """Which sizes may differ, said of the tensors themselves: ``shapes[x] = {0: Dim("batch")}``."""

    def __init__(self) -> None:
        self._shapes: dict[int, Any] = {}

    def __setitem__(self, t: Any, shape: Any) -> None:
        if not isinstance(t, (Tensor, int)):
            raise AssertionError(f"Cannot assign shape to non-tensor or int type {type(t)}")
        found = self._shapes.get(id(t))
        if found is not None and found != shape:
            raise AssertionError(f"Shapes assigned to input is a mismatch: {found} and {shape}")
        self._shapes[id(t)] = shape

    def __getitem__(self, t: Any) -> Any:
        return self._shapes.setdefault(id(t), {})

    def __len__(self) -> int:
        return len(self._shapes)

    def dynamic_shapes(
        self, m: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the ``dynamic_shapes`` that ``export`` takes, by the names of the module's
        arguments. Raises ValueError for a tensor that is not among them."""
        named = bound(m, args, dict(kwargs or {}))
        leaves = {id(leaf) for leaf in pytree.tree_leaves(named)}
        unused = [shape for t, shape in self._shapes.items() if t not in leaves]
        if unused:
            raise ValueError(
                "Some tensors that were assigned shapes were not found in args: "
                + ", ".join(map(str, unused))
            )
        return pytree.tree_map(lambda leaf: self._shapes.get(id(leaf)), named)


class AdditionalInputs:
    """Further arguments that a program is to take: sizes in which they differ are dynamic."""

    def __init__(self) -> None:
        self._examples: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def add(self, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None) -> None:
        """Add the arguments of another call. Raises AssertionError unless they are a tuple and a
        dictionary."""
        if not isinstance(args, tuple):
            raise AssertionError(f"Representation of args should be a tuple, got {type(args)}")
        if kwargs is not None and not isinstance(kwargs, Mapping):
            raise AssertionError(f"Representation of kwargs should be a dict, got {type(kwargs)}")
        self._examples.append((args, dict(kwargs or {})))

    def dynamic_shapes(
        self, m: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Return the ``dynamic_shapes`` that ``export`` takes. Raises ValueError where dtypes,
        values or structures differ."""
        found, *others = [bound(m, a, k) for a, k in ((args, dict(kwargs or {})), *self._examples)]
        flat, spec = pytree.tree_flatten(found)
        rows = [pytree.tree_flatten(other) for other in others]
        if any(other != spec for _, other in rows):
            raise ValueError("the structure of additional inputs differs from the example's")
        return pytree.tree_unflatten(
            [
                _in_which_they_differ(leaf, [row[i] for row, _ in rows])
                for i, leaf in enumerate(flat)
            ],
            spec,
        )

    def verify(self, ep: Any) -> None:
        """Run a program on all of the inputs. What does not fit raises as a call does."""
        module = ep.module()
        for args, kwargs in self._examples:
            module(*args, **kwargs)


def _in_which_they_differ(leaf: Any, others: Sequence[Any]) -> Any:
    if not isinstance(leaf, Tensor):
        if any(other != leaf for other in others):
            if type(leaf) is int:
                return Dim.DYNAMIC
            raise ValueError(f"a value differs between inputs: {[leaf, *others]}")
        return None
    if any(t.dtype is not leaf.dtype or t.dim() != leaf.dim() for t in others):
        raise ValueError("the dtype or the rank of a tensor differs between inputs")
    return tuple(
        Dim.DYNAMIC if any(t.shape[d] != n for t in others) else None
        for d, n in enumerate(leaf.shape)
    )


# -- what is said, by leaves -----------------------------------------------------------------------


def bound(fn: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the names that the function has for them."""
    forward = getattr(fn, "forward", fn)
    return dict(inspect.signature(forward).bind(*args, **kwargs).arguments)


class CallArgument(NamedTuple):
    """An argument of a call; ``index`` is its place where the parameter takes any number."""

    parameter: str
    index: int | None
    value: Any

    @property
    def label(self) -> str:
        """A name for it."""
        return self.parameter if self.index is None else f"{self.parameter}_{self.index}"


def arguments_of(fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[CallArgument]:
    """Return the arguments of a call, positional ones first. Raises TypeError where they do not
    bind."""
    bound(fn, args, dict(kwargs))
    labels: list[tuple[str, int | None]] = []
    for p in inspect.signature(getattr(fn, "forward", fn)).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            labels += [(p.name, i) for i in range(len(args) - len(labels))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            labels.append((p.name, None))
    found = [CallArgument(*label, value) for label, value in zip(labels, args, strict=False)]
    return found + [CallArgument(name, None, value) for name, value in kwargs.items()]


def by_leaf(value: Any, spec: Any, path: str = "") -> Iterator[tuple[Any, Any]]:
    """Yield each leaf of an argument with the entry of ``dynamic_shapes`` for it."""
    children, structure = pytree.tree_flatten(value, is_leaf=lambda x: x is not value)
    if structure.is_leaf():
        yield value, spec
        return
    parts = zip(value, children, strict=True) if isinstance(value, dict) else enumerate(children)
    for key, part in parts:
        if spec is None:
            said = None
        elif isinstance(spec, Mapping):
            said = spec.get(key)
        elif len(spec) != len(children):
            raise _mismatch(path, f"`{type(value).__name__}` of {len(children)} elements", spec)
        else:
            said = spec[key]
        yield from by_leaf(part, said, f"{path}[{key!r}]")


def _mismatch(path: str, what: str, spec: Any) -> Exception:
    return UserError(
        UserErrorType.INVALID_INPUT,
        f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: `inputs{path}` "
        f"is a {what}, but `dynamic_shapes{path}` is {spec!r}",
    )


def said_of_leaves(
    spec: Any, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[Any, Any]]:
    """Return each leaf of the arguments, in order, with the entry of ``dynamic_shapes`` for it.

    UserError for names that do not exist and structures that do not match.
    """
    if is_specification(spec):
        return refuse_assumptions(SpecifiedShapes(spec, fn, args, kwargs)).pairs
    if isinstance(spec, (ShapesCollection, AdditionalInputs)):
        spec = spec.dynamic_shapes(fn, args, kwargs)
    given = arguments_of(fn, args, kwargs)
    if isinstance(spec, Mapping):
        names = list(dict.fromkeys(argument.parameter for argument in given))
        known = set(inspect.signature(getattr(fn, "forward", fn)).parameters) | set(names)
        if not set(spec) <= known:
            raise UserError(
                UserErrorType.INVALID_INPUT,
                "When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg "
                f"names {names} of `inputs`, but here they are {list(spec)}.",
            )
        said = [_at(spec.get(a.parameter), a.index) for a in given]
    elif spec is None:
        said = [None] * len(given)
    else:
        names = list(dict.fromkeys(argument.parameter for argument in given))
        if len(spec) > len(names):
            raise _mismatch("", f"`tuple` of {len(names)} elements", spec)
        by_name = dict(zip(names, spec, strict=False))
        said = [_at(by_name.get(a.parameter), a.index) for a in given]
    return [
        pair
        for argument, of in zip(given, said, strict=True)
        for pair in by_leaf(argument.value, of)
    ]


def _at(said: Any, index: int | None) -> Any:
    """Return what is said of an argument, of those that a parameter takes any number of: in a tuple
    of all of them."""
    if index is None or said is None:
        return said
    if not isinstance(said, (tuple, list)) or index >= len(said):
        raise _mismatch("['*args']", f"`tuple` of more than {index} elements", said)
    return said[index]


def of_dimensions(tensor: Tensor, said: Any) -> dict[int, Any]:
    """Return the entry for each dimension of a tensor. Raises ValueError for a dimension that it
    does not have."""
    if said is None:
        return {}
    entries = dict(said) if isinstance(said, Mapping) else dict(enumerate(said))
    if not isinstance(said, Mapping) and len(entries) != tensor.dim():
        raise ValueError(
            f"Expected {tensor.dim()} dimensions in dynamic_shapes, one for each of the tensor's, "
            f"got {said!r}"
        )
    for dim, entry in entries.items():
        if not -tensor.dim() <= dim < tensor.dim():
            raise ValueError(f"dynamic_shapes has dimension {dim} of a {tensor.dim()}-d tensor")
        if not (entry is None or isinstance(entry, (int, Dim, DimHint))):
            raise ValueError(
                f"Unexpected dimension mapped to index {dim} in dynamic_shapes: {entry}"
            )
    return {d % tensor.dim(): e for d, e in entries.items() if e is not None}


def is_dynamic(entry: Any) -> bool:
    """Return whether a dimension with this entry may differ between calls."""
    return isinstance(entry, Dim) or (isinstance(entry, DimHint) and entry.name != "STATIC")


# -- for programs of JAX ---------------------------------------------------------------------------


def named_sizes(spec: Any, fn: Any, args: Any, kwargs: Any) -> CallSizes:
    """Return the sizes of the tensors among the arguments, with names for those that may differ.
    UserError where two dimensions of one name differ in the example."""
    pairs = [(v, s) for v, s in said_of_leaves(spec, fn, args, kwargs) if isinstance(v, Tensor)]
    rows: list[list[int | str]] = []
    at_hand: dict[str, int] = {}
    ranges: dict[str, SizeRange] = {}
    for tensor, said in pairs:
        row: list[int | str] = list(tensor.shape)
        for dim, entry in of_dimensions(tensor, said).items():
            if not is_dynamic(entry):
                continue
            of = entry if isinstance(entry, Dim) else _named(entry, f"d{len(at_hand)}")
            name, size = of._root.__name__, of.root_size(tensor.shape[dim])
            if size is None or at_hand.setdefault(name, size) != size:
                raise UserError(
                    UserErrorType.INVALID_INPUT,
                    f"dimension {dim} is {tensor.shape[dim]} in the example, which {of._text} with "
                    f"{name} = {at_hand.get(name)} is not",
                )
            root = of._root
            ranges[name] = SizeRange.of(root.min, root.max, inferred=isinstance(entry, DimHint))
            row[dim] = of._text
        rows.append(row)
    return CallSizes(rows, at_hand, ranges)


def _named(hint: DimHint, otherwise: str) -> Dim:
    return Dim(hint.label or otherwise, min=hint.min, max=hint.max)


class JaxShapes(NamedTuple):
    """The shapes of the tensors among the arguments as JAX's symbols; None where all are fixed."""

    shapes: list[Any] | None
    constraints: list[str]


def jax_shapes(spec: Any, fn: Any, args: Any, kwargs: Any) -> JaxShapes:
    """Return shapes with symbolic dimensions for each tensor among the arguments, and the
    constraints."""
    pairs = [(v, s) for v, s in said_of_leaves(spec, fn, args, kwargs) if isinstance(v, Tensor)]
    assert len(pairs) == sum(isinstance(x, Tensor) for x in flatten_call(args, kwargs)[0])
    roots: dict[str, Dim] = {}
    rows = []
    automatic = 0
    for tensor, said in pairs:
        row = [str(n) for n in tensor.shape]
        for dim, entry in of_dimensions(tensor, said).items():
            if isinstance(entry, Dim):
                roots[entry._root.__name__] = entry._root
                row[dim] = entry._text
            elif is_dynamic(entry):
                automatic += 1
                row[dim] = f"_d{automatic}"
        rows.append(row)
    if not roots and not automatic:
        return JaxShapes(None, [])
    constraints = [f"{n} >= {d.min}" for n, d in roots.items() if d.min is not None and d.min > 1]
    constraints += [f"{n} <= {d.max}" for n, d in roots.items() if d.max is not None]
    scope = jax_export.SymbolicScope(constraints)
    return JaxShapes(
        [
            jax_export.symbolic_shape(", ".join(row) + ("," if len(row) == 1 else ""), scope=scope)
            if row
            else ()
            for row in rows
        ],
        constraints,
    )
