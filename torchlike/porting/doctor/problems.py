"""What is known not to go together, told from the facts alone."""

from __future__ import annotations

import os
import re
from typing import Any

from torchlike._compat.torch_version import TorchVersion
from torchlike._runtime.environment_variables import XLA_FLAGS
from torchlike._runtime.xla_flags import MEASURED
from torchlike.porting.shim.companions import VERSIONS

_REQUIREMENT = re.compile(r"([\w.-]+)\s*\(?>=\s*([\w.]+)")
_MIB = 1 << 20
#: A batch of 64 images of 224 × 224 is 38 MB in float32, and some are on their way.
_SHARED_MEMORY = 256 * _MIB
_CACHE = 100 * _MIB


def problems(facts: dict[str, Any]) -> list[str]:
    """Return the problems that the facts show, and what to do about each; a sentence or two
    each."""
    return [
        *_torches(facts),
        *_torchlikes(facts),
        *_versions(facts),
        *_devices(facts),
        *_resources(facts),
    ]


def notes(facts: dict[str, Any]) -> list[str]:
    """Return remarks on what is no error, and worth knowing when something is slow or missing."""
    found = []
    installed, environment = facts["versions"]["installed"], facts["environment"]
    jaxlib = installed.get("jaxlib", "")
    if jaxlib and not jaxlib.startswith(MEASURED):
        found.append(
            f"jaxlib {jaxlib} is not one that torchlike's flags for XLA were measured with "
            f"({', '.join(MEASURED)})"
        )
    if environment.get(XLA_FLAGS.name):
        found.append(
            f"{XLA_FLAGS.name} leaves XLA's flags as they are: small operations are slower"
        )
    if environment.get("OMP_NUM_THREADS") and facts["threads"]["xla"] > 1:
        found.append(
            "OMP_NUM_THREADS says nothing to XLA: `torchlike run --threads N`, or PJRT_NPROC"
        )
    ahead = facts["ahead"]
    lacking = [p for p in ("tpu", "cuda") if ahead[p]]
    if len(lacking) == 1:
        found.append(
            f"`torchlike plan` cannot compile for {lacking[0]}: {ahead[lacking[0]]} is not "
            "installed (pip install 'torchlike[plan]')"
        )
    if ahead["other_libtpu"]:
        found.append(
            f"libtpu is {ahead['other_libtpu']}, with which this JAX was made: programs planned "
            "for TPUs may differ (pip install 'torchlike[plan]')"
        )
    if facts["system"]["has_nvidia"] and facts["devices"]["backend"] == "cpu":
        found.append("there is an NVIDIA GPU, and JAX does not use it: pip install torchlike[cuda]")
    return found


def _torches(facts: dict[str, Any]) -> list[str]:
    torch, installed = facts["torch"], facts["versions"]["installed"]
    found = []
    shims = [one for one in torch["found"] if one["is_shim"]]
    real = [one for one in torch["found"] if not one["is_shim"]]
    if shims and real:
        first = "torchlike" if torch["found"][0]["is_shim"] else "PyTorch"
        found.append(
            f"torchlike's torch ({shims[0]['folder']}) stands beside another "
            f"({real[0]['folder']}): `import torch` is {first}, and pip may write one over the "
            "other. Take one away: "
            "`torchlike shim remove`, or pip uninstall torch"
        )
    if shims and not torch["shim_is_whole"]:
        found.append(
            "torchlike's torch is not whole, or of another torchlike: `torchlike shim install` "
            "renews it"
        )
    if shims and facts["system"]["activated"] is not None:
        found.append(
            f"the active environment is {facts['system']['activated']}, and this torchlike is that "
            "of another: its shim is not there"
        )
    for name, fits in VERSIONS.items():
        present = installed.get(name)
        if (shims or torch["is_alias"]) and present and present.partition("+")[0] != fits:
            found.append(
                f"{name} {present} is made for another torch than {installed['torch']}: "
                f"pip install {name}=={fits}"
            )
    return found


def _torchlikes(facts: dict[str, Any]) -> list[str]:
    known, found = facts["torchlikes"], []
    others = [folder for folder in known["found"] if folder != known["runs"]]
    if others:
        found.append(
            f"there is another torchlike in {others[0]}, and the one in {known['runs']} runs: "
            "processes that start in another folder may take the other. Take one away"
        )
    if len(set(known["installed"])) > 1:
        found.append(
            f"torchlike is installed more than once ({', '.join(known['installed'])}): "
            "pip uninstall torchlike until it is gone, and install it again"
        )
    return found


def _versions(facts: dict[str, Any]) -> list[str]:
    installed, found = facts["versions"]["installed"], []
    for requirement in facts["versions"]["required"]:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        name, least = match.groups()
        present = installed.get(name)
        if present is None:
            found.append(f"{name} is missing: pip install '{requirement}'")
        elif TorchVersion(present) < least:
            found.append(f"{name} {present} is older than {least}: pip install -U {name}")
    jax, jaxlib = installed.get("jax"), installed.get("jaxlib")
    if jax and jaxlib and TorchVersion(jaxlib) > jax:
        found.append(f"jaxlib {jaxlib} is newer than jax {jax}: pip install jaxlib=={jax}")
    for name, present in installed.items():
        if jaxlib and "plugin" in name and present != jaxlib:
            found.append(f"{name} {present} and jaxlib {jaxlib} are not of one release")
    if facts["environment"].get("JAX_ENABLE_X64", "1").lower() in ("0", "false"):
        found.append("JAX_ENABLE_X64 turns 64-bit types off, and PyTorch's integers need them")
    return found


def _devices(facts: dict[str, Any]) -> list[str]:
    devices, installed = facts["devices"], facts["versions"]["installed"]
    if devices["error"] is not None:
        return [f"JAX finds no device: {devices['error']}"]
    plugins = [name for name in installed if "plugin" in name]
    # Without a GPU it is there to compile for one ahead of time (`torchlike plan`).
    unused = [name for name in plugins if "cuda" not in name or facts["system"]["has_nvidia"]]
    if unused and devices["backend"] == "cpu" and "JAX_PLATFORMS" not in facts["environment"]:
        return [f"{unused[0]} is installed, and JAX computes on the CPU: see its warning at start"]
    return []


def _resources(facts: dict[str, Any]) -> list[str]:
    caches, system, threads = facts["caches"], facts["system"], facts["threads"]
    found = []
    if caches["folder"] is None:
        if facts["environment"].get("TORCHLIKE_CACHE_DIR") != "":
            found.append("there is no folder for compiled programs: set TORCHLIKE_CACHE_DIR")
    elif not caches["is_writable"]:
        found.append(f"{caches['folder']} cannot be written: set TORCHLIKE_CACHE_DIR")
    elif caches["free_bytes"] is not None and caches["free_bytes"] < _CACHE:
        found.append(f"the disk of {caches['folder']} is full")
    shared = system["shared_memory_bytes"]
    if shared is not None and shared < _SHARED_MEMORY:
        found.append(
            f"/dev/shm has {shared // _MIB} MiB free, and batches of worker processes go through "
            "it: in a container, start it with --shm-size=2g"
        )
    forced = "xla_force_host_platform_device_count" in (facts["environment"].get("XLA_FLAGS") or "")
    if threads["usable_cores"] and threads["xla"] > 2 * threads["usable_cores"] and not forced:
        found.append(
            f"XLA starts {threads['xla']} threads on {threads['usable_cores']} cores: "
            "see PJRT_NPROC"
        )
    return found


def without_home(text: str) -> str:
    """Replace the home folder by ``~``, so that the text names no user."""
    home = os.path.expanduser("~")
    return text.replace(home, "~") if len(home) > 1 else text
