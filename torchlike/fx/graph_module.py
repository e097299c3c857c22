"""A module whose ``forward`` is the source that a graph gives."""

from __future__ import annotations

import contextlib
import copy as copying
import itertools
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torchlike
from torchlike._runtime.homes import home
from torchlike.fx._codegen import PythonCode, _custom_builtins, _PyTreeCodeGen
from torchlike.fx._folders import write_to_folder
from torchlike.fx._graph_hooks import GraphHooks
from torchlike.fx.graph import Graph
from torchlike.fx.node import Argument
from torchlike.nn.modules.module import Module
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor

__all__ = ["GraphModule", "reduce_graph_module"]

_numbers = itertools.count()
#: The entry of ``meta`` whose attributes a deep copy has, too.
_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"
#: Hooks that a copy has too.
_KEPT_HOOKS_TEXT = """
_state_dict_hooks _load_state_dict_pre_hooks _load_state_dict_post_hooks _forward_pre_hooks
_forward_hooks _replace_hooks _create_node_hooks _erase_node_hooks _deepcopy_hooks
"""
_KEPT_HOOKS = tuple(_KEPT_HOOKS_TEXT.split())


def _forward_from_src(
    src: str,
    names: dict[str, Any],
    func_name: str = "forward",
    traced: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """Execute a source and return the function that it defines. Its lines can be found, for
    tracebacks and for ``torchlike.jit``; ``traced`` says which function it is made of."""
    path = f"<eval_with_key>.{next(_numbers)}"
    if traced:
        path += " from {co_filename}:{co_firstlineno} in {co_name}".format(**traced)
    linecache.cache[path] = (len(src), None, src.splitlines(keepends=True), path)
    table = dict(names)
    table.setdefault("torch", torchlike)
    exec(compile(src, path, "exec"), table)
    return table[func_name]


def _format_import_block(names: dict[str, Any]) -> str:
    """Return the import lines that give a source its global names."""
    return "\n".join(sorted(_import_of(name, value) for name, value in names.items()))


def _import_of(name: str, value: Any) -> str:
    if name in _custom_builtins:
        return _custom_builtins[name].import_str
    if value is torchlike:
        return "import torch"
    module, own = home(value), getattr(value, "__qualname__", None)
    if not module or own is None or "<" in own:
        raise RuntimeError(f"cannot pickle {value!r}, which the graph calls: it has no place")
    head, _, rest = own.partition(".")
    line = f"from {module} import {head} as {name}"
    return line if not rest else f"{line}\n{name} = {name}.{rest}"


def _own_imports(import_block: str) -> str:
    """Return the imports of PyTorch's modules as those of this package."""
    block = re.sub(r"(?m)^import torch$", "import torchlike as torch", import_block)
    block = re.sub(r"(?m)^import torch\.", "import torchlike.", block)
    return re.sub(r"(?m)^from torch import", "from torchlike import", block)


def reduce_graph_module(body: dict[str, Any], import_block: str) -> Module:
    """Unpickle: the source is traced again."""
    source = body.get("_code") or body.get("code")
    names: dict[str, Any] = {}
    exec(_own_imports(import_block), names)
    names.pop("__builtins__", None)
    forward = _forward_from_src(str(source), names)
    return _retraced(forward, body)


class _CodeOnlyModule(Module):
    """A module of the attributes of another, of which a GraphModule keeps all."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        vars(self).update(body)


def _retraced(forward: Any, body: dict[str, Any]) -> Module:
    class CodeOnlyModule(_CodeOnlyModule):
        pass

    CodeOnlyModule.forward = forward
    name = "GraphModule"
    tracer_cls = body.get("_tracer_cls")
    if tracer_cls is None:
        tracer_cls = sys.modules["torchlike.fx._symbolic_trace"].Tracer

    class KeepModules(tracer_cls):
        # All modules are leaves: what the graph called before is called now.
        def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
            return True

    com = CodeOnlyModule(body)
    tracer_extras = body.get("_tracer_extras", {})
    graph = KeepModules().trace(com, **(tracer_extras or {}))
    graph._tracer_cls = tracer_cls
    made = GraphModule(com, graph, class_name=name)
    for key, value in body.items():
        if not hasattr(made, key):
            setattr(made, key, value)
    return made


def _copy_attr(from_module: Any, to_module: Module, target: str) -> None:
    """Copy the attribute at a path from one module to another, with the modules on the way."""
    *path, field = target.split(".")
    for part in path:
        below = getattr(from_module, part)
        if below is getattr(to_module, part, None):
            return  # the whole submodule is there
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        from_module, to_module = below, getattr(to_module, part)
    _assign(getattr(from_module, field), to_module, field)


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    """Set an attribute at a path."""
    *path, field = target.split(".")
    for part in path:
        if getattr(to_module, part, None) is None:
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    _assign(value, to_module, field)


def _assign(value: Any, module: Module, field: str) -> None:
    plain = isinstance(value, Tensor) and not isinstance(value, Parameter)
    if plain and (field in module._buffers or not hasattr(module, field)):
        module._buffers.pop(field, None)
        module.register_buffer(field, value)
        return
    setattr(module, field, value)


class _WrappedCall:
    """A GraphModule's call. A failing line of the source is printed on standard error."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __call__(self, module: Any, *args: Any, **kwargs: Any) -> Argument:
        try:
            return super(self.cls, module).__call__(*args, **kwargs)  # type: ignore[misc]
        except Exception as error:
            frame = _generated_frame(error)
            if frame is not None:
                print(_shown(frame), file=sys.stderr)  # noqa: T201
            raise


def _generated_frame(error: Exception) -> traceback.FrameSummary | None:
    """Return the line of the generated source that failed by itself, rather than in a module that
    it calls."""
    frames = traceback.extract_tb(error.__traceback__)
    at = max((i for i, f in enumerate(frames) if "<eval_with_key>" in f.filename), default=None)
    if at is None or any(f.name in _CALLS or not _is_own(f) for f in frames[at + 1 :]):
        return None
    return frames[at]


def _is_own(frame: traceback.FrameSummary) -> bool:
    """Return whether a frame belongs to this library, as those of its functions do."""
    return frame.filename.startswith(_HERE)


#: The library's files, and the names of its functions that call modules.
_HERE = os.path.dirname(os.path.dirname(__file__))
_CALLS = ("_call_impl", "_wrapped_call_impl", "__call__", "forward")


def _shown(frame: Any) -> str:
    lines = linecache.getlines(frame.filename)
    at = frame.lineno - 1
    around = "".join(
        f"    {'>' if i == at else ' '} {lines[i].rstrip()}\n"
        for i in range(max(at - 2, 0), min(at + 2, len(lines)))
    )
    return (
        f"Call using an FX-traced Module, line {frame.lineno} of the traced Module's generated "
        f"forward function:\n{around}"
    )


class GraphModule(GraphHooks, Module):
    """A module made of a graph: ``graph`` and ``code``; assign ``graph`` or call ``recompile()``
    after it changed.

    ``root`` is the module (or dictionary of paths) that gets its attributes and submodules.
    RuntimeError where it lacks one.
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Argument:
        # A class for each instance, whose forward is its own.
        cls = next(c for c in cls.__mro__ if c.__qualname__.rpartition(".")[2] != "GraphModuleImpl")

        class GraphModuleImpl(cls):  # type: ignore[misc, valid-type]
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(
        self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule"
    ) -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
            if isinstance(root, _CodeOnlyModule):
                for name in (*root._parameters, *root._buffers, *root._modules):
                    _copy_attr(root, self, name)
        elif isinstance(root, dict):
            wanted = []
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    if node.target not in root:
                        raise RuntimeError(
                            f"Node {node} referenced target {node.target} but that target was not "
                            "provided in ``root``!"
                        )
                    wanted.append(node.target)
            for target in sorted(wanted, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        self.graph = graph
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self._tracer_extras = graph._tracer_extras or {}
        self.meta: dict[Any, Any] = {}
        self._start_hooks()

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self._graph = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of ``forward``."""
        if not hasattr(self, "_code"):
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self._code

    def recompile(self) -> PythonCode:
        """Write the source anew after the graph changed."""
        graph = self._graph
        if isinstance(graph._codegen, _PyTreeCodeGen):
            self._in_spec = graph._codegen.pytree_info.in_spec
            self._out_spec = graph._codegen.pytree_info.out_spec
        written = graph.python_code(root_module="self")
        self._code = written.src
        self._lineno_map = written._lineno_map
        cls: Any = type(self)
        cls.forward = _forward_from_src(
            self._code, written.globals, graph._codegen._func_name, graph._co_fields
        )
        if "_wrapped_call" not in vars(cls):
            cls._wrapped_call = wrapped = _WrappedCall(cls)

            def call_wrapped(self: Any, *args: Any, **kwargs: Any) -> Argument:
                return wrapped(self, *args, **kwargs)

            cls.__call__ = call_wrapped
        return written

    # -- submodules --------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path, with empty ones on the way. Returns False where something else
        is."""
        *path, field = target.split(".")
        here: Any = self
        for part in path:
            below = getattr(here, part, None)
            if below is None:
                below = Module()
                setattr(here, part, below)
            if not isinstance(below, Module):
                return False
            here = below
        here.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path. Returns False where there is none."""
        *path, field = target.split(".")
        here: Any = self
        for part in path:
            here = getattr(here, part, None)
            if not isinstance(here, Module):
                return False
        if not isinstance(getattr(here, field, None), Module):
            return False
        delattr(here, field)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that no node names, nor anything of them."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:i]) for i in range(1, len(parts) + 1))
                if node.op == "call_module":
                    with contextlib.suppress(AttributeError):
                        below = self.get_submodule(node.target)
                        used.update(f"{node.target}.{n}" for n, _ in below.named_modules() if n)
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    # -- copies and files --------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        body = dict(vars(self))
        written = self.recompile()
        body = {**body, "_code": self._code}
        body.pop("_graph", None)
        block = _format_import_block(written.globals)
        return reduce_graph_module, (body, block)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self.__reduce__()

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        body = {k: v for k, v in vars(self).items() if k != "_graph"}
        made = GraphModule.__new__(type(self))
        memo[id(self)] = made
        holder = _CodeOnlyModule(copying.deepcopy(body, memo))
        GraphModule.__init__(made, holder, copying.deepcopy(self._graph, memo))
        for hooks in _KEPT_HOOKS:
            if hooks in vars(holder):
                vars(made)[hooks] = vars(holder)[hooks]
        made.meta = copying.deepcopy(getattr(self, "meta", {}), memo)
        for name, value in vars(holder).items():
            if name not in vars(made) and not name.startswith("_"):
                vars(made)[name] = value
        for name, value in made.meta.get(_USER_PRESERVED_ATTRIBUTES_KEY, {}).items():
            setattr(made, name, value)
        for hook in self._deepcopy_hooks:
            hook(made)
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copying.deepcopy(self.graph))
        made.meta = dict(getattr(self, "meta", {}))
        return made

    def to_folder(self, folder: str | os.PathLike[str], module_name: str = "FxModule") -> None:
        """Write the module as a package: ``from folder import FxModule; FxModule()`` makes it.

        ``module.py`` has the source, ``state_dict.pt`` the state. Submodules whose text is how they
        are made (Linear, convolutions, batch norms) are written as such, others are saved each to a
        file, which is unpickled: a warning names them.
        """
        imports = _own_imports(_format_import_block(self.recompile().globals))
        write_to_folder(self, Path(folder), module_name, imports, self._code)

    # -- what it says ------------------------------------------------------------------------------

    def print_readable(
        self,
        print_output: bool = True,
        include_stride: bool = False,
        include_device: bool = False,
        colored: bool = False,
        **kwargs: Any,
    ) -> str:
        """Print and return the source of this module and of those below it, with what values are
        and where they come from."""
        written = self._graph.python_code(
            root_module="self",
            verbose=True,
            include_stride=include_stride,
            include_device=include_device,
        )
        body = written.src.strip("\n").rstrip(" ").rstrip()
        text = f"class {type(self).__name__}(torch.nn.Module):\n"
        text += "".join(f"    {line}\n" for line in body.split("\n"))
        parts = [text]
        for name, child in self.named_children():
            if isinstance(child, GraphModule):
                below = child.print_readable(print_output=False)
                parts.append(
                    "\n".join(
                        "    " + x
                        for x in below.replace(
                            f"class {type(child).__name__}", f"class {name}", 1
                        ).split("\n")
                    )
                )
        result = "\n".join(parts) + "\n"
        if print_output:
            print(result)  # noqa: T201
        return result

    def __str__(self) -> str:
        original = super().__str__()
        readable = "# To see more debug info, please use `graph_module.print_readable()`"
        return f"{original}\n{self._code}\n{readable}"

    def _replicate_for_data_parallel(self) -> GraphModule:
        made = self.__copy__()
        made._is_replica = True
        return made
