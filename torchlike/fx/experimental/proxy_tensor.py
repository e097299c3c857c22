"""``torch.fx.experimental.proxy_tensor``: tensors that record themselves are not there."""

from __future__ import annotations

from torchlike._compat.unsupported import functions as _unsupported

globals().update(_unsupported("fx.experimental.proxy_tensor"))


def get_proxy_mode() -> None:
    """None: no such recording is running."""
