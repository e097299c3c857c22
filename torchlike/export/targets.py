"""What the graph of a file may name: operators, a closed list of functions, attributes of its own.

A loaded graph becomes source that is compiled. So names are identifiers or refused, and a name
leads to what the tables here hold or to nothing: no attribute of a module is looked up by it.
"""

from __future__ import annotations

import keyword
import math
import operator
from collections.abc import Iterable
from typing import Any

from torchlike._compat import symbolic
from torchlike._core import devices, dtypes, layouts
from torchlike._ops.aten import custom
from torchlike.ops._aten.packets import is_operator
from torchlike.tensor import Tensor

_OPERATOR_TEXT = """
add sub mul floordiv truediv mod pow neg pos abs eq ne lt le gt ge and_ or_ xor invert lshift
rshift not_ truth is_ is_not index getitem
"""
_MATH_TEXT = """
ceil floor trunc sqrt pow exp log log2 log10 sin cos tan asin acos atan sinh cosh tanh fabs
"""
#: Functions that a graph calls beside operators: those of sizes, and parts of results.
FUNCTIONS: dict[str, dict[str, Any]] = {
    "operator": {name: getattr(operator, name) for name in _OPERATOR_TEXT.split()},
    "math": {name: getattr(math, name) for name in _MATH_TEXT.split()},
    "symbolic": {
        name: getattr(symbolic, name)
        for name in (
            "sym_int",
            "sym_float",
            "sym_max",
            "sym_min",
            "sym_not",
            "sym_ite",
            "sym_sum",
            "sym_sqrt",
        )
    },
}
#: Operators that do more than compute: this one maps a file, and may make it.
_NOT_FROM_FILES = ("from_file",)


def written(target: Any) -> list[str]:
    """Return the names by which a file knows a function of a graph. Raises NotImplementedError for
    one that a file cannot name."""
    if isinstance(target, custom.OpOverload):
        return ["ops", target.namespace, target.operator.name, target._overloadname]
    if isinstance(target, custom.HigherOrderOperator):
        return ["ops", "higher_order", target.name()]
    for home, functions in FUNCTIONS.items():
        for name, function in functions.items():
            if function is target:
                return [home, name]
    raise NotImplementedError(f"{target} in a file: only operators and functions of sizes")


def read(path: Any) -> Any:
    """Return the function of those names. Raises RuntimeError where there is none."""
    if not isinstance(path, list) or not all(isinstance(name, str) for name in path):
        raise RuntimeError(f"a graph of a file calls {path!r}, which is no path of names")
    home, *names = path
    found = (
        _operator(*names)
        if home == "ops" and len(names) in (2, 3)
        else (FUNCTIONS.get(home, {}).get(names[0]) if len(names) == 1 else None)
    )
    if found is None:
        raise RuntimeError(
            f"the program calls {'.'.join(path)}, which is not known here: import what defines "
            "it before the program is loaded"
        )
    return found


def _operator(namespace: str, name: str, overload: str | None = None) -> Any:
    if not custom.exists(namespace):
        return None
    space = custom.find(namespace)
    if namespace == "aten":
        packet = getattr(space, name) if _is_atens(name) else None
    else:
        packet = vars(space).get(name)
    if overload is None:
        return packet if isinstance(packet, custom.HigherOrderOperator) else None
    if not isinstance(packet, custom.OpOverloadPacket) or overload not in packet.overloads():
        return None
    return getattr(packet, overload)


def _is_atens(name: str) -> bool:
    """True if aten has an operator of that name, which files may call."""
    return is_operator(name) and name not in _NOT_FROM_FILES


def method(name: Any) -> str:
    """Return the name of a method of tensors that is an operator of aten's. Raises RuntimeError for
    another name."""
    known = isinstance(name, str) and not name.startswith("_") and _is_atens(name)
    if not known or not callable(getattr(Tensor, name, None)):
        raise RuntimeError(
            f"a graph of a file calls the method {name!r}, which tensors do not have"
        )
    return name


def identifier(name: Any) -> str:
    """Return a name that may stand in source. Raises RuntimeError for another."""
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise RuntimeError(f"a graph of a file names {name!r}, which is no identifier")
    if name.startswith("__") or name == "self":
        raise RuntimeError(f"a graph of a file names {name!r}, which is Python's own")
    return name


def one_of(name: Any, names: Iterable[str], what: str) -> str:
    """Return a name that is among those. Raises RuntimeError for another."""
    if name not in names:
        raise RuntimeError(f"a graph of a file names {name!r}, which is no {what} of the program")
    return name


_LAYOUTS = {x._name: x for x in vars(layouts).values() if isinstance(x, layouts.layout)}
_FORMATS = {x._name: x for x in vars(layouts).values() if isinstance(x, layouts.memory_format)}
_DTYPES = {
    str(d).removeprefix("torch."): d for d in vars(dtypes).values() if isinstance(d, dtypes.dtype)
}

#: Values of nodes beside plain ones: what they are called, the class, and how they are written.
NAMED: dict[str, tuple[type, Any, Any]] = {
    "dtype": (dtypes.dtype, lambda d: str(d).removeprefix("torch."), _DTYPES.__getitem__),
    "device": (devices.device, str, devices.device),
    "layout": (layouts.layout, lambda x: x._name, _LAYOUTS.__getitem__),
    "memory_format": (layouts.memory_format, lambda x: x._name, _FORMATS.__getitem__),
    "complex": (complex, lambda c: [c.real, c.imag], lambda c: complex(*c)),
}
