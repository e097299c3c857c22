"""``torch.quantization``: the older name of ``torch.ao.quantization``."""

from torchlike.ao import quantization as _quantization
from torchlike.ao.quantization import *  # noqa: F403

__all__ = [*_quantization.__all__]
