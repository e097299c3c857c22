"""Says which sizes of a compiled or exported function may differ, and how they belong together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

from torchlike._compat.symbolic import SymBool, SymInt
from torchlike.fx.experimental._spec_numbers import OF_SPECIFICATIONS, SpecInt, SpecVariable
from torchlike.nn import Module

__all__ = [
    "STATIC",
    "DictSpec",
    "IntVar",
    "IntermediateSpec",
    "LeafIntSpec",
    "LeafSpec",
    "ObjectSpec",
    "ParamsSpec",
    "SeqSpec",
    "ShapeVar",
    "ShapesSpec",
    "TensorSpec",
    "dynamic_spec",
]

#: A dimension, or an int, that is what it is in the call: another one is compiled for again.
STATIC = None

_INDENT = "  "


class IntVar(SpecInt):
    """An int that differs from call to call: at least ``min``, at most ``max``, where given.

    Arithmetic of it gives further ints, such as ``2 * n + 1``; comparisons give assumptions. Until
    there is a call it has no value, and what asks for one raises TypeError. ValueError for an empty
    range.

    Differs from PyTorch: ``optimization_hint`` has no effect; there is no true division and no
    ``abs``.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        min: int | None = None,
        max: int | None = None,
        optimization_hint: int | None = None,
    ) -> None:
        if min is not None and max is not None and max < min:
            raise ValueError(f"Invalid ranges [{min}:{max}]")
        self.name = "anon" if name is None else name
        self.min, self.max, self.optimization_hint = min, max, optimization_hint
        super().__init__(SpecVariable(self.name, min, max))

    def __repr__(self) -> str:
        said = {"min": self.min, "max": self.max, "optimization_hint": self.optimization_hint}
        parts = [f"{name}={n}" for name, n in said.items() if n is not None]
        return f"{type(self).__name__}({', '.join([repr(self.node.expr), *parts])})"

    def __hash__(self) -> int:
        return id(self)

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "type": type(self).__name__,
            "name": self.name,
            "min": self.min,
            "max": self.max,
            "optimization_hint": self.optimization_hint,
        }


class ShapeVar(IntVar):
    """A size that differs from call to call. ValueError for a ``min`` below 0."""

    def __init__(
        self,
        name: str | None = None,
        *,
        min: int = 0,
        max: int | None = None,
        optimization_hint: int | None = None,
    ) -> None:
        if min < 0:
            raise ValueError(
                f"ShapeVar requires min >= 0 (a shape dim is non-negative); got min={min}. Use "
                "IntVar(...) for unrestricted scalars."
            )
        super().__init__(name, min=min, max=max, optimization_hint=optimization_hint)


class _Spec:
    """What is said of a value that has parts."""

    _specs: Any
    #: What it is called, the key of its parts, in plain data and in a text.
    _heading: ClassVar[str]
    _key: ClassVar[str]
    _part: ClassVar[str]

    def __len__(self) -> int:
        return len(self._specs)

    def _parts(self) -> Iterator[tuple[Any, Any]]:
        return enumerate(self._specs)

    def __repr__(self) -> str:
        lines = [self._heading]
        for name, spec in self._parts():
            lines += _shown(self._part.format(name), spec)
        return "\n".join(lines)

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data."""
        parts = [_plain(spec) for _, spec in self._parts()]
        return {"type": type(self).__name__, self._key: parts}


class _NamedSpec(_Spec):
    """What is said of a value whose parts have names."""

    def _parts(self) -> Iterator[tuple[Any, Any]]:
        return iter(self._specs.items())

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __iter__(self) -> Iterator[Any]:
        return iter(self._specs)

    def items(self) -> Any:
        """Return the parts with their names."""
        return self._specs.items()

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data."""
        parts = {str(name): _plain(spec) for name, spec in self.items()}
        return {"type": type(self).__name__, self._key: parts}


class TensorSpec(_Spec):
    """What is said of a tensor's dimensions: a variable, an int made of variables, a number that it
    has to be, or ``STATIC``. TypeError for anything else.

    Example:
      >>> from torchlike.fx.experimental.dynamic_spec import ShapeVar, TensorSpec
      >>> batch = ShapeVar("batch")
      >>> len(TensorSpec([2 * batch + 1, 10, None]))
      3
    """

    _heading, _key, _part = "Tensor:", "dims", "{}"

    def __init__(self, dims: Sequence[LeafIntSpec]) -> None:
        for i, dim in enumerate(dims):
            if dim is not None and not isinstance(dim, (int, SymInt)):
                raise TypeError(
                    f"TensorSpec dim {i}: expected LeafIntSpec, got {type(dim).__name__}: {dim!r}"
                )
            _check_symbol(dim, f"TensorSpec dim {i}")
        self._specs: list[LeafIntSpec] = list(dims)

    def __getitem__(self, index: int) -> LeafIntSpec:
        return self._specs[index]

    def __iter__(self) -> Iterator[LeafIntSpec]:
        return iter(self._specs)

    def __repr__(self) -> str:
        lines = [f"{_INDENT}{i}: {spec!r}" for i, spec in enumerate(self._specs)]
        return "\n".join([self._heading, *lines])


class ObjectSpec(_NamedSpec):
    """What is said of an object's attributes, by their names."""

    _heading, _key, _part = "object_spec:", "fields", ".{}"

    def __init__(self, fields: dict[str, IntermediateSpec] | None = None) -> None:
        self._specs = dict(fields or {})


class DictSpec(_NamedSpec):
    """What is said of a dictionary's values. TypeError for a key that is no str and no int."""

    _heading, _key, _part = "dict_spec:", "entries", "[{!r}]"

    def __init__(self, entries: dict[str | int, IntermediateSpec] | None = None) -> None:
        self._specs = dict(entries or {})
        for key in self._specs:
            if not isinstance(key, (str, int)):
                raise TypeError(
                    f"DictSpec entries must have str or int keys, got {type(key).__name__}: {key!r}"
                )


class SeqSpec(_Spec):
    """What is said of the values of a list or tuple, from the first on; the others are static."""

    _heading, _key, _part = "seq_spec:", "entries", "[{}]"

    def __init__(self, entries: Sequence[IntermediateSpec]) -> None:
        self._specs: list[IntermediateSpec] = list(entries)


#: What may be said of an int, of an argument without parts, and of any argument.
LeafIntSpec: TypeAlias = IntVar | SymInt | int | None
LeafSpec: TypeAlias = LeafIntSpec | TensorSpec
IntermediateSpec: TypeAlias = LeafSpec | ObjectSpec | DictSpec | SeqSpec
ParamsSpecValue: TypeAlias = IntermediateSpec | list[IntermediateSpec] | dict[str, IntermediateSpec]


class ParamsSpec:
    """What is said of a function's arguments, by the names of its parameters.

    ``"*args"`` has a list for those that the function takes any number of, and ``"**kwargs"`` a
    dict. What is not named is static. ValueError where these are of another type, and for any other
    name with a star.
    """

    def __init__(self, params: dict[str, ParamsSpecValue] | None = None) -> None:
        self._named: dict[str, Any] = {}
        self._positional: list[Any] | None = None
        self._keywords: dict[str, Any] | None = None
        for key, value in (params or {}).items():
            wanted = {"*args": list, "**kwargs": dict}.get(key)
            if wanted is not None and not isinstance(value, wanted):
                raise ValueError(
                    f"ParamsSpec {key!r} value must be a {wanted.__name__} of leaf specs, got "
                    f"{type(value).__name__}"
                )
            if isinstance(value, list) and wanted is list:
                for i, spec in enumerate(value):
                    _check_symbol(spec, f"ParamsSpec '{key}'[{i}]")
                self._positional = list(value)
            elif isinstance(value, dict) and wanted is dict:
                for name, spec in value.items():
                    _check_symbol(spec, f"ParamsSpec '{key}'[{name!r}]")
                self._keywords = dict(value)
            elif key.startswith("*"):
                raise ValueError(
                    f"Unknown sentinel key {key!r} in ParamsSpec; only '*args' and '**kwargs' are "
                    "reserved"
                )
            else:
                _check_symbol(value, f"ParamsSpec[{key!r}]")
                self._named[key] = value

    def __repr__(self) -> str:
        lines = [line for name, spec in self._named.items() for line in _shown(name, spec, "")]
        for key, parts in (
            ("*args", enumerate(self._positional or ())),
            ("**kwargs", (self._keywords or {}).items()),
        ):
            inner = [line for name, spec in parts for line in _shown(name, spec)]
            lines += [f"{key}:", *inner] if inner else []
        return "\n".join(lines)

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data."""
        params: dict[str, Any] = {name: _plain(spec) for name, spec in self._named.items()}
        if self._positional is not None:
            params["*args"] = [_plain(spec) for spec in self._positional]
        if self._keywords is not None:
            params["**kwargs"] = {name: _plain(spec) for name, spec in self._keywords.items()}
        return {"type": "ParamsSpec", "params": params}


class ShapesSpec:
    """What is said of a call: of its arguments, and what may be assumed of the variables.

    Args:
      params: a ParamsSpec, or the dict that it is made of.
      assumptions: comparisons of variables, which hold in every call.

    TypeError for anything else; NotImplementedError for ``globals``, as in PyTorch.

    Example:
      >>> from torchlike.fx.experimental.dynamic_spec import ShapesSpec, ShapeVar, TensorSpec
      >>> n = ShapeVar("n", max=8)
      >>> spec = ShapesSpec({"x": TensorSpec([n]), "y": TensorSpec([2 * n])}, assumptions=[n > 2])
      >>> f = torch.compile(lambda x, y: x.sum() + y.sum(), dynamic_shapes=spec)
      >>> f(torch.ones(3), torch.ones(6))
      tensor(9.)
      >>> f(torch.ones(3), torch.ones(7))
      Traceback (most recent call last):
      AssertionError: Guard failed: y.size()[0] == 2*x.size()[0]
    """

    def __init__(
        self,
        params: ParamsSpec | dict[str, ParamsSpecValue] | None = None,
        *,
        globals: Any = None,
        assumptions: Sequence[SymBool] | None = None,
    ) -> None:
        if globals is not None:
            raise NotImplementedError("ShapesSpec.globals is not supported yet")
        if isinstance(params, dict):
            params = ParamsSpec(params)
        elif params is not None and not isinstance(params, ParamsSpec):
            raise TypeError(
                f"shapes_spec must be ParamsSpec, dict, or None, got {type(params).__name__}"
            )
        self._params = params
        self._assumptions = list(assumptions or ())
        for i, condition in enumerate(self._assumptions):
            where = f"ShapesSpec.assumptions[{i}]"
            if not isinstance(condition, SymBool):
                raise TypeError(
                    f"{where}: expected SymBool, got {type(condition).__name__}: {condition!r}"
                )
            _check_symbol(condition, where)

    @property
    def assumptions(self) -> list[SymBool]:
        """What is assumed."""
        return list(self._assumptions)

    def __repr__(self) -> str:
        lines = ["shapes_spec:"]
        if self._params is not None:
            lines += [f"{_INDENT}params:"]
            lines += [f"{_INDENT}{_INDENT}{line}" for line in repr(self._params).splitlines()]
        if self._assumptions:
            lines += [f"{_INDENT}assumptions:"]
            lines += [f"{_INDENT}{_INDENT}{condition!r}" for condition in self._assumptions]
        return "\n".join(lines)

    def to_jsonable(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "type": "ShapesSpec",
            "params": None if self._params is None else self._params.to_jsonable(),
            "assumptions": [repr(condition) for condition in self._assumptions],
        }


def _shown(name: Any, spec: Any, indent: str = _INDENT) -> list[str]:
    first, *others = repr(spec).splitlines() or [""]
    if not others:
        return [f"{indent}{name}: {first}"]
    return [f"{indent}{name}:", *[f"{indent}{_INDENT}{line}" for line in (first, *others)]]


def _plain(spec: Any) -> Any:
    return spec.to_jsonable() if hasattr(spec, "to_jsonable") else spec


def _check_symbol(number: Any, where: str) -> None:
    """Raise TypeError for a symbolic number of another origin: of a graph that is being traced."""
    if isinstance(number, (SymInt, SymBool)) and number.node.shape_env is not OF_SPECIFICATIONS:
        kind = "SymInt" if isinstance(number, SymInt) else "SymBool"
        raise TypeError(
            f"{where}: {kind} spec values must originate from spec IntVar / ShapeVar; got "
            f"{number!r} backed by a different ShapeEnv."
        )


def dynamic_spec(spec: Any) -> Callable[[Any], Any]:
    """Attach a specification to a function, or to a module's ``forward``: ``torch.compile`` and
    ``torch.export.export`` go by it unless they are given another, which is a ValueError.

    TypeError for what is no dict, ParamsSpec or ShapesSpec. ValueError for a second one on one
    function.
    """
    if spec is None:
        raise TypeError(
            "dynamic_spec(): `spec` must be a dict, ParamsSpec, or ShapesSpec, got NoneType."
        )
    whole = whole_spec(spec)

    def attach(fn: Any) -> Any:
        if hasattr(fn, "_dynamic_spec"):
            raise ValueError(
                "@dynamic_spec(...) is already attached to "
                f"{getattr(fn, '__qualname__', repr(fn))}. Stacking multiple @dynamic_spec "
                "decorators on the same function is not allowed; merge them into a single spec."
            )
        fn._dynamic_spec = whole
        return fn

    return attach


def whole_spec(spec: Any) -> ShapesSpec:
    """Return a dict or a ParamsSpec as a ShapesSpec. TypeError for anything else."""
    if isinstance(spec, ShapesSpec):
        return spec
    if isinstance(spec, (dict, ParamsSpec)):
        return ShapesSpec(spec)
    raise TypeError(
        f"dynamic spec expects a dict, ShapesSpec, or ParamsSpec, got {type(spec).__name__}"
    )


def spec_for(fn: Any, dynamic_shapes: Any) -> Any:
    """Return the specification that goes for a function or module: what a caller gave, or what is
    attached. ValueError where there are both."""
    attached = getattr(fn.forward if isinstance(fn, Module) else fn, "_dynamic_spec", None)
    if attached is not None and dynamic_shapes is not None:
        raise ValueError(
            "Both `@dynamic_spec(...)` is attached to the function/forward AND a "
            "`dynamic_shapes=` argument was passed. Provide only one."
        )
    return dynamic_shapes if attached is None else attached
