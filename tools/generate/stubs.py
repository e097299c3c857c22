"""Type stubs, so that editors complete ``x.softmax(`` and know its arguments."""

from __future__ import annotations

import ast
import keyword
import re
import types
from pathlib import Path
from typing import Any

from torchlike._compat.help import signatures
from torchlike._compat.places import at_root, module_of

#: Names that functions, methods or dtypes of PyTorch's hide are imported as ``_name``.
_HIDDEN = {
    "builtins": (
        "bool",
        "bytes",
        "complex",
        "dict",
        "float",
        "int",
        "list",
        "object",
        "set",
        "str",
        "tuple",
        "type",
    ),
    "torchlike._core.devices": ("device",),
    "torchlike._core.dtypes": ("dtype",),
    "torchlike._core.layouts": ("layout", "memory_format"),
    "torchlike._core.size": ("Size",),
}
HEADER = (
    "# Made by `python -m tools.generate` from the registry. Do not edit.\n"
    + "".join(
        f"from {module} import {', '.join(f'{n} as _{n}' for n in names)}\n"
        for module, names in _HIDDEN.items()
    )
    + """from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike.random import Generator as Generator
from torchlike.tensor import Tensor as Tensor

Number = _bool | _int | _float | _complex
"""
)
_TYPE = re.compile(rf"(?<![\w.])({'|'.join(n for names in _HIDDEN.values() for n in names)})\b")
#: Modules that are called like functions, which no type says.
_CALLABLE_MODULES = ("jit",)
#: Functions of the command that the package gives on demand.
_COMMANDS = ("bench", "plan")


def _definition(name: str, function: Any, *, method: bool = False, indent: str = "") -> str:
    signature = signatures.of(function)
    returns = signature.returns
    if method and returns == "Any" and name.startswith("__"):
        returns = "Tensor"  # the operators
    first = signature.doc.split("\n\n")[0].replace("\\", "\\\\").replace('"""', "'''")
    body = f'\n{indent}    """{first}"""' if first else " ..."
    if first.endswith('"'):
        body = f'\n{indent}    """{first} """'
    parameters = signature.text(_hidden, method=method)
    return f"{indent}def {name}({parameters}) -> {_hidden(returns)}:{body}\n"


def _hidden(annotation: str) -> str:
    return _TYPE.sub(r"_\1", annotation)


def functions(table: dict[str, Any]) -> str:
    """Return the stub of a module that holds nothing but registered functions."""
    parts = [HEADER, *(f"{name}: type\n" for name, v in table.items() if isinstance(v, type))]
    for name, function in signatures.public(table):
        if not keyword.iskeyword(name):
            parts.append(_definition(name, function))
    return "\n".join(parts)


def methods(cls: type, source: Path) -> str:
    """Return the stub of the methods that the registry installs on Tensor."""
    own = _defined(ast.parse(source.read_text()), cls.__name__)
    parts = [HEADER, "class TensorMethods:\n", "    def __hash__(self) -> _int: ...\n"]
    for name in sorted(set(vars(cls)) - own):
        value = vars(cls)[name]
        private = name.startswith("_") and not name.startswith("__")
        if private or keyword.iskeyword(name):
            continue
        if isinstance(value, types.FunctionType):
            text = _definition(name, value, method=True, indent="    ")
            if name in ("__eq__", "__ne__"):  # element by element, where object's give a bool
                text = text.replace(": ...", ": ...  # type: ignore[override]", 1)
            parts.append(text)
        elif isinstance(value, property):
            parts.append(f"    @property\n    def {name}(self) -> Any: ...\n")
    return "\n".join(parts)


def _defined(module: ast.Module, cls: str) -> set[str]:
    """Return the names that the body of a class defines."""
    body = next(n.body for n in module.body if isinstance(n, ast.ClassDef) and n.name == cls)
    found = {n.name for n in body if isinstance(n, ast.FunctionDef)}
    for n in body:
        targets = (
            n.targets
            if isinstance(n, ast.Assign)
            else ([n.target] if isinstance(n, ast.AnnAssign) else [])
        )
        found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def package(module: types.ModuleType, source: Path, table: dict[str, Any]) -> str:
    """Return the stub of the package: what its source imports by name or on demand, and the
    registered functions."""
    imports = [f"from torchlike import {name} as {name}" for name in module._LATER - at_root()]
    imports += [f"from torchlike.porting.{name} import {name} as {name}" for name in _COMMANDS]
    imports += [f"from torchlike.{name} import _CallableModule" for name in _CALLABLE_MODULES]
    made = []  # of modules that are made of names
    for place in at_root():
        room, _, name = (module_of(place) or "").rpartition(".")
        if room:
            imports.append(f"from {room} import {name} as {place}")
        else:
            made.append(place)
    for node in ast.parse(source.read_text()).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            skip = (*_CALLABLE_MODULES, "Tensor", "Generator")
            if alias.asname is None and alias.name not in skip:
                imports.append(f"from {node.module} import {alias.name} as {alias.name}")
    dtypes = sorted(n for n, v in vars(module).items() if isinstance(v, module.dtype))
    parts = [HEADER, "\n".join(sorted(set(imports))) + "\n", "newaxis: None\n"]
    parts.append("\n".join(f"{name}: _dtype" for name in dtypes) + "\n__version__: str\n")
    parts += [f"{name}: _CallableModule\n" for name in _CALLABLE_MODULES]
    parts += [f"{name}: Any\n" for name in sorted(made)]
    known = set(dtypes) | {line.rpartition(" ")[2] for line in imports}
    for name, function in signatures.public(table):
        if name not in known and not keyword.iskeyword(name):
            parts.append(_definition(name, function))
    return "\n".join(parts)
