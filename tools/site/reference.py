"""The reference: a page for each public module, with the signature and text of every name."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
import types
from collections.abc import Iterator
from typing import Any

from tools.site import differences
from torchlike._compat.help import signatures

#: The modules whose names users write. `Tensor` has a page of its own.
MODULES = (
    "torchlike",
    "torchlike.nn",
    "torchlike.nn.functional",
    "torchlike.nn.init",
    "torchlike.nn.utils",
    "torchlike.nn.utils.rnn",
    "torchlike.nn.utils.parametrize",
    "torchlike.nn.utils.parametrizations",
    "torchlike.nn.utils.prune",
    "torchlike.nn.utils.stateless",
    "torchlike.nn.parallel",
    "torchlike.nn.attention",
    "torchlike.nn.attention.flex_attention",
    "torchlike.optim",
    "torchlike.optim.lr_scheduler",
    "torchlike.optim.swa_utils",
    "torchlike.autograd",
    "torchlike.autograd.forward_ad",
    "torchlike.autograd.functional",
    "torchlike.autograd.graph",
    "torchlike.func",
    "torchlike.linalg",
    "torchlike.fft",
    "torchlike.special",
    "torchlike.signal.windows",
    "torchlike.sparse",
    "torchlike.nested",
    "torchlike.masked",
    "torchlike.random",
    "torchlike.distributions",
    "torchlike.distributions.constraints",
    "torchlike.distributions.transforms",
    "torchlike.utils.data",
    "torchlike.utils.checkpoint",
    "torchlike.utils.dlpack",
    "torchlike.utils.tensorboard",
    "torchlike.amp",
    "torchlike.compiler",
    "torchlike.jit",
    "torchlike.export",
    "torchlike.fx",
    "torchlike.library",
    "torchlike.overrides",
    "torchlike.interop",
    "torchlike.testing",
    "torchlike.testing.strategies",
    "torchlike.distributed",
    "torchlike.distributed.tensor",
    "torchlike.distributed.tensor.parallel",
    "torchlike.distributed.fsdp",
    "torchlike.distributed.checkpoint",
    "torchlike.distributed.device_mesh",
    "torchlike.distributed.pipelining",
    "torchlike.multiprocessing",
    "torchlike.profiler",
    "torchlike.hub",
    "torchlike.onnx",
    "torchlike.backends",
    "torchlike.accelerator",
    "torchlike.cpu",
    "torchlike.cuda",
    "torchlike.mps",
    "torchlike.xpu",
)


def names(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the functions and classes of torchlike's that a module makes public, by name.

    Of a name that PyTorch has in several modules, such as ``torch.autograd.no_grad``, each has it.
    """
    for name in sorted(getattr(module, "__all__", None) or dir(module)):
        if name.startswith("_"):
            continue
        value = getattr(module, name, None)
        if not (callable(value) or inspect.isclass(value)):
            continue
        if str(getattr(value, "__module__", "")).startswith("torchlike"):
            yield name, value


def undocumented() -> list[str]:
    """Return the public functions and classes that say nothing of themselves."""
    missing = []
    for path in MODULES:
        for name, value in names(importlib.import_module(path)):
            said = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
            if not (said or "").strip():
                missing.append(f"{path}.{name}")
    return missing


def pages() -> dict[str, str]:
    """Return the Markdown of every page, by its path in the site."""
    made = {f"reference/{path}.md": _page(path) for path in MODULES}
    made["reference/torchlike.Tensor.md"] = _tensor()
    made["reference/differs.md"] = differences.page(_listed(), _escaped)
    modules = [*MODULES[:1], "torchlike.Tensor", *MODULES[1:]]
    lines = [f"- [`{path}`]({path}.md): {_first_line(path)}" for path in modules]
    made["reference/index.md"] = (
        "# Reference\n\nEvery public name, as its own documentation has it. "
        "Where a name differs from PyTorch's, its text ends with what differs: "
        "[all of it on one page](differs.md).\n\n" + "\n".join(lines) + "\n"
    )
    return made


def _first_line(path: str) -> str:
    if path == "torchlike.Tensor":
        return "methods and attributes of tensors."
    return prose(inspect.getdoc(importlib.import_module(path)) or "").split("\n\n")[0]


def _page(path: str) -> str:
    module = importlib.import_module(path)
    parts = [f"# {path}", prose(inspect.getdoc(module) or "")]
    parts += [entry(name, value) for name, value in names(module)]
    return "\n\n".join(parts) + "\n"


def _tensor() -> str:
    tensor = importlib.import_module("torchlike").Tensor
    parts = ["# torchlike.Tensor", prose(inspect.getdoc(tensor) or "")]
    for name, value in _members(tensor):
        if isinstance(value, property):
            parts.append(f"## {name}\n\n{prose(inspect.getdoc(value) or '')}")
        else:
            parts.append(entry(name, value))
    return "\n\n".join(parts) + "\n"


def _members(tensor: type) -> Iterator[tuple[str, Any]]:
    """Yield the properties and methods of a tensor, by name."""
    for name in sorted(dir(tensor)):
        value = inspect.getattr_static(tensor, name, None)
        if name.startswith("_") or value is None:
            continue
        if isinstance(value, property):
            yield name, value
        elif callable(getattr(tensor, name)):
            yield name, getattr(tensor, name)


def _listed() -> list[tuple[str, list[tuple[str, Any]]]]:
    """Return every page's names; a tensor's come last, for most are functions' too."""
    found = [(path, list(names(importlib.import_module(path)))) for path in MODULES]
    return [
        *found,
        ("torchlike.Tensor", list(_members(importlib.import_module("torchlike").Tensor))),
    ]


def entry(name: str, value: Any) -> str:
    """Return a heading, the signature and the text of a function or class."""
    return f"## {name}\n\n```text\n{_signature(name, value)}\n```\n\n{prose(_text(value))}"


def _text(value: Any) -> str:
    """Return the documentation of its own, not the one a class inherits."""
    said = value.__dict__.get("__doc__") if inspect.isclass(value) else value.__doc__
    return inspect.cleandoc(said or "")


def _signature(name: str, value: Any) -> str:
    if not inspect.isclass(value) and hasattr(value, "spec"):
        return f"{name}({', '.join(p.name for p in signatures.of(value).parameters)})"
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):  # a class of tables, or of C
        return name
    shown = [
        p.replace(annotation=p.empty, default=p.default if _is_short(p.default) else ...)
        for p in found.parameters.values()
    ]
    line = f"{name}{found.replace(parameters=shown, return_annotation=found.empty)}"
    return "\n".join(textwrap.wrap(line, 78, subsequent_indent="    ", break_long_words=False))


def _is_short(default: Any) -> bool:
    return default is inspect.Parameter.empty or " at 0x" not in repr(default)


def prose(text: str) -> str:
    """Write a docstring as Markdown: code in single backticks, signs of Markdown in words
    escaped."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.splitlines()
        if all(line.startswith("    ") for line in lines):
            blocks.append(f"```text\n{inspect.cleandoc(block)}\n```")
        elif len(lines) > 1 and re.fullmatch(r"[A-Z][\w ]*:", lines[0]):
            blocks.append(_section(lines[0], textwrap.dedent("\n".join(lines[1:]))))
        else:
            blocks.append(_escaped(block))
    return "\n\n".join(blocks)


def _section(head: str, body: str) -> str:
    """Write ``Args:`` and its kin as a list with an entry for each line that is not further
    indented, and ``Example:`` as code."""
    if ">>> " in body:
        return f"**{head}**\n\n```pycon\n{body}\n```"
    entries = re.split(r"\n(?=\S)", body)
    listed = "\n".join(f"- {_escaped(' '.join(e.split()))}" for e in entries)
    return f"**{head}**\n\n{listed}"


def _escaped(block: str) -> str:
    pieces = re.split(r"(``.+?``|`[^`\n]+`)", block, flags=re.DOTALL)
    for i, piece in enumerate(pieces):
        if i % 2:
            pieces[i] = f"`{piece.strip('`')}`"
        else:
            pieces[i] = re.sub(r"([*_<>\[\]#|])", r"\\\1", piece)
    return "".join(pieces)
