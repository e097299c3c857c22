"""What a checkpoint's own files may name: other files of its folder, and nothing outside of it.

An index comes with a checkpoint, from whoever made it. What it says is read as plain data, checked,
and refused in words that tell which file is damaged.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

#: The names that saves of this package give to files: of `filesystem` and of `hf_storage`. A save
#: removes no file of another name, whatever an index says.
OURS = re.compile(r"[0-9a-f]{12}(-\d{5,}-\d{5,}\.safetensors|-objects\.pt)", re.ASCII)
OURS_AS_HF = re.compile(r"model-\d{5,}-of-\d{5,}(-\d+)?\.safetensors", re.ASCII)


def damaged(path: Path, why: object) -> RuntimeError:
    """Return the error for a file that cannot be what a save wrote."""
    return RuntimeError(f"{path} is damaged: {why}")


def is_plain(name: Any) -> bool:
    """True for the name of a file, without a way to it."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")


def inside(folder: Path, name: Any, said_by: Path) -> Path:
    """Return the regular file of a folder that an index names. RuntimeError for another path, for a
    link that leads out of the folder, for what is not there and what is no file.

    The folders of Hugging Face's cache hold nothing but links, into the ``blobs`` beside them:
    these are followed.
    """
    if not is_plain(name):
        raise damaged(said_by, f"{name!r} is not the name of a file beside it")
    path = folder / name
    try:
        real = path.resolve(strict=True)
        kind = real.stat().st_mode
    except (OSError, RuntimeError) as error:
        raise damaged(said_by, f"it names {name}, which cannot be read ({error})") from None
    home = folder.resolve()
    snapshots = home.parent
    homes = [home, snapshots.parent / "blobs"] if snapshots.name == "snapshots" else [home]
    if real.parent not in homes:
        raise damaged(said_by, f"it names {name}, a link that leads out of the folder")
    if not stat.S_ISREG(kind):
        raise damaged(said_by, f"it names {name}, which is no file")
    return path


def read_json(path: Path) -> dict[str, Any]:
    """Return the dictionary that a file of JSON holds. RuntimeError for a damaged one."""
    try:
        said = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from None
    return dictionary(said, path, "it")


def dictionary(value: Any, path: Path, what: str) -> dict[str, Any]:
    """Return ``value``, a dictionary. RuntimeError for anything else."""
    if not isinstance(value, dict):
        raise damaged(path, f"{what} is no dictionary")
    return value


def sizes(value: Any, path: Path, what: str) -> tuple[int, ...]:
    """Return a list of whole numbers from 0 on as a tuple. RuntimeError for anything else."""
    if not (isinstance(value, list) and all(type(n) is int and n >= 0 for n in value)):
        raise damaged(path, f"{what} is no list of sizes")
    return tuple(value)
