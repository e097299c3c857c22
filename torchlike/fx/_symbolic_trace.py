"""Tracing: a program is run on proxies, and what it does becomes a graph."""

from __future__ import annotations

import copy as copying
import functools as functools  # libraries take it from here
import inspect
import math
import sys
import warnings
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torchlike
from torchlike._runtime.homes import home
from torchlike.fx._compatibility import compatibility as compatibility
from torchlike.fx._patches import (
    _autowrap_check,
    _patch_wrapped_functions,
    _Patcher,
    _wrapped_fns_to_patch,
)
from torchlike.fx.graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from torchlike.fx.graph_module import GraphModule
from torchlike.fx.node import Argument, base_types
from torchlike.fx.proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase
from torchlike.nn.modules.container import Sequential
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

__all__ = [
    "PH",
    "PHBase",
    "PHWithMeta",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

#: What tracers of other libraries' take from here.
_orig_module_call = Module.__call__
_orig_module_getattr = Module.__getattr__


class ScriptObject:
    """An object of TorchScript; there is none."""


_proxyable_classes: dict[type, None] = {}
_tracing = 0


def is_fx_tracing() -> bool:
    """Return whether a program is being traced."""
    return _tracing > 0


class ProxyableClassMeta(type):
    """Classes of it can be made of proxies while a program is traced."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        _proxyable_classes.setdefault(cls)
        super().__init__(name, bases, attrs)

    def __call__(cls, *args: Any, **kwargs: Any) -> Argument:
        instance = cls.__new__(cls)  # type: ignore[call-overload]
        found: list[Proxy] = []
        pytree.tree_map(lambda a: found.append(a) if isinstance(a, Proxy) else None, (args, kwargs))
        if found and is_fx_tracing() and not getattr(instance, "_built", False):
            return found[0].tracer.create_proxy("call_function", cls, args, kwargs)
        cls.__init__(instance, *args, **kwargs)
        return instance


class PHBase:
    """Stands for an argument that is a tensor, in ``concrete_args``."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class PHWithMeta(PHBase):
    """A PH with a name for its placeholder."""

    def __init__(self, ph_key: str | None = None) -> None:
        self.ph_key = ph_key

    def transfer_attrs(self, to: Any) -> None:
        """Copy the attributes to the placeholder."""
        for name, value in vars(self).items():
            setattr(to, name, value)


def _patch_function(fn: FunctionType, nargs: int) -> FunctionType:
    """Return the function with its ``*args`` and ``**kwargs`` as two further ordinary
    parameters."""
    code = fn.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    made = code.replace(
        co_argcount=nargs, co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags
    )
    return FunctionType(made, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def wrap(fn_or_name: Any) -> Argument:
    """Let calls of a global function become nodes, rather than what is called inside: at module
    level ``wrap("name")``, or as a decorator. NotImplementedError elsewhere, RuntimeError for what
    is neither a function nor a name."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


class Tracer(TracerBase):
    """Traces modules and functions: ``Tracer().trace(root)`` gives a Graph.

    Subclasses decide what is a leaf (``is_leaf_module``), what a placeholder is, and more.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (math,),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(f) for f in autowrap_functions}
        self._autowrap_search: list[ModuleType] = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] | None = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = {}
        self.node_name_to_scope = {}
        self.tensor_attrs: dict[Any, str] = {}
        self.num_calls: dict[str, int] = {}

    _qualname_counter: dict[str, int]

    def __deepcopy__(self, memo: dict[int, Any]) -> Tracer:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in vars(self).items():  # modules of Python cannot be copied
            kept = name == "_autowrap_search"
            vars(made)[name] = list(value) if kept else copying.deepcopy(value, memo)
        return made

    # -- what subclasses change --------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Return whether calls of a module become single nodes, rather than what it does: those of
        torch.nn do, but for Sequential."""
        is_ours = home(type(m)).startswith(("torchlike.nn", "torchlike.ao.nn"))
        return is_ours and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Return a submodule's path. Raises NameError for what is no submodule of the root."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, found in self.root.named_modules():
            if found is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: Any, kwargs: Any
    ) -> Argument:
        """Trace a call of a submodule: a node where it is a leaf, else what it does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = self.num_calls.get(path, 0)
            self.num_calls[path] = count + 1
            key = f"{path}@{count}" if count else path
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.popitem()

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Argument:
        """Return the value of a module's attribute while it is traced: parameters become nodes."""
        return self._module_getattr(attr, attr_val, parameter_proxy_cache)

    def _module_getattr(self, attr: str, attr_val: Any, cache: dict[str, Any]) -> Argument:
        def found_in(pairs: Any, make: Any) -> Argument:
            for name, value in pairs:
                if attr_val is value:
                    if name not in cache:
                        cache[name] = make(name)
                    return cache[name]
            return None

        if isinstance(attr_val, Parameter):
            factory = None
            if self.param_shapes_constant:
                factory = lambda node: ParameterProxy(self, node, attr, attr_val)  # noqa: E731
            proxy = found_in(
                self.root.named_parameters(),
                lambda n: self.create_proxy("get_attr", n, (), {}, proxy_factory_fn=factory),
            )
            if proxy is not None:
                return proxy
        if self.proxy_buffer_attributes and isinstance(attr_val, Tensor):
            proxy = found_in(
                self.root.named_buffers(), lambda n: self.create_proxy("get_attr", n, (), {})
            )
            if proxy is not None:
                return proxy
        return attr_val

    def get_fresh_qualname(self, prefix: str) -> str:
        """Return a free name for an attribute of the root."""
        i = self._qualname_counter.get(prefix, 0)
        while hasattr(self.root, f"{prefix}{i}"):
            i += 1
        self._qualname_counter[prefix] = i + 1
        return f"{prefix}{i}"

    def create_arg(self, a: Any) -> Argument:
        """Return a value as a node holds it: tensors and modules of the root by their path, other
        tensors as attributes that are added to it."""
        if isinstance(a, Parameter):
            for name, p in self.root.named_parameters():
                if a is p:
                    return self.create_node("get_attr", name, (), {})
            name = self.get_fresh_qualname("_param_constant")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Tensor):
            for name, buffer in self.root.named_buffers():
                if a is buffer:
                    return self.create_node("get_attr", name, (), {})
            path = self.tensor_attrs.get(a)
            if path is None:
                path = self.get_fresh_qualname("_tensor_constant")
                self.tensor_attrs[a] = path
                setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        if isinstance(a, Module):
            for name, module in self.root.named_modules():
                if a is module:
                    return self.create_node("get_attr", name, (), {})
        if type(a) in _proxyable_classes:
            path = self.get_fresh_qualname(f"_{type(a).__name__}_constant_")
            setattr(self.root, path, a)
            return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    # -- arguments ---------------------------------------------------------------------------------

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: Any = None
    ) -> tuple[Any, list[Any]]:
        """Create the placeholders of the root function, and return the function to run and the
        values to run it on."""
        self._annotations = _annotations(root_fn)
        fn = inspect.unwrap(root_fn)
        code: CodeType = fn.__code__
        total = code.co_argcount + code.co_kwonlyargcount
        names = list(code.co_varnames[:total])
        args: list[Any] = []
        first = 0
        if is_module:
            if total == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            args.append(self.root)
            first = 1
        signature = inspect.signature(fn)
        if isinstance(concrete_args, tuple) and code.co_flags & inspect.CO_VARARGS:
            return root_fn, [*args, *self._positional(concrete_args)]
        if isinstance(concrete_args, tuple):
            own = names[first:]
            if len(concrete_args) != len(own):
                raise RuntimeError(
                    f"Tracing expected {len(own)} arguments but got {len(concrete_args)} concrete "
                    "arguments"
                )
            concrete_args = dict(zip(own, concrete_args, strict=True))
        args += [self._placeholder(n, concrete_args, signature) for n in names[first:]]
        if code.co_kwonlyargcount > 0 or code.co_flags & (
            inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
        ):
            rest = iter(code.co_varnames[total:])
            if code.co_flags & inspect.CO_VARARGS:
                args.append(self._placeholder(f"*{next(rest)}", concrete_args, signature))
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(self._placeholder(f"**{next(rest)}", concrete_args, signature))
            root_fn = _patch_function(fn, len(args))
            self._annotations.pop("return", None)  # that function has none
        flat, spec = pytree.tree_flatten(tuple(args))
        if concrete_args is None or all(c.is_leaf() for c in spec.children()):
            return root_fn, args
        self.graph._codegen = _PyTreeCodeGen(_PyTreeInfo(names[:total], spec, None))

        def flat_fn(*args: Any) -> Argument:
            result = root_fn(*pytree.tree_unflatten(list(args), spec))
            out, out_spec = pytree.tree_flatten(result)
            codegen: Any = self.graph._codegen
            codegen.pytree_info = codegen.pytree_info._replace(out_spec=out_spec)
            return out

        return flat_fn, flat

    def _placeholder(self, name: str, concrete_args: Any, signature: inspect.Signature) -> Argument:
        if concrete_args is not None and name in concrete_args:
            return self._concrete(name, concrete_args[name], signature)
        default: tuple[Any, ...] = ()
        kind = None
        if not name.startswith("*"):
            parameter = signature.parameters[name]
            default = () if parameter.default is parameter.empty else (parameter.default,)
            kind = self._annotation_of(name)
        return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

    def _positional(self, values: tuple[Any, ...]) -> list[Any]:
        """Create placeholders for a function that takes any number of arguments."""
        made = [self.create_proxy("placeholder", f"input_{i}", (), {}) for i in range(len(values))]
        return [p if isinstance(v, PHBase) else v for p, v in zip(made, values, strict=True)]

    def _annotation_of(self, name: str) -> Argument:
        return self._annotations.get(name)

    def _concrete(self, name: str, value: Any, signature: inspect.Signature) -> Argument:
        count = 0

        def place(x: Any) -> Argument:
            nonlocal count
            count += 1
            parameter = signature.parameters[name]
            default = () if parameter.default is parameter.empty else (parameter.default,)
            proxy = self.create_proxy("placeholder", f"{name}_{count}", default, {})
            if isinstance(x, PHBase):
                if isinstance(x, PHWithMeta):
                    x.transfer_attrs(proxy.node)
                return proxy
            says = f"{name} has been specialized to have value {x} but got another value"
            if type(x) is bool or (type(x) in base_types and not isinstance(x, Tensor)):
                torchlike._assert(proxy == x, says)
            elif x is None:
                self.create_proxy("call_function", _assert_is_none, (proxy, says), {})
            else:
                warnings.warn(
                    f"Was not able to add assertion to guarantee correct input {name} to "
                    "specialized function. It is up to the user to make sure that your inputs "
                    "match the inputs you specialized the function with.",
                    stacklevel=6,
                )
            return x

        return pytree.tree_map(place, value)

    # -- the trace ---------------------------------------------------------------------------------

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        """Record the graph of what a module or a function does with placeholders as arguments.

        ``concrete_args`` gives values to some of them. TraceError where control flow depends on a
        tensor.
        """
        global _tracing
        if isinstance(root, Module):
            self.root = root
            name = self.traced_func_name
            if not hasattr(type(root), name):
                raise AssertionError(
                    f"traced_func_name={name} doesn't exist in {type(root).__name__}"
                )
            fn = getattr(type(root), name)
            self.root_module_name = root._get_name()
            self.submodule_paths = {m: name for name, m in root.named_modules()}
        else:
            self.root = Module()
            fn = root
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self._qualname_counter = {}
        self.tensor_attrs = {}
        self._collect(self.root, "")
        table = inspect.unwrap(fn).__globals__
        code = inspect.unwrap(fn).__code__
        self.graph._co_fields = {
            name: getattr(code, name) for name in ("co_name", "co_filename", "co_firstlineno")
        }
        fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        _tracing += 1
        try:
            with _Patcher() as patches:
                self._patch(patches, table)
                result = self.create_arg(fn(*args))
                self.create_node(
                    "output", "output", (result,), {}, type_expr=self._annotations.get("return")
                )
        finally:
            _tracing -= 1
            self.submodule_paths = None
        return self.graph

    def _collect(self, module: Any, prefix: str) -> None:
        for name, value in vars(module).items():
            if isinstance(value, Tensor):
                self.tensor_attrs[value] = f"{prefix}{name}"
        for name, child in module.named_children():
            self._collect(child, f"{prefix}{name}.")

    def _patch(self, patches: _Patcher, table: dict[str, Any]) -> None:
        cache: dict[str, Any] = {}
        original_getattr, original_call = Module.__getattr__, Module.__call__

        def module_getattr(mod: Any, attr: str) -> Argument:
            return self.getattr(attr, original_getattr(mod, attr), cache)

        def module_call(mod: Any, *args: Any, **kwargs: Any) -> Argument:
            own = getattr(type(mod).forward, "__globals__", {})
            _autowrap_check(patches, own, self._autowrap_function_ids)
            return self.call_module(mod, lambda *a, **k: original_call(mod, *a, **k), args, kwargs)

        patches.method(Module, "__getattr__", module_getattr)
        patches.method(Module, "__call__", module_call)
        _patch_wrapped_functions(patches)
        _autowrap_check(patches, table, self._autowrap_function_ids)
        for module in self._autowrap_search:
            _autowrap_check(patches, vars(module), self._autowrap_function_ids)


def _annotations(fn: Any) -> dict[str, Any]:
    """Return the types that a function's signature names, evaluated where they are strings."""
    try:
        return inspect.get_annotations(inspect.unwrap(fn), eval_str=True)
    except Exception:  # names that only a type checker sees
        return {}


def _assert_is_none(value: Any, msg: str) -> None:
    if value is not None:
        raise AssertionError(msg)


def symbolic_trace(root: Any, concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Trace a module or function into a GraphModule: what it does with any tensors as arguments.

    TraceError where control flow depends on a tensor.
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
