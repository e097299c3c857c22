"""``torch.ao.nn.qat.dynamic``: layers that train for inputs which are quantized as they come."""

from __future__ import annotations

from typing import Any

from torchlike.ao.nn import qat as _qat

__all__ = ["Linear"]


class Linear(_qat.Linear):
    """``qat.Linear`` for inputs whose range is that of each tensor: ValueError for a ``qconfig``
    whose observer of inputs remembers others."""

    @staticmethod
    def _check_config(qconfig: Any) -> None:
        inputs = qconfig.activation()
        observer = getattr(inputs, "activation_post_process", inputs)
        if getattr(observer, "averaging_constant", None) != 1:
            raise ValueError(
                "Dynamic QAT requires a memoryless observer."
                "This means a MovingAverage observer with averaging constant equal to 1"
            )
