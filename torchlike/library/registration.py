"""Operators by name: ``Library``, ``define``, ``impl``, and what is registered for one later."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torchlike._ops.aten import custom
from torchlike._ops.aten.tags import Tag
from torchlike.library.operator import Operator
from torchlike.ops._aten.schema_language import parse, split_name

#: Every operator by its qualified name.
OPERATORS: dict[str, Operator] = {}
#: Namespaces that have their one Library of kind "DEF".
_defined: set[str] = set()
#: PyTorch's dispatch keys -> device types.
_KEYS = {
    "CPU": "cpu",
    "CUDA": "cuda",
    "XPU": "xpu",
    "MPS": "mps",
    "Meta": "meta",
    "CompositeExplicitAutograd": "default",
    "CompositeImplicitAutograd": "default",
}
_AUTOCAST_KEYS = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda", "AutocastXPU": "xpu"}


def define_operator(qualname: str, text: str, opaque: bool, doc: str | None = None) -> Operator:
    """Register a new operator with a schema (without its name). RuntimeError where there is one
    already."""
    namespace, name, overload = split_name(qualname)
    schema = parse(qualname + text)
    operator = Operator(namespace, name, overload, schema, opaque, doc)
    if qualname in OPERATORS:
        raise RuntimeError(
            f"Tried to register an operator ({schema}) with the same name and overload name "
            "multiple times. Each overload's schema should only be registered with a single call "
            "to def()."
        )
    custom.add(operator)
    OPERATORS[qualname] = operator
    return operator


def forget(qualname: str) -> None:
    """Remove an operator."""
    custom.remove(OPERATORS.pop(qualname))


def lookup(op: Any) -> Operator:
    """Return the operator of a name, an overload, or a CustomOpDef. RuntimeError for an unknown
    name."""
    if isinstance(op, custom.OpOverloadPacket):
        op = op.default
    if not isinstance(op, str):
        found = getattr(op, "operator", None)
        if not isinstance(found, Operator):
            raise ValueError(
                f"expected the name of an operator, an OpOverload or a CustomOpDef, got {type(op)}"
            )
        return found
    if op not in OPERATORS:
        raise RuntimeError(f"operator {op.removesuffix('.default')} does not exist")
    return OPERATORS[op]


def _decorator(register: Callable[..., Any]) -> Callable[..., Any]:
    """Let the function to be registered be given later, by decoration."""

    @functools.wraps(register)
    def both(*args: Any, **kwargs: Any) -> Any:
        def with_function(function: Callable[..., Any]) -> Callable[..., Any]:
            register(*args, function, **kwargs)
            return function

        return with_function

    return both


def set_kernel(operator: Operator, device_types: Any, function: Callable[..., Any]) -> None:
    """Set the kernel for one or several device types, None or "default" for all."""
    kinds = (
        [device_types]
        if device_types is None or isinstance(device_types, str)
        else (list(device_types))
    )
    for kind in kinds:
        operator.kernels["default" if kind is None else _KEYS.get(kind, kind)] = function


def set_formula(
    operator: Operator, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
) -> None:
    """Set the autograd formula. RuntimeError in PyTorch's words for an operator that writes into
    its arguments; NotImplementedError for keyword-only tensors."""
    if not operator.schema.is_functional:
        shown = f"<CustomOpDef({operator.qualname})>" if operator.opaque else operator.qualname
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema "
            f"{operator.schema}. Please create a functional operator and register an autograd "
            "formula for that."
        )
    if any(a.keyword_only and a.type.holds_tensors for a in operator.schema.arguments):
        raise NotImplementedError(
            f"register_autograd with kwarg-only Tensor args: in {operator.qualname}. Make them "
            "positional."
        )
    operator.backward, operator.setup_context = backward, setup_context
    operator.changed()


def tags_of(tags: Any) -> tuple[Any, ...]:
    """Return tags as a tuple: one, several or None are given."""
    return () if tags is None else (tags,) if isinstance(tags, Tag) else tuple(tags)


def _defined_with(library: Library, schema: str, key: str = "", *, tags: Any = ()) -> Any:
    """Do `define` in its older form: return a decorator of the kernel."""
    name = library.define(schema, tags=tags)

    def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
        library.impl(name, function, key)
        return function

    return kernel


def define(
    qualname: Any,
    schema: str,
    alias_analysis: str = "",
    *,
    lib: Library | None = None,
    tags: Any = (),
) -> Any:
    """Define a new operator ``namespace::name`` with ``schema``, without kernels. ``tags``: what it
    says of itself. ``lib``: the library with which it is forgotten. ``define(library, schema)``
    decorates its kernel.

    ValueError for a name or schema of another form.
    """
    if isinstance(qualname, Library):
        return _defined_with(qualname, schema, alias_analysis, tags=tags)
    if "::" not in qualname:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The '
            "qualname passed to the torch.library APIs must consist of a namespace and a name, "
            "e.g. aten::sin"
        )
    if not schema.strip().startswith("("):
        raise ValueError(
            "define(qualname, schema, ...): expected schema to look like e.g. "
            f'"(Tensor x) -> Tensor" but got "{schema}"'
        )
    define_operator(qualname, schema, opaque=False).tags = tags_of(tags)
    if lib is not None:
        lib._names.append(qualname)
    return None


def impl(
    qualname: Any, types: Any, func: Any = None, *args: Any, lib: Any = None
) -> Callable[..., Any] | None:
    """Register a kernel: ``impl("ns::name", "cpu", fn)``, or as a decorator without ``fn``; for all
    devices with "default". ``impl(library, "name", "CPU")`` decorates one for a dispatch key.

    RuntimeError for an unknown operator.
    """
    if isinstance(qualname, Library):
        library, key = qualname, func or qualname.dispatch_key

        def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(types, function, key)
            return function

        return decorated
    operator = lookup(qualname)
    if func is None:
        return _decorator(set_kernel)(operator, types)
    return set_kernel(operator, types, func)


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Yield a ``Library(*args)`` whose operators are forgotten at the end."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def register_kernel(
    op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None
) -> Callable[..., Any] | None:
    """Register a kernel for one or several device types, None for all; without ``func`` return a
    decorator."""
    return impl(op, "default" if device_types is None else device_types, func)


def register_fake(
    op: Any,
    func: Any = None,
    /,
    *,
    lib: Any = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """Register what the operator does with meta tensors; without ``func`` return a decorator."""
    return impl(op, "meta", func)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Any = None,
) -> None:
    """Register the autograd formula: ``backward(ctx, *grads)`` and ``setup_context(ctx, inputs,
    output)``, which keeps what backward needs."""
    set_formula(lookup(op), backward, setup_context)


def set_vmap(operator: Operator, function: Callable[..., Any]) -> None:
    """Set the rule for ``vmap``."""
    if any(a.keyword_only and a.type.holds_tensors for a in operator.schema.arguments):
        raise NotImplementedError(
            "register_vmap with kwarg-only Tensor args. In the original definition of the op, "
            f"please make your tensors not kwarg-only. Got: {operator.schema}"
        )
    operator.vmap = function
    operator.changed()


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> None:
    """Register ``func(info, in_dims, *args) -> (outputs, out_dims)``, called under ``vmap`` instead
    of mapping the kernel; without ``func`` return a decorator.

    Differs from PyTorch: mapped dimensions have been moved to the front, so ``in_dims`` are 0 or
    None."""
    operator = lookup(op)
    if func is None:
        return _decorator(set_vmap)(operator)
    return set_vmap(operator, func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """Cast floating arguments to a dtype while autocast is on for a device type."""
    lookup(op).casts[device_type] = cast_inputs


def _forget_all(ns: str, kind: str, names: list[str]) -> None:
    for qualname in names:
        if qualname in OPERATORS:
            forget(qualname)
    names.clear()
    if kind == "DEF":
        _defined.discard(ns)


class Library:
    """Operators of a namespace: kind "DEF" (once for each namespace) or "FRAGMENT" to define some,
    "IMPL" for kernels alone.

    Its operators are there as long as the object is. ValueError for another kind; RuntimeError for
    a second "DEF".
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if ns in ("aten", "prims"):
            raise NotImplementedError(
                f"torch.library.Library({ns!r}, …): torchlike's own operators are not replaced. "
                "Use instead: an operator in a namespace of your own."
            )
        if kind == "DEF":
            if ns in _defined:
                raise RuntimeError(
                    "Only a single TORCH_LIBRARY can be used to register the namespace "
                    f"{ns}; please put all of your definitions in a single TORCH_LIBRARY block, "
                    "or use the kind FRAGMENT."
                )
            _defined.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._names: list[str] = []
        end = weakref.finalize(self, _forget_all, ns, kind, self._names)
        end.atexit = False

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define a new operator from ``name(Tensor x) -> Tensor``, and return its name."""
        name, bracket, rest = schema.partition("(")
        qualname = f"{self.ns}::{name.strip()}"
        define_operator(qualname, bracket + rest, opaque=False).tags = tags_of(tags)
        self._names.append(qualname)
        return name.strip()

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Register the kernel of an operator of this namespace for a dispatch key: "CPU", "CUDA",
        "Meta" or one of the composite ones, which stand for all devices; for "AutocastCPU" and the
        like what is called in its place under autocast, which the function has to switch off; for
        "Autograd", "AutogradCPU" and the like what is called in its place outside of
        ``torch._C._AutoDispatchBelowAutograd()``, as a rule an ``autograd.Function``.

        NotImplementedError for other keys, which place code elsewhere in PyTorch's dispatcher.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        name = op_name if isinstance(op_name, str) else lookup(op_name).qualname
        operator = lookup(name if "::" in name else f"{self.ns}::{name}")
        if key in _AUTOCAST_KEYS:
            operator.autocasting[_AUTOCAST_KEYS[key]] = fn
            return
        if key.startswith("Autograd"):
            device = key.removeprefix("Autograd").lower() or "default"
            operator.above_autograd[device] = fn
            return
        if key not in _KEYS:
            raise NotImplementedError(
                f"torch.library: a kernel for the dispatch key {key}. Use instead: "
                "register_autograd, register_vmap, register_autocast or register_fake."
            )
        set_kernel(operator, key, fn)

    def _destroy(self) -> None:
        """Forget the operators that were defined here, as the end of the object does."""
        _forget_all(self.ns, self.kind, self._names)

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *exc: object) -> None:
        self._destroy()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"
