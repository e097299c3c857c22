"""``torch.qscheme``: whether channels share a scale, and whether zero is in the middle."""

from __future__ import annotations

__all__ = [
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qscheme",
]


class qscheme:
    """A way to quantize: per tensor or per channel, affine or symmetric."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def is_per_channel(self) -> bool:
        """Whether each channel has a scale of its own."""
        return self._name.startswith("per_channel")

    @property
    def is_symmetric(self) -> bool:
        """Whether zero is the middle level."""
        return self._name.endswith("symmetric")

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
