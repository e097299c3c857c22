"""``torch.utils.tensorboard``: ModuleNotFoundError without the package tensorboard."""

from __future__ import annotations

from typing import Any

import tensorboard  # noqa: F401 - its absence is the error scripts look for  # pyright: ignore

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Not supported: NotImplementedError. Use instead: tensorboard.summary.Writer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(
            "torch.utils.tensorboard.SummaryWriter: it is not written. Use instead: "
            "tensorboard.summary.Writer (add_scalar, add_tensor, add_blob)."
        )
