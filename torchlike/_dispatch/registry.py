"""The registry: an op is one pure JAX function plus one line of facts.

    @op(elementwise=True, inplace=True, needs={"input": ["other"], "other": ["input"]})
    def mul(input: Operand, other: Operand):
        x, y = promoted(input, other)
        return x * y

From that line follow ``torchlike.mul``, ``Tensor.mul``, ``Tensor.mul_``, ``out=``, the checks of
its arguments, ``MulBackward0`` and its gradients to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, Unpack

from torchlike._core import dtypes, protocol
from torchlike._core.extension import add_method, copy_of
from torchlike._dispatch import asking, call, forms
from torchlike._dispatch import autocast as autocasts
from torchlike._dispatch import inplace as in_place
from torchlike._dispatch.facts import Facts
from torchlike._dispatch.spec import OpSpec
from torchlike._dispatch.synonyms import with_synonyms

# -- the tables ------------------------------------------------------------------------------------

#: Every op by name.
OPS: dict[str, OpSpec] = {}
#: Every public function: namespace ("", "nn.functional", "linalg", …) -> name -> function.
NAMESPACES: dict[str, dict[str, Callable[..., Any]]] = {}


def clear_executables() -> None:
    """Forget every compiled op (they have the default dtype baked in)."""
    for spec in OPS.values():
        spec.cache.clear()


dtypes.on_default_dtype_change(clear_executables)
protocol.when_woken(lambda: asking.wake_up(NAMESPACES))


def export(function: Callable[..., Any], name: str, namespaces: Iterable[str]) -> None:
    """Put a function into public namespaces. TypeError when the name is taken there.

    The first of them that has it under its own name is where pickles will look for it.
    """
    placed = id(function) in _public
    for space in namespaces:
        if space != "aten" and not placed and getattr(function, "__qualname__", None) == name:
            function.__module__ = f"torchlike.{space}" if space else "torchlike"
            placed = True
        table = NAMESPACES.setdefault(space, {})
        if name in table:
            raise TypeError(f"{space or 'torchlike'}.{name} is defined twice")
        own = space == "aten" or id(function) not in _public or name in _SAME_IN_BOTH
        table[name] = function if own else _renamed(function, name, space)
        _public.add(id(table[name]))


#: The public function objects. They live as long as the process.
_public: set[int] = set()
#: What torch and torch.nn.functional have as one object, as in PyTorch.
_SAME_IN_BOTH_TEXT = """
    adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink
    native_channel_shuffle pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_
    selu_ threshold_"""
_SAME_IN_BOTH = frozenset(_SAME_IN_BOTH_TEXT.split())


def _renamed(function: Any, name: str, space: str) -> Callable[..., Any]:
    """Return another object of a function for a further public name, as ``__torch_function__`` is
    told which was called."""
    if not isinstance(function, FunctionType):
        return function
    made = copy_of(function, name)
    made.__module__ = f"torchlike.{space}" if space else "torchlike"
    return made


def _declare_signature(
    name: str, namespaces: tuple[str, ...], fn: Callable[..., Any], signature: bool | str
) -> None:
    space = "nn.functional" if "nn.functional" in namespaces else ""
    forms.declare(space, name, fn, signature if isinstance(signature, str) else None)


def op(
    name: str | None = None,
    *,
    namespaces: tuple[str, ...] = ("",),
    aliases: tuple[str, ...] = (),
    method: Any = True,
    inplace: Any = False,
    numbers_first: tuple[str, ...] = (),
    autocast: str | Mapping[str, str] | None = None,
    python_signature: bool | str = False,
    **facts: Unpack[Facts],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a pure JAX function as an op, and give its public function.

    Args:
      name: the op's name; the function's own by default (a trailing ``_op`` is dropped, for names
        that would hide a builtin).
      namespaces: where it is public: "" is ``torchlike``, "nn.functional", "linalg", …; () nowhere.
      aliases: further names, everywhere (``multiply`` for ``mul``).
      method: whether it is a Tensor method too.
      inplace: whether there is an in-place twin ``name_`` (a method, and in the namespaces).
      numbers_first: keyword arguments that PyTorch's old signatures take in this order before or
        between the tensors: ``x.addcmul_(value, a, b)``.
      autocast: what autocast casts the floats among its operands to: "low" (autocast's dtype),
        "float32" or "widest" (of the operands'), on all devices or ``{"cpu": …, "cuda": …}``.
        Definitions of the same name that follow have the same.
      python_signature: whether PyTorch's function is written in Python, so that
        ``__torch_function__`` is given all arguments by these names; or its signature as text,
        where that differs (see forms.py). In "nn.functional" if the op is there, else in "".
      facts: what it computes and how (see ``Facts``).
    """

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        own = name or fn.__name__.removesuffix("_op")
        if own in OPS:
            raise TypeError(f"op {own} is registered twice")
        spec = OpSpec(fn, own, namespaces, facts)
        OPS[own] = spec
        autocasts.declare(spec.name, autocast)
        autocasts.watch(spec)
        function = call.function_of(spec)
        of_tensor = call.method_of(spec, function)
        twin = spec.in_place = in_place.twin_of(spec) if inplace else None
        asking.hide(function)
        if twin is not None:
            asking.hide(twin)
        if numbers_first:
            of_tensor = call.with_numbers_first(function, numbers_first, True)
            function = call.with_numbers_first(function, numbers_first)
            vars(of_tensor)["first_of"] = function
            twin = twin and call.with_numbers_first(twin, numbers_first, True)
        if python_signature:
            _declare_signature(own, namespaces, fn, python_signature)
        for public in (own, *aliases):
            export(function, public, namespaces)
            if method:
                add_method(public, of_tensor)
            if twin is not None:
                export(twin, f"{public}_", namespaces)
                if method:
                    add_method(f"{public}_", twin)
        return function

    return register


def composite(
    name: str | None = None,
    *,
    namespaces: tuple[str, ...] = ("",),
    aliases: tuple[str, ...] = (),
    method: Any = True,
    autocast: str | Mapping[str, str] | None = None,
    python_signature: bool | str = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a Python function made of other ops (overloads, tuples of results, views); the
    arguments are those of `op`."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        own = name or fn.__name__.removesuffix("_op")
        if id(fn) in _public:
            fn = copy_of(fn, own)
        fn.__name__ = own
        fn.__qualname__ = own
        if python_signature:
            _declare_signature(own, namespaces, fn, python_signature)
        autocasts.declare(own, autocast)
        fn = with_synonyms(autocasts.composite(fn, own))
        for public in (own, *aliases):
            export(fn, public, namespaces)
            if method:
                add_method(public, fn)
        return fn

    return register
