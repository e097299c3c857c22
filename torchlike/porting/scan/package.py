"""What this package says of a name of PyTorch's: asked of the package itself, never of a list."""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import textwrap
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import torchlike
from torchlike._compat.help.docstrings import difference
from torchlike._core.dispatch.argument_names import SYNONYMS
from torchlike._runtime.homes import home
from torchlike.porting.hints import instead

_REFUSED = "Not supported: "
#: Attributes that Python gives to everything.
_PYTHONS = re.compile(r"__\w+__")
#: What operators of the user's and of other libraries are below.
_OPERATORS = re.compile(r"torch\.(ops|classes)\.(?!aten\.)")


@dataclass(frozen=True)
class Fact:
    """What is known of a name."""

    kind: str
    says: str = ""
    found: Any = None


@functools.cache
def look_up(name: str) -> Fact | None:
    """Look up the fact about ``torch.a.b``; None where it cannot be told before a program runs."""
    if _OPERATORS.match(name) or _PYTHONS.fullmatch(name.rpartition(".")[2]):
        return None
    found: Any = torchlike
    parts = name.split(".")[1:]
    for i, part in enumerate(parts):
        try:
            found = _child(found, part, parts[:i])
        except NotImplementedError as error:
            return Fact("missing", str(error))
        except ModuleNotFoundError as error:  # an extra that is not installed
            return Fact("supported", f"needs {error.name}")
        except AttributeError:
            if not isinstance(found, (ModuleType, type)):
                return None  # an attribute of a value
            return Fact(
                "missing",
                f"torchlike has no {'.'.join(['torch', *parts[: i + 1]])}: {_advice(name)}.",
            )
        if str(getattr(found, "__doc__", None)).startswith(_REFUSED):
            break  # so is all that it would have
    return _judged(found)


#: Packages of devices that other libraries put into torch: PyTorch by itself has none of them.
DEVICES = frozenset(("hpu", "mlu", "musa", "neuron", "npu", "privateuseone", "sdaa", "xmlir"))


def _advice(name: str) -> str:
    """Say what to do about a name that is not there."""
    parts = name.split(".")[1:]
    if parts[0] in DEVICES:
        return f"the library of that device has it; ask hasattr(torch, {parts[0]!r}) first"
    if any(part.startswith("_") for part in parts):
        return "it is private to PyTorch; do without, or ask hasattr first"
    return instead(name)


def _child(found: Any, part: str, before: list[str]) -> Any:
    if isinstance(found, ModuleType):
        path = ".".join(["torchlike", *before, part])
        try:
            return getattr(found, part)
        except AttributeError:
            if path.endswith((".as_torch", ".__main__", ".at_start")):  # which act
                raise
        try:
            return importlib.import_module(path)
        except ModuleNotFoundError as error:
            if error.name is not None and not error.name.startswith("torchlike"):
                raise
            raise AttributeError(part) from None
    if isinstance(found, type):
        for cls in found.__mro__:
            if part in inspect.get_annotations(cls) or part in _assigned(cls):
                return inspect.getattr_static(found, part, None)
    return getattr(found, part)


@functools.cache
def _assigned(cls: type) -> frozenset[str]:
    """Return the attributes that a class of ours gives its instances: ``self.name = ...`` in its
    source."""
    if not home(cls).startswith("torchlike"):
        return frozenset()
    try:
        source = inspect.getsource(cls)
    except (OSError, TypeError):
        return frozenset()
    return frozenset(re.findall(r"\bself\.(\w+)\b(?:\s*:[^=\n]+)?\s*=[^=]", source)) | frozenset(
        re.findall(r"register_(?:buffer|parameter)\(\s*[\"'](\w+)", source)
    )


def _judged(found: Any) -> Fact:
    doc = inspect.getdoc(found) or "" if not isinstance(found, ModuleType) else ""
    if not isinstance(doc, str):
        doc = ""
    if isinstance(found, type) and "__init__" in found.__dict__:
        doc += "\n\n" + (inspect.getdoc(found.__init__) or "")  # type: ignore[misc]
    if doc.startswith(_REFUSED):
        return Fact("missing", " ".join(doc.removeprefix(_REFUSED).split()), found)
    refusal = _only_raises(found)
    if refusal is not None:
        return Fact("missing", refusal, found)
    said = difference(doc)
    if said:
        return Fact("differs", re.split(r"(?<=\.)\s", said, maxsplit=1)[0], found)
    return Fact("supported", "", found)


def _only_raises(found: Any) -> str | None:
    """Return the message of a function that does nothing but raise NotImplementedError; None for
    others."""
    if not isinstance(found, FunctionType) or "NotImplementedError" not in found.__code__.co_names:
        return None
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(found)))
    except (OSError, SyntaxError, TypeError):
        return None
    if not tree.body or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    body = [n for n in tree.body[0].body if not _is_text(n)]
    if len(body) == 1 and isinstance(body[0], ast.Raise) and isinstance(body[0].exc, ast.Call):
        said = body[0].exc.args
        if said and isinstance(said[0], ast.Constant):
            return str(said[0].value)
        return f"{found.__qualname__} is not supported"
    return None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@functools.cache
def keywords(name: str) -> frozenset[str] | None:
    """Return the keyword arguments that a function or class takes; None where it takes any, or
    where its signature does not say."""
    fact = look_up(name)
    if fact is None or fact.kind == "missing" or not callable(fact.found):
        return None
    found = fact.found
    spec = getattr(found, "spec", None)
    if spec is not None:
        return frozenset((*spec.schema.index, *SYNONYMS, "out"))
    if isinstance(found, type):
        if found.__init__ is object.__init__ or found.__new__ is not object.__new__:
            return None
        if type(found).__call__ is not type.__call__:  # Parameter, Variable and kin
            return None
        found = found.__init__
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    taken = {p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY}
    if hasattr(found, "__wrapped__") or not isinstance(found, FunctionType):
        taken |= {*SYNONYMS, *getattr(found, "other_names", ())}
    return frozenset(taken)
