"""Pickles of functions and classes that another process cannot import: they go along, by value.

What a script defines (``__main__``, with or without a guard), what stands inside of functions, and
lambdas. What they refer to goes along too: globals of the script that the code names, the contents
of closures, base classes. Everything else is pickled by name, as ever.

The receiver keeps the numbers of what came, so that instances of such classes can come back: to the
sender they are again of the very class that it has.
"""

from __future__ import annotations

import collections
import dataclasses
import dis
import enum
import functools
import importlib
import itertools
import marshal
import pickle
import sys
import types
import typing
import weakref
from collections.abc import Iterator
from typing import Any

#: What was sent by value, and its number; in the receiver: the sender's number of what came.
_sent: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_arrived: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_next_number = itertools.count()

#: Objects of which there is one in each process, and the names that `dataclasses` has for them.
_ONLY = {
    type(value): name
    for name, value in vars(dataclasses).items()
    if type(value).__module__ == "dataclasses"
    and not isinstance(value, type)
    and name in ("MISSING", "KW_ONLY", "_HAS_DEFAULT_FACTORY")
}
_CACHED = type(functools.lru_cache(len))
_FIELD_KIND = type(vars(dataclasses)["_FIELD"])

#: CPython's flag of classes that code made.
_MADE_BY_A_PROGRAM = 1 << 9
_GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"))
_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)
#: Attributes that a new class has of itself, or must not take over.
_OWN_TEXT = """
__dict__ __weakref__ __module__ __qualname__ _abc_impl __slots__ __new_member__ _member_map_
_member_names_ _member_type_ _value2member_map_ _unhashable_values_ _hashable_values_
"""
_OWN = frozenset(_OWN_TEXT.split())


class Pickler(pickle.Pickler):
    """Pickles by value what has no name to be imported by. ``modules``: names of the modules that
    the receiver will import. ``back``: the receiver is the one that sent what came by value."""

    def __init__(self, file: Any, *, back: bool = False, **options: Any) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL, **options)
        self.modules: set[str] = set()
        self._back = back

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind is types.FunctionType:
            found = self._named(obj)
            return _function(obj) if found is None else found
        if isinstance(obj, type):
            found = self._named(obj)
            return _class(obj) if found is None else found
        if kind is types.ModuleType:
            self.modules.add(obj.__name__)
            return importlib.import_module, (obj.__name__,)
        if kind is types.CellType:
            return _empty_cell, (), _contents(obj), None, None, _fill_cell
        if kind in (staticmethod, classmethod):
            return kind, (obj.__func__,)
        if kind is property:
            return property, (obj.fget, obj.fset, obj.fdel, obj.__doc__)
        if kind is types.MappingProxyType:
            return _mapping_proxy, (dict(obj),)
        if kind is functools.cached_property:
            return _cached_property, (obj.func, obj.attrname)
        if kind is types.CodeType:
            return marshal.loads, (marshal.dumps(obj),)
        if kind is _CACHED:
            found = self._named(obj)
            made = _cached, (obj.__wrapped__, obj.cache_parameters())
            return made if found is None else found
        if kind is typing.TypeVar:
            return _type_variable, (obj.__name__, obj.__constraints__, obj.__bound__)
        if kind in _ONLY:
            return getattr, (dataclasses, _ONLY[kind])
        if kind is _FIELD_KIND:
            return getattr, (dataclasses, obj.name)
        if hasattr(kind, "__getattr__") and _consists_of_attributes(kind):
            # Unpickling would ask the new object, which has nothing yet, for __setstate__: what
            # passes on whatever it has not would ask itself without end.
            return object.__new__, (kind,), vars(obj), None, None, _set_attributes
        return NotImplemented

    def _named(self, obj: Any) -> tuple[Any, ...] | None:
        """Return how to pickle a function or class that can be imported (NotImplemented: by its
        name), or that came from where it is sent; None for any other."""
        if self._back and (number := _arrived.get(obj)) is not None:
            return _as_sent, (number,)
        if isinstance(obj, type) and not obj.__flags__ & _MADE_BY_A_PROGRAM:
            return NotImplemented
        module = getattr(obj, "__module__", None)
        if module is None or not _importable(module):
            return None
        found: Any = sys.modules[module]
        for part in obj.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is not obj:
            return None
        self.modules.add(module)
        return NotImplemented


def _consists_of_attributes(kind: type) -> bool:
    """Return whether objects of a class consist of their attributes, and the class does not define
    how they are pickled."""
    return (
        kind.__reduce_ex__ is object.__reduce_ex__
        and kind.__reduce__ is object.__reduce__
        and getattr(kind, "__getstate__", None) is getattr(object, "__getstate__", None)
        and not hasattr(kind, "__setstate__")
        and not hasattr(kind, "__getnewargs__")
        and not hasattr(kind, "__getnewargs_ex__")
        and kind.__basicsize__ == _PlainAttributes.__basicsize__
        and kind.__itemsize__ == 0
    )


class _PlainAttributes:
    """Has attributes, and nothing else."""


def _set_attributes(obj: Any, attributes: dict[str, Any]) -> None:
    vars(obj).update(attributes)


# -- names -----------------------------------------------------------------------------------------


@functools.cache
def _importable(name: str) -> bool:
    """Return whether another process finds the module by its name: this process's script is another
    module there, and a test file or a notebook's cell is not there at all."""
    if name == "__main__":
        return False
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if module is None or file is None or not file.endswith(".py"):
        return module is not None
    parent, _, _ = name.rpartition(".")
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    if parent and path is None:
        return False
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path) if find is not None else None
        if spec is not None:
            return spec.origin in (file, None, "frozen")
    return False


def _number(obj: Any) -> int:
    number = _numbers.get(obj)
    if number is None:
        number = _numbers[obj] = next(_next_number)
        _sent[number] = obj
    return number


def _as_sent(number: int) -> Any:
    """Return, in the sender, the function or class that it had sent."""
    try:
        return _sent[number]
    except KeyError:
        raise pickle.UnpicklingError("its class or function is gone from this process") from None


def _came(obj: Any, number: int) -> Any:
    _arrived[obj] = number
    return obj


# -- functions -------------------------------------------------------------------------------------


def _function(function: Any) -> tuple[Any, ...]:
    code = function.__code__
    names = set(_global_names(code))
    module = function.__globals__.get("__name__")
    values, below = {}, []
    if module is None or not _importable(module):
        values = {n: function.__globals__[n] for n in names if n in function.__globals__}
        attributes = set(_names(code))
        for value in values.values():  # `import a.b` leaves the name a, and needs a.b
            if type(value) is types.ModuleType:
                below += [m for n in attributes if (m := f"{value.__name__}.{n}") in sys.modules]
    state = {
        "globals": values,
        "imports": below,
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        "dict": function.__dict__,
        "annotations": function.__annotations__,
        "qualname": function.__qualname__,
        "doc": function.__doc__,
        "module": function.__module__,
    }
    made = marshal.dumps(code), module, function.__name__, function.__closure__, _number(function)
    return _new_function, made, state, None, None, _complete_function


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _global_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names that code looks up, or binds, in its module."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in _GLOBALS:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _namespace(module: str | None) -> dict[str, Any]:
    """Return the globals of functions from a module: its own where it can be imported, else those
    of one module of its name, which all that came from there have in common."""
    if module is None:
        return {"__builtins__": __builtins__}
    if module not in sys.modules:
        try:
            importlib.import_module(module)
        except ImportError:
            sys.modules[module] = types.ModuleType(module)
    return vars(sys.modules[module])


def _new_function(code: bytes, module: str | None, name: str, closure: Any, number: int) -> Any:
    made = types.FunctionType(marshal.loads(code), _namespace(module), name, None, closure)
    return _came(made, number)


def _complete_function(function: Any, state: dict[str, Any]) -> None:
    for name in state["imports"]:
        importlib.import_module(name)
    function.__globals__.update(state["globals"])
    function.__defaults__, function.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    function.__dict__.update(state["dict"])
    function.__annotations__ = state["annotations"]
    function.__qualname__, function.__module__ = state["qualname"], state["module"]
    function.__doc__ = state["doc"]


def _contents(cell: Any) -> Any:
    try:
        return (cell.cell_contents,)
    except ValueError:  # nothing yet
        return ()


def _empty_cell() -> types.CellType:
    return types.CellType()


def _fill_cell(cell: Any, contents: tuple[Any, ...]) -> None:
    if contents:
        cell.cell_contents = contents[0]


# -- classes ---------------------------------------------------------------------------------------


def _class(cls: Any) -> tuple[Any, ...]:
    described = {"name": cls.__name__, "module": cls.__module__, "qualname": cls.__qualname__}
    attributes = {n: v for n, v in vars(cls).items() if n not in _OWN}
    body: dict[str, Any] = {}
    if isinstance(cls, enum.EnumMeta):
        members: Any = cls.__members__
        body = {name: member.value for name, member in members.items()}
        same = vars(_build_class(type(cls), cls.__name__, cls.__bases__, body))
        attributes = {
            n: v
            for n, v in attributes.items()
            if n not in body and (n not in same or getattr(v, "__module__", "") == cls.__module__)
        }
    elif cls.__bases__ == (tuple,) and hasattr(cls, "_fields"):
        described["fields"] = cls._fields, cls._field_defaults
        same = vars(collections.namedtuple(cls.__name__, cls._fields))
        attributes = {n: v for n, v in attributes.items() if n not in same or n == "__doc__"}
    else:
        body = {n: vars(cls)[n] for n in ("__slots__", "__orig_bases__") if n in vars(cls)}
    attributes = {n: v for n, v in attributes.items() if not isinstance(v, _SLOTS)}
    made = type(cls), described, cls.__bases__, body, _number(cls)
    return _new_class, made, attributes, None, None, _complete_class


def _new_class(kind: Any, described: Any, bases: Any, body: dict[str, Any], number: int) -> Any:
    name, module = described["name"], described["module"]
    if "fields" in described:
        fields, defaults = described["fields"]
        made: Any = collections.namedtuple(name, fields, defaults=defaults.values())
        made.__module__, made.__qualname__ = module, described["qualname"]
        return _came(made, number)
    own = {"__module__": module, "__qualname__": described["qualname"]}
    made = _build_class(kind, name, bases, {**own, **body})
    if "." not in described["qualname"]:  # the module's other functions find it by its name
        _namespace(module).setdefault(name, made)
    return _came(made, number)


def _build_class(kind: Any, name: str, bases: Any, body: dict[str, Any]) -> Any:
    space = kind.__prepare__(name, bases)
    for key, value in body.items():
        space[key] = value
    return kind(name, bases, space)


def _complete_class(cls: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(cls, name, value)


def _mapping_proxy(values: dict[Any, Any]) -> Any:
    return types.MappingProxyType(values)


def _cached_property(function: Any, name: str | None) -> Any:
    made: Any = functools.cached_property(function)
    made.attrname = name
    return made


def _cached(function: Any, parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _type_variable(name: str, constraints: Any, bound: Any) -> Any:
    make: Any = typing.TypeVar
    return make(name, *constraints, bound=bound)
