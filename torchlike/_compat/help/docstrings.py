"""The docstring of an operation: the description at its definition, and around it what the
definition says by itself: arguments, result, errors, an example."""

from __future__ import annotations

import functools
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torchlike._compat.help import signatures
from torchlike._runtime.function_objects import first_of
from torchlike._runtime.homes import home
from torchlike._runtime.lazy import LazyModule

_tomllib: Any = LazyModule("tomllib")

WIDTH = 88
#: What begins a paragraph that stays as it was written, in the order of the whole.
SECTIONS = ("Args:", "Returns:", "Raises:", "Example:", "Differs from PyTorch")
#: Docstrings of what is refused say nothing else.
_REFUSED = "Not supported: "
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`(])")
#: An error in the prose of a description: ``IndexError for a dimension out of range``.
_ERROR = re.compile(r"(\w+Error) ((?:for|unless|when|where|if|as|outside|under) .+)", re.DOTALL)
#: A paragraph, of its own or in the description.
_DIFFERENCE = re.compile(r"Differs from PyTorch[:.]?\s*(?:-+\n\s*)?(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_CLAUSES = re.compile(r"[;,] (?=\w+Error (?:for|unless|when|where|if|as|outside|under) )")


@functools.cache
def _words() -> dict[str, Any]:
    return _tomllib.loads(_file("arguments.toml"))


@functools.cache
def _examples() -> dict[str, str]:
    return json.loads(_file("examples.json"))


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


def difference(doc: str) -> str:
    """Return what a docstring says under "Differs from PyTorch", on one line; "" where it says
    nothing of the kind."""
    found = _DIFFERENCE.search(doc)
    return " ".join(found.group(1).split()) if found else ""


def text(function: Callable[..., Any], description: str) -> str:
    """Return the whole docstring of a public operation, whose definition has the description."""
    description = inspect.cleandoc(description)
    if description.startswith(_REFUSED):
        return description
    prose, sections = _divided(description)
    prose, raised = _without_errors(prose)
    if is_in_place(function):
        prose.insert(1, "The result is written into the tensor itself, which is returned.")
    known = signatures.of(function)
    method = is_method(function)
    made = {
        "Args:": _entries("Args:", _arguments(function, known, method)),
        "Returns:": _entries("Returns:", [_result(known, prose[0])] if prose else []),
        "Raises:": _entries("Raises:", _errors(function, raised)),
        "Example:": example(function),
    }
    return _joined(prose, sections, made)


def of_class(cls: type, description: str) -> str:
    """Return the whole docstring of a public class, whose definition has the description: with what
    its arguments mean."""
    description = inspect.cleandoc(description)
    if description.startswith(_REFUSED) or "Args:" in description:
        return description
    prose, sections = _divided(description)
    own = _words()["classes_of"].get(cls.__name__, {})
    entries = []
    for p in inspect.signature(cls).parameters.values():
        if p.name.startswith("_") or p.name in ("args", "kwargs", "others"):
            continue
        words = own.get(p.name) or _words()["classes"].get(p.name, "")
        default = "" if p.default is p.empty else f" (default {p.default!r})"
        entries.append(f"{p.name}{default}" + (f": {words}." if words else ""))
    made = {"Args:": _entries("Args:", entries), "Example:": example(cls)}
    return _joined(prose, sections, made)


def _joined(prose: list[str], sections: dict[str, str], made: dict[str, str]) -> str:
    parts = [*prose, *(sections.get(s) or made.get(s, "") for s in SECTIONS)]
    return "\n\n".join(part for part in parts if part)


def _divided(description: str) -> tuple[list[str], dict[str, str]]:
    """Return the paragraphs of a description, and by their heads its sections."""
    prose: list[str] = []
    sections: dict[str, str] = {}
    current: str | None = None
    for paragraph in description.split("\n\n"):
        head = next((s for s in SECTIONS if paragraph.startswith(s)), None)
        if head is not None:
            current = head
            sections[head] = paragraph
        elif current is not None and paragraph.startswith(" "):
            sections[current] += "\n\n" + paragraph
        else:
            prose.append(paragraph)
    return prose, sections


def is_in_place(function: Callable[..., Any]) -> bool:
    """Return whether it is the in-place form of an op."""
    spec = getattr(function, "spec", None)
    return spec is not None and first_of(function) is first_of(spec.in_place)


def is_method(function: Callable[..., Any]) -> bool:
    """Return whether it is a method of Tensor."""
    return function.__qualname__.startswith("Tensor.")


def argument_words(function: Callable[..., Any], parameter: str) -> str:
    """Return what a parameter means, or "" where the table does not know it."""
    name = first_of(function).__name__
    own = _words()["of"].get(name.rstrip("_") or name, {})
    return own.get(parameter) or _words()["names"].get(parameter, "")


def example(function: Callable[..., Any]) -> str:
    """Return the example of an operation that has none at its definition; "" if there is none."""
    known = _examples()
    name = first_of(function).__name__
    place = home(function).removeprefix("torchlike").lstrip(".")
    found = known.get(f"{place}.{name}".lstrip(".")) or known.get(name, "")
    return "Example:\n" + textwrap.indent(found, "  ") if found else ""


def _entries(head: str, entries: list[str]) -> str:
    if not entries:
        return ""
    wrapped = [
        textwrap.fill(
            entry,
            WIDTH,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for entry in entries
    ]
    return "\n".join([head, *wrapped])


def _arguments(
    function: Callable[..., Any], known: signatures.TypedSignature, method: bool
) -> list[str]:
    parameters = list(known.parameters)
    if method:
        first_is_self = parameters and not parameters[0].prefix
        parameters = [p for p in parameters[int(bool(first_is_self)) :] if p.name != "out"]
    made = []
    for p in parameters:
        if p.name.startswith("_"):
            continue
        kind = "" if p.type == "Any" else p.type.replace("torchlike.", "")
        default = "" if p.default in (None, "...") else f"default {p.default}"
        inner = ", ".join(part for part in (kind, default) if part)
        words = argument_words(function, p.name)
        head = f"{p.prefix}{p.name}" + (f" ({inner})" if inner else "")
        made.append(f"{head}: {words}." if words else head)
    return made


def _result(known: signatures.TypedSignature, summary: str) -> str:
    first = " ".join(_SENTENCE.split(summary.strip())[0].split()).rstrip(".:")
    verb, _, rest = first.partition(" ")
    kind = "" if known.returns == "Any" else known.returns
    words = rest if verb == "Return" else ""
    return ": ".join(part for part in (kind, words) if part) or "what is said above"


def _without_errors(paragraphs: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Take the sentences that speak of errors out of prose; return the rest, and the errors."""
    kept, raised = [], []
    for paragraph in paragraphs:
        sentences = _SENTENCE.split(paragraph)
        plain = [s for s in sentences if not _ERROR.match(s)]
        for sentence in sentences:
            if _ERROR.match(sentence):
                raised += _clauses(sentence)
        if plain:
            joined = " ".join(plain)
            refill = len(plain) != len(sentences) and not re.search(r"\n[ *|-]", joined)
            kept.append(textwrap.fill(" ".join(joined.split()), WIDTH + 12) if refill else joined)
    return kept, raised


def _clauses(sentence: str) -> Iterator[tuple[str, str]]:
    for clause in _CLAUSES.split(" ".join(sentence.split()).removesuffix(".")):
        found = _ERROR.match(clause)
        assert found is not None
        yield found[1], found[2]


def _errors(function: Callable[..., Any], raised: list[tuple[str, str]]) -> list[str]:
    found = [f"{name}: {words}." for name, words in raised]
    if hasattr(function, "spec") and "TypeError" not in dict(raised):
        found.append("TypeError: for an argument of another type.")
    return found
