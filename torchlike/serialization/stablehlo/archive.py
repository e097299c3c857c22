"""The file of an exported program: a zip with plain data, StableHLO and weights.

format.json           what kind of file, its version
programs.json         each program's description
program_0.forward     jax.export's serialization (StableHLO, versioned by JAX)
program_0.backward
weights.pt            a state_dict in PyTorch's format
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Sequence
from typing import Any

from torchlike._runtime import whole_files
from torchlike.serialization import load as load_tensors
from torchlike.serialization import save as save_tensors
from torchlike.serialization.damage import first_records, named, reading
from torchlike.serialization.stablehlo.artifact import Artifact, deserialized, serialized

#: Of files of StableHLO, of those that hold a graph in its place, and of those whose programs check
#: values, which older readers refuse.
OF_STABLEHLO, WITH_A_GRAPH, WITH_CHECKS = 1, 2, 3


def write(
    f: Any,
    kind: str,
    about: dict[str, Any],
    artifacts: Sequence[Artifact],
    tensors: dict[str, Any],
    extra_files: dict[str, Any] | None = None,
    version: int = OF_STABLEHLO,
) -> None:
    """Write to a path or a binary file; what a path held stays until all is written."""
    if any(a.checks is not None for a in artifacts):
        version = WITH_CHECKS
    with whole_files.opened(f) as file, zipfile.ZipFile(file, "w") as z:
        z.writestr("format.json", json.dumps({"kind": kind, "version": version, **about}))
        z.writestr("programs.json", json.dumps([a.about for a in artifacts]))
        for i, a in enumerate(artifacts):
            z.writestr(f"program_{i}.forward", serialized(a.forward))
            if a.backward is not None:
                z.writestr(f"program_{i}.backward", serialized(a.backward))
        weights = io.BytesIO()
        save_tensors(tensors, weights)
        z.writestr("weights.pt", weights.getvalue())
        for name, content in (extra_files or {}).items():
            z.writestr(f"extra/{name}", content)


def read(
    f: Any, kind: str, extra_files: dict[str, Any] | None = None
) -> tuple[dict[str, Any], list[Artifact], dict[str, Any]]:
    """Read a path or a binary file: description, programs, tensors; ``extra_files`` is filled.

    RuntimeError for a file of another kind or a newer version, one of PyTorch's own, one that is
    damaged, and one whose program calls what files may not call.
    """
    with reading(f):
        return _read(f, kind, extra_files)


class _Part(io.BytesIO):
    """A record of an archive, with a name for messages."""

    name = ""


def _read(
    f: Any, kind: str, extra_files: dict[str, Any] | None
) -> tuple[dict[str, Any], list[Artifact], dict[str, Any]]:
    try:
        z = zipfile.ZipFile(os.fspath(f) if isinstance(f, (str, os.PathLike)) else f)
    except zipfile.BadZipFile as error:
        raise RuntimeError(
            f"{named(f)} is damaged, or no {kind} file: it is no zip archive"
        ) from error
    with z:
        records = first_records(z)
        if "format.json" not in records:
            raise RuntimeError(
                f"{named(f)} was not saved by torchlike ({kind}). TorchScript and export files of "
                "PyTorch hold its own code; load the weights (torch.save(model.state_dict())) into "
                "a model."
            )

        def content(name: str) -> bytes:
            return z.read(records[name])

        about = json.loads(content("format.json"))
        if about["kind"] != kind or about["version"] > WITH_CHECKS:
            raise RuntimeError(
                f"{named(f)} is a {about['kind']} file of version {about['version']}; this reads "
                f"{kind} files up to version {WITH_CHECKS}"
            )
        descriptions = json.loads(content("programs.json"))
        names = [
            f"program_{i}.{half}"
            for i in range(len(descriptions))
            for half in ("forward", "backward")
        ]
        programs = dict.fromkeys(names)
        there = [name for name in names if name.endswith(".forward") or name in records]
        programs.update(zip(there, deserialized([content(n) for n in there]), strict=True))
        artifacts = [
            Artifact(about, programs[f"program_{i}.forward"], programs[f"program_{i}.backward"])
            for i, about in enumerate(descriptions)
        ]
        weights = _Part(content("weights.pt"))
        weights.name = f"{named(f)}, weights.pt"
        tensors = load_tensors(weights, weights_only=True)
        for name in extra_files or {}:
            if f"extra/{name}" in records:
                extra_files[name] = content(f"extra/{name}")  # type: ignore[index]
    return about, artifacts, tensors
