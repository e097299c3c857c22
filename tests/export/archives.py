"""Files of torch.export and torch.jit, changed by hand."""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import torchlike as torch


class Model(torch.nn.Module):
    """State, a branch, sizes, two results, a keyword."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Any, *, scale: float = 1.0) -> Any:
        y = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))
        return {"y": self.linear(y) * scale, "parts": x.split(1)}


@functools.cache
def exported() -> bytes:
    """A file of torch.export."""
    file = io.BytesIO()
    torch.export.save(torch.export.export(Model(), (torch.ones(2, 3),), {"scale": 2.0}), file)
    return file.getvalue()


@functools.cache
def scripted() -> bytes:
    """A file of torch.jit."""
    file = io.BytesIO()
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    torch.jit.save(torch.jit.trace(model, (torch.ones(2, 3),)), file)
    return file.getvalue()


def changed(whole: bytes, record: str, change: Callable[[bytes], bytes]) -> bytes:
    """The archive with one record changed, its checksums right."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == record else old.read(name))
    return made.getvalue()


def with_program(change: Callable[[Any], Any]) -> io.BytesIO:
    """A file of torch.export whose plain data a function changes in place."""

    def edit(text: bytes) -> bytes:
        said = json.loads(text)
        change(said["program"])
        return json.dumps(said).encode()

    return io.BytesIO(changed(exported(), "format.json", edit))
