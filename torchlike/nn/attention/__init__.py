"""``torch.nn.attention``: which kernel scaled_dot_product_attention may use; flex_attention."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from torchlike._compat.unsupported import functions as _unsupported
from torchlike.nn.attention import bias as bias

#: A flag scripts set; there are no kernels among which one could fail to be chosen.
WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels; XLA compiles its own."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """A region in which only these kernels may be used: it changes nothing, for XLA compiles the
    one there is.

    AssertionError for what is no SDPBackend, or a list of them.
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, list) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend "
                             "instances")  # fmt: skip
    yield


def list_flash_attention_impls() -> list[str]:
    """[]: none of PyTorch's flash kernels can be used."""
    return []


def current_flash_attention_impl() -> str | None:
    """None: no flash kernel was put in the place of the default."""
    return None


def restore_flash_attention_impl(_raise_warn: bool = True) -> None:
    """Nothing to do: the default is in use."""


globals().update(_unsupported("nn.attention"))
