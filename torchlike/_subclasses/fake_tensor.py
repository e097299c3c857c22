"""``torch._subclasses.fake_tensor``: there are no fake tensors, so nothing is one."""

from __future__ import annotations

from typing import Any

from torchlike._compat.unsupported import Gap, raising

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake"]

_FAKE = Gap("shapes are inferred without fake tensors", 'device="meta"')
FakeTensor: Any = raising("_subclasses.fake_tensor.FakeTensor", _FAKE)
FakeTensorMode: Any = raising("_subclasses.fake_tensor.FakeTensorMode", _FAKE)


def is_fake(x: Any) -> bool:
    """False: captures and the meta device have other means."""
    return False
