"""``torch.testing``: comparing tensors in tests, and making them.

Imports `interop`, `optim`, `nn`, `_jit` and below. Begin with ``comparison.py`` (`assert_close`)
and ``matches_eager.py``.

Beyond PyTorch's names: functions that hold compiled code against eager code and torchlike against
PyTorch, ``variants`` of one test, chex's assertions for tensors (``chex``) and strategies of
hypothesis (``strategies``, with the extra "testing").
"""

import importlib as _importlib

from torchlike.testing.against_torch import check_against_torch
from torchlike.testing.aliasing import assert_aliases
from torchlike.testing.allclose import assert_allclose
from torchlike.testing.comparison import assert_close
from torchlike.testing.creation import make_tensor
from torchlike.testing.file_check import FileCheck
from torchlike.testing.gradients import assert_finite, assert_gradients
from torchlike.testing.matches_eager import assert_matches_eager
from torchlike.testing.randomness import assert_draws_anew
from torchlike.testing.recompiles import assert_no_recompile
from torchlike.testing.variants import Variant, variants

__all__ = [
    "FileCheck",
    "Variant",
    "assert_aliases",
    "assert_allclose",
    "assert_close",
    "assert_draws_anew",
    "assert_finite",
    "assert_gradients",
    "assert_matches_eager",
    "assert_no_recompile",
    "check_against_torch",
    "make_tensor",
    "variants",
]


def __getattr__(name: str):
    if name in ("chex", "strategies"):
        return _importlib.import_module(f"torchlike.testing.{name}")
    raise AttributeError(f"module 'torchlike.testing' has no attribute {name!r}", name=name)
