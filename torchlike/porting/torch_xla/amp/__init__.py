"""``torch_xla.amp``."""

from __future__ import annotations

import warnings
from typing import Any

import torchlike
from torchlike._core import devices
from torchlike.amp.autocast_mode import autocast as _autocast
from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.amp")


class autocast(_autocast):
    """``torch.autocast`` of the type of ``device``: on a TPU by torch_xla's lists of operations.

    Only bfloat16 is a lower dtype: for another, it warns and is off.

    Differs from torch_xla: on the CPU it is the CPU's autocast, instead of none.
    """

    def __init__(
        self, device: Any, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True
    ) -> None:
        if dtype not in (None, torchlike.bfloat16):
            warnings.warn(
                "In XLA:TPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "TPU Autocast only supports dtype of torch.bfloat16 currently.",
                stacklevel=2,
            )
            dtype, enabled = None, False
        kind = devices.device(device).type
        super().__init__(kind, dtype or torchlike.bfloat16, enabled, cache_enabled)
