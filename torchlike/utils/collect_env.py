"""``python -m torchlike.utils.collect_env``: what a report of an error says of a machine."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import NamedTuple

import jax

from torchlike._compat.settings import get_num_threads
from torchlike.version import __version__

_PACKAGES = ("numpy", "jax", "jaxlib", "flax", "optax", "ml_dtypes", "safetensors")


class SystemEnv(NamedTuple):
    """What there is."""

    torch_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    jax_backend: str
    jax_devices: list[str]
    cpu_count: int
    pip_packages: list[str]


def get_env_info() -> SystemEnv:
    """Return facts of this machine and this Python."""
    packages = []
    for name in _PACKAGES:
        try:
            packages.append(f"{name}=={importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue  # an optional one
    return SystemEnv(
        torch_version=__version__,
        os=f"{platform.system()} {platform.release()} ({platform.machine()})",
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version} ({platform.architecture()[0]} runtime)",
        python_platform=platform.platform(),
        jax_backend=jax.default_backend(),
        jax_devices=[str(d) for d in jax.devices()],
        cpu_count=get_num_threads(),
        pip_packages=packages,
    )


def pretty_str(envinfo: SystemEnv) -> str:
    """Write a line for each fact."""
    lines = []
    for name, value in envinfo._asdict().items():
        if isinstance(value, list):
            lines.extend([f"{name}:", *(f"  {v}" for v in value)])
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(lines)


def get_pretty_env_info() -> str:
    """Return ``pretty_str(get_env_info())``."""
    return pretty_str(get_env_info())


def main() -> None:
    """Print the facts of this machine and this Python."""
    sys.stdout.write(f"Collecting environment information...\n{get_pretty_env_info()}\n")


if __name__ == "__main__":
    main()
