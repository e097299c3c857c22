"""``torch.amp``: lower precision where it does no harm, and gradients scaled for float16.

Imports `_ops`, `autograd` and `optim`. Begin with ``autocast_mode.py`` and ``grad_scaler.py``; how
an op is cast stands in `_extensions/autocast.py`, and with each op (`autocast=` of an `@op`).
"""

from torchlike.amp import autocast_mode, grad_scaler
from torchlike.amp.autocast_mode import (
    _enter_autocast,
    _exit_autocast,
    autocast,
    custom_bwd,
    custom_fwd,
    is_autocast_available,
)
from torchlike.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
