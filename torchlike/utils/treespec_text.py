"""Specifications of trees as text: JSON, in the form that PyTorch reads and writes."""

from __future__ import annotations

import enum
import json
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

from torchlike._core.size import Size
from torchlike._runtime.reference import follows

#: The version of the form.
PROTOCOL = 1


class NodeSerialization(NamedTuple):
    """How a class and its context are written."""

    name: str | None
    to_dumpable_context: Callable[[Any], Any] | None = None
    from_dumpable_context: Callable[[Any], Any] | None = None


#: What ``defaultdict`` makes of a missing key, of those that a text may name. None too.
_FACTORIES: dict[tuple[str, str], Any] = {
    (kind.__module__, kind.__qualname__): kind
    for kind in (
        list,
        dict,
        set,
        frozenset,
        tuple,
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        bytearray,
        OrderedDict,
        defaultdict,
        deque,
        Counter,
    )
}


def _write_default(context: Any) -> dict[str, Any]:
    factory, keys = context
    if factory not in _FACTORIES.values() and factory not in FORMS:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of a defaultdict of {factory}: a text names containers and "
            "plain types of Python's, and registered classes"
        )
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _read_default(written: dict[str, Any]) -> list[Any]:
    place = written["default_factory_module"], written["default_factory_name"]
    registered = {(k.__module__, k.__qualname__): k for k in FORMS if isinstance(k, type)}
    factory = _FACTORIES.get(place) or registered.get(place)
    if factory is None:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of a defaultdict of {'.'.join(place)}: it is no "
            "registered class"
        )
    return [factory, written["dict_context"]]


_TYPE_NAME = "serialized_type_name" if follows("pytree spells") else "serializated_type_name"


def _write_named(kind: type) -> str:
    if kind not in FORMS:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {kind} because we didn't register a "
            f"{_TYPE_NAME}. Please register using `_register_namedtuple`."
        )
    return str(FORMS[kind].name)


def _read_named(name: str) -> type:
    if name not in _BY_NAME:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {name} because we couldn't find a "
            "serializated name."
        )
    return _BY_NAME[name]


#: A class (``namedtuple`` for all named tuples) -> its form.
FORMS: dict[Any, NodeSerialization] = {
    tuple: NodeSerialization("builtins.tuple"),
    list: NodeSerialization("builtins.list"),
    dict: NodeSerialization("builtins.dict"),
    namedtuple: NodeSerialization("collections.namedtuple", _write_named, _read_named),
    OrderedDict: NodeSerialization("collections.OrderedDict"),
    defaultdict: NodeSerialization("collections.defaultdict", _write_default, _read_default),
    deque: NodeSerialization("collections.deque"),
    Size: NodeSerialization("torch.Size"),
}
_BY_NAME: dict[str, Any] = {form.name: kind for kind, form in FORMS.items() if form.name}


def set_form(kind: type, name: str | None, to_dumpable: Any, from_dumpable: Any) -> None:
    """Register how a class is written. Raises ValueError for one direction without the other."""
    if (to_dumpable is None) != (from_dumpable is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {kind} must be None or "
            "registered."
        )
    FORMS[kind] = NodeSerialization(name, to_dumpable, from_dumpable)
    if name is not None:
        _BY_NAME[name] = kind


def _unknown(protocol: Any) -> ValueError:
    return ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")


def _dump(spec: Any) -> dict[str, Any]:
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    form = FORMS.get(spec.type)
    if form is None or form.name is None:
        raise NotImplementedError(
            f"No registered serialization name for {spec.type} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if form.to_dumpable_context is not None:
        context = form.to_dumpable_context(spec.context)
    else:
        try:
            context = json.dumps(spec.context, default=_write_member)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. Please make the context json dump-able, or register "
                "a custom serializer using _register_pytree_node."
            ) from error
    children = [_dump(c) for c in spec.children()]
    return {"type": form.name, "context": context, "children_spec": children}


def _write_member(x: Any) -> dict[str, Any]:
    """Write a member of an enumeration; JSON asks for it as for all that it does not know."""
    if not isinstance(x, enum.Enum):
        raise TypeError(f"Object of type {type(x).__name__} is not JSON serializable")
    kind = type(x)
    return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}", "name": x.name}


def _read_member(written: dict[str, Any]) -> Any:
    if not written.get("__enum__"):
        return written
    module, _, path = written["fqn"].partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):  # without a call of any __getattr__, which might import
        found = None if found is None else vars(found).get(part)
        if not isinstance(found, type):
            break
    if not (isinstance(found, type) and issubclass(found, enum.Enum)):
        raise NotImplementedError(
            f"Can't deserialize TreeSpec with a member of {written['fqn']}: it is no enumeration "
            "that is known here. Import what defines it before."
        )
    return found[written["name"]]


def _read(text: str) -> Any:
    return json.loads(text, object_hook=_read_member)


def _load(written: dict[str, Any], spec: Callable[..., Any], leaf: Callable[[], Any]) -> Any:
    name = written["type"]
    if name is None:
        return leaf()
    if name not in _BY_NAME:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    kind = _BY_NAME[name]
    read = FORMS[kind].from_dumpable_context or _read
    children = [_load(c, spec, leaf) for c in written["children_spec"]]
    return spec(kind, read(written["context"]), children)


def dumps(spec: Any, protocol: int | None) -> str:
    """Write a spec as text. Raises ValueError for another protocol, NotImplementedError for a class
    without a name, TypeError for a context that JSON cannot write."""
    if protocol is not None and protocol != PROTOCOL:
        raise _unknown(protocol)
    return json.dumps((PROTOCOL, _dump(spec)))


def loads(text: str, spec: Callable[..., Any], leaf: Callable[[], Any]) -> Any:
    """Read the spec of a text; ``spec(type, context, children)`` and ``leaf()`` make it. Raises
    ValueError for another protocol, and for a text that is no spec; NotImplementedError for a class
    whose name nobody registered."""
    try:
        protocol, written = json.loads(text)
        if protocol != PROTOCOL:
            raise _unknown(protocol)
        return _load(written, spec, leaf)
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"The text of a TreeSpec is damaged: {type(error).__name__}: {error}"
        ) from error
