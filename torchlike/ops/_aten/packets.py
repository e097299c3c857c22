"""``torch.ops.aten``: the registered functions by the names PyTorch's dispatcher has for them.

``aten.add`` is a packet, ``aten.add.Tensor`` one of its overloads. An overload is called with the
arguments of its schema and computed by the one registered function, which takes all of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from torchlike._core import overrides
from torchlike._core.dispatch.registry import NAMESPACES, OPS
from torchlike._extensions.overrides import protocol
from torchlike._ops.aten import custom
from torchlike._ops.aten.tags import Tag
from torchlike._runtime.lazy import LazyModule
from torchlike.ops._aten import arguments, helper_kernels, pointwise_kernels, resizing, schemas
from torchlike.ops._aten.kernels import KERNELS
from torchlike.ops._aten.schema_language import FunctionSchema, parse
from torchlike.ops._aten.schemas.tags import tags_of
from torchlike.tensor import Tensor

assert pointwise_kernels  # importing it fills the table of kernels
assert resizing
assert helper_kernels

#: Prefixes that aten has instead of namespaces.
_PREFIXES = {"linalg_": "linalg", "special_": "special", "fft_": "fft"}


class AtenOperator:
    """What computes an overload on plain tensors."""

    namespace = "aten"

    def __init__(self, name: str, overload: str, function: Callable[..., Any] | None) -> None:
        self.name, self.overload = name, overload
        #: None where nothing computes it: it is known by its schema alone.
        self.function = function
        self.__doc__ = function.__doc__ if function is not None else None

    @property
    def qualname(self) -> str:
        return f"aten::{self.name}" + (f".{self.overload}" if self.overload else "")

    @functools.cached_property
    def schema(self) -> FunctionSchema:
        if self.overload in schemas.overloads_of(self.name):
            return schemas.schema(self.name, self.overload)
        return _own_schema(self.name)

    @property
    def tags(self) -> tuple[Tag, ...]:
        """What it says of itself."""
        known = self.overload in schemas.overloads_of(self.name)
        return tags_of(self.name, self.overload) if known else ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function is None:
            raise NotImplementedError(
                f"{self.qualname} has no kernel here: no function of torchlike computes it"
            )
        if kwargs and self._names is not None and not kwargs.keys() <= self._names:
            name = next(name for name in kwargs if name not in self._names)
            raise RuntimeError(
                f"Unknown keyword argument '{name}' for operator 'aten::{self.name}'. "
                f"Schema: {self.schema}"
            )
        if "self" in kwargs:  # the dispatcher's name of the first argument
            args = (kwargs.pop("self"), *args)
        if kwargs and not self._takes_options:
            for option in ("layout", "pin_memory"):
                kwargs.pop(option, None)
        if self._by_name is not None and len(args) > 1:
            args, kwargs = args[:1], {**dict(zip(self._by_name, args[1:], strict=False)), **kwargs}
        return self.function(*args, **kwargs)

    @functools.cached_property
    def _names(self) -> frozenset[str] | None:
        """The names of the schema's arguments; None where the schema is not PyTorch's."""
        if self.namespace != "aten" or self.overload not in schemas.overloads_of(self.name):
            return None
        return frozenset(a.name for a in self.schema.arguments)

    @functools.cached_property
    def _parameters(self) -> list[str]:
        """The names of the function's parameters; none where they are not known."""
        spec = getattr(self.function, "spec", None)
        if spec is not None:
            return spec.schema.names
        try:
            found = inspect.signature(self.function).parameters.values()  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return []
        if any(p.kind is p.VAR_POSITIONAL for p in found):
            return []
        return [p.name for p in found]

    @functools.cached_property
    def _takes_options(self) -> bool:
        """Whether the function knows the layout and pinned memory: there is one kind of each."""
        return {"layout", "pin_memory"} <= set(self._parameters)

    @functools.cached_property
    def _by_name(self) -> list[str] | None:
        """The schema's names of the arguments after the first, where the function has them in
        another order; None where it takes them as they come."""
        names = [a.name for a in self.schema.arguments if not a.keyword_only]
        own = self._parameters
        if not own or all(name not in own or own.index(name) == i for i, name in enumerate(names)):
            return None
        return names[1:]


class OwnOperator(AtenOperator):
    """A function of torchlike's that is no operator of aten's."""

    namespace = "torchlike"

    @property
    def tags(self) -> tuple[Tag, ...]:
        """None: PyTorch has no such operator."""
        return ()

    @property
    def qualname(self) -> str:
        return f"torchlike::{self.name}"

    @functools.cached_property
    def schema(self) -> FunctionSchema:
        return _own_schema(self.name)


_KINDS = {
    "int": "int",
    "bool": "bool",
    "float": "float",
    "str": "str",
    "Number": "Scalar",
    "int or tuple of ints": "int[1]",
    "tuple of ints": "int[]",
    "torch.dtype": "ScalarType",
    "a hashable value": "Scalar",
    "Tensor": "Tensor",
    "tuple of Tensors": "Tensor[]",
}


def _own_schema(name: str) -> FunctionSchema:
    """Return the schema of an op that aten's table does not have, from its registration."""
    spec = OPS.get(name.rstrip("_"))
    if spec is None:
        return parse(f"aten::{name}(Tensor self) -> Tensor")
    given = []
    for i, (own, kind) in enumerate(zip(spec.schema.names, spec.schema.kinds, strict=True)):
        if i == spec.schema.positional:
            given.append("*")
        type_ = (
            "Tensor" if kind.operand and not kind.sequence else _KINDS.get(kind.expects, "Scalar")
        )
        if kind.operand and kind.scalar:
            type_ = "Scalar"
        elif kind.sequence:
            type_ = "Tensor[]"
        optional = "?" if kind.optional else ""
        given.append(f"{type_}{optional} {'self' if own == 'input' else own}")
    return parse(f"aten::{name}({', '.join(given)}) -> Tensor")


class AtenPacket(custom.OpOverloadPacket):
    """A function with its overloads as attributes: ``packet.default``, ``packet.Tensor``, …"""

    def __init__(self, name: str, function: Callable[..., Any] | None) -> None:
        super().__init__("aten", name)
        self._function = function
        self.__doc__ = None if function is None else function.__doc__
        for overload in schemas.overloads_of(name) or ("",):
            kernel = KERNELS.get(f"{name}.{overload}" if overload else name, function)
            self._add(AtenOperator(name, overload, kernel))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if found := custom._asked_of(args, kwargs):
            return protocol.ask(self, found, args, kwargs)
        overload = overload_for(self, args, kwargs)
        if overload is not None and overload.operator.function is not self._function:
            return overload(*args, **kwargs)
        if self._function is None:
            return next(iter(self._overloads.values()))(*args, **kwargs)
        if "self" in kwargs:
            args = (kwargs.pop("self"), *args)
        return self._function(*args, **kwargs)


def overload_for(packet: Any, args: Any, kwargs: Any) -> Any:
    """Return the overload of a packet that a call fits; its first where none does."""
    found = arguments.fit(packet.__name__, tuple(args), dict(kwargs))
    if found is None:
        return next(iter(packet._overloads.values()))
    return packet._overloads.get(found.overload or "default")


def _resolve(name: str) -> Callable[..., Any] | None:
    for prefix, space in _PREFIXES.items():
        if name.startswith(prefix):
            return NAMESPACES[space].get(name.removeprefix(prefix))
    for space in ("aten", "", "nn.functional"):
        if name in NAMESPACES[space]:
            return NAMESPACES[space][name]
    found = _functional_form(name) or getattr(Tensor, name, None)
    return found.fget if isinstance(found, property) else found


def is_operator(name: str) -> bool:
    """True if aten has an operator of that name by a schema, a kernel or a registration: other
    attributes of tensors can be called as such, and are none."""
    if schemas.overloads_of(name) or name in KERNELS or name in NAMESPACES["aten"]:
        return True
    registered = (name, name.removesuffix("_"))
    if any(n in NAMESPACES[space] for n in registered for space in ("", "nn.functional")):
        return True
    return any(
        name.startswith(p) and name.removeprefix(p) in NAMESPACES[space]
        for p, space in _PREFIXES.items()
    )


def _functional_form(name: str) -> Callable[..., Any] | None:
    """Return the functional form of an in-place method, ``aten.exponential(x)`` from
    ``x.exponential_()``: on a copy."""
    method = getattr(Tensor, f"{name}_", None)
    if method is None or hasattr(Tensor, name):
        return None

    def form(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return method(input.clone(), *args, **kwargs)

    form.__doc__ = f"Apply ``{name}_`` to a copy."
    return form


class AtenNamespace(custom.OpNamespace):
    """``torch.ops.aten``."""

    def __getattr__(self, name: str) -> AtenPacket:
        if name.startswith("__") and name not in KERNELS:
            raise AttributeError(name)
        if "backward" in name or name.endswith("_jvp"):
            _layer_gradients.KERNELS  # noqa: B018 - importing it fills the table
        function = KERNELS.get(name) or _resolve(name)
        if function is None and not schemas.overloads_of(name):
            raise AttributeError(f"'_OpNamespace' 'aten' object has no attribute '{name}'")
        packet = AtenPacket(name, function)
        self.__dict__[name] = packet
        return packet

    def __dir__(self) -> list[str]:
        return sorted({*schemas.table(), *NAMESPACES["aten"], *self.__dict__})


aten: Any = AtenNamespace("aten")
custom.NAMESPACES["aten"] = aten
#: What takes calls apart is imported when the first class or mode has ``__torch_dispatch__``.
_calling: Any = LazyModule("torchlike.ops._aten.calling")
_layer_gradients: Any = LazyModule("torchlike.ops._aten.layer_gradients")
overrides.dispatcher.by(lambda: _calling.dispatch)
custom.decomposition.by(lambda overload: _calling.rule_for(overload))
