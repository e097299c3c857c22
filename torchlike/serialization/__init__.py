"""``torch.save`` and ``torch.load``: PyTorch's checkpoint files without PyTorch.

Imports `_jit`, `nn`, `sparse` and below. Begin with ``load.py`` and ``save.py``. A checkpoint's
bytes become tensors so: ``weights.py`` unpickles without running code, and maps the names in the
file to what they are here (`known_globals`; ``allowed.py`` has what users allow beside it);
``storages.py`` reads the storages, ``rebuild.py`` makes tensors on them. ``stablehlo/`` has saved
programs.

A checkpoint is a zip archive with a pickle (``data.pkl``) in which storages are persistent ids, and
one raw little-endian file per storage. ``torch.serialization`` is this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from torchlike.serialization.allowed import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from torchlike.serialization.archives import (
    _is_zipfile,
    _open_zipfile_reader,
    _open_zipfile_writer,
)
from torchlike.serialization.in_memory import read as _read  # which is provided
from torchlike.serialization.load import load
from torchlike.serialization.locations import default_restore_location, location_tag
from torchlike.serialization.options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from torchlike.serialization.safe import load_safetensors, save_safetensors
from torchlike.serialization.save import DEFAULT_PROTOCOL, save
from torchlike.serialization.sources import SourceChangeWarning
from torchlike.serialization.unsafe_globals import get_unsafe_globals_in_checkpoint

#: What ``map_location`` may be.
MAP_LOCATION: TypeAlias = Callable[[Any, str], Any] | Any | str | dict[str, str] | None

__all__ = [
    "DEFAULT_PROTOCOL",
    "MAP_LOCATION",
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "load_safetensors",
    "location_tag",
    "safe_globals",
    "save",
    "save_safetensors",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
]
