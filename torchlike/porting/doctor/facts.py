"""What there is: versions, devices, threads, caches, each torch and each torchlike."""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from importlib.metadata import (
    PackageNotFoundError,
    distribution,
    distributions,
    requires,
    version,
)
from pathlib import Path
from typing import Any

import jax

import torchlike
from torchlike._runtime import xla_flags
from torchlike._runtime.environment_variables import ALL, SECRET
from torchlike.porting.aliases import AliasFinder
from torchlike.porting.plan.topologies import missing
from torchlike.porting.shim import changes, environment
from torchlike.porting.version import own_version

#: What is often used with torchlike. Plugins bring devices to JAX.
_COMPANIONS_TEXT = """
torchvision torchaudio timm transformers accelerate peft lightning tensorboard joblib pytest
"""
_COMPANIONS = tuple(_COMPANIONS_TEXT.split())
_NAME = re.compile(r"[\w.-]+")
_PLUGINS = re.compile(r"jax-.*(plugin|pjrt)|libtpu|jax-metal")
#: Variables of others' that change what torchlike does.
_VARIABLES_TEXT = """
XLA_FLAGS PJRT_NPROC NPROC OMP_NUM_THREADS CUDA_VISIBLE_DEVICES PYTHONPATH VIRTUAL_ENV LD_PRELOAD
LD_LIBRARY_PATH
"""
_VARIABLES = tuple(_VARIABLES_TEXT.split())
_SHARED_MEMORY = "/dev/shm"


def collect() -> dict[str, Any]:
    """Collect all facts, by subject; numbers, text, lists and dictionaries only."""
    return {
        "versions": _versions(),
        "system": _system(),
        "devices": _devices(),
        "threads": _threads(),
        "caches": _caches(),
        "torch": _torch(),
        "torchlikes": _torchlikes(),
        "environment": _environment(),
        "ahead": _ahead(),
    }


def _ahead() -> dict[str, Any]:
    """Return, by platform, the package that compiling for it ahead of time lacks, or None; and
    where the TPU's compiler is not the one that goes with JAX, which is."""
    found: dict[str, Any] = {platform: missing(platform) for platform in ("tpu", "cuda")}
    pattern = r"libtpu==([\d.]+)\.\*; extra == \"tpu\""
    wanted = [m[1] for line in requires("jax") or () if (m := re.match(pattern, line))]
    own = None if found["tpu"] else version("libtpu")
    is_other = bool(own and wanted and not own.startswith(f"{wanted[0]}."))
    found["other_libtpu"] = f"{own}, not {wanted[0]}" if is_other else None
    return found


def _versions() -> dict[str, Any]:
    found = {"torchlike": own_version(), "torch": torchlike.__version__}
    required = _required()
    parts = [name for r in required for name in _NAME.findall(r)[:1]]
    for name in (*parts, *_COMPANIONS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    for one in distributions():
        name = (one.metadata["Name"] or "").replace("_", "-").lower()
        if _PLUGINS.fullmatch(name):
            found[name] = one.version
    return {"installed": found, "required": required}


def _required() -> list[str]:
    """Return torchlike's requirements, without its extras."""
    try:
        said = distribution("torchlike").requires or []
    except PackageNotFoundError:
        return []
    return [requirement for requirement in said if "extra" not in requirement]


def _system() -> dict[str, Any]:
    here = environment.here()
    return {
        "platform": platform.platform(),
        "libc": "-".join(platform.libc_ver()),
        "python": platform.python_version(),
        "executable": sys.executable,
        "is_virtual": here.is_virtual,
        "activated": here.activated,
        "memory_bytes": _memory(),
        "shared_memory_bytes": _free(_SHARED_MEMORY),
        "has_nvidia": os.path.exists("/dev/nvidiactl"),
    }


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _free(folder: str) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _devices() -> dict[str, Any]:
    try:
        devices = [f"{device} ({device.device_kind})" for device in jax.devices()]
        return {"backend": jax.default_backend(), "devices": devices, "error": None}
    except RuntimeError as error:  # a plugin that finds no device, or the wrong driver
        return {"backend": None, "devices": [], "error": str(error)}


def _threads() -> dict[str, Any]:
    count = getattr(os, "sched_getaffinity", None)
    usable = len(count(0)) if count is not None else os.cpu_count()
    return {"xla": xla_flags.cpu_threads(), "usable_cores": usable, "cores": os.cpu_count()}


def _caches() -> dict[str, Any]:
    said = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if not said:
        return {"folder": None, "programs": 0, "bytes": 0, "is_writable": False, "free_bytes": None}
    sizes = []
    if os.path.isdir(said):
        for entry in os.scandir(said):
            if entry.is_file(follow_symlinks=False):
                sizes.append(entry.stat(follow_symlinks=False).st_size)
    return {
        "folder": said,
        "programs": len(sizes),
        "bytes": sum(sizes),
        "is_writable": os.access(said, os.W_OK),
        "free_bytes": _free(said),
    }


def _torch() -> dict[str, Any]:
    here = environment.here()
    found = [
        {"folder": str(one.package), "version": one.version, "is_shim": one.is_shim}
        for one in here.torches()
    ]
    return {
        "found": found,
        "is_alias": any(isinstance(finder, AliasFinder) for finder in sys.meta_path),
        "shim_is_whole": changes.is_whole(here),
        "came_with_shim": changes.read_brought(here.packages),
    }


def _torchlikes() -> dict[str, Any]:
    """Return each torchlike that Python would find, and the one that runs."""
    folders = [
        str(Path(os.path.realpath(folder)) / "torchlike")
        for folder in sys.path
        if (Path(folder) / "torchlike" / "__init__.py").is_file()
    ]
    own = os.path.realpath(Path(str(torchlike.__file__)).parent)
    installed = [one.version for one in distributions(name="torchlike")]
    return {"runs": own, "found": list(dict.fromkeys(folders)), "installed": installed}


def _environment() -> dict[str, str]:
    names = [*(variable.name for variable in ALL), *_VARIABLES]
    names += sorted(name for name in os.environ if name.startswith("JAX_"))
    shown = {SECRET.name: "(set)"}  # for reports are sent to others
    return {name: shown.get(name, os.environ[name]) for name in names if name in os.environ}
