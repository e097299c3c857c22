"""Objects that stand for values while a program is traced: what is done to them becomes nodes."""

from __future__ import annotations

import copy as copying
import dis
import enum
import inspect
import operator
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from torchlike._core import overrides
from torchlike._core.size import Size
from torchlike._extensions.overrides.code_exchange import accessors
from torchlike._runtime.frames import package_of
from torchlike.fx import _names
from torchlike.fx import traceback as fx_traceback
from torchlike.fx._codegen import magic_methods, reflectable_magic_methods
from torchlike.fx.graph import Graph
from torchlike.fx.node import Argument, Node, base_types, map_aggregate
from torchlike.fx.operator_schemas import check_for_mutable_operation

__all__ = [
    "Attribute",
    "GraphAppendingTracer",
    "ParameterProxy",
    "Proxy",
    "Scope",
    "ScopeContextManager",
    "TraceError",
    "TracerBase",
]

_ITERATED = (
    "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as "
    "a *args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more "
    "detailed explanation of what types of control flow can be traced, and check out the Proxy "
    "docstring for help troubleshooting Proxy iteration errors"
)
_CONTROL_FLOW = "symbolically traced variables cannot be used as inputs to control flow"
_LEN = (
    "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, "
    "please call torch.fx.wrap('len') at module scope"
)


#: What a node takes over from the node that is run while it is made.
_KEPT_META_TEXT = """
stack_trace nn_module_stack torch_fn source_fn_stack original_aten recompute ac_graph_id from_node
quantization_tag _numeric_debug_handle partitioner_tag has_backward_hook custom
"""
_KEPT_META = tuple(_KEPT_META_TEXT.split())


class TraceError(ValueError):
    """A program does what a graph cannot hold."""


class Scope:
    """Where in the tree of modules the trace is: a path and a type."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """``with``: a scope is another for a while."""

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope = scope
        self._previous = Scope(scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *exc: object) -> None:
        before = self._previous
        self._scope.module_path, self._scope.module_type = before.module_path, before.module_type


class TracerBase:
    """What makes nodes and proxies of what a program does."""

    graph: Graph
    record_stack_traces: bool = False
    _record_forward_stack_traces_only: bool = False
    check_mutable_operations: bool = False
    trace_asserts: bool = False
    proxy_buffer_attributes: bool = False
    traced_func_name: str = "forward"
    scope: Scope
    module_stack: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, Any]]

    def create_node(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """Create a node in the graph; subclasses refuse or note nodes here. Raises RuntimeError for
        a call that writes into its arguments, where ``check_mutable_operations``."""
        if kind == "call_function" and self.check_mutable_operations:
            check_for_mutable_operation(target, args, kwargs)
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if hasattr(self, "scope"):
            self.node_name_to_scope[node.name] = self.scope.module_path, self.scope.module_type
        if fx_traceback.has_preserved_node_meta():
            present = fx_traceback.get_current_meta()
            node.meta.update({k: copying.copy(present[k]) for k in _KEPT_META if k in present})
        elif getattr(self, "module_stack", None):
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def proxy(self, node: Node) -> Proxy:
        """Return the proxy of a node's value."""
        return Proxy(node, self)

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: Any,
        kwargs: Any,
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Argument:
        """Create a node for a call, and return the proxy of its value."""
        node = self.create_node(
            kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr
        )
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not proxy.node.stack_trace:
            proxy.node.stack_trace = "".join(_user_frames())
        return proxy

    def create_arg(self, a: Any) -> Argument:
        """Return a value as a node holds it. Raises NotImplementedError for what no node can
        hold."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            parts = tuple([self.create_arg(x) for x in a])
            if hasattr(a, "_fields"):
                return self.create_node("call_function", type(a), parts, {})
            return parts
        if isinstance(a, list):
            return [self.create_arg(x) for x in a]
        if isinstance(a, dict):
            return {self._checked_key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if isinstance(a, range):
            return range(*(self.create_arg(x) for x in (a.start, a.stop, a.step)))
        if is_dataclass(a) and not isinstance(a, type):
            values = {f.name: self.create_arg(getattr(a, f.name)) for f in fields(a)}
            return self.create_node("call_function", type(a), (), values)
        if isinstance(a, (*base_types, enum.Enum)) or a is None or a is ...:
            return a
        if (isinstance(a, type) and a in base_types) or _is_operator(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _checked_key(self, key: Any) -> Argument:
        made = self.create_arg(key)

        def refuse(x: Any) -> Argument:
            if isinstance(x, Node):
                raise RuntimeError(
                    "Keys for dictionaries used as an argument cannot contain a Node. Got key: "
                    f"{key.node if isinstance(key, Proxy) else key}"
                )
            return x

        return map_aggregate(made, refuse)

    def to_bool(self, obj: Proxy) -> bool:
        """Raise TraceError for ``if proxy:``; a subclass may return a truth value instead."""
        raise TraceError(_CONTROL_FLOW)

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """Return the iterator of ``for x in proxy:``, where the proxy is not unpacked into a known
        number of names. Raises TraceError unless a subclass overrides it."""
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame is not None and frame.f_back is not None else None
        count = _unpacked(caller)
        if count is not None:
            return (obj[i] for i in range(count))
        raise TraceError(_ITERATED)

    def keys(self, obj: Proxy) -> Proxy:
        """Return the proxy for ``proxy.keys()`` (``**proxy`` asks)."""
        return Attribute(obj, "keys")()


def _is_operator(a: Any) -> bool:
    return hasattr(a, "_schema") and callable(a)


def _unpacked(frame: Any) -> int | None:
    """Return the number of names into which a frame is unpacking something, or None."""
    if frame is None:
        return None
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == frame.f_lasti:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


def _user_frames() -> list[str]:
    """Return the stack above, without this package's frames."""
    stack = [
        (f, n) for f, n in traceback.walk_stack(sys._getframe(1)) if package_of(f) != "torchlike"
    ]
    return traceback.StackSummary.extract(reversed(stack)).format()


class GraphAppendingTracer(TracerBase):
    """A tracer that puts what is done to its proxies at the end of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}


class Proxy:
    """Stands for a node's value while a program is traced.

    Operators, methods, attributes and the public functions of torch become nodes. What needs the
    value (``if``, ``for``, ``len``) raises TraceError or RuntimeError.
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        overrides.enable()
        self.tracer = tracer if tracer is not None else GraphAppendingTracer(node.graph)
        self.node = node

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    #: Operators are added below.
    __getitem__: Any

    def __getattr__(self, k: str) -> Attribute:
        return Attribute(self, k)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    def __setstate__(self, d: dict[str, Any]) -> None:
        vars(self).update(d)

    def __deepcopy__(self, memo: Any) -> Proxy:
        made = Proxy(copying.deepcopy(self.node, memo), copying.deepcopy(self.tracer, memo))
        memo[id(self)] = made
        for name in vars(self).keys() - vars(made).keys():
            vars(made)[name] = copying.deepcopy(vars(self)[name], memo)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        count = _unpacked(sys._getframe(1))
        if count is not None:
            return (self[i] for i in range(count))
        return self.tracer.iter(self)

    def __abs__(self) -> Proxy:
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self) -> bool:
        if self.tracer.trace_asserts and _asserts(sys._getframe(1)):
            name = _names.qualified_name(_torch_assert())
            assert name
            self.tracer.create_proxy("call_function", _torch_assert(), (self, "assertion"), {})
            return True
        return self.tracer.to_bool(self)

    def keys(self) -> Proxy:
        """Return the keys that ``**proxy`` asks for."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(_LEN)

    @classmethod
    def __torch_function__(
        cls, orig_method: Any, types: Any, args: Any = None, kwargs: Any = None
    ) -> Argument:
        args, kwargs = args or (), kwargs or {}
        tracers: dict[Any, None] = {}

        def look(a: Any) -> None:
            if isinstance(a, cls):
                tracers[a.tracer] = None

        map_aggregate(args, look)
        map_aggregate(kwargs, look)
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace "
                f"operations {orig_method}"
            )
        tracer = next(iter(tracers))
        if orig_method in accessors():
            return tracer.create_proxy("call_method", orig_method.__name__, args, kwargs)
        name = tracer.graph._target_to_str(orig_method)
        return tracer.create_proxy("call_function", orig_method, args, kwargs, name=name)


def _torch_assert() -> Callable[..., None]:
    return sys.modules["torchlike"]._assert


def _asserts(frame: Any) -> bool:
    """Return whether a frame asks for a truth value in order to assert it."""
    instructions = list(dis.get_instructions(frame.f_code))
    at = next((i for i, x in enumerate(instructions) if x.offset == frame.f_lasti), None)
    if at is None:
        return False
    rest = [i for i in instructions[at:] if i.opname not in ("CACHE", "NOP", "COPY", "SWAP")]
    return any("ASSERTION" in i.opname for i in rest[1:3])


class Attribute(Proxy):
    """``proxy.name``: a node of its own only where it is not called as a method."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        node = self._node
        if node is None:
            made = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {})
            node = self._node = made.node
        return node

    def __call__(self, *args: Any, **kwargs: Any) -> Proxy:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """Stands for a parameter; its shape is known."""

    def __init__(self, tracer: TracerBase, node: Node, name: str, param: Any) -> None:
        super().__init__(node, tracer)
        self.param, self.name = param, name

    def __repr__(self) -> str:
        return f"ParameterProxy({self.name})"

    @property
    def shape(self) -> Size:
        return self.param.shape

    def size(self) -> Size:
        """Return the size of the parameter."""
        return self.param.size()

    def dim(self) -> int:
        """Return the number of dimensions of the parameter."""
        return self.param.dim()

    @property
    def ndim(self) -> int:
        return self.param.ndim

    def numel(self) -> int:
        """Return the number of elements of the parameter."""
        return self.param.numel()

    def nelement(self) -> int:
        """Return the number of elements of the parameter."""
        return self.param.nelement()


def _operator_method(name: str) -> Callable[..., Proxy]:
    def method(self: Proxy, *args: Any, **kwargs: Any) -> Proxy:
        function = getattr(operator, name)
        return self.tracer.create_proxy("call_function", function, (self, *args), kwargs)

    method.__name__ = f"__{name.strip('_')}__"
    return method


def _reflected_method(name: str) -> Callable[..., Proxy]:
    def method(self: Proxy, other: Any) -> Proxy:
        function = getattr(operator, name)
        return self.tracer.create_proxy("call_function", function, (other, self), {})

    method.__name__ = f"__r{name.strip('_')}__"
    return method


for _name in magic_methods:
    setattr(Proxy, f"__{_name.strip('_')}__", _operator_method(_name))
for _name in reflectable_magic_methods:
    setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_method(_name))
Proxy.__hash__ = object.__hash__  # type: ignore[method-assign]
