"""The old names of torch.amp's for CUDA; each says so."""

from __future__ import annotations

import functools
from typing import Any

from torchlike import amp
from torchlike._core import dtypes
from torchlike.amp.old_names import autocast_of, say

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


autocast = autocast_of("cuda", dtypes.float16)


def custom_fwd(fwd: Any = None, *, cast_inputs: dtypes.dtype | None = None) -> Any:
    """Decorate by ``torch.amp.custom_fwd(…, device_type="cuda")``."""
    say("cuda.amp.custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd=fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Decorate by ``torch.amp.custom_bwd(…, device_type="cuda")``."""
    say("cuda.amp.custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return functools.partial(amp.custom_bwd, device_type="cuda")(bwd)
