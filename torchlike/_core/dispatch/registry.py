"""The registry: an op is one pure JAX function plus one line of facts.

    @op(elementwise=True, inplace=True, needs={"input": ["other"], "other": ["input"]})
    def mul(input: Operand, other: Operand):
        x, y = promoted(input, other)
        return x * y

From that line follow ``torchlike.mul``, ``Tensor.mul``, ``Tensor.mul_``, ``out=``, the checks of
its arguments, ``MulBackward0`` and its gradients to any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Unpack

from torchlike._core import dtypes, protocol
from torchlike._core.dispatch import asking, call, forms
from torchlike._core.dispatch import autocast as autocasts
from torchlike._core.dispatch import inplace as in_place
from torchlike._core.dispatch import out as outs
from torchlike._core.dispatch.call import Function
from torchlike._core.dispatch.facts import Facts, PublicFacts, refuse_unknown
from torchlike._core.dispatch.spec import OpSpec
from torchlike._core.dispatch.synonyms import with_synonyms
from torchlike._core.extension import add_method, copy_of

# -- the tables ------------------------------------------------------------------------------------

#: Every op by name.
OPS: dict[str, OpSpec] = {}
#: What definitions say of the op or public function of a name, put together.
FACTS: dict[str, dict[str, Any]] = {}
#: Every public function: namespace ("", "nn.functional", "linalg", …) -> name -> function.
NAMESPACES: dict[str, dict[str, Function]] = {}


def clear_executables() -> None:
    """Forget every compiled op (they have the default dtype baked in)."""
    for spec in OPS.values():
        spec.cache.clear()


dtypes.default_dtype_changed.call(clear_executables)
protocol.woken.call(lambda: asking.wake_up(NAMESPACES))


def names_with(fact: str) -> list[str]:
    """Return the names in whose definitions a fact is said to be true, in order."""
    return sorted(name for name, facts in FACTS.items() if facts.get(fact))


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


def _declare(name: str, namespaces: tuple[str, ...], fn: Function, facts: PublicFacts) -> None:
    """Tell those who ask by name what a definition says."""
    FACTS.setdefault(name, {}).update(facts)
    autocasts.declare(name, facts.get("autocast"))
    outs.declare_refusal(name, facts.get("out_refusal"))
    if not facts.get("overridable", True):
        asking.silent.add(name)
    signature = facts.get("python_signature", False)
    if signature:
        space = "nn.functional" if "nn.functional" in namespaces else ""
        forms.declare(space, name, fn, signature if isinstance(signature, str) else None)


def op(
    name: str | None = None,
    *,
    namespaces: tuple[str, ...] = ("",),
    aliases: tuple[str, ...] = (),
    method: bool = True,
    inplace: bool = False,
    numbers_first: tuple[str, ...] = (),
    **facts: Unpack[Facts],
) -> Callable[[Function], Function]:
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
      facts: what it computes and how (see ``Facts``).
    """

    def register(fn: Function) -> Function:
        own = name or fn.__name__.removesuffix("_op")
        if own in OPS:
            raise TypeError(f"op {own} is registered twice")
        spec = OpSpec(fn, own, namespaces, facts)
        OPS[own] = spec
        _declare(spec.name, namespaces, fn, facts)
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
        one_object = facts.get("one_object", False)
        for public in (own, *aliases):
            export(function, public, namespaces, one_object=one_object)
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
    method: bool = True,
    **facts: Unpack[PublicFacts],
) -> Callable[[Function], Function]:
    """Register a Python function made of other ops (overloads, tuples of results, views).

    The arguments are those of `op`; ``facts`` are the ``PublicFacts``.
    """

    def register(fn: Function) -> Function:
        own = name or fn.__name__.removesuffix("_op")
        if id(fn) in _public:
            fn = copy_of(fn, own)
        fn.__name__ = own
        fn.__qualname__ = own
        refuse_unknown(own, facts, PublicFacts)
        _declare(own, namespaces, fn, facts)
        fn = with_synonyms(autocasts.composite(fn, own), facts.get("other_names"))
        one_object = facts.get("one_object", False)
        for public in (own, *aliases):
            export(fn, public, namespaces, one_object=one_object)
            if method:
                add_method(public, fn)
        return fn

    return register
