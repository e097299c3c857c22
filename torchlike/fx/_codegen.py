"""How a graph becomes the source of a Python function."""

from __future__ import annotations

import builtins
import enum
import functools
import keyword
import math
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torchlike
from torchlike._core.dtypes import dtype
from torchlike._runtime.reference import follows
from torchlike.fx import _names, _readable
from torchlike.fx import _pytree as fx_pytree
from torchlike.fx.node import Argument, Node, _get_qualified_name, _type_repr, map_arg
from torchlike.utils import _pytree

#: Operators of two or one operands that are written as such.
_BINARY = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "gt": ">",
    "le": "<=",
    "ge": ">=",
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "truediv": "/",
    "mod": "%",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "matmul": "@",
}
reflectable_magic_methods = {
    name: f"{{}} {sign} {{}}"
    for name, sign in _BINARY.items()
    if name not in ("eq", "ne", "lt", "gt", "le", "ge")
}
magic_methods = {
    **{name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()},
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    "getitem": "{}[{}]",
}
inplace_methods = {
    **{
        f"i{name.rstrip('_')}": f"{{}} {_BINARY[name]}= {{}}"
        for name in (
            "add",
            "and_",
            "floordiv",
            "lshift",
            "mod",
            "mul",
            "matmul",
            "or_",
            "pow",
            "rshift",
            "sub",
            "truediv",
            "xor",
        )
    },
    "setitem": "{}[{}] = {}",
}


#: What the source calls containers that were annotated by their names in ``typing``.
_GENERICS: dict[Any, Any] = {
    list: typing.List,  # noqa: UP006
    dict: typing.Dict,  # noqa: UP006
    set: typing.Set,  # noqa: UP006
    frozenset: typing.FrozenSet,  # noqa: UP006
    tuple: typing.Tuple,  # noqa: UP006
}


@dataclass
class PythonCode:
    """Source of a function, and the values of its global names."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None


class _CustomBuiltin(NamedTuple):
    import_str: str
    obj: Any


#: Names that the text of arguments uses (``repr`` of a device), with the import each needs.
_custom_builtins = {
    "inf": _CustomBuiltin("from math import inf", math.inf),
    "nan": _CustomBuiltin("from math import nan", math.nan),
    "NoneType": _CustomBuiltin("NoneType = type(None)", type(None)),
    "torch": _CustomBuiltin("import torch", torchlike),
    "device": _CustomBuiltin("from torch import device", torchlike.device),
    "fx_pytree": _CustomBuiltin("import torch.fx._pytree as fx_pytree", fx_pytree),
    "pytree": _CustomBuiltin("import torch.utils._pytree as pytree", _pytree),
}

_ILLEGAL = re.compile(r"[^0-9a-zA-Z_]+")
_COUNTER = re.compile(r"# COUNTER: (\d+)")
_PLAIN_PART = re.compile(r"[\w@ -]*")
_NUMBERED = re.compile(r"(.*)_(\d+)$")


class _Namespace:
    """Names that are taken, each by one object."""

    def __init__(self) -> None:
        self._obj_to_name: dict[Any, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any) -> str:
        """Take a free name like ``candidate`` and return it; the same object always gets the same
        name."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = _ILLEGAL.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        match = _NUMBERED.match(candidate)
        base, number = (candidate, None) if match is None else (match[1], int(match[2]))
        if number is None or candidate in self._used_names:
            number = self._base_count.get(base, 0)
            if candidate in self._used_names or self._is_illegal_name(candidate, obj):
                number += 1
                candidate = f"{base}_{number}"
        while candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: Any) -> None:
        """Record which object has a name that was taken before."""
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError("obj is already associated")

    def _is_illegal_name(self, name: str, obj: Any) -> bool:
        if name in keyword.kwlist:
            return True
        if name in vars(builtins) and name != "_":  # the last value of an interactive Python
            return obj is not vars(builtins)[name]
        if name in _custom_builtins:
            return obj is not _custom_builtins[name].obj
        return False

    def _rename_object(self, obj: Any, name: str) -> None:
        self._obj_to_name[obj] = name
        self._used_names.add(name)


class CodeGen:
    """The source of a graph's function. Subclasses change its signature and its output."""

    #: How `generate_output` writes a value.
    _text: Any = staticmethod(lambda value: _text(value))

    def __init__(self) -> None:
        self._body_transformer: Callable[[list[str]], list[str]] | None = None
        self._func_name: str = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """Return the source line with ``def``."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any, *args: Any, **kwargs: Any) -> str:
        """Return the source line that returns."""
        return f"return {self._text(output_args)}"

    def process_inputs(self, *args: Any) -> Argument:
        """Return the values of the placeholders for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Argument:
        """Return the result of a call for the value of the output node."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Return further global names of the code, with their values."""
        return []

    def _gen_python_code(
        self, nodes: Any, root_module: str, namespace: _Namespace, **kwargs: Any
    ) -> PythonCode:
        """Generate the source. ``verbose``, ``include_stride`` and ``include_device``: with notes
        for people on what values are and where they come from."""
        return _Writer(self, nodes, root_module, namespace, **kwargs).python_code()


def _text(value: Any) -> str:
    """Return a value as source. Nodes are written as their names."""
    return _argument(value, lambda hint, obj: hint)


def _argument(arg: Any, add_global: Callable[[str, Any], str]) -> str:
    if isinstance(arg, Node):
        return repr(arg)
    if isinstance(arg, tuple):
        if hasattr(arg, "_fields"):
            name = add_global(_type_repr(type(arg)), type(arg))
            return f"{name}({', '.join(_argument(a, add_global) for a in arg)})"
        inside = ", ".join(_argument(a, add_global) for a in arg)
        return f"({inside},)" if len(arg) == 1 else f"({inside})"
    if isinstance(arg, list):
        return f"[{', '.join(_argument(a, add_global) for a in arg)}]"
    if isinstance(arg, dict):
        items = (f"{k!r}: {_argument(v, add_global)}" for k, v in arg.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(arg, slice):
        parts = (_argument(a, add_global) for a in (arg.start, arg.stop, arg.step))
        return f"slice({', '.join(parts)})"
    if isinstance(arg, enum.Enum):
        kind = type(arg)
        return f"{add_global(kind.__name__, kind)}.{arg.name}"
    if isinstance(arg, torchlike.device):
        add_global("device", torchlike.device)
        return repr(arg)
    if isinstance(arg, (dtype, torchlike.memory_format, torchlike.layout)):
        add_global("torch", torchlike)
        return repr(arg)
    if isinstance(arg, type) or (callable(arg) and hasattr(arg, "__name__")):
        return add_global(_get_qualified_name(arg), arg)
    return repr(arg)


class _Writer:
    """Writes one graph's source."""

    def __init__(
        self,
        codegen: CodeGen,
        nodes: Any,
        root: str,
        namespace: _Namespace,
        *,
        verbose: bool = False,
        include_stride: bool = False,
        include_device: bool = False,
        **others: Any,
    ) -> None:
        self.verbose, self.shown = verbose, (include_stride, include_device)
        self.origins = _readable.Origins()
        self.codegen, self.nodes, self.root, self.namespace = codegen, nodes, root, namespace
        self.globals: dict[str, Any] = {name: b.obj for name, b in _custom_builtins.items()}
        for name, builtin in _custom_builtins.items():
            namespace.create_name(name, builtin.obj)
        self.wrapped: dict[str, None] = {}
        self.free: list[str] = []
        self.body: list[str] = []
        self.returns = ""
        self.last: dict[Node, list[Node]] = {}

    def python_code(self) -> PythonCode:
        for name, value in self.codegen.additional_globals():
            self.add_global(name, value)
        self.find_last_uses()
        for i, node in enumerate(self.nodes):
            self.body.append(f"# COUNTER: {i}\n")  # which node the next lines are of
            if self.verbose:
                self.body.append(self.origins.before(node))
            self.emit(node)
            self.delete_unused(node)
        body = self.body
        if all(line.startswith("# COUNTER") for line in body):
            body = [*body, "pass\n"]
        if self.codegen._body_transformer is not None:
            body = self.codegen._body_transformer(body)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        prologue = self.codegen.gen_fn_def(self.free, self.returns)
        lines, numbers = _counted("".join(body).lstrip("\n").split("\n"))
        code = "\n".join(f"    {line}" for line in lines)
        return PythonCode(f"\n{wraps}\n\n{prologue}\n{code}", self.globals, numbers)

    def find_last_uses(self) -> None:
        used: set[Node] = set()
        for node in reversed(self.nodes):

            def register(n: Node, user: Node = node) -> None:
                if n not in used:
                    used.add(n)
                    self.last.setdefault(user, []).append(n)

            map_arg(node.args, register)
            map_arg(node.kwargs, register)

    def delete_unused(self, node: Node) -> None:
        if node.op == "placeholder":
            return
        if node.op == "output":
            self.body.append("\n")
            return
        done = [*self.last.get(node, ()), *(() if node.users else (node,))]
        freed = " = ".join([*map(repr, done), "None"])
        self.body.append(f";  {freed}\n" if done else "\n")

    def add_global(self, hint: str, value: Any) -> str:
        """Return the global name for a value, and record that it is imported under it."""
        if _names.is_ours(value) and value is not torchlike.device:
            self.globals.setdefault("torch", torchlike)
            return _get_qualified_name(value) if value is not torchlike else "torch"
        if hint.partition(".")[0] == "builtins" or vars(builtins).get(hint) is value:
            return hint.rpartition(".")[2]
        name = self.namespace.create_name(hint, value)
        self.globals[name] = value
        return name

    def annotation(self, kind: Any) -> str:
        """Return a type as the code writes it."""
        if kind == ():
            return "()"
        if isinstance(kind, types.UnionType) and follows("unions are typing's"):
            kind = functools.reduce(lambda a, b: typing.Union[a, b], typing.get_args(kind))  # noqa: UP007
        if isinstance(kind, types.UnionType):
            return "|".join(map(self.annotation, typing.get_args(kind)))
        typename = _type_repr(kind)
        origin = getattr(kind, "__origin__", None)
        if origin is not None:
            if not isinstance(kind, types.GenericAlias):  # typing.List[int], not list[int]
                origin = _GENERICS.get(origin, origin)
            base = self.add_global(_type_repr(origin), origin)
            parts = [self.annotation(a) for a in getattr(kind, "__args__", ())]
            return f"{base}[{','.join(parts)}]" if parts else base
        return self.add_global(typename, kind)

    def argument(self, value: Any) -> str:
        return _argument(value, self.add_global)

    def arguments(self, args: Any, kwargs: Any) -> str:
        by_keyword = (f"{k} = {self.argument(v)}" for k, v in kwargs.items())
        return ", ".join([*map(self.argument, args), *by_keyword])

    def note(self, node: Node) -> str:
        """Return the text behind a node's name: its type, or what its value is."""
        if self.verbose:
            kind = _readable.kind_of(node.meta.get("val"), *self.shown)
            if kind:
                return f': "{kind}"'
        return "" if node.type is None else f" : {self.annotation(node.type)}"

    def emit(self, node: Node) -> None:
        note = self.note(node)
        if node.op == "placeholder":
            default = f" = {self.argument(node.args[0])}" if node.args else ""
            self.free.append(f"{node.target}{note}{default}")
            raw = node.target.replace("*", "")
            if raw != repr(node):
                self.body.append(f"{node!r} = {raw}\n")
        elif node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.annotation(node.type)}"
            self.codegen._text = self.argument  # which notes the global names that it needs
            self.body.append(self.codegen.generate_output(node.args[0] if node.args else None))
            self.codegen._text = _text
        elif node.op == "call_method":
            owner = _attribute(self.argument(node.args[0]), node.target)
            self.body.append(
                f"{node!r}{note} = {owner}({self.arguments(node.args[1:], node.kwargs)})"
            )
        elif node.op == "call_function":
            self.emit_function(node, note)
        else:
            where = _attribute(self.root, node.target)
            call = node.op == "call_module"
            called = f"({self.arguments(node.args, node.kwargs)})" if call else ""
            self.body.append(f"{node!r}{note} = {where}{called}")

    def emit_function(self, node: Node, note: str) -> None:
        target, args = node.target, node.args
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", None) == "_operator" and not node.kwargs:
            if name in magic_methods:
                text = magic_methods[name].format(*map(self.argument, args))
                self.body.append(f"{node!r}{note} = {text}")
                return
            if name in inplace_methods:
                text = inplace_methods[name].format(*map(self.argument, args))
                self.body.append(f"{text};  {node!r}{note} = {self.argument(args[0])}")
                return
        qualified = _get_qualified_name(target)
        if getattr(target, "__module__", None) == "_operator":
            qualified = f"_operator.{name}"
        name = self.add_global(qualified, target)
        if target is getattr and len(args) == 2 and str(args[1]).isidentifier():
            self.body.append(f"{node!r}{note} = {_attribute(self.argument(args[0]), args[1])}")
            return
        self.body.append(f"{node!r}{note} = {name}({self.arguments(args, node.kwargs)})")
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(name)


def _counted(body: list[str]) -> tuple[list[str], dict[int, int | None]]:
    """Return the lines of a body without the notes of nodes, and each line's node; the first is
    line 1."""
    lines: list[str] = []
    numbers: dict[int, int | None] = {}
    node = None
    for line in body:
        if note := _COUNTER.match(line.strip()):
            node = int(note[1])
        else:
            lines.append(line)
            numbers[len(lines)] = node
    return lines, numbers


def _attribute(base: str, target: str) -> str:
    """Return the source that reads an attribute by its path; numbers are no identifiers."""
    for part in target.split("."):
        text = f'"{part}"' if _PLAIN_PART.fullmatch(part) else repr(part)
        base = f"{base}.{part}" if part.isidentifier() else f"getattr({base}, {text})"
    return base


class _PyTreeInfo(NamedTuple):
    """How a function's arguments and result are flattened."""

    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """For functions of trees of tensors: arguments are flattened first, the result built last."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *args: Any, **kwargs: Any) -> Argument:
        return tuple(_pytree.tree_leaves((args, kwargs) if kwargs else args))

    def process_outputs(self, outputs: Any) -> Argument:
        if not isinstance(outputs, (list, tuple)):
            outputs = (outputs,)
        return _pytree.tree_unflatten(list(outputs), self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        if self.pytree_info is None:
            return super().gen_fn_def(free_vars, maybe_return_annotation)
        given = list(self.pytree_info.orig_args)
        plain = [v.partition("=")[0].partition(":")[0].strip() for v in free_vars if v != "self"]
        text = CodeGen.gen_fn_def(self, given, maybe_return_annotation)
        if plain:
            own = self.pytree_info.orig_args
            if own[:1] == ["self"]:  # a module is the first of its arguments
                plain.insert(0, "self")
            flat = f"fx_pytree.tree_flatten_spec({self._nested(own)}, self._in_spec)"
            text += f"\n    {', '.join(plain)}, = {flat}"
        return text

    def _nested(self, names: list[str]) -> str:
        """Write the arguments as the specification has them: in a list, or in a list and a
        dictionary."""
        spec = self.pytree_info.in_spec
        parts = spec.children() if spec.type is tuple and spec.num_children == 2 else []
        if [p.type for p in parts] != [tuple, dict]:
            return f"[{', '.join(names)}]"
        positional = names[: len(names) - len(parts[1].context)]
        named = zip(parts[1].context, names[len(positional) :], strict=True)
        return f"([{', '.join(positional)}], {{{', '.join(f'{k!r}:{n}' for k, n in named)}}})"

    def generate_output(self, output_args: Any, *args: Any, **kwargs: Any) -> str:
        if self.pytree_info is not None and self.pytree_info.out_spec is not None:
            return f"return pytree.tree_unflatten({self._text(output_args)}, self._out_spec)"
        return super().generate_output(output_args)

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("fx_pytree", _custom_builtins["fx_pytree"].obj), ("pytree", _pytree)]
