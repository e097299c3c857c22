"""A GraphModule as a package of Python: its source, and its state beside it."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

import torchlike
from torchlike import nn
from torchlike._runtime import whole_files

#: Modules whose text is a call that makes them.
_WRITTEN = (
    nn.Linear,
    nn.Conv1d,
    nn.Conv2d,
    nn.Conv3d,
    nn.BatchNorm1d,
    nn.BatchNorm2d,
    nn.BatchNorm3d,
)


def write_to_folder(module: Any, folder: Path, name: str, imports: str, source: str) -> None:
    """Write a module's package: ``module.py`` with a class ``name``, ``state_dict.pt``, and a file
    for each submodule that is not written as source.

    Args:
      module: the module.
      folder: where to; it is made if need be.
      name: the class.
      imports: lines that give the source its global names.
      source: the function ``forward``, after lines that stand outside of the class.
    """
    folder.mkdir(exist_ok=True)
    torchlike.save(module.state_dict(), folder / "state_dict.pt")
    lines, saved = [], []
    for child_name, child in module.named_children():
        if _is_written(child):
            lines.append(f"setattr(self, {child_name!r}, {child!r})")
            continue
        saved.append(child_name)
        torchlike.save(child, folder / f"{child_name}.pt")
        lines.append(
            f"setattr(self, {child_name!r}, torch.load("
            f"_here / {f'{child_name}.pt'!r}, weights_only=False))"
        )
    for own, tensor in module._buffers.items():
        if tensor is not None:
            lines.append(f"self.register_buffer({own!r}, {_empty(tensor)})")
    for own, tensor in module._parameters.items():
        if tensor is not None:
            made = f"torch.nn.Parameter({_empty(tensor)}, requires_grad={tensor.requires_grad})"
            lines.append(f"setattr(self, {own!r}, {made})")
    lines.append('self.load_state_dict(torch.load(_here / "state_dict.pt"))')
    outside, _, function = source.partition("def ")
    text = f"""\
from pathlib import Path as _Path

import torchlike as torch
from torchlike.nn import *
{imports}

_here = _Path(__file__).parent
{outside.strip()}


class {name}(torch.nn.Module):
    def __init__(self):
        super().__init__()
{_indented(lines, 8)}

{_indented(f"def {function}".splitlines(), 4)}
"""
    whole_files.write_text(folder / "module.py", text)
    whole_files.write_text(folder / "__init__.py", "from .module import *\n")
    if saved:
        warnings.warn(
            "Was not able to save the following children modules as reprs -saved as pickled files "
            f"instead: {saved}",
            stacklevel=3,
        )


def _is_written(module: Any) -> bool:
    """Return whether a module's text makes one like it: of the default dtype, with literals alone
    as arguments."""
    if type(module) not in _WRITTEN:
        return False
    if any(p.dtype is not torchlike.float32 for p in module.parameters()):
        return False
    call: Any = ast.parse(repr(module), mode="eval").body
    return not any(
        isinstance(part, ast.Name)
        for value in (*call.args, *call.keywords)
        for part in ast.walk(value)
    )


def _empty(tensor: Any) -> str:
    return f"torch.empty({list(tensor.shape)}, dtype={tensor.dtype})"


def _indented(lines: list[str], count: int) -> str:
    return "\n".join(" " * count + line if line.strip() else "" for line in lines)
