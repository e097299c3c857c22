"""``ShardedGradScaler``: gradients in parts need no other scaler, for XLA finds what is not finite
in any of them."""

from __future__ import annotations

from typing import Any

from torchlike.amp.grad_scaler import GradScaler


class ShardedGradScaler(GradScaler):
    """``GradScaler``, which takes gradients in parts, too."""

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: Any = None,
    ) -> None:
        super().__init__(
            device,
            init_scale=init_scale,
            backoff_factor=backoff_factor,
            growth_factor=growth_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
