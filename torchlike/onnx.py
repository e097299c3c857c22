"""``torch.onnx``: there is no export; code that asks whether one runs goes on."""

from __future__ import annotations

from typing import Any


def is_in_onnx_export() -> bool:
    """False."""
    return False


def export(*args: Any, **kwargs: Any) -> Any:
    """Not supported: there is no ONNX exporter. Use instead: jax.export on the jitted function."""
    raise NotImplementedError(
        "torch.onnx.export: there is no ONNX exporter. Use instead: jax.export on the jitted "
        "function."
    )
