"""DataParallel: the module itself, under the name ``module``."""

from __future__ import annotations

from typing import Any

from torchlike._core import devices
from torchlike.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs the module as it is; its state is under ``module.``, as in PyTorch.

    NotImplementedError when more than one GPU is asked for: batches are divided among devices by
    jax.sharding.
    """

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.dim = dim
        _check(device_ids)
        self.device_ids = [] if not devices.available("cuda") else list(device_ids or [0])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)


def _check(device_ids: Any) -> None:
    if devices.available("cuda") and device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError(
            "torch.nn.DataParallel: a module runs on one device. Use instead: jax.sharding."
        )


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Call ``module(*inputs, **module_kwargs)``. Raises NotImplementedError for more than one
    GPU."""
    _check(device_ids)
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*given, **(module_kwargs or {}))
