"""Specifications of trees as text, in PyTorch's format: a protocol's number and nested objects."""

from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque
from typing import Any

from torchlike._core.size import Size
from torchlike.utils import _pytree as pytree

PROTOCOL = 1
#: Containers of Python's and torchlike's own, by their names in the text.
_NAMES: dict[Any, str] = {
    tuple: "builtins.tuple", list: "builtins.list", dict: "builtins.dict",
    OrderedDict: "collections.OrderedDict", defaultdict: "collections.defaultdict",
    deque: "collections.deque", Size: "torch.Size",
}  # fmt: skip
_TYPES = {name: cls for cls, name in _NAMES.items()}


def dumps(spec: Any, protocol: int | None = None) -> str:
    """A specification as text. NotImplementedError for a class or context that text cannot name,
    ValueError for an unknown protocol."""
    if protocol not in (None, PROTOCOL):
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return json.dumps([PROTOCOL, _opened(spec)])


def _opened(spec: Any) -> dict[str, Any]:
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    return {"type": _name(spec.type), "context": _context(spec),
            "children_spec": [_opened(c) for c in spec.children()]}  # fmt: skip


def _name(cls: Any) -> str:
    if cls in _NAMES:
        return _NAMES[cls]
    named = pytree.TYPE_NAMES.get(cls)
    if named is None and not pytree.is_namedtuple(cls):
        raise NotImplementedError(
            f"No registered serialization name for {cls} found. Please update your "
            "_register_pytree_node call with a `serialized_type_name` kwarg."
        )
    return named or f"{cls.__module__}.{cls.__qualname__}"


def _context(spec: Any) -> str:
    if spec.type is defaultdict:
        factory, keys = spec.context
        if factory is not None and factory.__module__ != "builtins":
            raise NotImplementedError(f"a defaultdict of {factory} as text")
        return json.dumps([getattr(factory, "__name__", None), keys])
    if pytree.is_namedtuple(spec.type):
        return json.dumps(None)
    try:
        return json.dumps(spec.context)
    except TypeError as error:
        raise NotImplementedError(
            f"the context of {spec.type}, {spec.context!r}, as text"
        ) from error


def loads(text: str) -> Any:
    """The specification again. NotImplementedError for a container that is not known here."""
    protocol, data = json.loads(text)
    if protocol != PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{PROTOCOL}]")
    return _closed(data)


def _closed(data: dict[str, Any]) -> Any:
    children = [_closed(c) for c in data["children_spec"]]
    if data["type"] is None:
        return pytree.TreeSpec(None, None, [])
    cls = _TYPES.get(data["type"]) or next(
        (c for c, name in pytree.TYPE_NAMES.items() if name == data["type"]), None
    )
    if cls is None:
        raise NotImplementedError(
            f"{data['type']} is not known here: register it (torch.export.register_dataclass, "
            "torch.utils._pytree) before it is read"
        )
    context = json.loads(data["context"])
    if cls is defaultdict:
        builtins = {"list": list, "dict": dict, "int": int, "float": float, "set": set, "str": str}
        context = [builtins.get(context[0]), context[1]]
    elif pytree.is_namedtuple(cls):
        context = cls
    return pytree.TreeSpec(cls, context, children)


def register_dataclass(cls: Any, *, serialized_type_name: str | None = None) -> None:
    """Open instances of a dataclass, whose fields are the children.

    AssertionError for what is no dataclass.
    """
    if not dataclasses.is_dataclass(cls):
        raise AssertionError(f"Only dataclasses can be registered with this function: {cls}")
    names = [f.name for f in dataclasses.fields(cls)]
    kind: Any = cls  # the type checker takes it for an instance
    pytree.register_pytree_node(
        kind, lambda x: ([getattr(x, n) for n in names], names),
        lambda values, context: kind(**dict(zip(context, values, strict=True))),
        serialized_type_name=serialized_type_name or f"{kind.__module__}.{kind.__qualname__}",
        flatten_with_keys_fn=lambda x: (
            [(pytree.GetAttrKey(n), getattr(x, n)) for n in names], names),
    )  # fmt: skip
