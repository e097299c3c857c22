"""``torch.utils.cpp_extension``: what scripts and builds of packages ask before they compile.

What compiles is refused, when it is called and before a compiler starts
(``torchlike/_compat/unsupported.py``): sources for PyTorch need its C++ library. A kernel in C++ is
an operation by XLA's foreign function interface: ``examples/cpp/swish.py``.
"""

from __future__ import annotations

import os
import shutil

from torchlike._compat.unsupported import functions as _unsupported
from torchlike._compat.unsupported import refused_class as _refused_class

__all__ = [
    "CUDA_HOME",
    "CUDNN_HOME",
    "IS_HIP_EXTENSION",
    "ROCM_HOME",
    "get_cxx_compiler",
    "get_default_build_root",
    "is_ninja_available",
    "verify_ninja_availability",
]

#: No source is compiled, so no compiler is looked for.
CUDA_HOME: str | None = None
CUDNN_HOME: str | None = None
ROCM_HOME: str | None = None
IS_HIP_EXTENSION = False

globals().update(_unsupported("utils.cpp_extension"))
BuildExtension = _refused_class("utils.cpp_extension", "BuildExtension", "with_options")


def get_cxx_compiler() -> str:
    """Return the C++ compiler's name: ``CXX`` of the environment, or ``c++``."""
    return os.environ.get("CXX", "c++")


def get_default_build_root() -> str:
    """Return the folder in which PyTorch builds extensions for this user."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.realpath(os.path.join(os.path.expanduser(cache), "torch_extensions"))


def is_ninja_available() -> bool:
    """Return whether the build system ninja is found."""
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raise RuntimeError unless the build system ninja is found."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")
