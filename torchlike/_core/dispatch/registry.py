"""The registry: an op is one pure JAX function plus one line of options.

    @op(elementwise=True, inplace=True, needs={"input": ["other"], "other": ["input"]})
    def mul(input: Operand, other: Operand):
        x, y = promoted(input, other)
        return x * y

From that line follow ``torchlike.mul``, ``Tensor.mul``, ``Tensor.mul_``, ``out=``, the checks of
its arguments, ``MulBackward0`` and its gradients to any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Unpack

from torchlike._core import dtypes, modes
from torchlike._core.dispatch import call
from torchlike._core.dispatch import inplace as in_place
from torchlike._core.dispatch import out as outs
from torchlike._core.dispatch.argument_names import with_synonyms
from torchlike._core.dispatch.call import Function
from torchlike._core.dispatch.spec import (
    OpOptions,
    OpSpec,
    PublicOptions,
    check_options,
    declare_autocast,
    has_autocast,
)
from torchlike._runtime.function_objects import copy_of
from torchlike.tensor import add_method

# -- the tables ------------------------------------------------------------------------------------

#: Every op by name.
OPS: dict[str, OpSpec] = {}
#: What definitions say of the op or public function of a name, put together.
OPTIONS: dict[str, dict[str, Any]] = {}
#: Every public function: namespace ("", "nn.functional", "linalg", …) -> name -> function.
NAMESPACES: dict[str, dict[str, Function]] = {}
#: The functions of ops and their in-place forms, public or not.
OP_FUNCTIONS: list[Function] = []
#: Public functions that PyTorch writes in Python: namespace -> name -> a function of the same
#: signature, and how it is passed on, as text, where that differs from it.
PYTHON_FUNCTIONS: dict[str, dict[str, tuple[Function, str | None]]] = {}


def clear_executables() -> None:
    """Forget every compiled op (they have the default dtype baked in)."""
    for spec in OPS.values():
        spec.cache.clear()


dtypes.default_dtype_changed.call(clear_executables)


def names_with(option: str) -> list[str]:
    """Return the names in whose definitions an option is True, in order."""
    return sorted(name for name, options in OPTIONS.items() if options.get(option))


def export(
    function: Function, name: str, namespaces: Iterable[str], *, one_object: bool = False
) -> None:
    """Put a function into public namespaces, as an object of its own in each, or as ``one_object``.
    TypeError when the name is taken there.

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
        own = space == "aten" or id(function) not in _public or one_object
        table[name] = function if own else _renamed(function, name, space)
        _public.add(id(table[name]))


#: The public function objects. They live as long as the process.
_public: set[int] = set()


def _renamed(function: Function, name: str, space: str) -> Function:
    """Return another object of a function for a further public name, as ``__torch_function__`` is
    told which was called."""
    if not isinstance(function, FunctionType):
        return function
    made = copy_of(function, name)
    made.__module__ = f"torchlike.{space}" if space else "torchlike"
    return made


def _declare(name: str, namespaces: tuple[str, ...], fn: Function, options: PublicOptions) -> None:
    """Tell those who ask by name what a definition says."""
    OPTIONS.setdefault(name, {}).update(options)
    declare_autocast(name, options.get("autocast"))
    outs.declare_refusal(name, options.get("out_refusal"))
    signature = options.get("python_signature", False)
    if signature:
        space = "nn.functional" if "nn.functional" in namespaces else ""
        declare_in_python(space, name, fn, signature if isinstance(signature, str) else None)


def declare_in_python(space: str, name: str, function: Function, text: str | None = None) -> None:
    """Note that PyTorch writes a public function in Python: with the signature of ``function``, and
    passed on as ``text`` says, if given."""
    PYTHON_FUNCTIONS.setdefault(space, {})[name] = (function, text)


def _autocasting(fn: Function, name: str) -> Function:
    """Have a composite that has a policy run as the thread's autocast says, where one is on."""
    if not has_autocast(name):
        return fn

    @functools.wraps(fn)
    def function(*args: object, **kwargs: object) -> object:
        state = modes.current.autocast
        return fn(*args, **kwargs) if state is None else state.run(fn, name, args, kwargs)

    return function


def op(
    name: str | None = None,
    *,
    namespaces: tuple[str, ...] = ("",),
    aliases: tuple[str, ...] = (),
    method: bool = True,
    inplace: bool = False,
    numbers_first: tuple[str, ...] = (),
    **options: Unpack[OpOptions],
) -> Callable[[Function], Function]:
    """Register a pure JAX function as an op, and give its public function.

    Args:
      name: the op's name; the function's own by default (a trailing ``_op`` is dropped, for names
        that would hide a builtin).
      namespaces: where it is public: "" is ``torchlike``, "nn.functional", "linalg", …; () nowhere.
      aliases: further names, everywhere (``multiply`` for ``mul``).
      method: whether it is a Tensor method too.
      inplace: whether there is an in-place variant ``name_`` (a method, and in the namespaces).
      numbers_first: keyword arguments that PyTorch's old signatures take in this order before or
        between the tensors: ``x.addcmul_(value, a, b)``.
      options: what it computes and how (see ``OpOptions``).
    """

    def register(fn: Function) -> Function:
        own = name or fn.__name__.removesuffix("_op")
        if own in OPS:
            raise TypeError(f"op {own} is registered twice")
        spec = OpSpec(fn, own, namespaces, options)
        OPS[own] = spec
        _declare(spec.name, namespaces, fn, options)
        function = call.function_of(spec)
        of_tensor = call.method_of(spec, function)
        variant = spec.in_place = in_place.in_place_variant(spec) if inplace else None
        OP_FUNCTIONS.extend(f for f in (function, variant) if f is not None)
        if numbers_first:
            of_tensor = call.with_numbers_first(function, numbers_first, True)
            function = call.with_numbers_first(function, numbers_first)
            vars(of_tensor)["first_of"] = function
            variant = variant and call.with_numbers_first(variant, numbers_first, True)
        one_object = options.get("one_object", False)
        for public in (own, *aliases):
            export(function, public, namespaces, one_object=one_object)
            if method:
                add_method(public, of_tensor)
            if variant is not None:
                export(variant, f"{public}_", namespaces)
                if method:
                    add_method(f"{public}_", variant)
        return function

    return register


def composite(
    name: str | None = None,
    *,
    namespaces: tuple[str, ...] = ("",),
    aliases: tuple[str, ...] = (),
    method: bool = True,
    **options: Unpack[PublicOptions],
) -> Callable[[Function], Function]:
    """Register a Python function made of other ops (overloads, tuples of results, views).

    The arguments are those of `op`; ``options`` are the ``PublicOptions``.
    """

    def register(fn: Function) -> Function:
        own = name or fn.__name__.removesuffix("_op")
        if id(fn) in _public:
            fn = copy_of(fn, own)
        fn.__name__ = own
        fn.__qualname__ = own
        check_options(own, options, PublicOptions)
        _declare(own, namespaces, fn, options)
        plain = fn
        fn = with_synonyms(_autocasting(fn, own), options.get("other_names", {}))
        of_tensor = fn
        if options.get("only_self"):
            of_tensor = plain
            vars(plain)["first_of"] = fn
        one_object = options.get("one_object", False)
        for public in (own, *aliases):
            export(fn, public, namespaces, one_object=one_object)
            if method:
                add_method(public, of_tensor)
        return fn

    return register
